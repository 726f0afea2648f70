"""Operators of com.microsoft that onnxruntime's quantizer and optimizer write, by its docs/ContribOperators.md.

Quantized values are what DequantizeLinear makes of them, and results what QuantizeLinear does. The kernels of
onnxruntime scale once, and may be one step away.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy

from opsetlift.evaluator.kernels.accumulation import mean
from opsetlift.evaluator.kernels.activations import leaky_relu
from opsetlift.evaluator.kernels.convolution import convolution
from opsetlift.evaluator.kernels.elementwise import Function, apply, sigmoid
from opsetlift.evaluator.kernels.error_function import erf
from opsetlift.evaluator.kernels.linear_algebra import matmul
from opsetlift.evaluator.kernels.pooling import average_pool, global_average_pool
from opsetlift.evaluator.kernels.quantize_linear import saturated
from opsetlift.evaluator.kernels.quantized_matrix_products import dynamic_quantize_linear, matmul_integer
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.kernels.softmax import shares
from opsetlift.model.arrays import Array
from opsetlift.specification.contributed import DOMAIN

_FIRST_SOFTMAX_OF_ONE_AXIS = 13


def _real(x: Array, scale: Array, zero_point: Array | None = None) -> Array:
    """(x - zero_point) * scale: float32, of the shape of x; scale and zero point are broadcast to it."""
    whole = x.astype(numpy.int64) - (0 if zero_point is None else zero_point.astype(numpy.int64))
    return numpy.asarray(whole.astype(numpy.float32) * scale.astype(numpy.float32))


def _quantized(x: Array, scale: Array, zero_point: Array | None, like: Array) -> Array:
    """X / scale + zero_point, rounded and saturated, of the dtype of `like`."""
    zero = numpy.zeros((), like.dtype) if zero_point is None else zero_point
    quotient = numpy.asarray(x.astype(numpy.float32) / scale.astype(numpy.float32))
    return saturated(numpy.asarray(numpy.rint(quotient)), zero, like.dtype)


def _of_one_value(function: Callable[[Call, Array], Array]) -> Callable[..., Array]:
    """A kernel of a quantized value, its scale and zero point, and those of the result, from one of float32."""

    @wraps(function)
    def quantized(
        call: Call, x: Array, x_scale: Array, x_zero: Array | None, y_scale: Array, y_zero: Array | None = None
    ) -> Array:
        return _quantized(function(call, _real(x, x_scale, x_zero)), y_scale, y_zero, x)

    return quantized


@kernel("QLinearAdd", since=(1,), domain=DOMAIN)
def qlinear_add(
    call: Call,
    a: Array,
    a_scale: Array,
    a_zero: Array | None,
    b: Array,
    b_scale: Array,
    b_zero: Array | None,
    c_scale: Array,
    c_zero: Array | None = None,
) -> Array:
    """QLinearAdd-1: The sum of two quantized tensors, broadcast; int8 or uint8, of the dtype of a."""
    return _quantized(_real(a, a_scale, a_zero) + _real(b, b_scale, b_zero), c_scale, c_zero, a)


@kernel("QLinearMul", since=(1,), domain=DOMAIN)
def qlinear_mul(
    call: Call,
    a: Array,
    a_scale: Array,
    a_zero: Array | None,
    b: Array,
    b_scale: Array,
    b_zero: Array | None,
    c_scale: Array,
    c_zero: Array | None = None,
) -> Array:
    """QLinearMul-1: The product of two quantized tensors, broadcast; int8 or uint8, of the dtype of a."""
    return _quantized(_real(a, a_scale, a_zero) * _real(b, b_scale, b_zero), c_scale, c_zero, a)


@kernel("QLinearSigmoid", since=(1,), domain=DOMAIN)
@_of_one_value
def qlinear_sigmoid(call: Call, x: Array) -> Array:
    """QLinearSigmoid-1: Sigmoid of quantized [*shape]."""
    return apply(sigmoid, x)


@kernel("QLinearLeakyRelu", since=(1,), domain=DOMAIN)
@_of_one_value
def qlinear_leaky_relu(call: Call, x: Array) -> Array:
    """QLinearLeakyRelu-1: LeakyRelu, by the attribute alpha, of quantized [*shape]."""
    return leaky_relu(call, x)


@kernel("QLinearAveragePool", since=(1,), domain=DOMAIN)
@_of_one_value
def qlinear_average_pool(call: Call, x: Array) -> Array:
    """QLinearAveragePool-1: AveragePool, by its attributes, of quantized [N, C, *spatial]; channels_last must be 0."""
    if call.attributes["channels_last"]:
        call.fail("channels_last is not computed here")
    return average_pool(call, x)


@kernel("QLinearGlobalAveragePool", since=(1,), domain=DOMAIN)
@_of_one_value
def qlinear_global_average_pool(call: Call, x: Array) -> Array:
    """QLinearGlobalAveragePool-1: GlobalAveragePool of quantized [N, C, *spatial]; channels_last must be 0."""
    if call.attributes["channels_last"]:
        call.fail("channels_last is not computed here")
    return global_average_pool(call, x)


@kernel("QLinearReduceMean", since=(1,), domain=DOMAIN)
@_of_one_value
def qlinear_reduce_mean(call: Call, x: Array) -> Array:
    """QLinearReduceMean-1: The average of quantized [*shape] over axes, by default all, with keepdims."""
    axes = tuple(axis % x.ndim for axis in call.attributes.get("axes") or range(x.ndim))
    return mean(x, axes, keepdims=bool(call.attributes["keepdims"]))


@kernel("QLinearSoftmax", since=(1,), domain=DOMAIN)
@_of_one_value
def qlinear_softmax(call: Call, x: Array) -> Array:
    """QLinearSoftmax-1: Softmax of quantized [*shape]; where `opset` is below 13, the axes from `axis` on are one."""
    axis = call.attributes["axis"] % x.ndim
    if call.attributes.get("opset", 0) < _FIRST_SOFTMAX_OF_ONE_AXIS:
        return shares(x.reshape(int(numpy.prod(x.shape[:axis])), -1)).reshape(x.shape)
    moved = numpy.ascontiguousarray(numpy.moveaxis(x, axis, -1))
    return numpy.moveaxis(shares(moved), -1, axis)


@kernel("QLinearConcat", since=(1,), domain=DOMAIN)
def qlinear_concat(call: Call, y_scale: Array, y_zero: Array, *inputs: Array) -> Array:
    """QLinearConcat-1: Quantized tensors, each before its scale and zero point, joined along `axis`."""
    if len(inputs) % 3:
        call.fail("each input is followed by its scale and its zero point")
    values = [_real(*inputs[at : at + 3]) for at in range(0, len(inputs), 3)]
    return _quantized(numpy.concatenate(values, call.attributes["axis"]), y_scale, y_zero, y_zero)


@kernel("QLinearWhere", since=(1,), domain=DOMAIN)
def qlinear_where(
    call: Call,
    condition: Array,
    x: Array,
    x_scale: Array,
    x_zero: Array,
    y: Array,
    y_scale: Array,
    y_zero: Array,
    z_scale: Array,
    z_zero: Array,
) -> Array:
    """QLinearWhere-1: One of two quantized tensors, element by element, all broadcast."""
    chosen = numpy.where(condition, _real(x, x_scale, x_zero), _real(y, y_scale, y_zero))
    return _quantized(chosen, z_scale, z_zero, x)


@kernel("QGemm", since=(1,), domain=DOMAIN)
def qgemm(
    call: Call,
    a: Array,
    a_scale: Array,
    a_zero: Array,
    b: Array,
    b_scale: Array,
    b_zero: Array,
    c: Array | None = None,
    y_scale: Array | None = None,
    y_zero: Array | None = None,
) -> Array:
    """QGemm-1: alpha * A * B + C of quantized matrices [M, K] and [K, N], or transposed ones.

    Args:
        call: alpha, transA, transB.
        a: int8 or uint8, with one scale.
        a_scale: float scalar.
        a_zero: Scalar.
        b: int8 or uint8, with one scale or one for each of N.
        b_scale: float scalar or [N].
        b_zero: Like it.
        c: int32, broadcast to [M, N], with the scale alpha * a_scale * b_scale.
        y_scale: float scalar; absent, the result has floats.
        y_zero: Scalar; its dtype is that of the result.

    Returns:
        [M, N].
    """
    left = _real(a.T if call.attributes["transA"] else a, a_scale, a_zero)
    right = _real(b.T if call.attributes["transB"] else b, b_scale, b_zero)
    alpha = call.attributes["alpha"]
    total = matmul(call, left, right)
    if alpha != 1:
        total = numpy.float32(alpha) * total
    if c is not None:
        total = total + (c * (alpha * a_scale.astype(numpy.float64) * b_scale)).astype(numpy.float32)
    return total if y_scale is None else _quantized(total, y_scale, y_zero, a if y_zero is None else y_zero)


@kernel("MatMulIntegerToFloat", since=(1,), domain=DOMAIN)
def matmul_integer_to_float(
    call: Call,
    a: Array,
    b: Array,
    a_scale: Array,
    b_scale: Array,
    a_zero: Array | None = None,
    b_zero: Array | None = None,
    bias: Array | None = None,
) -> Array:
    """MatMulIntegerToFloat-1: The product of quantized matrices, in float32, plus the bias."""
    total = matmul_integer(call, a, b, a_zero, b_zero).astype(numpy.float32) * (a_scale * b_scale)
    return numpy.asarray(total if bias is None else total + bias)


@kernel("DynamicQuantizeMatMul", since=(1,), domain=DOMAIN)
def dynamic_quantize_matmul(
    call: Call, a: Array, b: Array, b_scale: Array, b_zero: Array | None = None, bias: Array | None = None
) -> Array:
    """DynamicQuantizeMatMul-1: A, quantized as DynamicQuantizeLinear does, times a quantized matrix, plus the bias."""
    quantized, scale, zero = dynamic_quantize_linear(call, a)
    return matmul_integer_to_float(call, quantized, b, scale, b_scale, zero, b_zero, bias)


@kernel("FusedMatMul", since=(1,), domain=DOMAIN)
def fused_matmul(call: Call, a: Array, b: Array) -> Array:
    """FusedMatMul-1: alpha times the product of stacks of matrices, transposed by transA and transB."""
    if call.attributes.get("transBatchA") or call.attributes.get("transBatchB"):
        call.fail("transBatchA and transBatchB are not computed here")
    left = numpy.swapaxes(a, -1, -2) if call.attributes["transA"] and a.ndim > 1 else a
    right = numpy.swapaxes(b, -1, -2) if call.attributes["transB"] and b.ndim > 1 else b
    total = matmul(call, numpy.ascontiguousarray(left), numpy.ascontiguousarray(right))
    alpha = call.attributes["alpha"]
    return total if alpha == 1 else numpy.asarray(total * total.dtype.type(alpha))


@kernel("TransposeMatMul", since=(1,), domain=DOMAIN)
def transpose_matmul(call: Call, a: Array, b: Array) -> Array:
    """TransposeMatMul-1: FusedMatMul by its older name."""
    return fused_matmul(call, a, b)


@kernel("Gelu", since=(1,), domain=DOMAIN)
def gelu(call: Call, x: Array) -> Array:
    """Gelu-1: x / 2 * (1 + erf(x / sqrt(2))), each step rounded to the dtype of x [*shape]."""
    number = x.dtype.type
    return numpy.asarray((x * number(0.5)) * (apply(erf, numpy.asarray(x * number(0.5**0.5))) + number(1)))


@kernel("BiasGelu", since=(1,), domain=DOMAIN)
def bias_gelu(call: Call, x: Array, bias: Array) -> Array:
    """BiasGelu-1: Gelu of the sum of x [*shape, N] and a bias [N]."""
    return gelu(call, numpy.asarray(x + bias))


@kernel("FastGelu", since=(1,), domain=DOMAIN)
def fast_gelu(call: Call, x: Array, bias: Array | None = None) -> Array:
    """FastGelu-1: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) of x, or of the sum with a bias."""
    number = x.dtype.type
    value = x if bias is None else numpy.asarray(x + bias)
    inner = (value + (value * value) * (value * number(0.044715))) * number(0.7978845608028654)
    return numpy.asarray((value * number(0.5)) * (apply(numpy.tanh, numpy.asarray(inner)) + number(1)))


@kernel("QuickGelu", since=(1,), domain=DOMAIN)
def quick_gelu(call: Call, x: Array) -> Array:
    """QuickGelu-1: x times the Sigmoid of alpha * x [*shape]."""
    return numpy.asarray(x * apply(sigmoid, numpy.asarray(x * x.dtype.type(call.attributes["alpha"]))))


@kernel("FusedConv", since=(1,), domain=DOMAIN)
def fused_conv(call: Call, x: Array, w: Array, b: Array | None = None, z: Array | None = None) -> Array:
    """FusedConv-1: Conv by its attributes, plus z, and an activation: none, Relu, Sigmoid, Tanh or LeakyRelu."""
    total = convolution(call, x, w, b)
    if z is not None:
        total = numpy.asarray(total + z)
    name, parameters = call.attributes.get("activation", ""), call.attributes.get("activation_params") or []
    if name == "LeakyRelu":
        alpha = parameters[0] if parameters else 0.01
        return numpy.where(total >= 0, total, total.dtype.type(alpha) * total)
    plain: dict[str, Function] = {"Relu": lambda x: numpy.maximum(x, 0), "Sigmoid": sigmoid, "Tanh": numpy.tanh}
    if name and name not in plain:
        call.fail(f"the activation {name!r} is not computed here")
    return apply(plain[name], total) if name else total


@kernel("SkipLayerNormalization", since=(1,), domain=DOMAIN)
def skip_layer_normalization(
    call: Call, x: Array, skip: Array, gamma: Array, beta: Array | None = None, bias: Array | None = None
) -> Array:
    """SkipLayerNormalization-1: x + skip + bias [*shape, N], standardized along N, times gamma plus beta."""
    if call.output_count > 1:
        call.fail("the optional outputs are not computed here")
    value = x + skip if bias is None else x + skip + bias
    difference = value - mean(value, (value.ndim - 1,), keepdims=True)
    variance = mean(numpy.asarray(difference * difference), (value.ndim - 1,), keepdims=True)
    root = numpy.sqrt(variance + variance.dtype.type(call.attributes["epsilon"]))
    result = (difference / root) * gamma
    return numpy.asarray(result if beta is None else result + beta)
