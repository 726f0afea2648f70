"""Sizes, ranks and numbers that control shapes, beyond those with which the search for accepted cases ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, cycle, product

import numpy

from opsetlift.proof.inputs.cases import Attempt
from opsetlift.proof.inputs.exhaustive import pairs_at_once, values_at_once
from opsetlift.proof.inputs.exploration import LARGEST_OWN, Exploration
from opsetlift.proof.inputs.filling import in_words
from opsetlift.proof.inputs.layouts import Layout
from opsetlift.proof.inputs.shape_controls import is_number
from opsetlift.proof.shapes import elements
from opsetlift.proof.special_values import every_value_of
from opsetlift.specification import dtypes

SMALLEST_OWN = 5
"""Numbers of a site from this one on are tried as sizes: smaller ones are usual."""

CONSECUTIVE, MOST_SUMS = 41, 48
"""Sizes below this one are tried, and so many around sums of numbers of the site."""

MOST_POSITIONS = 4
"""Inputs of so many integers may be positions."""

MOST_VARIED = 4
"""Of so many inputs that control shapes all strategies are tried in whole models."""

WHOLE_NUMBERS = (0, 1000), (-500, 500)
"""Between these, all whole numbers are tried along an open size."""


def try_sizes(known: Exploration, attempt: Attempt) -> None:
    """Open sizes by which a model may tell its inputs apart, among them numbers of the models and one more.

    One of the models may slice or pad to a fixed size.
    """
    if known.first_layout is None:
        return
    accepted = known.accepted
    for layout in known.layouts.telling(known.first_layout, known.model_sizes):
        for controls in [accepted.controls, dict.fromkeys(accepted.controls, "sizes")][: 1 + bool(accepted.controls)]:
            attempt(replace(known.builder.case(layout, accepted.data, controls), is_required=True))
        alike = set(layout.sizes.values())
        if len(alike) == 1:
            attempt(replace(known.builder.case(layout, "ones", accepted.controls), is_required=True))
            _try_beyond(known, layout, alike.pop() - 2, attempt)


def _try_beyond(known: Exploration, layout: Layout, number: int, attempt: Attempt) -> None:
    """One more than a number of the models, from either end, in few integers: the number may bound a position."""
    few = [one for one in known.inputs if is_number(one) and 0 < elements(layout.shapes[one.name]) <= MOST_POSITIONS]
    for one in few[:MOST_VARIED] if number in known.model_sizes else ():
        dtype = dtypes.numpy_dtype(one.dtype or "int64")
        for value in (number + 1, -number - 1) if dtype.kind == "i" else ():
            filled = numpy.full(layout.shapes[one.name], value).astype(dtype)
            filling = f"{one.name} is {value}"
            case = known.builder.case(layout, "positive", known.accepted.controls, filling, {one.name: filled})
            attempt(replace(case, is_required=True))


def try_ranks(known: Exploration, attempt: Attempt) -> None:
    """Inputs of unknown rank of each rank, where fewer cases were asked for than it takes to come to all."""
    tried = [known.first_layout.ranks] if known.first_layout is not None else []
    for layout in known.layouts.bases():
        if layout.ranks and layout.ranks not in tried:
            case = known.builder.case(layout, known.accepted.data, known.accepted.controls)
            if attempt(replace(case, is_required=True)) is not None:
                tried.append(layout.ranks)


def try_narrow(known: Exploration, attempt: Attempt) -> None:
    """Every value of data of at most 16 bits along an open size, and every pair of values of at most 8.

    Of wider data the whole numbers around 0: it may be counted, parted and looked up by.
    """
    if known.first_layout is None or known.builder.rounding:
        return
    dtypes_of = {name: pool.dtype for name, pool in known.builder.pools.items() if name in known.floor.data}
    narrow, bytewise = (
        {name: table for name, dtype in dtypes_of.items() if (table := every_value_of(dtype, bits)) is not None}
        for bits in (16, 8)
    )
    held = {one.name: one.dtype for one in known.inputs if one.type.HasField("tensor_type")}
    wide = {name: dtypes.numpy_dtype(held[name]) for name in known.floor.data if held.get(name) and name not in narrow}
    whole = [
        {name: numpy.arange(*ends).astype(dtype) for name, dtype in wide.items() if dtype.kind in "if"}
        for ends in WHOLE_NUMBERS
    ]
    tables = [narrow, *whole] if narrow else whole
    values = chain(*(values_at_once(one, known.layouts, known.first_layout) for one in tables if one))
    pairs = pairs_at_once(bytewise, known.layouts, known.first_layout) if len(bytewise) > 1 else ()
    for label, cases in (("every value", values), ("every pair of values", pairs)):
        for layout, filling in cases:
            case = known.builder.case(layout, known.accepted.data, known.accepted.controls, label, filling)
            attempt(replace(case, is_required=True))


def try_own_sizes(known: Exploration, attempt: Attempt) -> None:
    """One more than a number of the site in what controls shapes, beside a size as large: it may be a bound."""
    accepted, numbers = known.accepted, [size for size in known.model_sizes if SMALLEST_OWN <= size <= LARGEST_OWN]
    inputs = {one.name: one for one in known.inputs}
    if known.is_brief or known.first_layout is None:
        return
    for number in numbers:
        for layout, data in zip(
            known.layouts.beyond(known.first_layout, number), cycle([accepted.data, "positive"]), strict=False
        ):
            attempt(known.builder.case(layout, data, accepted.controls))
        layouts = [known.first_layout, *known.layouts.with_one_size(known.first_layout, number + 1)]
        controls = list(accepted.controls)[:MOST_VARIED]
        # Of ones, too: where a condition is False, no bound is reached.
        for layout, name, data in product(layouts, controls, dict.fromkeys([accepted.data, "ones"])):
            one = inputs[name]
            if is_number(one) and elements(layout.shapes[name]) == 1:
                value = numpy.full(layout.shapes[name], number + 1).astype(dtypes.numpy_dtype(one.dtype or "int64"))
                filling = f"{name} is {number + 1}"
                attempt(known.builder.case(layout, data, accepted.controls, filling, {name: value}))
            else:
                attempt(known.builder.case(layout, data, {**accepted.controls, name: "sizes"}))


def try_controls(known: Exploration, attempt: Attempt) -> None:
    """Each strategy for what controls shapes of a whole model, for one input after the other."""
    if known.first_layout is None:
        return
    accepted = known.accepted
    for name in list(accepted.controls)[:MOST_VARIED]:
        for strategy in known.builder.strategies_for(name, known.builder.control_strategies):
            case = known.builder.case(known.first_layout, accepted.data, {**accepted.controls, name: strategy})
            attempt(replace(case, is_required=True))


def try_long_sizes(known: Exploration, attempt: Attempt, long: Sequence[int]) -> None:
    """Sizes that a narrow dtype does not hold, as positions are from either end."""
    if known.first_layout is None:
        return
    accepted = known.accepted
    for size in long:
        for layout, symbol in known.layouts.long(known.first_layout, size, 1):
            for data in dict.fromkeys([accepted.data, "ascending"]):
                case = known.builder.case(layout, data, accepted.controls)
                attempt(replace(case, label=f"size {size} for {symbol} ({in_words(data)})", is_required=True))


def try_consecutive_sizes(known: Exploration, attempt: Attempt) -> None:
    """Each small size for one open dimension, and those around sums of two numbers of the site.

    Where windows or blocks cover a size, their number and the rest depend on it; so does a size times a factor.
    """
    if known.is_brief or known.first_layout is None or not known.sizes_are_computed:
        return
    sums = [one + other * times for one, other in product(known.model_sizes, repeat=2) for times in (1, 2)]
    near = [one + beside for one in sums for beside in (-1, 0, 1) if one + beside <= LARGEST_OWN]
    for size in dict.fromkeys((*range(1, CONSECUTIVE), *near[:MOST_SUMS])) if not known.has_bodies else ():
        for layout in known.layouts.with_one_size(known.first_layout, size):
            attempt(known.builder.case(layout, known.accepted.data, known.accepted.controls))
