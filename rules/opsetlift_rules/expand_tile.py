"""Operators that repeat a tensor.

Expand  8: introduced · 13: +bfloat16
Tile    6: tiles and axis, one each -> repeats for every axis, +all dtypes · 13: +bfloat16
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step
from opsetlift.rulebook.site import Operators, Site, is_constant, known_shape, list_length, widen_to_kernel
from opsetlift.specification.wider_dtypes import holds
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import counted_from_front
from opsetlift_rules.helpers.broadcasting import common_shape, tile_onto
from opsetlift_rules.helpers.counting import LARGEST_TABLE
from opsetlift_rules.helpers.moving import move_elements

_RANKS_DECIDE = "below opset 8 a tensor is repeated by a count for each dimension"


def replace_with_tile(site: Site) -> None:
    """Replace Expand-8 with Tile: each dimension of size 1 is repeated as often as the target shape asks for."""
    op = site.op_at(opsets.AXES_AS_INPUTS)
    target = site.shape(site.output(0)) if is_constant(site, 1) else None
    tiled = tile_onto(site, op, site.input(0), target) if target is not None else None
    site.replace(tiled or _repeated_at_run_time(site, op))


def _repeated_at_run_time(site: Site, op: Operators) -> str:
    value, wanted = site.inputs
    rank = site.rank(value, because=_RANKS_DECIDE)
    length = list_length(site, wanted, because=_RANKS_DECIDE)
    if rank < length:
        value = op.Unsqueeze(value, site.constant(range(length - rank), "int64"))
    if length < rank:
        wanted = op.Concat(site.constant([1] * (rank - length), "int64", "ones"), wanted, axis=0)
    # A dimension of size 1 repeats as often as asked for, any other once. Arithmetic selects: Where needs opset 9.
    ones = site.constant([1] * max(rank, length), "int64", "ones")
    is_one = op.Cast(op.Equal(op.Shape(value), ones), to="int64")
    return str(op.Tile(value, op.Add(op.Mul(is_one, op.Sub(wanted, ones)), ones)))


def write_repeats_for_every_axis(site: Site) -> None:
    """Write tiles and axis of Tile-1, one number each, as the repeats of Tile-6, one for each dimension."""
    rank = site.rank(0, because="from opset 6 on Tile takes a repeat count for every dimension")
    tiles, axis = site.constant_value(1), site.constant_value(2)
    if tiles is not None and axis is not None and tiles.size == 1 and axis.size == 1:
        repeats = [1] * rank
        repeats[counted_from_front(site, [int(axis.reshape(()))], rank, name="axis")[0]] = int(tiles.reshape(()))
        site.remove_input(2)
        site.set_input(1, site.constant(repeats, "int64", "repeats"))
        return
    op = site.op_at(opsets.BFLOAT16)
    count, position = (op.Cast(name, to="int64") for name in site.inputs[1:])
    dimensions = site.constant(numpy.arange(rank, dtype=numpy.int64), hint="dimensions")
    one = site.constant(1, "int64", "one")
    is_axis = op.Cast(op.Equal(dimensions, position), to="int64")
    site.replace(op.Tile(site.input(0), op.Add(op.Mul(is_axis, op.Sub(count, one)), one)))


def tile_one_axis_at_a_time(site: Site) -> None:
    """Replace Tile-6 with one Tile-1 for each axis, or with Gather where the dimension is known."""
    repeats = site.constant_value(1)
    if repeats is None:
        _copy_at_run_time(site)
        return
    dims = site.shape(0)
    value, op = site.input(0), site.op
    unknown: list[tuple[int, int]] = []
    for axis, times in enumerate(repeats.reshape(-1).tolist()):
        dim = dims[axis] if dims is not None and axis < len(dims) else None
        if times != 1 and isinstance(dim, int):
            indices = numpy.tile(numpy.arange(dim, dtype=numpy.int64), times)
            value = op.Gather(value, site.constant(indices, hint="indices"), axis=axis)
        elif times != 1:
            unknown.append((axis, times))
    if unknown:
        compute_dtype = _compute_dtype(site)
        counts = [(axis, site.constant(times, compute_dtype, "tiles")) for axis, times in unknown]
        value = _copied(site, op, value, compute_dtype, counts)
    site.replace(value)


def _copy_at_run_time(site: Site) -> None:
    rank = site.rank(0, because="below opset 6 Tile repeats one dimension, so each dimension needs a node of its own")
    op = site.op_at(opsets.AXES_AS_INPUTS)
    compute_dtype = _compute_dtype(site)
    counts = []
    for axis in range(rank):
        bounds = [site.constant([bound], "int64", "bound") for bound in (axis, axis + 1)]
        count = op.Squeeze(op.Slice(site.input(1), *bounds), site.constant([0], "int64"))
        counts.append((axis, op.Cast(count, to=compute_dtype)))
    site.replace(_copied(site, site.op, site.input(0), compute_dtype, counts))


def _compute_dtype(site: Site) -> str:
    """The dtype of counts and data of Tile-1, which are the same: only double surely holds the counts."""
    if not holds("double", site.dtype(0)):
        site.refuse(
            Why.DTYPE_NOT_AVAILABLE,
            f"Tile accepts only floats below opset 6, and none represents every {site.dtype(0)} ({site.input(0)!r})",
        )
    return "double"


def _copied(site: Site, op: Operators, value: str, compute_dtype: str, counts: Sequence[tuple[int, str]]) -> str:
    dtype = site.dtype(0)
    if dtype != compute_dtype:
        value = op.Cast(value, to=compute_dtype)
    for axis, count in counts:
        value = op.Tile(value, count, site.constant(axis, compute_dtype, "axis"))
    return str(op.Cast(value, to=dtype)) if dtype != compute_dtype else value


def expand_by_tiling(site: Site) -> None:
    """Write Expand to a constant shape as Tile, for a runtime that mistakes the value of an Expand; else widen.

    First the value gets as many axes as the shape: some runtimes take a vector for a column.
    """
    shape, wanted = known_shape(site, 0), _wanted_shape(site)
    if shape is not None and wanted is not None and len(shape) < len(wanted):
        padded = [1] * (len(wanted) - len(shape)) + shape
        site.set_input(0, site.op.Reshape(site.input(0), site.constant(padded, "int64", "padded")))
        return
    if shape is not None and wanted is not None and wanted[-1:] == [1] and shape != wanted:
        _expand_with_single_axes_first(site, shape, wanted)
        return
    if not is_constant(site, 1) or not all(site.computes(one, T=site.dtype(0)) for one in ("Expand", "Tile")):
        widen_to_kernel(site)
        return
    replace_with_tile(site)


def _expand_with_single_axes_first(site: Site, shape: Sequence[int], wanted: Sequence[int]) -> None:
    """Expand with the last axes, of one element each, in front: some runtimes repeat nothing before such an axis."""
    kept = max(place for place, size in enumerate(wanted) if size != 1) + 1
    before, after = ([1] * (len(wanted) - kept) + [*sizes[:kept]] for sizes in (shape, wanted))
    moved = site.op.Reshape(site.input(0), site.constant(before, "int64", "moved"))
    expanded = site.op.Expand(moved, site.constant(after, "int64", "expanded"))
    site.replace(site.op.Reshape(expanded, site.constant(wanted, "int64", "shape")))


def repeat_columns_of_an_image(site: Site) -> None:
    """Write Expand to a constant shape as Resize to the nearest element, for a runtime that repeats in no other way.

    What is repeated becomes the only column of an image, which is made as wide as it is to be repeated. Neighbouring
    axes are repeated at once; where others follow, a Transpose brings the copies before them.
    """
    shape, wanted, known = known_shape(site, 0), _wanted_shape(site), site.content(0)
    if shape is None or wanted is None or not math.prod(wanted):
        return
    if known is not None:
        if math.prod(wanted) <= LARGEST_TABLE:
            site.replace(site.constant(numpy.broadcast_to(known, wanted).copy(), hint="repeated"))
        return
    op, value = site.op_at(opsets.RESIZE), site.input(0)
    own = [1] * (len(wanted) - len(shape)) + shape
    for is_repeated, axes in itertools.groupby(range(len(wanted)), lambda axis: own[axis] != wanted[axis]):
        if not is_repeated:
            continue
        along = list(axes)
        before, times = math.prod(wanted[: along[0]]), math.prod(wanted[along[0] : along[-1] + 1])
        after = math.prod(own[along[-1] + 1 :])
        image = op.Reshape(value, site.constant([1, 1, before * after, 1], "int64", "image"))
        value = op.Resize(image, site.constant([1, 1, 1, times], "float", "scales"), mode="nearest")
        if after > 1:
            stacked = op.Reshape(value, site.constant([before, after, times], "int64", "stacked"))
            value = op.Transpose(stacked, perm=[0, 2, 1])
    site.replace(op.Reshape(value, site.constant(wanted, "int64", "shape")))


def _wanted_shape(site: Site) -> list[int] | None:
    """The shape that Expand gives, where it is known; what the model declares of it is not asked."""
    shape, wanted = known_shape(site, 0), site.constant_value(1)
    if shape is None or wanted is None:
        return None
    found = common_shape([[*shape], wanted.reshape(-1).tolist()]) or []
    sizes = [size for size in found if isinstance(size, int)]
    return sizes if len(sizes) == max(len(shape), wanted.size) else None


def tile_by_expanding(site: Site) -> None:
    """Write Tile by constant counts as Expand, between Reshapes that put an axis of size 1 before each repeated one."""
    shape, repeats = known_shape(site, 0), site.constant_value(1)
    if shape is None or repeats is None or site.target < opsets.EXPAND:
        return
    apart: list[int] = []
    wanted: list[int] = []
    for size, times in zip(shape, repeats.reshape(-1).tolist(), strict=True):
        apart += [1, size] if times != 1 else [size]
        wanted += [times, size] if times != 1 else [size]
    op = site.op
    stretched = op.Expand(
        op.Reshape(site.input(0), site.constant(apart, "int64", "apart")), site.constant(wanted, "int64", "shape")
    )
    result = [size * times for size, times in zip(shape, repeats.reshape(-1).tolist(), strict=True)]
    site.replace(op.Reshape(stretched, site.constant(result, "int64", "shape")))


STEPS = [
    Step("Tile", 1, 6, up=write_repeats_for_every_axis, down=tile_one_axis_at_a_time),
]

INTRODUCTIONS = [
    Introduction("Expand", 8, down=replace_with_tile),
]

FALLBACKS = [
    Fallback("Expand", expand_by_tiling, otherwise=repeat_columns_of_an_image),
    Fallback("Tile", move_elements, otherwise=tile_by_expanding),
]
