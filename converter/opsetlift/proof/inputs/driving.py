"""Inputs for which values inside a model are what they are compared with, looked up by or bounded by.

Values that are computed reach such numbers on few inputs. Between two inputs for which one element of such a value is
less and greater than a number, the way is parted again and again, until two neighbours are left, one on either side. So
it is between inputs for which a value of whole numbers or of truths differs, as what a comparison or a rounding gives:
there two neighbours are found of which it takes a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.inputs.cases import Attempt, Case, Ran
from opsetlift.proof.limits import integer_limits, is_floating
from opsetlift.specification import dtypes

_STEPS = 40
"""So often the way between two inputs is parted at most."""

_MOST_COMPARED = 1 << 12
"""So many elements of each value are looked at."""

_CLOSE = 2.0**-23
"""Values are neighbours that differ by less than that, relative to the number."""

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

_LEAST_SHARE = 0.02
"""The way is not parted nearer to an end than that: what is computed need not grow evenly along it."""

_SHARE_FOR_STEPS = 2
"""Half of the inputs is kept for steps."""

_ROUNDS = 3
"""So often a step of each value is looked for."""


@dataclass(frozen=True)
class _Known:
    """A case that was accepted, and a row of each value inside as far as it is compared; None of what is no number."""

    case: Case
    rows: Sequence[Array | None]
    dtypes: Sequence[str]


@dataclass(frozen=True)
class _Ends:
    """Two cases, and what the element is for each: not greater than the target for one, greater for the other."""

    low: _Known
    high: _Known
    least: float
    greatest: float


class Driving:
    """Looks for inputs on which values inside the models take steps, or are certain numbers, or next to these.

    Args:
        names: The inputs that are changed.
        most: How many inputs are tried.
        attempt: Runs both sides; what it returns says what the values inside were.
        rng: Where there is no number half-way, it decides which elements are those of the other end.
    """

    def __init__(self, names: Sequence[str], most: int, attempt: Attempt, rng: numpy.random.Generator) -> None:
        self._names = names
        self._left = most
        self._attempt = attempt
        self._rng = rng
        self._known: list[_Known] = []
        self.saw_steps = False
        """Whether some value holds whole numbers, or truths, and others for other inputs."""

    def run(self, cases: Sequence[Case], targets: Sequence[Sequence[tuple[str, float]]]) -> None:
        """Begin with inputs of the same shapes; for each value inside, `targets` are numbers with their dtypes."""
        for case in cases:
            self._tried(case)
        if not self._known:
            return
        steps = [place for place in range(len(targets)) if self._takes_steps(place)]
        self.saw_steps = bool(steps)
        numbers = [
            [number for dtype, number in found if dtype == known]
            for known, found in zip(self._known[0].dtypes, targets, strict=True)
        ]
        self._left, spare = self._left - self._left // _SHARE_FOR_STEPS, self._left // _SHARE_FOR_STEPS
        for turn in range(max(map(len, numbers), default=0)):
            for place, found in enumerate(numbers):
                if turn < len(found):
                    self._drive(place, found[turn])
        self._left = max(self._left, 0) + spare
        for _ in range(_ROUNDS):
            for place in steps:
                self._look_for_a_step(place)

    def _tried(self, case: Case | None) -> _Known | None:
        ran = self._attempt(case) if case is not None and self._left > 0 else None
        self._left -= 1
        if case is None or not isinstance(ran, Ran):
            return None
        self._known.append(_Known(case, [*map(_row, ran.watched)], [*map(_dtype, ran.watched)]))
        return self._known[-1]

    def _drive(self, place: int, target: float) -> None:
        found = _around(self._known, place, target) if self._left > 0 else None
        if found is None:
            return
        element, ends = found
        closest = 1.0 if self._known[0].dtypes[place] in _INTEGERS else _CLOSE * abs(target)
        for step in range(_STEPS):
            if ends.greatest - ends.least <= closest:
                return
            share = 0.5
            if step % 2 == 0:  # where the element would be the target if it grew evenly
                share = (target / 2 - ends.least / 2) / (ends.greatest / 2 - ends.least / 2)
            middle = self._tried(self._between(ends.low.case, ends.high.case, share))
            row, like = (None if one is None else one.rows[place] for one in (middle, ends.low))
            if middle is None or row is None or like is None or row.shape != like.shape or numpy.isnan(row[element]):
                return
            if row[element] <= target:
                ends = replace(ends, low=middle, least=float(row[element]))
            else:
                ends = replace(ends, high=middle, greatest=float(row[element]))

    def _takes_steps(self, place: int) -> bool:
        """Whether a value holds whole numbers alone in all cases, and not always the same."""
        rows = [one.rows[place] for one in self._known]
        are_whole = all(row is not None and bool((row == numpy.floor(row)).all()) for row in rows)
        return are_whole and not all(_are_same(rows[0], row) for row in rows)

    def _look_for_a_step(self, place: int) -> None:
        if self._left <= 0 or len(self._known) < 2:
            return
        low, high = (self._known[at] for at in self._rng.choice(len(self._known), 2, replace=False))
        if _are_same(low.rows[place], high.rows[place]):
            return
        for _ in range(_STEPS):
            middle = self._tried(self._between(low.case, high.case, 0.5))
            if middle is None:
                return
            if _are_same(low.rows[place], middle.rows[place]):
                low = middle
            else:
                high = middle

    def _between(self, low: Case, high: Case, share: float) -> Case | None:
        """A case between two others; None where there is none."""
        share = min(max(share, _LEAST_SHARE), 1 - _LEAST_SHARE)
        pairs = {name: (low.values[name], high.values[name]) for name in self._names}
        if any(numpy.shape(one) != numpy.shape(other) for one, other in pairs.values()):
            return None
        middle = {name: _parted(one, other, share, self._rng) for name, (one, other) in pairs.items()}
        if any(all(bool((middle[name] == pair[end]).all()) for name, pair in pairs.items()) for end in (0, 1)):
            return None
        return replace(low, values={**low.values, **middle})


def _row(value: Any) -> Array | None:
    if not isinstance(value, numpy.ndarray) or value.dtype.kind in "OUc":
        return None
    with numpy.errstate(all="ignore"):
        return value.reshape(-1)[:_MOST_COMPARED].astype(numpy.float64)


def _dtype(value: Any) -> str:
    return dtypes.name_of_numpy_dtype(value.dtype) if isinstance(value, numpy.ndarray) else ""


def _are_same(one: Array | None, other: Array | None) -> bool:
    return one is not None and other is not None and numpy.array_equal(one, other, equal_nan=True)


def _around(known: Sequence[_Known], place: int, target: float) -> tuple[int, _Ends] | None:
    """The element of a value that comes closest to a number from both sides, and the cases for which it does."""
    cases = [(one, row) for one in known if (row := one.rows[place]) is not None]
    if not cases:
        return None
    first = cases[0][1]
    cases = [(one, row) for one, row in cases if row.shape == first.shape]
    if not first.size:
        return None
    table = numpy.stack([row for _, row in cases])
    below = numpy.where(table <= target, table, -numpy.inf)
    above = numpy.where(table > target, table, numpy.inf)
    least, greatest = below.max(axis=0), above.min(axis=0)
    gaps = numpy.where(numpy.isfinite(least) & numpy.isfinite(greatest), greatest / 2 - least / 2, numpy.inf)
    element = int(gaps.argmin())
    if not numpy.isfinite(gaps[element]):
        return None
    low, high = cases[int(below[:, element].argmax())][0], cases[int(above[:, element].argmin())][0]
    return element, _Ends(low, high, float(least[element]), float(greatest[element]))


def _parted(low: Array, high: Array, share: float, rng: numpy.random.Generator) -> Array:
    """What parts the way by `share`: of integers the next ones at random, of what is no number one of the ends."""
    if low.dtype.kind in "bO":
        return numpy.where(rng.random(low.shape) < share, high, low)
    with numpy.errstate(all="ignore"):
        one, other = low.astype(numpy.float64), high.astype(numpy.float64)
        found = one * (1 - share) + other * share
        if is_floating(low.dtype):
            return found.astype(low.dtype)
        least, greatest = integer_limits(low.dtype)
        return numpy.floor(found + rng.random(low.shape)).clip(least, greatest).astype(low.dtype)
