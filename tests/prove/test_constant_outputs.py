"""Outputs that hold the same value in every case: a weakness of the test inputs only where they could vary."""

import pytest

from opsetlift.proof import Outcome, prove_models
from testing.conversion import model
from tests.prove.conversions import conversion


def outcome(text: str, opsets: tuple[int, int]) -> Outcome:
    """What the proof finds of one node that gets a copy behind it."""
    copied = text.replace("{ y =", "{ t =").replace(" }", " y = Identity (t) }")
    (site,) = conversion(text, copied, opsets, claims=[(0, 0, 2)]).prove().sites
    return site.outcome


@pytest.mark.parametrize("shape", ["2, 1, 1", "N, 3, 1", "1"])
def test_an_axis_of_size_1_leaves_nothing_that_could_vary(shape: str) -> None:
    text = f"g (float[{shape}] x) => (float[{shape}] y) {{ y = Hardmax <axis = -1> (x) }}"
    assert outcome(text, (11, 13)) is Outcome.EQUAL


def test_what_only_reads_the_form_of_its_input_need_not_vary() -> None:
    text = "g (float[2] x) => (bool y) { y = OptionalHasElement (x) }"
    assert outcome(text, (18, 28)) is Outcome.EQUAL


@pytest.mark.parametrize(("read", "expected"), [("Shape", Outcome.EQUAL), ("Abs", Outcome.WEAK)])
def test_what_is_computed_from_the_form_of_an_input_need_not_vary(read: str, expected: Outcome) -> None:
    nodes = "f = Cast <to = 1> (s) r = Relu (f) b = Greater (r, n) q = Not (b) z = Cast <to = 1> (q) y = Mul (z, o)"
    head = "g (float[N, 3] x) => (float[M] y) <float n = {-1}, float o = {0}>"
    text = f'<ir_version: 8, opset_import: ["": 17]> {head} {{ s = {read} (x) {nodes} }}'
    assert prove_models(model(text), model(text)).outcome is expected


@pytest.mark.parametrize("size", ["1", "2"])
def test_outputs_that_could_vary_and_never_did_prove_little(size: str) -> None:
    text = f'g (string[{size}] x) => (bool[{size}] y) {{ y = RegexFullMatch <pattern = "opset[^~]"> (x) }}'
    assert outcome(text, (20, 28)) is Outcome.WEAK
