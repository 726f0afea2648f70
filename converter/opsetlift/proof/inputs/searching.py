"""The search for layouts and fill strategies that the original accepts, and what is tried with each that is found.

A layout is a shape for each input. What was accepted for one is the first that is tried for the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.inputs.building import MIXED, ControlStrategies
from opsetlift.proof.inputs.cases import Attempt, Input
from opsetlift.proof.inputs.exhaustive import (
    every_combination,
    every_value,
    pairs_at_once,
    pairs_beside_constant,
    pairs_by_turns,
    values_at_once,
)
from opsetlift.proof.inputs.exploration import MANY, Exploration
from opsetlift.proof.inputs.filling import (
    ALIKE,
    AROUND_SIZES,
    BROAD,
    CONTROLLING,
    NOT_FINITE,
    ROUNDING,
    SPECIAL,
    draw,
    in_words,
)
from opsetlift.proof.inputs.floor import LONGEST, may_have_elements
from opsetlift.proof.inputs.layouts import Layout
from opsetlift.proof.inputs.shape_controls import is_number, outputs_grow
from opsetlift.proof.shapes import BEARABLE, elements
from opsetlift.proof.special_values import every_value_of
from opsetlift.specification import dtypes

GUESSES = 240
"""How many random layouts are tried where the original accepts none of the usual ones."""

FIRST_REJECTIONS = 250
"""How many inputs the original may reject before the first that it accepts."""

GUESSED = 3
"""So many that it accepts are tried: a size of 1 in one of them hides much."""

FEW_GUESSES = 60
"""The same where more is known of the inputs than was used, and they are tried again with all of it."""

LATER_REJECTIONS = 6
"""How many inputs of a further layout the original may reject."""

FEW_REJECTIONS = 2
"""The same of layouts of which most are rejected."""

MOST_TURNS = 24
"""At most so many tensors of special values."""

ENUMERATED_NUMBER = 6
"""Single numbers that control shapes are tried from minus this to this: they may be axes, from either end."""

LARGEST_LENGTH = 16
"""Where `ENUMERATED_NUMBER` is accepted it may be a length, and numbers up to this one are tried.

At some lengths alone a sampled point lies on an element.
"""

CONTROLLING_AGAIN = (
    "axes",
    "signed axes",
    "signed index",
    "signed axes",
    "parts of the last size",
    "signed axes",
    *["ratios"] * 16,
    *[AROUND_SIZES] * 4,
)
"""What controls shapes is drawn more often by these strategies: one draw holds few of the combinations that matter."""

PROBES = ("positive", "integral", "ones", "integral")
"""Around values of these strategies it is found out which single numbers the sizes of outputs depend on."""

TRIPLES = 48
"""How many tensors of special values are drawn where three or more inputs hold single numbers."""

FRUITLESS = 12
"""After an input that leaves all outputs without elements, so many more are tried to find one that does not."""

MIXTURES = 6
"""How many mixtures of strategies are tried."""

MIXTURES_AGAIN = 2
"""How many mixtures of what was accepted for inputs that control shapes are tried with each further layout."""


def search(known: Exploration, attempt: Attempt, guesses: int) -> None:
    """Try layouts until the original accepts one of each combination of ranks, and explore what it accepts."""
    left = FIRST_REJECTIONS
    ranks: list[Mapping[str, int]] = []
    for layout in known.layouts.bases():
        first = not known.accepted.found
        if not first and layout.ranks in ranks:
            continue
        rejected, shapes = _find_strategies(known, layout, attempt, left if first else LATER_REJECTIONS)
        left -= rejected
        if shapes is not None:
            ranks.append(layout.ranks)
            _explore(known, layout, attempt, first=first)
        elif left <= 0:
            break
    if not known.accepted.found and not known.layouts.are_fixed:
        left = GUESSED
        for layout in chain(known.layouts.guesses(guesses), known.layouts.guesses(FEW_GUESSES, derived=True)):
            if not left:
                return
            if _find_strategies(known, layout, attempt, 2)[1] is not None:
                _explore(known, layout, attempt, first=left == GUESSED)
                left -= 1
    if not known.accepted.found and any(one.type.HasField("sequence_type") for one in known.inputs):
        _search_longer_sequences(known, attempt)


def _search_longer_sequences(known: Exploration, attempt: Attempt) -> None:
    """Sequences of one element more than a number of the site: it may be a position in them."""
    for number in sorted(size for size in known.model_sizes if size <= LONGEST):
        known.builder.least_length = number + 1
        for layout in islice(known.layouts.bases(), FEW_GUESSES):
            if _find_strategies(known, layout, attempt, 2)[1] is not None:
                _explore(known, layout, attempt, first=True)
                return


def _explore(known: Exploration, layout: Layout, attempt: Attempt, *, first: bool) -> None:
    if first:
        known.first_layout = layout
        _find_controls(known, layout, attempt)
    _fill(known, layout, attempt, thoroughly=first)
    if first:
        _try_small(known, layout, attempt)
        _try_exhaustively(known, layout, attempt)
    for variant in known.layouts.variants(layout, few=not first):
        if _find_strategies(known, variant, attempt, LATER_REJECTIONS)[1] is not None:
            _fill(known, variant, attempt, thoroughly=False)
            if set(variant.sizes.values()) == {1}:
                _vary_controls_of_ones(known, variant, attempt)
    for variant in chain(known.layouts.in_proportion(layout), known.layouts.crosswise(layout)) if first else ():
        if _find_strategies(known, variant, attempt, FEW_REJECTIONS)[1] is not None:
            _try(known, variant, attempt, ROUNDING[0] if known.builder.rounding else SPECIAL, known.accepted.controls)


def _vary_controls_of_ones(known: Exploration, layout: Layout, attempt: Attempt) -> None:
    """Vary what controls shapes where all open sizes are 1: more of it is accepted, as sizes of 1 broadcast."""
    for name, accepted in known.accepted.controls.items():
        for strategy in known.builder.strategies_for(name, (*known.builder.control_strategies, *CONTROLLING_AGAIN)):
            controls = {**known.accepted.controls, name: strategy}
            if strategy != accepted:
                _try(known, layout, attempt, known.accepted.data, controls)


def _find_strategies(
    known: Exploration, layout: Layout, attempt: Attempt, most_rejected: int
) -> tuple[int, Sequence[Any] | None]:
    """Look for fill strategies that the original accepts.

    Returns:
        How many it rejected, and the shapes of its outputs.
    """
    accepted = known.accepted
    data = _beginning_with(accepted.data, known.gentle)
    controls = _control_strategies(known)
    pairs = [(data[0], one) for one in controls]
    pairs += [(strategy, one) for one in controls for strategy in data[1:]]
    found, last = None, min(len(pairs), most_rejected)
    for number, (strategy, one) in enumerate(pairs):
        if number == last:
            break
        shapes = attempt(known.builder.case(layout, strategy, one))
        if shapes is None:
            continue
        is_fruitful = not one or not layout.elements or any(map(may_have_elements, shapes))
        if found is None or is_fruitful:
            accepted.data, accepted.controls, accepted.found = strategy, one, True
            last = min(last, number + FRUITLESS) if found is None else last
            found = number, shapes
        if is_fruitful:
            break
    return found or (last, None)


def _control_strategies(known: Exploration) -> list[ControlStrategies]:
    """What to try: what was accepted last, one strategy for all inputs that control shapes, mixtures."""
    names = sorted(known.builder.controls)
    usual = known.builder.control_strategies
    found: list[ControlStrategies] = [dict.fromkeys(names, one) for one in usual] if names else [{}]
    if len(names) > 1:
        found += [known.builder.mixture(dict.fromkeys(names, usual)) for _ in range(MIXTURES)]
    last = known.accepted.controls
    return [last, *found] if names and last.keys() == known.builder.controls else found


def _find_controls(known: Exploration, layout: Layout, attempt: Attempt) -> None:
    """Single numbers on whose values the sizes of outputs depend stay small: large ones would make large tensors.

    With one of them all single numbers do, as each may count only together with others.
    """
    single = [
        one
        for one in known.inputs
        if elements(layout.shapes[one.name]) == 1 and one.name not in known.builder.controls and is_number(one)
    ]
    if _depends_on_one(known, single, layout, attempt):
        names = {one.name for one in single}
        known.builder.controls |= names
        known.accepted.controls = {**dict.fromkeys(sorted(names), CONTROLLING[0]), **known.accepted.controls}


def _depends_on_one(known: Exploration, single: Sequence[Input], layout: Layout, attempt: Attempt) -> bool:
    for data in PROBES if single else ():
        case = known.builder.case(layout, data, known.accepted.controls)
        shapes = attempt(case)
        if shapes is not None and any(outputs_grow(case, shapes, [one.name], attempt) for one in single):
            return True
    return False


def _fill(known: Exploration, layout: Layout, attempt: Attempt, *, thoroughly: bool) -> None:
    strategies: Sequence[str] = ROUNDING if known.builder.rounding else BROAD
    if not thoroughly or layout.elements > BEARABLE:
        strategies = strategies[:2]
    controls = known.accepted.controls
    for strategy in strategies:
        for _ in range(_turns(known, layout) if strategy == SPECIAL and thoroughly else 1):
            _try(known, layout, attempt, strategy, controls)
    if thoroughly and len(known.builder.pools) > 1:
        for _ in range(MIXTURES):
            _try(known, layout, attempt, MIXED, controls)
    if thoroughly and known.builder.controls:
        _vary_controls(known, layout, attempt)
    elif known.accepted_controls:
        for _ in range(MIXTURES_AGAIN):
            _try(known, layout, attempt, known.accepted.data, known.builder.mixture(known.accepted_controls))


def _try(
    known: Exploration,
    layout: Layout,
    attempt: Attempt,
    data: str,
    controls: ControlStrategies,
    label: str = "",
    filled: Mapping[str, Array] | None = None,
) -> bool:
    """Attempt a case; where it is rejected, once more with single numbers between 0 and 1, as thresholds are."""
    if attempt(known.builder.case(layout, data, controls, label, filled)) is not None:
        return True
    rng = known.builder.rng
    held = {
        name: draw("fractions", pool.dtype, layout.shapes[name], rng)
        for name, pool in known.float_pools.items()
        if elements(layout.shapes[name]) == 1
    }
    if not held or len(held) == len(known.builder.pools):
        return False
    label = f"{label or in_words(data)}, single numbers from 0 to 1"
    return attempt(known.builder.case(layout, data, controls, label, {**held, **(filled or {})})) is not None


def _vary_controls(known: Exploration, layout: Layout, attempt: Attempt) -> None:
    """Vary what controls shapes: one input after the other, then all by the strategies that were accepted."""
    accepted = known.accepted
    found = {name: [strategy] for name, strategy in accepted.controls.items()}
    for name, strategies in found.items():
        for strategy in known.builder.strategies_for(name, (*known.builder.control_strategies, *CONTROLLING_AGAIN)):
            controls = {**accepted.controls, name: strategy}
            if _try(known, layout, attempt, accepted.data, controls):
                if strategy not in strategies:
                    _try_special_beside(known, layout, controls, attempt)
                strategies.append(strategy)
        if elements(layout.shapes[name]) == 1:
            _enumerate(known, layout, name, attempt)
    known.accepted_controls = found
    if len(found) > 1:
        for _ in range(2 * MIXTURES):
            _try(known, layout, attempt, accepted.data, known.builder.mixture(found))


def _enumerate(known: Exploration, layout: Layout, name: str, attempt: Attempt) -> None:
    """All small numbers in turn for a single number that controls shapes."""
    one = next(one for one in known.inputs if one.name == name)
    if not one.type.HasField("tensor_type") or one.dtype in ("bool", "string"):
        return
    accepted = known.accepted
    for number in range(-ENUMERATED_NUMBER, LARGEST_LENGTH + 1):
        value = numpy.full(layout.shapes[name], number).astype(dtypes.numpy_dtype(one.dtype or "int64"))
        label, filled = f"{name} is {number}", {name: value}
        if _try(known, layout, attempt, accepted.data, accepted.controls, label, filled):
            if number <= ENUMERATED_NUMBER:
                _try_special_beside(known, layout, accepted.controls, attempt, label, filled)
        elif number >= ENUMERATED_NUMBER:
            return


def _try_special_beside(
    known: Exploration,
    layout: Layout,
    controls: ControlStrategies,
    attempt: Attempt,
    label: str = "",
    filled: Mapping[str, Array] | None = None,
) -> None:
    """Special values, or what is not finite, and alike rows beside accepted values of what controls shapes."""
    if known.builder.pools:
        for data in (*NOT_FINITE, ALIKE) if known.builder.rounding else (SPECIAL, ALIKE):
            _try(known, layout, attempt, data, controls, f"{label}, {in_words(data)}" if label else "", filled)


def _try_small(known: Exploration, layout: Layout, attempt: Attempt) -> None:
    """Data as small as a number of the site, or its root: an epsilon tells only beside a variance as small."""
    for name, pool in known.float_pools.items():
        for scale in (power for one in known.scales for power in (one, math.sqrt(one), one / 64)):
            drawn = draw("positive", pool.dtype, layout.shapes[name], known.builder.rng)
            with numpy.errstate(all="ignore"):
                small = (drawn * drawn.dtype.type(scale)).astype(drawn.dtype)
            label = f"{name} about {scale:.3g}"
            attempt(known.builder.case(layout, known.gentle[0], known.accepted.controls, label, {name: small}))


def _turns(known: Exploration, layout: Layout) -> int:
    """How many tensors it takes until every special value was used."""
    pools = known.builder.pools
    counts = {name: elements(shape) for name, shape in layout.shapes.items() if name in pools}
    turns = [math.ceil(len(pools[name].values) / count) for name, count in counts.items() if count]
    return min(max([3, *turns]), MOST_TURNS)


def _try_exhaustively(known: Exploration, base: Layout, attempt: Attempt) -> None:
    """Every value of inputs of up to 16 bits, in all combinations where they are few, and pairs of all values."""
    builder, accepted = known.builder, known.accepted
    special = {name: pool.values for name, pool in builder.pools.items() if name not in builder.controls}
    if not special or builder.rounding:
        return

    are_many = len(known.inputs) > MANY
    others = builder.case(base, accepted.data, accepted.controls).values if are_many else {}

    def attempt_all(label: str, fillings: Iterator[Mapping[str, Array]]) -> None:
        for filling in fillings:
            attempt(builder.case(base, accepted.data, accepted.controls, label, {**others, **filling}))

    tables = {name: every_value_of(builder.pools[name].dtype) for name in special}
    narrow = {name: table for name, table in tables.items() if table is not None}
    if narrow:
        combined = list(every_combination(narrow, base.shapes)) if len(narrow) == len(tables) else []
        attempt_all("every value", iter(combined) if combined else every_value(narrow, base.shapes))
    wide = {name: every_value_of(builder.pools[name].dtype, 16) for name in special if name not in narrow}
    wide_tables = {name: table for name, table in wide.items() if table is not None}
    for layout, filling in values_at_once(wide_tables, known.layouts, base) if wide_tables else ():
        attempt(builder.case(layout, accepted.data, accepted.controls, "every value", filling))
    for constant in known.constants:
        attempt_all("the values of a constant", pairs_beside_constant(special, base.shapes, constant))
    were_paired = False
    for layout, filling in pairs_at_once({**special, **narrow}, known.layouts, base):
        case = builder.case(layout, accepted.data, accepted.controls, "every pair of values", filling)
        were_paired |= attempt(case) is not None and len(filling) == len(special)
    pairs = pairs_by_turns(special, base.shapes, builder.rng, MOST_TURNS, briefly=were_paired or are_many)
    attempt_all("pairs of values", pairs)
    if len(special) > 2 and all(elements(base.shapes[name]) == 1 for name in special):
        for _ in range(TRIPLES):
            attempt(builder.case(base, SPECIAL, accepted.controls, "special values together"))


def _beginning_with(first: str, strategies: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([first, *strategies])) if first in strategies else list(strategies)
