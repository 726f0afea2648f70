"""Values behind long chains of nodes: whether they are constants is found without a call for each node."""

from __future__ import annotations

import sys

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opsetlift import convert
from opsetlift.facts import ModelFacts

LENGTH = 2 * sys.getrecursionlimit()


def chain(first: str) -> onnx.ModelProto:
    """A model that negates a value again and again, and reduces what comes out."""
    nodes = [helper.make_node("Neg", [first if n == 0 else f"v{n - 1}"], [f"v{n}"]) for n in range(LENGTH)]
    nodes.append(helper.make_node("Add", ["x", f"v{LENGTH - 1}"], ["last"]))
    nodes.append(helper.make_node("ReduceMax", ["last"], ["y"], axes=[1], keepdims=0))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])],
        [numpy_helper.from_array(numpy.array([1, 2, 3], numpy.float32), "w")],
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


@pytest.mark.slow
@pytest.mark.parametrize(("first", "value"), [("x", None), ("w", [1, 2, 3])])
def test_what_a_long_chain_computes(first: str, value: list[int] | None) -> None:
    found = ModelFacts(chain(first)).graph.constant(f"v{LENGTH - 1}")
    assert (None if found is None else found.tolist()) == value


@pytest.mark.slow
@pytest.mark.parametrize("first", ["x", "w"])
def test_a_node_behind_a_long_chain_is_converted_and_proven(first: str) -> None:
    conversion = convert(chain(first), to=18)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven
