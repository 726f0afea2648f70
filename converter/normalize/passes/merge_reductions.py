"""Reductions of reductions become one reduction over the axes of both.

Where the order does not matter, bit for bit: sums and products of integers, which wrap, and the least and the greatest
of integers and booleans. Sums of floats round in another order, and of zeros of either sign Min and Max may give the
other one, so floats stay as they are.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from converter.normalize.editing import (
    axes_of,
    become,
    given,
    nodes_of,
    normalised_axes,
    rank_of,
    sole_producer,
    vector,
)
from converter.normalize.rewriting import Context, Pass

_MERGED = ("ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum")
_WHOLE = frozenset(("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"))


def merge_reductions(graph: gs.Graph, context: Context) -> None:
    """Let a reduction of one of its kind that nothing else reads reduce what that read."""
    for node in nodes_of(graph, *_MERGED):
        while (first := sole_producer(node.inputs[0], context, node.op)) is not None:
            axes = _merged_axes(first, node, context)
            if not axes or context.dtype_of(node.inputs[0]) not in _WHOLE:
                break
            _write(node, first.inputs[0], axes, context)
            context.inherit(node, first)


def _merged_axes(first: gs.Node, node: gs.Node, context: Context) -> list[int] | None:
    """The axes of both in the shape that the first one reduces; None where they are not known, or keepdims differ."""
    rank = rank_of(first.inputs[0], context)
    keeps = bool(first.attrs.get("keepdims", 1))
    if rank is None or keeps != bool(node.attrs.get("keepdims", 1)):
        return None
    before = _axes(first, rank, context)
    if before is None:
        return None
    left = list(range(rank)) if keeps else [axis for axis in range(rank) if axis not in before]
    after = _axes(node, len(left), context)
    return None if after is None else sorted({*before, *(left[axis] for axis in after)})


def _axes(node: gs.Node, rank: int, context: Context) -> list[int] | None:
    axes = axes_of(node, 1, context)
    if axes is None and ("axes" in node.attrs or given(node, 1) is not None):
        return None
    if not axes:
        return [] if node.attrs.get("noop_with_empty_axes", 0) else list(range(rank))
    return normalised_axes(axes, rank)


def _write(node: gs.Node, data: gs.Tensor, axes: list[int], context: Context) -> None:
    attributes = {name: value for name, value in node.attrs.items() if name != "axes"}
    schema = context.schema(node)
    if schema is not None and "axes" in schema.attributes:
        become(node, node.op, [data], {**attributes, "axes": axes})
    else:
        become(node, node.op, [data, vector(axes, f"{node.outputs[0].name}_axes", context)], attributes)


PASS = Pass(
    name="merge-reductions",
    rewrite=merge_reductions,
    summary="Reductions of reductions over integers and booleans become one.",
    operators=frozenset(_MERGED),
)
