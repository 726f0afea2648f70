"""Normalise a graph before deployment: one opset, fixed shapes, weights that no caller can replace, nothing unused.

    python examples/normalise_before_deployment.py

The model is made here, as old exporters wrote them: opset 7 and IR version 3, where every initializer has to be a graph
input, and a weight that a cut-off branch left behind.
"""

from __future__ import annotations

from pathlib import Path

import numpy
from onnx import ModelProto, TensorProto, helper, numpy_helper

import opsetlift
from opsetlift.model.files import save_model


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


if __name__ == "__main__":
    source = old_exporters_model()
    conversion = opsetlift.convert(source, to=18)
    assert conversion.certificate is not None
    print(conversion.certificate.summary())
    # By default the inputs of a model are its callers' business, those with a default value included.
    result = opsetlift.normalize(conversion.model, ["fix-defaults", "default"], fix_shapes={"N": 2})
    assert result.proof is not None
    print(result.proof.summary())
    for one in result.report.passes:
        if one.changes:
            print(f"  {one.name}: {one.changes} changes, nodes {one.nodes:+}, bytes {one.bytes:+}")
    deployed = result.model
    save_model(deployed, Path("deployed.onnx"), overwrite=True)
    before, after = ([value.name for value in model.graph.input] for model in (source, deployed))
    print(f"inputs {before} -> {after}, bytes {source.ByteSize()} -> {deployed.ByteSize()}")
