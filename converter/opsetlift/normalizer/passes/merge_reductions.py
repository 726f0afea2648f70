"""Reductions of reductions become one reduction over the axes of both.

Where the order does not matter, bit for bit: sums and products of integers, which wrap, and the least and the greatest
of integers and booleans. Sums of floats round in another order, and of zeros of either sign Min and Max may give the
other one, so floats stay as they are.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import nodes_of, rank_of, sole_producer
from opsetlift.normalizer.helpers.reductions import ORDERLESS, is_of_whole_numbers, reduce_by, reduced_axes
from opsetlift.normalizer.rewriting import Context, Pass


def merge_reductions(graph: gs.Graph, context: Context) -> bool:
    """Let a reduction of one of its kind that nothing else reads reduce what that read."""
    is_done = False
    for node in nodes_of(graph, *ORDERLESS):
        while (first := sole_producer(node.inputs[0], context, node.op)) is not None:
            axes = _merged_axes(first, node, context)
            if not axes or not is_of_whole_numbers(node, context):
                break
            reduce_by(node, first.inputs[0], axes, context)
            context.inherit(node, first)
            is_done = True
    return is_done


def _merged_axes(first: gs.Node, node: gs.Node, context: Context) -> list[int] | None:
    """The axes of both in the shape that the first one reduces; None where they are not known, or keepdims differ."""
    rank = rank_of(first.inputs[0], context)
    keeps = bool(first.attrs.get("keepdims", 1))
    if rank is None or keeps != bool(node.attrs.get("keepdims", 1)):
        return None
    before = reduced_axes(first, rank, context)
    if before is None:
        return None
    left = list(range(rank)) if keeps else [axis for axis in range(rank) if axis not in before]
    after = reduced_axes(node, len(left), context)
    return None if after is None else sorted({*before, *(left[axis] for axis in after)})


PASS = Pass(
    name="merge-reductions",
    rewrite=merge_reductions,
    summary="Merge consecutive reductions of integers and booleans.",
    operators=frozenset(ORDERLESS),
)
