"""Axes are counted from the front, where the rank is known, and sets of axes are in order.

An axis counted from the back is the same one by definition; the operators of the first opsets take no other ones, so
this also mends models that exporters wrote against the text. Axes that are an input become a new constant, as others
may read the old one.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import given, integers, nodes_of, normalised_axes, rank_of, vector
from opsetlift.normalizer.rewriting import Context, Pass

_OF_FIRST_INPUT = (
    "ArgMax",
    "ArgMin",
    "Compress",
    "Concat",
    "Flatten",
    "Gather",
    "GatherElements",
    "Hardmax",
    "LayerNormalization",
    "LogSoftmax",
    "LpNormalization",
    "ScatterElements",
    "Softmax",
    "Split",
    "SplitToSequence",
    "TopK",
)
_OF_OUTPUT = ("OneHot",)
_SETS = (
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Squeeze",
    "Unsqueeze",
)


def canonical_axes(graph: gs.Graph, context: Context) -> bool:
    """Rewrite negative axes, in attributes and in constant inputs."""
    is_done = False
    for node in nodes_of(graph, *_OF_FIRST_INPUT, *_OF_OUTPUT):
        axis = node.attrs.get("axis")
        if axis is not None and axis < 0:
            rank = rank_of(node.outputs[0] if node.op in _OF_OUTPUT else node.inputs[0], context)
            if rank is not None and axis + rank >= 0:
                node.attrs["axis"] = axis + rank
                is_done = True
    for node in nodes_of(graph, *_SETS):
        axes = node.attrs.get("axes") or integers(given(node, 1), context)
        if axes and (min(axes) < 0 or axes != sorted(axes)):
            is_done |= _rewrite_set(node, axes, context)
    return is_done


def _rewrite_set(node: gs.Node, axes: list[int], context: Context) -> bool:
    rank = rank_of(node.outputs[0] if node.op == "Unsqueeze" else node.inputs[0], context)
    counted = normalised_axes(axes, rank) if rank is not None else None
    if counted is None:
        return False
    if node.attrs.get("axes"):
        node.attrs["axes"] = sorted(counted)
    else:
        node.inputs[1] = vector(sorted(counted), f"{node.outputs[0].name}_axes", context)
    return True


PASS = Pass(
    name="canonical-axes",
    rewrite=canonical_axes,
    summary="Count axes from the front, where the rank is known.",
    operators=frozenset((*_OF_FIRST_INPUT, *_OF_OUTPUT, *_SETS)),
)
