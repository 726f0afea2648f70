"""Operators that had no version, by the texts that onnx had of them.

Where those are short, onnx's table of what to write instead decides. Narrow floats are computed in float.

GRUUnit, ATen and MeanVarianceNormalization before 9 have no kernel: nothing says what they compute.
LayerNormalization before 17 and SimplifiedLayerNormalization are onnxruntime's; ONNX's texts of 17 and 23 say the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from opsetlift.evaluator.kernels.normalization import layer_normalization, rms_normalization
from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import dtype_name, numpy_dtype


def _required(call: Call, name: str) -> Any:
    if name not in call.attributes:
        call.fail(f"{name} has no default")
    return call.attributes[name]


def _number(x: Array, value: float) -> Array:
    """A number as the elements of `x` are computed."""
    return numpy.asarray(value, x.dtype)


@kernel("Affine", since=[1])
def affine(call: Call, x: Array) -> Array:
    """Affine-1: alpha * x + beta; float x [*shape]."""
    wide = widened(x)
    return as_dtype(_number(wide, call.attributes["alpha"]) * wide + _number(wide, call.attributes["beta"]), x.dtype)


@kernel("Scale", since=[1])
def scale(call: Call, x: Array) -> Array:
    """Scale-1: x * scale; float x [*shape]."""
    wide = widened(x)
    return as_dtype(wide * _number(wide, call.attributes["scale"]), x.dtype)


@kernel("ScaledTanh", since=[1])
def scaled_tanh(call: Call, x: Array) -> Array:
    """ScaledTanh-1: alpha * tanh(beta * x); float x [*shape]."""
    wide = widened(x)
    alpha, beta = (_number(wide, _required(call, name)) for name in ("alpha", "beta"))
    return as_dtype(alpha * numpy.tanh(beta * wide), x.dtype)


@kernel("ParametricSoftplus", since=[1])
def parametric_softplus(call: Call, x: Array) -> Array:
    """ParametricSoftplus-1: alpha * ln(exp(beta * x) + 1); float x [*shape]."""
    wide = widened(x)
    alpha, beta = (_number(wide, _required(call, name)) for name in ("alpha", "beta"))
    return as_dtype(alpha * numpy.logaddexp(beta * wide, _number(wide, 0)), x.dtype)


@kernel("ThresholdedRelu", since=[1])
def thresholded_relu(call: Call, x: Array) -> Array:
    """ThresholdedRelu-1: x above alpha, else 0; float x [*shape]."""
    wide = widened(x)
    return as_dtype(numpy.where(wide > numpy.float32(call.attributes["alpha"]), wide, _number(wide, 0)), x.dtype)


@kernel("ImageScaler", since=[1])
def image_scaler(call: Call, x: Array) -> Array:
    """ImageScaler-1: x * scale + bias of the channel.

    Float x [N, C, H, W]; bias has C values, or none.
    """
    bias = call.attributes.get("bias", [])
    if x.ndim != 4 or len(bias) not in (0, x.shape[1]):
        call.fail(f"the input must be [N, C, H, W] with one of {len(bias)} values of bias per channel, not {x.shape}")
    wide = widened(x)
    scaled = wide * _number(wide, call.attributes["scale"])
    return as_dtype(scaled + numpy.asarray(bias, wide.dtype)[None, :, None, None] if bias else scaled, x.dtype)


@kernel("Crop", since=[1])
def crop(call: Call, x: Array) -> Array:
    """Crop-1: A part of float x [N, C, H, W].

    The attribute border names left, top, right and bottom; scale, where it is given, height and width of the part.
    """
    size = call.attributes.get("scale", [])
    left, top, right, bottom = call.attributes.get("border", [0, 0, 0, 0])
    if x.ndim != 4 or len(size) not in (0, 2):
        call.fail(f"the input must be [N, C, H, W] and scale two sizes, not {x.shape} and {size}")
    height, width = size or (x.shape[2] - top - bottom, x.shape[3] - left - right)
    if min(height, width, left, top) < 0 or top + height > x.shape[2] or left + width > x.shape[3]:
        call.fail(f"the part does not lie within the image of {x.shape[2:]}")
    return x[:, :, top : top + height, left : left + width]


@kernel("DynamicSlice", since=[1])
def dynamic_slice(call: Call, data: Array, starts: Array, ends: Array, axes: Array | None = None) -> Array:
    """DynamicSlice-1: Slices that inputs describe.

    Args:
        call: No attributes.
        data: [*shape], any dtype.
        starts: int32 or int64 [n].
        ends: int32 or int64 [n].
        axes: int32 or int64 [n]; absent, the first n.

    Returns:
        The part of data.
    """
    named = range(len(starts)) if axes is None else axes.tolist()
    if not len(starts) == len(ends) == len(named) or len({axis % max(data.ndim, 1) for axis in named}) < len(named):
        call.fail("starts, ends and axes must be of one length, and each axis named once")
    if any(not -data.ndim <= axis < data.ndim for axis in named):
        call.fail(f"axes {list(named)} go beyond the rank {data.ndim}")
    parts = [slice(None)] * data.ndim
    for axis, start, end in zip(named, starts.tolist(), ends.tolist(), strict=True):
        parts[axis] = slice(start, end)
    return data[tuple(parts)]


@kernel("ConstantFill", since=[1])
def constant_fill(call: Call, like: Array | None = None) -> Array:
    """ConstantFill-1: A tensor full of one number.

    The attributes value and dtype say which number. Its shape is that of the attribute shape, of the input, or where
    input_as_shape is set the one that the input holds, and extra_shape behind it.
    """
    dtype = numpy_dtype(dtype_name(call.attributes.get("dtype", 1)))
    value = numpy.float32(call.attributes["value"])
    if numpy.isnan(value) and dtype.kind == "i":
        call.fail("NaN is no integer")
    shape = _shape(call, like)
    call.reserve(math.prod(shape))
    return numpy.full(shape, value.astype(dtype), dtype)


@kernel("GivenTensorFill", since=[1])
def given_tensor_fill(call: Call, like: Array | None = None) -> Array:
    """GivenTensorFill-1: The attribute values, float32, in a shape that is found as ConstantFill's."""
    values = numpy.asarray(_required(call, "values"), numpy.float32)
    shape = _shape(call, like)
    if values.size != numpy.prod(shape, dtype=numpy.int64):
        call.fail(f"{values.size} values do not fill the shape {shape}")
    return values.reshape(shape)


def _shape(call: Call, like: Array | None) -> list[int]:
    given, extra = call.attributes.get("shape"), call.attributes.get("extra_shape", [])
    if (given is None) == (like is None) or (extra and like is None):
        call.fail("the shape is that of the attribute, or comes from the input, which extra_shape is appended to")
    if like is None:
        return list(given or [])
    if not call.attributes.get("input_as_shape"):
        return [*like.shape, *extra]
    if like.ndim != 1:
        call.fail(f"the shape must be a 1-D tensor, not of rank {like.ndim}")
    return [*map(int, like.tolist()), *extra]


@kernel("LayerNormalization", since=[1])
def early_layer_normalization(
    call: Call, x: Array, scale: Array, b: Array | None = None
) -> Array | tuple[Array | None, Array | None, Array | None]:
    """LayerNormalization-1: That of version 17, which onnxruntime has at every opset; float x [*shape], one dtype."""
    _check_dtypes(call, x, scale)
    return layer_normalization(call, x, scale, b)


@kernel("SimplifiedLayerNormalization", since=[1])
def simplified_layer_normalization(call: Call, x: Array, scale: Array) -> Array:
    """SimplifiedLayerNormalization-1: RMSNormalization-23, as onnxruntime has it; float x [*shape], one dtype."""
    _check_dtypes(call, x, scale)
    return rms_normalization(call, x, scale)


def _check_dtypes(call: Call, x: Array, scale: Array) -> None:
    """Where the dtypes differ, and of doubles, ONNX's text rounds on the way, and onnxruntime does not."""
    if x.dtype != scale.dtype or x.dtype == numpy.float64:
        call.fail(f"X of {x.dtype} and a scale of {scale.dtype} are not computed as ONNX's text has it")
