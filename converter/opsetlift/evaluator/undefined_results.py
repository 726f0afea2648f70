"""Results that the specification leaves open: each runtime has its own, so nobody computes them ahead of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy
from onnx import NodeProto

from opsetlift.model.arrays import Array
from opsetlift.specification import dtypes
from opsetlift.specification.history import canonical_domain

_LARGEST_EXACT = 2.0**53
"""Up to here runtimes that compute powers of integers in double agree with those that multiply."""

Inputs = Sequence[Array | None]


def is_undefined(node: NodeProto, inputs: Inputs, outputs: Inputs) -> bool:
    """Whether some element of what an operator gives for `inputs` (None: left out) is left open by its text."""
    found = [value for value in inputs if value is not None]
    if canonical_domain(node.domain) or node.op_type not in _IS_UNDEFINED or not found:
        return False
    return _IS_UNDEFINED[node.op_type](found, outputs)


def _cast(inputs: Sequence[Array], outputs: Inputs) -> bool:
    """From floats to integers: what is no number, or too large."""
    values, result = inputs[0], outputs[0]
    if result is None or not _holds_integers(result) or _holds_integers(values) or values.dtype.kind in "bOSU":
        return False
    limits: Any = ml_dtypes.iinfo(result.dtype)  # type: ignore[no-untyped-call]
    whole = numpy.trunc(numpy.asarray(values, dtype=numpy.float64))
    # Of 64 bits the largest number is not a float: what rounds to it is one too many.
    return not bool(((whole >= float(limits.min)) & (whole < float(limits.max) + 1.0)).all())


def _holds_integers(values: Array) -> bool:
    return dtypes.name_of_numpy_dtype(values.dtype).startswith(("int", "uint"))


def _quantize(inputs: Sequence[Array], outputs: Inputs) -> bool:
    return not _holds_integers(inputs[0]) and bool(numpy.isnan(numpy.asarray(inputs[0], dtype=numpy.float64)).any())


def _divide(inputs: Sequence[Array], outputs: Inputs) -> bool:
    """Of integers: by zero, and the one quotient that does not fit."""
    dividend, divisor = inputs[:2]
    if divisor.dtype.kind not in "iu":
        return False
    overflows = dividend.dtype.kind == "i" and (dividend == numpy.iinfo(dividend.dtype).min) & (divisor == -1)
    return bool((divisor == 0).any()) or bool(numpy.any(overflows))


def _shift(inputs: Sequence[Array], outputs: Inputs) -> bool:
    values, distance = inputs[:2]
    return bool((distance >= 8 * values.dtype.itemsize).any())


def _power(inputs: Sequence[Array], outputs: Inputs) -> bool:
    """Of integers: with negative exponents, and where it does not fit."""
    base, exponent = inputs[:2]
    if base.dtype.kind not in "iu":
        return False
    with numpy.errstate(all="ignore"):
        power = numpy.power(base.astype(numpy.float64), exponent.astype(numpy.float64))
    largest = min(float(numpy.iinfo(base.dtype).max), _LARGEST_EXACT)
    return bool((exponent < 0).any()) or not bool((numpy.abs(power) <= largest).all())


def _negative_zero(inputs: Sequence[Array], outputs: Inputs) -> bool:
    """Bounds at zero: whether -0 lies below 0."""
    return any(_has_zero(value, negative=True) for value in inputs)


def _zeros_of_either_sign(inputs: Sequence[Array], outputs: Inputs) -> bool:
    """The greatest and the least of zeros."""
    return all(any(_has_zero(value, negative=sign) for value in inputs) for sign in (True, False))


def _has_zero(values: Array, *, negative: bool) -> bool:
    if values.dtype.kind != "f":
        return False
    return bool(((values == 0) & (numpy.signbit(values) == negative)).any())


_IS_UNDEFINED: dict[str, Callable[[Sequence[Array], Inputs], bool]] = {
    "BitShift": _shift,
    "Cast": _cast,
    "CastLike": _cast,
    "Clip": _negative_zero,
    "Div": _divide,
    "Max": _zeros_of_either_sign,
    "Min": _zeros_of_either_sign,
    "Mod": _divide,
    "Pow": _power,
    "QuantizeLinear": _quantize,
    "ReduceMax": _zeros_of_either_sign,
    "ReduceMin": _zeros_of_either_sign,
    "Relu": _negative_zero,
}
