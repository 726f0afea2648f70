"""Taking one element of an axis, and whether the axis stays, is one Gather.

Squeeze(Slice(x, i, i + 1, a), a) is Gather(x, i, a) with a scalar, and so are Split into single elements and Squeeze of
each. A view that only adds or removes dimensions in the place that a Gather's constant indices have makes their shape
another one. A Transpose whose readers all take single elements of one axis goes, where the others are in order without
that axis. Exact: the same elements in the same order.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    axes_of,
    become,
    is_operator,
    new_constant,
    nodes_of,
    normalised_axes,
    producer,
    rank_of,
    sole_producer,
    static_shape,
    takes_vectors,
)
from opsetlift.normalizer.helpers.slices import slice_of
from opsetlift.normalizer.rewriting import Context, Pass


def merge_selections(graph: gs.Graph, context: Context) -> bool:
    """Write what takes single elements as one Gather."""
    if not takes_vectors(context):
        return False
    is_done = False
    for node in nodes_of(graph, "Squeeze"):
        is_done |= _squeezed_slice(node, context)
    for node in nodes_of(graph, "Squeeze", "Unsqueeze"):
        is_done |= _reshaped_indices(node, context)
    for node in nodes_of(graph, "Split"):
        is_done |= _squeezed_parts(node, context)
    for node in nodes_of(graph, "Transpose"):
        is_done |= _elements_of_transposed(node, context)
    return is_done


def _squeezed_slice(squeeze: gs.Node, context: Context) -> bool:
    node = sole_producer(squeeze.inputs[0], context, "Slice")
    axis = _only_axis(squeeze, context)
    if node is None or axis is None:
        return False
    found, shape = slice_of(node, context), context.shape_of(node.inputs[0])
    if found is None or shape is None or found.steps != [1]:
        return False
    size = shape[axis]
    if normalised_axes(found.axes, len(shape)) != [axis] or not isinstance(size, int):
        return False
    start, end = found.bounds(0, size)
    if end != start + 1:
        return False
    _gather(squeeze, node.inputs[0], start, axis, context)
    context.inherit(squeeze, node)
    return True


def _squeezed_parts(split: gs.Node, context: Context) -> bool:
    rank = rank_of(split.inputs[0], context)
    axes = None if rank is None else normalised_axes([split.attrs.get("axis", 0)], rank)
    if axes is None:
        return False
    squeezes: list[tuple[int, gs.Node]] = []
    for index, output in enumerate(split.outputs):
        shape = context.shape_of(output)
        if output.is_empty() or shape is None or shape[axes[0]] != 1 or context.uses(output) != len(output.outputs):
            return False
        squeezes += [(index, reader) for reader in output.outputs]
    if any(not is_operator(node, "Squeeze") or _only_axis(node, context) != axes[0] for _, node in squeezes):
        return False
    for index, node in squeezes:
        _gather(node, split.inputs[0], index, axes[0], context)
    if squeezes:
        context.inherit(squeezes[0][1], split)
    return bool(squeezes)


def _gather(node: gs.Node, data: gs.Tensor, index: int, axis: int, context: Context) -> None:
    name = f"{node.outputs[0].name}_index"
    become(node, "Gather", [data, new_constant(numpy.array(index), name, context)], {"axis": axis})


def _only_axis(node: gs.Node, context: Context) -> int | None:
    """The one axis that a Squeeze removes, from the front."""
    axes, rank = axes_of(node, 1, context), rank_of(node.inputs[0], context)
    counted = normalised_axes(axes, rank) if axes is not None and rank is not None else None
    return counted[0] if counted is not None and len(counted) == 1 else None


def _reshaped_indices(node: gs.Node, context: Context) -> bool:
    gather = sole_producer(node.inputs[0], context, "Gather")
    if gather is None or producer(gather.inputs[0], context, "Shape") is not None:
        return False  # sizes are picked by passes of their own
    indices, rank = context.constant(gather.inputs[1]), rank_of(gather.inputs[0], context)
    if indices is None or rank is None:
        return False
    wide = rank - 1 + indices.ndim
    start = normalised_axes([gather.attrs.get("axis", 0)], rank)
    given = axes_of(node, 1, context)
    if start is None or not given:
        return False
    after = indices.ndim + len(given) if node.op == "Unsqueeze" else indices.ndim
    axes = normalised_axes(given, wide + len(given) if node.op == "Unsqueeze" else wide)
    if axes is None or any(not start[0] <= axis < start[0] + after for axis in axes):
        return False
    local = tuple(axis - start[0] for axis in axes)
    if node.op == "Unsqueeze":
        indices = numpy.expand_dims(indices, local)
    elif any(indices.shape[axis] != 1 for axis in local):
        return False
    else:
        indices = numpy.squeeze(indices, local)
    name = f"{node.outputs[0].name}_index"
    become(node, "Gather", [gather.inputs[0], new_constant(indices, name, context)], {"axis": start[0]})
    context.inherit(node, gather)
    return True


def _elements_of_transposed(node: gs.Node, context: Context) -> bool:
    output = node.outputs[0]
    readers = list(output.outputs)
    rank = rank_of(node.inputs[0], context)
    if rank is None or not readers or context.uses(output) != len(readers):
        return False
    axes = [_axis_of_element(reader, output, rank, context) for reader in readers]
    axis = axes[0]
    if axis is None or any(other != axis for other in axes):
        return False
    permutation = list(node.attrs.get("perm", range(rank)[::-1]))
    left = [moved for position, moved in enumerate(permutation) if position != axis]
    if len(permutation) != rank or left != sorted(left):
        return False
    for reader in readers:
        become(reader, "Gather", [node.inputs[0], reader.inputs[1]], {"axis": permutation[axis]})
    context.inherit(readers[0], node)
    return True


def _axis_of_element(node: gs.Node, data: gs.Tensor, rank: int, context: Context) -> int | None:
    """The axis, from the front, of which a Gather takes one element of `data`."""
    if not is_operator(node, "Gather") or node.inputs[0] is not data or static_shape(node.inputs[1], context) != []:
        return None
    axes = normalised_axes([node.attrs.get("axis", 0)], rank)
    return None if axes is None else axes[0]


PASS = Pass(
    name="merge-selections",
    rewrite=merge_selections,
    summary="Take single elements of an axis by one Gather, without Squeeze, Unsqueeze or Transpose.",
    operators=frozenset(("Squeeze", "Unsqueeze", "Transpose")),
)
