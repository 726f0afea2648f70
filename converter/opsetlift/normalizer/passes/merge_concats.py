"""Merge a Concat into the Concat along the same axis that reads it. Exact: elements keep their order."""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import nodes_of, rank_of, sole_producer
from opsetlift.normalizer.rewriting import Context, Pass

_AXIS_IS_REQUIRED = 4


def merge_concats(graph: gs.Graph, context: Context) -> bool:
    """Put the inputs of a Concat that nothing else reads in its place among those of the Concat that reads it."""
    is_done = False
    for node in nodes_of(graph, "Concat"):
        inputs: list[gs.Tensor] = []
        for tensor in node.inputs:
            inner = sole_producer(tensor, context, "Concat")
            if inner is not None and _axis(inner, context) == _axis(node, context):
                inputs.extend(inner.inputs)
                context.inherit(node, inner)
                is_done = True
            else:
                inputs.append(tensor)
        if len(inputs) > len(node.inputs):
            node.inputs = inputs
    return is_done


def _axis(node: gs.Node, context: Context) -> int:
    """The axis, from the front where the rank is known; both Concats have the same rank."""
    axis: int = node.attrs["axis"] if context.opset() >= _AXIS_IS_REQUIRED else node.attrs.get("axis", 1)
    rank = rank_of(node.inputs[0], context)
    return axis + rank if axis < 0 and rank is not None else axis


PASS = Pass(
    name="merge-concats",
    rewrite=merge_concats,
    summary="Merge a Concat into the Concat along the same axis that reads it.",
    operators=frozenset(("Concat",)),
)
