"""Concat and Split: tensors joined along an axis, and taken apart again.

Concat  4: axis required, was optional with 1 · 11: axis may be negative
Split   2: lengths by attribute only · 11: axis may be negative · 13: lengths attribute -> input ·
        18: num_outputs, the last part may be smaller
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from opsetlift.evaluator.kernels.axes import int_list, nonnegative_axis
from opsetlift.evaluator.kernels.registry import Call, every_node, kernel, negative_axes
from opsetlift.model.arrays import Array


@kernel("Concat", since=(1, 4, 11, 13), changes={4: every_node, 11: negative_axes})
def concat(call: Call, *tensors: Array) -> Array:
    """Concat-1, 4, 11, 13: Tensors joined along an axis.

    Inputs [*before, size, *after] of one dtype, which differ in size along the axis alone.
    """
    first = tensors[0]
    axis = nonnegative_axis(call, call.attributes.get("axis", 1), first.ndim)
    others = _other_dimensions(first, axis)
    for tensor in tensors[1:]:
        if _other_dimensions(tensor, axis) != others:
            call.fail(f"shapes {list(first.shape)} and {list(tensor.shape)} must be the same except for axis {axis}")
    return numpy.concatenate(tensors, axis)


def _other_dimensions(tensor: Array, axis: int) -> tuple[int, tuple[int, ...]]:
    return tensor.ndim, tensor.shape[:axis] + tensor.shape[axis + 1 :]


@kernel("Split", since=(1,))
def split_by_attribute_or_input(call: Call, data: Array, split: Array | None = None) -> tuple[Array, ...]:
    """Split-1: Parts of data along an axis.

    Lengths by the attribute or the input split, int64 [parts]; without them, equal parts.
    """
    lengths = call.attributes.get("split")
    if split is not None:
        if lengths is not None:
            call.fail("the lengths are given by the attribute and by the input `split`; only one may be")
        lengths = int_list(call, split, "split")
    return _split(call, data, lengths)


@kernel("Split", since=(2, 11), changes={11: negative_axes})
def split_by_attribute(call: Call, data: Array) -> tuple[Array, ...]:
    """Split-2, 11: Parts of data along an axis.

    Lengths by the attribute split; without it, equal parts.
    """
    return _split(call, data, call.attributes.get("split"))


@kernel("Split", since=(13,))
def split_by_input(call: Call, data: Array, split: Array | None = None) -> tuple[Array, ...]:
    """Split-13: Parts of data along an axis.

    Lengths by the input split, int64 [parts]; without it, equal parts.
    """
    return _split(call, data, None if split is None else int_list(call, split, "split"))


@kernel("Split", since=(18,))
def split_by_input_or_count(call: Call, data: Array, split: Array | None = None) -> tuple[Array, ...]:
    """Split-18: Parts of data along an axis.

    Lengths by the input split, int64 [parts], or num_outputs equal parts, of which the last may be smaller.
    """
    count = call.attributes.get("num_outputs")
    if (split is None) == (count is None):
        call.fail("either the input `split` or the attribute `num_outputs` should be specified, but not both")
    if split is not None:
        return _split(call, data, int_list(call, split, "split"))
    if count != len(call.node.output):
        call.fail(f"num_outputs is {count}, the node has {len(call.node.output)} outputs")
    axis = nonnegative_axis(call, call.attributes["axis"], data.ndim)
    length = -(-data.shape[axis] // count)
    last = data.shape[axis] - length * (count - 1)
    if last < 0:
        # Only "the last chunk will be smaller"; of 5 elements in 4 parts, two would have to be.
        call.fail(f"a dimension of {data.shape[axis]} has no {count} parts of which only the last is smaller")
    return _parts(data, [length] * (count - 1) + [last], axis)


def _split(call: Call, data: Array, lengths: Sequence[int] | None) -> tuple[Array, ...]:
    # Split-1 names no default axis; that of Split-2 is taken.
    axis = nonnegative_axis(call, call.attributes.get("axis", 0), data.ndim)
    dimension, count = data.shape[axis], len(call.node.output)
    if lengths is None:
        if dimension % count:
            call.fail(f"a dimension of {dimension} cannot be split into {count} equal sized parts")
        lengths = [dimension // count] * count
    if len(lengths) != count:
        call.fail(f"split has {len(lengths)} lengths, the node has {count} outputs")
    if min(lengths) < 0 or sum(lengths) != dimension:
        call.fail(f"split is {list(lengths)}; the lengths must be >= 0 and add up to the dimension, {dimension}")
    return _parts(data, lengths, axis)


def _parts(data: Array, lengths: Sequence[int], axis: int) -> tuple[Array, ...]:
    return tuple(numpy.split(data, numpy.cumsum(lengths)[:-1], axis))
