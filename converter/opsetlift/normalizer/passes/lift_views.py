"""Views and transposes in turn become one view and one Transpose.

Where the second view of view, Transpose, view only takes dimensions apart, it does so before the Transpose just as
well; where the first one only joins dimensions, the Transpose moves them one by one. Of Transpose, view, Transpose the
view can come first, where it only takes dimensions apart, and last, where it only joins them. Dimensions of size 1 may
come and go everywhere. One size may be unknown, or have the same symbol on both sides, and none is 0; a Squeeze of what
an Unsqueeze made needs to know no size. Exact: elements keep their order in each view.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    axes_of,
    become,
    nodes_of,
    normalised_axes,
    rank_of,
    sole_producer,
    takes_vectors,
    vector,
)
from opsetlift.normalizer.helpers.sizes import Size, is_expressible, numbers_or_rest
from opsetlift.normalizer.rewriting import Context, Pass

_VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
_RESHAPE_WITH_INPUT = 5
_AXES_AS_INPUT = 13
Shape = Sequence[Size]


def lift_views(graph: gs.Graph, context: Context) -> bool:
    """Leave one view and one Transpose of three of them in turn."""
    if context.opset() < _RESHAPE_WITH_INPUT or not takes_vectors(context):
        return False
    is_done = False
    for view in nodes_of(graph, *_VIEWS):
        transpose = sole_producer(view.inputs[0], context, "Transpose")
        first = None if transpose is None else sole_producer(transpose.inputs[0], context, *_VIEWS)
        if transpose is not None and first is not None:
            is_done |= _two_views(first, transpose, view, context)
    for second in nodes_of(graph, "Transpose"):
        between = sole_producer(second.inputs[0], context, *_VIEWS)
        transpose = None if between is None else sole_producer(between.inputs[0], context, "Transpose")
        if transpose is not None and between is not None:
            is_done |= _two_transposes(transpose, between, second, context)
    return is_done


def _two_views(first: gs.Node, transpose: gs.Node, view: gs.Node, context: Context) -> bool:
    source, middle, target = (
        context.shape_of(tensor) for tensor in (first.inputs[0], transpose.inputs[0], view.outputs[0])
    )
    permutation = _permutation(transpose, context)
    if permutation is None or middle is None:
        return False
    if target is None or not is_expressible(target):
        return (
            view.op == "Squeeze" and first.op == "Unsqueeze" and _squeeze_first(transpose, view, permutation, context)
        )
    if (groups := _groups([middle[axis] for axis in permutation], target)) is not None:
        order = [position for axis in range(len(middle)) for position in groups[permutation.index(axis)]]
        _view_and_transpose(first.inputs[0], transpose, view, [target[position] for position in order], order, context)
    elif source is not None and (groups := _groups(middle, source)) is not None:
        order = [position for axis in permutation for position in groups[axis]]
        _transpose_and_view(first.inputs[0], transpose, view, order, target, context)
    else:
        return False
    context.inherit(transpose, first)
    return True


def _two_transposes(transpose: gs.Node, view: gs.Node, second: gs.Node, context: Context) -> bool:
    before, after, target = (
        context.shape_of(tensor) for tensor in (transpose.outputs[0], view.outputs[0], second.outputs[0])
    )
    first_moves, second_moves = _permutation(transpose, context), _permutation(second, context)
    if first_moves is None or second_moves is None or before is None or after is None or target is None:
        return False
    data = transpose.inputs[0]
    if (groups := _groups(after, before)) is not None and is_expressible(target):
        order = [first_moves[position] for axis in second_moves for position in groups[axis]]
        _transpose_and_view(data, view, second, order, target, context)
    elif (groups := _groups(before, after)) is not None and is_expressible(after):
        order = [position for axis in range(len(before)) for position in groups[first_moves.index(axis)]]
        shape = [after[position] for position in order]
        _view_and_transpose(data, view, second, shape, order, context, second_moves)
    else:
        return False
    context.inherit(view, transpose)
    return True


def _permutation(node: gs.Node, context: Context) -> list[int] | None:
    rank = rank_of(node.inputs[0], context)
    if rank is None:
        return None
    found = list(node.attrs.get("perm", range(rank)[::-1]))
    return found if len(found) == rank else None


def _groups(coarse: Shape, fine: Shape) -> list[list[int]] | None:
    """For each coarse dimension the fine ones that it joins; None where it does not join any in this order.

    A fine dimension of size 1 that no coarse one needs goes with the one before it. Where one size is unknown on each
    side, the coarse one joins what the others leave.
    """
    if 0 in coarse or 0 in fine:
        return None
    unknown = [[axis for axis, size in enumerate(shape) if not isinstance(size, int)] for shape in (coarse, fine)]
    if [len(axes) for axes in unknown] != [1, 1]:
        groups = _matched(coarse, list(enumerate(fine)))
        return groups if groups is not None and sum(map(len, groups)) == len(fine) else None
    place = unknown[0][0]
    before = _matched(coarse[:place], list(enumerate(fine)))
    if before is None:
        return None
    rest = list(enumerate(fine))[sum(map(len, before)) :]
    after = _matched(coarse[:place:-1], rest[::-1])
    if after is None:
        return None
    left = [position for position, _ in rest[: len(rest) - sum(map(len, after))]]
    if unknown[1][0] not in left:
        return None
    return [*before, left, *(group[::-1] for group in after[::-1])]


def _matched(coarse: Shape, fine: Sequence[tuple[int, Size]]) -> list[list[int]] | None:
    """For each coarse dimension those fine ones, in turn, whose product it is; a symbol is the same symbol alone."""
    groups: list[list[int]] = []
    count = 0
    for size in coarse:
        group: list[int] = []
        left = size
        for position, found in fine[count:]:
            if isinstance(left, int) and isinstance(found, int) and left % found == 0:
                left //= found
            elif isinstance(left, str) and left == found:
                left = 1
            elif found != 1:
                break
            group.append(position)
        if left != 1:
            return None
        groups.append(group)
        count += len(group)
    return groups


def _view_and_transpose(
    data: gs.Tensor,
    view: gs.Node,
    transpose: gs.Node,
    shape: Shape,
    order: list[int],
    context: Context,
    then: Sequence[int] | None = None,
) -> None:
    """Reshape `data` to `shape`, whose dimensions `order` names, and transpose them into order, and by `then`."""
    made = gs.Variable(context.fresh_name(view.outputs[0].name), view.outputs[0].dtype)
    become(view, "Reshape", [data, vector(numbers_or_rest(shape), f"{made.name}_shape", context)])
    view.outputs = [made]
    moves = [order.index(position) for position in range(len(order))]
    become(transpose, "Transpose", [made], {"perm": moves if then is None else [moves[axis] for axis in then]})


def _transpose_and_view(
    data: gs.Tensor, transpose: gs.Node, view: gs.Node, order: list[int], target: Shape, context: Context
) -> None:
    """Transpose `data`, and let `view` give the target shape."""
    made = gs.Variable(context.fresh_name(transpose.outputs[0].name), transpose.outputs[0].dtype)
    become(transpose, "Transpose", [data], {"perm": order})
    transpose.outputs = [made]
    become(view, "Reshape", [made, vector(numbers_or_rest(target), f"{view.outputs[0].name}_shape", context)])


def _squeeze_first(transpose: gs.Node, squeeze: gs.Node, permutation: list[int], context: Context) -> bool:
    """Squeeze what is transposed, whatever the sizes are."""
    given = axes_of(squeeze, 1, context)
    axes = None if not given else normalised_axes(given, len(permutation))
    if axes is None:
        return False
    gone = sorted(permutation[axis] for axis in axes)
    left = [axis for axis in range(len(permutation)) if axis not in gone]
    moves = [left.index(moved) for axis, moved in enumerate(permutation) if axis not in axes]
    made = gs.Variable(context.fresh_name(transpose.outputs[0].name), transpose.outputs[0].dtype)
    data = transpose.inputs[0]
    if context.opset() < _AXES_AS_INPUT:
        become(transpose, "Squeeze", [data], {"axes": gone})
    else:
        become(transpose, "Squeeze", [data, vector(gone, f"{made.name}_axes", context)])
    transpose.outputs = [made]
    become(squeeze, "Transpose", [made], {"perm": moves})
    return True


PASS = Pass(
    name="lift-views",
    rewrite=lift_views,
    summary="Make one view and one Transpose of three of them in turn.",
    operators=frozenset(("Transpose",)),
)
