"""What is the same in every run is computed once, by the evaluator.

That is what deterministic nodes compute from constants, and what Shape and Size read off static shapes. A result is
written down where it takes no more room than the constants that it is computed from, or less than the limit on sizes,
so files do not grow by zeros and tiles. Weights that are stored quantized stay so, and so does what moves them:
DequantizeLinear is what tells a runtime that it may compute in integers. Inputs with a default value are no constants:
callers may give another. What the specification leaves open (a division of integers by zero, a float that no integer
is, the greater of 0 and -0) is left to the runtime. The last bit of a sum or of a transcendental function is the
evaluator's, as it would be of any other that computes ahead.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.helpers.editing import can_write_down, is_held, is_plain, static_shape, write_down
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.specification import dtypes

_QUANTIZED_WEIGHTS = "DequantizeLinear"
_SHAPE_READERS = frozenset(("Shape", "Size"))

_LARGEST_COMPUTED = 1 << 28
"""Bytes. What is larger is not even computed, and so is nothing that follows from it."""


def fold_constants(graph: gs.Graph, context: Context) -> bool:
    """Turn outputs that do not depend on the run into constants; the nodes that computed them are left dead."""
    is_done = False
    unwritten: set[int] = set()
    for node in list(graph.nodes):
        if not node.outputs or not _may_be_constant(node, unwritten) or not is_plain(node):
            continue
        if node.op == _QUANTIZED_WEIGHTS:
            continue
        size = _bytes_of_outputs(node, context)
        if size > _LARGEST_COMPUTED:
            continue
        values = _values(node, context) if node.op != "Constant" and _has_room(size, node, context) else None
        if values is not None and _is_worth_it(node, values, context):
            write_down(graph, node, values, context)
            is_done = True
        else:
            unwritten.update(map(id, node.outputs))
    return is_done


def _may_be_constant(node: gs.Node, unwritten: Collection[int]) -> bool:
    """Whether the node reads nothing but constants, those that are left unwritten included; it is cheap to ask."""
    if node.op in _SHAPE_READERS:
        return True
    for tensor in node.inputs:
        if not (isinstance(tensor, gs.Constant) or id(tensor) in unwritten or tensor.is_empty()):
            return False
    return True


def _bytes_of_outputs(node: gs.Node, context: Context) -> int:
    """The size of the largest output, as far as shapes tell before anything is computed."""
    largest = 0
    for output in node.outputs:
        shape, dtype = static_shape(output, context), context.dtype_of(output)
        if shape is not None and dtype is not None:
            largest = max(largest, prod(shape) * dtypes.numpy_dtype(dtype).itemsize)
    return largest


def _has_room(size: int, node: gs.Node, context: Context) -> bool:
    """Whether a constant of so many bytes may be written down in place of the node."""
    return size <= context.size_limit or size <= _freed(node, context)


def _freed(node: gs.Node, context: Context) -> int:
    """The bytes of constants that nothing but the node reads."""
    constants = {id(tensor): tensor for tensor in node.inputs if isinstance(tensor, gs.Constant)}
    return sum(held_values(tensor).nbytes for tensor in constants.values() if context.uses(tensor) == 1)


def _values(node: gs.Node, context: Context) -> list[Array | None] | None:
    """What the outputs are in every run; None where one of them is not known or cannot be written down."""
    values: list[Array | None] = []
    for output in node.outputs:
        value = None if output.is_empty() else context.constant(output)
        if not output.is_empty() and (value is None or not can_write_down(output, value, context)):
            return None
        values.append(value)
    return values


def _is_worth_it(node: gs.Node, values: list[Array | None], context: Context) -> bool:
    """Whether the model does not grow: neither by nodes, where there would be several Constants, nor by bytes."""
    known = [(output, value) for output, value in zip(node.outputs, values, strict=True) if value is not None]
    if len(known) > 1 and sum(not is_held(output, context) for output, _ in known) > 1:
        return False
    return all(_has_room(value.nbytes, node, context) for _, value in known)


PASS = Pass(
    name="fold-constants",
    rewrite=fold_constants,
    summary="Compute ahead what depends only on constants or static shapes, up to a size limit.",
)
