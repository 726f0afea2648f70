"""An Expand goes where the operators that read its result broadcast to the same shape by themselves.

That is so where each size of the target is 1, or the size that another operand of the reader has in its place: the same
number or symbol, or the target is the very shape of that operand. Exact: each element meets the same operands.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import is_operator, nodes_of, producer
from opsetlift.normalizer.helpers.sizes import Sizes
from opsetlift.normalizer.rewriting import Context, Pass

_BROADCASTING = (
    *("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mean", "Sum", "Mod", "Where", "And", "Or", "Xor"),
    *("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor"),
)
_FIRST_BROADCASTING = 8
"""From here on every one of them broadcasts, as numpy does."""


def remove_expands(graph: gs.Graph, context: Context) -> bool:
    """Let what reads such an Expand read its input."""
    if context.opset() < _FIRST_BROADCASTING:
        return False
    is_done = False
    sizes = Sizes(context)
    for node in nodes_of(graph, "Expand"):
        output = node.outputs[0]
        readers = list({id(reader): reader for reader in output.outputs}.values())
        named = sum(tensor is output for reader in readers for tensor in reader.inputs)
        if not readers or context.uses(output) != named:
            continue
        if all(_broadcasts_by_itself(reader, node, sizes, context) for reader in readers):
            for reader in readers:
                reader.inputs = [node.inputs[0] if tensor is output else tensor for tensor in reader.inputs]
            context.inherit(readers[0], node)
            is_done = True
    return is_done


def _broadcasts_by_itself(reader: gs.Node, expand: gs.Node, sizes: Sizes, context: Context) -> bool:
    """Whether another operand of the reader has all sizes that the target of the Expand asks for."""
    if not is_operator(reader, *_BROADCASTING):
        return False
    others = [tensor for tensor in reader.inputs if tensor is not expand.outputs[0]]
    return any(_has_all_sizes(tensor, expand.inputs[1], sizes, context) for tensor in others)


def _has_all_sizes(other: gs.Tensor, target: gs.Tensor, sizes: Sizes, context: Context) -> bool:
    shape_of_other = producer(target, context, "Shape")
    if shape_of_other is not None and shape_of_other.inputs[0] is other:
        return "start" not in shape_of_other.attrs and "end" not in shape_of_other.attrs
    wanted, shape = sizes.of(target), context.shape_of(other)
    if wanted is None or shape is None or len(wanted) > len(shape):
        return False
    return all(
        size == 1 or (size is not None and size == found)
        for size, found in zip(wanted, shape[len(shape) - len(wanted) :], strict=True)
    )


PASS = Pass(
    name="remove-expands",
    rewrite=remove_expands,
    summary="Remove an Expand before operators that broadcast to the same shape themselves.",
    operators=frozenset(("Expand",)),
)
