"""Comparisons, boolean and bitwise operators, Where."""

from __future__ import annotations

import numpy

from opsetlift.evaluator.kernels.broadcasting import check_numpy_broadcast, operands
from opsetlift.evaluator.kernels.numeric import select
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@kernel("Equal", since=(1, 7, 11, 13, 19), changes=(7,))
def equal(call: Call, a: Array, b: Array) -> Array:
    """Equal-1, 7, 11, 13, 19: Where a equals b, as bool; of one dtype, broadcast."""
    a, b = operands(call, a, b)
    # On strings (dtype object) the comparison of arrays yields objects.
    return numpy.asarray(a == b).astype(bool, copy=False)


@kernel("Greater", since=(1, 7, 9, 13), changes=(7,))
def greater(call: Call, a: Array, b: Array) -> Array:
    """Greater-1, 7, 9, 13: Where a is above b, as bool; of one numeric dtype, broadcast."""
    a, b = operands(call, a, b)
    return numpy.asarray(a > b)


@kernel("Less", since=(1, 7, 9, 13), changes=(7,))
def less(call: Call, a: Array, b: Array) -> Array:
    """Less-1, 7, 9, 13: Where a is below b, as bool; of one numeric dtype, broadcast."""
    a, b = operands(call, a, b)
    return numpy.asarray(a < b)


@kernel("GreaterOrEqual", since=(12, 16), changes=())
def greater_or_equal(call: Call, a: Array, b: Array) -> Array:
    """GreaterOrEqual-12, 16: Where a is b or above, as bool; of one numeric dtype, broadcast."""
    check_numpy_broadcast(call, a, b)
    return numpy.asarray(a >= b)


@kernel("LessOrEqual", since=(12, 16), changes=())
def less_or_equal(call: Call, a: Array, b: Array) -> Array:
    """LessOrEqual-12, 16: Where a is b or below, as bool; of one numeric dtype, broadcast."""
    check_numpy_broadcast(call, a, b)
    return numpy.asarray(a <= b)


@kernel("And", since=(1, 7), changes=(7,))
def logical_and(call: Call, a: Array, b: Array) -> Array:
    """And-1, 7: a and b, both bool, broadcast."""
    a, b = operands(call, a, b)
    return numpy.asarray(numpy.logical_and(a, b))


@kernel("Or", since=(1, 7), changes=(7,))
def logical_or(call: Call, a: Array, b: Array) -> Array:
    """Or-1, 7: a or b, both bool, broadcast."""
    a, b = operands(call, a, b)
    return numpy.asarray(numpy.logical_or(a, b))


@kernel("Xor", since=(1, 7), changes=(7,))
def logical_xor(call: Call, a: Array, b: Array) -> Array:
    """Xor-1, 7: a or b, and not both; bool, broadcast."""
    a, b = operands(call, a, b)
    return numpy.asarray(numpy.logical_xor(a, b))


@kernel("Not", since=(1,))
def logical_not(call: Call, x: Array) -> Array:
    """Not-1: Not x, bool [*shape]."""
    return numpy.asarray(numpy.logical_not(x))


@kernel("Where", since=(9, 16), changes=())
def where(call: Call, condition: Array, x: Array, y: Array) -> Array:
    """Where-9, 16: x where the condition is true, else y.

    A bool condition, x and y of one dtype, all three broadcast.
    """
    check_numpy_broadcast(call, condition, x, y)
    return select(condition, x, y)
