"""Nodes that are alike are inferred once, and those that differ in what types follow from are not alike."""

from __future__ import annotations

import pytest
from onnx import parser

from opsetlift.facts import ModelFacts
from opsetlift.specification.dtypes import shape_of_type


def shapes(nodes: str, *, inputs: str = "float[N, 12] x", initializers: str = "") -> list[object]:
    """The dtype and shape of `a` and `b`."""
    header = '<ir_version: 8, opset_import: ["": 13]>'
    model = parser.parse_model(f"{header} g ({inputs}) => (float[p] a, float[q] b) <{initializers}> {{ {nodes} }}")
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    found = [ModelFacts(model).graph.type_of(name) for name in ("a", "b")]
    return [one and (one.tensor_type.elem_type, shape_of_type(one)) for one in found]


SCALES = "float[0] r, float[2] s = {1, 2}, float[2] t = {1, 3}"


@pytest.mark.parametrize(
    ("nodes", "options"),
    [
        ("a = Flatten <axis = 1> (x) b = Flatten <axis = 2> (x)", {}),
        ("a = Squeeze (x, s) b = Squeeze (z, s)", {"inputs": "float[1, 12] x, float[1, 1] z"}),
        ("a = Reshape (x, s) b = Reshape (x, t)", {"initializers": "int64[2] s = {3, 4}, int64[2] t = {4, 3}"}),
        (
            "a = Resize (x, r, s) b = Resize (x, r, t)",
            {"initializers": SCALES},
        ),
        (
            "a = Expand (x, s) b = Expand (x, n)",
            {"inputs": "float[1] x, int64[2] n", "initializers": "int64[2] s = {2, 3}"},
        ),
        ("a = Cast <to = 1> (x) b = Cast <to = 11> (x)", {}),
    ],
    ids=["attributes", "types", "integers", "floats", "unknown values", "dtypes"],
)
def test_what_types_follow_from_tells_nodes_apart(nodes: str, options: dict[str, str]) -> None:
    options = {"initializers": "int64[1] s = {0}", **options} if "Squeeze" in nodes else options
    first, second = shapes(nodes, **options)
    assert first != second


def test_nodes_that_are_alike_have_the_same_types() -> None:
    first, second = shapes("a = Flatten <axis = 1> (x) b = Flatten <axis = 1> (x)")
    assert first == second == (1, ["N", 12])


def test_what_one_pass_finds_to_be_computed_at_run_time_is_no_constant() -> None:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 13, "ai.onnx": 13]>
        g (float[2, 3] x, float[2] given) => (float[2] y) <float[2] given = {1, 2}, float[2] kept = {3, 4}> {
            shape = ai.onnx.Shape (x)
            size = Size (x)
            doubled = Add (kept, kept)
            negative = Neg (x)
            sizes = Shape (negative)
            rows = ReduceSum <keepdims = 0> (negative)
            y = Add (given, rows)
        }""")
    scope = ModelFacts(model).graph
    computed = scope.run_time_values()
    assert computed == {"x", "given", "negative", "rows", "y"}
    assert all(scope.constant(name) is None for name in computed)
    assert all(scope.constant(name) is not None for name in ("shape", "size", "doubled", "sizes"))


@pytest.mark.parametrize(
    ("text", "is_needed"),
    [
        ("g (float[N, 12] x) => (float[N, 12] y) { y = Relu (x) }", False),
        ("g (float[2, 12] x) => (float[a, b] y) { s = Shape (x) y = Reshape (x, s) }", False),
        ("g (float[N, 12] x) => (float[a, b] y) { s = Shape (x) y = Reshape (x, s) }", True),
        ("g (float[N, 12] x) => (int64[a, b] y) { n = NonZero (x) y = Neg (n) }", True),
        ("g (float[N, 12] x, int64[2] s) => (float[a, b] y) { r = Reshape (x, s) y = Relu (r) }", True),
        ("g (float x) => (float y) { y = other.Unknown (x) }", True),
    ],
)
def test_the_whole_model_is_inferred_only_where_its_nodes_leave_sizes_open(
    text: str, is_needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": 13, "other": 1]> {text}')
    facts = ModelFacts(model)
    found = {name: one.SerializeToString() for name, one in facts.own_types("graph").items()}
    assert (facts.tables.inferred is not None) == is_needed
    monkeypatch.setattr("opsetlift.facts.scope.may_suffice", lambda scope: False)
    assert found == {name: one.SerializeToString() for name, one in ModelFacts(model).own_types("graph").items()}
