"""Malformed nodes end in a conversion, in refusals or in a sentence about the model, and never in a fault of ours."""

from __future__ import annotations

import random
from itertools import islice

import onnx
import pytest

from opsetlift import ConversionRefused, Why, convert
from opsetlift.evaluator import Evaluator, Rejected
from testing.conversion import model as model_of
from tests.fuzzed_nodes import CHANGES, OPSETS, fuzzed, outcome

MODELS = 60


@pytest.mark.slow
def test_changed_nodes_of_onnx_s_tests_never_end_in_a_fault_of_ours() -> None:
    chance = random.Random(0)
    outcomes = {outcome(model, chance.choice(OPSETS), inputs) for _, model, inputs in islice(fuzzed(0), MODELS)}
    assert {"converted", "INVALID_MODEL"} <= outcomes


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_each_change_changes_something(change) -> None:
    changed = 0
    for _, model, _ in islice(fuzzed(1), 8):
        before = model.SerializeToString()
        change(model, random.Random(2))
        changed += model.SerializeToString() != before
    assert changed


def refusal(text: str, to: int) -> str:
    with pytest.raises(ConversionRefused) as caught:
        convert(model_of(text), to=to, prove=False, check=False)
    (found,) = caught.value.refusals
    assert found.why is Why.INVALID_MODEL
    return found.sentence


def test_a_dtype_that_does_not_exist_is_the_model_s_fault() -> None:
    cast = '<ir_version: 8, opset_import: ["": {}]> agraph (float[2] x) => (float[2] y) {{ y = Cast <to = {}> (x) }}'
    assert "'to' is 'NONSENSE'" in refusal(cast.format(1, '"NONSENSE"'), 6)
    assert "is not an ONNX dtype" in refusal(cast.format(13, 99), 5)


def test_shapes_that_do_not_fit_together_are_the_model_s_fault() -> None:
    text = """<ir_version: 8, opset_import: ["": 13]> agraph (float x, int64[1] k) => (float y) {
        y = CumSum (x, k)
    }"""
    assert "the node is invalid at its opset" in refusal(text, 10)


def test_texts_that_are_not_utf_8_go_along() -> None:
    header = '<ir_version: 8, opset_import: ["": 20]> agraph (float[1,1,2,2] x, float[1,2,2,2] g) => (float[N] y)'
    model = model_of(
        header
        + """ {
        y = GridSample <mode = "?"> (x, g)
    }"""
    )
    (mode,) = (one for one in model.graph.node[0].attribute if one.name == "mode")
    mode.s = b"\xff\xfe"
    (node,) = convert(model, to=19, prove=False, check=False).model.graph.node
    assert [one.s for one in node.attribute if one.type == onnx.AttributeProto.STRING] == [b"\xff\xfe"]


def test_an_element_of_a_list_of_inputs_cannot_be_absent() -> None:
    model = model_of("""<ir_version: 8, opset_import: ["": 13]> agraph (float[2] x) => (float[N] y) {
        y = Concat <axis = 0> (x, x)
    }""")
    model.graph.node[0].input[1] = ""
    with pytest.raises(Rejected, match="none of whose names may be empty"):
        Evaluator(model)
