"""Moves that keep the order of the elements are written as Reshape, next to a view that they can merge with.

A Transpose that only moves dimensions of size 1, a Gather of 0, 1, 2..., an Expand or a Tile that only adds such
dimensions: where all sizes but one are known and none is 0, each gives the elements that it gets, in their order, in
another shape. Alone they stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    become,
    nodes_of,
    normalised_axes,
    sole_producer,
    takes_vectors,
    vector,
)
from opsetlift.normalizer.helpers.sizes import Size, is_expressible, numbers_or_rest
from opsetlift.normalizer.rewriting import Context, Pass

_VIEWS = frozenset(("Reshape", "Flatten", "Squeeze", "Unsqueeze"))
_MOVES = ("Expand", "Gather", "Tile", "Transpose")
_RESHAPE_WITH_INPUT = 5


def moves_as_reshapes(graph: gs.Graph, context: Context) -> bool:
    """Write such moves as Reshape, where the node before or after is a view."""
    if context.opset() < _RESHAPE_WITH_INPUT or not takes_vectors(context):
        return False
    is_done = False
    for node in nodes_of(graph, *_MOVES):
        if not _touches_view(node, context):
            continue
        source, target = context.shape_of(node.inputs[0]), context.shape_of(node.outputs[0])
        if source is None or target is None or 0 in target or not is_expressible(target):
            continue
        if _keeps_order(node, source, target, context):
            shape = vector(numbers_or_rest(target), f"{node.outputs[0].name}_shape", context)
            become(node, "Reshape", [node.inputs[0], shape])
            is_done = True
    return is_done


def _touches_view(node: gs.Node, context: Context) -> bool:
    if sole_producer(node.inputs[0], context, *_VIEWS) is not None:
        return True
    output = node.outputs[0]
    return len(output.outputs) == 1 and output.outputs[0].op in _VIEWS and context.uses(output) == 1


def _keeps_order(node: gs.Node, source: Sequence[Size], target: Sequence[Size], context: Context) -> bool:
    if node.op == "Transpose":
        permutation = node.attrs.get("perm", list(range(len(source)))[::-1])
        moved = [axis for axis in permutation if source[axis] != 1]
        return moved == sorted(moved)
    if node.op == "Gather":
        indices = context.constant(node.inputs[1])
        axes = normalised_axes([node.attrs.get("axis", 0)], len(source))
        if indices is None or axes is None or indices.size != source[axes[0]]:
            return False
        return bool((indices.reshape(-1) == numpy.arange(indices.size)).all())
    # Expand and Tile repeat elements, or, as many as there were before, none.
    sizes = [size for size in source if size != 1]
    return None not in sizes and sizes == [size for size in target if size != 1]


PASS = Pass(
    name="moves-as-reshapes",
    rewrite=moves_as_reshapes,
    summary="Merge transposes, gathers and expansions that keep the element order with the reshapes around them.",
    operators=frozenset(_MOVES),
)
