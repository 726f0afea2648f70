"""Elements chosen by their value: Compress, NonZero, Unique, TopK.

Compress  11: axis may be negative
TopK      10: k attribute -> input · 11: +largest, +sorted
"""

from __future__ import annotations

import numpy

from opsetlift.evaluator.kernels.axes import lenient_int_list, nonnegative_axis
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

_MOST_PACKED = 2**31
"""How many indices fit into an int64 beside a 32-bit key."""


def _sortable(values: Array) -> Array:
    """An array of a dtype that numpy sorts, in the order of `values`: float32 for bfloat16, ranks for strings."""
    if values.dtype == object:
        ranks = numpy.unique(values.reshape(-1), return_inverse=True)[1]
        return ranks.reshape(values.shape)
    if values.dtype.kind not in "biuf":
        return values.astype(numpy.float32)
    return values


@kernel("Compress", since=(9, 11, 28), changes=(11,))
def compress(call: Call, data: Array, condition: Array) -> Array:
    """Compress-9, 11, 28: The slices of data where a condition is true.

    data [*shape] of any dtype, bool condition [n] with n up to the size of the axis, or of data without an axis.
    """
    if condition.ndim != 1:
        call.fail(f"condition must have rank 1, it has {condition.ndim}")
    axis = call.attributes.get("axis")
    if axis is None:
        data, axis = data.reshape(-1), 0
    else:
        axis = nonnegative_axis(call, axis, data.ndim)
    if condition.size > data.shape[axis]:
        call.fail(f"condition has {condition.size} elements, the axis only {data.shape[axis]}")
    return data.take(numpy.flatnonzero(condition), axis)


@kernel("NonZero", since=(9, 13), changes=())
def non_zero(call: Call, data: Array) -> Array:
    """NonZero-9, 13: The indices of elements that are not 0, int64 [rank, n].

    data [*shape] of any dtype; a scalar has no index, so that its output is [0, n].
    """
    if data.dtype == object:
        data = data != ""
    if data.ndim == 0:
        return numpy.zeros((0, int(bool(data))), numpy.int64)
    return numpy.array(numpy.nonzero(data), numpy.int64)


@kernel("Unique", since=(11, 28), changes=())
def unique(call: Call, data: Array) -> tuple[Array, Array, Array, Array]:
    """Unique-11, 28: The distinct elements, or slices along an axis.

    NaNs are equal to each other and the greatest, as in numpy.unique, which the text cites.

    Args:
        call: axis, and whether they are sorted.
        data: [*shape], any dtype.

    Returns:
        The distinct ones, and int64: where each is first, which one each input is, and how often it occurs.
    """
    in_order = call.attributes["sorted"]
    if in_order not in (0, 1):
        call.fail(f"sorted is {in_order}; it must be 0 or 1")
    axis = call.attributes.get("axis")
    if axis is None:
        data, axis = data.reshape(-1), 0
    else:
        axis = nonnegative_axis(call, axis, data.ndim)
    count = data.shape[axis]
    keys = _sortable(numpy.moveaxis(data, axis, 0)).reshape(count, -1 if data.size else 0)
    order = numpy.lexsort(keys.T[::-1]) if keys.shape[1] else numpy.arange(count)
    lower, upper = keys[order[:-1]], keys[order[1:]]
    differs = (lower != upper) & ~((lower != lower) & (upper != upper))
    begins = numpy.concatenate([numpy.ones(min(count, 1), bool), differs.any(axis=1)])
    # The sort is stable: a group's first member in sorted order is its first occurrence.
    first = order[begins]
    group = numpy.empty(count, numpy.int64)
    group[order] = numpy.cumsum(begins) - 1
    if not in_order:
        by_occurrence = numpy.argsort(first)
        rank = numpy.empty_like(by_occurrence)
        rank[by_occurrence] = numpy.arange(rank.size)
        first, group = first[by_occurrence], rank[group]
    counts = numpy.bincount(group, minlength=first.size).astype(numpy.int64)
    return data.take(first, axis), first, group, counts


@kernel("TopK", since=(1,))
def top_k_by_attribute(call: Call, data: Array) -> tuple[Array, Array]:
    """TopK-1: The k greatest elements along an axis.

    Float data [*shape]. The outputs are the elements, and their indices, int64.
    """
    return _top_k(call, data, call.attributes["k"])


@kernel("TopK", since=(10, 11, 24), changes=())
def top_k_by_input(call: Call, data: Array, k: Array) -> tuple[Array, Array]:
    """TopK-10, 11, 24: The k greatest or least elements along an axis.

    Numbers [*shape], int64 k, one element. The outputs are the elements, and their indices, int64. The text asks for
    a positive k; every runtime takes 0 as well, and gives no elements.
    """
    counts = lenient_int_list(call, k, "K")
    if len(counts) != 1:
        call.fail(f"K has {len(counts)} elements; it must have one")
    return _top_k(call, data, counts[0])


def _top_k(call: Call, data: Array, count: int) -> tuple[Array, Array]:
    # -1 is the default from the first version on.
    axis = nonnegative_axis(call, call.attributes["axis"], data.ndim, negative_since=1)
    size = data.shape[axis]
    if not 0 <= count <= size:
        call.fail(f"k is {count}; axis {axis} has {size} elements")
    keys = numpy.moveaxis(_sortable(data), axis, -1)
    # With sorted=0 any order is right, also the sorted one.
    if keys.dtype.itemsize <= 4 and size <= _MOST_PACKED:
        best = _first_packed(keys, count, bool(call.attributes.get("largest", 1)))
    else:
        best = _first_sorted(keys, count, bool(call.attributes.get("largest", 1)))
    indices = numpy.moveaxis(best, -1, axis)
    return numpy.take_along_axis(data, indices, axis), indices


# The text does not place NaN: it is the greatest in both functions, as numpy sorts.


def _first_sorted(keys: Array, count: int, largest: bool) -> Array:
    if not largest:
        return numpy.argsort(keys, axis=-1, kind="stable")[..., :count]
    # A stable sort of the mirrored axis, read backwards, puts the lower index first among equals.
    mirrored = numpy.argsort(keys[..., ::-1], axis=-1, kind="stable")
    return numpy.asarray(keys.shape[-1] - 1 - mirrored[..., ::-1][..., :count])


def _first_packed(keys: Array, count: int, largest: bool) -> Array:
    """The same for keys of at most 32 bits, which leave room for the index: nothing beyond `count` is sorted."""
    if keys.dtype.kind == "f":
        # Adding 0 makes -0.0 the 0.0 that it equals; every NaN becomes the same one, above infinity.
        values = numpy.where(numpy.isnan(keys), numpy.float32(numpy.nan), keys.astype(numpy.float32) + 0)
        bits = abs(values).view(numpy.int32).astype(numpy.int64)
        ranks = numpy.where(numpy.signbit(values), -bits, bits)
    else:
        ranks = keys.astype(numpy.int64)
    packed = ((-ranks if largest else ranks) << 31) + numpy.arange(keys.shape[-1])
    if count < keys.shape[-1]:
        packed = numpy.partition(packed, count, axis=-1)[..., :count]
    return numpy.sort(packed, axis=-1) & (_MOST_PACKED - 1)
