"""Operators of onnxruntime's own domain, com.microsoft, which its quantizer and optimizer write.

What they compute is said in its documentation (docs/ContribOperators.md) and was compared with what it computes. Where
it rounds a quantized result, that may be one step away from what is written here, as its kernels scale once.
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.contributed import Body, ContributedOperator, NotWritten
from opsetlift.rulebook.site import Array

_FIRST_WITH_INPUT_AXES = 18
_FIRST_WITH_SCALES_BY_AXIS = 13
_FIRST_OF_ONE_AXIS = 13
"""From this opset on, Softmax is that of one axis."""


def _dequantized(body: Body, place: int) -> str:
    """What three inputs from `place` on stand for: a value, its scale and its zero point."""
    body.require(all(map(body.input, (place, place + 1))))
    return str(body.DequantizeLinear(body.input(place), body.scalar(place + 1), body.scalar(place + 2)))


def _quantized(body: Body, value: str, place: int, like: int = 0) -> str:
    """A value by the scale and the zero point from `place` on, in the dtype of an input."""
    zero_point = body.scalar(place + 1) or body.constant(0, body.dtype(like))
    body.require(bool(body.input(place)))
    return str(body.QuantizeLinear(value, body.scalar(place), zero_point))


def _sum_of_quantized(body: Body) -> str:
    return _quantized(body, body.Add(_dequantized(body, 0), _dequantized(body, 3)), 6)


def _product_of_quantized(body: Body) -> str:
    return _quantized(body, body.Mul(_dequantized(body, 0), _dequantized(body, 3)), 6)


def _sigmoid(body: Body) -> str:
    return _quantized(body, body.Sigmoid(_dequantized(body, 0)), 3)


def _leaky_relu(body: Body) -> str:
    return _quantized(body, body.LeakyRelu(_dequantized(body, 0), alpha=body.attribute("alpha", 0.01)), 3)


def _average_pool(body: Body) -> str:
    body.require(not body.attribute("channels_last", 0))
    given = body.given("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")
    return _quantized(body, body.AveragePool(_dequantized(body, 0), **given), 3)


def _global_average_pool(body: Body) -> str:
    body.require(not body.attribute("channels_last", 0))
    return _quantized(body, body.GlobalAveragePool(_dequantized(body, 0)), 3)


def _mean(body: Body) -> str:
    axes, keeps = body.attribute("axes"), body.attribute("keepdims", 1)
    value = _dequantized(body, 0)
    return _quantized(body, _mean_of(body, value, axes, keeps), 3)


def _mean_of(body: Body, value: str, axes: list[int] | None, keeps: int = 1) -> str:
    if body.opset >= _FIRST_WITH_INPUT_AXES and axes is not None:
        return str(body.ReduceMean(value, body.constant(numpy.array(axes, numpy.int64)), keepdims=keeps))
    return str(body.ReduceMean(value, keepdims=keeps, **({} if axes is None else {"axes": axes})))


def _softmax(body: Body) -> str:
    """Softmax, of the opset that the attribute names: before 13 all axes from `axis` on are one."""
    axis, is_of_one_axis = body.attribute("axis", -1), body.attribute("opset", 0) >= _FIRST_OF_ONE_AXIS
    value = _dequantized(body, 0)
    is_last = axis in (-1, body.rank(0) - 1)
    if is_last or is_of_one_axis == (body.opset >= _FIRST_OF_ONE_AXIS):
        # The model's own Softmax is of that kind, or both kinds are the same.
        result = body.Softmax(value, axis=axis)
    else:
        body.require(not is_of_one_axis)
        flat = body.Softmax(body.Flatten(value, axis=axis), axis=1)
        result = body.Reshape(flat, body.Shape(value))
    return _quantized(body, result, 3)


def _concat(body: Body) -> str:
    places = range(2, len(body.node.input), 3)
    values = [_dequantized(body, place) for place in places]
    return _quantized(body, body.Concat(*values, axis=body.attribute("axis")), 0, like=2)


def _where(body: Body) -> str:
    value = body.Where(body.input(0), _dequantized(body, 1), _dequantized(body, 4))
    return _quantized(body, value, 7, like=1)


def _gemm(body: Body) -> str:
    """A product of dequantized matrices, where what its bias is scaled by is known.

    Without y_scale the result has floats.
    """
    first, second, bias = (body.value(place) for place in (1, 4, 6))
    body.require(bias is not None or not body.input(6))
    if first is None or second is None:
        raise NotWritten
    term = ""
    if bias is not None:
        scale = body.attribute("alpha", 1.0) * first.astype(numpy.float64) * second
        term = body.constant((bias * scale).astype(numpy.float32))
    given = body.given("alpha", "transA", "transB")
    result = body.Gemm(_dequantized(body, 0), _dequantized_weights(body, second), term, **given)
    return _quantized(body, result, 7, like=8 if body.input(8) else 0) if body.input(7) else str(result)


def _dequantized_weights(body: Body, scale: Array) -> str:
    """The second matrix of a QGemm, whose columns, or rows where it is transposed, may have scales of their own."""
    if scale.size > 1 and body.opset < _FIRST_WITH_SCALES_BY_AXIS:
        weights, zero_point = body.value(3), body.value(5)
        if weights is None or zero_point is None:
            raise NotWritten
        shape = (-1, 1) if body.attribute("transB", 0) else (1, -1)
        centred = weights.astype(numpy.float32) - zero_point.reshape(shape).astype(numpy.float32)
        return body.constant((centred * scale.reshape(shape)).astype(numpy.float32))
    axis = {"axis": 0 if body.attribute("transB", 0) else 1} if body.opset >= _FIRST_WITH_SCALES_BY_AXIS else {}
    return str(body.DequantizeLinear(*(body.input(place) for place in (3, 4, 5)), **axis))


def _integer_product(body: Body) -> str:
    total = body.MatMulInteger(body.input(0), body.input(1), body.input(4), body.input(5))
    return _scaled(body, total, body.input(2), body.input(3), body.input(6))


def _dynamic_product(body: Body) -> str:
    value, scale, zero_point = body.DynamicQuantizeLinear(body.input(0), outputs=3)
    total = body.MatMulInteger(value, body.input(1), zero_point, body.input(3))
    return _scaled(body, total, scale, body.input(2), body.input(4))


def _scaled(body: Body, total: str, scale: str, other: str, bias: str) -> str:
    result = body.Mul(body.Cast(total, to=1), body.Mul(scale, other))
    return str(body.Add(result, bias) if bias else result)


def _fused_matmul(body: Body) -> str:
    """A product of stacks of matrices, transposed before."""
    body.require(not body.attribute("transBatchA", 0) and not body.attribute("transBatchB", 0))
    values = []
    for place, name in enumerate(("transA", "transB")):
        value = body.input(place)
        if body.attribute(name, 0):
            rank = body.rank(place)
            value = body.Transpose(value, perm=[*range(rank - 2), rank - 1, rank - 2]) if rank > 1 else value
        values.append(value)
    alpha, result = body.attribute("alpha", 1.0), body.MatMul(*values)
    return str(result if alpha == 1.0 else body.Mul(result, body.constant(alpha, body.dtype(0))))


def _gelu_of(body: Body, value: str) -> str:
    def number(one: float) -> str:
        return body.constant(one, body.dtype(0))

    share = body.Add(body.Erf(body.Mul(value, number(0.5**0.5))), number(1.0))
    return str(body.Mul(body.Mul(value, number(0.5)), share))


def _gelu(body: Body) -> str:
    return _gelu_of(body, body.input(0))


def _bias_gelu(body: Body) -> str:
    return _gelu_of(body, body.Add(body.input(0), body.input(1)))


def _fast_gelu(body: Body) -> str:
    def number(one: float) -> str:
        return body.constant(one, body.dtype(0))

    value = body.Add(body.input(0), body.input(1)) if body.input(1) else body.input(0)
    cube = body.Mul(body.Mul(value, value), body.Mul(value, number(0.044715)))
    tangent = body.Tanh(body.Mul(body.Add(value, cube), number(0.7978845608028654)))
    return str(body.Mul(body.Mul(value, number(0.5)), body.Add(tangent, number(1.0))))


def _quick_gelu(body: Body) -> str:
    value, alpha = body.input(0), body.constant(body.attribute("alpha", 1.702), body.dtype(0))
    return str(body.Mul(value, body.Sigmoid(body.Mul(value, alpha))))


_PLAIN = ("Relu", "Sigmoid", "Tanh")


def _fused_conv(body: Body) -> str:
    """A convolution, the sum with another value, and an activation."""
    activation, parameters = body.attribute("activation", ""), body.attribute("activation_params", [])
    body.require(activation in ("", "LeakyRelu", *_PLAIN))
    given = body.given("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    result = body.Conv(*(body.input(place) for place in range(3)), **given)
    if body.input(3):
        result = body.Add(result, body.input(3))
    if activation == "LeakyRelu":
        return str(body.LeakyRelu(result, alpha=parameters[0] if parameters else 0.01))
    return str(getattr(body, activation)(result) if activation else result)


def _skip_layer_normalization(body: Body) -> str:
    """The normalization of a sum along the last axis."""
    body.require(not any(map(body.is_read, (1, 2, 3))))
    value = body.Add(body.input(0), body.input(1))
    if body.input(4):
        value = body.Add(value, body.input(4))
    gamma, beta, epsilon = body.input(2), body.input(3), body.attribute("epsilon", 1e-5)
    difference = body.Sub(value, _mean_of(body, value, [-1]))
    variance = _mean_of(body, body.Mul(difference, difference), [-1])
    root = body.Sqrt(body.Add(variance, body.constant(epsilon, body.dtype(0))))
    result = body.Mul(body.Div(difference, root), gamma)
    return str(body.Add(result, beta) if beta else result)


CONTRIBUTED_OPERATORS = [
    ContributedOperator("BiasGelu", _bias_gelu),
    ContributedOperator("DynamicQuantizeMatMul", _dynamic_product),
    ContributedOperator("FastGelu", _fast_gelu),
    ContributedOperator("FusedConv", _fused_conv),
    ContributedOperator("FusedMatMul", _fused_matmul),
    ContributedOperator("Gelu", _gelu),
    ContributedOperator("MatMulIntegerToFloat", _integer_product),
    ContributedOperator("QGemm", _gemm),
    ContributedOperator("QLinearAdd", _sum_of_quantized),
    ContributedOperator("QLinearAveragePool", _average_pool),
    ContributedOperator("QLinearConcat", _concat),
    ContributedOperator("QLinearGlobalAveragePool", _global_average_pool),
    ContributedOperator("QLinearLeakyRelu", _leaky_relu),
    ContributedOperator("QLinearMul", _product_of_quantized),
    ContributedOperator("QLinearReduceMean", _mean),
    ContributedOperator("QLinearSigmoid", _sigmoid),
    ContributedOperator("QLinearSoftmax", _softmax),
    ContributedOperator("QLinearWhere", _where),
    ContributedOperator("QuickGelu", _quick_gelu),
    ContributedOperator("SkipLayerNormalization", _skip_layer_normalization),
    ContributedOperator("TransposeMatMul", _fused_matmul),
]
