"""Conv, ConvTranspose, ConvInteger, QLinearConv, CausalConvWithState: columns of windows times the weights."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy

from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.quantize_linear import saturated
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.kernels.windows import Windows, kernel_windows, spatial_shape
from opsetlift.model.arrays import Array

_COLUMN_BYTES = 4 << 20
"""How large the matrix of window columns may get: larger ones leave the cache and cost memory."""

_kept = threading.local()
"""The memory of the columns: pages that are fresh for every matrix would cost as much as the product itself."""


@kernel("Conv", since=(1, 11, 22), changes=())
def convolution(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """Conv-1, 11, 22: Windows of x times the weights, summed, plus the bias.

    Args:
        call: strides, pads, dilations, group, auto_pad, kernel_shape.
        x: [N, C, *spatial], any float dtype of the version.
        w: [M, C / group, *kernel].
        b: [M].

    Returns:
        [N, M, *spatial of the output], of the dtype of x.
    """
    windows = convolution_windows(call, x, w)
    if b is not None and b.shape != w.shape[:1]:
        call.fail(f"B must have the shape ({w.shape[0]}), not {list(b.shape)}")
    bias = None if b is None else widened(b)
    return as_dtype(convolve(widened(x), widened(w), call.attributes["group"], windows, bias), x.dtype)


@kernel("ConvInteger", since=(10,))
def convolution_of_integers(
    call: Call, x: Array, w: Array, x_zero_point: Array | None = None, w_zero_point: Array | None = None
) -> Array:
    """ConvInteger-10: A convolution of 8-bit integers less their zero points.

    Args:
        call: strides, pads, dilations, group, auto_pad, kernel_shape.
        x: uint8 or int8 [N, C, *spatial].
        w: uint8 or int8 [M, C / group, *kernel].
        x_zero_point: Scalar.
        w_zero_point: Scalar or [M].

    Returns:
        int32 [N, M, *spatial of the output], which wraps.
    """
    return _integer_convolution(call, x, w, x_zero_point, w_zero_point).astype(numpy.int32)


@kernel("QLinearConv", since=(10,))
def quantized_convolution(
    call: Call,
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    b: Array | None = None,
) -> Array:
    """QLinearConv-10: A convolution of quantized numbers, quantized again.

    Args:
        call: strides, pads, dilations, group, auto_pad, kernel_shape.
        x: uint8 or int8 [N, C, *spatial].
        x_scale: float32 scalar.
        x_zero_point: Scalar of the dtype of x.
        w: uint8 or int8 [M, C / group, *kernel].
        w_scale: float32 scalar or [M].
        w_zero_point: Like w_scale, of the dtype of w.
        y_scale: float32 scalar.
        y_zero_point: uint8 or int8 scalar.
        b: int32 [M], in units of x_scale * w_scale.

    Returns:
        [N, M, *spatial of the output], of the dtype of y_zero_point.
    """
    pairs = ((x_scale, x_zero_point), (w_scale, w_zero_point), (y_scale, y_zero_point))
    for name, (scale, zero_point) in zip("xwy", pairs, strict=True):
        if scale.size != zero_point.size:
            call.fail(f"{name}_scale and {name}_zero_point must have the same shape")
    if x_scale.size != 1 or y_scale.size != 1:
        call.fail("the scales of x and y must be scalars")
    accumulated = _integer_convolution(call, x, w, x_zero_point, w_zero_point)
    if b is not None:
        accumulated += _per_output_channel(call, b, w, x.ndim, "B")
    # Rounded once to float32 and then multiplied by the combined scale, as onnxruntime does; the text leaves it open.
    multiplier = _per_output_channel(call, x_scale.reshape(()) * w_scale / y_scale.reshape(()), w, x.ndim, "w_scale")
    rounded = numpy.asarray(numpy.rint(accumulated.astype(numpy.float32) * multiplier))
    return saturated(rounded, y_zero_point.reshape(()), y_zero_point.dtype)


@kernel("CausalConvWithState", since=(27,))
def causal_convolution(
    call: Call, x: Array, w: Array, b: Array | None = None, past: Array | None = None
) -> tuple[Array, Array]:
    """CausalConvWithState-27: A depthwise convolution of what came before each place.

    Args:
        call: activation is none, silu or swish.
        x: [batch, channels, length], any float dtype of the version.
        w: [channels, 1, k].
        b: [channels].
        past: [batch, channels, k - 1]; absent, zeros.

    Returns:
        The output like x, and the last k - 1 inputs, to be the next past.
    """
    activation = call.attributes["activation"]
    if activation not in ("none", "silu", "swish"):
        call.fail(f"activation must be silu, swish or none, not {activation!r}")
    if x.ndim != 3 or w.ndim != 3 or w.shape[:2] != (x.shape[1], 1):
        call.fail("input must have the shape (batch, channels, length) and weight (channels, 1, k)")
    batch, channels, length = x.shape
    state = w.shape[2] - 1
    if past is not None and past.shape != (batch, channels, state):
        call.fail(f"past_state must have the shape (batch, channels, k - 1), not {list(past.shape)}")
    if b is not None and b.shape != (channels,):
        call.fail(f"bias must have the shape (channels), not {list(b.shape)}")
    before = numpy.zeros((batch, channels, state), x.dtype) if past is None else past
    sequence = numpy.concatenate([before, x], axis=2)
    windows = Windows(w.shape[2:], (1,), (1,), (0,), (0,), (length + state,), (length,))
    y = convolve(widened(sequence), widened(w), channels, windows, None if b is None else widened(b))
    if activation != "none":
        y = y / (1 + numpy.exp(-y))
    return as_dtype(y, x.dtype), sequence[:, :, length:]


def convolution_windows(call: Call, x: Array, w: Array) -> Windows:
    """Return the windows of a convolution of x [N, C, *spatial] by w [M, C / group, *kernel], shapes checked."""
    spatial = spatial_shape(call, x)
    group = call.attributes["group"]
    if w.ndim != x.ndim:
        call.fail(f"W must have the rank of X, {x.ndim}, not {w.ndim}")
    if group < 1 or w.shape[1] * group != x.shape[1]:
        call.fail(f"X.shape[1] is {x.shape[1]}; it must be W.shape[1] * group, {w.shape[1]} * {group}")
    if w.shape[0] % group:
        call.fail(f"the number of feature maps {w.shape[0]} must be a multiple of group {group}")
    check_kernel_shape(call, w)
    return kernel_windows(call, spatial, w.shape[2:])


def check_kernel_shape(call: Call, w: Array) -> None:
    """Refuse an attribute kernel_shape that differs from the kernel of w [M, C / group, *kernel]."""
    kernel_shape = call.attributes.get("kernel_shape")
    if kernel_shape and tuple(kernel_shape) != w.shape[2:]:
        call.fail(f"kernel_shape {list(kernel_shape)} differs from W's, {list(w.shape[2:])}")


def convolve(x: Array, w: Array, group: int, windows: Windows, bias: Array | None) -> Array:
    """Convolve two arrays of one dtype that the matrix product is fast in.

    Args:
        x: [N, C, *spatial].
        w: [M, C / group, *kernel].
        group: Into how many groups the channels are divided.
        windows: Where the kernel is laid.
        bias: [M].

    Returns:
        [N, M, *spatial of the output], of the same dtype.
    """
    y = numpy.empty((x.shape[0], w.shape[0], *windows.output_shape), x.dtype)
    column_bias = None if bias is None else bias.reshape(group, w.shape[0] // group, 1)
    if windows.trivial:
        length = math.prod(windows.output_shape)
        target = y.reshape(x.shape[0], group, w.shape[0] // group, length)
        _multiply(w, x.reshape(x.shape[0], group, w.shape[1], length), column_bias, target)
    elif y.size:
        _convolve_by_columns(windows.padded(x, 0), w, group, windows, column_bias, y)
    return y


def _convolve_by_columns(padded: Array, w: Array, group: int, windows: Windows, bias: Array | None, y: Array) -> None:
    taps = windows.taps(padded)
    images, rows = y.shape[0], y.shape[2]
    row_length = math.prod(y.shape[3:])
    row_bytes = math.prod(taps.shape[1 : 2 + len(windows.kernel)]) * row_length * y.itemsize
    row_step = max(1, min(rows, _COLUMN_BYTES // max(1, row_bytes)))
    image_step = max(1, min(images, _COLUMN_BYTES // max(1, row_bytes * rows)))
    row_axis = 2 + len(windows.kernel)
    flat_y = y.reshape(images, group, w.shape[0] // group, rows * row_length)
    every_tap = [slice(None)] * (row_axis - 1)
    for image in range(0, images, image_step):
        for row in range(0, rows, row_step):
            block = taps[(slice(image, image + image_step), *every_tap, slice(row, row + row_step))]
            memory = _columns_memory(block.size, y.dtype)
            numpy.copyto(memory.reshape(block.shape), block)
            columns = memory.reshape(block.shape[0], group, math.prod(w.shape[1:]), block.shape[row_axis] * row_length)
            start = row * row_length
            target = flat_y[image : image + image_step, :, :, start : start + columns.shape[-1]]
            _multiply(w, columns, bias, target)


def _columns_memory(size: int, dtype: numpy.dtype[Any]) -> Array:
    """An uninitialized array that is valid until the next call in this thread."""
    needed = size * dtype.itemsize
    if needed > _COLUMN_BYTES:
        return numpy.empty(size, dtype)
    if not hasattr(_kept, "memory"):
        _kept.memory = numpy.empty(_COLUMN_BYTES, numpy.uint8)
    memory: Array = _kept.memory
    return memory[:needed].view(dtype)


def _multiply(w: Array, columns: Array, bias: Array | None, target: Array) -> None:
    """Set target[image, group] to w[group] @ columns[image, group] + bias[group]."""
    group = columns.shape[1]
    numpy.matmul(w.reshape(group, w.shape[0] // group, columns.shape[2]), columns, out=target)
    if bias is not None:
        numpy.add(target, bias, out=target)


def _integer_convolution(
    call: Call, x: Array, w: Array, x_zero_point: Array | None, w_zero_point: Array | None
) -> Array:
    """The exact sums as int64, computed in a float dtype that holds every partial sum exactly."""
    windows = convolution_windows(call, x, w)
    terms = math.prod(w.shape[1:])
    exact = numpy.float32 if terms * 255 * 255 < 1 << 24 else numpy.float64
    x_shifted, w_shifted = x.astype(exact), w.astype(exact)
    if x_zero_point is not None:
        if x_zero_point.size != 1:
            call.fail(f"x_zero_point must be a scalar, its shape is {list(x_zero_point.shape)}")
        x_shifted = x_shifted - x_zero_point.reshape(()).astype(exact)
    if w_zero_point is not None:
        shaped = w_zero_point.reshape((-1, *(1,) * (w.ndim - 1)))
        if w_zero_point.ndim > 1 or shaped.shape[0] not in (1, w.shape[0]):
            call.fail(f"w_zero_point must be a scalar or have the shape ({w.shape[0]})")
        w_shifted = w_shifted - shaped.astype(exact)
    # Padding comes after the subtraction: it stands for the real number 0, which is the zero point.
    return convolve(x_shifted, w_shifted, call.attributes["group"], windows, None).astype(numpy.int64)


def _per_output_channel(call: Call, values: Array, w: Array, rank: int, name: str) -> Array:
    if values.size not in (1, w.shape[0]) or values.ndim > 1:
        call.fail(f"{name} must have one value or one per output channel ({w.shape[0]}), not {list(values.shape)}")
    return values.reshape((-1, *(1,) * (rank - 2)))
