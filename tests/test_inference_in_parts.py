"""Inference of graphs with many subgraphs: in parts, with the verdict that onnx has of the whole."""

from __future__ import annotations

import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, parser

from opsetlift.facts.whole_model import whole_model_types
from opsetlift.model.files import ModelFileError, check_model, inference_in_parts

CHAIN = """
<ir_version: 10, opset_import: ["" : 18]>
main (float[2, 3] x, bool c) => (float[6] y) <float[6] kept = {1, 2, 3, 4, 5, 6}> {
    axes = Constant <value = int64[1] {-1}> ()
    shape = Constant <value = int64[1] {6}> ()
    flat = Reshape(x, shape)
    first = If (c) <
        then_branch = then_1 () => (float[6] a) { a = Add(flat, kept) },
        else_branch = else_1 () => (float[6] b) { total = ReduceSum(flat, axes) b = Sub(flat, total) }>
    again = Reshape(first, shape)
    second = If (c) <
        then_branch = then_2 () => (float[6] d) { d = Reshape(again, shape) },
        else_branch = else_2 () => (float[6] e) { e = Neg(first) }>
    y = Mul(second, flat)
}
"""


@pytest.fixture(autouse=True)
def _parts_of_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference_in_parts, "_MOST_COPIED", 0)
    monkeypatch.setattr(inference_in_parts, "_NODES_PER_PART", 1)


def test_what_onnx_accepts_as_a_whole_is_accepted_in_parts() -> None:
    model = parser.parse_model(CHAIN)
    onnx.checker.check_model(model, full_check=True)
    assert inference_in_parts.needs_parts(model)
    check_model(model)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("d = Reshape(again, shape)", "d = Reshape(again, axes, axes)"),
        ("b = Sub(flat, total)", "b = Sub(flat, c)"),
        ("value = int64[1] {6}", "value = int64[1] {7}"),
        ("float[6] y", "float[7] y"),
        ("float[6] y", "int64[6] y"),
        ("y = Mul(second, flat)", "y = Mul(second, again_and_again)"),
        ("float[6] kept = {1, 2, 3, 4, 5, 6}", "float[5] kept = {1, 2, 3, 4, 5}"),
        ("int64[1] {-1}", "float[1] {-1}"),
    ],
)
def test_what_onnx_rejects_as_a_whole_is_rejected_in_parts(right: str, wrong: str) -> None:
    model = parser.parse_model(CHAIN.replace(right, wrong, 1))
    with pytest.raises((onnx.checker.ValidationError, onnx.shape_inference.InferenceError)):
        onnx.checker.check_model(model, full_check=True)
    with pytest.raises(ModelFileError, match="onnx does not accept the model"):
        check_model(model)


def test_a_declared_value_is_compared_with_what_is_inferred() -> None:
    model = parser.parse_model(CHAIN)
    model.graph.value_info.append(helper.make_tensor_value_info("first", TensorProto.FLOAT, [5]))
    with pytest.raises(ModelFileError, match=r"inferred=6 vs existing=5|differ"):
        check_model(model)


def test_initializers_that_callers_override_have_the_type_of_the_input() -> None:
    model = parser.parse_model(CHAIN)
    model.graph.input.append(helper.make_tensor_value_info("kept", TensorProto.FLOAT, [6]))
    check_model(model)


def test_shapes_that_the_interface_leaves_out_stay_unknown() -> None:
    model = parser.parse_model(CHAIN)
    for info in (*model.graph.input, *model.graph.output):
        info.type.tensor_type.ClearField("shape")
    check_model(model)


def test_the_tables_that_onnx_copies_do_not_grow_with_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    parts: list[int] = []
    infer = onnx.shape_inference.infer_shapes

    def counting(model: ModelProto, **options: bool) -> ModelProto:
        with_subgraphs = sum(node.op_type == "If" for node in model.graph.node)
        parts.append(with_subgraphs * len(model.graph.node))
        return infer(model, **options)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", counting)
    check_model(_ifs(1200))
    assert len(parts) > 1
    assert sum(parts) < 1200 * 1200 / 4


def _ifs(count: int) -> ModelProto:
    nodes, value = [], "x"
    for number in range(count):
        branches = {}
        for branch, operator in (("then_branch", "Neg"), ("else_branch", "Abs")):
            output = helper.make_tensor_value_info(f"{branch}_{number}", TensorProto.FLOAT, [2])
            node = helper.make_node(operator, [value], [output.name])
            branches[branch] = helper.make_graph([node], branch, [], [output])
        nodes.append(helper.make_node("If", ["c"], [f"y_{number}"], **branches))
        value = f"y_{number}"
    given = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
    ]
    graph = helper.make_graph(nodes, "ifs", given, [helper.make_tensor_value_info(value, TensorProto.FLOAT, [2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_what_is_inferred_of_a_whole_is_known_from_parts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    model = parser.parse_model(CHAIN.replace("float[2, 3] x", "float[N, 3] x"))
    parts, _ = whole_model_types(model, twice=True)
    monkeypatch.setattr(inference_in_parts, "_MOST_COPIED", 1 << 18)
    whole, _ = whole_model_types(model, twice=True)
    assert parts == whole
    assert {name for types in parts.values() for name in types} >= {"again", "second", "total", "e"}
