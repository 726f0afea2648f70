"""The inputs on which two models are compared.

A battery tries layouts (shapes for all inputs) and, for each that the original takes, manners of filling them. What the
original rejects is redrawn from narrower ranges, and what was found to be accepted is where the next layout begins.
In the end it tries what the floor of diversity requires and was not accepted so far, value by value.
Everything follows from the seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import combinations
from typing import Any

import numpy
from numpy.typing import NDArray
from onnx import TypeProto

from opsetlift.proof.diversity import (
    CONTROLS,
    CONTROLS_SHAPES,
    DATA,
    SCANNED,
    Diversity,
    Tally,
    required_values,
    tensors_in,
    with_values,
)
from opsetlift.proof.draw import (
    BROAD,
    DIRECTING,
    GENTLE,
    NOT_FINITE,
    ROUNDING,
    SPECIAL,
    Deck,
    direct,
    draw,
    drawn_between,
    every_value_of,
)
from opsetlift.proof.exhaustive import (
    every_combination,
    every_value,
    pairs_at_once,
    pairs_beside_constant,
    pairs_by_turns,
)
from opsetlift.proof.limits import integer_limits, is_floating
from opsetlift.proof.shapes import BEARABLE, Layout, Layouts, Shape, dims_of, elements
from opsetlift.specification import dtypes

Array = NDArray[Any]

PATIENCE = 250
"""How many inputs the original may reject before the first that it takes."""

GUESSES = 240
"""How many random layouts are tried where the original takes none of the usual ones."""

FEW_GUESSES = 60
"""The same where more is known of the inputs than was used, and they are tried again with all of it."""

LATER_PATIENCE = 6
"""How many inputs of a further layout the original may reject."""

MOST_TURNS = 24
"""At most so many tensors of special values."""

ENUMERATED_NUMBER = 6
"""Single numbers that steer are tried from minus this to this."""

STEERED_AGAIN = ("axes", "signed axes", "signed index", "signed axes", "parts of the last size", "signed axes")
"""What steers is drawn more often in these manners: one draw meets few of the combinations that matter."""

PROBES = ("positive", "integral", "ones", "integral")
"""Around values of these manners it is found out which single numbers the sizes of outputs depend on."""

SHIFTS = (64, 512)
"""By so much numbers are moved, up and down, to see whether sizes of outputs grow with them."""

GROWN = 8
"""Outputs that have more elements than that when a number is moved further follow the number."""

FEW_NUMBERS = 16
"""Inputs of up to so many elements may be sizes."""

FAR_NUMBERS = (2**24 - 1, 2**31 - 3, -(2**31) - 3, 2**53 - 1, -(2**53) - 3, 2**63 - 100, -(2**63) + 100)
"""Where numbers that sizes depend on are moved to together, if the sizes stay as they are."""

MOST_REQUIRED = 400
"""So many attempts are made to have the required values of one input accepted."""

TRIPLES = 48
"""How many tensors of special values are drawn where three or more inputs hold single numbers."""

RANGES = [(-sign * scale / 8, sign * scale) for scale in (1, 20, 1000, 30000) for sign in (1, -1)]
"""Between which bounds the data of whole models is drawn besides: a sum that holds a NaN or an infinity decides
nothing, and what a model compares or branches by is often a sum."""

LARGEST_USUAL = 16
"""Open sizes are tried up to this number in any case."""

OWN_SIZES = 4
"""So many numbers of whole models are tried as sizes."""

EXAMPLE = "example"

MIXED = "a mixture"
"""Each input that does not steer is drawn in a manner of its own."""

EACH_ITS_OWN = (SPECIAL, "integral", "random", "ties", "sprinkled", "ones")

EACH_ITS_OWN_ROUNDING = ("positive", "negative", "ones", "wide positive")

MIXTURES = 6
"""How many mixtures of manners are tried."""


@dataclass(frozen=True)
class Input:
    """An input to be drawn."""

    name: str
    type: TypeProto
    directs: bool = False
    """Whether it steers the operator (indices, axes, sizes), so that large numbers would make large tensors."""
    may_direct: bool = False
    """Whether it may: nothing but its dtype and rank says so. If no size depends on it, it is tried as data, too."""
    example: Array | None = None
    """A value that is known to be taken: the default of an initializer that the caller may override."""

    @property
    def dtype(self) -> str | None:
        """The dtype of the tensor, or of those in a sequence or an optional; None for a map."""
        return _dtype_of(self.type)


def _dtype_of(type_proto: TypeProto) -> str | None:
    kind = type_proto.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return _dtype_of(getattr(type_proto, kind).elem_type)
    return dtypes.dtype_name(type_proto.tensor_type.elem_type) if kind == "tensor_type" else None


@dataclass(frozen=True)
class Case:
    """Values for all inputs."""

    label: str
    values: Mapping[str, Any]
    is_required: bool = False
    """The floor of diversity requires it."""


class Enough(Exception):
    """Raised by an attempt that has seen all it wants; ends the battery."""


class Explored(Exception):
    """Raised by an attempt that wants no more drawn cases; those that the floor requires still follow."""


class Floor(Enum):
    """How diverse the accepted inputs have to be."""

    NONE = 0
    BRIEF = 1
    """One value of each kind: for whole models, each run of which may take long."""
    FULL = 2
    """Each special value; of dtypes of at most 8 bits every value."""


Attempt = Callable[[Case], Sequence[Any] | None]
"""Runs both sides on a case. Returns the shapes of the original's outputs, or None where the original rejects it."""


Steering = Mapping[str, str]
"""The manner in which each input that steers is drawn."""


@dataclass
class _Settled:
    """The manners that the original took last."""

    data: str = GENTLE[0]
    steering: Steering = field(default_factory=dict)
    found: bool = False
    """Whether it took any."""


class Battery:
    """The cases for some inputs.

    `rounding`: the comparison is one within a bound. `hints`: numbers that sizes may have to do with. `first`: values
    that are tried before any are drawn. `floor`: what is required besides what is drawn. `numbers`: those in constants
    and attributes, which data is compared with. `constants`: those that the inputs meet. `limit`: after so many
    accepted cases only required ones follow. `guesses`: how many random layouts are tried where the
    original takes none of the usual ones.
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
        constants: Sequence[Array] = (),
        limit: int | None = None,
        guesses: int = GUESSES,
    ) -> None:
        self._inputs = inputs
        self._guesses = guesses
        self._floor = floor
        self._constants = constants
        self._limit = limit
        self._accepted = 0
        self._own_sizes = [int(one) for one in numbers if LARGEST_USUAL <= one <= BEARABLE and one == int(one)][
            :OWN_SIZES
        ]
        self._first_layout: Layout | None = None
        self._bases: dict[str, _Base] = {}
        self._tallies = {
            one.name: Tally(
                one.dtype,
                required_values(one.dtype, tuple(numbers), rounding=rounding, briefly=floor is Floor.BRIEF),
                CONTROLS if one.directs else DATA,
                is_empty=0 in (dims_of(one.type) or ()),
            )
            for one in inputs
            if floor is not Floor.NONE and one.dtype is not None
        }
        self._first = first
        self._rng = numpy.random.default_rng(list(seed))
        self._steering: set[str] = {one.name for one in inputs if one.directs or one.may_direct}
        dims = {one.name: dims_of(one.type) for one in inputs}
        beside = [value.shape for value in constants]
        self._layouts = Layouts(dims, self._rng, lists=set(self._steering), hints=hints, beside=beside)
        self._decks = {
            one.name: Deck(one.dtype, self._rng)
            for one in inputs
            if one.dtype is not None and one.type.HasField("tensor_type") and one.name not in self._steering
        }
        self._rounding = rounding
        self._settled = _Settled()
        self._gentle = ("positive", "ones", "integral") if rounding else GENTLE
        examples = [EXAMPLE] if any(one.example is not None for one in inputs) else []
        self._directing = (*examples, *DIRECTING)

    def run(self, attempt: Attempt) -> None:
        """Try the cases one by one."""

        def counted(case: Case) -> Sequence[Any] | None:
            shapes = attempt(case)
            if shapes is not None:
                self._record(case, shapes)
                if self._limit is not None and self._accepted >= self._limit and not case.is_required:
                    raise Explored
            return shapes

        wanted = self._wanted(counted)
        try:
            try:
                for case in self._first:
                    wanted(case)
                if self._inputs:
                    self._run(wanted)
                else:
                    wanted(Case("no inputs", {}))
            except Explored:
                pass
            self._complete(wanted)
        except Enough:
            pass

    def _wanted(self, attempt: Attempt) -> Attempt:
        """The attempt, or one that leaves out cases; those left out are not measured."""
        return attempt

    def diversity(self) -> Diversity:
        """What was measured of the inputs that the original accepted."""
        inputs = [tally.diversity(name) for name, tally in self._tallies.items()]
        has_data = any(one.elements for one in inputs)
        return Diversity(inputs, may_be_constant=not has_data)

    def _record(self, case: Case, shapes: Sequence[Any]) -> None:
        self._accepted += 1
        fruitful = any(map(_may_have_elements, shapes))
        for name, tally in self._tallies.items():
            tally.record(case.values[name])
            base = self._bases.get(name)
            if (base is None or (fruitful and not base.fruitful)) and _has_elements(case.values[name]):
                self._bases[name] = _Base(replace(case, is_required=True), shapes, fruitful)

    def _complete(self, attempt: Attempt) -> None:
        """Try what the floor requires: each value that was not accepted so far, at last as the only change to inputs
        that were."""
        for one in self._inputs:
            tally = self._tallies.get(one.name)
            if tally is None or one.directs or one.name not in self._bases:
                continue
            if self._may_be_size(one) and self._sizes_follow([one.name], attempt):
                tally.role = CONTROLS_SHAPES
            else:
                self._try_required(one.name, tally, attempt)
        if self._floor is Floor.FULL and not self._rounding:
            self._move_far(attempt)
        if self._floor is Floor.BRIEF and not self._rounding:
            self._try_together(attempt)
        if self._floor is Floor.BRIEF:
            self._try_ranges(attempt)
            self._try_larger_sizes(attempt)

    def _try_ranges(self, attempt: Attempt) -> None:
        """Ordinary numbers of both signs, of several magnitudes, in all data inputs at once."""
        names = [name for name, tally in self._tallies.items() if name in self._bases and tally.role == DATA]
        for low, high in RANGES if names else ():
            base = self._bases[names[0]].case
            near = 0.0 if self._rounding else low
            drawn = {name: drawn_between(near, high, base.values[name], self._rng) for name in names}
            attempt(Case(f"{_of(base)}: between {near:g} and {high:g}", {**base.values, **drawn}, True))

    def _try_larger_sizes(self, attempt: Attempt) -> None:
        """Each open size just beyond numbers of the models: one of them may slice or pad to a fixed size."""
        if self._first_layout is None:
            return
        for number in self._own_sizes:
            for layout in self._layouts.with_one_size(self._first_layout, number + 1):
                case = self._case(layout, self._settled.data, self._settled.steering)
                attempt(replace(case, is_required=True))

    def _try_required(self, name: str, tally: Tally, attempt: Attempt) -> None:
        base = self._bases[name]
        count = next(array.size for array in tensors_in(base.case.values[name]) if array.size)
        size = 1 if self._rounding else min(count, SCANNED)
        untried = tally.untried()
        groups = [untried[start : start + size] for start in range(0, len(untried), size)][::-1]
        for _ in range(MOST_REQUIRED):
            if not groups:
                return
            group = groups.pop()
            places = self._rng.permutation(min(count, SCANNED)).tolist()
            changed = with_values(base.case.values[name], group, places)
            if changed is None:
                return
            case = Case(f"{_of(base.case)}: required values of {name}", {**base.case.values, name: changed}, True)
            if attempt(case) is None:
                if len(group) == 1:
                    tally.reject(group[0])
                else:
                    groups += [group[len(group) // 2 :], group[: len(group) // 2]]

    def _try_together(self, attempt: Attempt) -> None:
        """Accepted values of all data inputs at once: a difference may take two of them."""
        names = [name for name, tally in self._tallies.items() if name in self._bases and tally.role == DATA]
        pools = {name: found for name in names if (found := self._tallies[name].accepted())}
        for _ in range(8 * MIXTURES if len(pools) > 1 else 0):
            base = self._bases[names[0]].case
            values = dict(base.values)
            for name, pool in pools.items():
                changed = with_values(values[name], [pool[int(self._rng.integers(len(pool)))]], [0])
                values[name] = values[name] if changed is None else changed
            attempt(Case(f"{_of(base)}: required values together", values, True))

    def _may_be_size(self, one: Input) -> bool:
        """Whether it is still to be found out if sizes follow the input: sites have been looked at with all inputs."""
        if one.name in self._steering:
            return True
        value = self._bases[one.name].case.values[one.name]
        return self._floor is Floor.BRIEF and numpy.size(value) <= FEW_NUMBERS

    def _sizes_follow(self, names: Sequence[str], attempt: Attempt) -> bool:
        base = self._bases[names[0]]
        return _grow(base.case, base.shapes, names, attempt)

    def _move_far(self, attempt: Attempt) -> None:
        """Move numbers that sizes depend on far from zero, by themselves and together, where the sizes do not follow:
        they may be data as well, as the start of a range is."""
        names = [
            one.name for one in self._inputs if one.name in self._bases and self._role(one.name) == CONTROLS_SHAPES
        ][:3]
        for count in range(1, len(names) + 1):
            for chosen in combinations(names, count):
                if not self._sizes_follow(chosen, attempt):
                    for number in FAR_NUMBERS:
                        _attempt_moved(self._bases[chosen[0]].case, chosen, number, attempt)

    def _role(self, name: str) -> str:
        return self._tallies[name].role

    def _run(self, attempt: Attempt) -> None:
        patience = PATIENCE
        ranks: list[Mapping[str, int]] = []
        for layout in self._layouts.bases():
            first = not self._settled.found
            if not first and layout.ranks in ranks:
                continue
            rejected, shapes = self._settle(layout, attempt, patience if first else LATER_PATIENCE)
            patience -= rejected
            if shapes is not None:
                ranks.append(layout.ranks)
                self._explore(layout, attempt, first=first)
            elif patience <= 0:
                break
        if not self._settled.found and not self._layouts.are_fixed:
            for layout in self._layouts.guesses(self._guesses):
                shapes = self._settle(layout, attempt, 2)[1]
                if shapes is not None:
                    self._explore(layout, attempt, first=True)
                    return

    def _explore(self, layout: Layout, attempt: Attempt, *, first: bool) -> None:
        if first:
            self._first_layout = layout
            self._find_steering(layout, attempt)
        self._fill(layout, attempt, thoroughly=first)
        if first:
            self._try_exhaustively(layout, attempt)
        for variant in self._layouts.variants(layout, few=not first):
            if self._settle(variant, attempt, LATER_PATIENCE)[1] is not None:
                self._fill(variant, attempt, thoroughly=False)

    def _settle(self, layout: Layout, attempt: Attempt, patience: int) -> tuple[int, Sequence[Any] | None]:
        """Look for manners that the original takes; gives how many it did not, and the shapes of its outputs."""
        settled = self._settled
        data = _beginning_with(settled.data, self._gentle)
        steerings = self._steerings()
        pairs = [(data[0], steering) for steering in steerings]
        pairs += [(manner, steering) for steering in steerings for manner in data[1:]]
        for rejected, (manner, steering) in enumerate(pairs[:patience]):
            shapes = attempt(self._case(layout, manner, steering))
            if shapes is not None:
                settled.data, settled.steering, settled.found = manner, steering, True
                return rejected, shapes
        return min(len(pairs), patience), None

    def _steerings(self) -> list[Steering]:
        """What to try: what was taken last, one manner for all inputs that steer, mixtures."""
        names = sorted(self._steering)
        steerings: list[Steering] = [dict.fromkeys(names, manner) for manner in self._directing] if names else [{}]
        if len(names) > 1:
            steerings += [self._mixture(dict.fromkeys(names, self._directing)) for _ in range(MIXTURES)]
        last = self._settled.steering
        return [last, *steerings] if names and last.keys() == self._steering else steerings

    def _mixture(self, manners: Mapping[str, Sequence[str]]) -> Steering:
        return {name: found[int(self._rng.integers(len(found)))] for name, found in manners.items()}

    def _find_steering(self, layout: Layout, attempt: Attempt) -> None:
        """Single numbers on whose values the sizes of outputs depend stay small: large ones would make large tensors.

        With one of them all single numbers do, as each may count only together with others.
        """
        single = [
            one
            for one in self._inputs
            if elements(layout.shapes[one.name]) == 1 and one.name not in self._steering and _is_number(one)
        ]
        if self._depends_on_one(single, layout, attempt):
            names = {one.name for one in single}
            self._steering |= names
            self._settled.steering = {**dict.fromkeys(sorted(names), DIRECTING[0]), **self._settled.steering}

    def _depends_on_one(self, single: Sequence[Input], layout: Layout, attempt: Attempt) -> bool:
        for data in PROBES if single else ():
            case = self._case(layout, data, self._settled.steering)
            shapes = attempt(case)
            if shapes is not None and any(_grow(case, shapes, [one.name], attempt) for one in single):
                return True
        return False

    def _fill(self, layout: Layout, attempt: Attempt, *, thoroughly: bool) -> None:
        manners: Sequence[str] = ROUNDING if self._rounding else BROAD
        if not thoroughly or layout.elements > BEARABLE:
            manners = manners[:2]
        steering = self._settled.steering
        for manner in manners:
            for _ in range(self._turns(layout) if manner == SPECIAL and thoroughly else 1):
                attempt(self._case(layout, manner, steering))
        if thoroughly and len(self._decks) > 1:
            for _ in range(MIXTURES):
                attempt(self._case(layout, MIXED, steering))
        if thoroughly and self._steering:
            self._steer(layout, attempt)

    def _steer(self, layout: Layout, attempt: Attempt) -> None:
        """Vary what steers: one input after the other, then all of them in the manners that were taken."""
        settled = self._settled
        taken = {name: [manner] for name, manner in settled.steering.items()}
        for name, manners in taken.items():
            for manner in (*self._directing, *STEERED_AGAIN):
                steering = {**settled.steering, name: manner}
                if attempt(self._case(layout, settled.data, steering)) is not None:
                    if manner not in manners:
                        self._meet_trouble(layout, steering, attempt)
                    manners.append(manner)
            if elements(layout.shapes[name]) == 1:
                self._enumerate(layout, name, attempt)
        if len(taken) > 1:
            for _ in range(2 * MIXTURES):
                attempt(self._case(layout, settled.data, self._mixture(taken)))

    def _enumerate(self, layout: Layout, name: str, attempt: Attempt) -> None:
        """All small numbers in turn for a single number that steers: it may be an axis, from either end."""
        one = next(one for one in self._inputs if one.name == name)
        if not one.type.HasField("tensor_type") or one.dtype in ("bool", "string"):
            return
        for number in range(-ENUMERATED_NUMBER, ENUMERATED_NUMBER + 1):
            value = numpy.full(layout.shapes[name], number).astype(dtypes.numpy_dtype(one.dtype or "int64"))
            label, filled = f"{name} is {number}", {name: value}
            if attempt(self._case(layout, self._settled.data, self._settled.steering, label, filled)) is not None:
                self._meet_trouble(layout, self._settled.steering, attempt, label, filled)

    def _meet_trouble(
        self,
        layout: Layout,
        steering: Steering,
        attempt: Attempt,
        label: str = "",
        filled: Mapping[str, Array] | None = None,
    ) -> None:
        """Beside values that steer and were taken: what is not finite, or special, in what does not."""
        if self._decks:
            for data in NOT_FINITE if self._rounding else (SPECIAL,):
                attempt(self._case(layout, data, steering, f"{label}, {data}" if label else "", filled))

    def _turns(self, layout: Layout) -> int:
        """How many tensors it takes until every special value has had its turn."""
        counts = {name: elements(shape) for name, shape in layout.shapes.items() if name in self._decks}
        turns = [math.ceil(len(self._decks[name].values) / count) for name, count in counts.items() if count]
        return min(max([3, *turns]), MOST_TURNS)

    def _try_exhaustively(self, base: Layout, attempt: Attempt) -> None:
        """Every value of bool and 8-bit inputs, in all combinations where they are few, and pairs of values of all."""
        special = {name: deck.values for name, deck in self._decks.items() if name not in self._steering}
        if not special or self._rounding:
            return
        settled = self._settled

        def attempt_all(label: str, fillings: Iterator[Mapping[str, Array]]) -> None:
            for filling in fillings:
                attempt(self._case(base, settled.data, settled.steering, label, filling))

        tables = {name: every_value_of(self._decks[name].dtype) for name in special}
        narrow = {name: table for name, table in tables.items() if table is not None}
        if narrow:
            combined = list(every_combination(narrow, base.shapes)) if len(narrow) == len(tables) else []
            attempt_all("every value", iter(combined) if combined else every_value(narrow, base.shapes))
        for constant in self._constants:
            attempt_all("the values of a constant", pairs_beside_constant(special, base.shapes, constant))
        has_met = False
        for layout, filling in pairs_at_once({**special, **narrow}, self._layouts, base):
            case = self._case(layout, settled.data, settled.steering, "every pair of values", filling)
            has_met |= attempt(case) is not None and len(filling) == len(special)
        attempt_all("pairs of values", pairs_by_turns(special, base.shapes, self._rng, MOST_TURNS, briefly=has_met))
        if len(special) > 2 and all(elements(base.shapes[name]) == 1 for name in special):
            for _ in range(TRIPLES):
                attempt(self._case(base, SPECIAL, settled.steering, "special values together"))

    def _case(
        self, layout: Layout, data: str, steering: Steering, label: str = "", filled: Mapping[str, Any] | None = None
    ) -> Case:
        values: dict[str, Any] = dict(filled or {})
        sizes = next((shape for name, shape in layout.shapes.items() if name not in self._steering), ())
        for one in self._inputs:
            if one.name not in values:
                values[one.name] = self._value(one, layout.shapes[one.name], sizes, data, steering.get(one.name, ""))
        steered = f"steered by {' and '.join(dict.fromkeys(steering.values()))}" if steering else ""
        return Case(f"{layout.label}: {', '.join(filter(None, [label or data, steered]))}", values)

    def _value(self, one: Input, shape: Shape, sizes: Shape, data: str, steered: str) -> Any:
        if steered == EXAMPLE:
            if one.example is not None and one.example.shape == shape:
                return one.example
            steered = DIRECTING[0]
        if data == MIXED:
            manners = EACH_ITS_OWN_ROUNDING if self._rounding else EACH_ITS_OWN
            data = manners[int(self._rng.integers(len(manners)))]
        if data == SPECIAL and one.name in self._decks and not steered:
            return self._decks[one.name].take(shape)
        return self._value_of_type(one.type, shape, sizes, data, steered)

    def _value_of_type(self, kind: TypeProto, shape: Shape, sizes: Shape, data: str, steered: str) -> Any:
        rng = self._rng
        match kind.WhichOneof("value"):
            case "sequence_type":
                length = int(rng.integers(0, 4)) if data in BROAD else 2
                inner = kind.sequence_type.elem_type
                return [self._value_of_type(inner, shape, sizes, data, steered) for _ in range(length)]
            case "optional_type":
                if data in ("zeros", "fractions"):
                    return None
                return self._value_of_type(kind.optional_type.elem_type, shape, sizes, data, steered)
            case "map_type":
                keys = draw("ascending", dtypes.dtype_name(kind.map_type.key_type), (3,), rng).tolist()
                return {key: self._value_of_type(kind.map_type.value_type, (), sizes, data, steered) for key in keys}
        dtype = dtypes.dtype_name(kind.tensor_type.elem_type)
        if steered and dtype not in ("bool", "string"):
            return direct(steered, dtype, shape, sizes, rng)
        return draw(data, dtype, shape, rng)


def _beginning_with(first: str, manners: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([first, *manners])) if first in manners else list(manners)


@dataclass(frozen=True)
class _Base:
    """Accepted inputs that are changed in a single value."""

    case: Case
    shapes: Sequence[Any]
    """Of the outputs."""
    fruitful: bool
    """Some output has elements."""


def _grow(case: Case, shapes: Sequence[Any], names: Sequence[str], attempt: Attempt) -> bool:
    """Whether outputs grow with the numbers in some inputs, as these are all moved further and further.

    It is not enough that sizes change: how many elements a NonZero finds depends on data. Where the outputs have no
    elements, nothing can be told, and a large number might still make a large tensor on the way.
    """
    if not _size(shapes):
        return True
    for sign in (1, -1):
        sizes = [_size(shapes)]
        for shift in SHIFTS:
            moved = _attempt_moved(case, names, sign * shift, attempt)
            sizes += [] if moved is None else [_size(moved)]
        if sizes[-1] > sizes[0] + GROWN and sizes == sorted(set(sizes)):
            return True
    return False


def _attempt_moved(case: Case, names: Sequence[str], shift: int, attempt: Attempt) -> Sequence[Any] | None:
    """Attempt a case with the numbers in some inputs moved; None where that is rejected or impossible."""
    moved = {name: _moved(case.values[name], shift) for name in names}
    if any(value is None for value in moved.values()):
        return None
    label = f"{_of(case)}: {' and '.join(names)} moved by {shift}"
    return attempt(Case(label, {**case.values, **moved}, case.is_required))


def _size(shapes: Any) -> int:
    """How many elements outputs of these shapes have."""
    if isinstance(shapes, tuple):
        return elements(shapes)
    return sum(map(_size, shapes)) if isinstance(shapes, list) else 1


def _of(case: Case) -> str:
    return case.label.split(":")[0]


def _is_number(one: Input) -> bool:
    return one.type.HasField("tensor_type") and one.dtype not in (None, "bool", "string")


def _moved(value: Any, shift: int) -> Array | None:
    """A tensor with a number added to each element; None where that is no tensor of numbers, or leaves the dtype."""
    if not isinstance(value, numpy.ndarray) or value.dtype.kind == "O" or value.dtype == bool:
        return None
    if is_floating(value.dtype):
        with numpy.errstate(all="ignore"):
            moved: Array = (value + value.dtype.type(shift)).astype(value.dtype)
            return moved
    low, high = integer_limits(value.dtype)
    numbers = [int(number) + shift for number in value.reshape(-1)]
    if not all(low <= number <= high for number in numbers):
        return None
    return numpy.array(numbers, dtype=_widest(high)).astype(value.dtype).reshape(value.shape)


def _widest(high: int) -> type[numpy.integer[Any]]:
    return numpy.uint64 if high >= 2**63 else numpy.int64


def _may_have_elements(shape: Any) -> bool:
    return not isinstance(shape, tuple) or elements(shape) > 0


def _has_elements(value: Any) -> bool:
    return any(array.size for array in tensors_in(value))
