"""Shifts and bitwise operators across their versions and below their introductions."""

import numpy
import onnx
import pytest

from testing.conversion import check_converts, check_rewrite
from testing.pairs import every_pair

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("to", [27, 17, 10])
def test_signed_integers_shift_as_unsigned_ones_below_28(direction, dtype, to):
    check_converts(
        f'<ir_version: 13, opset_import: ["": 28]> g ({dtype}[2, 1] a, {dtype}[3] b) => ({dtype}[2, 3] y) '
        f'{{ y = BitShift <direction = "{direction}"> (a, b) }}',
        to,
        exact=True,
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize("to", [10, 7])
def test_amounts_of_the_run_are_looked_up_below_11(direction, dtype, to):
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g ({dtype}[2, 1] a, {dtype}[3] b) => ({dtype}[2, 3] y) '
        f'{{ y = BitShift <direction = "{direction}"> (a, b) }}',
        to,
        exact=True,
    )


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("amounts", ["{0, 1, 31}", "{32, 5, 4000000000}"])
def test_constant_amounts_are_constant_factors_below_11(direction, amounts):
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g (uint32[2, 3] a) => (uint32[2, 3] y) <uint32[3] b = {amounts}> '
        f'{{ y = BitShift <direction = "{direction}"> (a, b) }}',
        10,
        exact=True,
    )


def test_a_shift_to_the_right_by_a_constant_is_a_division_in_a_dtype_that_runtimes_calculate_in():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (uint32[3] a) => (uint32[3] y) <uint32 b = {4}> '
        '{ y = BitShift <direction = "RIGHT"> (a, b) }',
        '<ir_version: 5, opset_import: ["": 10]> g (uint32[3] a) => (uint32[3] y) <int64 y_power = {16}> '
        "{ y_Cast = Cast <to = 7> (a) y_Div = Div (y_Cast, y_power) y = Cast <to = 12> (y_Div) }",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "dtype", "to"),
    every_pair(["BitwiseAnd", "BitwiseOr", "BitwiseXor"], SIGNED + UNSIGNED, [17, 13, 7]),
)
def test_bits_are_taken_apart_below_18(operator, dtype, to):
    check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g ({dtype}[2, 1] a, {dtype}[3] b) => ({dtype}[2, 3] y) '
        f"{{ y = {operator} (a, b) }}",
        to,
        exact=True,
    )


@pytest.mark.parametrize(("dtype", "ones"), [("int16", -1), ("uint8", 255), ("uint32", 2**32 - 1), ("uint64", -1)])
def test_the_complement_is_what_all_bits_exceed_by_below_18_in_a_dtype_that_runtimes_calculate_in(dtype, ones):
    after = check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g ({dtype}[3] x) => ({dtype}[3] y) {{ y = BitwiseNot (x) }}',
        17,
        exact=True,
    )
    (constant,) = map(onnx.numpy_helper.to_array, after.graph.initializer)
    assert constant.dtype in (numpy.int32, numpy.int64)
    assert constant == ones


def test_the_complement_of_int64_is_one_difference_below_18():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 18]> g (int64[3] x) => (int64[3] y) { y = BitwiseNot (x) }',
        '<ir_version: 8, opset_import: ["": 17]> g (int64[3] x) => (int64[3] y) <int64 y_ones = {-1}> '
        "{ y = Sub (y_ones, x) }",
    )
