"""Fill strategies: the ways to fill a tensor.

The broad strategies look for differences (special values, the dtype's extremes, ties); the gentle ones stay where most
operators accept their input; those for inputs that control shapes (indices, axes, sizes, repeats) keep numbers small,
as a large number there means a large tensor and not a large value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.limits import float_limits, integer_limits, is_floating
from opsetlift.proof.special_values import WORDS, special_values, texts
from opsetlift.specification import dtypes

Shape = tuple[int, ...]

SPECIAL = "special"
"""The only strategy that needs several tensors: it goes on until every special value was used."""

ALIKE = "alike rows"
"""Rows that differ from one row by much or little, so that boxes overlap to every degree; single numbers are between 0
and 1, as thresholds are."""

NEIGHBOURS = "neighbours"
"""Numbers next to one another, which only exact arithmetic tells apart: in a detour through a narrower dtype they are
the same."""

LARGEST_NEIGHBOURS, SMALLEST_NEIGHBOURS = "next to the largest", "next to the smallest"
"""The same at the limits of integers, as sums of many need the most digits there."""

ASCENDING_ROWS = "ascending rows"
"""Rows of ascending positive numbers of all magnitudes: boxes that end after they begin, by little or by much."""

POSITIVE_AND_ZEROS, NEGATIVE_AND_ZEROS = "positive and zeros", "negative and zeros"
"""Numbers of one sign and zeros, which are then the least or the greatest of a row."""

ALL_EXPONENTS = "all exponents"
"""Numbers with all digits, as small and as large as the dtype holds: what takes a number apart does so bit by bit."""

BROAD = ("random", SPECIAL, "ties", "zeros", "sprinkled", ALIKE, "ascending", "largest", "smallest")
"""For sites that keep every bit."""

GENTLE = ("integral", "positive", "fractions", "ones", "ascending", "numbers as text")
"""What the original may accept where it rejects broad values, in the order in which they are tried."""

ROUNDING = (
    "positive",
    "negative",
    "ones",
    "zeros",
    "wide positive",
    ASCENDING_ROWS,
    ASCENDING_ROWS,
    "large positive",
    "large negative",
    "tiny positive",
    "one infinity",
    "one negative infinity",
    "one NaN",
    ALIKE,
    "positive",
    POSITIVE_AND_ZEROS,
    NEGATIVE_AND_ZEROS,
)
"""For sites that may round: one sign in a tensor, far from the extremes. Where terms cancel or overflow half-way,
another order of summation is far off in units of the result, and no bound of a rounding rule could hold."""

CONTROLLING = (
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
    "ratios",
)
"""For inputs that control shapes."""

AROUND_SIZES = "from 0 to twice the sizes"
"""Sizes that are asked for are smaller than those that there are, or larger by more than a little."""

FOR_FLOATS = frozenset(["ratios"])
"""Of these, those that have fractions."""

NOT_FINITE = {"one infinity": numpy.inf, "one negative infinity": -numpy.inf, "one NaN": numpy.nan}
"""The strategies with a single value that is not finite, and the values."""

LONGEST_RUN = 8
"""Runs of so many numbers of a list stand in rows as they are, where rows are as long."""

MOST_RUNS = 6
"""In so many runs at most a tensor holds one value after the other."""

_NEAR = numpy.array([-2, -1, 0, 1, 2])

_BESIDE_TIES = [sign * 2.0**power for sign in (-1, 1) for power in (-9, -12, -12, -16, -26)]
"""So far beside a tie, relatively: less than bfloat16, float16 and float tell apart. In float the last is the tie."""

MAGNITUDES = (
    *((10.0**power, 2 * 10.0**power) for power in (-12, -8, -6, -5, -4, -3, -2, 3, 6)),
    *((1 + part, 1 + 2 * part) for part in (1e-9, 1e-4)),
    (88.8, 89.4),
    (100.0, 110.0),
    (195.0, 205.0),
    (709.8, 710.4),
    (740.0, 750.0),
)
"""Bounds of numbers of one magnitude each: small ones and those beside 1, for which a function is a straight line, and
those at which the exponentials of floats and doubles overflow or vanish, of which the first two and the next to last
are those whose halves do not."""

_NUMERALS = ("0", "1", "-2", "2.5", "1e3", "10")


_WORDS = {
    SPECIAL: "special values",
    NEIGHBOURS: "numbers next to one another",
    LARGEST_NEIGHBOURS: "numbers next to the largest",
    SMALLEST_NEIGHBOURS: "numbers next to the smallest",
    ALL_EXPONENTS: "numbers of all exponents",
    "random": "random numbers",
    "ties": "few distinct values",
    "sprinkled": "special values among small integers",
    "largest": "largest numbers",
    "smallest": "smallest numbers",
    "integral": "small integers",
    "positive": "positive numbers",
    "negative": "negative numbers",
    "wide positive": "positive numbers of all magnitudes",
    "large positive": "large positive numbers",
    "large negative": "large negative numbers",
    "tiny positive": "tiny positive numbers",
    POSITIVE_AND_ZEROS: "positive numbers and zeros",
    NEGATIVE_AND_ZEROS: "negative numbers and zeros",
    "ascending": "ascending numbers",
}


def in_words(strategy: str) -> str:
    """What a broad, gentle or rounding strategy fills tensors with, for people."""
    return _WORDS.get(strategy, strategy)


class ValuePool:
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
        parts = [self._left] if count < len(self.values) else []
        while sum(map(len, parts)) < count:
            parts.append(self._rng.permutation(self.values))
        found = numpy.concatenate(parts)
        self._left = found[count:]
        return found[:count].reshape(shape)


def draw(strategy: str, dtype: str, shape: Shape, rng: numpy.random.Generator) -> Array:
    """A tensor filled by a broad, gentle or rounding strategy."""
    numpy_dtype = dtypes.numpy_dtype(dtype)
    if strategy == SPECIAL:
        return ValuePool(dtype, rng).take(shape)
    if strategy == "sprinkled":
        special = special_values(dtype)
        chosen = special[rng.integers(len(special), size=shape)]
        ordinary = draw("integral", dtype, shape, rng)
        return _array(numpy.where(rng.random(shape) < 0.3, chosen, ordinary), shape, numpy_dtype)
    if dtype == "string":
        words = texts(
            _NUMERALS if strategy in ("numbers as text", "positive") else WORDS[: 4 if strategy == "ties" else None]
        )
        chosen = words[rng.integers(len(words), size=shape)]
        return _array(numpy.sort(chosen, axis=None) if strategy == "ascending" else chosen, shape, numpy_dtype)
    if dtype == "bool":
        return _array(_bools(strategy, math.prod(shape), rng), shape, numpy_dtype)
    with numpy.errstate(all="ignore"):
        if numpy_dtype.kind == "c":
            real = draw(strategy, "float", shape, rng)
            values = numpy.empty(shape, numpy_dtype)
            values.real, values.imag = real, draw(strategy, "float", shape, rng)
            return values
        if is_floating(numpy_dtype):
            return _array(_floats(strategy, numpy_dtype, shape, rng), shape, numpy_dtype)
        return _array(_integers(strategy, numpy_dtype, shape, rng), shape, numpy_dtype)


def _bools(strategy: str, count: int, rng: numpy.random.Generator) -> Any:
    """Flat; not only coin tosses, since few of them make a row of a mask all False, or all True but for one."""
    match strategy:
        case "zeros" | "smallest":
            return numpy.zeros(count)
        case "ones" | "largest":
            return numpy.ones(count)
        case "ascending":
            return numpy.arange(count) >= rng.integers(count + 1)
        case "negative" | "large negative":
            return rng.random(count) < 0.2
        case "positive" | "wide positive" | "large positive" | "tiny positive":
            return rng.random(count) < 0.8
        case "one infinity":
            return numpy.arange(count) == rng.integers(max(count, 1))
        case "one negative infinity" | "one NaN":
            return numpy.arange(count) != rng.integers(max(count, 1))
    return rng.integers(2, size=count)


def _floats(strategy: str, dtype: numpy.dtype[Any], shape: Shape, rng: numpy.random.Generator) -> Any:
    match strategy:
        case "random":
            return rng.standard_normal(shape) * 4
        case "all exponents":
            limits = float_limits(dtype)
            lowest, highest = (math.log2(float(one)) for one in (limits.smallest_subnormal, limits.max))
            return rng.choice([-1.0, 1.0], shape) * 2.0 ** rng.uniform(lowest, highest, shape)
        case "ties":
            return numpy.array([-1.0, -0.0, 0.0, 1.0])[rng.integers(4, size=shape)]
        case "zeros":
            return numpy.array([-0.0, 0.0])[rng.integers(2, size=shape)]
        case "largest" | "smallest":
            return numpy.full(shape, float_limits(dtype).max if strategy == "largest" else float_limits(dtype).min)
        case "integral" | "numbers as text":
            return rng.integers(-3, 5, size=shape)
        case "positive":
            return rng.uniform(0.5, 2.0, shape)
        case "negative":
            return -rng.uniform(0.5, 2.0, shape)
        case "positive and zeros" | "negative and zeros":
            sign = 1 if strategy == POSITIVE_AND_ZEROS else -1
            return sign * rng.uniform(0.5, 2.0, shape) * _zeros_and_ones(shape, rng)
        case "wide positive":
            return 2.0 ** rng.uniform(-6, 6, shape)
        case "ascending rows":
            return numpy.sort(2.0 ** rng.uniform(-6, 6, shape), axis=-1 if shape else None)
        case "large positive":
            return rng.uniform(16.0, 64.0, shape)
        case "tiny positive":
            # Squares are still normal numbers, and 1 and such a number is 1.
            return rng.uniform(1.0, 2.0, shape) * float_limits(dtype).smallest_normal ** 0.45
        case "large negative":
            return -rng.uniform(16.0, 64.0, shape)
        case "one infinity" | "one negative infinity" | "one NaN":
            values = numpy.asarray(rng.uniform(0.5, 2.0, shape))
            if values.size:
                values.flat[int(rng.integers(values.size))] = NOT_FINITE[strategy]
            return values
        case "fractions":
            return rng.random(shape)
        case "ones":
            return numpy.ones(shape)
        case "alike rows":
            return _alike_rows(shape, rng)
        case "neighbours" | "next to the largest" | "next to the smallest":
            number = 1.0 if rng.random() < 0.5 else rng.uniform(-4, 4)
            return number * (1 + _NEAR[rng.integers(len(_NEAR), size=shape)] * float(float_limits(dtype).eps))
    return numpy.arange(1, 1 + math.prod(shape))


def _zeros_and_ones(shape: Shape, rng: numpy.random.Generator) -> Any:
    """Both in each row of two elements or more."""
    values = numpy.asarray(rng.integers(2, size=shape))
    if shape and shape[-1] > 1:
        values[..., -1] = 1 - values[..., 0]
    return values


def _alike_rows(shape: Shape, rng: numpy.random.Generator) -> Any:
    if math.prod(shape) == 1:
        return rng.random(shape)
    row = rng.uniform(0.5, 2.0, shape[-1:] if len(shape) > 1 else ())
    spread = rng.random((*shape[:-1], 1) if len(shape) > 1 else shape) ** 3
    return row * 2.0 ** (spread * rng.uniform(-1, 1, shape))


def _integers(strategy: str, dtype: numpy.dtype[Any], shape: Shape, rng: numpy.random.Generator) -> Any:
    low, high = integer_limits(dtype)
    match strategy:
        case "random" | "wide positive" | "large positive" | "all exponents":
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
        case "positive" | "numbers as text" | "alike rows" | "tiny positive":
            return rng.integers(min(1, high), min(4, high), size=shape, endpoint=True)
        case "positive and zeros":
            return rng.integers(1, min(4, high), size=shape, endpoint=True) * _zeros_and_ones(shape, rng)
        case "negative and zeros":
            most = min(4, high) if low else 0
            return -rng.integers(min(1, most), most, size=shape, endpoint=True) * _zeros_and_ones(shape, rng)
        case "ones":
            return numpy.full(shape, min(1, high))
        case "neighbours" | "next to the largest" | "next to the smallest":
            # Often the same number, so that several inputs are beside one another.
            number = high if rng.random() < 0.5 else 2 ** int(rng.integers(high.bit_length()))
            if low and rng.random() < 0.25:
                number = -number
            number = {"next to the largest": high, "next to the smallest": low}.get(strategy, number)
            wide = numpy.uint64 if high >= 2**63 else numpy.int64
            near = numpy.array([min(max(number + int(one), low), high) for one in _NEAR], wide)
            return near[rng.integers(len(near), size=shape)]
    return numpy.minimum(numpy.arange(math.prod(shape)), min(high, 2**31))


def draw_controlling(
    strategy: str, dtype: str, shape: Shape, sizes: Sequence[int], rng: numpy.random.Generator
) -> Array:
    """A tensor for an input that controls shapes; `sizes` are the dimensions of the first input that does not."""
    numpy_dtype = dtypes.numpy_dtype(dtype)
    count = math.prod(shape)
    bound = max(1, min((size for size in sizes if size), default=2))
    values: Any
    match strategy:
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
        case _ if strategy == AROUND_SIZES:
            values = rng.integers(2 * numpy.resize(sizes or [1], count) + 4)
        case "parts of the last size" | "parts of the first size":
            whole = next(iter(sizes[::-1] if "last" in strategy else sizes), 0)
            values = numpy.diff(numpy.sort(rng.integers(whole + 1, size=max(count - 1, 0))), prepend=0, append=whole)
            values = values[:count]
        case "axes" | "signed axes":
            rank = max(len(sizes), 1)
            values = numpy.resize(rng.permutation(rank), count)
            if strategy == "signed axes":
                values = values - rank * rng.integers(2, size=count)
        case "small":
            values = rng.integers(1, 4, size=shape)
        case "ratios":
            # Of sizes, so that scales by them give whole numbers, or any.
            wholes = numpy.resize(sizes, count) if len(sizes) else numpy.ones(count)
            parts = rng.integers(1, 2 * numpy.maximum(wholes, 1) + 1)
            values = numpy.where(
                rng.random(count) < 0.5, parts / numpy.maximum(wholes, 1), rng.uniform(0.3, 2.5, count)
            )
        case _:
            values = numpy.full(shape, -1)
    return _array(numpy.asarray(values), shape, numpy_dtype)


def own_numbers(numbers: Sequence[float], dtype: numpy.dtype[Any]) -> Array:
    """The distinct numbers among these that a dtype holds."""
    if is_floating(dtype):
        with numpy.errstate(all="ignore"):
            return numpy.unique(numpy.array(numbers, numpy.float64).astype(dtype))
    low, high = integer_limits(dtype)
    held = {int(one) for one in numbers if one == int(one) and low <= one <= high}
    return numpy.array(sorted(held), dtype)


def multiples(units: float | Array, dtype: numpy.dtype[Any], shape: Shape, rng: numpy.random.Generator) -> Array:
    """Halves of some numbers many times, most of them an odd number of times, or numbers just beside.

    Divided by these numbers they are ties, and what was next to a tie is one in narrower dtypes.
    """
    halves = rng.choice([1, 3, 5, 9, 33, 129, 253], shape) + (rng.random(shape) < 0.25)
    values = rng.choice([-0.5, 0.5, 0.5], shape) * halves * (1 + rng.choice(_BESIDE_TIES, shape)) * units
    with numpy.errstate(all="ignore"):
        return _array(values, shape, dtype)


def stretches(listed: Array, position: int, shape: Shape) -> tuple[Array, int]:
    """Rows of what is listed from `position` on, so that each run stands in one, and where the next row starts."""
    width = shape[-1] if shape else 1
    rows, step = math.prod(shape[:-1]), max(1, width + 1 - LONGEST_RUN)
    starts = position + step * numpy.arange(rows)
    found = listed[(starts[:, None] + numpy.arange(width)) % listed.size]
    return found.reshape(shape), position + step * max(1, rows)


def runs(values: Sequence[Any], like: Array, rng: numpy.random.Generator) -> Array:
    """Some of the values, each several times in a row, in the shape and dtype of `like`; a single one everywhere."""
    count = int(rng.integers(2, MOST_RUNS + 1)) if len(values) > 1 else 1
    chosen = [values[int(position)] for position in rng.integers(len(values), size=count)]
    repeated = [one for one in chosen for _ in range(-(-like.size // count))]
    return _array(repeated[: like.size], like.shape, like.dtype)


def _array(values: Any, shape: Shape, dtype: numpy.dtype[Any]) -> Array:
    if dtype.kind == "O":
        texts = numpy.empty(shape, dtype=object)
        texts[...] = numpy.asarray(values, dtype=object).reshape(shape)
        return texts
    return numpy.asarray(values).reshape(shape).astype(dtype)


def drawn_between(near: float, far: float, like: Any, rng: numpy.random.Generator) -> Any:
    """Numbers between two bounds, the first of them `near`, of the dtype and shape of `like`.

    What is no tensor of numbers is returned as it is.
    """
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
