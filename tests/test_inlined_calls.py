"""Models with many functions are inferred without calls: with the verdict and the types that onnx has of the calls."""

from __future__ import annotations

import onnx
import pytest
from onnx import ModelProto, parser, shape_inference

from opsetlift.facts.whole_model import whole_model_types
from opsetlift.model import inlined_calls
from opsetlift.model.files import ModelFileError, check_model
from opsetlift.model.inlined_calls import with_calls_inlined

CALLS = """
<ir_version: 10, opset_import: ["" : 18, "of" : 1]>
main (float[2, n] x, bool c) => (float[2, n] y) {
    first = of.Twice <factor = 3.0> (x)
    picked = If (c) <
        then_branch = then () => (float[2, n] a) { inner = of.Scaled <factor = 2.0> (first) a = Neg(inner) },
        else_branch = else () => (float[2, n] b) { b = Relu(first) }>
    y = of.Scaled <factor = 0.5> (picked)
}
<domain: "of", opset_import: ["" : 18]>
Scaled <factor> (value) => (scaled) { f = Constant <value_float: float = @factor> () scaled = Mul(value, f) }
<domain: "of", opset_import: ["" : 18, "of" : 1]>
Twice <factor> (value) => (result) {
    once = of.Scaled <factor: float = @factor> (value)
    result = of.Scaled <factor: float = @factor> (once)
}
"""


@pytest.fixture(autouse=True)
def _each_call_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlined_calls, "_MOST_COPIED", 0)


def model_of(text: str = CALLS) -> ModelProto:
    return parser.parse_model(text)


def test_calls_are_inlined_and_values_of_the_graph_keep_their_names() -> None:
    flat = with_calls_inlined(model_of())
    assert flat is not None
    assert not flat.functions
    assert "of" not in {node.domain for node in flat.graph.node}
    assert {"first", "picked", "y"} <= {name for node in flat.graph.node for name in node.output}


def test_the_types_are_those_that_onnx_infers_with_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = whole_model_types(model_of(), twice=False)
    monkeypatch.setattr(inlined_calls, "_MOST_COPIED", 1 << 18)
    _, with_calls = whole_model_types(model_of(), twice=False)
    assert list(found) == list(with_calls) == ["graph", "graph/1:If.then_branch", "graph/1:If.else_branch", *_FUNCTIONS]
    for path, types in with_calls.items():
        assert {name: found[path][name] for name in types} == types


_FUNCTIONS = ["function:of:Scaled", "function:of:Twice"]


def test_the_check_accepts_what_onnx_accepts() -> None:
    onnx.checker.check_model(model_of(), full_check=True)
    check_model(model_of())


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("scaled = Mul(value, f)", "scaled = Mul(value, f, f)"),
        ("scaled = Mul(value, f)", "yes = Cast<to = 9>(value) scaled = Mul(yes, f)"),
        ("scaled = Mul(value, f)", "scaled = Transpose<perm = [0, 1, 2]>(value)"),
        ("float[2, n] y", "int64[2, n] y"),
        ("float[2, n] y", "float[3, n] y"),
        ("a = Neg(inner)", "a = MatMul(inner, inner, inner)"),
    ],
)
def test_the_check_rejects_what_onnx_rejects_in_the_same_words(
    right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(CALLS.replace(right, wrong, 1))
    with pytest.raises((onnx.checker.ValidationError, shape_inference.InferenceError)):
        onnx.checker.check_model(model, full_check=True)
    with pytest.raises(ModelFileError) as flat:
        check_model(model)
    monkeypatch.setattr(inlined_calls, "_MOST_COPIED", 1 << 18)
    with pytest.raises(ModelFileError) as whole:
        check_model(model)
    assert str(flat.value) == str(whole.value)


def test_functions_with_the_name_of_an_operator_stay() -> None:
    """onnx's inference takes a call of one for the operator."""
    text = CALLS.replace('domain: "of", opset_import: ["" : 18]>\nScaled', 'domain: "", opset_import: ["" : 18]>\nNeg')
    assert with_calls_inlined(model_of(text)) is None


def test_functions_that_would_fill_memory_stay() -> None:
    """Each calls the one before it twice: there would be 2 to the power of 40 nodes."""
    functions = ["F0 (a) => (b) { b = Neg(a) }"]
    functions += [f"F{i} (a) => (b) {{ c = of.F{i - 1}(a) b = of.F{i - 1}(c) }}" for i in range(1, 41)]
    header = '<domain: "of", opset_import: ["" : 18, "of" : 1]>\n'
    graph = '<ir_version: 10, opset_import: ["" : 18, "of" : 1]>\nmain (float[2] x) => (float[2] y) { y = of.F40(x) }\n'
    assert with_calls_inlined(model_of(graph + "\n".join(header + one for one in functions))) is None


def test_functions_that_call_themselves_stay() -> None:
    text = CALLS.replace("scaled = Mul(value, f)", "scaled = of.Twice(value)")
    assert with_calls_inlined(model_of(text)) is None
