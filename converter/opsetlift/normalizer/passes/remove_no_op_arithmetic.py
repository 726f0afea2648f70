"""Arithmetic that gives its operand back, bit for bit.

x·1, x/1, x - 0 and x + (-0) are x for every x, NaN, infinities and the zeros of either sign included; x + 0 is not, as
-0 + 0 is 0, so for floats only -0 is neutral. Integers have one zero. The other operand must not
widen the result by broadcasting. One operand of Sum, Mean, Max and Min is the result. Not(Not(x)) and Neg(Neg(x)) are
x; and what is already without a sign, rounded, or not negative stays so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy
import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.helpers.editing import fits_into, given, nodes_of, producer
from opsetlift.normalizer.rewriting import Context, Pass


def remove_no_op_arithmetic(graph: gs.Graph, context: Context) -> bool:
    """Let what reads such a node's output read the operand that it gives back."""
    is_done = False
    for node in nodes_of(graph, *_OPERAND):
        operand = _OPERAND[node.op](node, context)
        if operand is not None:
            is_done |= context.replace_uses(node.outputs[0], operand)
    return is_done


def _neutral(is_neutral: Callable[[Array], bool], *positions: int) -> Callable[[gs.Node, Context], gs.Tensor | None]:
    """A rule: where a constant at one of `positions` is neutral (`is_neutral`), the other operand is the result."""

    def rule(node: gs.Node, context: Context) -> gs.Tensor | None:
        if len(node.inputs) != 2:
            return None
        for position in positions:
            other = node.inputs[1 - position]
            value = context.constant(node.inputs[position])
            if value is not None and value.size and is_neutral(value) and fits_into(value.shape, other, node, context):
                return other
        return None

    return rule


def _is_number(value: Array, number: int) -> bool:
    """Whether every element is that number; most constants say no with their first one."""
    if value.dtype.kind in "OSUb" or value.item(0) != number:
        return False
    return bool((value == numpy.asarray(number, value.dtype)).all())


def _is_one(value: Array) -> bool:
    return _is_number(value, 1)


def _is_zero(value: Array, sign: bool) -> bool:
    if not _is_number(value, 0):
        return False
    return value.dtype.kind in "iu" or bool((numpy.signbit(value) == sign).all())


def _is_negative_zero(value: Array) -> bool:
    return _is_zero(value, sign=True)


def _is_positive_zero(value: Array) -> bool:
    return _is_zero(value, sign=False)


def _is_true(value: Array) -> bool:
    return value.dtype == numpy.bool_ and bool(value.all())


def _is_false(value: Array) -> bool:
    return value.dtype == numpy.bool_ and not value.any()


def _only_input(node: gs.Node, context: Context) -> gs.Tensor | None:
    return node.inputs[0] if len(node.inputs) == 1 else None


def _undone(node: gs.Node, context: Context) -> gs.Tensor | None:
    """What the same operator was applied to, where applying it twice changes nothing."""
    before = producer(node.inputs[0], context, node.op)
    return None if before is None else before.inputs[0]


def _already(*operators: str) -> Callable[[gs.Node, Context], gs.Tensor | None]:
    """A rule: the result of one of `operators` is given back."""

    def rule(node: gs.Node, context: Context) -> gs.Tensor | None:
        return node.inputs[0] if producer(node.inputs[0], context, *operators) is not None else None

    return rule


def _without_sign(node: gs.Node, context: Context) -> gs.Tensor | None:
    """What is a float without a sign already: not even a zero has one."""
    dtype = context.dtype_of(node.inputs[0])
    is_float = dtype is not None and "int" not in dtype
    operators = (node.op, "Abs", "Exp", "Sigmoid", "Softmax") if is_float else (node.op,)
    return node.inputs[0] if producer(node.inputs[0], context, *operators) is not None else None


def _without_bounds(node: gs.Node, context: Context) -> gs.Tensor | None:
    """Clip's operand, where it is an integer: absent bounds are the largest finite numbers, which infinities exceed."""
    if context.opset() < 11 or given(node, 1) is not None or given(node, 2) is not None:
        return None
    dtype = context.dtype_of(node.inputs[0])
    return node.inputs[0] if dtype is not None and "int" in dtype else None


def _chosen(node: gs.Node, context: Context) -> gs.Tensor | None:
    """The only side that Where takes elements from."""
    condition = context.constant(node.inputs[0])
    if condition is None or not condition.size or not (condition.all() or not condition.any()):
        return None
    chosen, other = (node.inputs[1], node.inputs[2]) if condition.all() else (node.inputs[2], node.inputs[1])
    shape = context.shape_of(other)
    if shape is None or not all(isinstance(size, int) for size in shape):
        return None
    sizes = tuple(size for size in shape if isinstance(size, int))
    return chosen if all(fits_into(one, chosen, node, context) for one in (condition.shape, sizes)) else None


_OPERAND: dict[str, Callable[[gs.Node, Context], gs.Tensor | None]] = {
    "Abs": _without_sign,
    "Add": _neutral(_is_negative_zero, 0, 1),
    "And": _neutral(_is_true, 0, 1),
    "Ceil": _already("Ceil", "Floor", "Round"),
    "Clip": _without_bounds,
    "Div": _neutral(_is_one, 1),
    "Floor": _already("Ceil", "Floor", "Round"),
    "Max": _only_input,
    "Mean": _only_input,
    "Min": _only_input,
    "Mul": _neutral(_is_one, 0, 1),
    "Neg": _undone,
    "Not": _undone,
    "Or": _neutral(_is_false, 0, 1),
    "Relu": _without_sign,
    "Round": _already("Ceil", "Floor", "Round"),
    "Sub": _neutral(_is_positive_zero, 1),
    "Sum": _only_input,
    "Where": _chosen,
    "Xor": _neutral(_is_false, 0, 1),
}

PASS = Pass(
    name="remove-no-op-arithmetic",
    rewrite=remove_no_op_arithmetic,
    summary="Remove arithmetic that returns its operand bit for bit: x·1, x - 0, the sum of one, Not(Not(x)).",
    operators=frozenset(_OPERAND),
)
