"""Reading every element of a dimension, each by a Gather, is one Split.

Exporters write the three projections of attention as one: a Reshape makes a dimension of three, and a Gather takes each
of them. Where each takes another element, and what it gives is just a part of the Reshape's input along one axis, a
Split gives all of them. All sizes but one before that axis are known, and none is 0.

Otherwise the dimension becomes one with that behind it, of which the elements are parts: in the target of the Reshape
that made it, also where a Transpose lies between, or in one of its own where there are three elements or more. What was
just dequantized stays, as runtimes compute other operators in integers once they are one. Exact: elements are only
chosen and moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    become,
    integers,
    is_operator,
    nodes_of,
    normalised_axes,
    producer,
    static_shape,
    takes_vectors,
    vector,
)
from opsetlift.normalizer.helpers.sizes import Size, ignores_dimensions, is_expressible, numbers_or_rest
from opsetlift.normalizer.helpers.slices import slice_of
from opsetlift.normalizer.helpers.splits import FIRST_SPLIT_BY_ATTRIBUTE, become_split
from opsetlift.normalizer.rewriting import Context, Pass

_VIEWS = ("Reshape", "Unsqueeze", "Flatten", "Squeeze")
_MOVES = (*_VIEWS, "Transpose")
_RESHAPE_WITH_INPUT = 5
_WORTH_A_RESHAPE = 3


@dataclass(frozen=True)
class _Elements:
    """The nodes that gather each element of one dimension of a tensor, in order."""

    data: gs.Tensor
    axis: int
    nodes: list[gs.Node]
    are_all_readers: bool


def gathers_as_split(graph: gs.Graph, context: Context) -> bool:
    """Write what gathers each element of a dimension as one Split."""
    if context.opset() < FIRST_SPLIT_BY_ATTRIBUTE:
        return False
    is_done = False
    for elements in _all_elements(graph, context):
        is_done |= _split_before_view(elements, context) or _split_merged(graph, elements, context)
    return is_done


def _all_elements(graph: gs.Graph, context: Context) -> list[_Elements]:
    taken: dict[tuple[int, int], list[tuple[int, gs.Node]]] = defaultdict(list)
    for node in nodes_of(graph, "Gather", "Slice"):
        found = _gathered(node, context) if node.op == "Gather" else _sliced(node, context)
        if found is not None:
            axis, index = found
            taken[id(node.inputs[0]), axis].append((index, node))
    every = (_elements(axis, some, context) for (_, axis), some in taken.items())
    return [elements for elements in every if elements is not None]


def _elements(axis: int, taken: Sequence[tuple[int, gs.Node]], context: Context) -> _Elements | None:
    """The nodes that take each element along an axis; None where one is missing, or taken twice."""
    data = taken[0][1].inputs[0]
    size, by_index = (context.shape_of(data) or ())[axis], dict(taken)
    if len(taken) < 2 or len(taken) != size or len(by_index) != size or all(node.op == "Slice" for _, node in taken):
        return None
    is_read_elsewhere = context.is_outer(data) or context.uses(data) != size
    return _Elements(data, axis, [by_index[index] for index in range(size)], not is_read_elsewhere)


def _gathered(node: gs.Node, context: Context) -> tuple[int, int] | None:
    """The axis along which a Gather takes one element, and which."""
    shape, indices = context.shape_of(node.inputs[0]), integers(node.inputs[1], context)
    if shape is None or not indices or static_shape(node.inputs[1], context) != []:
        return None
    axes = normalised_axes([node.attrs.get("axis", 0)], len(shape))
    size = None if axes is None else shape[axes[0]]
    if axes is None or not isinstance(size, int) or not -size <= indices[0] < size:
        return None
    return axes[0], indices[0] % size


def _sliced(node: gs.Node, context: Context) -> tuple[int, int] | None:
    """The same of a Slice, where nobody minds that its axis stays."""
    found, shape, output = slice_of(node, context), context.shape_of(node.inputs[0]), node.outputs[0]
    axes = None if found is None or shape is None else normalised_axes(found.axes, len(shape))
    if found is None or shape is None or axes is None or len(axes) != 1 or found.steps != [1]:
        return None
    size = shape[axes[0]]
    if not isinstance(size, int) or not output.outputs or context.uses(output) != len(output.outputs):
        return None
    if not all(is_operator(one, "Reshape") and one.inputs[0] is output for one in output.outputs):
        return None
    start, end = found.bounds(0, size)
    is_one = end == start + 1 and all(ignores_dimensions(one, context) for one in output.outputs)
    return (axes[0], start) if is_one else None


def _split_before_view(elements: _Elements, context: Context) -> bool:
    """Split what a view was made of, where its parts are the elements."""
    view = producer(elements.data, context, *_VIEWS) if elements.are_all_readers else None
    found = None if view is None else _parts_of_source(view, elements, context)
    if view is None or found is None:
        return False
    _become_parts(view, elements, view.inputs[0], *found, context)
    return True


def _parts_of_source(view: gs.Node, elements: _Elements, context: Context) -> tuple[int, int] | None:
    """The size and the axis, of the view's input, of equal parts that are what the Gathers give."""
    source, shape = context.shape_of(view.inputs[0]), context.shape_of(elements.data)
    if source is None or shape is None or 0 in source or not is_expressible(source):
        return None
    part, count = [*shape[: elements.axis], *shape[elements.axis + 1 :]], len(elements.nodes)
    for axis, size in enumerate(source):
        if not isinstance(size, int) or size % count:
            continue
        # Then the dimensions before hold as many elements in both shapes, one of which may be unknown.
        has_same_rest = _count(source[axis:]) == _count(shape[elements.axis :]) is not None
        if has_same_rest and part == [*source[:axis], size // count, *source[axis + 1 :]]:
            return size // count, axis
    return None


def _count(shape: Sequence[Size]) -> int | None:
    """How many elements there are; None where a size is unknown."""
    sizes = [size for size in shape if isinstance(size, int)]
    return prod(sizes) if len(sizes) == len(shape) else None


def _split_merged(graph: gs.Graph, elements: _Elements, context: Context) -> bool:
    """Merge the dimension with the one that lies behind it, before a Transpose if there is one, and split both."""
    if context.opset() < _RESHAPE_WITH_INPUT or not takes_vectors(context) or _is_dequantized(elements.data, context):
        return False
    transpose = producer(elements.data, context, "Transpose") if elements.are_all_readers else None
    source = elements.data if transpose is None else transpose.inputs[0]
    shape = context.shape_of(source)
    order = None if shape is None else _order(transpose, len(shape))
    if shape is None or order is None:
        return False
    axis = order[elements.axis]
    behind = shape[axis + 1] if axis + 1 < len(shape) else None
    if not isinstance(behind, int) or behind < 1:
        return False
    is_inner = elements.are_all_readers if transpose is None else context.uses(source) == 1
    reshape = producer(source, context, "Reshape") if is_inner else None
    target = None if reshape is None else _merged_target(reshape, axis, context)
    if reshape is None or target is None:
        if len(elements.nodes) < _WORTH_A_RESHAPE or not is_expressible(shape) or 0 in shape:
            return False
        target = numbers_or_rest(_merged(shape, axis))
        reshape = gs.Node("Reshape", inputs=[source])
        graph.nodes.append(reshape)
        context.inherit(reshape, elements.nodes[0])
    data = gs.Variable(context.fresh_name(f"{source.name}_merged"), source.dtype, _merged(shape, axis))
    become(reshape, "Reshape", [reshape.inputs[0], vector(target, f"{data.name}_shape", context)])
    reshape.outputs = [data]
    left = [moved - (moved > axis) for moved in order if moved != axis]
    if transpose is not None:
        become(transpose, "Transpose", [data], {"perm": left})
        sizes = [data.shape[moved] for moved in left]
        data = gs.Variable(context.fresh_name(f"{elements.data.name}_merged"), source.dtype, sizes)
        transpose.outputs = [data]
    _become_parts(elements.nodes[0], elements, data, behind, left.index(axis), context)
    return True


def _order(transpose: gs.Node | None, rank: int) -> list[int] | None:
    """The axes of what is transposed, in the order of those of the result; None where they are not that."""
    if transpose is None:
        return list(range(rank))
    order = list(transpose.attrs.get("perm", range(rank)[::-1]))
    return order if sorted(order) == list(range(rank)) else None


def _is_dequantized(data: gs.Tensor, context: Context) -> bool:
    """Whether a DequantizeLinear, and what only moves elements, is all that the data has gone through."""
    while (node := producer(data, context, *_MOVES)) is not None:
        data = node.inputs[0]
    return producer(data, context, "DequantizeLinear") is not None


def _merged_target(reshape: gs.Node, axis: int, context: Context) -> list[int] | None:
    """The target of a Reshape with a dimension and the next one as one; None where it does not tell all it takes."""
    target = integers(reshape.inputs[1], context) if len(reshape.inputs) > 1 else None
    if target is None or min(target[axis : axis + 2]) < 1 or 0 in target[axis + 2 :]:
        return None  # a 0 copies the size at its own place, which is another then
    return None if reshape.attrs.get("allowzero", 0) and 0 in target else numbers_or_rest(_merged(target, axis))


def _merged(shape: Sequence[Size], axis: int) -> list[Size]:
    """A shape with a dimension and the next one, which are known, as one."""
    whole = _count(shape[axis : axis + 2])
    return [*shape[:axis], whole, *shape[axis + 2 :]]


def _become_parts(node: gs.Node, elements: _Elements, data: gs.Tensor, size: int, axis: int, context: Context) -> None:
    """Let a node be the Split of data into equal parts along an axis, which the Gathers gave."""
    outputs = []
    for one in elements.nodes:
        outputs.append(_without_axis(one, elements.axis, context) if one.op == "Slice" else one.outputs[0])
        one.outputs.clear()
    become_split(node, data, [size] * len(outputs), axis, context)
    node.outputs = outputs
    context.inherit(node, *(one for one in elements.nodes if one is not node))


def _without_axis(node: gs.Node, axis: int, context: Context) -> gs.Tensor:
    """What its readers are to read instead of the result of a Slice."""
    old = node.outputs[0]
    shape = list(context.shape_of(old) or ())
    new = gs.Variable(context.fresh_name(f"{old.name}_element"), old.dtype, [*shape[:axis], *shape[axis + 1 :]])
    for reader in list(old.outputs):
        reader.inputs[0] = new
    return new


PASS = Pass(
    name="gathers-as-split",
    rewrite=gathers_as_split,
    summary="Replace Gathers of each element of a dimension by one Split.",
    operators=frozenset(("Gather",)),
)
