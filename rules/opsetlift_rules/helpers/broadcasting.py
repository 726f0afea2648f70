"""Helpers for opsets without broadcasting: repeat inputs to one shape, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from opsetlift.rulebook.site import Dims, Operators, Site, is_constant, known_shape
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.counting import LARGEST_TABLE
from opsetlift_rules.helpers.dtype_groups import FLOATING

EQUAL_SHAPES = "broadcasting includes equal shapes"


def have_one_shape(shapes: Sequence[Dims | None]) -> bool:
    """Whether the shapes are known to be equal; a symbol equals itself."""
    first = shapes[0]
    if len(shapes) == 1:
        return True
    return first is not None and None not in first and all(shape == first for shape in shapes)


def copies_repeated_channels(site: Site) -> bool:
    """Copy the computed inputs by Identity where their second sizes may differ; whether that was done.

    For runtimes that keep channels in blocks and misread an input with fewer of them: a copy has no blocks. Vectors
    have no channels: they become rows.
    """
    if computes_vectors_as_rows(site):
        return True
    computed = [position for position, name in enumerate(site.inputs) if name and not is_constant(site, position)]
    shapes = {position: site.shape(position) for position in computed}
    images = {position: shape for position, shape in shapes.items() if shape is None or len(shape) > _CHANNELS + 1}
    sizes = {None if shape is None else (len(shape), shape[_CHANNELS]) for shape in images.values()}
    if len(images) < 2 or (len(sizes) == 1 and all(size is not None and size[1] is not None for size in sizes)):
        return False
    op = site.op
    site.replace(
        op.copy(*(op.Identity(name) if position in images else name for position, name in enumerate(site.inputs)))
    )
    return True


_CHANNELS = 1
"""The axis of channels."""


def computes_vectors_as_rows(site: Site) -> bool:
    """Compute vectors, or a vector and a scalar, as matrices of one row; whether that was done.

    Some runtimes take a vector for a column, and repeat it along the wrong axis.
    """
    shapes = [site.shape(name) for name in site.inputs]
    if any(shape is None for shape in shapes) or max(len(shape or ()) for shape in shapes) != 1:
        return False
    op, row = site.op, site.constant([1, -1], "int64", "row")
    inputs = []
    for name, shape in zip(site.inputs, shapes, strict=True):
        value = site.content(name)
        if shape and value is not None:
            inputs.append(site.constant(value[None], hint="row"))
        else:
            inputs.append(op.Reshape(name, row) if shape else name)
    site.replace(op.Reshape(op.copy(*inputs), site.constant([-1], "int64", "vector")))
    return True


def computes_a_vector_as_a_row(site: Site, **along: Any) -> bool:
    """Compute along the axis of a vector as along the rows of a matrix of one row; whether that was done.

    For runtimes that take a vector for a column.

    Args:
        site: Its result is a vector, too.
        along: The attribute that names the second axis.
    """
    shape = site.shape(0)
    if shape is None or len(shape) != 1:
        return False
    row = site.op.Reshape(site.input(0), site.constant([1, -1], "int64", "row"))
    site.replace(site.op.Reshape(site.op.copy(row, *site.inputs[1:], **along), site.constant([-1], "int64", "vector")))
    return True


def compute_a_vector_as_a_row(site: Site) -> None:
    """Compute each element of a vector, or a single number, as one of a matrix of one row."""
    if site.shape(0) != []:
        computes_a_vector_as_a_row(site)
        return
    op = site.op
    element = op.Reshape(site.input(0), site.constant([1, 1], "int64", "element"))
    site.replace(op.Reshape(op.copy(element, *site.inputs[1:]), site.constant([], "int64", "scalar")))


def compute_side_by_side(site: Site) -> None:
    """Compute with inputs of one shape, in one long row where one of them is constant or all have that shape already.

    For runtimes that repeat few inputs, or take the first axis for a batch that constants do not have, or merge the
    node with the ones before it, which a Reshape keeps apart.
    """
    shapes = [shape for name in site.inputs if (shape := known_shape(site, name)) is not None]
    constants = [site.content(name) for name in site.inputs]
    if len(shapes) < len(constants) or all(one is not None for one in constants):
        return
    shape = [size for size in common_shape([[*one] for one in shapes]) or [] if isinstance(size, int)]
    size = math.prod(shape)
    if len(shape) < max(map(len, shapes)) or not 0 < size <= LARGEST_TABLE:
        return
    op = site.op_at(max(site.opset, opsets.EXPAND))
    has_constants = any(one is not None for one in constants)
    is_one_row = has_constants or len(shape) < _RANK_OF_MATRICES or shapes == [shape] * len(shapes)
    row = site.constant([1, 1, size], "int64", "row") if is_one_row else ""
    inputs = []
    for name, own, value in zip(site.inputs, shapes, constants, strict=True):
        if value is not None and value.size > 1:
            inputs.append(site.constant(numpy.broadcast_to(value, shape).reshape(1, 1, size), hint="repeated"))
        elif value is not None:
            inputs.append(site.constant(value.reshape(()), hint="scalar"))
        else:
            repeated = name if own == shape else op.Expand(name, site.constant(shape, "int64", "shape"))
            inputs.append(op.Reshape(repeated, row) if is_one_row else repeated)
    result = site.op.copy(*inputs)
    site.replace(op.Reshape(result, site.constant(shape, "int64", "shape")) if is_one_row else result)


_RANK_OF_MATRICES = 2


def copy_repeated_channels(site: Site) -> None:
    """Copy the computed inputs where broadcasting may repeat channels, for runtimes that misread these."""
    copies_repeated_channels(site)


def common_shape(shapes: Sequence[Dims | None]) -> Dims | None:
    """The broadcast shape, of numbers and of symbols that stand alone; None where a dimension is not certain."""
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known))
    result: Dims = []
    for position in range(rank):
        dims = {shape[position - rank] for shape in known if len(shape) >= rank - position} - {1}
        if len(dims) > 1 or None in dims:
            return None
        result.append(dims.pop() if dims else 1)
    return result


def repeats_onto(shape: Dims, target: Dims) -> list[int] | None:
    """The repeat count of each dimension to reach `target`; None where it is known only at run time."""
    padded = [1] * (len(target) - len(shape)) + shape
    repeats = []
    for dim, wanted in zip(padded, target, strict=True):
        if dim == wanted:
            repeats.append(1)
        elif dim == 1 and isinstance(wanted, int):
            repeats.append(wanted)
        else:
            return None
    return repeats


def tile_onto(site: Site, op: Operators, value: str, target: Dims) -> str | None:
    """Repeat `value` to the shape `target` with Unsqueeze and Tile; None where counts are computed at run time."""
    shape = site.shape(value)
    repeats = repeats_onto(shape, target) if shape is not None else None
    if shape is None or repeats is None:
        return None
    missing = len(target) - len(shape)
    if missing:
        value = op.Unsqueeze(value, site.constant(range(missing), "int64"))
    if any(times != 1 for times in repeats):
        value = op.Tile(value, site.constant(repeats, "int64", "repeats"))
    return value


def zeros_like(op: Operators, value: str, dtype: str) -> str:
    """Zeros of the run-time shape of `value`: x < x holds for no x, NaN and infinities included; integers cancel."""
    if dtype in FLOATING:
        return str(op.Cast(op.Less(value, value), to=dtype))
    return str(op.Sub(value, value))


def filled_like(op: Operators, like: str, number: str, dtype: str) -> str:
    """A tensor of the run-time shape of `like`, full of a float of rank 0, which -0 leaves as it is, whatever it is."""
    return str(op.Add(op.Neg(zeros_like(op, like, dtype)), number))


def repeated(site: Site, op: Operators, value: str, others: Sequence[str]) -> str:
    """A tensor of any dtype and known rank, brought by Tile to the shape that it and the others broadcast to.

    Where the shapes do not tell how often a dimension is repeated, the run does: as often as another tensor is long,
    where the own length is 1.
    """
    shapes = [_known_rank(site, name) for name in (value, *others)]
    target = common_shape(shapes)
    if target is not None and (tiled := tile_onto(site, op, value, target)) is not None:
        return tiled
    rank = max(map(len, shapes))
    names = [
        op.Unsqueeze(name, site.constant(range(rank - len(shape)), "int64")) if len(shape) < rank else name
        for name, shape in zip((value, *others), shapes, strict=True)
    ]
    one = site.constant(1, "int64", "one")
    own, common, *lengths = (op.Shape(name) for name in names)
    for length in lengths:
        is_one = op.Cast(op.Equal(common, one), to="int64")
        common = op.Add(common, op.Mul(is_one, op.Sub(length, one)))
    is_one = op.Cast(op.Equal(own, one), to="int64")
    return str(op.Tile(names[0], op.Add(one, op.Mul(is_one, op.Sub(common, one)))))


def _known_rank(site: Site, value: str) -> Dims:
    site.rank(value, because="below opset 7 the repeated dimensions must be counted")
    return site.shape(value) or []


def onto_one_shape(site: Site, op: Operators, values: Sequence[str], dtype: str) -> list[str]:
    """Bring numeric `values` to their common shape: by Tile where the shapes tell how, else at run time.

    At run time each value loses a broadcast zero: x - 0 is x for every x, -0.0, NaN and infinities included.
    """
    shapes = [site.shape(value) for value in values]
    if have_one_shape(shapes):
        return list(values)
    target = common_shape(shapes)
    if target is not None:
        tiled = [tile_onto(site, op, value, target) for value in values]
        if all(value is not None for value in tiled):
            return [value for value in tiled if value is not None]
    if site.target < opsets.BROADCASTING:
        wide = [value for value, shape in zip(values, shapes, strict=True) if shape != []]
        if dtype in FLOATING and wide and have_one_shape([site.shape(value) for value in wide]):
            return [value if value in wide else filled_like(op, wide[0], value, dtype) for value in values]
        return [
            repeated(site, op, value, [*values[:position], *values[position + 1 :]])
            for position, value in enumerate(values)
        ]
    zeros = zeros_like(op, values[0], dtype)
    for value in values[1:]:
        zeros = op.Add(zeros, zeros_like(op, value, dtype))
    return [op.Sub(value, zeros) for value in values]


def broadcast_inputs(site: Site) -> None:
    """Broadcast all inputs to one shape, which versions below 8 require."""
    if have_one_shape([site.shape(name) for name in site.inputs]):
        return
    op = site.op_at(opsets.AXES_AS_INPUTS)
    site.replace(site.op.copy(*onto_one_shape(site, op, site.inputs, site.dtype(0))))
