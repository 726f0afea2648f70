"""Add, Sub, Mul, Div, Pow, Mod and the variadic Min, Max, Mean, Sum, with the broadcasting of each version."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy

from opsetlift.evaluator.kernels.broadcasting import check_numpy_broadcast, check_variadic, operands
from opsetlift.evaluator.kernels.numeric import (
    float_to_integer,
    is_float,
    is_integer,
    maximum,
    minimum,
    narrowed_as,
    smallest,
    widened,
)
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.open_results import open_values, report_open_result
from opsetlift.model.arrays import Array


@kernel("Add", since=(1, 6, 7, 13, 14), changes=(7,))
def add(call: Call, a: Array, b: Array) -> Array:
    """Add-1, 6, 7, 13, 14: a + b of one numeric dtype, broadcast; integers wrap."""
    a, b = operands(call, a, b)
    return numpy.asarray(a + b)


@kernel("Sub", since=(1, 6, 7, 13, 14), changes=(7,))
def subtract(call: Call, a: Array, b: Array) -> Array:
    """Sub-1, 6, 7, 13, 14: a - b of one numeric dtype, broadcast; integers wrap."""
    a, b = operands(call, a, b)
    return numpy.asarray(a - b)


@kernel("Mul", since=(1, 6, 7, 13, 14), changes=(7,))
def multiply(call: Call, a: Array, b: Array) -> Array:
    """Mul-1, 6, 7, 13, 14: a * b of one numeric dtype, broadcast; integers wrap."""
    a, b = operands(call, a, b)
    return numpy.asarray(a * b)


@kernel("Div", since=(1, 6, 7, 13, 14), changes=(7,))
def divide(call: Call, a: Array, b: Array) -> Array:
    """Div-1, 6, 7, 13, 14: a / b of one numeric dtype, broadcast; integers truncate."""
    a, b = operands(call, a, b)
    if is_integer(a.dtype):
        # Truncating; by zero numpy's 0, and the one quotient that does not fit wraps around.
        quotient = numpy.asarray((a - numpy.fmod(a, b)) // b)
        overflows = (a == smallest(a.dtype)) & (b == -1) if a.dtype.kind == "i" else numpy.zeros(quotient.shape, bool)
        if overflows.any():
            report_open_result("divides the least integer by -1")
            quotient = open_values(quotient, overflows, "divides the least integer by -1")
        return _divided(quotient, b)
    return numpy.asarray(a / b)


def _divided(result: Array, divisor: Array) -> Array:
    """A quotient or remainder of integers [*shape], by a divisor that broadcasts to it."""
    if divisor.all():
        return result
    what = "divides an integer by zero"
    report_open_result(what)
    return open_values(result, numpy.broadcast_to(divisor == 0, result.shape), what)


@kernel("Pow", since=(1, 7, 12, 13, 15), changes=(7,))
def power(call: Call, base: Array, exponent: Array) -> Array:
    """Pow-1, 7, 12, 13, 15: base to the power of exponent, broadcast, in the dtype of base."""
    base, exponent = operands(call, base, exponent)
    if is_integer(base.dtype) and is_integer(exponent.dtype):
        return _integer_power(base, exponent)
    # The result has the base's dtype, whatever the exponent's is. In float64, so that the exponent's dtype has no say.
    shaped = _float64_power(base.astype(numpy.float64), exponent.astype(numpy.float64))
    if is_integer(base.dtype):
        return float_to_integer(shaped, base.dtype)
    return narrowed_as(shaped.astype(widened(base).dtype), base.dtype)


def _float64_power(base: Array, exponent: Array) -> Array:
    """Squares and cubes as products. numpy does so too, for some exponents, but only where they are scalars."""
    shape = numpy.broadcast_shapes(base.shape, exponent.shape)
    if exponent.size == 1 and exponent.item() in (2, 3):
        result = base * base if exponent.item() == 2 else base * base * base
        return numpy.asarray(result).reshape(shape)
    # One element more, so that a single one is no scalar.
    bases, exponents = (
        numpy.append(numpy.broadcast_to(values, shape), numpy.float64(1)) for values in (base, exponent)
    )
    result = numpy.power(bases, exponents)
    squares, cubes = exponents == 2, exponents == 3
    result[squares] = bases[squares] * bases[squares]
    result[cubes] = bases[cubes] * bases[cubes] * bases[cubes]
    return numpy.asarray(result[:-1].reshape(shape))


def _integer_power(base: Array, exponent: Array) -> Array:
    """Wraps like a chain of multiplications; a negative exponent gives the truncated reciprocal."""
    exponent = exponent.astype(numpy.uint64 if exponent.dtype.kind == "u" else numpy.int64)
    negative = exponent < 0
    remaining = numpy.where(negative, 0, exponent).astype(numpy.uint64)
    base, remaining = numpy.broadcast_arrays(base, remaining)
    result, square = numpy.ones_like(base), base
    while remaining.any():
        result = numpy.where(remaining & numpy.uint64(1), result * square, result)
        square = square * square
        remaining = remaining >> numpy.uint64(1)
    if negative.any():
        odd = (exponent & exponent.dtype.type(1)).astype(bool)
        reciprocal = numpy.where(base == 1, 1, numpy.where(base == -1, numpy.where(odd, -1, 1), 0))
        result = numpy.where(negative, reciprocal, result)
    is_negative = numpy.broadcast_to(negative, base.shape)
    return open_values(result.astype(base.dtype), is_negative, "raises an integer to a negative power")


@kernel("Mod", since=(10, 13, 28), changes=(28,))
def modulo(call: Call, a: Array, b: Array) -> Array:
    """Mod-10, 13, 28: The remainder with the sign of b, or of a where fmod is 1.

    a and b of one numeric dtype, broadcast.
    """
    check_numpy_broadcast(call, a, b)
    truncating = call.attributes["fmod"]
    if truncating not in (0, 1):
        call.fail(f"fmod must be 0 or 1, not {truncating}")
    # Version 13's text confines fmod=1 to floats, but ONNX's node test of that version applies it to int64.
    if call.since_version < 28 and not truncating and is_float(a.dtype):
        call.fail("floating-point inputs need fmod=1 before version 28")
    wide_a, wide_b = widened(a), widened(b)
    result = numpy.asarray(numpy.fmod(wide_a, wide_b) if truncating else numpy.mod(wide_a, wide_b))
    return _divided(result, b) if is_integer(a.dtype) else narrowed_as(result, a.dtype)


def _fold(call: Call, combine: Callable[[Array, Array], Array], inputs: tuple[Array, ...]) -> Array:
    check_variadic(call, *inputs)
    return reduce(combine, inputs)


@kernel("Min", since=(1, 6, 8, 12, 13), changes=(8,))
def minimum_of_inputs(call: Call, *inputs: Array) -> Array:
    """Min-1, 6, 8, 12, 13: The least of the inputs, NaN where one is NaN.

    Inputs of one numeric dtype: of one shape before 8, broadcast since.
    """
    return _fold(call, minimum, inputs)


@kernel("Max", since=(1, 6, 8, 12, 13), changes=(8,))
def maximum_of_inputs(call: Call, *inputs: Array) -> Array:
    """Max-1, 6, 8, 12, 13: The greatest of the inputs, NaN where one is NaN.

    Inputs of one numeric dtype: of one shape before 8, broadcast since.
    """
    return _fold(call, maximum, inputs)


@kernel("Sum", since=(1, 6, 8, 13), changes=(8,))
def sum_of_inputs(call: Call, *inputs: Array) -> Array:
    """Sum-1, 6, 8, 13: The sum of the inputs, narrow floats rounded once.

    Inputs of one float dtype: of one shape before 8, broadcast since.
    """
    total = _fold(call, numpy.add, tuple(map(widened, inputs)))
    return narrowed_as(numpy.asarray(total), inputs[0].dtype)


@kernel("Mean", since=(1, 6, 8, 13), changes=(8,))
def mean_of_inputs(call: Call, *inputs: Array) -> Array:
    """Mean-1, 6, 8, 13: The average of the inputs, narrow floats rounded once.

    Inputs of one float dtype: of one shape before 8, broadcast since.
    """
    total = numpy.asarray(_fold(call, numpy.add, tuple(map(widened, inputs))))
    return narrowed_as(numpy.asarray(total / total.dtype.type(len(inputs))), inputs[0].dtype)
