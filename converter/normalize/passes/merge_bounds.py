"""Bounds become one Clip.

Min(Max(x, low), high) is what Clip is defined as, from opset 11 on, where its bounds are inputs. It takes scalars, so
both bounds are constants of one element that do not widen x. Of Max(-0, 0) either zero may come out, here and there
another one, so no bound is zero; then a tie is between equal bits. Which NaN comes out was never said: it stays a NaN.
Max(Min(x, high), low) is the same only where low is not above high.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from converter.arrays import Array
from converter.normalize.editing import become, new_constant, nodes_of, sole_producer
from converter.normalize.rewriting import Context, Pass

_BOUNDS_AS_INPUTS = 11
_OTHER_DTYPES = 12
"""The text of opset 11 allows other floats, too, but onnxruntime's Clip-11 takes float32 alone."""


def merge_bounds(graph: gs.Graph, context: Context) -> None:
    """Write Max and Min with constants as Clip."""
    if context.opset() < _BOUNDS_AS_INPUTS:
        return
    for node in nodes_of(graph, "Min", "Max"):
        outer = _bound(node, context)
        if outer is None:
            continue
        data, outer_bound = outer
        first = sole_producer(data, context, "Max" if node.op == "Min" else "Min")
        inner = _bound(first, context) if first is not None else None
        if first is None or inner is None:
            continue
        data, inner_bound = inner
        low, high = (inner_bound, outer_bound) if node.op == "Min" else (outer_bound, inner_bound)
        if low > high:
            continue
        name = node.outputs[0].name
        bounds = [new_constant(low, f"{name}_min", context), new_constant(high, f"{name}_max", context)]
        become(node, "Clip", [data, *bounds])
        context.inherit(node, first)


def _bound(node: gs.Node, context: Context) -> tuple[gs.Tensor, Array] | None:
    """The operand and the constant that bounds it."""
    if len(node.inputs) != 2:
        return None
    for position in (0, 1):
        data, value = node.inputs[1 - position], context.constant(node.inputs[position])
        if value is not None and _is_bound(value, data, context):
            return data, value.reshape(())
    return None


def _is_bound(value: Array, data: gs.Tensor, context: Context) -> bool:
    shape, dtype = context.shape_of(data), context.dtype_of(data)
    if value.size != 1 or dtype is None or shape is None or value.ndim > len(shape):
        return False
    if dtype != "float" and context.opset() < _OTHER_DTYPES:
        return False
    if value.dtype.kind == "f":
        return bool(value.any()) and not numpy.isnan(value).any()
    return value.dtype.kind in "iu"


PASS = Pass(
    name="merge-bounds",
    rewrite=merge_bounds,
    summary="Max and Min with constants become one Clip.",
    operators=frozenset(("Min", "Max")),
)
