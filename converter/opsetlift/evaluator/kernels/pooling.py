"""MaxPool, AveragePool, LpPool and the global ones: axis by axis, since maxima and sums are separable."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

import numpy

from opsetlift.evaluator.kernels.accumulation import mean, total
from opsetlift.evaluator.kernels.numeric import as_dtype, is_float, smallest, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.kernels.windows import Windows, element_counts, kernel_windows, spatial_shape
from opsetlift.model.arrays import Array


@kernel("MaxPool", since=(1, 8, 10, 11, 12, 22), changes=())
def max_pool(call: Call, x: Array) -> Array | tuple[Array, Array]:
    """MaxPool-1, 8, 10, 11, 12, 22: The greatest element of each window.

    NaN wins, as in Max; a window that covers padding only gives the least value (both open in the texts).

    Args:
        call: kernel_shape, strides, pads, dilations, auto_pad, ceil_mode, storage_order.
        x: [N, C, *spatial], any dtype of the version.

    Returns:
        [N, C, *spatial of the output], of the dtype of x, and where asked for where in x each was found, int64.
    """
    windows = _pooling_windows(call, x)
    wide = widened(x)
    padded = windows.padded(wide, smallest(wide.dtype))
    maxima = as_dtype(_with_greater_zeros(_pooled(padded, windows, numpy.maximum), wide, windows), x.dtype)
    if call.output_count < 2:
        return maxima
    return maxima, _indices_of_maxima(x, windows, column_major=bool(call.attributes["storage_order"]))


@kernel("AveragePool", since=(1, 7, 10, 11, 19, 22), changes=())
def average_pool(call: Call, x: Array) -> Array:
    """AveragePool-1, 7, 10, 11, 19, 22: The average of each window.

    Float x [N, C, *spatial]. The output is [N, C, *spatial of the output], of its dtype.
    """
    windows = _pooling_windows(call, x)
    wide = widened(x)
    sums = _pooled(windows.padded(wide, 0), windows, numpy.add)
    # What ceil_mode adds beyond the pads is no element, with count_include_pad or without.
    counts = element_counts(windows, with_pads=bool(call.attributes.get("count_include_pad", 0)))
    return as_dtype(sums / counts.astype(wide.dtype), x.dtype)


@kernel("LpPool", since=(1, 2, 11, 18, 22))
def lp_pool(call: Call, x: Array) -> Array:
    """LpPool-1, 2, 11, 18, 22: The p-norm of each window.

    Float x [N, C, *spatial]. The output is [N, C, *spatial of the output], of its dtype.
    """
    windows = _pooling_windows(call, x)
    p = _checked_p(call)
    wide = widened(x)
    sums = _pooled(windows.padded(_power(wide, p), 0), windows, numpy.add)
    return as_dtype(_root(sums, p), x.dtype)


@kernel("GlobalMaxPool", since=(1, 22), changes=())
def global_max_pool(call: Call, x: Array) -> Array:
    """GlobalMaxPool-1, 22: The greatest element of each channel.

    Float x [N, C, *spatial]. The output is [N, C, 1...], of its dtype.
    """
    spatial_shape(call, x)
    if x.size == 0:
        return numpy.full((*x.shape[:2], *(1,) * (x.ndim - 2)), smallest(x.dtype), x.dtype)
    wide = widened(x)
    maxima = wide.max(axis=_spatial_axes(x), keepdims=True)
    return as_dtype(_with_greater_zeros(maxima, wide, None), x.dtype)


@kernel("GlobalAveragePool", since=(1, 22), changes=())
def global_average_pool(call: Call, x: Array) -> Array:
    """GlobalAveragePool-1, 22: The average of each channel.

    Float x [N, C, *spatial]. The output is [N, C, 1...], of its dtype.
    """
    spatial_shape(call, x)
    return as_dtype(mean(widened(x), _spatial_axes(x), keepdims=True), x.dtype)


@kernel("GlobalLpPool", since=(1, 2, 22), changes=())
def global_lp_pool(call: Call, x: Array) -> Array:
    """GlobalLpPool-1, 2, 22: The p-norm of each channel.

    Float x [N, C, *spatial]. The output is [N, C, 1...], of its dtype.
    """
    spatial_shape(call, x)
    p = _checked_p(call)
    sums = total(_power(widened(x), p), _spatial_axes(x), keepdims=True).astype(widened(x).dtype)
    return as_dtype(_root(sums, p), x.dtype)


def _spatial_axes(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def _checked_p(call: Call) -> float:
    p: float = call.attributes["p"]
    if p == 0:
        call.fail("there is no Lp norm with p = 0")
    return p


def _power(x: Array, p: float) -> Array:
    return numpy.square(x) if p == 2 else numpy.power(numpy.abs(x), x.dtype.type(p))


def _root(sums: Array, p: float) -> Array:
    return numpy.sqrt(sums) if p == 2 else numpy.power(sums, sums.dtype.type(1 / p))


def _pooling_windows(call: Call, x: Array) -> Windows:
    spatial = spatial_shape(call, x)
    kernel_shape = tuple(call.attributes.get("kernel_shape") or ())
    if len(kernel_shape) != len(spatial):
        # LpPool-1 does not require the attribute, and says nothing of its absence.
        call.fail(f"kernel_shape needs one value for each of the {len(spatial)} spatial axes, not {list(kernel_shape)}")
    if min(kernel_shape) < 1:
        call.fail(f"kernel_shape {list(kernel_shape)} must be positive")
    return kernel_windows(call, spatial, kernel_shape)


def _pooled(padded: Array, windows: Windows, combine: Callable[..., Array]) -> Array:
    """The elements of each window combined, one spatial axis after the other."""
    for axis, size in enumerate(windows.output_shape):
        dilation, stride = windows.dilations[axis], windows.strides[axis]
        before = (slice(None),) * (2 + axis)

        def tap(index: int, source: Array = padded, before: tuple[slice, ...] = before) -> Array:
            start = index * dilation  # noqa: B023 (called within this iteration only)
            return source[(*before, slice(start, start + size * stride, stride))][(*before, slice(size))]  # noqa: B023

        result = tap(0) if windows.kernel[axis] == 1 else combine(tap(0), tap(1))
        for index in range(2, windows.kernel[axis]):
            combine(result, tap(index), out=result)
        padded = result
    return padded


def _with_greater_zeros(maxima: Array, x: Array, windows: Windows | None) -> Array:
    """+0 is greater than -0, as in Max; numpy leaves it to the memory layout. Without windows, everything is one."""
    if not is_float(x.dtype):
        return maxima
    negative = numpy.signbit(x) & (x == 0)
    if not negative.any():
        return maxima
    positive = (x == 0) & ~negative
    if windows is None:
        found = positive.any(axis=_spatial_axes(x), keepdims=True)
    else:
        found = _pooled(windows.padded(positive, False), windows, numpy.logical_or)
    return numpy.where(maxima == 0, numpy.where(found, maxima.dtype.type(0.0), maxima.dtype.type(-0.0)), maxima)


def _indices_of_maxima(x: Array, windows: Windows, *, column_major: bool) -> Array:
    """The flat index of each maximum in the tensor without padding, the first one where several are equal."""
    wide = widened(x)
    taps = windows.taps(windows.padded(wide, smallest(wide.dtype)))
    best = numpy.full((*x.shape[:2], *windows.output_shape), smallest(wide.dtype), wide.dtype)
    chosen = numpy.zeros(best.shape, numpy.int64)
    unset = numpy.ones(best.shape, bool)
    for tap in numpy.ndindex(*windows.kernel):
        values = taps[(slice(None), slice(None), *tap)]
        inside, positions = _positions(windows, tap, column_major=column_major)
        better = inside & (unset | (values > best) | ((values != values) & (best == best)))
        numpy.copyto(best, values, where=better)
        numpy.copyto(chosen, positions, where=better)
        unset &= ~better
    planes = numpy.arange(math.prod(x.shape[:2])).reshape(*x.shape[:2], *(1,) * len(windows.kernel))
    return numpy.asarray(chosen + planes * math.prod(windows.input_shape))


def _positions(windows: Windows, tap: tuple[int, ...], *, column_major: bool) -> tuple[Array, Array]:
    """For one tap of every window: whether it is inside the input, and its flat index within the channel.

    Column-major order is that of the spatial axes; batch and channel stay outermost, as in ONNX's node test and
    onnxruntime.
    """
    rank = len(windows.kernel)
    inside: list[Array] = []
    positions: list[Array] = []
    for axis, size in enumerate(windows.input_shape):
        other = windows.input_shape[:axis] if column_major else windows.input_shape[axis + 1 :]
        start = tap[axis] * windows.dilations[axis] - windows.pads_begin[axis]
        places = start + numpy.arange(windows.output_shape[axis]) * windows.strides[axis]
        places = places.reshape((-1, *(1,) * (rank - axis - 1)))
        inside.append((places >= 0) & (places < size))
        positions.append(places * math.prod(other))
    return reduce(numpy.logical_and, inside), reduce(numpy.add, positions)
