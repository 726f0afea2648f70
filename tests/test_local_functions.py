"""Model-local functions below IR version 8: inlined, with equal outputs and nothing lost on the way."""

from __future__ import annotations

import numpy
import onnx
import pytest
from onnx import ModelProto, parser

from opsetlift import ConversionRefused, Why, convert
from opsetlift.evaluator import Evaluator
from opsetlift.pipeline.verification import verify
from opsetlift.proof import Certificate

NESTED = """
<ir_version: 10, opset_import: ["": 18, "local": 1]>
g (float[N, 4] x, bool c) => (float[N, 4] y, float[N, 4] z) <float[4] w = {1, -2, 3, -4}> {
    y = local.outer <steep = 2.0> (x, w)
    t, q = local.two (x)
    z = If (c) <
        then_branch = then_graph () => (float[N, 4] a) { a = local.inner <alpha = 0.5> (t) },
        else_branch = else_graph () => (float[N, 4] b) { b = Add (q, w) }
    >
}
<domain: "local", opset_import: ["": 18, "local": 1]>
outer <steep> (a, b) => (o) { h = local.inner <alpha: float = @steep> (a)  m = Min (h, b)  o = Identity (m) }
<domain: "local", opset_import: ["": 18]>
inner <alpha: float = 1.5> (a) => (o) { s = LeakyRelu <alpha: float = @alpha> (a)  o = Neg (s) }
<domain: "local", opset_import: ["": 18]>
two (a) => (a, s) { s = Sin (a) }
"""


def model(text: str) -> ModelProto:
    parsed: ModelProto = parser.parse_model(text)
    return parsed


def proven(source: ModelProto, **to: int) -> ModelProto:
    conversion = convert(source, **to)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    return conversion.model


def outputs(of: ModelProto, c: bool) -> list[numpy.ndarray]:
    x = numpy.linspace(-3, 3, 12, dtype=numpy.float32).reshape(3, 4)
    return list(Evaluator(of).run({"x": x, "c": numpy.array(c)}).values())


@pytest.mark.parametrize("c", [True, False])
def test_nested_functions_compute_the_same_in_the_graph_and_in_subgraphs(c: bool) -> None:
    source = model(NESTED)
    result = proven(source, ir=7)
    assert not result.functions
    assert result.ir_version == 7
    for before, after in zip(outputs(source, c), outputs(result, c), strict=True):
        numpy.testing.assert_array_equal(before, after)


def test_attributes_are_bound_from_the_outermost_call_inwards() -> None:
    result = proven(model(NESTED), ir=7)
    leaky = [node for node in result.graph.node if node.op_type == "LeakyRelu"]
    assert [onnx.helper.get_node_attr_value(node, "alpha") for node in leaky] == [2.0]


def test_an_attribute_that_the_call_leaves_out_takes_the_default() -> None:
    source = model(NESTED.replace("<alpha = 0.5> ", ""))
    branch = proven(source, ir=7).graph.node[-1].attribute[0].g
    assert onnx.helper.get_node_attr_value(branch.node[0], "alpha") == 1.5


def test_an_attribute_without_default_that_the_call_leaves_out_is_left_out() -> None:
    source = model(
        """
        <ir_version: 8, opset_import: ["": 18, "local": 1]>
        g (float[3] x) => (float[3] y) { y = local.f (x) }
        <domain: "local", opset_import: ["": 18]>
        f <slope> (a) => (o) { o = LeakyRelu <alpha: float = @slope> (a) }
        """
    )
    assert not proven(source, ir=7).graph.node[0].attribute


def test_defaults_alone_are_reason_enough_below_ir_version_9() -> None:
    result = proven(model(NESTED), ir=8)
    assert [function.name for function in result.functions] == ["two"]


def test_functions_are_inlined_after_their_bodies_were_converted() -> None:
    source = model(
        """
        <ir_version: 8, opset_import: ["": 18, "local": 1]>
        g (float[3, 4] x) => (float[3, 1] y, float[3, 4] z) { y, z = local.f (x) }
        <domain: "local", opset_import: ["": 18]>
        f (a) => (o, p) { axes = Constant <value_ints = [1]> ()  o = ReduceMin (a, axes)  p = Max (a, o) }
        """
    )
    conversion = convert(source, to=13, ir=7)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven
    assert conversion.report.inlined_functions == ("function:local:f",)
    assert any(rewrite.transition.startswith("ReduceMin 18") for rewrite in conversion.report.rewrites)
    assert [node.op_type for node in conversion.model.graph.node] == ["ReduceMin", "Max"]


def test_a_call_with_fewer_inputs_and_outputs_than_the_function_has() -> None:
    source = model(
        """
        <ir_version: 8, opset_import: ["": 18, "local": 1]>
        g (float[3] x, float low) => (float[3] y) { y = local.f (x, low) }
        <domain: "local", opset_import: ["": 18]>
        f (a, low, high) => (o, p) { o = Clip (a, low, high)  p = Neg (o) }
        """
    )
    result = proven(source, ir=7)
    assert list(result.graph.node[0].input)[:2] == ["x", "low"]


def test_names_clash_with_nothing_however_often_a_function_is_called() -> None:
    calls = "\n".join(f"y{i + 1} = local.f (y{i})" for i in range(20))
    source = model(
        f"""
        <ir_version: 8, opset_import: ["": 18, "local": 1]>
        g (float[3] y0) => (float[3] y20) {{ {calls} }}
        <domain: "local", opset_import: ["": 18]>
        f (a) => (o) {{ y1_s = Sin (a)  o = Cos (y1_s) }}
        """
    )
    result = proven(source, ir=7)
    names = [name for node in result.graph.node for name in node.output]
    assert len(set(names)) == len(names) == 40


def test_notes_of_calls_and_bodies_go_on_and_those_of_functions_are_reported() -> None:
    source = model(NESTED)
    source.graph.node[0].doc_string = "the call"
    source.functions[1].node[1].doc_string = "the body"
    source.functions[1].doc_string = "the function"
    conversion = convert(source, ir=7)
    assert [node.doc_string for node in conversion.model.graph.node[:3]] == ["the call", "the body", "the call"]
    assert ("function:local:inner", "the function") in [
        (note.path, note.content) for note in conversion.report.moved_metadata
    ]


def test_opsets_that_a_function_alone_imports_come_along() -> None:
    source = model(
        """
        <ir_version: 8, opset_import: ["": 18, "local": 1]>
        g (float[3] x) => (float[3] y) { y = local.f (x) }
        <domain: "local", opset_import: ["ai.onnx.ml": 3, "": 18]>
        f (a) => (o) { o = ai.onnx.ml.Binarizer <threshold = 0.5> (a) }
        """
    )
    result = proven(source, ir=7)
    assert ("ai.onnx.ml", 3) in [(entry.domain, entry.version) for entry in result.opset_import]


def test_a_custom_domain_at_two_versions_cannot_be_inlined() -> None:
    source = model(
        """
        <ir_version: 8, opset_import: ["": 18, "local": 1, "custom": 1]>
        g (float[3] x) => (float[3] y) { y = local.f (x) }
        <domain: "local", opset_import: ["custom": 2, "": 18]>
        f (a) => (o) { o = Relu (a) }
        """
    )
    with pytest.raises(ConversionRefused) as caught:
        convert(source, ir=7)
    assert caught.value.refusals[0].why is Why.IR_VERSION
    assert "custom" in caught.value.refusals[0].sentence


def test_calls_that_multiply_beyond_bounds_are_refused() -> None:
    levels = "\n".join(
        f'<domain: "local", opset_import: ["": 18, "local": 1]> '
        f"f{i + 1} (a) => (o) {{ h = local.f{i} (a)  o = local.f{i} (h) }}"
        for i in range(40)
    )
    source = model(
        f"""
        <ir_version: 8, opset_import: ["": 18, "local": 1]>
        g (float[3] x) => (float[3] y) {{ y = local.f40 (x) }}
        <domain: "local", opset_import: ["": 18]>
        f0 (a) => (o) {{ o = Relu (a) }}
        {levels}
        """
    )
    with pytest.raises(ConversionRefused, match="1,000,000 nodes"):
        convert(source, ir=7, prove=False, check=False)


def test_overloads_become_names_below_ir_version_10() -> None:
    source = model(
        """
        <ir_version: 10, opset_import: ["": 18, "local": 1]>
        g (float[3] x) => (float[3] y) { h = local.f (x)  y = local.f (h) }
        <domain: "local", opset_import: ["": 18]>
        f (a) => (o) { o = Relu (a) }
        <domain: "local", opset_import: ["": 18]>
        other (a) => (o) { o = Neg (a) }
        """
    )
    source.functions[1].name, source.functions[1].overload = "f", "2"
    source.graph.node[1].overload = "2"
    result = proven(source, ir=9)
    assert [node.overload for node in result.graph.node] == ["", ""]
    assert result.graph.node[0].op_type == "f"
    assert [function.name for function in result.functions] == ["f", result.graph.node[1].op_type]


def test_a_certificate_of_inlined_functions_can_be_run_again() -> None:
    source = model(NESTED)
    conversion = convert(source, ir=7)
    assert conversion.certificate is not None
    read = Certificate.from_json(conversion.certificate.to_json())
    assert verify(read, source, conversion.model).is_proven


UNCALLED = """<ir_version: 9, opset_import: ["": 19, "f": 1]> g (float[2, 3] x) => (float[2, 3] y) { y = Relu (x) }
<domain: "f", opset_import: ["": 19]> inner <axis> (x) => (y) { y = Softmax <axis: int = @axis> (x) }
<domain: "f", opset_import: ["": 19, "f": 1]> outer (x) => (y) { a = f.inner <axis = 1> (x) y = LeakyRelu (a) }"""


@pytest.mark.parametrize(("to", "kept"), [(13, ["inner", "outer"]), (12, []), (7, [])])
def test_functions_that_nothing_calls_neither_keep_a_model_from_being_converted_nor_from_being_proven(to, kept):
    """Without calls nothing tells the dtypes of their values: what cannot be converted for all of them goes."""
    conversion = convert(parser.parse_model(UNCALLED), to=to)
    assert [function.name for function in conversion.model.functions] == kept
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    assert len([note for note in conversion.report.notes if "nothing calls it" in note]) == 2 - len(kept)
