"""Mod across its versions and below its introduction."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("dtype", ["float", "double", "float16", "bfloat16"])
def test_floats_get_the_sign_of_the_divisor_below_28(dtype):
    check_converts(
        f'<ir_version: 13, opset_import: ["": 28]> g ({dtype}[2, 1] a, {dtype}[3] b) => ({dtype}[2, 3] y) '
        "{ y = Mod (a, b) }",
        27,
        exact=True,
    )


def test_a_remainder_of_floats_that_has_the_sign_of_the_dividend_was_always_there():
    check_rewrite(
        '<ir_version: 13, opset_import: ["": 28]> g (float[3] a, float[3] b) => (float[3] y) '
        "{ y = Mod <fmod = 1> (a, b) }",
        '<ir_version: 5, opset_import: ["": 10]> g (float[3] a, float[3] b) => (float[3] y) '
        "{ y = Mod <fmod: int = 1> (a, b) }",
    )


@pytest.mark.slow
@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("to", [9, 7, 6])
def test_integers_keep_what_the_quotient_leaves_below_10(fmod, dtype, to):
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g ({dtype}[2, 1] a, {dtype}[3] b) => ({dtype}[2, 3] y) '
        f"{{ y = Mod <fmod = {fmod}> (a, b) }}",
        to,
        exact=True,
    )


def test_a_divisor_that_is_known_not_to_be_zero_needs_no_care():
    check_rewrite(
        '<ir_version: 5, opset_import: ["": 10]> g (uint32[3] a) => (uint32[3] y) <uint32 b = {7}> { y = Mod (a, b) }',
        '<ir_version: 4, opset_import: ["": 9]> g (uint32[3] a) => (uint32[3] y) <uint32 b = {7}> '
        "{ y_Div = Div (a, b) y_Mul = Mul (y_Div, b) y = Sub (a, y_Mul) }",
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("dtype", ["float", "float16"])
@pytest.mark.parametrize("shapes", [("2, 1", "3", "2, 3"), ("N", "N", "N")])
@pytest.mark.parametrize("to", [9, 6])
def test_floats_are_divided_in_exact_steps_below_10(dtype, shapes, to):
    first, second, result = shapes
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g ({dtype}[{first}] a, {dtype}[{second}] b) => ({dtype}[{result}] y) '
        "{ y = Mod <fmod = 1> (a, b) }",
        to,
        exact=True,
    )


def test_doubles_are_refused_below_10():
    check_refusal(
        '<ir_version: 5, opset_import: ["": 10]> g (double[3] a, double[3] b) => (double[3] y) '
        "{ y = Mod <fmod = 1> (a, b) }",
        9,
        Why.NO_EQUIVALENT,
        "no wider type",
    )
