"""Values to try: special values by dtype, and the manners of drawing a tensor of them.

A manner is a way to fill a tensor. The broad ones look for trouble (special values, the dtype's extremes, ties); the
gentle ones stay where most operators accept their input; the directing ones are for inputs that steer an operator
(indices, axes, sizes, repeats), where a large number means a large tensor and not a large value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy
from numpy.typing import NDArray

from opsetlift.proof.limits import float_limits, integer_limits, is_floating
from opsetlift.specification import dtypes

Array = NDArray[Any]
Shape = tuple[int, ...]

SPECIAL = "special"
"""The only manner that needs several tensors: it goes on until all special values have had their turn."""

BROAD = ("random", SPECIAL, "ties", "zeros", "sprinkled", "largest", "smallest")
"""For sites that keep every bit."""

GENTLE = ("integral", "positive", "fractions", "ones", "ascending", "numbers as text")
"""What the original may accept where it rejects broad values, in the order in which they are tried."""

ROUNDING = (
    "positive",
    "negative",
    "ones",
    "zeros",
    "wide positive",
    "large positive",
    "large negative",
    "one infinity",
    "one negative infinity",
    "one NaN",
    "positive",
)
"""For sites that may round: one sign in a tensor, far from the extremes. Where terms cancel or overflow half-way,
another order of summation is far off in units of the result, and no bound of a rounding rule could hold."""

DIRECTING = (
    "index",
    "zeros and ones",
    "ones",
    "permutation",
    "signed index",
    "sizes",
    "ascending",
    "small",
    "parts of the last size",
    "parts of the first size",
    "axes",
    "signed axes",
    "minus one",
)
"""For inputs that steer an operator."""

NOT_FINITE = {"one infinity": numpy.inf, "one negative infinity": -numpy.inf, "one NaN": numpy.nan}
"""The manners with a single value that is not finite, and the values."""

_TURNS_OF_COMPLEX = (0, 7, 12)
"""By so many places the special values of imaginary parts are shifted against those of real parts."""

_WORDS = ("", "a", "A", "b", "ab", "Zebra", "é", "日本", " ", "10", "-0.0", "NaN", "true")
_NUMERALS = ("0", "1", "-2", "2.5", "1e3", "10")


@lru_cache(maxsize=1024)
def special_values(dtype: str) -> Array:
    """The values of a dtype that are worth a try: signed zeros, infinities, NaN, extremes, and neighbours of limits."""
    numpy_dtype = dtypes.numpy_dtype(dtype)
    if dtype == "string":
        return _texts(_WORDS)
    if dtype == "bool":
        return numpy.array([False, True])
    if numpy_dtype.kind == "c":
        parts = special_values("float" if dtype == "complex64" else "double")
        # Each as a real and as an imaginary part. All combinations would be 625, and pairs of them 390,625.
        pairs = numpy.empty((len(_TURNS_OF_COMPLEX), len(parts)), numpy_dtype)
        pairs.real, pairs.imag = parts, [numpy.roll(parts, turn) for turn in _TURNS_OF_COMPLEX]
        return pairs.reshape(-1)
    if is_floating(numpy_dtype):
        return _special_floats(numpy_dtype)
    low, high = integer_limits(numpy_dtype)
    near = [0, 1, 2, 3, -1, -2, low, low + 1, high, high - 1]
    # Beside the largest integers that the float dtypes count to, where a detour through them shows.
    near += [sign * (2**bits + one) for bits in (8, 11, 24, 31, 53) for one in (-1, 0, 1) for sign in (-1, 1)]
    wide = numpy.uint64 if high >= 2**63 else numpy.int64
    return numpy.array(sorted({value for value in near if low <= value <= high}), dtype=wide).astype(numpy_dtype)


def _special_floats(dtype: numpy.dtype[Any]) -> Array:
    limits = float_limits(dtype)
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.5, 1.0 + limits.eps, numpy.inf]
    # Beyond what integers hold, where a detour through them shows.
    magnitudes += [edge for edge in (2.0**31, 2.0**63) if edge < limits.max]
    magnitudes += [limits.max, limits.smallest_normal, limits.smallest_subnormal]
    values = numpy.array([*magnitudes, *(-magnitude for magnitude in magnitudes), numpy.nan])
    with numpy.errstate(all="ignore"):
        return values.astype(dtype)


@lru_cache(maxsize=1024)
def every_value_of(dtype: str) -> Array | None:
    """All values of a bool or a dtype of at most 8 bits; None for the others."""
    if dtype == "bool":
        return numpy.array([False, True])
    if dtype == "string" or dtypes.numpy_dtype(dtype).itemsize > 1:
        return None
    numpy_dtype = dtypes.numpy_dtype(dtype)
    if is_floating(numpy_dtype):
        return numpy.arange(2 ** float_limits(numpy_dtype).bits, dtype=numpy.uint8).view(numpy_dtype)
    low, high = integer_limits(numpy_dtype)
    return numpy.arange(low, high + 1).astype(numpy_dtype)


class Deck:
    """The special values of a dtype in random order, again and again, so that none is left out."""

    def __init__(self, dtype: str, rng: numpy.random.Generator) -> None:
        self.dtype = dtype
        self.values = special_values(dtype)
        self._rng = rng
        self._left = self.values[:0]

    def take(self, shape: Shape) -> Array:
        """The next values, as a tensor."""
        count = math.prod(shape)
        if count > 4 * len(self.values):
            rest = self._rng.integers(len(self.values), size=count - len(self.values))
            taken = self._rng.permutation(numpy.concatenate([self.values, self.values[rest]]))
            return taken.reshape(shape)
        parts = [self._left]
        while sum(map(len, parts)) < count:
            parts.append(self._rng.permutation(self.values))
        cards = numpy.concatenate(parts)
        self._left = cards[count:]
        return cards[:count].reshape(shape)


def draw(manner: str, dtype: str, shape: Shape, rng: numpy.random.Generator) -> Array:
    """A tensor filled in a broad, gentle or rounding manner."""
    numpy_dtype = dtypes.numpy_dtype(dtype)
    if manner == SPECIAL:
        return Deck(dtype, rng).take(shape)
    if manner == "sprinkled":
        special = special_values(dtype)
        chosen = special[rng.integers(len(special), size=shape)]
        ordinary = draw("integral", dtype, shape, rng)
        return _array(numpy.where(rng.random(shape) < 0.3, chosen, ordinary), shape, numpy_dtype)
    if dtype == "string":
        words = _texts(
            _NUMERALS if manner in ("numbers as text", "positive") else _WORDS[: 4 if manner == "ties" else None]
        )
        chosen = words[rng.integers(len(words), size=shape)]
        return _array(numpy.sort(chosen, axis=None) if manner == "ascending" else chosen, shape, numpy_dtype)
    if dtype == "bool":
        fixed = {"zeros": False, "smallest": False, "ones": True, "largest": True}
        if manner in fixed:
            return numpy.full(shape, fixed[manner])
        return _array(rng.integers(2, size=shape), shape, numpy_dtype)
    with numpy.errstate(all="ignore"):
        if numpy_dtype.kind == "c":
            real = draw(manner, "float", shape, rng)
            values = numpy.empty(shape, numpy_dtype)
            values.real, values.imag = real, draw(manner, "float", shape, rng)
            return values
        if is_floating(numpy_dtype):
            return _array(_floats(manner, numpy_dtype, shape, rng), shape, numpy_dtype)
        return _array(_integers(manner, numpy_dtype, shape, rng), shape, numpy_dtype)


def _floats(manner: str, dtype: numpy.dtype[Any], shape: Shape, rng: numpy.random.Generator) -> Any:
    match manner:
        case "random":
            return rng.standard_normal(shape) * 4
        case "ties":
            return numpy.array([-1.0, -0.0, 0.0, 1.0])[rng.integers(4, size=shape)]
        case "zeros":
            return numpy.array([-0.0, 0.0])[rng.integers(2, size=shape)]
        case "largest" | "smallest":
            return numpy.full(shape, float_limits(dtype).max if manner == "largest" else float_limits(dtype).min)
        case "integral" | "numbers as text":
            return rng.integers(-3, 5, size=shape)
        case "positive":
            return rng.uniform(0.5, 2.0, shape)
        case "negative":
            return -rng.uniform(0.5, 2.0, shape)
        case "wide positive":
            return 2.0 ** rng.uniform(-6, 6, shape)
        case "large positive":
            return rng.uniform(16.0, 64.0, shape)
        case "large negative":
            return -rng.uniform(16.0, 64.0, shape)
        case "one infinity" | "one negative infinity" | "one NaN":
            values = numpy.asarray(rng.uniform(0.5, 2.0, shape))
            if values.size:
                values.flat[int(rng.integers(values.size))] = NOT_FINITE[manner]
            return values
        case "fractions":
            return rng.random(shape)
        case "ones":
            return numpy.ones(shape)
    return numpy.arange(1, 1 + math.prod(shape))


def _integers(manner: str, dtype: numpy.dtype[Any], shape: Shape, rng: numpy.random.Generator) -> Any:
    low, high = integer_limits(dtype)
    match manner:
        case "random" | "wide positive" | "large positive":
            return rng.integers(
                low, high, size=shape, endpoint=True, dtype=numpy.uint64 if high >= 2**63 else numpy.int64
            )
        case "ties" | "fractions":
            return rng.integers(0, min(1, high), size=shape, endpoint=True)
        case "zeros":
            return numpy.zeros(shape)
        case "largest":
            return numpy.full(shape, high)
        case "smallest" | "large negative":
            return numpy.full(shape, low)
        case "integral":
            return rng.integers(max(-3, low), min(4, high), size=shape, endpoint=True)
        case "negative":
            return -rng.integers(min(1, high), min(4, high), size=shape, endpoint=True) if low else numpy.zeros(shape)
        case "positive" | "numbers as text":
            return rng.integers(min(1, high), min(4, high), size=shape, endpoint=True)
        case "ones":
            return numpy.full(shape, min(1, high))
    return numpy.minimum(numpy.arange(math.prod(shape)), min(high, 2**31))


def direct(manner: str, dtype: str, shape: Shape, sizes: Sequence[int], rng: numpy.random.Generator) -> Array:
    """A tensor for an input that steers; `sizes` are the dimensions of the first input that does not."""
    numpy_dtype = dtypes.numpy_dtype(dtype)
    count = math.prod(shape)
    bound = max(1, min((size for size in sizes if size), default=2))
    values: Any
    match manner:
        case "index":
            values = rng.integers(bound, size=shape)
        case "signed index":
            values = rng.integers(-bound, bound, size=shape)
        case "zeros and ones":
            values = rng.integers(2, size=shape)
        case "ones":
            values = numpy.ones(shape)
        case "permutation":
            values = rng.permutation(count)
        case "ascending":
            values = numpy.arange(count)
        case "sizes":
            values = [*sizes, *[1] * count][:count] if len(sizes) <= count else [*sizes[: count - 1], -1][:count]
        case "parts of the last size" | "parts of the first size":
            whole = next(iter(sizes[::-1] if "last" in manner else sizes), 0)
            values = numpy.diff(numpy.sort(rng.integers(whole + 1, size=max(count - 1, 0))), prepend=0, append=whole)
            values = values[:count]
        case "axes" | "signed axes":
            rank = max(len(sizes), 1)
            values = numpy.resize(rng.permutation(rank), count)
            if manner == "signed axes":
                values = values - rank * rng.integers(2, size=count)
        case "small":
            values = rng.integers(1, 4, size=shape)
        case _:
            values = numpy.full(shape, -1)
    return _array(numpy.asarray(values), shape, numpy_dtype)


def _texts(words: Sequence[str]) -> Array:
    texts = numpy.empty(len(words), dtype=object)
    texts[:] = words
    return texts


def _array(values: Any, shape: Shape, dtype: numpy.dtype[Any]) -> Array:
    if dtype.kind == "O":
        texts = numpy.empty(shape, dtype=object)
        texts[...] = numpy.asarray(values, dtype=object).reshape(shape)
        return texts
    return numpy.asarray(values).reshape(shape).astype(dtype)


def drawn_between(near: float, far: float, like: Any, rng: numpy.random.Generator) -> Any:
    """Numbers between two bounds, the first of them `near`, of the dtype and shape of `like`; what is no tensor of
    numbers stays as it is."""
    if not isinstance(like, numpy.ndarray) or like.dtype.kind in "OUbc" or not like.size:
        return like
    low, high = sorted((near, far))
    values = rng.uniform(low, high, like.size)
    values[0] = near
    if not is_floating(like.dtype):
        values = values.clip(*integer_limits(like.dtype))
    with numpy.errstate(all="ignore"):
        drawn: Array = values.astype(like.dtype).reshape(like.shape)
        return drawn
