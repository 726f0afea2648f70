"""BitCast below its introduction."""

import numpy
import pytest

from opsetlift import convert
from opsetlift.evaluator import Evaluator
from opsetlift.specification.dtypes import element_type, numpy_dtype
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model


def bit_cast(source, to):
    return (
        f'<ir_version: 13, opset_import: ["": 26]> g ({source}[N] x) => ({to}[N] y) '
        f"{{ y = BitCast <to = {element_type(to)}> (x) }}"
    )


def test_the_same_dtype_is_an_identity():
    check_rewrite(
        bit_cast("float", "float"),
        '<ir_version: 13, opset_import: ["": 25]> g (float[N] x) => (float[N] y) { y = Identity (x) }',
    )


@pytest.mark.parametrize(
    ("source", "to"),
    [
        ("int8", "uint8"),
        ("uint16", "int16"),
        ("uint32", "int32"),
        ("int64", "uint64"),
        ("uint4", "int4"),
        ("int2", "uint2"),
    ],
)
def test_integers_are_cast(source, to):
    check_rewrite(
        bit_cast(source, to),
        f'<ir_version: 13, opset_import: ["": 25]> g ({source}[N] x) => ({to}[N] y) '
        f"{{ y = Cast <to = {element_type(to)}> (x) }}",
    )


@pytest.mark.parametrize("to", ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0"])
@pytest.mark.parametrize("source", ["int8", "uint8"])
def test_every_float8_is_looked_up(source, to):
    check_converts(bit_cast(source, to), 25, exact=True)


@pytest.mark.parametrize("source", ["int4", "uint4"])
def test_every_float4_is_looked_up(source):
    check_converts(bit_cast(source, "float4e2m1"), 25, exact=True)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("source", "to", "opset"),
    [
        ("int16", "float16", 7),
        ("uint16", "float16", 25),
        ("int16", "bfloat16", 13),
        ("uint16", "bfloat16", 25),
        ("int32", "float", 7),
        ("uint32", "float", 25),
        ("int64", "double", 7),
        ("uint64", "double", 25),
    ],
)
def test_floats_are_put_together_from_their_bits(source, to, opset):
    check_converts(bit_cast(source, to), opset, exact=True)


@pytest.mark.parametrize("to", ["float16", "bfloat16"])
def test_every_float_of_16_bits_is_put_together(to):
    converted = convert(model(bit_cast("uint16", to)), to=25).model
    bits = numpy.arange(2**16, dtype=numpy.uint16)
    expected = bits.view(numpy_dtype(to)).astype(numpy.float32)
    found = Evaluator(converted).run({"x": bits})["y"].astype(numpy.float32)
    numpy.testing.assert_array_equal(found, expected)
    numbers = ~numpy.isnan(expected)
    numpy.testing.assert_array_equal(numpy.signbit(found[numbers]), numpy.signbit(expected[numbers]))


@pytest.mark.parametrize(("source", "to"), [("float", "int32"), ("float16", "bfloat16"), ("int64", "complex64")])
def test_the_bits_of_a_float_cannot_be_read(source, to):
    check_refusal(bit_cast(source, to), 25, Why.NO_EQUIVALENT, f"BitCast from {source} to {to}")
