"""A reduction keeps the dimensions that it reduces, or not, where a view after it would add or remove them.

`keepdims` says just that: Squeeze(Reduce(x), a) of the axes that were reduced is the reduction without them, Unsqueeze
the reduction with them, and Reshape and Flatten are that where all sizes but one are known. ArgMax and ArgMin have
`keepdims`, too. Exact: the same numbers in the same order.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    axes_of,
    nodes_of,
    normalised_axes,
    rank_of,
    sole_producer,
)
from opsetlift.normalizer.helpers.reductions import reduced_axes
from opsetlift.normalizer.helpers.sizes import is_view_to
from opsetlift.normalizer.rewriting import Context, Pass

_VIEWS = ("Squeeze", "Unsqueeze", "Reshape", "Flatten")
_OF_ONE_AXIS = ("ArgMax", "ArgMin")
_REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceProd", "ReduceSum", "ReduceSumSquare", *_OF_ONE_AXIS),
)


def merge_kept_dimensions(graph: gs.Graph, context: Context) -> bool:
    """Let reductions give the shape that the view after them makes."""
    is_done = False
    for node in nodes_of(graph, *_VIEWS):
        reduction = sole_producer(node.inputs[0], context, *_REDUCTIONS)
        if reduction is None or not _says_the_same(reduction, node, context):
            continue
        keeps = bool(reduction.attrs.get("keepdims", 1))
        node.op, node.inputs = reduction.op, list(reduction.inputs)
        node.attrs = {**reduction.attrs, "keepdims": int(not keeps)}
        context.inherit(node, reduction)
        is_done = True
    return is_done


def _says_the_same(reduction: gs.Node, view: gs.Node, context: Context) -> bool:
    """Whether the view gives the reduction's result with the other value of `keepdims`."""
    rank = rank_of(reduction.inputs[0], context)
    axes = None if rank is None else _reduced(reduction, rank, context)
    if rank is None or not axes:
        return False
    keeps = bool(reduction.attrs.get("keepdims", 1))
    if view.op == ("Squeeze" if keeps else "Unsqueeze"):
        given = axes_of(view, 1, context)
        found = None if given is None else normalised_axes(given, rank)
        return found is not None and sorted(found) == sorted(axes)
    shape = context.shape_of(reduction.inputs[0])
    if shape is None:
        return False
    if keeps:
        return is_view_to(view, [size for axis, size in enumerate(shape) if axis not in axes], context)
    return is_view_to(view, [1 if axis in axes else size for axis, size in enumerate(shape)], context)


def _reduced(node: gs.Node, rank: int, context: Context) -> list[int] | None:
    if node.op in _OF_ONE_AXIS:
        return normalised_axes([node.attrs.get("axis", 0)], rank)
    return reduced_axes(node, rank, context)


PASS = Pass(
    name="merge-kept-dimensions",
    rewrite=merge_kept_dimensions,
    summary="Let a reduction keep the reduced dimensions, or not, instead of a view after it.",
    operators=frozenset(_REDUCTIONS),
)
