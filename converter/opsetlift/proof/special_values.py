"""The values of each dtype that are worth a try."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.limits import float_limits, integer_limits, is_floating
from opsetlift.specification import dtypes

WORDS = ("", "a", "A", "b", "ab", "Zebra", "é", "ß", "İ", "日本", " ", "10", "9007199254740993", "-0.0", "NaN", "true")

BETWEEN_FLOATS = 2**60 + 2**36 + 1
"""Just above the middle of two numbers of float32, where a double between them gives the lower one."""

_SHIFTS_OF_IMAGINARY_PARTS = (0, 7, 12)
"""By so many places the special values of imaginary parts are shifted against those of real parts."""


@lru_cache(maxsize=1024)
def special_values(dtype: str) -> Array:
    """The special values of a dtype: signed zeros, infinities, NaN, extremes, and neighbours of limits."""
    numpy_dtype = dtypes.numpy_dtype(dtype)
    if dtype == "string":
        return texts(WORDS)
    if dtype == "bool":
        return numpy.array([False, True])
    if numpy_dtype.kind == "c":
        parts = special_values("float" if dtype == "complex64" else "double")
        # Each as a real and as an imaginary part. All combinations would be 625, and pairs of them 390,625.
        pairs = numpy.empty((len(_SHIFTS_OF_IMAGINARY_PARTS), len(parts)), numpy_dtype)
        pairs.real, pairs.imag = parts, [numpy.roll(parts, shift) for shift in _SHIFTS_OF_IMAGINARY_PARTS]
        return pairs.reshape(-1)
    if is_floating(numpy_dtype):
        return _special_floats(numpy_dtype)
    low, high = integer_limits(numpy_dtype)
    near = [0, 1, 2, 3, -1, -2, low, low + 1, high, high - 1]
    # Beside the largest integers that the float dtypes count to, where a detour through them shows.
    near += [sign * (2**bits + one) for bits in (8, 11, 24, 31, 53) for one in (-1, 0, 1) for sign in (-1, 1)]
    near.append(BETWEEN_FLOATS)
    wide = numpy.uint64 if high >= 2**63 else numpy.int64
    return numpy.array(sorted({value for value in near if low <= value <= high}), dtype=wide).astype(numpy_dtype)


def between_narrower_floats(eps: float) -> list[float]:
    """Numbers just above the middle of two numbers of narrower dtypes, where rounding twice gives the lower one."""
    return [1.0 + half + eps for half in (2.0**-8, 2.0**-11, 2.0**-24) if half >= 2 * eps]


def _special_floats(dtype: numpy.dtype[Any]) -> Array:
    limits = float_limits(dtype)
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.5, 1.0 + limits.eps, numpy.inf]
    # Beyond what integers hold, where a detour through them shows.
    magnitudes += [edge for edge in (2.0**31, 2.0**63) if edge < limits.max]
    magnitudes += between_narrower_floats(limits.eps)
    magnitudes += [limits.max, limits.smallest_normal, limits.smallest_subnormal]
    values = numpy.array([*magnitudes, *(-magnitude for magnitude in magnitudes), numpy.nan])
    with numpy.errstate(all="ignore"):
        return values.astype(dtype)


@lru_cache(maxsize=1024)
def every_value_of(dtype: str, most_bits: int = 8) -> Array | None:
    """All values of a bool or a dtype of at most so many bits, 8 or 16; None for the others."""
    if dtype == "bool":
        return numpy.array([False, True])
    if dtype == "string" or 8 * dtypes.numpy_dtype(dtype).itemsize > most_bits:
        return None
    numpy_dtype = dtypes.numpy_dtype(dtype)
    if is_floating(numpy_dtype):
        unsigned = numpy.uint8 if numpy_dtype.itemsize == 1 else numpy.uint16
        return numpy.arange(2 ** float_limits(numpy_dtype).bits, dtype=unsigned).view(numpy_dtype)
    low, high = integer_limits(numpy_dtype)
    return numpy.arange(low, high + 1).astype(numpy_dtype)


def texts(words: Sequence[str]) -> Array:
    """An array of strings as the evaluator has them."""
    found = numpy.empty(len(words), dtype=object)
    found[:] = words
    return found
