"""Slices of a slice along other axes become one slice.

Slice takes each axis on its own, so those of different axes may be taken in one. Slices of one and the same axis stay
two. Exact: elements are only chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx_graphsurgeon as gs

from converter.normalize.editing import (
    become,
    given,
    integers,
    nodes_of,
    normalised_axes,
    producer_for,
    rank_of,
    vector,
)
from converter.normalize.rewriting import Context, Pass

_BOUNDS_AS_INPUTS = 10


@dataclass(frozen=True)
class _Slice:
    starts: list[int]
    ends: list[int]
    axes: list[int]
    steps: list[int]


def merge_slices(graph: gs.Graph, context: Context) -> None:
    """Let a slice of a slice that only such read slice what that read, along the axes of both."""
    for node in nodes_of(graph, "Slice"):
        while (first := producer_for(node.inputs[0], context, ("Slice",), ("Slice",))) is not None:
            before, after = _bounds(first, context), _bounds(node, context)
            if before is None or after is None or set(before.axes) & set(after.axes):
                break
            _write(node, first.inputs[0], before, after, context)
            context.inherit(node, first)


def _bounds(node: gs.Node, context: Context) -> _Slice | None:
    """What a slice takes; None where not all of it is constant."""
    rank = rank_of(node.inputs[0], context)
    if context.opset() < _BOUNDS_AS_INPUTS:
        starts, ends = node.attrs.get("starts"), node.attrs.get("ends")
        axes, steps = node.attrs.get("axes"), None
        has_axes, has_steps = axes is not None, False
    else:
        starts, ends, axes, steps = (integers(given(node, position), context) for position in (1, 2, 3, 4))
        has_axes, has_steps = given(node, 3) is not None, given(node, 4) is not None
    if rank is None or starts is None or ends is None or (has_axes and axes is None) or (has_steps and steps is None):
        return None
    counted = normalised_axes(axes if axes is not None else list(range(len(starts))), rank)
    result = None if counted is None else _Slice(list(starts), list(ends), counted, steps or [1] * len(starts))
    if result is None or not len(result.starts) == len(result.ends) == len(result.axes) == len(result.steps):
        return None
    return result


def _write(node: gs.Node, data: gs.Tensor, before: _Slice, after: _Slice, context: Context) -> None:
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
    summary="Consecutive slices along different axes become one.",
    operators=frozenset(("Slice",)),
)
