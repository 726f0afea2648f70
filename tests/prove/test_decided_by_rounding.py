"""Inputs for which the original's own rounding decides on its result are no evidence."""

from __future__ import annotations

import numpy
import pytest

from opsetlift.proof.inputs import Case
from opsetlift.proof.trial import Sides, Trial, try_sides
from tests.prove.conversions import model


def tried(first: float) -> Trial:
    """The original loses the first number beside 1e8, and 0 times infinity is NaN; the result keeps it."""
    declared = "g (float[2] x, float[2] large, float[2] s) => (float[2] y)"
    original = model(f"{declared} {{ a = Add (x, large) b = Sub (a, large) y = Mul (b, s) }}", 13)
    result = model(f"{declared} {{ y = Mul (x, s) }}", 13)
    values = {"x": [first, 1e8], "large": [1e8, 0], "s": [numpy.inf, 1]}
    case = Case("these", {name: numpy.array(value, numpy.float32) for name, value in values.items()})
    return try_sides(Sides(original, result, [("y", "y")], ulps=4), lambda: [case])


def test_a_number_on_the_edge_of_being_lost_is_no_evidence() -> None:
    trial = tried(4.0)
    assert not trial.counterexample
    assert not trial.cases
    assert "own rounding decides" in trial.obstacle


@pytest.mark.parametrize("first", [2.0, 3.0])
def test_a_number_that_is_lost_in_any_case_refutes_the_result(first: float) -> None:
    assert "nan became inf" in tried(first).counterexample


def tried_in_an_exponential(large: float, factor: float = 1.0) -> Trial:
    """Softmax of a sum of two numbers, and of the same sum in another order, and scaled."""
    declared = "g (float[2] x, float[2] z) => (float[2] y)"
    original = model(f"{declared} {{ a = Add (x, z) b = Add (a, x) y = Softmax <axis = 0> (b) }}", 13)
    result = model(
        f"{declared} <float f = {{{factor}}}> "
        "{ a = Add (x, x) b = Add (a, z) c = Mul (b, f) y = Softmax <axis = 0> (c) }",
        13,
    )
    values = {"x": [large / 3, large / 7], "z": [large / 3 + 0.1, large * 5 / 7 + 0.2]}
    case = Case("these", {name: numpy.array(value, numpy.float32) for name, value in values.items()})
    return try_sides(Sides(original, result, [("y", "y")], ulps=4), lambda: [case])


def test_a_difference_that_the_last_places_of_inputs_make_as_well_is_no_evidence() -> None:
    trial = tried_in_an_exponential(50_000)
    assert not trial.counterexample
    assert not trial.cases
    assert "own rounding decides" in trial.obstacle


def test_a_difference_that_they_do_not_make_refutes_the_result() -> None:
    assert "ULP" in tried_in_an_exponential(2, 1.0001).counterexample
    assert tried_in_an_exponential(2).cases == 1


LARGEST = float(numpy.finfo(numpy.float32).max)


def tried_near_the_largest_number(original: str, result: str, *values: float) -> Trial:
    size = len(values)
    constants = "<float two = {2.0}, float bound = {1e38}, float zero = {0}, float less = {0.9999998}>"
    sides = [
        model(f"g (float[{size}] x) => (float[{size}] y) {constants} {{ {text} }}", 13) for text in (original, result)
    ]
    case = Case("these", {"x": numpy.array(values, numpy.float32)})
    return try_sides(Sides(sides[0], sides[1], [("y", "y")], ulps=4), lambda: [case])


@pytest.mark.parametrize(
    ("original", "result", "value"),
    [
        ("y = Identity (x)", "y = Mul (x, zero)", LARGEST),
        ("y = Identity (x)", "y = Mul (x, two)", LARGEST),
        ("y = Identity (x)", "y = Min (x, bound)", LARGEST),
        ("y = Mul (x, two)", "y = Min (x, bound)", LARGEST / 2),
        ("y = Mul (x, two)", "a = Mul (x, two) y = Neg (a)", LARGEST / 2),
        ("y = Mul (x, two)", "a = Mul (x, two) y = Neg (a)", LARGEST),
        ("y = Mul (x, two)", "y = Identity (x)", LARGEST),
        ("y = Exp (x)", "a = Exp (x) y = Min (a, bound)", 88.7229),
        ("y = Exp (x)", "a = Exp (x) y = Min (a, bound)", 88.7228),
        ("y = Identity (x)", "y = Identity (zero)", LARGEST),
    ],
)
def test_another_number_where_the_original_is_about_to_overflow_refutes_the_result(
    original: str, result: str, value: float
) -> None:
    assert tried_near_the_largest_number(original, result, value, value).counterexample


@pytest.mark.parametrize("sign", [1, -1])
def test_an_overflow_on_one_side_alone_is_no_evidence_where_the_last_places_decide_on_it(sign: int) -> None:
    just_too_large = sign * float(numpy.nextafter(numpy.float32(LARGEST / 2), numpy.float32(numpy.inf)))
    trial = tried_near_the_largest_number("y = Mul (x, two)", "a = Mul (x, less) y = Mul (a, two)", just_too_large)
    assert not trial.counterexample
    assert not trial.cases
