"""MatMulInteger, QLinearMatMul and DynamicQuantizeLinear."""

from __future__ import annotations

import numpy

from opsetlift.evaluator.kernels.casts import to_float8
from opsetlift.evaluator.kernels.linear_algebra import check_matmul
from opsetlift.evaluator.kernels.numeric import is_float, widened
from opsetlift.evaluator.kernels.quantize_linear import saturated
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@kernel("MatMulInteger", since=(10,))
def matmul_integer(
    call: Call, a: Array, b: Array, a_zero_point: Array | None = None, b_zero_point: Array | None = None
) -> Array:
    """MatMulInteger-10: The matrix product of 8-bit integers less their zero points.

    Args:
        call: No attributes.
        a: uint8 or int8 [..., M, K].
        b: uint8 or int8 [..., K, N].
        a_zero_point: Scalar or [M]; absent, 0.
        b_zero_point: Scalar or [N]; absent, 0.

    Returns:
        int32 [..., M, N], which wraps.
    """
    check_matmul(call, a, b)
    left = _centred(a, None if a_zero_point is None else _per_row(call, a, a_zero_point, "a_zero_point"))
    right = _centred(b, None if b_zero_point is None else _per_column(call, b, b_zero_point, "b_zero_point"))
    # Sums of products of 9-bit numbers are exact in float64; the accumulation may overflow in 32 bits only.
    return numpy.asarray(numpy.matmul(left, right)).astype(numpy.int64).astype(numpy.int32)


def _centred(values: Array, zero_point: Array | None) -> Array:
    wide = values.astype(numpy.float64)
    return wide if zero_point is None else wide - zero_point.astype(numpy.float64)


def _per_row(call: Call, matrix: Array, parameter: Array, name: str) -> Array:
    """A parameter of the left operand: a scalar, one per row ([M]), or of its shape with 1 for the columns."""
    if parameter.size == 1:
        return parameter.reshape(())
    if parameter.ndim == 1 and matrix.ndim == 2 and parameter.shape[0] == matrix.shape[0]:
        return parameter[:, None]
    if parameter.shape != (*matrix.shape[:-1], 1):
        call.fail(f"{name} of shape {list(parameter.shape)} fits no row quantization of {list(matrix.shape)}")
    return parameter


def _per_column(call: Call, matrix: Array, parameter: Array, name: str) -> Array:
    """A parameter of the right operand: a scalar, one per column ([N]), or of its shape with 1 for the rows."""
    if parameter.size == 1:
        return parameter.reshape(())
    if parameter.ndim == 1 and matrix.ndim == 2 and parameter.shape[0] == matrix.shape[1]:
        return parameter
    if matrix.ndim < 2 or parameter.shape != (*matrix.shape[:-2], 1, matrix.shape[-1]):
        call.fail(f"{name} of shape {list(parameter.shape)} fits no column quantization of {list(matrix.shape)}")
    return parameter


@kernel("QLinearMatMul", since=(10, 21), changes=())
def qlinear_matmul(
    call: Call,
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
) -> Array:
    """QLinearMatMul-10, 21: The matrix product of quantized numbers, quantized again.

    Args:
        call: No attributes.
        a: 8 bits [..., M, K].
        a_scale: Float scalar, or a value for each row.
        a_zero_point: Like a_scale, of the dtype of a.
        b: 8 bits [..., K, N].
        b_scale: Float scalar, or a value for each column.
        b_zero_point: Like b_scale, of the dtype of b.
        y_scale: Float scalar, or a value for each row.
        y_zero_point: Like y_scale, of the dtype of the output.

    Returns:
        [..., M, N], of the dtype of y_zero_point.
    """
    check_matmul(call, a, b)
    for side, scale, zero_point in (
        ("a", a_scale, a_zero_point),
        ("b", b_scale, b_zero_point),
        ("y", y_scale, y_zero_point),
    ):
        if scale.shape != zero_point.shape:
            call.fail(f"{side}_scale and {side}_zero_point must have one shape")
    left = _centred(widened(a), widened(_per_row(call, a, a_zero_point, "a_zero_point")))
    right = _centred(widened(b), widened(_per_column(call, b, b_zero_point, "b_zero_point")))
    accumulated = numpy.asarray(numpy.matmul(left, right))
    # One factor in float32, like onnxruntime and onnx.reference; the text gives the formula, not its precision.
    factor = _per_row(call, a, widened(a_scale), "a_scale") * _per_column(call, b, widened(b_scale), "b_scale")
    quotient = numpy.asarray(accumulated.astype(numpy.float32) * (factor / _of_result(call, accumulated, y_scale)))
    zero_point = _of_result(call, accumulated, y_zero_point)
    if is_float(y_zero_point.dtype):
        return to_float8(numpy.asarray(quotient + widened(zero_point)), y_zero_point.dtype, True)
    return saturated(numpy.asarray(numpy.rint(quotient)), zero_point, y_zero_point.dtype)


def _of_result(call: Call, result: Array, parameter: Array) -> Array:
    """A parameter of the result: a scalar, or one per row."""
    return _per_row(call, result, parameter, "a parameter of y")


@kernel("DynamicQuantizeLinear", since=(11,))
def dynamic_quantize_linear(call: Call, x: Array) -> tuple[Array, Array, Array]:
    """DynamicQuantizeLinear-11: float32 x [*shape] in uint8, with its scale.

    The steps of the function body. Where all of x is 0, so is the scale, by the text; the zero point and y, which
    divide by it, are 0 here.

    Returns:
        uint8 like x, the scale, float32 [], and the zero point, uint8 [].
    """
    low = numpy.minimum.reduce(x, axis=None, initial=numpy.float32(0))
    high = numpy.maximum.reduce(x, axis=None, initial=numpy.float32(0))
    scale = numpy.asarray((high - low) / numpy.float32(255))
    dtype = numpy.dtype(numpy.uint8)
    zero_point = saturated(numpy.asarray(numpy.rint(numpy.clip(0 - low / scale, 0, 255))), numpy.zeros(()), dtype)
    quantized = saturated(numpy.asarray(numpy.rint(x / scale)), zero_point, dtype)
    return quantized, scale, zero_point
