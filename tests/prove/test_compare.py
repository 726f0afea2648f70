"""What counts as the same value."""

from __future__ import annotations

import ml_dtypes
import numpy
import pytest

from opsetlift.proof.compare import compare
from opsetlift.proof.inputs.filling import draw
from opsetlift.proof.special_values import special_values
from opsetlift.specification.dtypes import numpy_dtype

ALL_DTYPES = ["float", "double", "float16", "bfloat16", "float8e4m3fn", "float8e5m2", "float4e2m1", "complex64"]
ALL_DTYPES += ["int8", "uint8", "int64", "uint64", "int4", "uint4", "int2", "bool", "string"]


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_values_equal_themselves_and_any_changed_element_is_found(dtype: str) -> None:
    values = draw("special", dtype, (4, 6), numpy.random.default_rng(0))
    assert compare(values, values.copy()).equal
    special = special_values(dtype)
    other = next(one for one in special if not compare(numpy.asarray(one), numpy.asarray(values[2, 3])).equal)
    changed = values.copy()
    changed[2, 3] = other
    verdict = compare(values, changed)
    assert not verdict.equal
    assert "at index [2, 3]" in verdict.sentence


def test_the_sign_of_zero_counts() -> None:
    for dtype in (numpy.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2):
        assert not compare(numpy.array([0.0], dtype), numpy.array([-0.0], dtype)).equal


def test_every_nan_is_like_another() -> None:
    quiet, other = numpy.array([0x7FC00000, 0xFFC00001], numpy.uint32).view(numpy.float32).reshape(2, 1)
    assert compare(quiet, other).equal
    assert not compare(quiet, numpy.array([0.0], numpy.float32)).equal


def test_dtype_and_shape_must_agree() -> None:
    one = numpy.zeros((2, 1), numpy.float32)
    assert compare(one, one.astype(numpy.float64)).sentence == "dtype float became double"
    assert compare(one, one.reshape(1, 2)).sentence == "shape (2, 1) became (1, 2)"
    assert not compare(numpy.zeros(0, numpy.int32), numpy.zeros((0, 3), numpy.int32)).equal


def test_the_bound_is_in_units_of_the_largest_magnitude() -> None:
    expected = numpy.array([1.0, 1e-6], numpy.float32)
    unit = numpy.finfo(numpy.float32).eps
    near = numpy.array([1.0, 1e-6 + 2 * unit], numpy.float32)
    assert compare(expected, near, ulps=2).equal
    assert compare(expected, near, ulps=2).worst_ulps == pytest.approx(2, rel=1e-3)
    assert not compare(expected, near, ulps=1).equal
    assert not compare(expected, near).equal


def test_no_bound_covers_infinities_and_nan() -> None:
    finite = numpy.array([1.0], numpy.float16)
    for special in (numpy.inf, numpy.nan):
        assert not compare(finite, numpy.array([special], numpy.float16), ulps=10_000).equal
        assert not compare(numpy.array([special], numpy.float16), finite, ulps=10_000).equal


def test_no_bound_covers_integers() -> None:
    assert not compare(numpy.array([100]), numpy.array([101]), ulps=1000).equal


def test_subnormals_are_measured_in_the_smallest_unit() -> None:
    smallest = numpy.array([numpy.finfo(numpy.float32).smallest_subnormal], numpy.float32)
    assert compare(smallest, smallest * 3, ulps=2).equal
    assert not compare(smallest, smallest * 3, ulps=1).equal


def test_sequences_maps_and_optionals_are_compared_by_element() -> None:
    one, other = numpy.array([1.0]), numpy.array([2.0])
    assert compare([one, other], [one, other]).equal
    assert compare([one, other], [one, one]).sentence.startswith("element 1: ")
    assert compare([one], [one, one]).sentence == "a sequence of 1 elements became one of 2"
    assert compare({"a": one}, {"a": other}).sentence.startswith("key 'a': ")
    assert not compare({"a": one}, {"b": one}).equal
    assert compare(None, None).equal
    assert compare(one, None).sentence == "a tensor of double became an empty optional"


def test_text_is_compared_by_character() -> None:
    words = numpy.array(["é", "b"], dtype=numpy_dtype("string"))
    assert compare(words, words.copy()).equal
    assert "'é' became 'e'" in compare(words, numpy.array(["e", "b"], dtype=object)).sentence
