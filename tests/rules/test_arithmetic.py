"""Add, Sub, Mul and Div across their versions; broadcasting has tests of its own."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

OPERATORS = ["Add", "Sub", "Mul", "Div"]


def test_consumed_inputs_disappear_upwards():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 1]> g (float[2] a, float[2] b) => (float[2] y) '
        "{ y = Add <consumed_inputs = [1, 0]> (a, b) }",
        '<ir_version: 3, opset_import: ["": 6]> g (float[2] a, float[2] b) => (float[2] y) { y = Add (a, b) }',
    )


def test_narrow_integers_are_computed_in_int32_below_14():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 14]> g (int8[3] a, int8[3] b) => (int8[3] y) { y = Mul (a, b) }',
        '<ir_version: 7, opset_import: ["": 13]> g (int8[3] a, int8[3] b) => (int8[3] y) '
        "{ y_Cast = Cast <to: int = 6> (a) y_Cast_1 = Cast <to: int = 6> (b) "
        "y_Mul = Mul (y_Cast, y_Cast_1) y = Cast <to: int = 3> (y_Mul) }",
    )


def test_products_of_uint16_need_64_bits():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 14]> g (uint16[3] a, uint16[3] b) => (uint16[3] y) { y = Mul (a, b) }',
        '<ir_version: 7, opset_import: ["": 13]> g (uint16[3] a, uint16[3] b) => (uint16[3] y) '
        "{ y_Cast = Cast <to: int = 7> (a) y_Cast_1 = Cast <to: int = 7> (b) "
        "y_Mul = Mul (y_Cast, y_Cast_1) y = Cast <to: int = 4> (y_Mul) }",
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("to", [13, 6])
def test_narrow_integers_wrap_around_below_14(operator, dtype, to):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 14]> g ({dtype}[N, 3] a, {dtype}[N, 3] b) => ({dtype}[N, 3] y) '
        f"{{ y = {operator} (a, b) }}",
        to,
        exact=True,
    )


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_integers_wrap_around_in_reductions_below_6(operator, dtype):
    check_converts(
        f'<ir_version: 3, opset_import: ["": 7]> g ({dtype}[2, 3] a, {dtype}[3] b) => ({dtype}[2, 3] y) '
        f"{{ y = {operator} (a, b) }}",
        5,
        exact=True,
    )


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_quotients_of_32_bits_are_exact_in_double_below_6(dtype):
    check_converts(
        f'<ir_version: 3, opset_import: ["": 6]> g ({dtype}[2, 3] a, {dtype}[2, 3] b) => ({dtype}[2, 3] y) '
        "{ y = Div (a, b) }",
        5,
        exact=True,
    )


def test_quotients_of_64_bits_are_refused_below_6():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 6]> g (int64[2] a, int64[2] b) => (int64[2] y) { y = Div (a, b) }',
        5,
        Why.NO_EQUIVALENT,
        "int64",
    )


def test_integers_that_an_attribute_repeats_are_repeated_below_6():
    check_converts(
        '<ir_version: 3, opset_import: ["": 6]> g (int32[2, 3, 4] a, int32[3] b) => (int32[2, 3, 4] y) '
        "{ y = Add <broadcast = 1, axis = 1> (a, b) }",
        5,
        exact=True,
    )


def test_bfloat16_is_refused_below_13():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 13]> g (bfloat16[2] a) => (bfloat16[2] y) { y = Add (a, a) }',
        12,
        Why.DTYPE_NOT_AVAILABLE,
        "no operator of opset 12 accepts bfloat16",
    )
