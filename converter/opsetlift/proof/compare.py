"""Whether two values are the same: bit for bit, or within a bound on their rounding.

Integers, booleans and strings must be equal. Floats must have the same bits, NaN equal to NaN whatever its payload, so
that -0.0 differs from 0.0; under a rounding bound of N they may differ by N units in the last place **of the largest
finite magnitude in the expected tensor**, not of each element: a sum that cancels has no meaningful bound element by
element. Infinities and NaN must be in the same places under every bound. A caller may also give a `Tolerance`, which
goes by element and includes integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.limits import float_limits, is_floating
from opsetlift.specification import dtypes

_UNSIGNED = {1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32, 8: numpy.uint64}


@dataclass(frozen=True)
class Comparison:
    """The verdict on two values."""

    equal: bool
    worst_ulps: float = 0.0
    """The largest difference, in units in the last place of the largest magnitude expected."""
    sentence: str = ""
    """Where they differ first and by how much; empty where they are equal."""


SAME = Comparison(True)


@dataclass(frozen=True)
class Tolerance:
    """How far elements may differ besides a bound in ULP: by `atol + rtol * abs(expected)`, as in numpy's `allclose`.

    Raises:
        TypeError: One of them is no number.
        ValueError: One of them is negative, infinite or NaN.
    """

    rtol: float = 0.0
    atol: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, (int, float, numpy.integer, numpy.floating)):
                raise TypeError(f"{name} must be a number, not {value!r}")
            if not 0 <= value < numpy.inf:
                raise ValueError(f"{name} must be a finite number of 0 or more, not {value}")

    def __bool__(self) -> bool:
        return bool(self.rtol or self.atol)

    def allows(self, expected: Array, actual: Array) -> Array:
        """For each element of two arrays of numbers whether it is close enough."""
        first, second = _wide(expected), _wide(actual)
        with numpy.errstate(all="ignore"):
            close = numpy.abs(first - second) <= self.atol + self.rtol * numpy.abs(first)
        return numpy.asarray(close & numpy.isfinite(first) & numpy.isfinite(second))


_FEW = 1 << 12
"""Tensors of so few elements are first compared as bytes."""

EXACT = Tolerance()


def compare(expected: Any, actual: Any, *, ulps: int = 0, tolerance: Tolerance = EXACT) -> Comparison:
    """Compare two runtime values: arrays, lists (sequences), dicts (maps) and None (an empty optional).

    Elements are the same that either bound allows.
    """
    if isinstance(expected, numpy.ndarray) and isinstance(actual, numpy.ndarray):
        return _compare_arrays(expected, actual, ulps, tolerance)
    if isinstance(expected, list) and isinstance(actual, list):
        return _compare_sequences(expected, actual, ulps, tolerance)
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return _compare_maps(expected, actual, ulps, tolerance)
    if expected is None and actual is None:
        return SAME
    if isinstance(expected, (numpy.generic, int, float, str)) and isinstance(actual, (numpy.generic, int, float, str)):
        return _compare_arrays(numpy.asarray(expected), numpy.asarray(actual), ulps, tolerance)
    return Comparison(False, sentence=f"{_kind(expected)} became {_kind(actual)}")


def differs_elsewhere(expected: Any, others: Iterable[Any], actual: Any, other: Any) -> bool:
    """Return whether `other` differs from `actual` in an element in which none of `others` differs from `expected`.

    This goes by element where all are tensors of one shape; of anything else it counts whether it differs at all. No
    more of `others` is taken than it needs to find out.
    """
    if compare(actual, other).equal:
        return False
    if not all(_is_of_shape(value, numpy.shape(expected)) for value in (expected, actual, other)):
        return all(compare(expected, one).equal for one in others)
    left = _differences(actual, other)
    for one in others:
        if not left.any() or not _is_of_shape(one, expected.shape):
            return False
        left &= ~_differences(expected, one)
    return bool(left.any())


def _is_of_shape(value: Any, shape: tuple[int, ...]) -> bool:
    return isinstance(value, numpy.ndarray) and value.shape == shape


def _differences(one: Array, other: Array) -> Array:
    different = numpy.array(one != other, dtype=bool)
    if is_floating(one.dtype):
        different &= ~(numpy.isnan(one) & numpy.isnan(other))
    return different


def _kind(value: Any) -> str:
    if value is None:
        return "an empty optional"
    if isinstance(value, numpy.ndarray):
        return f"a tensor of {dtypes.name_of_numpy_dtype(value.dtype)}"
    if isinstance(value, list):
        return "a sequence"
    return "a map" if isinstance(value, Mapping) else f"a {type(value).__name__}"


def _compare_sequences(expected: list[Any], actual: list[Any], ulps: int, tolerance: Tolerance) -> Comparison:
    if len(expected) != len(actual):
        return Comparison(False, sentence=f"a sequence of {len(expected)} elements became one of {len(actual)}")
    return _worst(
        (f"element {number}", compare(one, other, ulps=ulps, tolerance=tolerance))
        for number, (one, other) in enumerate(zip(expected, actual, strict=True))
    )


def _compare_maps(
    expected: Mapping[Any, Any], actual: Mapping[Any, Any], ulps: int, tolerance: Tolerance
) -> Comparison:
    if expected.keys() != actual.keys():
        return Comparison(False, sentence=f"a map of the keys {list(expected)} became one of {list(actual)}")
    return _worst(
        (f"key {key!r}", compare(value, actual[key], ulps=ulps, tolerance=tolerance)) for key, value in expected.items()
    )


def _worst(parts: Any) -> Comparison:
    worst = 0.0
    for label, part in parts:
        worst = max(worst, part.worst_ulps)
        if not part.equal:
            return Comparison(False, worst, f"{label}: {part.sentence}")
    return Comparison(True, worst)


def _compare_arrays(expected: Array, actual: Array, ulps: int, tolerance: Tolerance) -> Comparison:
    names = dtypes.name_of_numpy_dtype(expected.dtype), dtypes.name_of_numpy_dtype(actual.dtype)
    if names[0] != names[1]:
        return Comparison(False, sentence=f"dtype {names[0]} became {names[1]}")
    if expected.shape != actual.shape:
        return Comparison(False, sentence=f"shape {expected.shape} became {actual.shape}")
    if names[0] != "string" and expected.size <= _FEW and expected.tobytes() == actual.tobytes():
        return SAME  # as nearly always, found out in a quarter of the time
    if names[0] == "string":
        return _first_difference(numpy.asarray(expected != actual, dtype=bool), expected, actual, 0.0)
    if not is_floating(expected.dtype):
        # int4 and its like keep their value in the low bits of a byte; the others say nothing.
        different = numpy.asarray(expected != actual)
        if tolerance and names[0] != "bool":
            different &= ~tolerance.allows(expected, actual)
        return _first_difference(different, expected, actual, 0.0)
    if expected.dtype.kind == "c":
        return _worst(
            (label, _compare_floats(one, other, ulps, tolerance))
            for label, one, other in (
                ("real part", expected.real, actual.real),
                ("imaginary part", expected.imag, actual.imag),
            )
        )
    return _compare_floats(expected, actual, ulps, tolerance)


def _compare_floats(expected: Array, actual: Array, ulps: int, tolerance: Tolerance) -> Comparison:
    unsigned = _UNSIGNED[expected.dtype.itemsize]
    bits = numpy.ascontiguousarray(expected).view(unsigned), numpy.ascontiguousarray(actual).view(unsigned)
    different = (bits[0] != bits[1]).reshape(expected.shape)
    if not different.any():
        return SAME
    different &= ~(numpy.isnan(expected) & numpy.isnan(actual))
    if not different.any():
        return SAME
    with numpy.errstate(all="ignore"):
        distance = numpy.abs(_wide(expected) - _wide(actual))
        distance = numpy.where(different, distance / _unit(expected), 0)
    worst = float(numpy.nan_to_num(distance, nan=numpy.inf).max())
    if ulps:
        # An infinity or a NaN on one side only is at no finite distance.
        different &= ~(distance <= ulps)
    if tolerance and different.any():
        different &= ~tolerance.allows(expected, actual)
    return _first_difference(different, expected, actual, worst)


def _wide(array: Array) -> Array:
    """With more digits where the machine has them: the difference of two doubles may need them."""
    if array.dtype in (numpy.int64, numpy.uint64):
        return array.astype(numpy.longdouble)
    return array.astype(numpy.float64).astype(numpy.longdouble)


def _unit(expected: Array) -> float:
    """The unit in the last place at the largest finite magnitude."""
    finite = numpy.abs(expected[numpy.isfinite(expected)].astype(numpy.float64))
    limits = float_limits(expected.dtype)
    largest = max(float(finite.max(initial=0.0)), limits.smallest_normal)
    return float(2.0 ** numpy.floor(numpy.log2(largest)) * limits.eps)


def _first_difference(different: Array, expected: Array, actual: Array, worst: float) -> Comparison:
    if not different.any():
        return Comparison(True, worst)
    index = tuple(int(axis[0]) for axis in numpy.nonzero(different)) if different.ndim else ()
    where = f"at index {list(index)}" if index else "in the scalar"
    by = f" (largest difference: {worst:.3g} ULP)" if worst else ""
    count = int(different.sum())
    more = f"; {count} of {different.size} elements differ" if count > 1 else ""
    return Comparison(False, worst, f"{where} {_shown(expected[index])} became {_shown(actual[index])}{by}{more}")


def _shown(element: Any) -> str:
    return repr(element) if isinstance(element, str) else str(element)
