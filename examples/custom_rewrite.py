"""Rewrites of your own, with losslessness and proof for free: a function over a graph, and a pattern.

    python examples/custom_rewrite.py

The model computes x * sigmoid(x) twice over, once with the factors the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx_graphsurgeon as gs
from onnx import ModelProto, parser

import opsetlift
from opsetlift.model.files import save_model
from opsetlift.normalizer import Context, PassNotEquivalent, Pattern

MODEL = """<ir_version: 10, opset_import: ["" : 24]>
two_gates (float[batch, 8] x) => (float[batch, 8] y) {
    s = Sigmoid(x)
    a = Mul(x, s)
    t = Sigmoid(a)
    b = Mul(t, a)
    y = Add(a, b)
}"""


def gate() -> gs.GraphPattern:
    """x * Sigmoid(x)."""
    pattern = gs.GraphPattern()
    x = pattern.variable()
    gated = pattern.add("gate", "Sigmoid", inputs=[x])
    pattern.set_output_tensors([pattern.add("product", "Mul", inputs=[x, gated])])
    return pattern


def as_swish(graph: gs.Graph, match: gs.PatternMapping, context: Context) -> Sequence[gs.Tensor] | None:
    """One Swish, where the opset has it. Its function body is the same two operators, so that no bit changes."""
    if context.opset() < 24:
        return None
    outputs: Sequence[gs.Tensor] = graph.layer(op="Swish", inputs=[match.inputs[0]], outputs=["swish"])
    return outputs


SWISH = Pattern("swish", gate(), as_swish, "A product with its own sigmoid becomes Swish.")


def factors_in_order(graph: gs.Graph, context: Context) -> None:
    """The sigmoid comes second in a product, where the pattern looks for it."""
    for node in graph.nodes:
        producers = [tensor.inputs[0].op if tensor.inputs else "" for tensor in node.inputs]
        if node.op == "Mul" and producers[0] == "Sigmoid" != producers[1]:
            node.inputs = [node.inputs[1], node.inputs[0]]


def careless(graph: gs.Graph) -> None:
    """Takes every Mul for a gate."""
    for node in graph.nodes:
        if node.op == "Mul":
            node.op = "Min"


def operators(model: ModelProto) -> list[str]:
    """The operators of a model's nodes."""
    return [node.op_type for node in model.graph.node]


if __name__ == "__main__":
    source = parser.parse_model(MODEL)
    result = opsetlift.normalize(source, [factors_in_order, SWISH])
    assert result.proof is not None
    print(f"{operators(source)} -> {operators(result.model)}")
    print(result.proof.summary())
    save_model(result.model, Path("rewritten.onnx"), overwrite=True)
    try:
        opsetlift.normalize(source, [careless])
    except PassNotEquivalent as stopped:
        print(f"not written: {stopped}"[:100])
