"""Hyperbolic and trigonometric functions and the error function below their introductions; Neg, Abs, Floor and Ceil."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

HYPERBOLIC = ["Sinh", "Cosh", "Asinh", "Acosh", "Atanh"]
TRIGONOMETRIC = ["Sin", "Cos", "Tan", "Asin", "Acos", "Atan"]


def unary(operator, dtype, opset, *, attributes="", shape="N, 3"):
    return (
        f'<ir_version: 10, opset_import: ["": {opset}]> g ({dtype}[{shape}] x) => ({dtype}[{shape}] y) '
        f"{{ y = {operator} {attributes} (x) }}"
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("operator", HYPERBOLIC)
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
@pytest.mark.parametrize("to", [8, 6, 1])
def test_hyperbolic_functions_are_written_out_below_9(operator, dtype, to):
    check_converts(unary(operator, dtype, 9), to)


@pytest.mark.parametrize("operator", TRIGONOMETRIC)
def test_trigonometric_functions_are_refused_below_7(operator):
    check_refusal(unary(operator, "float", 7), 6, Why.NO_EQUIVALENT, "approximation")


@pytest.mark.parametrize("operator", HYPERBOLIC + TRIGONOMETRIC)
def test_bfloat16_is_computed_in_float_below_22(operator):
    check_converts(unary(operator, "bfloat16", 22), 21)


@pytest.mark.parametrize("dtype", ["float", "float16"])
@pytest.mark.parametrize("to", [8, 6])
def test_the_error_function_is_summed_up_below_9(dtype, to):
    check_converts(unary("Erf", dtype, 9, shape="2, 3"), to)


def test_the_error_function_of_doubles_is_refused_below_9():
    check_refusal(unary("Erf", "double", 9), 8, Why.NO_EQUIVALENT, "last digit")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
@pytest.mark.parametrize("to", [13, 8])
def test_the_error_function_of_integers_is_truncated_from_13_on_and_below_9(dtype, to):
    check_converts(unary("Erf", dtype, 9, shape="2, 3"), to)


@pytest.mark.parametrize("operator", ["Neg", "Abs"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integers_keep_their_least_value_below_6(operator, dtype):
    check_converts(unary(operator, dtype, 6, shape="2, 3"), 5, exact=True)


def test_the_magnitude_of_unsigned_integers_is_themselves():
    check_rewrite(
        unary("Abs", "uint8", 6),
        '<ir_version: 3, opset_import: ["": 5]> g (uint8[N, 3] x) => (uint8[N, 3] y) { y = Identity (x) }',
    )


@pytest.mark.parametrize("operator", ["Neg", "Abs", "Ceil", "Floor"])
def test_consumed_inputs_disappear_upwards(operator):
    check_rewrite(unary(operator, "float", 1, attributes="<consumed_inputs = [0]>"), unary(operator, "float", 13))
