"""Functions of one number, applied to every element.

Narrow floats are computed as float32 and rounded once, so that widening an operand never changes a result. Inputs are
copied to C order first: numpy's vectorised and its strided loops round differently.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opsetlift.evaluator.kernels.error_function import erf
from opsetlift.evaluator.kernels.numeric import float_to_integer, is_float, narrowed_as, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

Function = Callable[[Array], Any]


def apply(function: Function, x: Array) -> Array:
    """Apply a function of float32 or float64 to x [*shape] of any float dtype, and round once to its dtype."""
    return narrowed_as(numpy.asarray(function(numpy.asarray(widened(x), order="C"))), x.dtype)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), for float32 or float64 [*shape]."""
    y = numpy.asarray(numpy.negative(x))
    numpy.exp(y, out=y)
    y += 1
    numpy.divide(1, y, out=y)
    return y


def softplus(x: Array) -> Array:
    """ln(exp(x) + 1) without overflow, for float32 or float64 [*shape]."""
    return numpy.asarray(numpy.maximum(x, 0) + numpy.log1p(numpy.exp(-numpy.abs(x))))


_FUNCTIONS: dict[str, tuple[tuple[int, ...], Function]] = {
    "Acos": ((7, 22), numpy.arccos),
    "Acosh": ((9, 22), numpy.arccosh),
    "Asin": ((7, 22), numpy.arcsin),
    "Asinh": ((9, 22), numpy.arcsinh),
    "Atan": ((7, 22), numpy.arctan),
    "Atanh": ((9, 22), numpy.arctanh),
    "Ceil": ((1, 6, 13), numpy.ceil),
    "Cos": ((7, 22), numpy.cos),
    "Cosh": ((9, 22), numpy.cosh),
    "Erf": ((13,), erf),
    "Exp": ((1, 6, 13), numpy.exp),
    "Floor": ((1, 6, 13), numpy.floor),
    "Log": ((1, 6, 13), numpy.log),
    "Reciprocal": ((1, 6, 13), lambda x: 1 / x),
    "Round": ((11, 22), numpy.rint),
    "Sigmoid": ((1, 6, 13), sigmoid),
    "Sin": ((7, 22), numpy.sin),
    "Sinh": ((9, 22), numpy.sinh),
    "Softplus": ((1, 22), softplus),
    "Softsign": ((1, 22), lambda x: x / (1 + numpy.abs(x))),
    "Sqrt": ((1, 6, 13), numpy.sqrt),
    "Tan": ((7, 22), numpy.tan),
    # Tanh-1 calls its input 1-D; version 6 and the node tests of version 1 show that to be a slip.
    "Tanh": ((1, 6, 13), numpy.tanh),
}


def _declare(operator: str, since: tuple[int, ...], function: Function) -> None:
    def elementwise(call: Call, x: Array) -> Array:
        return apply(function, x)

    versions = ", ".join(map(str, since))
    elementwise.__doc__ = f"{operator}-{versions}: the function of its name, of each element of float x [*shape]."
    kernel(operator, since=since, changes=())(elementwise)


for _operator, (_since, _function) in _FUNCTIONS.items():
    _declare(_operator, _since, _function)


@kernel("Abs", since=(1, 6, 13), changes=())
def absolute(call: Call, x: Array) -> Array:
    """Abs-1, 6, 13: |x|, for numbers [*shape]; the least integer stays as it is."""
    return numpy.asarray(numpy.abs(x))


@kernel("Neg", since=(1, 6, 13), changes=())
def negative(call: Call, x: Array) -> Array:
    """Neg-1, 6, 13: -x, for signed numbers [*shape]."""
    return numpy.asarray(-x)


@kernel("Sign", since=(9, 13), changes=())
def sign(call: Call, x: Array) -> Array:
    """Sign-9, 13: -1, 0 or 1; of NaN, which the text leaves open, NaN. Numbers [*shape]."""
    return apply(numpy.sign, x) if is_float(x.dtype) else numpy.asarray(numpy.sign(x))


@kernel("Erf", since=(9,))
def erf_of_any_number(call: Call, x: Array) -> Array:
    """Erf-9: The error function of numbers [*shape], in their dtype.

    Version 9 takes integers too and leaves open what they give: truncated, as in any conversion to an integer.
    """
    if is_float(x.dtype):
        return apply(erf, x)
    return float_to_integer(erf(x.astype(numpy.float64)), x.dtype)


@kernel("IsNaN", since=(9, 13, 20), changes=())
def is_nan(call: Call, x: Array) -> Array:
    """IsNaN-9, 13, 20: Where floats [*shape] are NaN, as bool."""
    return numpy.asarray(numpy.isnan(widened(x)))


@kernel("IsInf", since=(10, 20), changes=())
def is_infinite(call: Call, x: Array) -> Array:
    """IsInf-10, 20: Where floats [*shape] are infinite, of the signs asked for, as bool."""
    wide = widened(x)
    result = numpy.asarray(numpy.isinf(wide))
    if not call.attributes["detect_positive"]:
        result = result & (wide < 0)
    if not call.attributes["detect_negative"]:
        result = result & (wide > 0)
    return result
