"""What the specification leaves open may decide no element that the original defines."""

from __future__ import annotations

import numpy
import pytest

from opsetlift.evaluator import OTHER_VALUES, Evaluator
from opsetlift.proof import Outcome, prove_models
from tests.prove.conversions import conversion, model

REDUCED = "g (int8[%s] x) => (int8[A, B] y) { %s }"
REDUCED_IN_FLOAT = """bound = Constant <value = float {127}> () w = Cast <to = 1> (x) r = ReduceMin <axes = [1]> (w)
    c = Clip (%s) y = Cast <to = 3> (c)"""


@pytest.mark.parametrize("shape", ["1, 0", "N, 0", "N, M"])
@pytest.mark.parametrize(
    ("bounds", "outcome"), [("r, , bound", Outcome.EQUAL), ("r, bound", Outcome.DIFFERENT), ("r", Outcome.DIFFERENT)]
)
def test_a_rule_that_casts_infinity_to_an_integer_is_refuted(shape: str, bounds: str, outcome: Outcome) -> None:
    """The minimum of nothing is the largest integer, and infinity in float."""
    before = REDUCED % (shape, "y = ReduceMin <axes = [1]> (x)")
    after = REDUCED % (shape, REDUCED_IN_FLOAT % bounds)
    source = conversion(before, after, (12, 11), claims=[(0, 0, 5)])
    assert [site.outcome for site in source.prove().sites] == [outcome]


BOUNDED = """least = Constant <value = float {-100}> () most = Constant <value = float {100}> ()
    zero = Constant <value = float {0}> () n = IsNaN (x) f = Where (n, zero, x) c = Clip (f, least, most)
    known = Cast <to = 6> (c)"""


@pytest.mark.parametrize(
    ("node", "values", "is_open"),
    [
        ("Cast <to = 3> (x)", [numpy.nan, -numpy.inf, 128, -128.5, 127.5, 0], [True, True, True, False, False, False]),
        ("Cast <to = 13> (x)", [2.0**64, -1, -0.5, 3], [True, True, False, False]),
        ("CastLike (x, three)", [numpy.inf, -1, 255, 256], [True, True, False, True]),
        ("QuantizeLinear (x, scale, three)", [numpy.nan, numpy.inf, -5, 3], [True, False, False, False]),
        ("Pow (five, x)", [-1, 0, 2, 100], [False, False, False, True]),
        ("Pow (i, j)", [-1, 0, 2, 3], [True, False, False, False]),
        ("Div (i, j)", [0, 1, -1, 2], [True, False, False, False]),
        ("Mod (i, j)", [0, 1, -1, 2], [True, False, False, False]),
        ("Div (least, j)", [-1, 1, 2, 3], [True, False, False, False]),
    ],
)
def test_the_evaluator_knows_which_elements_are_left_open(node: str, values: list[float], is_open: list[bool]) -> None:
    constants = """scale = Constant <value = float {1}> () three = Constant <value = uint8 {3}> ()
        five = Constant <value = int32 {5}> () i = Constant <value = int32 {7}> () j = Cast <to = 6> (x)
        least = Constant <value = int32 {-2147483648}> ()"""
    one_node = model(f"g (float[N] x) => (y) {{ {constants} y = {node} }}", 17)
    evaluator = Evaluator(one_node)
    given = {"x": numpy.array(values, numpy.float32)}
    own = evaluator.run(given)["y"]
    others = [evaluator.run(given, instead=instead)["y"] for instead in OTHER_VALUES]
    assert numpy.any([one != own for one in others], axis=0).tolist() == is_open


@pytest.mark.parametrize(
    ("result", "differs"),
    [
        ("y = Where (is_bounded, raw, known)", False),
        ("m = Cast <to = 6> (is_bounded) p = Mul (raw, m) q = Sub (one, m) r = Mul (known, q) y = Add (p, r)", False),
        ("y = Identity (raw)", True),
        ("hi = Constant <value = int32 {100}> () y = Min (raw, hi)", True),
    ],
)
def test_what_is_left_open_may_be_masked(result: str, differs: bool) -> None:
    text = "g (float[N] x) => (int32[N] y) { one = Constant <value = int32 {1}> () %s }"
    masked = f"{BOUNDED} raw = Cast <to = 6> (x) is_bounded = Equal (x, c) {result}"
    found = prove_models(model(text % f"{BOUNDED} y = Identity (known)", 13), model(text % masked, 13))
    assert (found.outcome is Outcome.DIFFERENT) is differs, found.sentence


def test_what_the_original_leaves_open_may_decide_the_result() -> None:
    text = "g (float[N] x) => (int8[N] y) { %s }"
    one = model(text % "y = Cast <to = 3> (x)", 13)
    other = model(text % "w = Cast <to = 11> (x) y = Cast <to = 3> (w)", 13)
    assert prove_models(one, other).is_equal


def test_only_a_difference_that_the_original_does_not_have_counts() -> None:
    """The first output is open on both sides, the second on one."""
    text = "g (float[N] x) => (int32[N] y, int32[N] z) { %s }"
    one = model(text % f"{BOUNDED} y = Cast <to = 6> (x) z = Identity (known)", 13)
    other = model(text % f"{BOUNDED} y = Cast <to = 6> (x) n2 = IsNaN (x) z = Where (n2, y, known)", 13)
    sentence = prove_models(one, other).sentence
    assert "output 'z' depends on what that gives" in sentence
    assert "which the specification leaves open" in sentence


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        ("y, m = Dropout (x)", Outcome.DIFFERENT),
        ("y = Identity (x) c = IsNaN (x) t = Not (c) m = Or (c, t)", Outcome.EQUAL),
    ],
    ids=["Dropout", "computed"],
)
def test_a_mask_that_the_text_gives_from_12_on_is_computed_below(after: str, outcome: Outcome) -> None:
    """onnxruntime gives zeros below 12, and ones from 12 on."""
    graph = "g (float[N] x) => (float[N] y, bool[N] m) { %s }"
    source = conversion(
        graph % "y, m = Dropout (x)", graph % after, (12, 11), claims=[(0, 0, len(after.split("=")) - 1)]
    )
    assert [site.outcome for site in source.prove().sites] == [outcome]
