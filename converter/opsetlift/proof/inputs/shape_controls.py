"""Whether the sizes of outputs follow the numbers in inputs: these are moved, and the outputs' sizes compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.inputs.cases import Attempt, Case, Input
from opsetlift.proof.limits import integer_limits, is_floating
from opsetlift.proof.shapes import elements

SHIFTS = (64, 512)
"""By so much numbers are moved, up and down, to see whether sizes of outputs grow with them."""

GROWN = 8
"""Outputs that have more elements than that when a number is moved further follow the number."""


def outputs_grow(case: Case, shapes: Sequence[Any], names: Sequence[str], attempt: Attempt) -> bool:
    """Whether outputs grow with the numbers in some inputs, as these are all moved further and further.

    It is not enough that sizes change: how many elements a NonZero finds depends on data. Where the outputs have no
    elements, nothing can be told, and a large number might still make a large intermediate tensor.

    Args:
        case: Inputs that the original accepted.
        shapes: The shapes of its outputs for them.
        names: The inputs whose numbers are moved together.
        attempt: Runs both sides.
    """
    if not _size(shapes):
        return True
    for sign in (1, -1):
        sizes = [_size(shapes)]
        for shift in SHIFTS:
            moved = attempt_moved(case, names, sign * shift, attempt)
            sizes += [] if moved is None else [_size(moved)]
        if sizes[-1] > sizes[0] + GROWN and sizes == sorted(set(sizes)):
            return True
    return False


def attempt_moved(case: Case, names: Sequence[str], shift: int, attempt: Attempt) -> Sequence[Any] | None:
    """Attempt a case with the numbers in some inputs moved; None where that is rejected or impossible."""
    moved = {name: _moved(case.values[name], shift) for name in names}
    if any(value is None for value in moved.values()):
        return None
    label = f"{' and '.join(names)} moved by {shift}"
    return attempt(Case.of(case.layout, label, {**case.values, **moved}, is_required=case.is_required))


def is_number(one: Input) -> bool:
    """Whether an input is a tensor of numbers."""
    return one.type.HasField("tensor_type") and one.dtype not in (None, "bool", "string")


def _size(shapes: Any) -> int:
    """How many elements outputs of these shapes have."""
    if isinstance(shapes, tuple):
        return elements(shapes)
    return sum(map(_size, shapes)) if isinstance(shapes, list) else 1


def _moved(value: Any, shift: int) -> Array | None:
    """A tensor with a number added to each element; None where that is no tensor of numbers, or leaves the dtype."""
    if not isinstance(value, numpy.ndarray) or value.dtype.kind == "O" or value.dtype == bool:
        return None
    if is_floating(value.dtype):
        with numpy.errstate(all="ignore"):
            moved: Array = (value + value.dtype.type(shift)).astype(value.dtype)
            return moved
    low, high = integer_limits(value.dtype)
    numbers = [int(number) + shift for number in value.reshape(-1)]
    if not all(low <= number <= high for number in numbers):
        return None
    return numpy.array(numbers, dtype=_widest(high)).astype(value.dtype).reshape(value.shape)


def _widest(high: int) -> type[numpy.integer[Any]]:
    return numpy.uint64 if high >= 2**63 else numpy.int64
