"""What passes share: finding nodes, reading what is constant, and rewriting a node in place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy
import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.graphs.stored import StoredTensor
from opsetlift.normalizer.rewriting import Context
from opsetlift.specification import history

_MOST_INTEGERS = 1 << 10
"""A longer vector is neither a shape nor a list of axes."""

FIRST_BROADCASTING = 7
"""Since this opset operands are broadcast by their shapes, both ways."""

_CONSTANTS_OF_ANY_DTYPE = 9
_FIRST_CONSTANTS = (numpy.float16, numpy.float32, numpy.float64)


_Reference = gs.Node.AttributeRef


def is_plain(node: gs.Node) -> bool:
    """Whether the node is one of ONNX's own operators, with attributes that are all given in place.

    An attribute of a function's body may refer to one of the call; nothing is known of its value.
    """
    if node.domain and history.canonical_domain(node.domain) != history.AI_ONNX:
        return False
    return _Reference not in map(type, node.attrs.values())


def is_operator(node: gs.Node, *operators: str) -> bool:
    """Whether the node is one of ONNX's own `operators`, with attributes that are all given in place."""
    return node.op in operators and is_plain(node)


def nodes_of(graph: gs.Graph, *operators: str) -> Iterator[gs.Node]:
    """The nodes of `operators` that the graph has now, without those that lose their outputs meanwhile."""
    wanted = frozenset(operators)
    for node in [node for node in graph.nodes if node.op in wanted]:
        if node.outputs and is_plain(node) and node.op in wanted:
            yield node


def given(node: gs.Node, position: int) -> gs.Tensor | None:
    """The input at `position`; None where it is left out."""
    if position >= len(node.inputs) or node.inputs[position].is_empty():
        return None
    return node.inputs[position]


def producer(tensor: gs.Tensor, context: Context, *operators: str) -> gs.Node | None:
    """The node of `operators` in this very graph that computes `tensor`."""
    if len(tensor.inputs) != 1:
        return None
    node = tensor.inputs[0]
    return node if is_operator(node, *operators) and not context.is_outer(tensor) else None


def sole_producer(tensor: gs.Tensor, context: Context, *operators: str) -> gs.Node | None:
    """`producer`, where nothing reads `tensor` but one input of one node."""
    node = producer(tensor, context, *operators)
    return node if node is not None and context.uses(tensor) == 1 else None


def producer_for(
    tensor: gs.Tensor, context: Context, readers: Collection[str], operators: Collection[str]
) -> gs.Node | None:
    """`producer`, where only nodes of `readers` read `tensor`, as their first input.

    It is dead once each of them reads something else.
    """
    node = producer(tensor, context, *operators)
    if node is None or any(not is_operator(one, *readers) or one.inputs[0] is not tensor for one in tensor.outputs):
        return None
    return node if context.uses(tensor) == len(tensor.outputs) else None


def integers(tensor: gs.Tensor | None, context: Context) -> list[int] | None:
    """The content of a constant scalar or vector of integers; None where it is not constant, or not that."""
    if tensor is None:
        return None
    value = context.constant(tensor)
    if value is None or value.ndim > 1 or value.dtype.kind not in "iu" or value.size > _MOST_INTEGERS:
        return None
    found: list[int] = value.reshape(-1).tolist()
    return found


def static_shape(tensor: gs.Tensor, context: Context) -> list[int] | None:
    """The shape, where every dimension is a known number."""
    shape = context.shape_of(tensor)
    if shape is None:
        return None
    sizes = [size for size in shape if isinstance(size, int)]
    return sizes if len(sizes) == len(shape) else None


def rank_of(tensor: gs.Tensor, context: Context) -> int | None:
    """The number of dimensions; None where it is not known."""
    shape = context.shape_of(tensor)
    return None if shape is None else len(shape)


def fits_into(shape: tuple[int, ...], operand: gs.Tensor, node: gs.Node, context: Context) -> bool:
    """Whether broadcasting `operand` with something of `shape` leaves it as it is."""
    if not shape and context.opset() >= FIRST_BROADCASTING:
        return True
    if context.opset() < FIRST_BROADCASTING and operand is not node.inputs[0]:
        return False  # only the second operand was broadcast
    known = context.shape_of(operand)
    if context.opset() < FIRST_BROADCASTING and "broadcast" in node.attrs:
        return True  # one way only
    if known is None or len(shape) > len(known):
        return False
    return all(size in (1, of) for size, of in zip(shape, known[len(known) - len(shape) :], strict=True))


def is_held(output: gs.Tensor, context: Context) -> bool:
    """Whether the graph would hold a constant in the place of a value; a Constant node has to compute it otherwise."""
    return context.has_initializers and not context.is_output(output)


def can_write_down(output: gs.Tensor, value: Array, context: Context) -> bool:
    """Whether `write_down` can: of old, Constant nodes hold floats alone."""
    if is_held(output, context):
        return True
    return context.opset() >= _CONSTANTS_OF_ANY_DTYPE or value.dtype in _FIRST_CONSTANTS


def write_down(graph: gs.Graph, node: gs.Node, values: Sequence[Array | None], context: Context) -> None:
    """Let the outputs of a node be constants: initializers, or Constant nodes where they cannot be that.

    The values of outputs that are left out are None.
    """
    outputs = list(node.outputs)
    node.outputs.clear()
    for output, value in zip(outputs, values, strict=True):
        if value is None:
            continue
        if is_held(output, context):
            output.to_constant(value)
            continue
        written = gs.Node("Constant", attrs={"value": gs.Constant("", value)}, outputs=[output])
        context.inherit(written, node)
        graph.nodes.append(written)


def content(constant: gs.Constant) -> Array:
    """The values of a constant, which stay where they are stored."""
    stored = held_values(constant)
    return stored.read() if isinstance(stored, StoredTensor) else constant.values


def takes_vectors(context: Context) -> bool:
    """Whether a new constant of integers can be added: of old, Constant nodes hold floats alone."""
    return context.has_initializers or context.opset() >= _CONSTANTS_OF_ANY_DTYPE


def vector(values: Iterable[int], like: str, context: Context) -> gs.Constant:
    """A constant int64 vector whose name starts with `like`."""
    return new_constant(numpy.array(list(values), dtype=numpy.int64), like, context)


def new_constant(value: Array, like: str, context: Context) -> gs.Constant:
    """A constant whose name starts with `like`."""
    return gs.Constant(context.fresh_name(like), value)


def become(
    node: gs.Node, operator: str, inputs: Sequence[gs.Tensor], attributes: Mapping[str, Any] | None = None
) -> None:
    """Make the node another operator on other inputs; its outputs, name and documentation stay."""
    node.op = operator
    node.attrs = dict(attributes or {})
    node.inputs = list(inputs)


def take_over(first: gs.Node, node: gs.Node, inputs: Sequence[gs.Tensor], context: Context) -> None:
    """Let `first`, on other inputs, compute what `node` computed of its result; `node` is left dead."""
    output = node.outputs[0]
    node.outputs.clear()
    node.inputs.clear()
    first.outputs = [output]
    first.inputs = list(inputs)
    context.inherit(first, node)


def normalised_axes(axes: Sequence[int], rank: int) -> list[int] | None:
    """The axes counted from the front; None where one is out of range or named twice."""
    counted = [axis + rank if axis < 0 else axis for axis in axes]
    if len(set(counted)) < len(counted) or any(not 0 <= axis < rank for axis in counted):
        return None
    return counted


def axes_of(node: gs.Node, position: int, context: Context) -> list[int] | None:
    """The axes that a node gives as its attribute, or as its input at `position`; None: absent, or not constant."""
    if "axes" in node.attrs:
        return list(node.attrs["axes"])
    return integers(given(node, position), context)
