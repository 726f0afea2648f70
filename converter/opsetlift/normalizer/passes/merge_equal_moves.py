"""The same move of each part of a Split, or of each input of a Concat, is one move.

Where each part of a Split is transposed, and some of them in the same way, the whole is transposed before: parts with
another permutation get what is left to do. Where each part gets another shape that keeps what is before and after the
axis, in number of elements, the whole gets that shape. So it is with what a Concat reads, the other way round; a stack
(Unsqueeze of each input, and Concat) becomes Concat and Reshape. Shapes are known, but for one size before the axis,
and none is 0. Exact: the same elements in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    is_operator,
    nodes_of,
    normalised_axes,
    rank_of,
    sole_producer,
    takes_vectors,
    vector,
)
from opsetlift.normalizer.helpers.sizes import Size, numbers_or_rest
from opsetlift.normalizer.helpers.splits import FIRST_SPLIT_BY_ATTRIBUTE, become_split
from opsetlift.normalizer.rewriting import Context, Pass

_VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
_RESHAPE_WITH_INPUT = 5
Shape = Sequence[Size]


def merge_equal_moves(graph: gs.Graph, context: Context) -> bool:
    """Do once, before a Split or after a Concat, what is done to each part."""
    reshapes = context.opset() >= _RESHAPE_WITH_INPUT and takes_vectors(context)
    is_done = False
    for node in nodes_of(graph, "Split"):
        if context.opset() >= FIRST_SPLIT_BY_ATTRIBUTE:
            is_done |= _transpose_before(graph, node, context) or (reshapes and _reshape_before(graph, node, context))
    for node in nodes_of(graph, "Concat"):
        is_done |= _transpose_after(graph, node, context) or (reshapes and _reshape_after(graph, node, context))
    return is_done


# Split


def _readers(split: gs.Node, operators: Sequence[str], context: Context) -> list[gs.Node] | None:
    """The node of `operators` that alone reads each part, as its first input; None where it is something else."""
    readers: list[gs.Node] = []
    for output in split.outputs:
        if output.is_empty() or context.uses(output) != 1 or len(output.outputs) != 1:
            return None
        reader = output.outputs[0]
        if not is_operator(reader, *operators) or reader.inputs[0] is not output:
            return None
        readers.append(reader)
    return readers if len(readers) > 1 else None


def _axis_of(node: gs.Node, tensor: gs.Tensor, context: Context) -> int | None:
    rank = rank_of(tensor, context)
    axes = None if rank is None else normalised_axes([node.attrs.get("axis", 0)], rank)
    return None if axes is None else axes[0]


def _permutation(node: gs.Node, rank: int) -> tuple[int, ...]:
    return tuple(node.attrs.get("perm", range(rank)[::-1]))


def _transpose_before(graph: gs.Graph, split: gs.Node, context: Context) -> bool:
    data = split.inputs[0]
    readers, axis, rank = (
        _readers(split, ("Transpose",), context),
        _axis_of(split, data, context),
        rank_of(data, context),
    )
    if readers is None or axis is None or rank is None:
        return False
    permutations = [_permutation(reader, rank) for reader in readers]
    common, count = Counter(permutations).most_common(1)[0]
    if count < 2:
        return False
    moved = gs.Variable(context.fresh_name(f"{data.name}_transposed"), split.outputs[0].dtype)
    whole = gs.Node("Transpose", attrs={"perm": list(common)}, inputs=[data], outputs=[moved])
    graph.nodes.append(whole)
    split.inputs[0], split.attrs["axis"] = moved, common.index(axis)
    for index, (reader, permutation) in enumerate(zip(readers, permutations, strict=True)):
        if permutation == common:
            split.outputs[index] = _taken(reader)
            context.inherit(whole, reader)
            continue
        part = gs.Variable(context.fresh_name(split.outputs[index].name), moved.dtype)
        split.outputs[index] = reader.inputs[0] = part
        reader.attrs["perm"] = [common.index(moved_axis) for moved_axis in permutation]
    return True


def _reshape_before(graph: gs.Graph, split: gs.Node, context: Context) -> bool:
    data = split.inputs[0]
    readers, axis = _readers(split, _VIEWS, context), _axis_of(split, data, context)
    targets = _shapes([reader.outputs[0] for reader in readers or ()], context)
    counts = None if axis is None else _counts(_shapes(split.outputs, context), axis)
    place = None if not targets or counts is None else _shared_axis(targets, counts)
    if readers is None or targets is None or place is None:
        return False
    sizes = [_number(target[place]) for target in targets]
    moved = gs.Variable(context.fresh_name(f"{data.name}_reshaped"), split.outputs[0].dtype)
    shape = numbers_or_rest([*targets[0][:place], sum(sizes), *targets[0][place + 1 :]])
    whole = gs.Node("Reshape", inputs=[data, vector(shape, f"{moved.name}_shape", context)], outputs=[moved])
    graph.nodes.append(whole)
    become_split(split, moved, sizes, place, context)
    split.outputs = [_taken(reader) for reader in readers]
    context.inherit(whole, *readers)
    return True


# Concat


def _producers(concat: gs.Node, operators: Sequence[str], context: Context) -> list[gs.Node] | None:
    """The node of `operators` that computes each input for it alone; None where it is something else."""
    found = [sole_producer(tensor, context, *operators) for tensor in concat.inputs]
    producers = [node for node in found if node is not None]
    return producers if len(producers) == len(found) > 1 else None


def _transpose_after(graph: gs.Graph, concat: gs.Node, context: Context) -> bool:
    producers, axis = _producers(concat, ("Transpose",), context), _axis_of(concat, concat.outputs[0], context)
    if producers is None or axis is None:
        return False
    rank = rank_of(concat.outputs[0], context)
    permutations = {_permutation(node, rank or 0) for node in producers}
    if len(permutations) > 1:
        return False
    (permutation,) = permutations
    moved = gs.Variable(context.fresh_name(f"{concat.outputs[0].name}_concat"), concat.outputs[0].dtype)
    _append(graph, gs.Node("Transpose", attrs={"perm": list(permutation)}, inputs=[moved]), concat, producers, context)
    concat.attrs["axis"] = permutation[axis]
    concat.outputs = [moved]
    return True


def _reshape_after(graph: gs.Graph, concat: gs.Node, context: Context) -> bool:
    producers, axis = _producers(concat, _VIEWS, context), _axis_of(concat, concat.outputs[0], context)
    shape = context.shape_of(concat.outputs[0])
    sources = _shapes([node.inputs[0] for node in producers or ()], context)
    counts = None if axis is None else _counts(_shapes(list(concat.inputs), context), axis)
    place = None if not sources or counts is None else _shared_axis(sources, counts)
    if producers is None or place is None or shape is None or axis is None or _unknown(shape[:axis]) > 1:
        return False
    moved = gs.Variable(context.fresh_name(f"{concat.outputs[0].name}_concat"), concat.outputs[0].dtype)
    target = vector(numbers_or_rest(shape), f"{concat.outputs[0].name}_shape", context)
    _append(graph, gs.Node("Reshape", inputs=[moved, target]), concat, producers, context)
    concat.attrs["axis"] = place
    concat.outputs = [moved]
    return True


def _append(graph: gs.Graph, move: gs.Node, concat: gs.Node, producers: Sequence[gs.Node], context: Context) -> None:
    """Let `move` compute what the Concat computed, of what its inputs were before they were moved."""
    move.outputs = [_taken(concat)]
    concat.inputs = [node.inputs[0] for node in producers]
    graph.nodes.append(move)
    context.inherit(move, *producers)


# Both


def _shapes(tensors: Sequence[gs.Tensor], context: Context) -> list[Shape] | None:
    shapes = [context.shape_of(tensor) for tensor in tensors]
    known: list[Shape] = [shape for shape in shapes if shape is not None]
    return known if len(known) == len(shapes) else None


def _counts(shapes: Sequence[Shape] | None, axis: int) -> list[int] | None:
    """How many elements each shape has from `axis` on; None where it is not known, or 0."""
    tails = [_numbers(shape[axis:]) for shape in shapes or ()]
    counts = [prod(tail) for tail in tails if tail is not None]
    return counts if len(counts) == len(tails) and 0 not in counts else None


def _shared_axis(shapes: Sequence[Shape], counts: Sequence[int]) -> int | None:
    """The one axis in which the shapes may differ, and from which on they hold so many elements.

    One size before it may be unknown: it is the same in all, as all other sizes are.
    """
    ranks = {len(shape) for shape in shapes}
    if len(ranks) > 1:
        return None
    for axis in range(ranks.pop()):
        before, after = shapes[0][:axis], shapes[0][axis + 1 :]
        if 0 in before or _unknown(before) > 1:
            return None
        if _counts(shapes, axis) == list(counts) and all(
            numbers_or_rest(shape[:axis]) == numbers_or_rest(before) and shape[axis + 1 :] == after for shape in shapes
        ):
            return axis
    return None


def _unknown(shape: Shape) -> int:
    return sum(not isinstance(size, int) for size in shape)


def _numbers(shape: Shape) -> list[int] | None:
    return None if _unknown(shape) else numbers_or_rest(shape)


def _number(size: Size) -> int:
    assert isinstance(size, int)
    return size


def _taken(node: gs.Node) -> gs.Tensor:
    """The output of a node, which is left dead."""
    (output,) = node.outputs
    node.outputs.clear()
    return output


PASS = Pass(
    name="merge-equal-moves",
    rewrite=merge_equal_moves,
    summary="Transpose or reshape once what is transposed or reshaped in parts.",
    operators=frozenset(("Split", "Concat")),
)
