"""Less, Greater, Equal and their unions across their versions; broadcasting below 7 has tests of its own."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def test_integers_up_to_32_bits_are_ordered_as_floats_below_9():
    check_rewrite(
        '<ir_version: 4, opset_import: ["": 9]> g (int32[3] a, int32[3] b) => (bool[3] y) { y = Less (a, b) }',
        '<ir_version: 3, opset_import: ["": 8]> g (int32[3] a, int32[3] b) => (bool[3] y) '
        "{ y_Cast = Cast <to: int = 11> (a) y_Cast_1 = Cast <to: int = 11> (b) y = Less (y_Cast, y_Cast_1) }",
    )


def test_64_bits_are_ordered_by_a_reduction_below_9():
    check_rewrite(
        '<ir_version: 4, opset_import: ["": 9]> g (int64[3] a, int64[3] b) => (bool[3] y) { y = Greater (a, b) }',
        '<ir_version: 3, opset_import: ["": 8]> g (int64[3] a, int64[3] b) => (bool[3] y) '
        "{ y_Unsqueeze = Unsqueeze <axes: ints = [0]> (a) y_Unsqueeze_1 = Unsqueeze <axes: ints = [0]> (b) "
        "y_Concat = Concat <axis: int = 0> (y_Unsqueeze, y_Unsqueeze_1) "
        "y_ReduceMax = ReduceMax <axes: ints = [0], keepdims: int = 0> (y_Concat) "
        "y_Sub = Sub (y_ReduceMax, b) y = Cast <to: int = 9> (y_Sub) }",
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("operator", ["Less", "Greater"])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("to", [8, 6])
def test_integers_are_ordered_exactly_below_9(operator, dtype, to):
    check_converts(
        f'<ir_version: 4, opset_import: ["": 9]> g ({dtype}[2, 1] a, {dtype}[3] b) => (bool[2, 3] y) '
        f"{{ y = {operator} (a, b) }}",
        to,
        exact=True,
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("dtype", ["float", "double", "float16", *INTEGERS])
@pytest.mark.parametrize("to", [10, 8, 6])
def test_equality_is_exact_below_11(dtype, to):
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g ({dtype}[N, 3] a, {dtype}[N, 3] b) => (bool[N, 3] y) '
        "{ y = Equal (a, b) }",
        to,
        exact=True,
    )


def test_equality_of_floats_is_neither_less_nor_greater_below_11():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (float[3] a, float[3] b) => (bool[3] y) { y = Equal (a, b) }',
        '<ir_version: 5, opset_import: ["": 10]> g (float[3] a, float[3] b) => (bool[3] y) '
        "{ y_Less = Less (a, b) y_Greater = Greater (a, b) y_Or = Or (y_Less, y_Greater) y_Add = Add (a, b) "
        "y_IsNaN = IsNaN (y_Add) y_Or_1 = Or (y_Or, y_IsNaN) y = Not (y_Or_1) }",
    )


@pytest.mark.parametrize(("first", "second"), [("[2, 1]", "[3]"), ("[N]", "[N]"), ("", "[2]"), ("[2, 0]", "[1]")])
def test_strings_are_numbered_below_19(first, second):
    check_converts(
        f'<ir_version: 9, opset_import: ["": 19]> g (string{first} a, string{second} b) => (bool[...] y) '
        "{ y = Equal (a, b) }".replace(
            "[...]", {"[2, 1]": "[2, 3]", "[N]": "[N]", "": "[2]", "[2, 0]": "[2, 0]"}[first]
        ),
        18,
        exact=True,
    )


def test_strings_are_refused_below_11_where_nothing_tells_them_apart():
    check_refusal(
        '<ir_version: 9, opset_import: ["": 19]> g (string[3] a, string[3] b) => (bool[3] y) { y = Equal (a, b) }',
        10,
        Why.NO_EQUIVALENT,
        "Unique",
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("operator", ["LessOrEqual", "GreaterOrEqual"])
@pytest.mark.parametrize("dtype", ["float", "double", "float16", *INTEGERS])
@pytest.mark.parametrize("to", [11, 8])
def test_unions_of_order_and_equality_are_exact_below_12(operator, dtype, to):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 12]> g ({dtype}[N, 3] a, {dtype}[N, 3] b) => (bool[N, 3] y) '
        f"{{ y = {operator} (a, b) }}",
        to,
        exact=True,
    )


def test_of_integers_less_or_equal_is_not_greater():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 12]> g (int64[3] a, int64[3] b) => (bool[3] y) { y = LessOrEqual (a, b) }',
        '<ir_version: 6, opset_import: ["": 11]> g (int64[3] a, int64[3] b) => (bool[3] y) '
        "{ y_Greater = Greater (a, b) y = Not (y_Greater) }",
    )


@pytest.mark.parametrize("operator", ["LessOrEqual", "GreaterOrEqual"])
def test_bfloat16_is_compared_in_float_below_16(operator):
    check_converts(
        '<ir_version: 8, opset_import: ["": 16]> g (bfloat16[3] a, bfloat16[3] b) => (bool[3] y) '
        f"{{ y = {operator} (a, b) }}",
        15,
        exact=True,
    )
