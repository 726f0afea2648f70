"""Reading every element of a dimension that a Reshape made is one Split of what it reshaped.

Exporters write the three projections of attention as one: a Reshape makes a dimension of three, and a Gather takes each
of them. Where each takes another element, and what it gives is just a part of the Reshape's input along one axis, a
Split gives all of them. All sizes are known, and none is 0. Exact: elements are only chosen.
"""

from __future__ import annotations

from math import prod

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import integers, is_operator, nodes_of, normalised_axes, static_shape
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
        axis = None if parts is None else _split_axis(view, parts, context)
        if parts is None or axis is None:
            continue
        size = static_shape(parts[0].outputs[0], context) or []
        outputs = [part.outputs[0] for part in parts]
        for part in parts:
            part.outputs.clear()
        become_split(view, view.inputs[0], [size[axis]] * len(parts), axis, context)
        view.outputs = outputs
        context.inherit(view, *parts)
        is_done = True
    return is_done


def _parts(view: gs.Node, context: Context) -> list[gs.Node] | None:
    """The nodes that gather each element of one dimension of a view, in order; None where others read it."""
    data = view.outputs[0]
    shape = static_shape(data, context)
    if not shape or not data.outputs or context.uses(data) != len(data.outputs):
        return None
    by_index: dict[int, gs.Node] = {}
    axis = -1
    for node in data.outputs:
        if not is_operator(node, "Gather") or node.inputs[0] is not data:
            return None
        indices = integers(node.inputs[1], context)
        axes = normalised_axes([node.attrs.get("axis", 0)], len(shape))
        if indices is None or axes is None or static_shape(node.inputs[1], context) != [] or axis not in (-1, axes[0]):
            return None
        axis = axes[0]
        by_index[indices[0] % shape[axis] if shape[axis] else -1] = node
    if len(by_index) < len(data.outputs) or sorted(by_index) != list(range(shape[axis])) or len(by_index) < 2:
        return None
    # The dimensions before the gathered one hold as many elements as those before the axis of the Split.
    view_outer = prod(shape[:axis])
    source = static_shape(view.inputs[0], context)
    if source is None or 0 in source or view_outer not in (prod(source[:end]) for end in range(len(source))):
        return None
    return [by_index[index] for index in range(len(by_index))]


def _split_axis(view: gs.Node, parts: list[gs.Node], context: Context) -> int | None:
    """The axis along which equal parts of the view's input are what the Gathers give."""
    source, part = static_shape(view.inputs[0], context), static_shape(parts[0].outputs[0], context)
    gathered = parts[0].attrs.get("axis", 0)
    shape = static_shape(view.outputs[0], context) or []
    outer = prod(shape[: gathered if gathered >= 0 else gathered + len(shape)])
    if source is None or part is None or len(source) != len(part):
        return None
    for axis, size in enumerate(source):
        expected = [*source[:axis], size // len(parts), *source[axis + 1 :]]
        if size % len(parts) == 0 and part == expected and prod(source[:axis]) == outer:
            return axis
    return None


PASS = Pass(
    name="gathers-as-split",
    rewrite=gathers_as_split,
    summary="Replace a Reshape and Gathers of each element of a dimension that it makes by one Split.",
    operators=frozenset(("Gather",)),
)
