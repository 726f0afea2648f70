"""Reading and writing at computed positions: Gather*, Scatter*.

Gather           11: indices may be negative
GatherND         12: +batch_dims
Scatter          11: deprecated, the same as ScatterElements-11
ScatterElements  16: +reduction add, mul · 18: +max, min
ScatterND        16: +reduction add, mul · 18: +max, min
"""

from __future__ import annotations

import math

import numpy

from opsetlift.evaluator.kernels.axes import nonnegative_axis
from opsetlift.evaluator.kernels.numeric import is_float
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

_REDUCTIONS = {"add": numpy.add, "mul": numpy.multiply, "max": numpy.maximum, "min": numpy.minimum}


def _extremes(indices: Array) -> tuple[int, int]:
    """The least and the greatest; numpy's own way takes long for the single index that a Loop's body has."""
    if indices.size == 1:
        return indices.item(), indices.item()
    return int(indices.min()), int(indices.max())


def _within_bounds(call: Call, indices: Array, size: int) -> Array:
    """`indices` counted from the front, each checked to be in [-size, size - 1]."""
    if indices.size:
        least, greatest = _extremes(indices)
        if least < -size or greatest >= size:
            worst = least if least < -size else greatest
            call.fail(f"index {worst} is out of bounds [{-size}, {size - 1}]")
        if least < 0:
            return numpy.where(indices < 0, indices + size, indices)
    return indices


@kernel("Gather", since=(1, 11, 13), changes=(11,))
def gather(call: Call, data: Array, indices: Array) -> Array:
    """Gather-1, 11, 13: Slices of data along an axis.

    Negative axes were always defined, negative indices are from 11 on.

    Args:
        call: axis.
        data: [*before, size, *after], any dtype.
        indices: int32 or int64 [*shape].

    Returns:
        [*before, *shape, *after], of the dtype of data.
    """
    axis = nonnegative_axis(call, call.attributes["axis"], data.ndim, negative_since=1)
    if call.since_version < 11 and indices.size and _extremes(indices)[0] < 0:
        call.fail_if_strict("an index is negative; this version defines no meaning for negative indices")
    call.reserve(data.size // max(data.shape[axis], 1) * indices.size)
    # Of strings, numpy would return a bare str for a scalar index.
    return numpy.asarray(data.take(_within_bounds(call, indices, data.shape[axis]), axis), data.dtype)


@kernel("GatherElements", since=(11, 13), changes=())
def gather_elements(call: Call, data: Array, indices: Array) -> Array:
    """GatherElements-11, 13: The element of data at each index along an axis.

    Args:
        call: axis.
        data: [*shape], any dtype.
        indices: int32 or int64 of the rank of data.

    Returns:
        The shape of indices, of the dtype of data.
    """
    axis = nonnegative_axis(call, call.attributes["axis"], data.ndim)
    positions = _positions_along_axis(call, data, indices, axis)
    return data.reshape(-1).take(positions)


def _positions_along_axis(call: Call, data: Array, indices: Array, axis: int) -> Array:
    """The flat position in `data` that every element of `indices` means: its own place, but for `axis`."""
    if indices.ndim != data.ndim:
        call.fail(f"indices has rank {indices.ndim}, data has {data.ndim}; they must be the same")
    result = numpy.zeros(indices.shape, numpy.int64)
    stride = 1
    for dimension in reversed(range(data.ndim)):
        size, extent = data.shape[dimension], indices.shape[dimension]
        if dimension == axis:
            result += _within_bounds(call, indices.astype(numpy.int64), size) * stride
        else:
            if extent > size and indices.size:
                call.fail(f"indices has {extent} elements on axis {dimension}, data only {size}")
            place = numpy.arange(extent) * stride
            result += place.reshape([-1 if other == dimension else 1 for other in range(data.ndim)])
        stride *= size
    return result


@kernel("GatherND", since=(11, 12, 13), changes=())
def gather_nd(call: Call, data: Array, indices: Array) -> Array:
    """GatherND-11, 12, 13: Slices of data at tuples of indices.

    Args:
        call: batch_dims, 0 before 12.
        data: [*batch, *outer, *inner], any dtype.
        indices: int64 [*batch, *shape, length of outer].

    Returns:
        [*batch, *shape, *inner], of the dtype of data.
    """
    batch_dimensions = call.attributes.get("batch_dims", 0)
    if data.ndim < 1 or indices.ndim < 1:
        call.fail(f"the ranks of data and indices must be >= 1, they are {data.ndim} and {indices.ndim}")
    if not 0 <= batch_dimensions < min(data.ndim, indices.ndim):
        call.fail(f"batch_dims is {batch_dimensions}; it must be less than the ranks, {data.ndim} and {indices.ndim}")
    batch = data.shape[:batch_dimensions]
    if indices.shape[:batch_dimensions] != batch:
        call.fail(f"the first {batch_dimensions} dimensions of data and indices must be equal")
    length = indices.shape[-1]
    if not 1 <= length <= data.ndim - batch_dimensions:
        call.fail(f"indices has tuples of {length}; it must be between 1 and {data.ndim - batch_dimensions}")
    inner = data.shape[batch_dimensions : batch_dimensions + length]
    slices = data.reshape(math.prod(batch) * math.prod(inner), *data.shape[batch_dimensions + length :])
    starts = (numpy.arange(math.prod(batch)) * math.prod(inner)).reshape(batch)
    positions = _positions_of_tuples(call, indices, inner)
    call.reserve(positions.size * math.prod(slices.shape[1:]))
    result = slices[positions + starts.reshape(batch + (1,) * (positions.ndim - batch_dimensions))]
    return numpy.asarray(result, data.dtype)


def _positions_of_tuples(call: Call, indices: Array, shape: tuple[int, ...]) -> Array:
    """The flat position in `shape` of each index tuple in the last dimension of `indices`."""
    result = numpy.zeros(indices.shape[:-1], numpy.int64)
    for position, size in enumerate(shape):
        result = result * size + _within_bounds(call, indices[..., position], size)
    return result


@kernel("Scatter", since=(9, 11))
@kernel("ScatterElements", since=(11, 13, 16, 18))
def scatter_elements(call: Call, data: Array, indices: Array, updates: Array) -> Array:
    """Scatter-9, 11 and ScatterElements-11, 13, 16, 18: data, with updates at indices along an axis.

    Args:
        call: axis, and from 16 on reduction.
        data: [*shape], any dtype.
        indices: int32 or int64 of the rank of data.
        updates: Like indices, of the dtype of data.

    Returns:
        The shape and dtype of data.
    """
    axis = nonnegative_axis(call, call.attributes["axis"], data.ndim, negative_since=9)
    if updates.shape != indices.shape:
        call.fail(f"updates has the shape {list(updates.shape)}, indices {list(indices.shape)}; they must be the same")
    positions = _positions_along_axis(call, data, indices, axis).reshape(-1)
    result = data.reshape(-1).copy()
    _update(call, result, positions, updates.reshape(-1))
    return result.reshape(data.shape)


@kernel("ScatterND", since=(11, 13, 16, 18), changes=(18,))
def scatter_nd(call: Call, data: Array, indices: Array, updates: Array) -> Array:
    """ScatterND-11, 13, 16, 18: data, with updates at tuples of indices.

    Args:
        call: From 16 on reduction.
        data: [*outer, *inner], any dtype.
        indices: int64 [*shape, length of outer].
        updates: [*shape, *inner], of the dtype of data.

    Returns:
        The shape and dtype of data.
    """
    if data.ndim < 1 or indices.ndim < 1:
        call.fail(f"the ranks of data and indices must be >= 1, they are {data.ndim} and {indices.ndim}")
    length = indices.shape[-1]
    if length > data.ndim:
        call.fail(f"indices has tuples of {length}, more than the rank of data, {data.ndim}")
    outer, inner = data.shape[:length], data.shape[length:]
    expected = indices.shape[:-1] + inner
    if updates.shape != expected:
        call.fail(f"updates has the shape {list(updates.shape)}; data and indices ask for {list(expected)}")
    positions = _positions_of_tuples(call, indices, outer).reshape(-1)
    slices = data.reshape(math.prod(outer), math.prod(inner)).copy()
    _update(call, slices, positions, updates.reshape(positions.size, math.prod(inner)))
    return slices.reshape(data.shape)


def _update(call: Call, slices: Array, positions: Array, updates: Array) -> None:
    reduction = call.attributes.get("reduction", "none")
    known = ("none", "add", "mul", "max", "min")[: 5 if call.since_version >= 18 else 3]
    if reduction not in known:
        clause = f"reduction is {reduction!r}; this version has {', '.join(known)}"
        # PyTorch writes those of 18 at 16 and 17, too, and newer runtimes compute them there.
        if reduction not in ("max", "min"):
            call.fail(clause)
        call.fail_if_strict(clause)
    written = numpy.zeros(len(slices), bool)
    written[positions] = True
    repeated = numpy.count_nonzero(written) != positions.size
    if reduction == "none":
        # Duplicates are forbidden, or the order of the updates is left open, so that no result is the right one;
        # the others write in the order of `updates`.
        if repeated:
            call.fail_if_strict("indices should not have duplicate entries where reduction is none")
        slices[positions] = updates
        return
    function = _REDUCTIONS[reduction]
    signs = _ZeroSigns(reduction == "min", slices) if reduction in ("max", "min") and is_float(slices.dtype) else None
    try:
        if repeated:
            function.at(slices, positions, updates)
        else:
            slices[positions] = function(slices[positions], updates)
    except TypeError:
        call.fail(f"reduction {reduction} is not defined for this dtype")
    if signs is not None:
        signs.give(slices, positions, updates)


class _ZeroSigns:
    """As for Max and Min, +0 is greater than -0; numpy's choice hangs on the memory layout."""

    def __init__(self, least: bool, slices: Array) -> None:
        self._least = least
        self._decided = self._decides(slices)

    def _decides(self, values: Array) -> Array:
        return numpy.asarray((values == 0) & (numpy.signbit(values) == self._least))

    def give(self, slices: Array, positions: Array, updates: Array) -> None:
        numpy.logical_or.at(self._decided, positions, self._decides(updates))
        zeros = slices == 0
        slices[zeros] = numpy.where(
            self._decided[zeros] == self._least, slices.dtype.type(-0.0), slices.dtype.type(0.0)
        )


@kernel("TensorScatter", since=(24,))
def tensor_scatter(call: Call, past_cache: Array, update: Array, write_indices: Array | None = None) -> Array:
    """TensorScatter-24: A cache, with an update at an index of each batch entry.

    Args:
        call: axis, and mode, linear or circular.
        past_cache: [batch, *, size, *], any dtype.
        update: Like past_cache, but for the size along the axis, which is not larger.
        write_indices: int64 [batch]; absent, zeros.

    Returns:
        The shape and dtype of past_cache.
    """
    axis = nonnegative_axis(call, call.attributes["axis"], past_cache.ndim)
    if axis == 0:
        call.fail("axis cannot be 0, the batch dimension")
    mode = call.attributes["mode"]
    if mode not in ("linear", "circular"):
        call.fail(f"mode is {mode!r}; it is linear or circular")
    size = past_cache.shape[axis]
    expected = list(past_cache.shape)
    if update.ndim == past_cache.ndim:
        expected[axis] = update.shape[axis]
    if list(update.shape) != expected or expected[axis] > size:
        call.fail(
            f"update has the shape {list(update.shape)}; it may differ from past_cache, {list(past_cache.shape)}, only "
            f"by being shorter on axis {axis}"
        )
    batch, length = past_cache.shape[0], update.shape[axis]
    starts = numpy.zeros(batch, numpy.int64) if write_indices is None else write_indices
    if starts.shape != (batch,):
        call.fail(f"write_indices has the shape {list(starts.shape)}; it must be [{batch}]")
    positions = starts[:, None] + numpy.arange(length)
    if mode == "circular":
        positions %= max(size, 1)
    elif positions.size and (positions.min() < 0 or positions.max() >= size):
        call.fail(f"linear mode requires write_indices + sequence_length <= {size}")
    result = past_cache.copy()
    numpy.moveaxis(result, axis, 1)[numpy.arange(batch)[:, None], positions] = numpy.moveaxis(update, axis, 1)
    return result
