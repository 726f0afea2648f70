"""Activations across their versions and below their introductions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

FLOATS = ["float", "double", "float16"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def unary(operator, dtype, opset, *, attributes="", shape="N, 3"):
    return (
        f'<ir_version: 10, opset_import: ["": {opset}]> g ({dtype}[{shape}] x) => ({dtype}[{shape}] y) '
        f"{{ y = {operator} {attributes} (x) }}"
    )


def prelu(opset, x, slope, dtype="float"):
    return (
        f'<ir_version: 3, opset_import: ["": {opset}]> g ({dtype}[{x}] x, {dtype}[{slope}] s) => ({dtype}[{x}] y) '
        "{ y = PRelu (x, s) }"
    )


@pytest.mark.parametrize(
    "operator", ["Relu", "LeakyRelu", "Elu", "HardSigmoid", "Sigmoid", "Tanh", "Sqrt", "Exp", "Log", "Reciprocal"]
)
def test_consumed_inputs_disappear_upwards(operator):
    check_rewrite(
        unary(operator, "float", 1, attributes="<consumed_inputs = [0]>"),
        unary(operator, "float", 6),
    )


def test_the_old_defaults_of_selu_are_written_down_upwards():
    check_rewrite(
        unary("Selu", "float", 1, attributes="<consumed_inputs = [0], alpha = 1.0>"),
        unary("Selu", "float", 6, attributes="<alpha: float = 1.0, gamma: float = 1.0507>"),
    )


@pytest.mark.parametrize(("source", "to"), [(1, 6), (6, 1), (1, 22)])
def test_selu_keeps_the_defaults_of_its_version(source, to):
    check_converts(unary("Selu", "float", source), to, exact=True)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("to", [13, 11, 7])
def test_integers_are_the_greater_of_zero_below_14(dtype, to):
    check_converts(unary("Relu", dtype, 14), to, exact=True)


@pytest.mark.parametrize(
    ("operator", "opset"),
    [("LeakyRelu", 16), ("Elu", 22), ("HardSigmoid", 22), ("Selu", 22), ("Softplus", 22), ("Softsign", 22)],
)
def test_bfloat16_is_computed_in_float_before_it_is_taken(operator, opset):
    check_converts(unary(operator, "bfloat16", opset), opset - 1)
    check_refusal(unary(operator, "bfloat16", opset), opset - 1, Why.ROUNDING, "bfloat16", exact=True)


def test_slopes_of_channels_get_dimensions_behind_them_at_7():
    check_rewrite(
        prelu(6, "2, 3, 4, 5", "3"),
        '<ir_version: 3, opset_import: ["": 7]> g (float[2, 3, 4, 5] x, float[3] s) => (float[2, 3, 4, 5] y) '
        "{ y_Unsqueeze = Unsqueeze <axes: ints = [1, 2]> (s) y = PRelu (x, y_Unsqueeze) }",
    )


@pytest.mark.parametrize(("x", "slope"), [("2, 3", "3"), ("2, 3, 4", "1"), ("N, 3", "N, 3")])
def test_other_slopes_stay_as_they_are_at_7(x, slope):
    check_rewrite(prelu(6, x, slope), prelu(7, x, slope))


def test_slopes_of_channels_lose_the_dimensions_beside_them_below_7():
    check_rewrite(
        prelu(7, "N, 3, 4", "1, 3, 1"),
        '<ir_version: 3, opset_import: ["": 6]> g (float[N, 3, 4] x, float[1, 3, 1] s) => (float[N, 3, 4] y) '
        "{ y_Squeeze = Squeeze <axes: ints = [0, 2]> (s) y = PRelu (x, y_Squeeze) }",
    )


@pytest.mark.parametrize(("x", "slope"), [("2, 3, 4", "4"), ("2, 3, 4", "3, 4"), ("N, C, H", "H"), ("2, 0, 4", "4")])
def test_slopes_of_other_dimensions_are_repeated_below_7(x, slope):
    check_converts(prelu(7, x, slope), 6, exact=True)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("to", [8, 6])
def test_integers_are_added_by_sign_below_9(dtype, to):
    check_converts(prelu(9, "2, 3", "3", dtype), to, exact=True)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("attributes", ["", "<lambd = 1.5, bias = 1.0>", "<lambd = 3.0, bias = -7.0>"])
@pytest.mark.parametrize("to", [8, 6])
def test_shrink_is_written_out_below_9(dtype, attributes, to):
    check_converts(unary("Shrink", dtype, 9, attributes=attributes, shape="2, 3"), to, exact=True)


@pytest.mark.parametrize("dtype", ["float", "int8", "int64"])
def test_where_both_conditions_of_shrink_hold_the_first_one_counts(dtype):
    check_converts(unary("Shrink", dtype, 9, attributes="<lambd = -2.0, bias = 3.0>", shape="2, 3"), 8, exact=True)


@pytest.mark.parametrize("attributes", ["<bias = 0.5>", "<lambd = -5.0>"])
def test_64_bits_that_would_be_real_numbers_are_refused(attributes):
    check_refusal(unary("Shrink", "uint64", 9, attributes=attributes), 8, Why.NO_EQUIVALENT, "real numbers")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("alpha", [1.0, 0.1, -2.0])
@pytest.mark.parametrize("to", [9, 7])
def test_a_threshold_is_compared_exactly_below_10(dtype, alpha, to):
    check_converts(unary("ThresholdedRelu", dtype, 10, attributes=f"<alpha = {alpha}>", shape="2, 3"), to, exact=True)


def test_a_threshold_on_bfloat16_is_compared_in_float_below_22():
    check_converts(unary("ThresholdedRelu", "bfloat16", 22), 21, exact=True)


@pytest.mark.parametrize("dtype", ["float", "double", "float16", "bfloat16"])
@pytest.mark.parametrize("alpha", [1.0, 2.5])
def test_celu_of_other_floats_is_computed_in_float_or_in_parts_below_28(dtype, alpha):
    check_converts(unary("Celu", dtype, 28, attributes=f"<alpha = {alpha}>"), 27)


@pytest.mark.parametrize("alpha", [1.0, 2.5])
@pytest.mark.parametrize("to", [11, 6])
def test_celu_is_a_positive_part_and_a_scaled_elu_below_12(alpha, to):
    check_converts(unary("Celu", "float", 12, attributes=f"<alpha = {alpha}>"), to)


def test_celu_with_a_negative_alpha_is_no_elu():
    check_refusal(unary("Celu", "float", 12, attributes="<alpha = -1.0>"), 11, Why.NO_EQUIVALENT, "positive")


def test_hard_swish_is_a_product_with_hard_sigmoid_below_14():
    check_rewrite(
        unary("HardSwish", "float", 14),
        '<ir_version: 7, opset_import: ["": 13]> g (float[N, 3] x) => (float[N, 3] y) '
        "{ y_HardSigmoid = HardSigmoid <alpha: float = 0.16666667, beta: float = 0.5> (x) y = Mul (x, y_HardSigmoid) }",
        exact=False,
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("operator", "opset", "attributes"),
    [
        ("HardSwish", 14, ""),
        ("Mish", 18, ""),
        ("Gelu", 20, ""),
        ("Gelu", 20, '<approximate = "tanh">'),
        ("Swish", 24, ""),
        ("Swish", 24, "<alpha = 1.5>"),
    ],
)
@pytest.mark.parametrize("dtype", [*FLOATS, "bfloat16"])
def test_later_activations_are_compositions_before_their_introduction(operator, opset, attributes, dtype):
    if dtype == "bfloat16" and opset < 20:
        opset = 22
    text = unary(operator, dtype, opset, attributes=attributes)
    check_converts(text, 17 if dtype == "bfloat16" else 9)
    check_refusal(text, 13, Why.ROUNDING, "rounds", exact=True)


def test_a_gated_linear_unit_is_a_swish_times_a_value_below_28():
    check_rewrite(
        '<ir_version: 13, opset_import: ["": 28]> g (float[N] a, float[N] b) => (float[N] y) '
        "{ y = SwiGLU <alpha = 2.0> (a, b) }",
        '<ir_version: 13, opset_import: ["": 27]> g (float[N] a, float[N] b) => (float[N] y) <float y_alpha = {2.0}> '
        "{ y_Mul = Mul (y_alpha, a) y_Sigmoid = Sigmoid (y_Mul) y_Mul_1 = Mul (a, y_Sigmoid) y = Mul (y_Mul_1, b) }",
        exact=False,
    )
