"""Accepted cases with the numbers and texts that stand in the models: data may be compared with them, or looked up.

Own numbers are those in constants and attributes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise, product
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.inputs.cases import Attempt, Case
from opsetlift.proof.inputs.exploration import LARGEST_INDEX, LARGEST_OWN, LARGEST_USUAL, MANY, Exploration
from opsetlift.proof.inputs.filling import multiples, own_numbers, stretches
from opsetlift.proof.inputs.shape_controls import is_number
from opsetlift.proof.limits import float_limits, integer_limits, is_floating
from opsetlift.proof.shapes import elements

MANY_ROWS = (4096, 1024, 256, 64)
"""The open size of inputs that hold numbers around those of the site: the first of these that the inputs may have."""

MANY_ELEMENTS, MOST_TURNS_OF_MANY = 1024, 160
"""So many elements such inputs have together where no size is open, in so many cases at most."""

HALVES = 1024
"""So many multiples of halves of a number are tried."""

UNITS = (0.1, 0.3, 0.7, 1.7, 0.05, 0.007)
"""Decimals of which floats hold no multiple exactly."""

MOST_UNITS = 6
"""So many numbers of the site are such units."""

MOST_TOLD_APART = 2
"""In so many layouts."""

SMALLEST_SCALE, MOST_SCALES, TURNS_OF_POSITIONS = 1 / 64, 4, 24
"""Numbers of the site that scale positions, how many of them, and how often positions are drawn."""

MODERATE = 1 / 64, 64
"""Numbers of a site that rounds are tried where they are between these: others, or their products, may overflow."""

MOST_OWN_INDICES = 12
"""So many numbers of the site are tried as one of several indices."""

TURNS_OF_OWN_NUMBERS = 8
"""How many tensors are drawn from the numbers of the site alone."""

MOST_STRETCHES = 64
"""In so many tensors at most the lists of the site stand as they are."""

MOST_SIDE_BY_SIDE = 24
"""So many pairs of numbers that stand side by side in a list of the site are tried by turns."""

TURNS_OF_MULTIPLES = 8
"""How many tensors of multiples of another input are tried, and of numbers of the site."""

MOST_MULTIPLES = 40
"""At most so many in all."""

MOST_MULTIPLIED = 4
"""Of so many inputs of floats at most."""

LONGER = 24
"""The open size of inputs that hold many of them."""


def try_own_numbers(known: Exploration, attempt: Attempt, names: Iterable[str]) -> None:
    """Accepted cases with nothing but numbers of the site in an input, in any order: it may look for a sequence."""
    rng = known.builder.rng
    for name in known.numeric(names) if known.kept else ():
        dtype = known.kept[0][1].values[name].dtype
        if dtype.kind not in "iuf":
            continue
        if known.builder.rounding and dtype.kind == "f":
            _try_moderate_numbers(known, attempt, name, dtype)
            continue
        numbers = own_numbers(known.numbers, dtype)
        held = [one for one in known.numbers if one in numbers]
        lists = [one for one in known.lists if len(own_numbers(one, dtype)) == len(set(one))]
        side_by_side = dict.fromkeys(two for one in (*lists, held) for two in pairwise(one))
        for two in list(side_by_side)[:MOST_SIDE_BY_SIDE]:
            # What stands side by side in a constant may be looked for so, at the end as well.
            _, case = known.any_kept()
            shape = numpy.shape(case.values[name])
            drawn = numpy.resize(numpy.array(two[::-1], dtype), math.prod(shape))[::-1].reshape(shape)
            filled = Case.of(case.layout, f"{two[0]:g} and {two[1]:g} by turns in {name}", {**case.values, name: drawn})
            attempt(replace(filled, is_required=known.is_brief))
        for case in _bases_of_own_numbers(known) if numbers.size > 1 else ():
            drawn = rng.choice(numbers, numpy.shape(case.values[name]))
            filled = Case.of(case.layout, f"own numbers in {name}", {**case.values, name: drawn})
            attempt(replace(filled, is_required=known.is_brief))
        several = sorted((one for one in lists if len(one) > 2), key=len, reverse=True)
        _try_stretches(known, attempt, name, numpy.array([*chain(*several)], dtype))
    for name in known.of_texts(names) if known.kept else ():
        texts = sorted(known.text_lists, key=len, reverse=True)
        _try_stretches(known, attempt, name, numpy.array([*chain(*texts)], dtype=object))


def _try_moderate_numbers(known: Exploration, attempt: Attempt, name: str, dtype: numpy.dtype[Any]) -> None:
    """Accepted cases of a site that rounds with its numbers in an input, of one sign: it may compare with them."""
    rng, (least, most) = known.builder.rng, MODERATE
    given = [*known.numbers, *chain(*known.lists)]
    held = [one for one in own_numbers(given, dtype).tolist() if least <= abs(one) <= most]
    for turn, sign in product(range(TURNS_OF_OWN_NUMBERS), (1, -1)):
        numbers = [one for one in held if one * sign > 0]
        if not numbers:
            continue
        _, case = known.any_kept()
        shape = numpy.shape(case.values[name])
        drawn = numpy.asarray(rng.choice(numbers, shape))
        if turn % 2:
            drawn = numpy.where(rng.random(shape) < 0.5, drawn, sign * rng.uniform(0.5, 2.0, shape))
        filled = Case.of(case.layout, f"own numbers in {name}", {**case.values, name: drawn.astype(dtype)})
        attempt(replace(filled, is_plain=True, is_required=known.is_brief))


def try_multiples(known: Exploration, attempt: Attempt) -> None:
    """Multiples of halves of another input, which is one number then, or of numbers of the site, where bits count.

    A quotient of them is rounded to a whole number, and in a narrower dtype it is rounded twice.
    """
    rng = known.builder.rng
    is_apt = known.kept and not known.builder.rounding and len(known.inputs) <= MANY
    names = list(known.float_pools)[:MOST_MULTIPLIED] if is_apt else []
    numbers = [1.0, *(one for one in known.numbers if one and math.isfinite(one))]
    pairs = [(name, unit) for name in names for unit in (*names, "") if name != unit]
    for _, (name, unit) in islice(product(range(TURNS_OF_MULTIPLES), pairs), MOST_MULTIPLES):
        _, case = known.any_kept()
        values = {one: case.values[one] for one in (name, unit) if one}
        if not all(isinstance(one, numpy.ndarray) for one in values.values()):
            continue
        dtype, shape = values[name].dtype, values[name].shape
        if unit:
            number = values[unit].dtype.type(rng.uniform(0.5, 2.0))
            values[unit] = numpy.full_like(values[unit], number)
        values[name] = multiples(float(number) if unit else rng.choice(numbers, shape), dtype, shape, rng)
        attempt(Case.of(case.layout, f"{name}, halves of {unit or 'own numbers'}", {**case.values, **values}))


def _try_stretches(known: Exploration, attempt: Attempt, name: str, listed: Array) -> None:
    """Accepted cases with lists of the site in an input, a stretch in each row: it may look for several numbers."""
    position = 0
    if known.first_layout is not None and LARGEST_USUAL < listed.size <= LARGEST_OWN:
        for layout in known.layouts.with_one_size(known.first_layout, listed.size):
            case = known.builder.case(layout, known.accepted.data, known.accepted.controls)
            drawn, _ = stretches(listed, 0, numpy.shape(case.values[name]))
            filled = Case.of(case.layout, f"own lists in {name}", {**case.values, name: drawn})
            attempt(replace(filled, is_required=known.is_brief))
    for case in _bases_of_own_numbers(known, MOST_STRETCHES):
        if position >= listed.size:
            return
        drawn, position = stretches(listed, position, numpy.shape(case.values[name]))
        filled = Case.of(case.layout, f"stretches of own lists in {name}", {**case.values, name: drawn})
        attempt(replace(filled, is_required=known.is_brief))


def _bases_of_own_numbers(known: Exploration, turns: int = TURNS_OF_OWN_NUMBERS) -> Iterator[Case]:
    """Accepted cases, and of whole models longer ones as often."""
    layouts = list(known.layouts.with_one_size(known.first_layout, LONGER)) if known.first_layout else []
    for _ in range(turns):
        yield known.any_kept()[1]
        for layout in layouts if known.is_brief else ():
            yield known.builder.case(layout, known.accepted.data, known.accepted.controls)


def try_own_indices(known: Exploration, attempt: Attempt) -> None:
    """Each whole number of the site as one of several indices: one of them may be left out, or stand for none."""
    rng = known.builder.rng
    numbers = dict.fromkeys(int(one) for one in known.numbers if one == one // 1 and abs(one) <= LARGEST_INDEX)
    for one in known.inputs if known.kept else ():
        if one.name not in known.builder.controls or not is_number(one):
            continue
        cases = [case for _, case in known.kept if numpy.size(case.values[one.name]) > 1]
        if not cases and known.first_layout is not None and elements(known.first_layout.shapes[one.name]) > 1:
            cases = [known.builder.case(known.first_layout, known.accepted.data, known.accepted.controls)]
        for number in list(numbers)[:MOST_OWN_INDICES] if cases else ():
            case = cases[int(rng.integers(len(cases)))]
            value = case.values[one.name].copy()
            low, high = (0, 0) if is_floating(value.dtype) else integer_limits(value.dtype)
            if low <= number <= high:
                value.reshape(-1)[int(rng.integers(value.size))] = number
                attempt(Case.of(case.layout, f"{number} in {one.name}", {**case.values, one.name: value}))


def try_many_own_numbers(known: Exploration, attempt: Attempt) -> None:
    """Numbers of the site, those next to them, between them and beyond, of any sign, in the only input of data.

    Many rows come to most combinations of thresholds, as they stand in trees; labels tell which class wins.
    """
    names = known.numeric(sorted(known.builder.pools.keys() - known.builder.controls))
    for name in names if known.kept and len(names) == 1 and not known.is_brief else ():
        dtype = known.kept[0][1].values[name].dtype
        given = [one for one in (*known.numbers, *chain(*known.lists)) if math.isfinite(one)]
        if dtype.kind not in "iuf" or not given:
            continue
        near = given if is_floating(dtype) else [end for one in given for end in (math.floor(one), math.ceil(one))]
        numbers = own_numbers([*near, *_beyond(near)], dtype)
        numbers = numbers[numpy.isfinite(numbers)]
        cases = _with_many_rows(known)
        size = max(1, numpy.size(known.kept[0][1].values[name]))
        turns = min(max(TURNS_OF_OWN_NUMBERS, MANY_ELEMENTS // size), MOST_TURNS_OF_MANY) if numbers.size > 2 else 0
        for case in (*cases, *(known.any_kept()[1] for _ in range(turns if not cases else TURNS_OF_OWN_NUMBERS))):
            like = case.values[name]
            if isinstance(like, numpy.ndarray) and numbers.size:
                drawn = _around(numbers, like, known.builder.rng)
                filled = Case.of(case.layout, f"around own numbers in {name}", {**case.values, name: drawn})
                attempt(replace(filled, is_plain=True))


def _beyond(numbers: Sequence[float]) -> list[float]:
    """Numbers below the least and above the greatest."""
    least, greatest = min(numbers), max(numbers)
    spread = (greatest - least) / 2 + 1
    return [least - spread, greatest + spread]


def _with_many_rows(known: Exploration) -> list[Case]:
    """Cases with a long open size, as long as the inputs may be."""
    for rows in MANY_ROWS if known.first_layout is not None else ():
        layouts = list(known.layouts.with_one_size(known.first_layout, rows)) if known.first_layout else []
        if layouts:
            return [known.builder.case(one, known.accepted.data, known.accepted.controls) for one in layouts]
    return []


def _around(numbers: Array, like: Array, rng: numpy.random.Generator) -> Array:
    """Some numbers, those next to them (in float, too), and what is between one and the next."""
    place = rng.integers(numbers.size, size=like.shape)
    one, other = numbers[place], numbers[(place + 1) % numbers.size]
    with numpy.errstate(all="ignore"):
        if not is_floating(like.dtype):
            return numpy.asarray(one + rng.integers(-1, 2, like.shape).astype(like.dtype)).astype(like.dtype)
        single = one.astype(numpy.float32)
        beside = [numpy.nextafter(one, one.dtype.type(end)) for end in (-numpy.inf, numpy.inf)]
        beside += [numpy.nextafter(single, numpy.float32(end)) for end in (-numpy.inf, numpy.inf)]
        between = one + (other - one) * rng.random(like.shape).astype(one.dtype)
        found = numpy.choose(rng.integers(8, size=like.shape), [one, one, single, *beside, between])
        # What is next to 0 vanishes in squares.
        is_normal = numpy.abs(found) >= float(float_limits(like.dtype).smallest_normal)
        return numpy.where(is_normal, found, 0).astype(like.dtype)


def try_halves_in_order(known: Exploration, attempt: Attempt) -> None:
    """All multiples of halves of a number, from -256 to 255 times it, where bits count: some quotients alone are ties.

    The number is one of the site, or a decimal that another input holds, by which it may be divided.
    """
    first, is_apt = known.first_layout, not known.builder.rounding and not known.is_brief and len(known.inputs) <= MANY
    names = list(known.float_pools)[:MOST_MULTIPLIED] if is_apt and known.kept and first is not None else []
    own = [abs(one) for one in known.numbers if one and 1e-4 < abs(one) < 1e4 and one != int(one)]
    for name in names:
        others = [one for one in names if one != name and elements(first.shapes[one]) == 1] if first else []
        units = [(number, "") for number in (*own[:MOST_UNITS], *UNITS[:2])]
        units += [(number, one) for one in others for number in UNITS]
        for layout in [first, *known.layouts.with_one_size(first, HALVES)][-MOST_TOLD_APART:] if first else ():
            for number, unit in units:
                case = known.builder.case(layout, known.accepted.data, known.accepted.controls)
                like = case.values[name]
                if not isinstance(like, numpy.ndarray) or like.size < HALVES // 2:
                    continue
                step = like.dtype.type(number)
                halves = numpy.resize(numpy.arange(-HALVES // 2, HALVES // 2), like.size) / 2
                for counted in (halves, numpy.abs(halves)):
                    drawn = (counted * float(step)).reshape(like.shape).astype(like.dtype)
                    values = {name: drawn, **({unit: numpy.full_like(case.values[unit], step)} if unit else {})}
                    filling = f"{name}, halves of {number:g} in order"
                    attempt(Case.of(case.layout, filling, {**case.values, **values}))


def try_positions(known: Exploration, attempt: Attempt) -> None:
    """Positions within other inputs, and beyond their ends: whole, scaled by a number of the site, or from -1 to 1.

    A sampled point may lie on an element, between two, or outside of an image that is larger than any number drawn.
    """
    rng = known.builder.rng
    own = [one if one > 1 else 1 / one for one in known.numbers if SMALLEST_SCALE <= one <= 1 / SMALLEST_SCALE]
    scales = list(dict.fromkeys([1.0, *own]))[:MOST_SCALES]
    names = list(known.float_pools) if known.kept and not known.is_brief and 1 < len(known.inputs) <= MANY else []
    for name, turn in product(names[:MOST_MULTIPLIED], range(TURNS_OF_POSITIONS)):
        _, case = known.any_kept()
        like = case.values[name]
        shapes = [numpy.shape(value) for other, value in case.values.items() if other != name]
        sizes = [size for shape in shapes for size in shape[-2:] if size > 1]
        if not sizes or not isinstance(like, numpy.ndarray) or not like.size:
            continue
        size = max(sizes) if turn % 2 else sizes[int(rng.integers(len(sizes)))]
        if turn % 3:
            places = rng.integers(-1, 3 * size + 4, like.shape) / 2 * scales[int(rng.integers(len(scales)))]
        else:
            places = rng.integers(-3 * size, 3 * size + 1, like.shape) / (2 * size)
        filling = f"positions of {size} elements in {name}"
        attempt(Case.of(case.layout, filling, {**case.values, name: places.astype(like.dtype)}))
