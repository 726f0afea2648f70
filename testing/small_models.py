"""Small models for tests of files, the command line and bad input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper


def model_of(
    nodes: Sequence[NodeProto],
    *,
    inputs: Sequence[str] = ("x",),
    outputs: Sequence[str] = ("y",),
    initializers: Sequence[TensorProto] = (),
    opset: int = 13,
    ir_version: int = 7,
    functions: Sequence[onnx.FunctionProto] = (),
) -> ModelProto:
    """A model whose inputs and outputs are float matrices of unknown size."""

    def matrices(names: Sequence[str]) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None]) for name in names]

    graph = helper.make_graph(nodes, "small", matrices(inputs), matrices(outputs), initializers)
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=ir_version,
        functions=functions,
        producer_name="test",
    )


def minimum_model(opset: int = 13) -> ModelProto:
    """ReduceMin over the last dimension, axes as an attribute: one node that steps at 18."""
    return model_of([helper.make_node("ReduceMin", ["x"], ["y"], name="smallest", axes=[1])], opset=opset)


def weighted_model() -> ModelProto:
    """Min with a weight "w" of 2 by 3 floats, and a ReduceMin that steps at 18."""
    weight = numpy_helper.from_array(numpy.arange(6, dtype=numpy.float32).reshape(2, 3), "w")
    nodes = [
        helper.make_node("Min", ["x", "w"], ["m"], name="smaller"),
        helper.make_node("ReduceMin", ["m"], ["y"], name="smallest", axes=[1]),
    ]
    return model_of(nodes, initializers=[weight])


def externalise(model: ModelProto, folder: Path, location: str = "weights.bin", prefix: bytes = b"") -> ModelProto:
    """Move the initializers of a model into `folder / location`, after `prefix`; changes and returns the model."""
    content = prefix
    for tensor in model.graph.initializer:
        entries = {"location": location, "offset": str(len(content)), "length": str(len(tensor.raw_data))}
        content += tensor.raw_data
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
    (folder / location).parent.mkdir(parents=True, exist_ok=True)
    (folder / location).write_bytes(content)
    return model


def nested_model(depth: int) -> ModelProto:
    """An If in an If in an If..., `depth` subgraphs deep."""
    model = model_of([], inputs=("x", "c"))
    model.graph.input[1].type.CopyFrom(helper.make_tensor_type_proto(TensorProto.BOOL, []))
    graph = model.graph
    for level in range(depth):
        name = graph.output[0].name
        node = graph.node.add(op_type="If", name=f"if{level}", input=["c"], output=[name])
        for branch in ("else_branch", "then_branch"):
            attribute = node.attribute.add(name=branch, type=onnx.AttributeProto.GRAPH)
            inner = attribute.g
            inner.name = f"{branch}{level}"
            inner.output.add(name=f"{branch}{level}_out")
            if branch == "else_branch":
                inner.node.add(op_type="Identity", input=["x"], output=[f"{branch}{level}_out"])
        graph = inner
    graph.node.add(op_type="Identity", input=["x"], output=[graph.output[0].name])
    return model
