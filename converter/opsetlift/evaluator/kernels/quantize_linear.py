"""QuantizeLinear and DequantizeLinear: per tensor, per axis and (since version 21) blocked."""

from __future__ import annotations

from typing import Any

import numpy

from opsetlift.evaluator.kernels.axes import nonnegative_axis
from opsetlift.evaluator.kernels.casts import converted
from opsetlift.evaluator.kernels.numeric import is_float, largest, narrowed_as, smallest, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.open_results import open_values
from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import dtype_name, numpy_dtype


@kernel("QuantizeLinear", since=(10, 13, 19, 21, 23, 24, 25, 28), changes=(13,))
def quantize_linear(call: Call, x: Array, y_scale: Array, y_zero_point: Array | None = None) -> Array:
    """QuantizeLinear-10, 13, 19, 21, 23, 24, 25, 28: x / y_scale + y_zero_point, rounded and saturated.

    Args:
        call: axis, block_size, saturate, precision and output_dtype, as far as the version has them.
        x: [*shape], float or int32.
        y_scale: Scalar (10), or [size of the axis] (13), or a value for each block (21).
        y_zero_point: Like y_scale, of the quantized dtype; absent, 0.

    Returns:
        The shape of x, of the dtype of y_zero_point, else of output_dtype, else uint8.
    """
    dtype = _quantized_dtype(call, y_zero_point)
    scale = _laid_out(call, x, y_scale, "y_scale")
    quotient = widened(_divided(call, x, scale))
    if is_float(dtype):
        if y_zero_point is not None:
            quotient = quotient + widened(_zero_point(call, x, y_scale, y_zero_point)).astype(quotient.dtype)
        return converted(call, quotient, dtype)
    zero_point = numpy.zeros((), numpy.float32)
    if y_zero_point is not None:
        zero_point = _zero_point(call, x, y_scale, y_zero_point).astype(numpy.float32)
    return saturated(numpy.asarray(numpy.rint(quotient)), zero_point, dtype)


def saturated(rounded: Array, zero_point: Array, dtype: numpy.dtype[Any]) -> Array:
    """Add the zero point to rounded quotients, within an integer dtype's bounds; NaN, left open, gives 0, as in casts.

    Args:
        rounded: float32 or float64 [*shape].
        zero_point: Broadcast to that shape.
        dtype: An integer dtype.

    Returns:
        [*shape], of that dtype.
    """
    # No sum is inexact in float32 but those far out of bounds: no dtype to quantize to has more than 16 bits.
    shifted = rounded + zero_point.astype(rounded.dtype)
    undefined = numpy.isnan(shifted)
    if undefined.any():
        shifted = numpy.where(undefined, 0, shifted)
    clipped = numpy.asarray(numpy.clip(shifted, float(smallest(dtype)), float(largest(dtype)))).astype(dtype)
    return open_values(clipped, undefined, "quantizes NaN")


def _quantized_dtype(call: Call, zero_point: Array | None) -> numpy.dtype[Any]:
    number = call.attributes.get("output_dtype", 0)
    if not number:
        return numpy_dtype("uint8") if zero_point is None else zero_point.dtype
    dtype = _dtype(call, "output_dtype", number)
    if zero_point is not None and zero_point.dtype != dtype:
        call.fail(f"output_dtype is {dtype_name(number)}, but y_zero_point has another dtype")
    return dtype


def _dtype(call: Call, attribute: str, number: int) -> numpy.dtype[Any]:
    try:
        return numpy_dtype(dtype_name(number))
    except ValueError:
        call.fail(f"{attribute}={number} is not one of TensorProto.DataType")


def _divided(call: Call, x: Array, scale: Array) -> Array:
    """Divide x by scale in the scale's dtype (said since version 23, practised before), or in that of `precision`."""
    precision = scale.dtype
    number = call.attributes.get("precision", 0)
    if number:
        precision = _dtype(call, "precision", number)
        if not is_float(precision):
            call.fail(f"a division cannot have the precision {dtype_name(number)}")
    if not is_float(precision):
        # Scales of int32 are legal since version 19; their quotients are fractions all the same.
        return numpy.asarray(x.astype(numpy.float64) / scale.astype(numpy.float64))
    if precision == numpy_dtype("float8e8m0"):
        # A quotient of float8e8m0 would be a power of two; the scale is one, and x keeps its own precision.
        precision = numpy_dtype("float")
    wide = numpy.float64 if precision == numpy.float64 else numpy.float32
    return narrowed_as(numpy.asarray(x.astype(wide) / scale.astype(wide)), precision)


@kernel("DequantizeLinear", since=(10, 13, 19, 21, 23, 24, 25, 28), changes=(13,))
def dequantize_linear(call: Call, x: Array, x_scale: Array, x_zero_point: Array | None = None) -> Array:
    """DequantizeLinear-10, 13, 19, 21, 23, 24, 25, 28: (x - x_zero_point) * x_scale.

    Args:
        call: axis, block_size and output_dtype, as far as the version has them.
        x: [*shape], a quantized dtype or int32.
        x_scale: Scalar (10), or [size of the axis] (13), or a value for each block (21).
        x_zero_point: Like x_scale, of the dtype of x; absent, 0.

    Returns:
        The shape of x, of output_dtype, else of the dtype of x_scale.
    """
    number = call.attributes.get("output_dtype", 0)
    dtype = _dtype(call, "output_dtype", number) if number else x_scale.dtype
    if dtype == numpy_dtype("float8e8m0"):
        call.fail("without output_dtype, the output has the dtype of x_scale, which float8e8m0 cannot be")
    scale = _laid_out(call, x, x_scale, "x_scale").astype(numpy.float32)
    values = _exact(x)
    if x_zero_point is not None:
        if x.dtype == numpy.int32 and x_zero_point.any():
            call.fail_if_strict("there is no zero point in the case of int32; it is supposed to be 0")
        values = values - _exact(_zero_point(call, x, x_scale, x_zero_point))
    return numpy.asarray(values.astype(numpy.float32) * scale).astype(dtype)


def _exact(values: Array) -> Array:
    """In a dtype wide enough for the difference of two of them."""
    return widened(values) if is_float(values.dtype) else values.astype(numpy.int64)


def _laid_out(call: Call, x: Array, scale: Array, name: str) -> Array:
    """A scale or zero point in a shape that numpy broadcasts to x's."""
    if scale.ndim == 0:
        return scale
    if call.since_version < 13:
        if scale.size != 1:
            call.fail(f"{name} must be a scalar, its shape is {list(scale.shape)}")
        call.fail_if_strict(f"{name} must be a scalar, its shape is {list(scale.shape)}")
        return scale.reshape(())
    if call.attributes.get("block_size", 0):
        return _replicated(call, x, scale, name)
    if scale.ndim != 1:
        call.fail(f"{name} must be a scalar or 1-D without block_size; its shape is {list(scale.shape)}")
    if x.ndim <= 1 and scale.size == 1:
        # By the text since version 19: per tensor, whatever the axis (whose default such an input does not have).
        return scale.reshape(())
    axis = nonnegative_axis(call, call.attributes["axis"], x.ndim)
    if scale.shape[0] != x.shape[axis]:
        if scale.size == 1:
            call.fail_if_strict(f"{name} has 1 element for axis {axis} of length {x.shape[axis]}")
        else:
            call.fail(f"{name} has {scale.shape[0]} elements for axis {axis} of length {x.shape[axis]}")
    return scale.reshape((-1,) + (1,) * (x.ndim - 1 - axis))


def _replicated(call: Call, x: Array, scale: Array, name: str) -> Array:
    """One scale per block of `block_size` elements along the axis, repeated over its block."""
    block = call.attributes["block_size"]
    if block < 0:
        call.fail(f"block_size must be positive, not {block}")
    if scale.ndim != x.ndim:
        call.fail(f"with block_size, {name} must have the input's rank {x.ndim}, not {scale.ndim}")
    axis = nonnegative_axis(call, call.attributes["axis"], x.ndim)
    expected = list(x.shape)
    expected[axis] = -(-x.shape[axis] // block)
    if list(scale.shape) != expected:
        call.fail(f"{name} must have the shape {expected} for blocks of {block}, not {list(scale.shape)}")
    index = numpy.arange(x.shape[axis]) // block
    return numpy.asarray(numpy.take(scale, index, axis=axis))


def _zero_point(call: Call, x: Array, scale: Array, zero_point: Array) -> Array:
    if zero_point.shape != scale.shape:
        # The shapes must match, by the text; but ONNX's node tests pair a scalar scale with a zero point of shape [1].
        if zero_point.size != 1 or scale.size != 1:
            call.fail(f"zero point and scale must have one shape, not {list(zero_point.shape)} and {list(scale.shape)}")
        return zero_point.reshape(())
    return _laid_out(call, x, zero_point, "the zero point")
