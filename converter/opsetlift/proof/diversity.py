"""How diverse the test inputs were: measured on the inputs that the original accepted, against a floor.

The floor for an input that holds data: each of its required values (`required_values`) was accepted at least once, or
the original rejected it where it was the only change to an accepted input. Where the floor is not met, agreement of
both sides proves little.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.limits import float_limits, integer_limits, is_floating
from opsetlift.proof.special_values import (
    BETWEEN_FLOATS,
    between_narrower_floats,
    every_value_of,
    special_values,
    texts,
)
from opsetlift.specification import dtypes

DATA = "data"
CONTROLS_SHAPES = "controls shapes"
CONTROLS = "controls shapes or picks elements"

DISTINCT = 256
"""Distinct values are counted up to this number."""

SCANNED = 1 << 9
"""So many elements of a tensor are looked at. What is overlooked behind them is tried again, which costs less."""

MOST_REPEATED = 64
"""Texts of the models are repeated up to so many times."""

FEW_TEXTS = 4
"""So many texts of the models are repeated, as often as so many numbers."""

_MAGNITUDES = (7e4, 1e-6, 1e12, 1e-30)
"""Beyond what float16 holds, or float8, on either side."""

_NAMED = 4
"""So many missing values are named."""

_PACKED = ("float4e2m1", "float6e2m3", "float6e3m2")
"""They fill part of a byte only."""

_UNSIGNED = {1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32, 8: numpy.uint64}


@dataclass(frozen=True)
class InputDiversity:
    """What one input held in the cases that the original accepted."""

    name: str
    dtype: str
    role: str
    """`DATA`, or why the input is tried on small numbers only: `CONTROLS_SHAPES`, `CONTROLS`."""
    cases: int
    elements: int
    """In all cases together."""
    distinct: int
    """Distinct values, counted up to 256."""
    kinds: Sequence[str]
    """The kinds of required values that were accepted: NaN, infinities, extremes, and so on."""
    rejected: Sequence[str] = ()
    """The kinds of which the original rejects every one."""
    missing: str = ""
    """What the floor requires and was not tried; empty where the floor is met."""


class Tally:
    """Counts what one input held, and keeps which of its required values are still to be tried.

    `is_empty`: its type leaves no room for an element.
    """

    def __init__(
        self, dtype: str, required: Mapping[Hashable, Any], role: str = DATA, *, is_empty: bool = False
    ) -> None:
        self.dtype = dtype
        self._is_empty = is_empty
        self.role = role
        self.cases = 0
        self.elements = 0
        self._distinct: set[Hashable] = set()
        self._required = required
        self._missing = dict(required)
        self._rejected: set[Hashable] = set()
        self._last: Any = None

    def record(self, value: Any) -> None:
        """Count an accepted value of the input."""
        self.cases += 1
        if value is self._last and isinstance(value, numpy.ndarray):
            self.elements += value.size  # its values have been counted
            return
        self._last = value
        for array in [value] if isinstance(value, numpy.ndarray) else tensors_in(value):
            self.elements += array.size
            if self._missing or len(self._distinct) < DISTINCT:
                self._record(array)

    def _record(self, array: Array) -> None:
        found = set(codes(array if array.size <= SCANNED else array.flat[:SCANNED]))
        if len(self._distinct) < DISTINCT:
            self._distinct |= found
        if self._missing:
            for code in self._missing.keys() & found:
                del self._missing[code]
            self._rejected -= found

    def untried(self) -> list[Any]:
        """The required values that were neither accepted nor rejected by themselves."""
        return [value for code, value in self._missing.items() if code not in self._rejected]

    def accepted(self) -> list[Any]:
        """The required values that were accepted."""
        return [value for code, value in self._required.items() if code not in self._missing]

    def reject(self, value: Any) -> None:
        """Note that the original rejects a value that was the only change to an accepted input."""
        self._rejected.update(codes(numpy.array([value], dtype=dtypes.numpy_dtype(self.dtype))))

    def diversity(self, name: str) -> InputDiversity:
        """The measure of the input called `name`."""
        accepted = [value for code, value in self._required.items() if code not in self._missing]
        refused = [self._required[code] for code in self._rejected]
        kinds = _kinds(accepted, self.dtype)
        rejected = [kind for kind in _kinds(refused, self.dtype) if kind not in kinds]
        count = min(len(self._distinct), DISTINCT)
        missing = self._shortfall() if self.role == DATA else ""
        return InputDiversity(name, self.dtype, self.role, self.cases, self.elements, count, kinds, rejected, missing)

    def _shortfall(self) -> str:
        if not self.elements:
            return "" if self._is_empty else "it never had an element"
        untried = self.untried()
        if not untried:
            return ""
        kinds = _kinds(untried, self.dtype)
        shown = ", ".join(map(str, untried[:_NAMED]))
        more = f" and {len(untried) - _NAMED} more" if len(untried) > _NAMED else ""
        return f"not tried: {shown}{more}" + (f" ({', '.join(kinds)})" if kinds else "")


@dataclass
class Diversity:
    """What was measured of all test inputs of a site or a model, and of the outputs of the original."""

    inputs: Sequence[InputDiversity] = ()
    outputs_vary: bool = True
    """Some output had two different elements, or two different shapes."""
    may_be_constant: bool = False
    """No input has data on which the outputs could depend."""
    not_run: str = ""
    """A sentence on the branches and loops of a whole model that ran on no input; empty where all did."""
    not_overridden: str = ""
    """A sentence on the defaults of a whole model that could not be overridden; empty where all could."""

    @property
    def missing(self) -> str:
        """What keeps agreement from being a proof; empty where the floor is met."""
        found = [f"input {one.name!r}: {one.missing}" for one in self.inputs if one.missing]
        if not found and not self.outputs_vary and not self.may_be_constant:
            found.append("every output held the same value in every case")
        found += filter(None, [self.not_run, self.not_overridden])
        return "; ".join(found)


def joined(several: Sequence[Diversity]) -> Diversity:
    """One measure of the same inputs tried in several ways: the floor is met where one of the ways meets it."""
    by_name: dict[str, list[InputDiversity]] = {}
    for one in several:
        for found in one.inputs:
            by_name.setdefault(found.name, []).append(found)
    return Diversity(
        [_joined_input(found) for found in by_name.values()],
        any(one.outputs_vary for one in several),
        all(one.may_be_constant for one in several),
    )


def _joined_input(several: Sequence[InputDiversity]) -> InputDiversity:
    first = several[0]
    kinds = list(dict.fromkeys(kind for one in several for kind in one.kinds))
    rejected = dict.fromkeys(kind for one in several for kind in one.rejected if kind not in kinds)
    return InputDiversity(
        first.name,
        first.dtype,
        first.role,
        sum(one.cases for one in several),
        sum(one.elements for one in several),
        max(one.distinct for one in several),
        kinds,
        list(rejected),
        min((one.missing for one in several), key=len),
    )


@lru_cache(maxsize=256)
def required_values(
    dtype: str, numbers: tuple[float, ...], words: tuple[str, ...] = (), *, rounding: bool, briefly: bool
) -> Mapping[Hashable, Any]:
    """The values that the floor asks of an input of a dtype, by their codes.

    Args:
        dtype: The dtype of the input.
        numbers: The numbers in the constants and attributes of both sides: where a rule compares, it is with these.
        words: The texts in constants and attributes of both sides.
        rounding: The comparison is one within a bound, for which extremes and mixed signs are out of place.
        briefly: Ask for one value of each kind only, since each run executes a whole model.
    """
    values = _with_texts(words, numbers) if dtype == "string" else _required(dtype, numbers, rounding, briefly)
    return dict(zip(codes(values), values, strict=True))


def _required(dtype: str, numbers: tuple[float, ...], rounding: bool, briefly: bool) -> Array:
    numpy_dtype = dtypes.numpy_dtype(dtype)
    every = every_value_of(dtype)
    if every is not None and not rounding and (not briefly or dtype == "bool"):
        return every
    special = special_values(dtype)
    if dtype in ("string", "bool") or numpy_dtype.kind == "c":
        return special[:: 1 if len(special) < 64 else 8]
    if rounding:
        return _rounding_values(numpy_dtype)
    if briefly:
        special = _brief_values(numpy_dtype)
    own = _with_neighbours(numbers, numpy_dtype)
    return numpy.concatenate([special, own])


def _with_texts(own: Sequence[str], numbers: Sequence[float]) -> Array:
    """The special texts, and those of the models: in the other case, longer, and between others as delimiters are.

    Also as often as a number of the models, and once more, as each may be counted.
    """
    near = [
        form
        for one in own
        for form in (one, one.swapcase(), _in_mixed_case(one), f"{one}a", f"a{one}b{one}{one}c{one}d{one}e")
    ]
    counts = [int(number) for number in numbers if 1 < number <= MOST_REPEATED and number == int(number)]
    near += [one * (count + more) for one in own[:FEW_TEXTS] for count in counts[:FEW_TEXTS] for more in (0, 1, 2)]
    return texts(list(dict.fromkeys([*special_values("string"), *near])))


def _in_mixed_case(text: str) -> str:
    """With each letter in the other case that comes back from there: without regard to case that is the same text."""
    return "".join(other if (other := letter.swapcase()).swapcase() == letter else letter for letter in text)


def _rounding_values(dtype: numpy.dtype[Any]) -> Array:
    values = [0.0, *([numpy.inf, -numpy.inf, numpy.nan] if is_floating(dtype) else [])]
    with numpy.errstate(all="ignore"):
        found = numpy.array(values).astype(dtype)
    return found[~numpy.isfinite(found)] if is_floating(dtype) else found


def _brief_values(dtype: numpy.dtype[Any]) -> Array:
    if is_floating(dtype):
        limits = float_limits(dtype)
        values = [numpy.nan, numpy.inf, -numpy.inf, limits.max, limits.min, -0.0, 0.0, -1.5, 0.5]
        values += [limits.smallest_subnormal, 1.0 + limits.eps, 300.0, -300.0]
        values += [*_MAGNITUDES, *between_narrower_floats(limits.eps)]
        with numpy.errstate(all="ignore"):
            return numpy.array(values).astype(dtype)
    low, high = integer_limits(dtype)
    near = [low, high, 0, -1, 1, 257, -300, 2049, 2**24 + 1, -(2**24) - 1, 2**53 + 1, -(2**53) - 1, BETWEEN_FLOATS]
    return _integers([value for value in near if low <= value <= high], dtype)


def _with_neighbours(numbers: Sequence[float], dtype: numpy.dtype[Any]) -> Array:
    """The numbers that a dtype holds, each with the nearest values on either side."""
    if is_floating(dtype):
        with numpy.errstate(all="ignore"):
            values = numpy.array(numbers, dtype=numpy.float64).astype(dtype)
            unsigned = _UNSIGNED.get(dtype.itemsize)
            inner = values[numpy.isfinite(values) & (values != 0)]
            if unsigned is None or dtype.kind == "c" or dtypes.name_of_numpy_dtype(dtype) in _PACKED:
                return values
            steps = (unsigned(1), unsigned(2 ** (8 * dtype.itemsize) - 1))
            return numpy.concatenate([values, *((inner.view(unsigned) + step).view(dtype) for step in steps)])
    low, high = integer_limits(dtype)
    near = {int(number) + step for number in numbers if number == number // 1 for step in (-1, 0, 1)}
    return _integers(sorted(value for value in near if low <= value <= high), dtype)


def _integers(values: Sequence[int], dtype: numpy.dtype[Any]) -> Array:
    wide = numpy.uint64 if any(value >= 2**63 for value in values) else numpy.int64
    return numpy.array(values, dtype=wide).astype(dtype)


def tensors_in(value: Any) -> Iterator[Array]:
    """The tensors of a runtime value: itself, or those of a sequence."""
    if isinstance(value, numpy.ndarray):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from tensors_in(element)
    elif isinstance(value, Mapping):
        yield numpy.asarray(list(value.values()))


def with_values(value: Any, given: Sequence[Any], places: Sequence[int]) -> Any:
    """A copy of a runtime value, with values at places of its first tensor that has elements; None without one."""
    if isinstance(value, numpy.ndarray):
        if not value.size:
            return None
        copy = value.copy(order="C")
        flat = copy.reshape(-1)
        for place, one in zip(places, given, strict=False):
            flat[place] = one
        return copy
    if isinstance(value, list):
        for position, element in enumerate(value):
            if (changed := with_values(element, given, places)) is not None:
                return [*value[:position], changed, *value[position + 1 :]]
    return None


def _bits(array: Array) -> Array | None:
    """The bits of the elements, by which values are told apart; None where they have to be compared otherwise."""
    if array.dtype.kind == "V" and not is_floating(array.dtype):
        array = array.astype(numpy.int8)  # int4 and its like keep their value in the low bits of a byte
    unsigned = _UNSIGNED.get(array.dtype.itemsize)
    if array.dtype.kind == "O" or unsigned is None:
        return None
    return numpy.ascontiguousarray(array).reshape(-1).view(unsigned)


def codes(array: Array) -> list[Hashable]:
    """For each element a value that is equal for equal bits only."""
    bits = _bits(array)
    if bits is not None:
        found: list[Hashable] = bits.tolist()
        return found
    flat = array.reshape(-1)
    return [value if isinstance(value, str) else value.tobytes() for value in flat]


def _kinds(values: Sequence[Any], dtype: str) -> list[str]:
    """What kinds of numbers are among the values."""
    numpy_dtype = dtypes.numpy_dtype(dtype)
    if not values or dtype in ("string", "bool") or numpy_dtype.kind == "c":
        return []
    if not is_floating(numpy_dtype):
        low, high = integer_limits(numpy_dtype)
        numbers = {int(value) for value in values}
        found = {
            "negative": any(number < 0 for number in numbers),
            "zero": 0 in numbers,
            "smallest": low in numbers,
            "largest": high in numbers,
            "beyond 2^24": any(abs(number) > 2**24 for number in numbers),
            "beyond 2^53": any(abs(number) > 2**53 for number in numbers),
        }
        return [kind for kind, holds in found.items() if holds]
    limits = float_limits(numpy_dtype)
    wide = numpy.array(values, dtype=numpy_dtype).astype(numpy.float64)
    with numpy.errstate(all="ignore"):
        finite = wide[numpy.isfinite(wide)]
        found = {
            "NaN": bool(numpy.isnan(wide).any()),
            "infinity": bool((wide == numpy.inf).any()),
            "-infinity": bool((wide == -numpy.inf).any()),
            "-0": bool(((wide == 0) & numpy.signbit(wide)).any()),
            "zero": bool(((wide == 0) & ~numpy.signbit(wide)).any()),
            "negative": bool((finite < 0).any()),
            "fractions": bool((finite % 1 != 0).any()),
            "smallest": limits.min in finite,
            "largest": limits.max in finite,
        }
    return [kind for kind, holds in found.items() if holds]
