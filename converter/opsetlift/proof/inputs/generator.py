"""The test inputs on which two models are compared.

A generator tries layouts (shapes for all inputs) and, for each that the original accepts, strategies of filling them.
What the original rejects is redrawn from narrower ranges, and the strategies that were accepted are the first for the
next layout. In the end it tries what the floor of diversity requires and was not accepted so far, value by value.
Everything follows from the seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, cycle, islice, pairwise, product
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.diversity import Diversity
from opsetlift.proof.inputs.boundaries import search
from opsetlift.proof.inputs.building import (
    EACH_ITS_OWN,
    EACH_ITS_OWN_ROUNDING,
    MIXED,
    AcceptedStrategies,
    CaseBuilder,
    ControlStrategies,
)
from opsetlift.proof.inputs.cases import Attempt, Case, Enough, Explored, Floor, Input
from opsetlift.proof.inputs.driving import Driving
from opsetlift.proof.inputs.exhaustive import (
    every_combination,
    every_value,
    pairs_at_once,
    pairs_beside_constant,
    pairs_by_turns,
    values_at_once,
)
from opsetlift.proof.inputs.filling import (
    ALIKE,
    ALL_EXPONENTS,
    AROUND_SIZES,
    BROAD,
    CONTROLLING,
    GENTLE,
    LARGEST_NEIGHBOURS,
    MAGNITUDES,
    NEIGHBOURS,
    NOT_FINITE,
    ROUNDING,
    SMALLEST_NEIGHBOURS,
    SPECIAL,
    ValuePool,
    draw,
    drawn_between,
    in_words,
    multiples,
    own_numbers,
    runs,
    stretches,
)
from opsetlift.proof.inputs.floor import LONGEST, DiversityFloor, may_have_elements
from opsetlift.proof.inputs.layouts import LONG, Layout, Layouts
from opsetlift.proof.inputs.shape_controls import is_number, outputs_grow
from opsetlift.proof.limits import integer_limits, is_floating
from opsetlift.proof.shapes import BEARABLE, MOST_DRAWN, Dims, Shape, dims_of, elements, fixed_elements
from opsetlift.proof.special_values import every_value_of
from opsetlift.specification import dtypes

MANY = 64
"""Of more inputs those that a case is not about keep their values, and pairs of values are tried in fewer cases."""

FIRST_REJECTIONS = 250
"""How many inputs the original may reject before the first that it accepts."""

GUESSES = 240
"""How many random layouts are tried where the original accepts none of the usual ones."""

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

LARGEST_USUAL = 16
"""Open sizes are up to this number in most cases."""

MODEL_SIZES = 4
"""So many numbers of whole models are tried as sizes: those above usual ones first."""

LARGEST_OWN = 1 << 12
"""Numbers of a site up to this one are tried in what controls shapes, and as sizes."""

MOST_POSITIONS = 4
"""Inputs of so many integers may be positions."""

MOST_VARIED = 4
"""Of so many inputs that control shapes all strategies are tried in whole models."""

SMALLEST_USUAL = 0.1
"""Data is as small as this in any case."""

SITE_SCALES = 4
"""So many smaller numbers of a site are tried as magnitudes."""

FRUITLESS = 12
"""After an input that leaves all outputs without elements, so many more are tried to find one that does not."""

KEPT = 12
"""So many accepted cases are kept to be changed in one input."""

CHANGES = 96
"""So many times that is done where more inputs were rejected than accepted, a fourth as often elsewhere."""

TURNS_OF_INDICES = 12
"""How many tensors are drawn from all the numbers that an input of indices takes."""

ANY_NUMBERS = ("random", SPECIAL, "sprinkled")
"""What is tried in inputs whose type is that of indices or sizes, where no output's size follows values."""

TURNS_OF_ANY_NUMBERS = 12
"""How often."""

LARGEST_INDEX = 2**16
"""So far the greatest index is looked for."""

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

MODERATE = 1 / 64, 64
"""Numbers of a site that rounds are tried where they are between these: others, or their products, may overflow."""

WIDE_FLOATS = ("float", "double", "bfloat16")
"""Those that hold such numbers, and their squares."""

MOST_OWN_INDICES = 12
"""So many numbers of the site are tried as one of several indices."""

TURNS_OF_OWN_NUMBERS = 8
"""How many tensors are drawn from the numbers of the site alone."""

MOST_HANDLED = 1 << 26
"""Elements of inputs and outputs in all, after which no more is tried than the floor asks for."""

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

_AT_LIMITS = (LARGEST_NEIGHBOURS, SMALLEST_NEIGHBOURS, LARGEST_NEIGHBOURS)
"""What the first of the next turns hold."""

_TURNS_OF_NEIGHBOURS = 12
"""How many tensors of numbers next to one another are tried: which numbers these are is drawn for each."""

ORDINARY = ("fractions", "positive", "negative", "wide positive")
"""What stands in the other inputs then."""

SETTINGS_TOGETHER = 128
"""How often single numbers are drawn together from what was accepted of each: they may count only together."""

MOST_SETTINGS = 24
"""So many values are kept of each of them."""

LARGEST_SETTING = 1 << 10
"""None that is larger."""

WHOLE_NUMBERS = (0, 1000), (-500, 500)
"""Between these, all whole numbers are tried along an open size."""

LANES = 256
"""Thresholds are looked for in so many elements at once, along an open size."""

REACHES = (4.0, None, 100.0, 1.0, None, 1000.0)
"""Between numbers of about these magnitudes; None: between rows that are alike."""

WITHIN = [(0, 0)] + [
    (sign * near, sign * far) for far in (1, 20, 1000, 30000) for near, sign in ((-far, 1), (0, 1), (0, -1))
]
"""Between these bounds inputs are drawn, between which values inside the models are to become certain numbers."""

LARGE = 100.0
"""Other inputs are of about this magnitude meanwhile, or as they were accepted."""

_NOT_ORDERED = ("bool", "string", "complex64", "complex128")

MORE_PER_CASE = 4
"""So many more inputs are drawn for each that is still wanted, of which the original may reject some."""

MIXTURES = 6
"""How many mixtures of strategies are tried."""

MIXTURES_AGAIN = 2
"""How many mixtures of what was accepted for inputs that control shapes are tried with each further layout."""


class InputGenerator:
    """Generates the cases for some inputs.

    Args:
        inputs: The inputs to generate values for.
        seed: What everything follows from.
        rounding: The comparison is one within a bound.
        hints: Numbers that sizes may have to do with.
        first: Values that are tried before any are drawn.
        floor: What is required besides what is drawn.
        numbers: Those in constants and attributes, which data is compared with.
        lists: The same and texts as they stand there in lists, which data may be searched for.
        words: The texts there.
        constants: Those that the nodes read besides the inputs.
        results: The shapes that the outputs have to have.
        limit: After so many accepted cases only required ones follow.
        guesses: How many random layouts are tried where the original accepts none of the usual ones.
        most_elements: How many elements the inputs may have together, where open sizes decide on it.
        ways: Between so many pairs of inputs it is looked for thresholds.
        long: Further sizes that are tried for each open dimension, beside others of 1.
        targets: What values inside the models, which attempts show, may be compared with: numbers with their dtypes.
        drives: On so many inputs it is tried to make these values those numbers.
        looks_always: Whether thresholds are looked for, too, where none of these values takes steps.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        seed: Sequence[int],
        *,
        rounding: bool = False,
        hints: Sequence[int] = (),
        first: Sequence[Case] = (),
        floor: Floor = Floor.NONE,
        numbers: Sequence[float] = (),
        lists: Sequence[Sequence[float | str]] = (),
        words: Sequence[str] = (),
        constants: Sequence[Array] = (),
        results: Sequence[Dims] = (),
        limit: int | None = None,
        guesses: int = GUESSES,
        most_elements: int = LONG,
        ways: int = 0,
        long: Sequence[int] = (),
        targets: Sequence[Sequence[tuple[str, float]]] = (),
        drives: int = 0,
        looks_always: bool = True,
    ) -> None:
        self._inputs = inputs
        self._long = long
        self._ways = ways
        self._targets = targets
        self._looks_always = looks_always
        self._drives = drives
        self._guesses = guesses
        self._is_brief = floor is Floor.BRIEF
        self._constants = constants
        self._limit = limit
        self._number_accepted = self._number_rejected = self._elements = 0
        self._is_exploring = False
        self._kept: list[tuple[Sequence[Any], Case]] = []
        """Accepted cases, and the shapes of their outputs."""
        self._results_of: dict[tuple[Shape, ...], str] = {}
        """For the shapes of inputs those of the outputs."""
        self._settings: dict[str, dict[float, None]] = {}
        """The values that were accepted for each input of a single number."""
        self._sizes_follow_values = False
        """Whether inputs of the same shapes gave outputs of others."""
        sizes = [abs(int(one)) for one in numbers if 1 < abs(one) <= BEARABLE and one == int(one)]
        self._model_sizes = sorted(dict.fromkeys(sizes), key=lambda size: size < LARGEST_USUAL)[:MODEL_SIZES]
        self._numbers = numbers
        self._lists = [[each for each in one if not isinstance(each, str)] for one in lists]
        self._text_lists = [[each for each in one if isinstance(each, str)] for one in lists]
        self._scales = [one for one in numbers if 0 < one < SMALLEST_USUAL][:SITE_SCALES]
        fixed = fixed_elements({one.name: dims_of(one.type) for one in inputs})
        self.obstacle = ""
        """Why nothing is drawn."""
        if fixed > MOST_DRAWN:
            self.obstacle = f"the inputs have {fixed:,} elements, and inputs are drawn up to {MOST_DRAWN:,}"
        self._first_layout: Layout | None = None
        self._first = first
        rng = numpy.random.default_rng(list(seed))
        self._builder = CaseBuilder(inputs, rng, rounding=rounding)
        self._floor = DiversityFloor(self._builder, floor, numbers, words)
        dims = {one.name: dims_of(one.type) for one in inputs}
        beside = [value.shape for value in constants]
        controls = set(self._builder.controls)
        self._layouts = Layouts(
            dims, rng, lists=controls, hints=hints, beside=beside, results=results, most=most_elements
        )
        self._accepted = AcceptedStrategies()
        self._accepted_controls: Mapping[str, Sequence[str]] = {}
        """All that was accepted for each input that controls shapes."""
        self._gentle = ("positive", "ones", "integral") if rounding else GENTLE

    def run(self, attempt: Attempt) -> None:
        """Try the cases one by one; none where there is an obstacle."""
        if self.obstacle:
            return

        def counted(case: Case) -> Sequence[Any] | None:
            ran = attempt(case)
            self._count(case, ran)
            return ran

        wanted = self._wanted(counted)
        try:
            self._is_exploring = True
            try:
                for case in self._first:
                    wanted(case)
                if self._inputs:
                    self._search(wanted)
                    self._change_accepted(wanted)
                    self._try_any_in_controls(wanted)
                    self._try_neighbours(wanted)
                    self._try_own_numbers(wanted, sorted(self._builder.pools.keys() - self._builder.controls))
                    self._try_multiples(wanted)
                    self._try_one_not_finite(wanted)
                    self._try_whole_numbers(wanted)
                    self._try_magnitudes(wanted)
                    self._try_all_indices(wanted)
                    self._try_own_indices(wanted)
                    self._try_settings_together(wanted)
                    self._try_own_sizes(wanted)
                    self._try_runs(wanted)
                    self._try_all_exponents(wanted)
                    self._draw_more(wanted)
                else:
                    wanted(Case("no inputs", {}))
            except Explored:
                pass
            self._is_exploring = False
            self._floor.complete(wanted)
            if self._is_brief:
                self._try_neighbours(wanted)
                self._try_own_numbers(wanted, self._floor.data)
                self._try_sizes(wanted)
                self._try_ranks(wanted)
                self._try_narrow(wanted)
                self._try_controls(wanted)
            self._try_long_sizes(wanted)
            self._drive_inside(wanted)
            self._search_boundaries(wanted)
        except Enough:
            pass

    def _count(self, case: Case, ran: Sequence[Any] | None) -> None:
        """Take note of a case that was tried. Raises Explored where nothing more needs to be looked for."""
        if ran is None:
            self._number_rejected += 1
        else:
            shapes = list(ran)  # without what both sides gave, which may be large
            self._number_accepted += 1
            self._keep(case, shapes)
            self._note_settings(case)
            sizes = tuple(numpy.shape(value) for value in case.values.values() if isinstance(value, numpy.ndarray))
            self._sizes_follow_values |= self._results_of.setdefault(sizes, repr(shapes)) != repr(shapes)
            self._floor.record(case, shapes)
            if self._limit is not None and self._number_accepted >= self._limit and not case.is_required:
                raise Explored
        self._elements += sum(map(numpy.size, case.values.values()))
        self._elements += sum(math.prod(one) for one in ran or () if isinstance(one, tuple))
        if self._is_exploring and self._elements > MOST_HANDLED:
            raise Explored

    def _keep(self, case: Case, shapes: Sequence[Any]) -> None:
        """Keep a case to be changed: of each shape of outputs the first ones, others in turn."""
        if any(map(may_have_elements, shapes)) and sum(map(numpy.size, case.values.values())) <= BEARABLE:
            if len(self._kept) >= KEPT:
                same = [number for number, (other, _) in enumerate(self._kept) if other == shapes]
                places = same or range(KEPT)
                del self._kept[places[int(self._builder.rng.integers(len(places)))]]
            self._kept.append((shapes, case))

    def _any_kept(self) -> tuple[Sequence[Any], Case]:
        return self._kept[int(self._builder.rng.integers(len(self._kept)))]

    def _change_accepted(self, attempt: Attempt) -> None:
        """Accepted cases with one data input drawn anew, above all where the original is hard to please."""
        names = [name for name in self._builder.pools if name not in self._builder.controls]
        if len(self._inputs) < 2 or not names or not self._kept:
            return
        rng = self._builder.rng
        strategies = (ALIKE, *(EACH_ITS_OWN_ROUNDING if self._builder.rounding else EACH_ITS_OWN))
        for _ in range(CHANGES if self._number_rejected > self._number_accepted else CHANGES // 4):
            _, case = self._any_kept()
            name = names[int(rng.integers(len(names)))]
            strategy = strategies[int(rng.integers(len(strategies)))] if rng.random() < 0.5 else ALIKE
            if self._builder.rounding and not _are_finite(case.values, names):
                # Rows that are alike cancel, and what is left decides between infinity and NaN.
                strategy = "positive"
            drawn = draw(strategy, self._builder.pools[name].dtype, numpy.shape(case.values[name]), rng)
            attempt(Case.of(case.layout, f"{name} changed, {in_words(strategy)}", {**case.values, name: drawn}))

    def _try_any_in_controls(self, attempt: Attempt) -> None:
        """Numbers of all magnitudes where an input's type is that of indices or sizes, and no output's size changed.

        It may hold data all the same, as a bias of int32 or a scale does.
        """
        if self._sizes_follow_values or not self._kept:
            return
        strategies = EACH_ITS_OWN_ROUNDING if self._builder.rounding else ANY_NUMBERS
        for one in self._inputs:
            if one.name not in self._builder.controls or not is_number(one):
                continue
            for turn in range(TURNS_OF_ANY_NUMBERS):
                _, case = self._any_kept()
                strategy = strategies[turn % len(strategies)]
                drawn = draw(strategy, one.dtype or "", numpy.shape(case.values[one.name]), self._builder.rng)
                attempt(Case.of(case.layout, f"{in_words(strategy)} in {one.name}", {**case.values, one.name: drawn}))

    def _try_neighbours(self, attempt: Attempt) -> None:
        """Accepted cases with numbers next to one another in all inputs together, where every bit counts.

        Where an output's size follows what has the type of indices or sizes, data alone; of whole models then all.
        """
        controls = self._builder.controls
        data = {name: pool.dtype for name, pool in self._builder.pools.items() if name not in controls}
        typed = [one for one in self._inputs if one.name in controls and not one.controls_shapes and is_number(one)]
        every = {one.name: one.dtype or "" for one in typed} | data
        rounds = [data, every] if self._is_brief and data != every else [data]
        if self._builder.rounding or not self._kept:
            return
        rng = self._builder.rng
        for dtypes_of in rounds if self._sizes_follow_values else [every]:
            for turn in range(_TURNS_OF_NEIGHBOURS if dtypes_of else 0):
                _, case = self._any_kept()
                strategy = _AT_LIMITS[turn] if turn < len(_AT_LIMITS) else NEIGHBOURS
                drawn = {
                    name: draw(strategy, dtype, numpy.shape(case.values[name]), rng)
                    for name, dtype in dtypes_of.items()
                }
                filled = Case.of(case.layout, in_words(strategy), {**case.values, **drawn})
                attempt(replace(filled, is_required=self._is_brief))

    def _numeric(self, names: Iterable[str]) -> list[str]:
        """Those of some inputs that hold tensors of numbers."""
        dtypes_of = {one.name: one.dtype for one in self._inputs if one.type.HasField("tensor_type")}
        return [name for name in names if dtypes_of.get(name, "bool") not in _NOT_ORDERED]

    def _of_texts(self, names: Iterable[str]) -> list[str]:
        held = {one.name for one in self._inputs if one.dtype == "string" and one.type.HasField("tensor_type")}
        return [name for name in names if name in held]

    def _try_own_numbers(self, attempt: Attempt, names: Iterable[str]) -> None:
        """Accepted cases with nothing but numbers of the site in an input, in any order: it may look for a sequence."""
        rng = self._builder.rng
        for name in self._numeric(names) if self._kept else ():
            dtype = self._kept[0][1].values[name].dtype
            if dtype.kind not in "iuf":
                continue
            if self._builder.rounding and dtype.kind == "f":
                self._try_moderate_numbers(attempt, name, dtype)
                continue
            numbers = own_numbers(self._numbers, dtype)
            held = [one for one in self._numbers if one in numbers]
            lists = [one for one in self._lists if len(own_numbers(one, dtype)) == len(set(one))]
            side_by_side = dict.fromkeys(two for one in (*lists, held) for two in pairwise(one))
            for two in list(side_by_side)[:MOST_SIDE_BY_SIDE]:
                # What stands side by side in a constant may be looked for so, at the end as well.
                _, case = self._any_kept()
                shape = numpy.shape(case.values[name])
                drawn = numpy.resize(numpy.array(two[::-1], dtype), math.prod(shape))[::-1].reshape(shape)
                filled = Case.of(
                    case.layout, f"{two[0]:g} and {two[1]:g} by turns in {name}", {**case.values, name: drawn}
                )
                attempt(replace(filled, is_required=self._is_brief))
            for case in self._bases_of_own_numbers() if numbers.size > 1 else ():
                drawn = rng.choice(numbers, numpy.shape(case.values[name]))
                filled = Case.of(case.layout, f"own numbers in {name}", {**case.values, name: drawn})
                attempt(replace(filled, is_required=self._is_brief))
            several = sorted((one for one in lists if len(one) > 2), key=len, reverse=True)
            self._try_stretches(attempt, name, numpy.array([*chain(*several)], dtype))
        for name in self._of_texts(names) if self._kept else ():
            texts = sorted(self._text_lists, key=len, reverse=True)
            self._try_stretches(attempt, name, numpy.array([*chain(*texts)], dtype=object))

    def _try_moderate_numbers(self, attempt: Attempt, name: str, dtype: numpy.dtype[Any]) -> None:
        """Accepted cases of a site that rounds with its numbers in an input, of one sign: it may compare with them."""
        rng, (least, most) = self._builder.rng, MODERATE
        given = [*self._numbers, *chain(*self._lists)]
        held = [one for one in own_numbers(given, dtype).tolist() if least <= abs(one) <= most]
        for turn, sign in product(range(TURNS_OF_OWN_NUMBERS), (1, -1)):
            numbers = [one for one in held if one * sign > 0]
            if not numbers:
                continue
            _, case = self._any_kept()
            shape = numpy.shape(case.values[name])
            drawn = numpy.asarray(rng.choice(numbers, shape))
            if turn % 2:
                drawn = numpy.where(rng.random(shape) < 0.5, drawn, sign * rng.uniform(0.5, 2.0, shape))
            filled = Case.of(case.layout, f"own numbers in {name}", {**case.values, name: drawn.astype(dtype)})
            attempt(replace(filled, is_plain=True, is_required=self._is_brief))

    def _try_magnitudes(self, attempt: Attempt) -> None:
        """Numbers of one sign and one magnitude in the only input of a site that rounds.

        With several inputs large numbers make what is rounded larger than any bound, as in the logits of an Attention.
        """
        is_apt = self._builder.rounding and self._kept and len(self._builder.pools) == 1
        names = [name for name, pool in self._float_pools.items() if pool.dtype in WIDE_FLOATS] if is_apt else []
        for name, (low, high), sign in product(names, MAGNITUDES, (1, -1)):
            _, case = self._any_kept()
            if isinstance(case.values[name], numpy.ndarray):
                drawn = drawn_between(sign * low, sign * high, case.values[name], self._builder.rng)
                filling = f"numbers from {sign * low:g} to {sign * high:g} in {name}"
                attempt(Case.of(case.layout, filling, {**case.values, name: drawn}))

    def _try_multiples(self, attempt: Attempt) -> None:
        """Multiples of halves of another input, which is one number then, or of numbers of the site, where bits count.

        A quotient of them is rounded to a whole number, and in a narrower dtype it is rounded twice.
        """
        rng = self._builder.rng
        is_apt = self._kept and not self._builder.rounding and len(self._inputs) <= MANY
        names = list(self._float_pools)[:MOST_MULTIPLIED] if is_apt else []
        numbers = [1.0, *(one for one in self._numbers if one and math.isfinite(one))]
        pairs = [(name, unit) for name in names for unit in (*names, "") if name != unit]
        for _, (name, unit) in islice(product(range(TURNS_OF_MULTIPLES), pairs), MOST_MULTIPLES):
            _, case = self._any_kept()
            values = {one: case.values[one] for one in (name, unit) if one}
            if not all(isinstance(one, numpy.ndarray) for one in values.values()):
                continue
            dtype, shape = values[name].dtype, values[name].shape
            if unit:
                number = values[unit].dtype.type(rng.uniform(0.5, 2.0))
                values[unit] = numpy.full_like(values[unit], number)
            values[name] = multiples(float(number) if unit else rng.choice(numbers, shape), dtype, shape, rng)
            attempt(Case.of(case.layout, f"{name}, halves of {unit or 'own numbers'}", {**case.values, **values}))

    def _try_stretches(self, attempt: Attempt, name: str, listed: Array) -> None:
        """Accepted cases with lists of the site in an input, a stretch in each row: it may look for several numbers."""
        position = 0
        if self._first_layout is not None and LARGEST_USUAL < listed.size <= LARGEST_OWN:
            for layout in self._layouts.with_one_size(self._first_layout, listed.size):
                case = self._builder.case(layout, self._accepted.data, self._accepted.controls)
                drawn, _ = stretches(listed, 0, numpy.shape(case.values[name]))
                filled = Case.of(case.layout, f"own lists in {name}", {**case.values, name: drawn})
                attempt(replace(filled, is_required=self._is_brief))
        for case in self._bases_of_own_numbers(MOST_STRETCHES):
            if position >= listed.size:
                return
            drawn, position = stretches(listed, position, numpy.shape(case.values[name]))
            filled = Case.of(case.layout, f"stretches of own lists in {name}", {**case.values, name: drawn})
            attempt(replace(filled, is_required=self._is_brief))

    def _bases_of_own_numbers(self, turns: int = TURNS_OF_OWN_NUMBERS) -> Iterator[Case]:
        """Accepted cases, and of whole models longer ones as often."""
        layouts = list(self._layouts.with_one_size(self._first_layout, LONGER)) if self._first_layout else []
        for _ in range(turns):
            yield self._any_kept()[1]
            for layout in layouts if self._is_brief else ():
                yield self._builder.case(layout, self._accepted.data, self._accepted.controls)

    def _note_settings(self, case: Case) -> None:
        for name, value in case.values.items():
            if isinstance(value, numpy.ndarray) and value.size == 1 and value.dtype.kind in "iufb":
                number, known = value.item(), self._settings.setdefault(name, {})
                if len(known) < MOST_SETTINGS and abs(number) <= LARGEST_SETTING:
                    known[number] = None

    def _try_settings_together(self, attempt: Attempt) -> None:
        """Single numbers drawn together, each from those that were accepted for it and from what is between them.

        A threshold may tell only where a count is above 1, and both were accepted only beside a 0 or 1 of the other.
        """
        rng = self._builder.rng
        pools = {name: list(known) for name, known in self._settings.items() if len(known) > 1}
        strategies = self._gentle if self._builder.rounding else ("positive", "integral", *ORDINARY)
        for _ in range(SETTINGS_TOGETHER if self._kept and len(pools) > 1 else 0):
            _, case = self._any_kept()
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
            for name, pool in self._builder.pools.items():
                if name not in drawn and name not in self._builder.controls:
                    drawn[name] = draw(strategy, pool.dtype, numpy.shape(case.values[name]), rng)
            filling = f"single numbers together, {in_words(strategy)}"
            attempt(Case.of(case.layout, filling, {**case.values, **drawn}))

    def _draw_more(self, attempt: Attempt) -> None:
        """Accepted cases with all data drawn anew, up to the number of cases that was asked for."""
        names = [name for name in self._builder.pools if name not in self._builder.controls]
        if self._limit is None or not self._kept or not names:
            return
        rng = self._builder.rng
        strategies = ROUNDING if self._builder.rounding else EACH_ITS_OWN
        for _ in range(MORE_PER_CASE * (self._limit - self._number_accepted)):
            _, case = self._any_kept()
            strategy = strategies[int(rng.integers(len(strategies)))]
            drawn = {
                name: draw(strategy, self._builder.pools[name].dtype, numpy.shape(case.values[name]), rng)
                for name in names
            }
            attempt(Case.of(case.layout, f"{in_words(strategy)}, drawn once more", {**case.values, **drawn}))

    def _try_one_not_finite(self, attempt: Attempt) -> None:
        """A value that is not finite in one input of a site that rounds, ordinary or whole numbers in the others.

        Such a value tells which elements a result is made from, be it with a weight of 0.
        """
        names = list(self._float_pools) if self._builder.rounding and self._kept else []
        rng = self._builder.rng
        are_few = all(numpy.size(case.values[name]) <= FEW_ELEMENTS for _, case in self._kept for name in names)
        for name in names:
            places: list[int] = []
            for turn in range(TURNS_NOT_FINITE * (MORE_NOT_FINITE if are_few else 1)):
                _, case = self._any_kept()
                # Single numbers are thresholds, unless all inputs are.
                several = [one for one in names if numpy.size(case.values[one]) > 1] or names
                if name not in several or not numpy.size(case.values[name]):
                    continue
                drawn = {
                    one: draw(
                        ORDINARY[int(rng.integers(len(ORDINARY)))],
                        self._builder.pools[one].dtype,
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

    def _try_runs(self, attempt: Attempt) -> None:
        """What is not finite alone in one input of a site that keeps every bit, then special values in runs.

        Of a window or row of one value the first element, or the one outside the pads, is often the result.
        """
        is_idle = self._builder.rounding or not self._kept or len(self._inputs) > MANY
        pools = {} if is_idle else self._builder.pools
        names = [name for name in pools if name not in self._builder.controls][:MOST_WITH_RUNS]
        for name in names:
            alone = list(NOT_FINITE.values()) if name in self._float_pools else []
            for turn in range(len(alone) + TURNS_OF_RUNS):
                _, case = self._any_kept()
                if numpy.size(case.values[name]) < 2 or not isinstance(case.values[name], numpy.ndarray):
                    continue
                given = alone[turn : turn + 1] or pools[name].values.tolist()
                filled = runs(given, case.values[name], self._builder.rng)
                attempt(Case.of(case.layout, f"runs of special values in {name}", {**case.values, name: filled}))

    def _try_all_exponents(self, attempt: Attempt) -> None:
        """Numbers with all digits, of all exponents, in all inputs of floats of a site that keeps every bit."""
        is_apt = not self._builder.rounding and self._kept and len(self._inputs) <= MANY
        pools = self._float_pools if is_apt else {}
        for _ in range(TURNS_OF_ALL_EXPONENTS if pools else 0):
            _, case = self._any_kept()
            drawn = {
                name: draw(ALL_EXPONENTS, pool.dtype, numpy.shape(case.values[name]), self._builder.rng)
                for name, pool in pools.items()
                if isinstance(case.values[name], numpy.ndarray)
            }
            attempt(Case.of(case.layout, in_words(ALL_EXPONENTS), {**case.values, **drawn}))

    def _try_whole_numbers(self, attempt: Attempt) -> None:
        """Small whole numbers, or halves, in one of several inputs: positions are then on elements, or between two."""
        pools = self._float_pools if self._kept and len(self._inputs) <= MANY else {}
        rng = self._builder.rng
        for name, turn in product(pools, range(TURNS_OF_WHOLE_NUMBERS if len(pools) > 1 else 0)):
            _, case = self._any_kept()
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

    def _try_all_indices(self, attempt: Attempt) -> None:
        """All numbers that inputs of indices take: what is drawn elsewhere for them is as small as a size may be."""
        rng = self._builder.rng
        for one in self._inputs if self._kept else ():
            shapes, case = self._any_kept()
            like = case.values[one.name]
            if one.name not in self._builder.controls or not is_number(one) or like.size < 2 or is_floating(like.dtype):
                continue
            low, high = (self._outermost_index(one.name, sign, shapes, case, attempt) for sign in (-1, 1))
            for turn in range(TURNS_OF_INDICES if low < high else 0):
                if turn % 2 and high + 1 >= like.size:
                    numbers = rng.choice(high + 1, like.size, replace=False)
                else:
                    numbers = rng.integers(low if turn % 4 else 0, high, size=like.size, endpoint=True)
                drawn = numbers.astype(like.dtype).reshape(like.shape)
                filling = f"{one.name} from {low} to {high}"
                attempt(Case.of(case.layout, filling, {**case.values, one.name: drawn}))

    def _try_own_indices(self, attempt: Attempt) -> None:
        """Each whole number of the site as one of several indices: one of them may be left out, or stand for none."""
        rng = self._builder.rng
        numbers = dict.fromkeys(int(one) for one in self._numbers if one == one // 1 and abs(one) <= LARGEST_INDEX)
        for one in self._inputs if self._kept else ():
            if one.name not in self._builder.controls or not is_number(one):
                continue
            cases = [case for _, case in self._kept if numpy.size(case.values[one.name]) > 1]
            if not cases and self._first_layout is not None and elements(self._first_layout.shapes[one.name]) > 1:
                cases = [self._builder.case(self._first_layout, self._accepted.data, self._accepted.controls)]
            for number in list(numbers)[:MOST_OWN_INDICES] if cases else ():
                case = cases[int(rng.integers(len(cases)))]
                value = case.values[one.name].copy()
                low, high = (0, 0) if is_floating(value.dtype) else integer_limits(value.dtype)
                if low <= number <= high:
                    value.reshape(-1)[int(rng.integers(value.size))] = number
                    attempt(Case.of(case.layout, f"{number} in {one.name}", {**case.values, one.name: value}))

    def _outermost_index(self, name: str, sign: int, shapes: Sequence[Any], case: Case, attempt: Attempt) -> int:
        """The number farthest from 0 that an element of an input may have; 0 where sizes of outputs change with it."""
        least, greatest = integer_limits(case.values[name].dtype)
        accepted, rejected, tried = 0, min(LARGEST_INDEX, greatest if sign > 0 else -least) + 1, 1
        while tried < rejected:
            values = case.values[name].copy()
            values.reshape(-1)[int(self._builder.rng.integers(values.size))] = sign * tried
            found = attempt(Case.of(case.layout, f"{sign * tried} in {name}", {**case.values, name: values}))
            if found is None:
                rejected = tried
            elif found != shapes:
                return 0
            else:
                accepted = tried
            tried = max(min(2 * accepted, (accepted + rejected) // 2), accepted + 1)
        return sign * accepted

    def _wanted(self, attempt: Attempt) -> Attempt:
        """The attempt, or one that leaves out cases; those left out are not measured."""
        return attempt

    def diversity(self) -> Diversity:
        """What was measured of the inputs that the original accepted."""
        return self._floor.diversity()

    def _try_sizes(self, attempt: Attempt) -> None:
        """Open sizes by which a model may tell its inputs apart, among them numbers of the models and one more.

        One of the models may slice or pad to a fixed size.
        """
        if self._first_layout is None:
            return
        accepted = self._accepted
        for layout in self._layouts.telling(self._first_layout, self._model_sizes):
            for controls in [accepted.controls, dict.fromkeys(accepted.controls, "sizes")][
                : 1 + bool(accepted.controls)
            ]:
                attempt(replace(self._builder.case(layout, accepted.data, controls), is_required=True))
            alike = set(layout.sizes.values())
            if len(alike) == 1:
                attempt(replace(self._builder.case(layout, "ones", accepted.controls), is_required=True))
                self._try_beyond(layout, alike.pop() - 2, attempt)

    def _try_beyond(self, layout: Layout, number: int, attempt: Attempt) -> None:
        """One more than a number of the models, from either end, in few integers: the number may bound a position."""
        few = [
            one for one in self._inputs if is_number(one) and 0 < elements(layout.shapes[one.name]) <= MOST_POSITIONS
        ]
        for one in few[:MOST_VARIED] if number in self._model_sizes else ():
            dtype = dtypes.numpy_dtype(one.dtype or "int64")
            for value in (number + 1, -number - 1) if dtype.kind == "i" else ():
                filled = numpy.full(layout.shapes[one.name], value).astype(dtype)
                filling = f"{one.name} is {value}"
                case = self._builder.case(layout, "positive", self._accepted.controls, filling, {one.name: filled})
                attempt(replace(case, is_required=True))

    def _try_ranks(self, attempt: Attempt) -> None:
        """Inputs of unknown rank of each rank, where fewer cases were asked for than it takes to come to all."""
        tried = [self._first_layout.ranks] if self._first_layout is not None else []
        for layout in self._layouts.bases():
            if layout.ranks and layout.ranks not in tried:
                case = self._builder.case(layout, self._accepted.data, self._accepted.controls)
                if attempt(replace(case, is_required=True)) is not None:
                    tried.append(layout.ranks)

    def _try_narrow(self, attempt: Attempt) -> None:
        """Every value of data of at most 16 bits along an open size, and every pair of values of at most 8.

        Of wider data the whole numbers around 0: it may be counted, parted and looked up by.
        """
        if self._first_layout is None or self._builder.rounding:
            return
        dtypes_of = {name: pool.dtype for name, pool in self._builder.pools.items() if name in self._floor.data}
        narrow, bytewise = (
            {name: table for name, dtype in dtypes_of.items() if (table := every_value_of(dtype, bits)) is not None}
            for bits in (16, 8)
        )
        held = {one.name: one.dtype for one in self._inputs if one.type.HasField("tensor_type")}
        wide = {
            name: dtypes.numpy_dtype(held[name]) for name in self._floor.data if held.get(name) and name not in narrow
        }
        whole = [
            {name: numpy.arange(*ends).astype(dtype) for name, dtype in wide.items() if dtype.kind in "if"}
            for ends in WHOLE_NUMBERS
        ]
        tables = [narrow, *whole] if narrow else whole
        values = chain(*(values_at_once(one, self._layouts, self._first_layout) for one in tables if one))
        pairs = pairs_at_once(bytewise, self._layouts, self._first_layout) if len(bytewise) > 1 else ()
        for label, cases in (("every value", values), ("every pair of values", pairs)):
            for layout, filling in cases:
                case = self._builder.case(layout, self._accepted.data, self._accepted.controls, label, filling)
                attempt(replace(case, is_required=True))

    def _try_own_sizes(self, attempt: Attempt) -> None:
        """One more than a number of the site in what controls shapes, beside a size as large: it may be a bound."""
        accepted, numbers = self._accepted, [size for size in self._model_sizes if LARGEST_USUAL <= size <= LARGEST_OWN]
        inputs = {one.name: one for one in self._inputs}
        if self._is_brief or self._first_layout is None:
            return
        for number in numbers:
            for layout, data in zip(
                self._layouts.beyond(self._first_layout, number), cycle([accepted.data, "positive"]), strict=False
            ):
                attempt(self._builder.case(layout, data, accepted.controls))
            layouts = [self._first_layout, *self._layouts.with_one_size(self._first_layout, number + 1)]
            controls = list(accepted.controls)[:MOST_VARIED]
            # Of ones, too: where a condition is False, no bound is reached.
            for layout, name, data in product(layouts, controls, dict.fromkeys([accepted.data, "ones"])):
                one = inputs[name]
                if is_number(one) and elements(layout.shapes[name]) == 1:
                    value = numpy.full(layout.shapes[name], number + 1).astype(dtypes.numpy_dtype(one.dtype or "int64"))
                    filling = f"{name} is {number + 1}"
                    attempt(self._builder.case(layout, data, accepted.controls, filling, {name: value}))
                else:
                    attempt(self._builder.case(layout, data, {**accepted.controls, name: "sizes"}))

    def _try_controls(self, attempt: Attempt) -> None:
        """Each strategy for what controls shapes of a whole model, for one input after the other."""
        if self._first_layout is None:
            return
        accepted = self._accepted
        for name in list(accepted.controls)[:MOST_VARIED]:
            for strategy in self._builder.strategies_for(name, self._builder.control_strategies):
                case = self._builder.case(self._first_layout, accepted.data, {**accepted.controls, name: strategy})
                attempt(replace(case, is_required=True))

    def _try_long_sizes(self, attempt: Attempt) -> None:
        """Sizes that a narrow dtype does not hold, as positions are from either end."""
        if self._first_layout is None:
            return
        accepted = self._accepted
        for size in self._long:
            for layout, symbol in self._layouts.long(self._first_layout, size, 1):
                for data in dict.fromkeys([accepted.data, "ascending"]):
                    case = self._builder.case(layout, data, accepted.controls)
                    attempt(replace(case, label=f"size {size} for {symbol} ({in_words(data)})", is_required=True))

    def _drive_inside(self, attempt: Attempt) -> None:
        """Inputs for which values inside the models are numbers of the models: there they are compared or looked up."""
        inputs = {one.name: one for one in self._inputs}
        names = [name for name in self._floor.data if name in self._numeric([name]) or inputs[name].dtype == "bool"]
        if self._first_layout is None or not names or not self._targets:
            return
        rng = self._builder.rng
        base = self._builder.case(self._first_layout, self._accepted.data, self._accepted.controls)
        cases = []
        farthest = 2 * max((abs(number) for numbers in self._targets for _, number in numbers), default=0)
        for low, high in (*WITHIN, (-farthest, farthest)):
            drawn = {
                name: rng.random(numpy.shape(base.values[name])) * (high - low) > -low  # all, some, or none
                if inputs[name].dtype == "bool"
                else drawn_between(low, high, base.values[name], rng)
                for name in names
            }
            label = f"towards numbers of the models, from between {low:g} and {high:g}"
            cases.append(Case.of(base.layout, label, {**base.values, **drawn}, is_required=True))
        driving = Driving(names, self._drives, attempt, rng)
        driving.run(cases, self._targets)
        if not driving.saw_steps and not self._looks_always:
            self._ways = 0

    def _search_boundaries(self, attempt: Attempt) -> None:
        """Both sides of thresholds that are computed, between drawn inputs; many at once along an open size."""
        names = self._numeric(self._floor.data)
        first, accepted, rng = self._first_layout, self._accepted, self._builder.rng
        if first is None or not names or self._builder.rounding:
            return
        layouts = [*self._layouts.with_one_size(first, LANES), first]
        # What all inputs decide together, and what each of them does beside others that stay.
        chosen = [names, *([name] for name in names)] if len(names) > 1 else [names]
        for turn, moved in enumerate(islice(cycle(chosen), self._ways)):
            base = self._builder.case(layouts[turn % len(layouts)], accepted.data, accepted.controls)
            others = [name for name in names if name not in moved and turn // len(chosen) % 2]
            stay = {name: drawn_between(-LARGE, LARGE, base.values[name], rng) for name in others}
            label, ends = self._ends({name: base.values[name] for name in moved}, turn // 2)
            cases = [
                replace(Case.of(base.layout, label, {**base.values, **stay, **end}), is_required=True) for end in ends
            ]
            search(cases[0], cases[1], moved, attempt)

    def _ends(self, like: Mapping[str, Array], turn: int) -> tuple[str, list[dict[str, Array]]]:
        """Two fillings of inputs: rows that differ by much or little, or numbers on either side of 0."""
        rng, reach = self._builder.rng, REACHES[turn % len(REACHES)]
        if reach is None:
            drawn = [
                {
                    name: draw(ALIKE, dtypes.name_of_numpy_dtype(value.dtype), value.shape, rng)
                    for name, value in like.items()
                }
                for _ in range(2)
            ]
            return f"between {ALIKE}", drawn
        drawn = [
            {name: drawn_between(sign * reach, -sign * reach / 8, value, rng) for name, value in like.items()}
            for sign in (-1, 1)
        ]
        return f"between -{reach:g} and {reach:g}", drawn

    def _search(self, attempt: Attempt) -> None:
        left = FIRST_REJECTIONS
        ranks: list[Mapping[str, int]] = []
        for layout in self._layouts.bases():
            first = not self._accepted.found
            if not first and layout.ranks in ranks:
                continue
            rejected, shapes = self._find_strategies(layout, attempt, left if first else LATER_REJECTIONS)
            left -= rejected
            if shapes is not None:
                ranks.append(layout.ranks)
                self._explore(layout, attempt, first=first)
            elif left <= 0:
                break
        if not self._accepted.found and not self._layouts.are_fixed:
            left = GUESSED
            for layout in chain(self._layouts.guesses(self._guesses), self._layouts.guesses(FEW_GUESSES, derived=True)):
                if not left:
                    return
                if self._find_strategies(layout, attempt, 2)[1] is not None:
                    self._explore(layout, attempt, first=left == GUESSED)
                    left -= 1
        if not self._accepted.found and any(one.type.HasField("sequence_type") for one in self._inputs):
            self._search_longer_sequences(attempt)

    def _search_longer_sequences(self, attempt: Attempt) -> None:
        """Sequences of one element more than a number of the site: it may be a position in them."""
        for number in sorted(size for size in self._model_sizes if size <= LONGEST):
            self._builder.least_length = number + 1
            for layout in islice(self._layouts.bases(), FEW_GUESSES):
                if self._find_strategies(layout, attempt, 2)[1] is not None:
                    self._explore(layout, attempt, first=True)
                    return

    def _explore(self, layout: Layout, attempt: Attempt, *, first: bool) -> None:
        if first:
            self._first_layout = layout
            self._find_controls(layout, attempt)
        self._fill(layout, attempt, thoroughly=first)
        if first:
            self._try_small(layout, attempt)
            self._try_exhaustively(layout, attempt)
        for variant in self._layouts.variants(layout, few=not first):
            if self._find_strategies(variant, attempt, LATER_REJECTIONS)[1] is not None:
                self._fill(variant, attempt, thoroughly=False)
                if set(variant.sizes.values()) == {1}:
                    self._vary_controls_of_ones(variant, attempt)
        for variant in chain(self._layouts.in_proportion(layout), self._layouts.crosswise(layout)) if first else ():
            if self._find_strategies(variant, attempt, FEW_REJECTIONS)[1] is not None:
                self._try(variant, attempt, ROUNDING[0] if self._builder.rounding else SPECIAL, self._accepted.controls)

    def _vary_controls_of_ones(self, layout: Layout, attempt: Attempt) -> None:
        """Vary what controls shapes where all open sizes are 1: more of it is accepted, as sizes of 1 broadcast."""
        for name, accepted in self._accepted.controls.items():
            for strategy in self._builder.strategies_for(name, (*self._builder.control_strategies, *CONTROLLING_AGAIN)):
                controls = {**self._accepted.controls, name: strategy}
                if strategy != accepted:
                    self._try(layout, attempt, self._accepted.data, controls)

    def _find_strategies(
        self, layout: Layout, attempt: Attempt, most_rejected: int
    ) -> tuple[int, Sequence[Any] | None]:
        """Look for fill strategies that the original accepts.

        Returns:
            How many it rejected, and the shapes of its outputs.
        """
        accepted = self._accepted
        data = _beginning_with(accepted.data, self._gentle)
        controls = self._control_strategies()
        pairs = [(data[0], one) for one in controls]
        pairs += [(strategy, one) for one in controls for strategy in data[1:]]
        found, last = None, min(len(pairs), most_rejected)
        for number, (strategy, one) in enumerate(pairs):
            if number == last:
                break
            shapes = attempt(self._builder.case(layout, strategy, one))
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

    def _control_strategies(self) -> list[ControlStrategies]:
        """What to try: what was accepted last, one strategy for all inputs that control shapes, mixtures."""
        names = sorted(self._builder.controls)
        usual = self._builder.control_strategies
        found: list[ControlStrategies] = [dict.fromkeys(names, one) for one in usual] if names else [{}]
        if len(names) > 1:
            found += [self._builder.mixture(dict.fromkeys(names, usual)) for _ in range(MIXTURES)]
        last = self._accepted.controls
        return [last, *found] if names and last.keys() == self._builder.controls else found

    def _find_controls(self, layout: Layout, attempt: Attempt) -> None:
        """Single numbers on whose values the sizes of outputs depend stay small: large ones would make large tensors.

        With one of them all single numbers do, as each may count only together with others.
        """
        single = [
            one
            for one in self._inputs
            if elements(layout.shapes[one.name]) == 1 and one.name not in self._builder.controls and is_number(one)
        ]
        if self._depends_on_one(single, layout, attempt):
            names = {one.name for one in single}
            self._builder.controls |= names
            self._accepted.controls = {**dict.fromkeys(sorted(names), CONTROLLING[0]), **self._accepted.controls}

    def _depends_on_one(self, single: Sequence[Input], layout: Layout, attempt: Attempt) -> bool:
        for data in PROBES if single else ():
            case = self._builder.case(layout, data, self._accepted.controls)
            shapes = attempt(case)
            if shapes is not None and any(outputs_grow(case, shapes, [one.name], attempt) for one in single):
                return True
        return False

    def _fill(self, layout: Layout, attempt: Attempt, *, thoroughly: bool) -> None:
        strategies: Sequence[str] = ROUNDING if self._builder.rounding else BROAD
        if not thoroughly or layout.elements > BEARABLE:
            strategies = strategies[:2]
        controls = self._accepted.controls
        for strategy in strategies:
            for _ in range(self._turns(layout) if strategy == SPECIAL and thoroughly else 1):
                self._try(layout, attempt, strategy, controls)
        if thoroughly and len(self._builder.pools) > 1:
            for _ in range(MIXTURES):
                self._try(layout, attempt, MIXED, controls)
        if thoroughly and self._builder.controls:
            self._vary_controls(layout, attempt)
        elif self._accepted_controls:
            for _ in range(MIXTURES_AGAIN):
                self._try(layout, attempt, self._accepted.data, self._builder.mixture(self._accepted_controls))

    def _try(
        self,
        layout: Layout,
        attempt: Attempt,
        data: str,
        controls: ControlStrategies,
        label: str = "",
        filled: Mapping[str, Array] | None = None,
    ) -> bool:
        """Attempt a case; where it is rejected, once more with single numbers between 0 and 1, as thresholds are."""
        if attempt(self._builder.case(layout, data, controls, label, filled)) is not None:
            return True
        rng = self._builder.rng
        held = {
            name: draw("fractions", pool.dtype, layout.shapes[name], rng)
            for name, pool in self._float_pools.items()
            if elements(layout.shapes[name]) == 1
        }
        if not held or len(held) == len(self._builder.pools):
            return False
        label = f"{label or in_words(data)}, single numbers from 0 to 1"
        return attempt(self._builder.case(layout, data, controls, label, {**held, **(filled or {})})) is not None

    @property
    def _float_pools(self) -> dict[str, ValuePool]:
        """The special values for each input that holds floats as data."""
        return {
            name: pool
            for name, pool in self._builder.pools.items()
            if name not in self._builder.controls and is_floating(dtypes.numpy_dtype(pool.dtype))
        }

    def _vary_controls(self, layout: Layout, attempt: Attempt) -> None:
        """Vary what controls shapes: one input after the other, then all by the strategies that were accepted."""
        accepted = self._accepted
        found = {name: [strategy] for name, strategy in accepted.controls.items()}
        for name, strategies in found.items():
            for strategy in self._builder.strategies_for(name, (*self._builder.control_strategies, *CONTROLLING_AGAIN)):
                controls = {**accepted.controls, name: strategy}
                if self._try(layout, attempt, accepted.data, controls):
                    if strategy not in strategies:
                        self._try_special_beside(layout, controls, attempt)
                    strategies.append(strategy)
            if elements(layout.shapes[name]) == 1:
                self._enumerate(layout, name, attempt)
        self._accepted_controls = found
        if len(found) > 1:
            for _ in range(2 * MIXTURES):
                self._try(layout, attempt, accepted.data, self._builder.mixture(found))

    def _enumerate(self, layout: Layout, name: str, attempt: Attempt) -> None:
        """All small numbers in turn for a single number that controls shapes."""
        one = next(one for one in self._inputs if one.name == name)
        if not one.type.HasField("tensor_type") or one.dtype in ("bool", "string"):
            return
        accepted = self._accepted
        for number in range(-ENUMERATED_NUMBER, LARGEST_LENGTH + 1):
            value = numpy.full(layout.shapes[name], number).astype(dtypes.numpy_dtype(one.dtype or "int64"))
            label, filled = f"{name} is {number}", {name: value}
            if self._try(layout, attempt, accepted.data, accepted.controls, label, filled):
                if number <= ENUMERATED_NUMBER:
                    self._try_special_beside(layout, accepted.controls, attempt, label, filled)
            elif number >= ENUMERATED_NUMBER:
                return

    def _try_special_beside(
        self,
        layout: Layout,
        controls: ControlStrategies,
        attempt: Attempt,
        label: str = "",
        filled: Mapping[str, Array] | None = None,
    ) -> None:
        """Special values, or what is not finite, and alike rows beside accepted values of what controls shapes."""
        if self._builder.pools:
            for data in (*NOT_FINITE, ALIKE) if self._builder.rounding else (SPECIAL, ALIKE):
                self._try(layout, attempt, data, controls, f"{label}, {in_words(data)}" if label else "", filled)

    def _try_small(self, layout: Layout, attempt: Attempt) -> None:
        """Data as small as a number of the site, or its root: an epsilon tells only beside a variance as small."""
        for name, pool in self._float_pools.items():
            for scale in (power for one in self._scales for power in (one, math.sqrt(one))):
                drawn = draw("positive", pool.dtype, layout.shapes[name], self._builder.rng)
                with numpy.errstate(all="ignore"):
                    small = (drawn * drawn.dtype.type(scale)).astype(drawn.dtype)
                label = f"{name} about {scale:.3g}"
                attempt(self._builder.case(layout, self._gentle[0], self._accepted.controls, label, {name: small}))

    def _turns(self, layout: Layout) -> int:
        """How many tensors it takes until every special value was used."""
        pools = self._builder.pools
        counts = {name: elements(shape) for name, shape in layout.shapes.items() if name in pools}
        turns = [math.ceil(len(pools[name].values) / count) for name, count in counts.items() if count]
        return min(max([3, *turns]), MOST_TURNS)

    def _try_exhaustively(self, base: Layout, attempt: Attempt) -> None:
        """Every value of inputs of up to 16 bits, in all combinations where they are few, and pairs of all values."""
        builder, accepted = self._builder, self._accepted
        special = {name: pool.values for name, pool in builder.pools.items() if name not in builder.controls}
        if not special or builder.rounding:
            return

        are_many = len(self._inputs) > MANY
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
        for layout, filling in values_at_once(wide_tables, self._layouts, base) if wide_tables else ():
            attempt(builder.case(layout, accepted.data, accepted.controls, "every value", filling))
        for constant in self._constants:
            attempt_all("the values of a constant", pairs_beside_constant(special, base.shapes, constant))
        were_paired = False
        for layout, filling in pairs_at_once({**special, **narrow}, self._layouts, base):
            case = builder.case(layout, accepted.data, accepted.controls, "every pair of values", filling)
            were_paired |= attempt(case) is not None and len(filling) == len(special)
        pairs = pairs_by_turns(special, base.shapes, builder.rng, MOST_TURNS, briefly=were_paired or are_many)
        attempt_all("pairs of values", pairs)
        if len(special) > 2 and all(elements(base.shapes[name]) == 1 for name in special):
            for _ in range(TRIPLES):
                attempt(builder.case(base, SPECIAL, accepted.controls, "special values together"))


def _one_of(numbers: Sequence[float], rng: numpy.random.Generator, *, between: bool) -> float:
    """One of some numbers, or as often one between the least and the greatest, where there may be such.

    Half of these have one decimal place: their quotients are whole numbers but for what is rounded.
    """
    if between and rng.random() < 0.5:
        number = float(rng.uniform(min(numbers), max(numbers)))
        return round(number, 1) if rng.random() < 0.5 else number
    return numbers[int(rng.integers(len(numbers)))]


def _away_from_zero(values: Array) -> Array:
    """The next whole numbers, of the same signs."""
    with numpy.errstate(all="ignore"):
        wide = values.astype(numpy.float64)
        return numpy.asarray(numpy.copysign(numpy.ceil(numpy.abs(wide)), wide)).astype(values.dtype)


def _beginning_with(first: str, strategies: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([first, *strategies])) if first in strategies else list(strategies)


def _are_finite(values: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether no input holds infinity or NaN."""
    floats = [values[name] for name in names if is_floating(values[name].dtype)]
    with numpy.errstate(all="ignore"):
        return all(bool(numpy.isfinite(one).all()) for one in floats)
