"""Accepted cases with other values: some inputs are drawn anew, the rest stays.

Each function tries one kind of values that tells wrong rules from right ones, where what is drawn elsewhere does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.inputs.building import EACH_ITS_OWN, EACH_ITS_OWN_ROUNDING
from opsetlift.proof.inputs.cases import Attempt, Case, Ran
from opsetlift.proof.inputs.exploration import LARGEST_INDEX, MANY, Exploration
from opsetlift.proof.inputs.filling import (
    ALIKE,
    ALL_EXPONENTS,
    LARGEST_NEIGHBOURS,
    MAGNITUDES,
    NEIGHBOURS,
    NOT_FINITE,
    ROUNDING,
    SMALLEST_NEIGHBOURS,
    SPECIAL,
    draw,
    drawn_between,
    in_words,
    runs,
)
from opsetlift.proof.inputs.shape_controls import is_number
from opsetlift.proof.limits import float_limits, integer_limits, is_floating

EXTREMES = (2**63 - 1, -(2**63), 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, 2**40)
"""What exporters write for an end, and what 32 bits do not hold."""

TURNS_OF_EXTREMES, MOST_REJECTED_EXTREMES = 2, 3
"""So often each of them, and how many the original may reject."""

MOST_SHIFTED = 3
"""In so many cases it is found out whether any number may be added to an input."""

FAR_BELOW = (-200.0, -1e4, -1e9, -3.4e38)
"""Logits that are left out."""

TURNS_OF_SQUARES = 4
SQUARES_BEYOND_FLOAT16, SUMS_BEYOND_FLOAT16 = (260.0, 400.0), (30000.0, 40000.0)
"""Numbers whose squares, or sums of three of them, are beyond the largest float16."""

CHANGES = 96
"""So many cases are changed in one input where more inputs were rejected than accepted, a fourth as many elsewhere."""

TURNS_OF_INDICES = 12
"""How many tensors are drawn from all the numbers that an input of indices takes."""

ANY_NUMBERS = ("random", SPECIAL, "sprinkled")
"""What is tried in inputs whose type is that of indices or sizes, where no output's size follows values."""

TURNS_OF_ANY_NUMBERS = 12
"""How often."""

TURNS_NOT_FINITE = 24
"""How often a value that is not finite stands in one input, at each place in turn, beside ordinary numbers.

In half of the turns the others are whole numbers: positions then lie on elements, and weights are 0.
"""

MORE_NOT_FINITE = 4
"""So many times as often where no input has more than `FEW_ELEMENTS`: a tensor of more has many others beside it."""

FEW_ELEMENTS = 4

TURNS_OF_RUNS = 5
"""How often one input holds few special values, each many times in a row: windows and rows hold one value alone."""

MOST_WITH_RUNS = 4
"""In so many inputs at most."""

TURNS_OF_WHOLE_NUMBERS = 8
"""How often one input holds small whole numbers, or halves of them."""

TURNS_OF_ALL_EXPONENTS = 12
"""How often all inputs of floats hold numbers with all digits, of all exponents."""

MOST_HALVES = 16
"""So many halves at most."""

WIDE_FLOATS = ("float", "double", "bfloat16")
"""Those that hold such numbers, and their squares."""

_AT_LIMITS = (LARGEST_NEIGHBOURS, SMALLEST_NEIGHBOURS, LARGEST_NEIGHBOURS)
"""What the first of the next turns hold."""

_TURNS_OF_NEIGHBOURS = 12
"""How many tensors of numbers next to one another are tried: which numbers these are is drawn for each."""

ORDINARY = ("fractions", "positive", "negative", "wide positive")
"""What stands in the other inputs then."""

SETTINGS_TOGETHER = 128
"""How often single numbers are drawn together from what was accepted of each: they may count only together."""

MORE_PER_CASE = 4
"""So many more inputs are drawn for each that is still wanted, of which the original may reject some."""


def change_accepted(known: Exploration, attempt: Attempt) -> None:
    """Accepted cases with one data input drawn anew, above all where the original is hard to please."""
    names = [name for name in known.builder.pools if name not in known.builder.controls]
    if len(known.inputs) < 2 or not names or not known.kept:
        return
    rng = known.builder.rng
    strategies = (ALIKE, *(EACH_ITS_OWN_ROUNDING if known.builder.rounding else EACH_ITS_OWN))
    for _ in range(CHANGES if known.number_rejected > known.number_accepted else CHANGES // 4):
        _, case = known.any_kept()
        name = names[int(rng.integers(len(names)))]
        strategy = strategies[int(rng.integers(len(strategies)))] if rng.random() < 0.5 else ALIKE
        if known.builder.rounding and not _are_finite(case.values, names):
            # Rows that are alike cancel, and what is left decides between infinity and NaN.
            strategy = "positive"
        drawn = draw(strategy, known.builder.pools[name].dtype, numpy.shape(case.values[name]), rng)
        attempt(Case.of(case.layout, f"{name} changed, {in_words(strategy)}", {**case.values, name: drawn}))


def try_any_in_controls(known: Exploration, attempt: Attempt) -> None:
    """Numbers of all magnitudes where an input's type is that of indices or sizes, and no output's size changed.

    It may hold data all the same, as a bias of int32 or a scale does.
    """
    if known.sizes_follow_values or not known.kept:
        return
    strategies = EACH_ITS_OWN_ROUNDING if known.builder.rounding else ANY_NUMBERS
    for one in known.inputs:
        if one.name not in known.builder.controls or not is_number(one):
            continue
        for turn in range(TURNS_OF_ANY_NUMBERS):
            _, case = known.any_kept()
            strategy = strategies[turn % len(strategies)]
            drawn = draw(strategy, one.dtype or "", numpy.shape(case.values[one.name]), known.builder.rng)
            attempt(Case.of(case.layout, f"{in_words(strategy)} in {one.name}", {**case.values, one.name: drawn}))


def try_neighbours(known: Exploration, attempt: Attempt) -> None:
    """Accepted cases with numbers next to one another in all inputs together, where every bit counts.

    Where an output's size follows what has the type of indices or sizes, data alone; of whole models then all.
    """
    controls = known.builder.controls
    data = {name: pool.dtype for name, pool in known.builder.pools.items() if name not in controls}
    typed = [one for one in known.inputs if one.name in controls and not one.controls_shapes and is_number(one)]
    every = {one.name: one.dtype or "" for one in typed} | data
    rounds = [data, every] if known.is_brief and data != every else [data]
    if known.builder.rounding or not known.kept:
        return
    rng = known.builder.rng
    for dtypes_of in rounds if known.sizes_follow_values else [every]:
        for turn in range(_TURNS_OF_NEIGHBOURS if dtypes_of else 0):
            _, case = known.any_kept()
            strategy = _AT_LIMITS[turn] if turn < len(_AT_LIMITS) else NEIGHBOURS
            drawn = {
                name: draw(strategy, dtype, numpy.shape(case.values[name]), rng) for name, dtype in dtypes_of.items()
            }
            filled = Case.of(case.layout, in_words(strategy), {**case.values, **drawn})
            attempt(replace(filled, is_required=known.is_brief))


def try_magnitudes(known: Exploration, attempt: Attempt) -> None:
    """Numbers of one sign and one magnitude in the only input of a site that rounds.

    With several inputs of floats large numbers make what is rounded larger than any bound, as in the logits of an
    Attention.
    """
    is_apt = known.builder.rounding and known.kept and len(known.float_pools) == 1
    names = [name for name, pool in known.float_pools.items() if pool.dtype in WIDE_FLOATS] if is_apt else []
    for name, (low, high), sign in product(names, MAGNITUDES, (1, -1)):
        _, case = known.any_kept()
        if isinstance(case.values[name], numpy.ndarray):
            drawn = drawn_between(sign * low, sign * high, case.values[name], known.builder.rng)
            filling = f"numbers from {sign * low:g} to {sign * high:g} in {name}"
            attempt(Case.of(case.layout, filling, {**case.values, name: drawn}))


def try_settings_together(known: Exploration, attempt: Attempt) -> None:
    """Single numbers drawn together, each from those that were accepted for it and from what is between them.

    A threshold may tell only where a count is above 1, and both were accepted only beside a 0 or 1 of the other.
    """
    rng = known.builder.rng
    pools = {name: list(known) for name, known in known.settings.items() if len(known) > 1}
    strategies = known.gentle if known.builder.rounding else ("positive", "integral", *ORDINARY)
    for _ in range(SETTINGS_TOGETHER if known.kept and len(pools) > 1 else 0):
        _, case = known.any_kept()
        values = {name: case.values[name] for name in pools}
        # An optional may hold nothing, and what was one number elsewhere is several here.
        arrays = {name: value for name, value in values.items() if isinstance(value, numpy.ndarray)}
        like = {name: value for name, value in arrays.items() if value.size == 1}
        if len(like) < 2:
            continue
        drawn = {
            name: numpy.full(value.shape, _one_of(pools[name], rng, between=is_floating(value.dtype))).astype(
                value.dtype
            )
            for name, value in like.items()
        }
        strategy = strategies[int(rng.integers(len(strategies)))]
        for name, pool in known.builder.pools.items():
            if name not in drawn and name not in known.builder.controls:
                drawn[name] = draw(strategy, pool.dtype, numpy.shape(case.values[name]), rng)
        filling = f"single numbers together, {in_words(strategy)}"
        attempt(Case.of(case.layout, filling, {**case.values, **drawn}))


def draw_more(known: Exploration, attempt: Attempt) -> None:
    """Accepted cases with all data drawn anew, up to the number of cases that was asked for."""
    names = [name for name in known.builder.pools if name not in known.builder.controls]
    if known.limit is None or not known.kept or not names:
        return
    rng = known.builder.rng
    strategies = ROUNDING if known.builder.rounding else EACH_ITS_OWN
    for _ in range(MORE_PER_CASE * (known.limit - known.number_accepted)):
        _, case = known.any_kept()
        strategy = strategies[int(rng.integers(len(strategies)))]
        drawn = {
            name: draw(strategy, known.builder.pools[name].dtype, numpy.shape(case.values[name]), rng) for name in names
        }
        attempt(Case.of(case.layout, f"{in_words(strategy)}, drawn once more", {**case.values, **drawn}))


def try_one_not_finite(known: Exploration, attempt: Attempt) -> None:
    """A value that is not finite in one input of a site that rounds, ordinary or whole numbers in the others.

    Such a value tells which elements a result is made from, be it with a weight of 0.
    """
    names = list(known.float_pools) if known.builder.rounding and known.kept else []
    rng = known.builder.rng
    are_few = all(numpy.size(case.values[name]) <= FEW_ELEMENTS for _, case in known.kept for name in names)
    for name in names:
        places: list[int] = []
        for turn in range(TURNS_NOT_FINITE * (MORE_NOT_FINITE if are_few else 1)):
            _, case = known.any_kept()
            # Single numbers are thresholds, unless all inputs are.
            several = [one for one in names if numpy.size(case.values[one]) > 1] or names
            if name not in several or not numpy.size(case.values[name]):
                continue
            drawn = {
                one: draw(
                    ORDINARY[int(rng.integers(len(ORDINARY)))],
                    known.builder.pools[one].dtype,
                    numpy.shape(case.values[one]),
                    rng,
                )
                for one in several
            }
            if turn // len(NOT_FINITE) % 2:
                drawn = {one: _away_from_zero(value) for one, value in drawn.items()}
            places = places or rng.permutation(drawn[name].size).tolist()
            kind = [*NOT_FINITE][turn % len(NOT_FINITE)]
            drawn[name].reshape(-1)[places.pop() % drawn[name].size] = NOT_FINITE[kind]
            attempt(Case.of(case.layout, f"{in_words(kind)} in {name}", {**case.values, **drawn}))


def try_runs(known: Exploration, attempt: Attempt) -> None:
    """What is not finite alone in one input of a site that keeps every bit, then special values in runs.

    Of a window or row of one value the first element, or the one outside the pads, is often the result.
    """
    is_idle = known.builder.rounding or not known.kept or len(known.inputs) > MANY
    pools = {} if is_idle else known.builder.pools
    names = [name for name in pools if name not in known.builder.controls][:MOST_WITH_RUNS]
    for name in names:
        alone = list(NOT_FINITE.values()) if name in known.float_pools else []
        for turn in range(len(alone) + TURNS_OF_RUNS):
            _, case = known.any_kept()
            if numpy.size(case.values[name]) < 2 or not isinstance(case.values[name], numpy.ndarray):
                continue
            given = alone[turn : turn + 1] or pools[name].values.tolist()
            filled = runs(given, case.values[name], known.builder.rng)
            attempt(Case.of(case.layout, f"runs of special values in {name}", {**case.values, name: filled}))


def try_all_exponents(known: Exploration, attempt: Attempt) -> None:
    """Numbers with all digits, of all exponents, in all inputs of floats of a site that keeps every bit."""
    is_apt = not known.builder.rounding and known.kept and len(known.inputs) <= MANY
    pools = known.float_pools if is_apt else {}
    for _ in range(TURNS_OF_ALL_EXPONENTS if pools else 0):
        _, case = known.any_kept()
        drawn = {
            name: draw(ALL_EXPONENTS, pool.dtype, numpy.shape(case.values[name]), known.builder.rng)
            for name, pool in pools.items()
            if isinstance(case.values[name], numpy.ndarray)
        }
        attempt(Case.of(case.layout, in_words(ALL_EXPONENTS), {**case.values, **drawn}))


def try_whole_numbers(known: Exploration, attempt: Attempt) -> None:
    """Small whole numbers, or halves, in one of several inputs: positions are then on elements, or between two."""
    pools = known.float_pools if known.kept and len(known.inputs) <= MANY else {}
    rng = known.builder.rng
    for name, turn in product(pools, range(TURNS_OF_WHOLE_NUMBERS if len(pools) > 1 else 0)):
        _, case = known.any_kept()
        shapes = {one: numpy.shape(case.values[one]) for one in pools}
        drawn = {one: draw("positive", pool.dtype, shapes[one], rng) for one, pool in pools.items()}
        if turn < TURNS_OF_WHOLE_NUMBERS // 2:
            whole = draw("integral", pools[name].dtype, shapes[name], rng)
            drawn[name] = whole if turn % 2 else (whole / 2).astype(whole.dtype)
        else:
            halves = numpy.asarray(rng.integers(MOST_HALVES, size=shapes[name], endpoint=True) / 2)
            drawn[name] = halves.astype(drawn[name].dtype)
        filled = Case.of(case.layout, f"{in_words('integral')} or halves in {name}", {**case.values, **drawn})
        attempt(replace(filled, is_plain=True))


def try_all_indices(known: Exploration, attempt: Attempt) -> None:
    """All numbers that inputs of indices take: what is drawn elsewhere for them is as small as a size may be."""
    rng = known.builder.rng
    for one in known.inputs if known.kept else ():
        shapes, case = known.any_kept()
        like = case.values[one.name]
        if one.name not in known.builder.controls or not is_number(one) or like.size < 2 or is_floating(like.dtype):
            continue
        low, high = (_outermost_index(known, one.name, sign, shapes, case, attempt) for sign in (-1, 1))
        for turn in range(TURNS_OF_INDICES if low < high else 0):
            if turn % 2 and high + 1 >= like.size:
                numbers = rng.choice(high + 1, like.size, replace=False)
            else:
                numbers = rng.integers(low if turn % 4 else 0, high, size=like.size, endpoint=True)
            drawn = numbers.astype(like.dtype).reshape(like.shape)
            filling = f"{one.name} from {low} to {high}"
            attempt(Case.of(case.layout, filling, {**case.values, one.name: drawn}))


def _outermost_index(
    known: Exploration, name: str, sign: int, shapes: Sequence[Any], case: Case, attempt: Attempt
) -> int:
    """The number farthest from 0 that an element of an input may have; 0 where sizes of outputs change with it."""
    least, greatest = integer_limits(case.values[name].dtype)
    accepted, rejected, tried = 0, min(LARGEST_INDEX, greatest if sign > 0 else -least) + 1, 1
    while tried < rejected:
        values = case.values[name].copy()
        values.reshape(-1)[int(known.builder.rng.integers(values.size))] = sign * tried
        found = attempt(Case.of(case.layout, f"{sign * tried} in {name}", {**case.values, name: values}))
        if found is None:
            rejected = tried
        elif found != shapes:
            return 0
        else:
            accepted = tried
        tried = max(min(2 * accepted, (accepted + rejected) // 2), accepted + 1)
    return sign * accepted


def _away_from_zero(values: Array) -> Array:
    """The next whole numbers, of the same signs."""
    with numpy.errstate(all="ignore"):
        wide = values.astype(numpy.float64)
        return numpy.asarray(numpy.copysign(numpy.ceil(numpy.abs(wide)), wide)).astype(values.dtype)


def _one_of(numbers: Sequence[float], rng: numpy.random.Generator, *, between: bool) -> float:
    """One of some numbers, or as often one between the least and the greatest, where there may be such.

    Half of these have one decimal place: their quotients are whole numbers but for what is rounded.
    """
    if between and rng.random() < 0.5:
        number = float(rng.uniform(min(numbers), max(numbers)))
        return round(number, 1) if rng.random() < 0.5 else number
    return numbers[int(rng.integers(len(numbers)))]


def _are_finite(values: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether no input holds infinity or NaN."""
    floats = [values[name] for name in names if is_floating(values[name].dtype)]
    with numpy.errstate(all="ignore"):
        return all(bool(numpy.isfinite(one).all()) for one in floats)


def try_extremes_in_controls(known: Exploration, attempt: Attempt) -> None:
    """The extremes of integers in what controls shapes, in all elements or in one: exporters write them for an end."""
    rng = known.builder.rng
    # A loop of so many runs would take seconds before it is rejected.
    is_apt = known.kept and not known.is_brief and not known.has_bodies
    for one in known.inputs if is_apt else ():
        if one.name not in known.builder.controls or not is_number(one):
            continue
        rejected = 0
        for number, is_everywhere, _ in product(EXTREMES, (True, False), range(TURNS_OF_EXTREMES)):
            if rejected >= MOST_REJECTED_EXTREMES:
                break
            _, case = known.any_kept()
            value = case.values[one.name]
            if is_floating(value.dtype) or value.size < (1 if is_everywhere else 2):
                continue
            low, high = integer_limits(value.dtype)
            if low <= number <= high:
                drawn = value.copy()
                drawn.reshape(-1)[slice(None) if is_everywhere else int(rng.integers(value.size))] = number
                found = attempt(Case.of(case.layout, f"{number} in {one.name}", {**case.values, one.name: drawn}))
                rejected += found is None


def try_far_below(known: Exploration, attempt: Attempt) -> None:
    """Large negative numbers, in whole rows or beside zeros, in an input to each row of which any number may be added.

    Such an input is a mask of logits: an exporter writes -1e9 or the least number for what is left out.
    """
    rng = known.builder.rng
    for name in known.float_pools if known.builder.rounding and known.kept and len(known.inputs) <= MANY else ():
        cases = [case for _, case in known.kept if numpy.shape(case.values[name])[-1:] > (1,)]
        if not any(_may_be_shifted(name, case, attempt, rng) for case in cases[-MOST_SHIFTED:]):
            continue
        for least, part, _ in product(FAR_BELOW, ("everywhere", "in rows", "in places"), range(2)):
            case = cases[int(rng.integers(len(cases)))]
            like = case.values[name]
            number = max(least, float(float_limits(like.dtype).min))
            shape = {"everywhere": (), "in rows": (*like.shape[:-1], 1), "in places": like.shape}[part]
            drawn = numpy.where(rng.random(shape) < (0.5 if shape else 1), number, 0.0)
            drawn = (numpy.broadcast_to(drawn, like.shape) + rng.uniform(0, 1, like.shape)).astype(like.dtype)
            attempt(Case.of(case.layout, f"{number:g} {part} in {name}", {**case.values, name: drawn}))


def _may_be_shifted(name: str, case: Case, attempt: Attempt, rng: numpy.random.Generator) -> bool:
    """Whether the results hardly change where a number is added to each row of an input, but do where it is multiplied.

    Of normalised data they change with neither.
    """
    like = case.values[name]
    base, more = rng.uniform(0, 1, like.shape), rng.uniform(1, 3, (*like.shape[:-1], 1))
    ways = {"drawn anew": base, "more in each row": base + more, "eight times": 8 * base}
    found = [
        attempt(Case.of(case.layout, f"{name} {way}", {**case.values, name: drawn.astype(like.dtype)}))
        for way, drawn in ways.items()
    ]
    sides = [one.sides[0] for one in found if isinstance(one, Ran)]
    if len(sides) < len(ways):
        return False
    before, shifted, scaled = sides
    return _are_near(before, shifted) and not _are_near(before, scaled)


def _are_near(some: Sequence[Any], others: Sequence[Any]) -> bool:
    pairs = [(one, other) for one, other in zip(some, others, strict=True) if isinstance(one, numpy.ndarray)]
    floats = [(one.astype(float), other.astype(float)) for one, other in pairs if is_floating(one.dtype)]
    with numpy.errstate(all="ignore"):
        return all(
            one.shape == other.shape and bool(numpy.allclose(one, other, rtol=1e-2, atol=1e-2)) for one, other in floats
        )


def try_squares_that_overflow(known: Exploration, attempt: Attempt) -> None:
    """Numbers whose squares float16 does not hold, in one of its inputs: what is computed in it overflows half-way."""
    names = [name for name, pool in known.float_pools.items() if pool.dtype == "float16"]
    for name, turn in product(names if known.builder.rounding and known.kept else (), range(TURNS_OF_SQUARES)):
        _, case = known.any_kept()
        like = case.values[name]
        if isinstance(like, numpy.ndarray) and like.size:
            bounds = SUMS_BEYOND_FLOAT16 if len(known.float_pools) == 1 and turn % 2 else SQUARES_BEYOND_FLOAT16
            drawn = drawn_between(*bounds, like, known.builder.rng)
            attempt(Case.of(case.layout, f"large float16 in {name}", {**case.values, name: drawn}))
