"""A view that only adds or removes dimensions of size 1 moves over a Transpose to a view on its other side.

Transpose(Reshape(x)) with such dimensions added or removed is a Transpose of another Reshape of x; and what a Transpose
gets with such dimensions, and what is reshaped afterwards, is transposed without them. One view of the two is left. All
sizes are known, and none is 0. Exact: elements keep their order on both sides of the Transpose.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    become,
    nodes_of,
    sole_producer,
    static_shape,
    takes_vectors,
    vector,
)
from opsetlift.normalizer.rewriting import Context, Pass

_VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
_RESHAPE_WITH_INPUT = 5


def lift_views(graph: gs.Graph, context: Context) -> bool:
    """Leave one view of those on both sides of a Transpose."""
    if context.opset() < _RESHAPE_WITH_INPUT or not takes_vectors(context):
        return False
    is_done = False
    for view in nodes_of(graph, *_VIEWS):
        transpose = sole_producer(view.inputs[0], context, "Transpose")
        first = None if transpose is None else sole_producer(transpose.inputs[0], context, *_VIEWS)
        if transpose is None or first is None:
            continue
        shapes = [static_shape(one, context) for one in (first.inputs[0], transpose.inputs[0], view.outputs[0])]
        source, middle, target = shapes
        if source is None or middle is None or target is None or 0 in source:
            continue
        permutation = list(transpose.attrs.get("perm", range(len(middle))[::-1]))
        if len(permutation) != len(middle):
            continue
        if _without_ones(target) == _without_ones([middle[axis] for axis in permutation]):
            _view_first(first, transpose, view, (middle, target), permutation, context)
            is_done = True
        elif _without_ones(source) == _without_ones(middle):
            _view_last(first, transpose, view, (source, middle, target), permutation, context)
            is_done = True
    return is_done


def _without_ones(shape: list[int]) -> list[int]:
    return [size for size in shape if size != 1]


def _view_first(
    first: gs.Node,
    transpose: gs.Node,
    view: gs.Node,
    shapes: tuple[list[int], list[int]],
    permutation: list[int],
    context: Context,
) -> None:
    """Let the first view make the dimensions that are transposed to `view`'s result."""
    middle, target = shapes
    # Each dimension of size 1 follows the one that it follows in the result, so that as few as can be change places.
    after: dict[int, list[int]] = {-1: []}
    moved = iter([axis for axis in permutation if middle[axis] != 1])
    place = -1
    for position, size in enumerate(target):
        if size != 1:
            place = next(moved)
            after[place] = []
        after[place].append(position)
    positions = [position for place in sorted(after) for position in after[place]]
    sizes = [target[position] for position in positions]
    order = [positions.index(position) for position in range(len(target))]
    made = gs.Variable(context.fresh_name(transpose.inputs[0].name), transpose.inputs[0].dtype, sizes)
    become(transpose, "Reshape", [first.inputs[0], vector(sizes, f"{made.name}_shape", context)])
    transpose.outputs = [made]
    become(view, "Transpose", [made], {"perm": order})
    context.inherit(transpose, first)


def _view_last(
    first: gs.Node,
    transpose: gs.Node,
    view: gs.Node,
    shapes: tuple[list[int], list[int], list[int]],
    permutation: list[int],
    context: Context,
) -> None:
    """Transpose what the first view reads, and let `view` make its result of that."""
    source, middle, target = shapes
    kept = [axis for axis, size in enumerate(source) if size != 1]
    names = dict(zip([axis for axis, size in enumerate(middle) if size != 1], kept, strict=True))
    order = [axis for axis, size in enumerate(source) if size == 1]
    order += [names[axis] for axis in permutation if middle[axis] != 1]
    made = gs.Variable(context.fresh_name(transpose.outputs[0].name), transpose.outputs[0].dtype)
    made.shape = [source[axis] for axis in order]
    become(transpose, "Transpose", [first.inputs[0]], {"perm": order})
    transpose.outputs = [made]
    become(view, "Reshape", [made, vector(target, f"{view.outputs[0].name}_shape", context)])
    context.inherit(transpose, first)


PASS = Pass(
    name="lift-views",
    rewrite=lift_views,
    summary="Move views by dimensions of size 1 over a Transpose to a view on its other side.",
    operators=frozenset(("Transpose",)),
)
