"""Pow across its versions: exponents of another dtype, integer bases."""

import numpy
import onnx
import onnxruntime
import pytest

from opsetlift import convert
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite


def test_a_constant_exponent_takes_the_dtype_of_the_base():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 12]> g (float[3] x) => (float[3] y) <int64 e = {2}> { y = Pow (x, e) }',
        '<ir_version: 6, opset_import: ["": 11]> g (float[3] x) => (float[3] y) <float y_exponent = {2}> '
        "{ y = Pow (x, y_exponent) }",
    )


def test_an_exponent_that_the_base_holds_is_cast():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 12]> g (float[3] x, int16[3] e) => (float[3] y) { y = Pow (x, e) }',
        '<ir_version: 6, opset_import: ["": 11]> g (float[3] x, int16[3] e) => (float[3] y) '
        "{ y_Cast = Cast <to: int = 1> (e) y = Pow (x, y_Cast) }",
    )


def test_an_exponent_that_only_double_holds_makes_the_power_round_once_more():
    text = '<ir_version: 7, opset_import: ["": 12]> g (float[3] x, int32[3] e) => (float[3] y) { y = Pow (x, e) }'
    check_converts(text, 11)
    check_refusal(text, 11, Why.ROUNDING, "double", exact=True)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("base", ["float16", "float", "double"])
@pytest.mark.parametrize("exponent", ["int64", "uint64"])
def test_an_exponent_that_no_float_holds_is_rounded_to_double(base, exponent):
    declared = f"({base}[3] x, {exponent}[3] e) => ({base}[3] y)"
    text = f'<ir_version: 7, opset_import: ["": 12]> g {declared} {{ y = Pow (x, e) }}'
    check_converts(text, 11)
    check_refusal(text, 11, Why.ROUNDING, "double", exact=True)


def test_the_exponent_is_rounded_as_onnxruntime_rounds_it():
    text = '<ir_version: 7, opset_import: ["": 12]> g (double[N] x, int64[N] e) => (double[N] y) { y = Pow (x, e) }'
    source = onnx.parser.parse_model(text)
    converted = convert(source, to=11).model
    exponents = numpy.array([2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 3, -3, 0], numpy.int64)
    bases = numpy.array([-1.0, 1 + 2.0**-52, 1 - 2.0**-53, -2.0, 0.5, -numpy.inf, numpy.nan])
    feeds = {"x": numpy.repeat(bases, exponents.size), "e": numpy.tile(exponents, bases.size)}
    before, after = (
        onnxruntime.InferenceSession(one.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)[0]
        for one in (source, converted)
    )
    numpy.testing.assert_array_equal(before, after)


def test_integers_are_raised_by_a_chain_of_products():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 12]> g (int32[3] x) => (int32[3] y) <int64 e = {5}> { y = Pow (x, e) }',
        '<ir_version: 6, opset_import: ["": 11]> g (int32[3] x) => (int32[3] y) '
        "{ y_Mul = Mul (x, x) y_Mul_1 = Mul (y_Mul, y_Mul) y = Mul (x, y_Mul_1) }",
    )


@pytest.mark.parametrize("exponent", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("shape", ["", "[1, 1, 1]"])
def test_chains_of_products_wrap_around(exponent, dtype, shape):
    result = "[N, 3]" if not shape else "[1, N, 3]"
    check_converts(
        f'<ir_version: 7, opset_import: ["": 12]> g ({dtype}[N, 3] x) => ({dtype}{result} y) '
        f"<int64{shape} e = {{{exponent}}}> {{ y = Pow (x, e) }}",
        11,
        exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [
        *(("int64", exponent) for exponent in ("uint8", "int32", "int64", "uint64")),
        ("int32", "int8"),
        ("int32", "uint64"),
    ],
)
def test_exponents_of_the_run_are_multiplied_bit_by_bit(dtype, exponent):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 12]> g ({dtype}[2, 1] x, {exponent}[3] e) => ({dtype}[2, 3] y) '
        "{ y = Pow (x, e) }",
        11,
        exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("exponents", ["{1, 2, 3}", "{-1, 0, -2}"])
def test_several_or_negative_constant_exponents_are_multiplied_bit_by_bit(exponents):
    check_converts(
        '<ir_version: 7, opset_import: ["": 12]> g (int32[N, 3] x) => (int32[N, 3] y) '
        f"<int64[3] e = {exponents}> {{ y = Pow (x, e) }}",
        11,
        exact=True,
    )


def test_exponents_of_the_run_of_unknown_rank_are_refused():
    check_refusal(
        '<ir_version: 7, opset_import: ["": 12]> g (int32[] x, int64[3] e) => (int32[] y) { y = Pow (x, e) }',
        11,
        Why.RANK_UNKNOWN,
        "Loop",
    )


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_to_the_power_of_floats_are_computed_in_double(dtype):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 12]> g ({dtype}[3] x, float[3] e) => ({dtype}[3] y) {{ y = Pow (x, e) }}',
        11,
    )


def test_a_bfloat16_exponent_travels_in_float_below_15():
    check_converts(
        '<ir_version: 8, opset_import: ["": 15]> g (float[3] x, bfloat16[3] e) => (float[3] y) { y = Pow (x, e) }',
        14,
        exact=True,
    )
