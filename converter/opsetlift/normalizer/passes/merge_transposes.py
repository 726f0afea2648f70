"""Consecutive transposes become one: Transpose(Transpose(x, p), q) is Transpose(x, p∘q). Exact: elements only move."""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import nodes_of, producer_for, rank_of
from opsetlift.normalizer.rewriting import Context, Pass


def merge_transposes(graph: gs.Graph, context: Context) -> bool:
    """Let a transpose of a transpose that only such read permute what that read."""
    is_done = False
    for node in nodes_of(graph, "Transpose"):
        while (first := producer_for(node.inputs[0], context, ("Transpose",), ("Transpose",))) is not None:
            before, after = _permutation(first, context), _permutation(node, context)
            if before is None or after is None or len(before) != len(after):
                break
            node.attrs["perm"] = [before[axis] for axis in after]
            node.inputs[0] = first.inputs[0]
            context.inherit(node, first)
            is_done = True
    return is_done


def _permutation(node: gs.Node, context: Context) -> list[int] | None:
    if "perm" in node.attrs:
        return list(node.attrs["perm"])
    rank = rank_of(node.inputs[0], context)
    return None if rank is None else list(range(rank))[::-1]


PASS = Pass(
    name="merge-transposes",
    rewrite=merge_transposes,
    summary="Merge consecutive transposes.",
    operators=frozenset(("Transpose",)),
)
