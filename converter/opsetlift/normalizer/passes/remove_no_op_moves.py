"""Nodes that pass their input on: moves that move nothing.

Exact by definition: what comes out is what went in, element by element, of the same dtype and the same shape. Where
that rests on a shape, the shape is known, or is the same whatever it is (a target of [0, -1] for a matrix). The node
stays where it computes an output from an input, a constant or another output, as then the name has to.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    axes_of,
    given,
    integers,
    nodes_of,
    normalised_axes,
    rank_of,
    static_shape,
)
from opsetlift.normalizer.helpers.slices import slice_of
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.specification import dtypes


def remove_no_op_moves(graph: gs.Graph, context: Context) -> bool:
    """Let what reads such a node's output read its input."""
    is_done = False
    for node in nodes_of(graph, *_PASSES_ON):
        if given(node, 0) is not None and not _has_more_outputs(node, context) and _PASSES_ON[node.op](node, context):
            is_done |= context.replace_uses(node.outputs[0], node.inputs[0])
    return is_done


def _has_more_outputs(node: gs.Node, context: Context) -> bool:
    return len(node.outputs) > 1 and any(not output.is_empty() and context.uses(output) for output in node.outputs[1:])


def _always(node: gs.Node, context: Context) -> bool:
    return True


def _cast(node: gs.Node, context: Context) -> bool:
    source = context.dtype_of(node.inputs[0])
    to = node.attrs.get("to")
    if isinstance(to, str):  # up to opset 5 the dtype was spelled
        return source is not None and to.lower() == source
    return source is not None and to == dtypes.element_type(source)


def _cast_like(node: gs.Node, context: Context) -> bool:
    source = context.dtype_of(node.inputs[0])
    return source is not None and source == context.dtype_of(node.inputs[1])


def _dropout(node: gs.Node, context: Context) -> bool:
    if context.opset() < 7:
        return bool(node.attrs.get("is_test", 0))
    if context.opset() < 12:
        return True
    training = given(node, 2)
    if training is None:
        return True
    value = context.constant(training)
    return value is not None and not value.any()


def _reshape(node: gs.Node, context: Context) -> bool:
    before, after = (static_shape(tensor, context) for tensor in (node.inputs[0], node.outputs[0]))
    return before == after if before is not None and after is not None else _keeps_dimensions(node, context)


def _keeps_dimensions(node: gs.Node, context: Context) -> bool:
    """Whether the target repeats each dimension: as 0, as its known size, or one of them as -1."""
    shape = context.shape_of(node.inputs[0])
    target = node.attrs.get("shape") if "shape" in node.attrs else integers(given(node, 1), context)
    if shape is None or target is None or len(shape) != len(target) or target.count(-1) > 1:
        return False
    copies = not node.attrs.get("allowzero", 0)
    return all(size in (-1, known) or (size == 0 and copies) for size, known in zip(target, shape, strict=True)) and (
        -1 not in target or 0 not in shape
    )


def _flatten(node: gs.Node, context: Context) -> bool:
    return rank_of(node.inputs[0], context) == 2 and node.attrs.get("axis", 1) in (1, -1)


def _transpose(node: gs.Node, context: Context) -> bool:
    permutation = node.attrs.get("perm")
    if permutation is not None:
        return list(permutation) == list(range(len(permutation)))
    rank = rank_of(node.inputs[0], context)
    return rank is not None and rank <= 1


def _pad(node: gs.Node, context: Context) -> bool:
    pads = node.attrs.get("pads", node.attrs.get("paddings"))
    if pads is None:
        pads = integers(given(node, 1), context)
    return pads is not None and not any(pads)


def _slice(node: gs.Node, context: Context) -> bool:
    found, shape = slice_of(node, context), context.shape_of(node.inputs[0])
    if found is None or not found.starts:
        return False
    return all(
        step == 1 and start == 0 and _is_beyond(end, axis, shape)
        for start, end, axis, step in zip(found.starts, found.ends, found.axes, found.steps, strict=True)
    )


_NO_SIZE_IS_LARGER = 1 << 62


def _is_beyond(end: int, axis: int, shape: tuple[int | str | None, ...] | None) -> bool:
    if end > _NO_SIZE_IS_LARGER:
        return True
    if shape is None or not -len(shape) <= axis < len(shape):
        return False
    size = shape[axis]
    return isinstance(size, int) and end >= size


def _one_input(node: gs.Node, context: Context) -> bool:
    return len(node.inputs) == 1


def _one_part(node: gs.Node, context: Context) -> bool:
    return len(node.outputs) == 1


def _expand(node: gs.Node, context: Context) -> bool:
    target = integers(given(node, 1), context)
    shape = context.shape_of(node.inputs[0])
    if target is None or shape is None or len(target) > len(shape):
        return False
    return all(size in (1, known) for size, known in zip(target, shape[len(shape) - len(target) :], strict=True))


def _tile(node: gs.Node, context: Context) -> bool:
    if context.opset() < 6:
        tiles = integers(given(node, 1), context)
        return tiles == [1]
    repeats = integers(given(node, 1), context)
    return repeats is not None and all(count == 1 for count in repeats)


def _squeeze(node: gs.Node, context: Context) -> bool:
    shape = static_shape(node.inputs[0], context)
    return "axes" not in node.attrs and given(node, 1) is None and shape is not None and 1 not in shape


def _gather(node: gs.Node, context: Context) -> bool:
    """Whether the indices are 0, 1, 2... up to the size of the axis."""
    shape = context.shape_of(node.inputs[0])
    indices = context.constant(node.inputs[1])
    axes = normalised_axes([node.attrs.get("axis", 0)], len(shape)) if shape is not None else None
    if shape is None or indices is None or axes is None or indices.ndim != 1:
        return False
    return indices.size == shape[axes[0]] and bool((indices == numpy.arange(indices.size)).all())


def _reduction(node: gs.Node, context: Context) -> bool:
    """Whether it is told to reduce nothing, or reduces dimensions of size 1 that it keeps."""
    axes = axes_of(node, 1, context)
    is_absent = "axes" not in node.attrs and given(node, 1) is None
    if axes is None and not is_absent:
        return False
    if not axes:
        return bool(node.attrs.get("noop_with_empty_axes", 0))
    # A sum of one number may start at 0, and then loses the sign of a zero.
    return node.op in ("ReduceMax", "ReduceMin", "ReduceProd") and _keeps_only_ones(node, axes, context)


def _keeps_only_ones(node: gs.Node, axes: list[int], context: Context) -> bool:
    shape = context.shape_of(node.inputs[0])
    counted = normalised_axes(axes, len(shape)) if shape is not None else None
    if shape is None or counted is None or not node.attrs.get("keepdims", 1):
        return False
    return all(shape[axis] == 1 for axis in counted)


def _depth_or_space(node: gs.Node, context: Context) -> bool:
    return bool(node.attrs.get("blocksize") == 1)


_PASSES_ON: dict[str, Callable[[gs.Node, Context], bool]] = {
    "Cast": _cast,
    "CastLike": _cast_like,
    "Concat": _one_input,
    "DepthToSpace": _depth_or_space,
    "Dropout": _dropout,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Identity": _always,
    "Pad": _pad,
    "ReduceMax": _reduction,
    "ReduceMean": _reduction,
    "ReduceMin": _reduction,
    "ReduceProd": _reduction,
    "ReduceSum": _reduction,
    "Reshape": _reshape,
    "Slice": _slice,
    "SpaceToDepth": _depth_or_space,
    "Split": _one_part,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
}

PASS = Pass(
    name="remove-no-op-moves",
    rewrite=remove_no_op_moves,
    summary="Remove Identity, Dropout outside training, and casts, reshapes, slices, pads etc. that change nothing.",
    operators=frozenset(_PASSES_ON),
)
