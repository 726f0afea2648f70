"""Slices of a slice along other axes become one slice.

Slice takes each axis on its own, so those of different axes may be taken in one. Slices of one and the same axis stay
two. Exact: elements are only chosen.
"""

from __future__ import annotations

from dataclasses import replace

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    become,
    nodes_of,
    normalised_axes,
    producer_for,
    rank_of,
    vector,
)
from opsetlift.normalizer.helpers.slices import Slice, slice_of
from opsetlift.normalizer.rewriting import Context, Pass

_BOUNDS_AS_INPUTS = 10


def merge_slices(graph: gs.Graph, context: Context) -> bool:
    """Let a slice of a slice that only such read slice what that read, along the axes of both."""
    is_done = False
    for node in nodes_of(graph, "Slice"):
        while (first := producer_for(node.inputs[0], context, ("Slice",), ("Slice",))) is not None:
            before, after = _bounds(first, context), _bounds(node, context)
            if before is None or after is None or set(before.axes) & set(after.axes):
                break
            _write(node, first.inputs[0], before, after, context)
            context.inherit(node, first)
            is_done = True
    return is_done


def _bounds(node: gs.Node, context: Context) -> Slice | None:
    """What a slice takes, with axes counted from the front; None where that is not known."""
    found, rank = slice_of(node, context), rank_of(node.inputs[0], context)
    axes = normalised_axes(found.axes, rank) if found is not None and rank is not None else None
    return None if found is None or axes is None else replace(found, axes=axes)


def _write(node: gs.Node, data: gs.Tensor, before: Slice, after: Slice, context: Context) -> None:
    order = sorted(
        zip(
            before.axes + after.axes,
            before.starts + after.starts,
            before.ends + after.ends,
            before.steps + after.steps,
            strict=True,
        )
    )
    axes, starts, ends, steps = (list(column) for column in zip(*order, strict=True))
    if context.opset() < _BOUNDS_AS_INPUTS:
        become(node, "Slice", [data], {"starts": starts, "ends": ends, "axes": axes})
        return
    name = node.outputs[0].name
    columns = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    if all(step == 1 for step in steps):
        del columns["steps"]
    become(node, "Slice", [data, *(vector(column, f"{name}_{label}", context) for label, column in columns.items())])


PASS = Pass(
    name="merge-slices",
    rewrite=merge_slices,
    summary="Merge consecutive slices along different axes.",
    operators=frozenset(("Slice",)),
)
