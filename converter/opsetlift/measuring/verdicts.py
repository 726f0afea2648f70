"""Whether a runtime gave what the evaluator computed, as far as runtimes agree on rounding, dtypes and ranks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from opsetlift.measuring.cases import Case
from opsetlift.measuring.learning import WRONG
from opsetlift.measuring.runner import Answer
from opsetlift.model.arrays import Array

_RELATIVE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-5}
"""Tolerances by the dtype of what was computed: of sums and approximations, not of a single operation."""

_NEAR_ZERO = 1e-5

_READABLE = "biufcOSU"
"""The kinds of numpy's own dtypes: of others, such as bfloat16, its files keep the bytes only."""


def verdict(case: Case, answer: Answer) -> str:
    """The runtime's error, or what is wrong with its outputs; "" where they are those of the specification."""
    if answer.error:
        return answer.error
    difference = difference_of_outputs(case.expected, answer.outputs, compares_values=not case.is_random)
    return f"{WRONG}: {difference}" if difference else ""


def difference_of_outputs(
    expected: Mapping[str, Array],
    found: Mapping[str, Array],
    *,
    compares_values: bool = True,
    near_zero: float = _NEAR_ZERO,
) -> str:
    """The first difference between outputs, in words; "" where there is none.

    Args:
        expected: What the specification says.
        found: What a runtime gave.
        compares_values: Whether values count, and not only shapes.
        near_zero: The part of an output's largest magnitude by which small numbers may differ.
    """
    for name, value in expected.items():
        if name not in found:
            return f"there is no output {name}"
        if difference := _difference(value, found[name], compares_values=compares_values, near_zero=near_zero):
            return difference
    return ""


def _difference(expected: Array, found: Array, *, compares_values: bool, near_zero: float) -> str:
    if expected.shape != found.shape:
        # Runtimes without tensors of rank 0 or 1 give a vector or a matrix.
        if expected.ndim > 1 or expected.size != found.size:
            return f"the shape is {found.shape} instead of {expected.shape}"
        found = found.reshape(expected.shape)
    is_unreadable = found.dtype.kind not in _READABLE and found.dtype != expected.dtype
    if is_unreadable or (expected.dtype.kind in "OSU") != (found.dtype.kind in "OSU"):
        return f"the dtype is {found.dtype}"
    if not compares_values:
        return ""
    if expected.dtype.kind in "OSU":
        return "" if (expected.astype(str) == found.astype(str)).all() else "the texts differ"
    with numpy.errstate(all="ignore"):
        return "" if _are_close(expected, found, near_zero) else "the values differ"


def _are_close(expected: Array, found: Array, near_zero: float) -> bool:
    if expected.dtype.kind != "f":
        # As they are: a cast would round what a runtime without integers failed to round.
        return bool((expected == found).all())
    relative = _RELATIVE.get(expected.dtype.name, 1e-3)
    if found.dtype.kind == "f":
        relative = max(relative, _RELATIVE.get(found.dtype.name, 0))
    finite = expected[numpy.isfinite(expected)]
    largest = float(abs(finite).max()) if finite.size else 0.0
    return bool(numpy.allclose(found, expected, rtol=relative, atol=largest * near_zero + 1e-7, equal_nan=True))
