"""Sign and Round below their introductions."""

import numpy
import pytest

from testing.conversion import check_converts, check_rewrite, model
from testing.onnxruntime_judge import run_in_onnxruntime

FLOATS = ["float", "double", "float16"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def unary(operator, dtype, opset, *, result=None, attributes="", shape="N, 3"):
    return (
        f'<ir_version: 9, opset_import: ["": {opset}]> g ({dtype}[{shape}] x) => ({result or dtype}[{shape}] y) '
        f"{{ y = {operator} {attributes} (x) }}"
    )


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("to", [8, 6])
def test_signs_are_differences_of_comparisons_below_9(dtype, to):
    check_converts(unary("Sign", dtype, 9, shape="2, 3"), to, exact=True)


def test_the_sign_of_unsigned_numbers_is_whether_they_are_not_zero():
    check_rewrite(
        unary("Sign", "uint8", 9),
        '<ir_version: 3, opset_import: ["": 8]> g (uint8[N, 3] x) => (uint8[N, 3] y) '
        "{ y_Cast = Cast <to: int = 9> (x) y = Cast <to: int = 2> (y_Cast) }",
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("to", [10, 8, 6, 1])
def test_halves_go_to_the_even_neighbour_below_11(dtype, to):
    check_converts(unary("Round", dtype, 11, shape="2, 3"), to, exact=True)


@pytest.mark.parametrize("to", [10, 8])
def test_what_is_rounded_to_zero_keeps_its_sign_in_onnxruntime_too(to):
    """Its Where gives 0 for -0, and so does its Min; the text of neither says which."""
    before = unary("Round", "float", 11)
    data = {"x": numpy.array([[-0.0, 0.0, -0.3], [-0.5, 0.4, 0.5]], numpy.float32)}
    for one in (model(before), check_converts(before, to, exact=True)):
        assert numpy.signbit(run_in_onnxruntime(one, data)[0]).tolist() == [[True, False, True], [True, False, False]]


def test_bfloat16_is_rounded_in_float_below_22():
    check_converts(unary("Round", "bfloat16", 22), 21, exact=True)
