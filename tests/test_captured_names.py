"""What subgraphs take from the scopes around them, and that inference asks for the types of nothing else."""

from __future__ import annotations

from onnx import GraphProto, ModelProto, TypeProto, parser

from opsetlift.facts import ModelFacts, inferred_types
from opsetlift.model.scopes import captured_names

NESTED = """
<ir_version: 10, opset_import: ["" : 18]>
main (float[2, 3] x, bool c) => (float[2, 3] y) {
    y = If (c) <
        then_branch = outer () => (float[2, 3] chosen) <float[3] kept = {1, 2, 3}> {
            moved = Add(x, kept)
            chosen = If (c) <
                then_branch = inner () => (float[2, 3] a) { a = Neg(moved) },
                else_branch = other () => (float[2, 3] b) { e = Exp(moved) b = Clip(e, , x) }>
        },
        else_branch = plain () => (float[2, 3] d) { d = Abs(x) }>
}
"""


def _outer_branch(model: ModelProto) -> GraphProto:
    return model.graph.node[0].attribute[0].g


def test_names_of_the_subgraph_and_of_those_inside_are_left_out() -> None:
    outer = _outer_branch(parser.parse_model(NESTED))
    assert captured_names(outer) == {"x", "c"}
    assert captured_names(outer.node[1].attribute[1].g) == {"moved", "x"}


def test_inputs_and_sparse_initializers_of_a_body_are_its_own() -> None:
    body = parser.parse_graph("body (int64 i, float[2] s) => (float[2] t) { t = Add(s, held) u = Mul(t, outside) }")
    body.sparse_initializer.add().values.name = "held"
    assert captured_names(body) == {"outside"}


def test_an_output_that_no_node_of_the_subgraph_computes_is_captured() -> None:
    assert captured_names(parser.parse_graph("body () => (float[2] outside) { }")) == {"outside"}


def test_inference_of_a_node_asks_for_no_type_of_a_name_that_its_subgraphs_define() -> None:
    """Each such question climbs through all scopes around: in a tree of Ifs that was most of the time of a proof."""
    model = parser.parse_model(NESTED)
    facts, asked = ModelFacts(model), []

    def type_of(name: str) -> TypeProto | None:
        asked.append(name)
        return facts.graph.type_of(name)

    found = inferred_types(facts, model.graph.node[0], {"": 18}, type_of)
    assert found["y"].tensor_type.shape.dim[1].dim_value == 3
    assert set(asked) == {"x", "c"}
