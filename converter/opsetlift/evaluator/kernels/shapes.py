"""Reshape, Squeeze, Unsqueeze, Flatten, Transpose, Expand, Tile: elements stay what they are, the shape changes.

Reshape    5: shape attribute -> input · 14: +allowzero
Squeeze    11: axes may be negative · 13: axes attribute -> input
Unsqueeze  11: axes may be negative · 13: axes attribute -> input
Flatten    11: axis may be negative
Tile       6: one scalar per operand (tiles, axis) -> repeats for every axis
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from opsetlift.evaluator.errors import NotExecutable, Place
from opsetlift.evaluator.kernels.axes import distinct_axes, int_list, lenient_int_list, nonnegative_axis, scalar
from opsetlift.evaluator.kernels.registry import Call, kernel, negative_axes
from opsetlift.model.arrays import Array


@kernel("Reshape", since=(1,))
def reshape_by_attribute(call: Call, data: Array) -> Array:
    """Reshape-1: data in the shape of the attribute; 0 copies a size, -1 is the rest."""
    if "shape" not in call.attributes:
        call.fail("the argument `shape` is missing")
    return _reshape(call, data, call.attributes["shape"], zero_copies=True)


@kernel("Reshape", since=(5, 13, 14, 19, 21, 23, 24, 25), changes=())
def reshape_by_input(call: Call, data: Array, shape: Array) -> Array:
    """Reshape-5, 13, 14, 19, 21, 23, 24, 25: data in an int64 shape [rank].

    0 copies a size, unless allowzero (14) is set; -1 is what remains.
    """
    zero_copies = not call.attributes.get("allowzero", 0)
    return _reshape(call, data, int_list(call, shape, "shape"), zero_copies)


def _reshape(call: Call, data: Array, requested: Sequence[int], zero_copies: bool) -> Array:
    shape = list(requested)
    if min(shape, default=0) < -1 or shape.count(-1) > 1:
        call.fail(f"shape is {shape}; at most one dimension may be -1, and none less than that")
    if zero_copies:
        if any(dimension == 0 and index >= data.ndim for index, dimension in enumerate(shape)):
            call.fail(f"shape is {shape}; a 0 beyond the input's rank {data.ndim} has no dimension to copy")
        shape = [data.shape[index] if dimension == 0 else dimension for index, dimension in enumerate(shape)]
    elif 0 in shape and -1 in shape:
        call.fail("with allowzero set, shape must not contain both 0 and -1")
    if -1 in shape:
        known = math.prod(dimension for dimension in shape if dimension != -1)
        # With a zero among the other dimensions every value fits, so that none can be inferred.
        if known == 0 or data.size % known:
            call.fail(f"the dimension -1 of {shape} cannot be inferred from {data.size} elements")
        shape[shape.index(-1)] = data.size // known
    if math.prod(shape) != data.size:
        call.fail(f"the input has {data.size} elements, the requested shape {shape} has {math.prod(shape)}")
    return data.reshape(shape)


@kernel("Squeeze", since=(1, 11), changes={11: negative_axes})
def squeeze_by_attribute(call: Call, data: Array) -> Array:
    """Squeeze-1, 11: data without axes of size 1: those of the attribute axes, or all."""
    return _squeeze(call, data, call.attributes.get("axes"))


@kernel("Squeeze", since=(13, 21, 23, 24, 25), changes=())
def squeeze_by_input(call: Call, data: Array, axes: Array | None = None) -> Array:
    """Squeeze-13, 21, 23, 24, 25: data without axes of size 1: those of int64 axes [n], or all."""
    return _squeeze(call, data, None if axes is None else lenient_int_list(call, axes, "axes"))


def _squeeze(call: Call, data: Array, axes: Sequence[int] | None) -> Array:
    # An empty list is "provided" and selects nothing: so ONNX's shape inference reads it, while onnxruntime takes it
    # for absent.
    if axes is None:
        return data.squeeze()
    # The text selects axes, so that naming one twice is as good as once (as in ONNX's shape inference, onnxruntime).
    selected = {nonnegative_axis(call, axis, data.ndim, name="axes") for axis in axes}
    for axis in selected:
        if data.shape[axis] != 1:
            call.fail(f"axis {axis} is selected, its dimension is {data.shape[axis]}, not 1")
    return data.squeeze(tuple(selected))


@kernel("Unsqueeze", since=(1, 11), changes={11: negative_axes})
def unsqueeze_by_attribute(call: Call, data: Array) -> Array:
    """Unsqueeze-1, 11: data with new axes of size 1 at the attribute axes."""
    return _unsqueeze(call, data, call.attributes["axes"])


@kernel("Unsqueeze", since=(13, 21, 23, 24, 25), changes=(23,))
def unsqueeze_by_input(call: Call, data: Array, axes: Array) -> Array:
    """Unsqueeze-13, 21, 23, 24, 25: data with new axes of size 1 at int64 axes [n]."""
    if call.since_version >= 23:
        return _unsqueeze(call, data, lenient_int_list(call, axes, "axes"))
    # "List of integers" is all that the text says of axes before; node tests of Loop give a scalar.
    return _unsqueeze(call, data, int_list(call, numpy.atleast_1d(axes), "axes"))


def _unsqueeze(call: Call, data: Array, axes: Sequence[int]) -> Array:
    return numpy.expand_dims(data, tuple(distinct_axes(call, axes, data.ndim + len(axes))))


@kernel("Flatten", since=(1, 9, 11, 13, 21, 23, 24, 25), changes={11: negative_axes})
def flatten(call: Call, data: Array) -> Array:
    """Flatten-1, 9, 11, 13, 21, 23, 24, 25: data as a matrix, [sizes before axis, sizes from it on].

    axis = rank is legal here.
    """
    axis = call.attributes["axis"]
    if axis < 0:
        axis = nonnegative_axis(call, axis, data.ndim)
    elif axis > data.ndim:
        call.fail(f"axis is {axis}; it must not exceed the input's rank, {data.ndim}")
    return data.reshape(math.prod(data.shape[:axis]), math.prod(data.shape[axis:]))


@kernel("Transpose", since=(1, 13, 21, 23, 24, 25), changes=())
def transpose(call: Call, data: Array) -> Array:
    """Transpose-1, 13, 21, 23, 24, 25: data with its axes in the order perm, or reversed."""
    permutation = call.attributes.get("perm")
    if permutation is None:
        return data.T
    if sorted(permutation) != list(range(data.ndim)):
        call.fail(f"perm is {list(permutation)}; it must contain each axis in [0, {data.ndim - 1}] exactly once")
    return data.transpose(permutation)


_MOST_AXES = 32


@kernel("Expand", since=(8, 13), changes=())
def expand(call: Call, data: Array, shape: Array) -> Array:
    """Expand-8, 13: data broadcast with an int64 shape [rank]; the broadcast goes both ways."""
    requested = int_list(call, shape, "shape")
    if min(requested, default=0) < 0:
        call.fail(f"shape is {requested}; a dimension cannot be negative")
    if len(requested) > _MOST_AXES:
        raise NotExecutable(f"shape has {len(requested)} dimensions, and numpy broadcasts up to {_MOST_AXES}", Place())
    try:
        result_shape = numpy.broadcast_shapes(data.shape, tuple(requested))
    except ValueError:
        call.fail(f"shape {requested} and the input's {list(data.shape)}: dimensions must be equal, or one of them 1")
    return numpy.broadcast_to(data, result_shape)


@kernel("Tile", since=(1,))
def tile_one_axis(call: Call, data: Array, tiles: Array, axis: Array) -> Array:
    """Tile-1: Copies of data, one after the other along an axis.

    data [*shape] of a float dtype; tiles and axis are scalars of it.
    """
    # "Repeat the elements" could mean a a b b too; "repeated copies of the input tensor" and Tile-6 show a b a b.
    repeats = [1] * data.ndim
    position = nonnegative_axis(call, int(scalar(call, axis, "axis")), data.ndim)
    repeats[position] = int(scalar(call, tiles, "tiles"))
    return _tile(call, data, repeats)


@kernel("Tile", since=(6, 13), changes=())
def tile(call: Call, data: Array, repeats: Array) -> Array:
    """Tile-6, 13: data repeated along each axis, int64 repeats [rank] times."""
    counts = int_list(call, repeats, "repeats")
    if len(counts) != data.ndim:
        call.fail(f"repeats has {len(counts)} values, the input has {data.ndim} dimensions: no broadcast")
    return _tile(call, data, counts)


def _tile(call: Call, data: Array, repeats: Sequence[int]) -> Array:
    if min(repeats, default=0) < 0:
        call.fail(f"repeats are {list(repeats)}; a number of copies cannot be negative")
    call.reserve(math.prod(max(size * count, 1) for size, count in zip(data.shape, repeats, strict=True)))
    return numpy.tile(data, repeats)
