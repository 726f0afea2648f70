"""The bridge to graphsurgeon and back: nothing is lost, and nothing is touched."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, TypeProto, helper, numpy_helper

import opsetlift
from opsetlift.model.files import ModelFileError
from opsetlift.normalizer.bridge import to_graph, to_model
from opsetlift.normalizer.graphs.graphsurgeon_internals import new_constant, new_node, new_variable
from testing.cases import Case, folder_cases, node_cases
from testing.conversion import model
from testing.small_models import externalise, weighted_model

PARTS = 8


def serialized(one: ModelProto) -> bytes:
    return one.SerializeToString(deterministic=True)


def check_round_trip(source: ModelProto, base_dir: str = "") -> None:
    before = serialized(source)
    result = to_model(to_graph(source, base_dir))
    assert serialized(source) == before
    assert str(result) == str(source)
    assert serialized(result) == before


def part_of(case: Case) -> int:
    return zlib.crc32(case.name.encode()) % PARTS


@pytest.mark.quick_share(9)
@pytest.mark.parametrize("part", range(PARTS))
def test_each_of_onnx_tests_comes_back_byte_for_byte(part: int) -> None:
    lost = []
    for case in (*node_cases(), *folder_cases()):
        if part_of(case) == part:
            before = serialized(case.model)
            if serialized(to_model(to_graph(case.model))) != before or serialized(case.model) != before:
                lost.append(case.name)
    assert lost == []


def documented(source: ModelProto) -> ModelProto:
    """The model with a doc string and metadata wherever there is a place for them."""
    parts = [source, source.graph, *source.graph.node, *source.graph.initializer, *source.functions]
    parts += [*source.graph.input, *source.graph.output, *source.graph.value_info]
    parts += [node for function in source.functions for node in function.node]
    for number, part in enumerate(parts):
        part.doc_string = f"note {number}"
        part.metadata_props.add(key="number", value=str(number))
    return source


def test_doc_strings_and_metadata_stay_at_every_level() -> None:
    source = model(
        """<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
        g (float[N] x) => (float[N] y) <float[N] inner, float w = {2}> { inner = local.twice(x) y = Mul(inner, w) }
        <domain: "local", opset_import: ["" : 18]> twice (a) => (b) { b = Add(a, a) }"""
    )
    check_round_trip(documented(source))


def test_doc_strings_of_attributes_and_empty_texts_stay() -> None:
    node = helper.make_node("Concat", ["x", "x"], ["y"], axis=0, domain="")
    node.attribute[0].doc_string = "the first"
    node.doc_string = ""
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
    source = helper.make_model(helper.make_graph([node], "", [info], [helper.make_empty_tensor_value_info("y")]))
    check_round_trip(source)


def test_types_that_graphsurgeon_has_no_place_for_stay() -> None:
    sequence = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", None]))
    kinds = {
        "o": helper.make_optional_type_proto(sequence),
        "m": helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.INT64, [])),
        "s": helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [3, 4]),
        "u": TypeProto(),
    }
    inputs = [helper.make_value_info(name, kind) for name, kind in kinds.items()]
    inputs[0].type.denotation = "TENSOR"
    outputs = [helper.make_value_info("y", helper.make_tensor_type_proto(TensorProto.BOOL, []))]
    nodes = [
        helper.make_node("OptionalHasElement", ["o"], ["y"]),
        helper.make_node("Optional", [], ["empty"], type=sequence),
    ]
    check_round_trip(helper.make_model(helper.make_graph(nodes, "g", inputs, outputs)))


@pytest.mark.parametrize("name", ["BFLOAT16", "FLOAT8E5M2FNUZ", "INT4", "UINT2", "FLOAT4E2M1", "STRING", "COMPLEX128"])
def test_initializers_of_every_dtype_keep_their_form(name: str) -> None:
    element_type = TensorProto.DataType.Value(name)
    values = [b"a", b"\xff"] if name == "STRING" else [1, 0]
    weight = helper.make_tensor("w", element_type, [2], values)
    out = helper.make_tensor_value_info("y", element_type, [2])
    source = helper.make_model(
        helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [out], [weight])
    )
    check_round_trip(source)
    graph = to_graph(source)
    if name != "STRING":
        assert graph.nodes[0].inputs[0].values.shape == (2,)  # looked at, and still the same
    assert serialized(to_model(graph)) == serialized(source)


def test_sparse_tensors_stay_sparse() -> None:
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(numpy.array([2.0, 3.0], numpy.float32), "w"),
        numpy_helper.from_array(numpy.array([1, 5], numpy.int64), "indices"),
        [2, 3],
    )
    constant = helper.make_node("Constant", [], ["c"], sparse_value=sparse)
    add = helper.make_node("Add", ["w", "c"], ["y"])
    graph = helper.make_graph([constant, add], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])])
    graph.sparse_initializer.append(sparse)
    source = helper.make_model(graph)
    check_round_trip(source)
    (weight,) = (tensor for tensor in to_graph(source).nodes[1].inputs if tensor.name == "w")
    numpy.testing.assert_array_equal(weight.values, [[0, 2, 0], [0, 0, 3]])


def test_an_input_with_a_default_is_no_constant_and_keeps_its_default() -> None:
    source = model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }"""
    )
    check_round_trip(source)
    assert isinstance(to_graph(source).nodes[0].inputs[1], gs.Variable)


def test_unused_initializers_and_stale_declarations_stay() -> None:
    source = model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y) <float[2] unused = {1, 2}, float[7] gone> { y = Neg(x) }"""
    )
    check_round_trip(source)


def test_annotations_training_info_and_configurations_stay() -> None:
    source = weighted_model()
    source.ir_version = 11
    annotation = source.graph.quantization_annotation.add(tensor_name="m")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    training = source.training_info.add()
    training.algorithm.name = "step"
    training.update_binding.add(key="w", value="w")
    source.configuration.add(name="two", num_devices=2)
    source.graph.node[0].device_configurations.add(configuration_id="two")
    source.opset_import.add(domain="unused", version=3)
    check_round_trip(source)


def test_fields_of_later_versions_of_onnx_stay() -> None:
    source = weighted_model()
    unknown = bytes([0xFA, 0x7F, 2]) + b"hi"  # field 2047, two bytes
    source.MergeFromString(unknown)
    source.graph.MergeFromString(unknown)
    source.graph.node[0].MergeFromString(unknown)
    source.graph.node[1].attribute[0].MergeFromString(unknown)
    assert serialized(source).count(unknown) == 4
    check_round_trip(source)


def test_functions_keep_overloads_references_and_declarations() -> None:
    source = model(
        """<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
        g (float[N] x) => (float[N] y) { a = local.scale <by: float = 3.0>(x) y = local.scale:other(a) }
        <domain: "local", opset_import: ["" : 18]> scale <by> (a) => (b) {
            k = Constant <value_float: float = @by>() b = Mul(a, k) }
        <domain: "local", overload: "other", opset_import: ["" : 17]> scale <by: float = 2.0> (a) => (b) {
            k = Constant <value_float: float = @by>() b = Mul(a, k) }"""
    )
    source.functions[0].value_info.append(helper.make_tensor_value_info("k", TensorProto.FLOAT, []))
    check_round_trip(source)


def test_subgraphs_share_the_tensors_around_them_in_whatever_order() -> None:
    source = model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (bool c, float x) => (float y) {
            y = If (c) <then_branch = t () => (float later) { }, else_branch = e () => (float v) { v = Neg(later) }>
            later = Abs(x)
        }"""
    )
    check_round_trip(source)
    graph = to_graph(source)
    later = graph.nodes[1].outputs[0]
    assert graph.nodes[0].attrs["then_branch"].outputs[0] is later
    assert graph.nodes[0].attrs["else_branch"].nodes[0].inputs[0] is later


def test_lists_of_graphs_and_unknown_kinds_of_attributes_stay() -> None:
    inner = model('<ir_version: 8, opset_import: ["" : 17]> h (float z) => (float w) { w = Neg(z) }').graph
    node = helper.make_node("Custom", ["x"], ["y"], domain="local", graphs=[inner, inner], ids=[b"\xff", b"a"])
    node.attribute.append(AttributeProto(name="old", i=3))  # IR versions before 2 left the type out
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in "xy"]
    source = helper.make_model(helper.make_graph([node], "g", info[:1], info[1:]))
    check_round_trip(source)


def test_weights_outside_the_model_are_not_read_unless_asked_for(tmp_path: Path) -> None:
    source = externalise(weighted_model(), tmp_path)
    (tmp_path / "weights.bin").write_bytes(numpy.full(6, 7, numpy.float32).tobytes())
    check_round_trip(source)  # without a folder nothing could be read
    graph = to_graph(source, str(tmp_path))
    numpy.testing.assert_array_equal(graph.nodes[0].inputs[1].values, numpy.full((2, 3), 7))
    assert serialized(to_model(graph)) == serialized(source)


def test_only_what_changed_is_written_anew() -> None:
    source = documented(weighted_model())
    graph = to_graph(source)
    graph.nodes[1].attrs["axes"].append(0)
    graph.nodes[0].inputs[1].values[0, 0] = 9
    result = to_model(graph)
    assert list(result.graph.node[1].attribute[0].ints) == [1, 0]
    assert numpy_helper.to_array(result.graph.initializer[0])[0, 0] == 9
    expected = ModelProto()
    expected.CopyFrom(source)
    expected.graph.node[1].attribute[0].ints.append(0)
    written = result.graph.initializer[0]
    assert written.raw_data != source.graph.initializer[0].raw_data
    del expected.graph.initializer[:], result.graph.initializer[:]
    assert result == expected


def test_a_renamed_tensor_is_renamed_wherever_it_is_named() -> None:
    source = weighted_model()
    source.graph.quantization_annotation.add(tensor_name="m").quant_parameter_tensor_names.add(key="S", value="w")
    source.graph.value_info.append(helper.make_tensor_value_info("m", TensorProto.FLOAT, [2, 3]))
    graph = to_graph(source)
    graph.nodes[0].outputs[0].name = "least"
    graph.nodes[0].inputs[1].name = "weight"
    result = to_model(graph).graph
    assert (result.node[0].output[0], result.node[1].input[0], result.value_info[0].name) == ("least",) * 3
    assert (result.node[0].input[1], result.initializer[0].name) == ("weight", "weight")
    assert result.quantization_annotation[0].tensor_name == "least"
    assert result.quantization_annotation[0].quant_parameter_tensor_names[0].value == "weight"


def test_imported_nodes_and_tensors_are_as_graphsurgeon_makes_them() -> None:
    values = numpy.ones(3)
    made: list[tuple[gs.Node | gs.Tensor, gs.Node | gs.Tensor]] = [
        (new_variable("x"), gs.Variable("x")),
        (new_constant("w", values), gs.Constant("w", values)),
        (new_node("Relu", "n", {"a": 1}, [], [], "d"), gs.Node("Relu", "n", {"a": 1}, domain="d")),
    ]
    for ours, theirs in made:
        assert type(ours) is type(theirs)
        assert vars(ours) == vars(theirs)
        for name in ("inputs", "outputs"):
            assert type(getattr(ours, name)) is type(getattr(theirs, name))
            assert getattr(ours, name).parent_obj is ours
            assert getattr(ours, name).field_name == getattr(theirs, name).field_name
    assert new_variable("x").inputs is not new_variable("x").inputs
    x, y = new_variable("x"), new_variable("y")
    node = new_node("Add", "", {}, [x, x], [y], None)
    assert (list(node.inputs), list(node.outputs)) == ([x, x], [y])
    assert [*x.outputs, *y.inputs] == [node, node, node]
    assert not [*x.inputs, *y.outputs]


def test_a_graph_made_by_graphsurgeon_is_written_too() -> None:
    x = gs.Variable("x", numpy.float32, ["N", 3])
    y = gs.Variable("y", numpy.float32, ["N", 3])
    graph = gs.Graph(inputs=[x], outputs=[y], opset=17, ir_version=8)
    (scaled,) = graph.layer(op="Mul", inputs=[x, numpy.float32([2])], outputs=["scaled"])
    graph.layer(op="Cast", inputs=[scaled], outputs=[y], attrs={"to": numpy.float32})
    result = to_model(graph)
    onnx.checker.check_model(result, full_check=True)
    assert [node.op_type for node in result.graph.node] == ["Mul", "Cast"]
    assert result.opset_import[0].version == 17


def _reversed(text: str) -> gs.Graph:
    graph = to_graph(model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'))
    graph.nodes = list(reversed(graph.nodes))
    return graph


UNORDERED = """g (bool c, float[2] x) => (float[2] y) {
    a = Neg(x) b = Abs(a)
    y = If (c) <then_branch = t () => (float[2] u) { u = Add(b, a) }, else_branch = e () => (float[2] v) { v = Exp(b) }>
}"""


@pytest.mark.parametrize("run", [partial(opsetlift.convert, to=13), opsetlift.normalize])
def test_nodes_of_graphs_may_stand_in_any_order_and_stay_so(run: Callable[[gs.Graph], Any]) -> None:
    graph = _reversed(UNORDERED)
    assert [node.op_type for node in run(graph).model.graph.node] == ["Neg", "Abs", "If"]
    assert [node.op for node in graph.nodes] == ["If", "Abs", "Neg"]


@pytest.mark.parametrize("run", [partial(opsetlift.convert, to=13), opsetlift.normalize])
def test_graphs_whose_nodes_read_one_another_are_turned_down(run: Callable[[gs.Graph], Any]) -> None:
    graph = _reversed("g (float[2] x) => (float[2] y) { a = Neg(x) y = Add(a, x) }")
    add, neg = graph.nodes
    neg.inputs[0] = add.outputs[0]
    with pytest.raises(ModelFileError, match=r"sorted|cycle|order"):
        run(graph)


def test_a_constant_in_a_function_body_is_written_as_a_node() -> None:
    source = model(
        """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        g (float[2] x) => (float[2] y) { y = local.f(x) }
        <domain: "local", opset_import: ["" : 17]> f (a) => (b) { b = Neg(a) }"""
    )
    graph = to_graph(source)
    body = graph.functions[0]
    body.nodes[0].op = "Add"
    body.nodes[0].inputs.append(gs.Constant("k", numpy.float32([1, 2])))
    result = to_model(graph)
    onnx.checker.check_model(result, full_check=True)
    assert [node.op_type for node in result.functions[0].node] == ["Constant", "Add"]


def test_optionals_of_graphsurgeon_are_written() -> None:
    source = model(
        """<ir_version: 8, opset_import: ["" : 18]>
        g (optional(float[2]) x) => (bool y) { y = OptionalHasElement(x) }"""
    )
    result = to_model(gs.import_onnx(source))
    assert result.graph.input[0].type == source.graph.input[0].type
    onnx.checker.check_model(result, full_check=True)
