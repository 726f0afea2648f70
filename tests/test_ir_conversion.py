"""`ir=N`: what each IR version cannot hold changes its form, goes to the report, or is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy
import onnx
import onnxruntime
import pytest
from onnx import AttributeProto, ModelProto, SparseTensorProto, TensorProto, helper, numpy_helper

from opsetlift import ConversionRefused, Refusal, UnreachableTarget, Why, convert
from opsetlift.evaluator import Evaluator
from opsetlift.model.ir_version import OLDEST_IR_VERSION
from opsetlift.pipeline.report import Report
from testing.cases import node_cases
from testing.corpus import kind_of
from testing.small_models import minimum_model, model_of, weighted_model


def at_ir(source: ModelProto, ir: int, to: int | None = None) -> tuple[ModelProto, Report]:
    """The model at an IR version, proven equal."""
    conversion = convert(source, to=to, ir=ir)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    assert conversion.model.ir_version == ir
    return conversion.model, conversion.report


def refusals(source: ModelProto, ir: int) -> list[str]:
    with pytest.raises(ConversionRefused) as caught:
        convert(source, ir=ir)
    assert {refusal.why for refusal in caught.value.refusals} == {Why.IR_VERSION}
    return [str(refusal) for refusal in caught.value.refusals]


class TestInitializers:
    def test_become_inputs_with_a_default_below_4(self) -> None:
        source = weighted_model()
        result, report = at_ir(source, 3, to=8)
        assert [info.name for info in result.graph.input] == ["x", "w"]
        assert report.added_inputs == ("w",)
        assert any("callers need not give it" in note for note in report.notes)
        x = numpy.ones((2, 3), numpy.float32)
        before, after = Evaluator(source).run({"x": x}), Evaluator(result).run({"x": x})
        numpy.testing.assert_array_equal(before["y"], after["y"])

    def test_that_are_inputs_stay_inputs_above_3(self) -> None:
        old, _ = at_ir(weighted_model(), 3, to=8)
        new, _ = at_ir(old, 8, to=15)
        assert [info.name for info in new.graph.input] == ["x", "w"]

    def test_of_subgraphs_move_to_the_graph(self) -> None:
        source = onnx.parser.parse_model(
            """
            <ir_version: 7, opset_import: ["": 8]>
            g (float[2] x, bool c) => (float[2] y) {
                y = If (c) <
                    then_branch = then_graph () => (float[2] a) <float[2] w = {1, 2}> { a = Add (x, w) },
                    else_branch = else_graph () => (float[2] w) <float[2] w = {3, 4}> { }
                >
            }
            """
        )
        result, _ = at_ir(source, 3)
        assert not any(attribute.g.initializer for attribute in result.graph.node[0].attribute)
        assert len(result.graph.input) == 2 + 2
        onnx.checker.check_model(result, full_check=True)
        for c in (True, False):
            given = {"x": numpy.array([5, 6], numpy.float32), "c": numpy.array(c)}
            numpy.testing.assert_array_equal(Evaluator(source).run(given)["y"], Evaluator(result).run(given)["y"])


def sparse_model() -> ModelProto:
    model = model_of([helper.make_node("Add", ["x", "s"], ["y"])], opset=11)
    values = numpy_helper.from_array(numpy.array([2, 3], numpy.float32), "s")
    indices = numpy_helper.from_array(numpy.array([[0, 1], [1, 2]]), "s_indices")
    model.graph.sparse_initializer.append(SparseTensorProto(values=values, indices=indices, dims=[2, 3]))
    return model


def test_sparse_initializers_become_dense_below_6() -> None:
    conversion = convert(sparse_model(), ir=5, check=False)
    assert conversion.certificate is not None
    assert not conversion.certificate.structure
    (tensor,) = conversion.model.graph.initializer
    numpy.testing.assert_array_equal(numpy_helper.to_array(tensor), [[0, 2, 0], [0, 0, 3]])


class TestNotes:
    def test_move_to_the_report_where_the_ir_version_has_no_place_for_them(self) -> None:
        source = weighted_model()
        source.graph.node[1].metadata_props.add(key="layer", value="7")
        source.graph.initializer[0].metadata_props.add(key="from", value="disk")
        source.graph.metadata_props.add(key="team", value="a")
        result, report = at_ir(source, 9)
        assert not result.graph.node[1].metadata_props
        assert {(note.owner, str(note.content)) for note in report.moved_metadata} == {
            ("", "{'team': 'a'}"),
            ("initializer 'w'", "{'from': 'disk'}"),
            ("node 'smallest'", "{'layer': '7'}"),
        }

    def test_stay_where_nobody_asked_for_an_ir_version(self) -> None:
        source = weighted_model()
        source.graph.node[1].metadata_props.add(key="layer", value="7")
        conversion = convert(source, to=11)
        assert conversion.model.ir_version == 6
        assert conversion.model.graph.node[1].metadata_props[0].value == "7"
        assert not conversion.report.moved_metadata

    def test_stay_where_the_ir_version_holds_them(self) -> None:
        source = weighted_model()
        source.graph.node[1].metadata_props.add(key="layer", value="7")
        result, report = at_ir(source, 10)
        assert result.graph.node[1].metadata_props[0].value == "7"
        assert not report.moved_metadata

    def test_on_devices_move_below_11(self) -> None:
        source = minimum_model()
        source.configuration.add(name="gpus", num_devices=2)
        source.graph.node[0].device_configurations.add(configuration_id="gpus")
        result, report = at_ir(source, 10)
        assert not result.configuration
        assert not result.graph.node[0].device_configurations
        assert {note.field for note in report.moved_metadata} == {"configuration", "device_configurations"}

    def test_on_quantization_move_below_5(self) -> None:
        source = minimum_model(opset=9)
        source.graph.quantization_annotation.add(tensor_name="x")
        _, report = at_ir(source, 4)
        assert [note.field for note in report.moved_metadata] == ["quantization_annotation"]


class TestRefusals:
    def test_name_each_dtype_and_where_it_is(self) -> None:
        source = minimum_model(opset=21)
        constant = source.graph.node.add(op_type="Constant", name="nibbles", output=["n"])
        tensor = helper.make_tensor("", TensorProto.INT4, [2], [1, 2])
        constant.attribute.add(name="value", type=AttributeProto.TENSOR, t=tensor)
        (sentence,) = refusals(source, 9)
        assert "int4" in sentence
        assert "nibbles" in sentence
        assert "IR version 10" in sentence

    def test_name_training(self) -> None:
        source = minimum_model()
        source.training_info.add()
        assert "training info" in refusals(source, 6)[0]

    def test_name_optional_types(self) -> None:
        source = minimum_model()
        kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
        source.graph.input.append(helper.make_value_info("maybe", kind))
        assert any("optional type of 'maybe'" in sentence for sentence in refusals(source, 7))


def test_an_opset_that_is_newer_than_the_ir_version_is_noted() -> None:
    _, report = at_ir(minimum_model(opset=13), 6)
    assert any("came with IR version 7" in note for note in report.notes)


@pytest.mark.parametrize("ir", [0, 2, onnx.IR_VERSION + 1])
def test_ir_versions_that_do_not_exist(ir: int) -> None:
    with pytest.raises(UnreachableTarget, match="no IR version"):
        convert(minimum_model(), ir=ir)


def test_a_conversion_to_nowhere() -> None:
    with pytest.raises(UnreachableTarget, match="no destination given"):
        convert(minimum_model())


MODELS = sorted(
    {kind_of(case): case.model for case in node_cases()}.values(),
    key=lambda model: sorted(node.op_type for node in model.graph.node),
)
"""One of those that differ in nothing but values: they need the same IR version. Those alike stand together."""
PARTS = 40


def at_low_opset(source: ModelProto) -> ModelProto:
    """The model at the first opset that it can be taken to, of those since 7, which came with IR version 3."""
    own = {entry.domain: entry.version for entry in source.opset_import}.get("", 1)
    opset = 7
    while opset < own:
        try:
            return convert(source, to=opset, prove=False, check=False).model
        except ConversionRefused as refused:
            possible = [one.possible_at[1] for one in refused.refusals if one.possible_at and not one.possible_at[0]]
            opset = max([opset + 1, *possible])
    return source


def what_it_has(source: ModelProto) -> frozenset[str]:
    """What an IR version may lack: operators, dtypes, kinds of attributes, and the parts that the model has."""
    found = re.findall(r"^ *((?:op_type|domain|elem_type|data_type|type): .*|\w+ \{)$", str(source), flags=re.MULTILINE)
    return frozenset(found)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_node_test_passes_the_checker_at_the_ir_versions_that_refusals_ask_for(part: int) -> None:
    """onnx's own node tests at a low opset that each can be taken to, and at their own.

    Where the oldest IR version is refused, the newest of those that the refusals name takes the model.
    """
    size = -(-len(MODELS) // PARTS)
    done = set()
    for model in MODELS[part * size : (part + 1) * size]:
        check_at(model, OLDEST_IR_VERSION)
        lowered = at_low_opset(model)
        if (found := what_it_has(lowered)) not in done:
            done.add(found)
            needed = check_at(lowered, OLDEST_IR_VERSION)
            for ir in {needed, onnx.IR_VERSION}:
                assert check_at(lowered, ir) == ir


def test_nodes_of_all_operators_are_among_them():
    operators = {node.op_type for case in node_cases() for node in case.model.graph.node}
    assert {node.op_type for model in MODELS for node in model.graph.node} == operators


def check_at(source: ModelProto, ir: int) -> int:
    """The IR version at which the model passes onnx's checker, or the one that the refusals of this one ask for."""
    try:
        result = convert(source, ir=ir, prove=False, check=False).model
    except ConversionRefused as refused:
        return max(map(needed_ir_version, refused.refusals))
    onnx.checker.check_model(result)
    assert result.ir_version == ir
    return ir


def needed_ir_version(refusal: Refusal) -> int:
    needed = re.search(r"needs IR version (\d+)", refusal.sentence)
    assert refusal.why is Why.IR_VERSION
    assert needed
    return int(needed[1])


class TestOverridableInitializers:
    """Initializers that are inputs, too. onnxruntime takes those of models below IR version 4 for constants."""

    SOURCE = """<ir_version: 8, opset_import: ["" : 13]> g (float[2] x, float[2] w = {1, 2}) => (float[2] y)
        { y = Add (x, w) }"""

    def source(self, ir_version: int = 8) -> ModelProto:
        model = onnx.parser.parse_model(self.SOURCE)
        model.ir_version = ir_version
        return model

    @pytest.mark.parametrize("opset", [7, 8, 9, 13])
    def test_can_still_be_overridden_in_onnxruntime_after_a_conversion(self, opset: int) -> None:
        result = convert(self.source(), to=opset)
        assert overridden(result.model).tolist() == [6.0, 6.0]
        assert not any("override" in note for note in result.report.notes)

    def test_keep_ir_version_4_at_the_oldest_opset(self) -> None:
        assert convert(self.source(), to=1).model.ir_version == 4

    def test_stay_at_3_where_the_model_was_there(self) -> None:
        model = self.source(3)
        model.opset_import[0].version = 8
        assert convert(model, to=7).model.ir_version == 3

    @pytest.mark.parametrize("asked", [{"to": 8, "ir": 3}, {"target": "onnx==1.2"}], ids=str)
    def test_are_said_to_be_constants_for_onnxruntime_where_3_is_asked_for(self, asked: dict[str, Any]) -> None:
        result = convert(self.source(), **asked)
        assert result.model.ir_version == 3
        assert any("callers can no longer override 'w'" in note for note in result.report.notes)
        with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
            overridden(result.model)


def overridden(model: ModelProto) -> Any:
    """What onnxruntime computes with another value in the initializer's place."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": numpy.ones(2, numpy.float32), "w": numpy.full(2, 5, numpy.float32)})[0]
