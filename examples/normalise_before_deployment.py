"""Normalise a graph before deployment: one opset, constants that no caller can override, nothing that is not used.

    python examples/normalise_before_deployment.py

The model is made here, as old exporters wrote them: opset 7 and IR version 3, where every initializer has to be a graph
input, and a weight that a cut-off branch left behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

import converter
from converter.model_file import check_model, save_model


def old_exporters_model() -> ModelProto:
    """y = the smallest of x + w, per row."""
    weights = {"w": numpy.linspace(-1, 1, 4, dtype=numpy.float32), "left_behind": numpy.zeros(1000, numpy.float32)}
    nodes = [
        helper.make_node("Add", ["x", "w"], ["shifted"], name="shift"),
        helper.make_node("ReduceMin", ["shifted"], ["y"], name="smallest", axes=[1]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])]
    inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in weights.items()]
    graph = helper.make_graph(
        nodes,
        "old",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=3)


def names_read(graph: GraphProto) -> Iterator[str]:
    """Every value that a graph or a subgraph of it reads or returns."""
    yield from (value.name for value in graph.output)
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for subgraph in (attribute.g, *attribute.graphs):
                yield from names_read(subgraph)


def normalise(model: ModelProto) -> None:
    """In place: initializers are no longer inputs that a caller might override, and unused ones go."""
    graph = model.graph
    initialized = {tensor.name for tensor in graph.initializer}
    used = set(names_read(graph))
    for position in reversed(range(len(graph.input))):
        if graph.input[position].name in initialized:
            del graph.input[position]
    for position in reversed(range(len(graph.initializer))):
        if graph.initializer[position].name not in used:
            del graph.initializer[position]
    check_model(model)


if __name__ == "__main__":
    source = old_exporters_model()
    conversion = converter.convert(source, to=18)
    assert conversion.certificate is not None
    print(conversion.certificate.summary())
    deployed = conversion.model
    normalise(deployed)
    save_model(deployed, Path("deployed.onnx"), overwrite=True)
    before, after = ([value.name for value in model.graph.input] for model in (source, deployed))
    print(f"inputs {before} -> {after}, bytes {source.ByteSize()} -> {deployed.ByteSize()}")
