"""Replace slices that divide a tensor along one axis by one Split.

The size of the axis is known, each slice takes a part of it in order, and the parts follow one another from its start
to its end. Slices of vectors stay: they are shape arithmetic; and so do those of what was just dequantized, as runtimes
compute other operators in integers once they are one. Exact: elements are only chosen.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import nodes_of, normalised_axes, producer
from opsetlift.normalizer.helpers.slices import slice_of
from opsetlift.normalizer.helpers.splits import FIRST_SPLIT_BY_ATTRIBUTE, become_split
from opsetlift.normalizer.rewriting import Context, Pass


@dataclass(frozen=True)
class _Part:
    """What a Slice takes of an axis of some size: the elements from `start` to `end`."""

    node: gs.Node
    axis: int
    size: int
    start: int
    end: int


def slices_as_split(graph: gs.Graph, context: Context) -> bool:
    """Write the slices of each tensor that has been taken apart as one Split."""
    if context.opset() < FIRST_SPLIT_BY_ATTRIBUTE:
        return False
    parts: dict[tuple[int, int], list[_Part]] = defaultdict(list)
    for node in nodes_of(graph, "Slice"):
        part = _part(node, context)
        if part is not None and producer(node.inputs[0], context, "DequantizeLinear") is None:
            parts[id(node.inputs[0]), part.axis].append(part)
    is_done = False
    for some in parts.values():
        chain = _chain(some)
        if len(chain) > 1:
            _split(chain, context)
            is_done = True
    return is_done


def _part(node: gs.Node, context: Context) -> _Part | None:
    found, shape = slice_of(node, context), context.shape_of(node.inputs[0])
    if found is None or shape is None or len(shape) < 2 or len(found.axes) != 1 or found.steps != [1]:
        return None
    axes = normalised_axes(found.axes, len(shape))
    size = shape[axes[0]] if axes is not None else None
    if axes is None or not isinstance(size, int):
        return None
    start, end = found.bounds(0, size)
    return _Part(node, axes[0], size, start, end) if start < end else None


def _chain(parts: list[_Part]) -> list[_Part]:
    """Parts that follow one another from the start of the axis to its end; none where there is a gap."""
    by_start: dict[int, _Part] = {}
    for part in parts:
        by_start.setdefault(part.start, part)
    chain: list[_Part] = []
    position = 0
    while position in by_start:
        chain.append(by_start[position])
        position = chain[-1].end
    return chain if position == parts[0].size else []


def _split(chain: list[_Part], context: Context) -> None:
    node, axis = chain[0].node, chain[0].axis
    data, outputs = node.inputs[0], [part.node.outputs[0] for part in chain]
    sizes = [part.end - part.start for part in chain]
    for part in chain[1:]:
        part.node.outputs.clear()
    become_split(node, data, sizes, axis, context)
    node.outputs = outputs
    context.inherit(node, *(part.node for part in chain[1:]))


PASS = Pass(
    name="slices-as-split",
    rewrite=slices_as_split,
    summary="Replace slices that divide a tensor along one axis by one Split.",
    operators=frozenset(("Slice",)),
)
