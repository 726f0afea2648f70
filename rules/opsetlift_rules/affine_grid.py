"""Grids for GridSample.

AffineGrid  20: introduced
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, rounding
from opsetlift.rulebook.site import Operators, Site, known_shape
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dimensions import Size, named, numbers_up_to, reshaped


def compute_the_grid_with_matmul(site: Site) -> None:
    """Replace AffineGrid-20 with MatMul: a grid of evenly spaced positions times each matrix of `theta`.

    Float theta [N, rank, rank + 1], int64 size [rank + 2]; the grid is [N, *spatial, rank].
    """
    op = site.op_at(opsets.ALLOWZERO)
    dtype = site.dtype(0)
    precision = "double" if dtype == "double" else "float"
    theta = op.Cast(site.input(0), to=precision) if dtype != precision else site.input(0)
    rank = _spatial_rank(site)
    sizes = [_element(site, op, position) for position in (0, *range(2, 2 + rank))]
    flat = site.folded(lambda: _positions(site, op, sizes[1:], precision), "positions")
    grid = op.MatMul(flat, op.Transpose(theta, perm=[0, 2, 1]))
    result = reshaped(site, op, grid, [*sizes, rank])
    site.replace(op.Cast(result, to=dtype) if dtype != precision else result)


def _positions(site: Site, op: Operators, sizes: Sequence[Size], dtype: str) -> str:
    """(x, y[, z], 1) for each element of the grid: the innermost axis first."""
    rank = len(sizes)
    first, last = site.constant([0], "int64"), site.constant([-1], "int64")
    shape = op.Concat(*(op.Unsqueeze(named(site, one), first) for one in sizes), axis=0)
    columns = []
    for axis, length in enumerate(sizes):
        others = site.constant([other for other in range(rank) if other != axis], "int64")
        column = op.Unsqueeze(_spread(site, op, length, dtype), others)
        columns.append(op.Unsqueeze(op.Expand(column, shape), last))
    unit = site.constant(numpy.ones([1] * rank, numpy_dtype(dtype)), hint="unit")
    columns = [*reversed(columns), op.Unsqueeze(op.Expand(unit, shape), last)]
    return str(op.Reshape(op.Concat(*columns, axis=-1), site.constant([-1, rank + 1], "int64", "shape")))


def _spatial_rank(site: Site) -> int:
    length, theta = known_shape(site, 1), site.shape(0)
    if length is not None and length[0] in (4, 5):
        return length[0] - 2
    rows = theta[1] if theta is not None and len(theta) == 3 else None
    if rows not in (2, 3):
        site.refuse(
            Why.SHAPE_UNKNOWN, "the length of size is computed at run time; it shows whether the grid is 2D or 3D"
        )
    return int(rows)


def _element(site: Site, op: Operators, position: int) -> Size:
    known = site.constant_value(1)
    if known is not None:
        return int(known[position])
    return str(op.Gather(site.input(1), site.constant(position, "int64", "position")))


def _spread(site: Site, op: Operators, length: Size, dtype: str) -> str:
    """Positions of which the first and last are -1 and 1, or have them as their outer edges."""
    index = op.Cast(numbers_up_to(site, op, length), to=dtype)
    one, two = (site.constant(number, dtype, "number") for number in (1, 2))
    whole = op.Cast(named(site, length), to=dtype)
    if site.attribute("align_corners", 0):
        return str(op.Sub(op.Div(op.Mul(two, index), op.Max(op.Sub(whole, one), one)), one))
    return str(op.Sub(op.Div(op.Add(op.Mul(two, index), one), op.Max(whole, one)), one))


_COMPUTE_THE_GRID_WITH_MATMUL = rounding(
    compute_the_grid_with_matmul,
    ulps=4,
    because="a kernel may add the products of positions and matrix in another order",
)


INTRODUCTIONS = [
    Introduction("AffineGrid", 20, down=_COMPUTE_THE_GRID_WITH_MATMUL),
]

FALLBACKS = [
    Fallback("AffineGrid", _COMPUTE_THE_GRID_WITH_MATMUL),
]
