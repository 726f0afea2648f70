"""Reductions whose axes may be taken in any order and in any groups, bit for bit."""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import axes_of, become, given, normalised_axes, vector
from opsetlift.normalizer.rewriting import Context

ORDERLESS = ("ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum")
"""In whole numbers: sums and products wrap around, and of floats they would round in another order."""

_WHOLE = frozenset(("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"))


def is_of_whole_numbers(node: gs.Node, context: Context) -> bool:
    """Whether a reduction reduces integers or booleans."""
    return context.dtype_of(node.inputs[0]) in _WHOLE


def reduced_axes(node: gs.Node, rank: int, context: Context) -> list[int] | None:
    """The axes that a reduction reduces of an input of that rank, from the front; None where they are not known."""
    axes = axes_of(node, 1, context)
    if axes is None and ("axes" in node.attrs or given(node, 1) is not None):
        return None
    if not axes:
        return [] if node.attrs.get("noop_with_empty_axes", 0) else list(range(rank))
    return normalised_axes(axes, rank)


def reduce_by(node: gs.Node, data: gs.Tensor, axes: list[int], context: Context) -> None:
    """Let a reduction reduce other data, and by these axes, as its version takes them."""
    attributes = {name: value for name, value in node.attrs.items() if name != "axes"}
    schema = context.schema(node)
    if schema is not None and "axes" in schema.attributes:
        become(node, node.op, [data], {**attributes, "axes": axes})
    else:
        become(node, node.op, [data, vector(axes, f"{node.outputs[0].name}_axes", context)], attributes)
