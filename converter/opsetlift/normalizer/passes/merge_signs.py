"""A change of sign, or Not, becomes part of what follows or comes before.

x + (-y) is x - y, x - (-y) is x + y, and (-x) + y is y - x. Neg before or after Mul or Div by a constant float, and a
factor of -1 or 1 beside another one, change the constant's sign, as products and quotients round alike on both sides of
zero. Where(Not(c), a, b) is Where(c, b, a). Exact, but for the sign of a NaN, which was never said.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.helpers.editing import become, new_constant, nodes_of, sole_producer, takes_vectors
from opsetlift.normalizer.rewriting import Context, Pass

_FIRST_BROADCASTING = 7
_LARGEST = 1 << 12
"""Elements of a constant of which another one is written."""


def merge_signs(graph: gs.Graph, context: Context) -> bool:
    """Let the nodes around a change of sign do it."""
    if context.opset() < _FIRST_BROADCASTING:
        return False
    is_done = False
    for node in nodes_of(graph, "Add", "Sub"):
        is_done |= _of_a_sum(node, context)
    for node in nodes_of(graph, "Where"):
        denied = sole_producer(node.inputs[0], context, "Not")
        if denied is not None:
            become(node, "Where", [denied.inputs[0], node.inputs[2], node.inputs[1]])
            context.inherit(node, denied)
            is_done = True
    if takes_vectors(context):
        for node in nodes_of(graph, "Mul", "Div", "Neg"):
            is_done |= _of_a_product(node, context)
    return is_done


def _of_a_sum(node: gs.Node, context: Context) -> bool:
    left, right = node.inputs
    negated = sole_producer(right, context, "Neg")
    if negated is not None:
        become(node, "Sub" if node.op == "Add" else "Add", [left, negated.inputs[0]])
        context.inherit(node, negated)
        return True
    negated = sole_producer(left, context, "Neg") if node.op == "Add" else None
    if negated is not None:
        become(node, "Sub", [right, negated.inputs[0]])
        context.inherit(node, negated)
    return negated is not None


def _of_a_product(node: gs.Node, context: Context) -> bool:
    """Let one product or quotient with a constant be what two nodes compute, one of which changes the sign at most."""
    outer = _factor(node, context)
    first = None if outer is None else sole_producer(outer[0], context, "Mul", "Div", "Neg")
    inner = None if first is None else _factor(first, context)
    if outer is None or inner is None or first is None:
        return False
    (_, outer_factor), (data, inner_factor) = outer, inner
    if _is_sign(outer_factor) and first.op != "Neg":
        operator, factor, sign = first.op, inner_factor, outer_factor
    elif _is_sign(inner_factor) and node.op != "Neg":
        operator, factor, sign = node.op, outer_factor, inner_factor
    else:
        return False
    if max(outer_factor.ndim, inner_factor.ndim) > factor.ndim:
        return False
    changed = factor * sign.reshape(()).astype(factor.dtype)
    become(node, operator, [data, new_constant(changed, f"{node.outputs[0].name}_factor", context)])
    context.inherit(node, first)
    return True


def _factor(node: gs.Node, context: Context) -> tuple[gs.Tensor, Array] | None:
    """What a node multiplies or divides, and by which constant floats; Neg multiplies by -1."""
    if node.op == "Neg":
        return node.inputs[0], numpy.array(-1.0, dtype=numpy.float32)
    for data, other in ((0, 1), (1, 0)) if node.op == "Mul" else ((0, 1),):
        value = context.constant(node.inputs[other])
        if value is not None and value.dtype in (numpy.float32, numpy.float64) and value.size <= _LARGEST:
            return node.inputs[data], value
    return None


def _is_sign(value: Array) -> bool:
    return value.size == 1 and bool((numpy.abs(value) == 1).all())


PASS = Pass(
    name="merge-signs",
    rewrite=merge_signs,
    summary="Merge Neg, factors of -1 and Not with the sums, products and selections around them.",
    operators=frozenset(("Neg", "Not", "Mul", "Div")),
)
