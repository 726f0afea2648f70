"""What an unknown operator computes has the dtype that its readers share with what is declared."""

from __future__ import annotations

import pytest
from onnx import ModelProto

import opsetlift
from opsetlift.facts import ModelFacts
from tests.prove.conversions import model


def with_own(nodes: str, types: str = "(float[N] x) => (float[N] y)") -> ModelProto:
    return model(f'<ir_version: 8, opset_import: ["": 13, "own": 1]> g {types} {{ {nodes} }}')


@pytest.mark.parametrize(
    "nodes",
    [
        "t = own.F (x) y = Relu (t)",
        "t = own.F (x) a = Relu (t) b = Neg (a) y = Abs (b)",
        "t = own.F (x) a = Add (t, x) y = Cast <to = 1> (a)",
        "t = own.F (x) s = own.G (x) a = Concat <axis = 0> (t, s) y = Relu (a)",
    ],
)
def test_the_dtype_goes_back_through_shared_type_variables(nodes: str) -> None:
    made = with_own(nodes)
    assert ModelFacts(made).graph.type_string("t") == "tensor(float)"
    assert ModelFacts(made).graph.shape("t") is None, "the shape is not known"
    converted = opsetlift.convert(made, to=12).model
    assert converted.opset_import[0].version == 12


@pytest.mark.parametrize(
    "nodes",
    [
        "t = own.F (x) y = Cast <to = 1> (t)",
        "t = own.F (x) s = Shape (t) y = own.G (s)",
        "t = own.F (x) y = own.G (t)",
    ],
)
def test_what_shares_no_type_variable_shows_nothing(nodes: str) -> None:
    assert ModelFacts(with_own(nodes)).graph.type_string("t") is None


def test_readers_that_disagree_show_nothing() -> None:
    made = with_own("t = own.F (x) y = Relu (t) z = Neg (t)", "(float[N] x) => (float[N] y, double[N] z)")
    assert ModelFacts(made).graph.type_string("t") is None


def test_a_dtype_that_the_target_lacks_is_refused_all_the_same() -> None:
    made = with_own("t = own.F (x) y = Relu (t)", "(float[N] x) => (bfloat16[N] y)")
    with pytest.raises(opsetlift.ConversionRefused, match="bfloat16"):
        opsetlift.convert(made, to=12)


@pytest.mark.parametrize(
    ("opset", "graph", "to"),
    [
        (15, "g (float x) => (float[N, 0] y) { y = Hardmax (x) }", 8),
        (24, "g (float x) => (float[3, 1, 3] y) { y = LogSoftmax <axis = 2> (x) }", 7),
    ],
    ids=["no elements", "a size of 1"],
)
def test_what_an_output_declares_is_tried_where_the_rank_of_an_input_is_not_known(opset, graph, to):
    """Rules take the rank from the output; inputs of other ranks are none of the model."""
    original = model(f'<ir_version: 8, opset_import: ["": {opset}]> {graph}')
    original.graph.input[0].type.tensor_type.ClearField("shape")
    assert opsetlift.convert(original, to=to).certificate.is_proven
