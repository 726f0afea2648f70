"""Reading every element of a dimension that a Reshape made is one Split of what it reshaped.

Exporters write the three projections of attention as one: a Reshape makes a dimension of three, and a Gather takes each
of them. Where each takes another element, and what it gives is just a part of the Reshape's input along one axis, a
Split gives all of them. All sizes but one before that axis are known, and none is 0. Exact: elements are only chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import integers, is_operator, nodes_of, normalised_axes, static_shape
from opsetlift.normalizer.helpers.sizes import Size, is_expressible
from opsetlift.normalizer.helpers.splits import FIRST_SPLIT_BY_ATTRIBUTE, become_split
from opsetlift.normalizer.rewriting import Context, Pass

_VIEWS = ("Reshape", "Unsqueeze", "Flatten", "Squeeze")


def gathers_as_split(graph: gs.Graph, context: Context) -> bool:
    """Write a view and what gathers each element of one of its dimensions as one Split."""
    if context.opset() < FIRST_SPLIT_BY_ATTRIBUTE:
        return False
    is_done = False
    for view in nodes_of(graph, *_VIEWS):
        parts = _parts(view, context)
        found = None if parts is None else _split_of(view, parts, context)
        if parts is None or found is None:
            continue
        axis, size = found
        outputs = [part.outputs[0] for part in parts]
        for part in parts:
            part.outputs.clear()
        become_split(view, view.inputs[0], [size] * len(parts), axis, context)
        view.outputs = outputs
        context.inherit(view, *parts)
        is_done = True
    return is_done


def _parts(view: gs.Node, context: Context) -> list[gs.Node] | None:
    """The nodes that gather each element of one dimension of a view, in order; None where others read it."""
    data = view.outputs[0]
    shape = context.shape_of(data)
    if not shape or not data.outputs or context.uses(data) != len(data.outputs):
        return None
    axis = _axis(data.outputs[0], len(shape))
    size = None if axis is None else shape[axis]
    if axis is None or not isinstance(size, int) or size < 2:
        return None
    by_index: dict[int, gs.Node] = {}
    for node in data.outputs:
        if not is_operator(node, "Gather") or node.inputs[0] is not data or _axis(node, len(shape)) != axis:
            return None
        indices = integers(node.inputs[1], context)
        if not indices or static_shape(node.inputs[1], context) != []:
            return None
        by_index[indices[0] % size] = node
    if len(by_index) < len(data.outputs) or sorted(by_index) != list(range(size)):
        return None
    return [by_index[index] for index in range(size)]


def _axis(gather: gs.Node, rank: int) -> int | None:
    """The axis of a Gather, from the front."""
    axes = normalised_axes([gather.attrs.get("axis", 0)], rank)
    return None if axes is None else axes[0]


def _split_of(view: gs.Node, parts: list[gs.Node], context: Context) -> tuple[int, int] | None:
    """The axis of the view's input along which equal parts are what the Gathers give, and their size."""
    source, shape, part = (
        context.shape_of(tensor) for tensor in (view.inputs[0], view.outputs[0], parts[0].outputs[0])
    )
    if source is None or shape is None or part is None or len(source) != len(part) or 0 in source:
        return None
    gathered = _axis(parts[0], len(shape))
    if gathered is None or not is_expressible(source):
        return None
    for axis, size in enumerate(source):
        if not isinstance(size, int) or size % len(parts):
            continue
        # Then the dimensions before hold as many elements in both shapes, one of which may be unknown.
        has_same_rest = _count(source[axis:]) == _count(shape[gathered:]) is not None
        if has_same_rest and list(part) == [*source[:axis], size // len(parts), *source[axis + 1 :]]:
            return axis, size // len(parts)
    return None


def _count(shape: Sequence[Size]) -> int | None:
    """How many elements there are; None where a size is unknown."""
    sizes = [size for size in shape if isinstance(size, int)]
    return prod(sizes) if len(sizes) == len(shape) else None


PASS = Pass(
    name="gathers-as-split",
    rewrite=gathers_as_split,
    summary="Replace a Reshape and Gathers of each element of a dimension that it makes by one Split.",
    operators=frozenset(("Gather",)),
)
