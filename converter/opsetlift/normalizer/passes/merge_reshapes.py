"""Views of views become one view: Reshape, Flatten, Squeeze and Unsqueeze keep the order of elements.

What follows another one reads past it, where its own result does not depend on the shape in between: its target is
constant and copies no dimension (no 0, unless `allowzero` makes it a size). Where all sizes of the result but one are
known, and none is 0, they become the target of one Reshape. Squeeze(Unsqueeze(x, a), a) and Unsqueeze(Squeeze(x, a), a)
are x, whatever its shape; two Squeezes or two Unsqueezes become one. Exact: no element moves.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    axes_of,
    become,
    nodes_of,
    normalised_axes,
    producer_for,
    rank_of,
    takes_vectors,
    vector,
)
from opsetlift.normalizer.helpers.sizes import Size, ignores_dimensions, is_expressible, numbers_or_rest
from opsetlift.normalizer.rewriting import Context, Pass

_VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
_RESHAPE_WITH_INPUT = 5
_AXES_AS_INPUT = 13


def merge_reshapes(graph: gs.Graph, context: Context) -> bool:
    """Let a view of a view that only such read be one of what that reads."""
    is_done = False
    for node in nodes_of(graph, *_VIEWS):
        while (first := producer_for(node.inputs[0], context, _VIEWS, _VIEWS)) is not None:
            if not context.uses(node.outputs[0]) or not _merge(first, node, context):
                break
            is_done = True
    return is_done


def _merge(first: gs.Node, node: gs.Node, context: Context) -> bool:
    if _squeezes_nothing_or_all(first, context) or _squeezes_nothing_or_all(node, context):
        return False
    if {first.op, node.op} <= {"Squeeze", "Unsqueeze"} and _merge_by_axes(first, node, context):
        return True
    source, target = context.shape_of(first.inputs[0]), context.shape_of(node.outputs[0])
    is_same = target is not None and None not in target and source == target
    if is_same and context.replace_uses(node.outputs[0], first.inputs[0]):
        return True
    if node.op == "Reshape" and ignores_dimensions(node, context):
        node.inputs[0] = first.inputs[0]
    elif target is not None and _can_be_written(target, context):
        shape = vector(numbers_or_rest(target), f"{node.outputs[0].name}_shape", context)
        become(node, "Reshape", [first.inputs[0], shape])
    else:
        return False
    context.inherit(node, first)
    return True


def _can_be_written(target: Sequence[Size], context: Context) -> bool:
    if context.opset() < _RESHAPE_WITH_INPUT or not takes_vectors(context):
        return False
    return 0 not in target and is_expressible(target)


def _squeezes_nothing_or_all(node: gs.Node, context: Context) -> bool:
    """Whether it is an empty list of axes that a Squeeze is given: to some runtimes that means every axis of size 1."""
    return node.op == "Squeeze" and axes_of(node, 1, context) == []


def _merge_by_axes(first: gs.Node, node: gs.Node, context: Context) -> bool:
    before, after = axes_of(first, 1, context), axes_of(node, 1, context)
    if before is None or after is None:
        return False
    ranks = [rank_of(tensor, context) for tensor in (first.inputs[0], node.inputs[0], node.outputs[0])]
    outer, middle, inner = (rank if rank is not None else -1 for rank in ranks)
    if -1 in (outer, middle, inner):
        return False
    wide = max(outer, middle)
    first_axes = normalised_axes(before, wide)
    second_axes = normalised_axes(after, max(middle, inner))
    if first_axes is None or second_axes is None:
        return False
    if first.op != node.op:
        if sorted(first_axes) != sorted(second_axes):
            return False
        # Then nothing reads the second one any more.
        return context.replace_uses(node.outputs[0], first.inputs[0])
    if node.op == "Squeeze":
        kept = [axis for axis in range(outer) if axis not in first_axes]
        axes = first_axes + [kept[axis] for axis in second_axes]
    else:
        old = [axis for axis in range(inner) if axis not in second_axes]
        axes = second_axes + [old[axis] for axis in first_axes]
    _set_axes(node, first.inputs[0], sorted(axes), context)
    context.inherit(node, first)
    return True


def _set_axes(node: gs.Node, data: gs.Tensor, axes: list[int], context: Context) -> None:
    if context.opset() < _AXES_AS_INPUT:
        become(node, node.op, [data], {"axes": axes})
    else:
        become(node, node.op, [data, vector(axes, f"{node.outputs[0].name}_axes", context)])


PASS = Pass(
    name="merge-reshapes",
    rewrite=merge_reshapes,
    summary="Merge consecutive Reshape, Flatten, Squeeze and Unsqueeze into one, or none.",
    operators=frozenset(_VIEWS),
)
