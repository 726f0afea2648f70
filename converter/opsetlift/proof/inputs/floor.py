"""What the floor of diversity requires: it is measured on accepted inputs, and what is missing is tried in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy

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
from opsetlift.proof.inputs.building import CaseBuilder
from opsetlift.proof.inputs.cases import Attempt, Case, Floor, Input
from opsetlift.proof.inputs.filling import draw, drawn_between, in_words, own_numbers
from opsetlift.proof.inputs.shape_controls import attempt_moved, is_number, outputs_grow
from opsetlift.proof.model_numbers import derived_from
from opsetlift.proof.shapes import dims_of, elements

FEW_NUMBERS = 16
"""Inputs of up to so many elements may be sizes."""

FAR_NUMBERS = (2**24 - 1, 2**31 - 3, -(2**31) - 3, 2**53 - 1, -(2**53) - 3, 2**63 - 100, -(2**63) + 100)
"""Where numbers that sizes depend on are moved to together, if the sizes stay as they are."""

MANY = 16
"""More inputs are not changed one at a time, but in halves."""

MOST_REQUIRED = 400
"""So many attempts are made to have the required values of one input accepted."""

TOGETHER = 48
"""So many times accepted values of all data inputs are tried at once."""

MOST_PAIRED = 5
"""Of so many numbers of the models every pair is tried in two inputs."""

LENGTHS = (0, 1, 4, 5, 8)
"""Sequences of so many elements are tried, and of numbers of the models up to `LONGEST`."""

LONGEST = 64

UNIFORM = ("zeros", "ones", "largest", "smallest")
"""What fills whole tensors of whole models."""

RANGES = [(-sign * scale / 8, sign * scale) for scale in (1, 20, 1000, 30000) for sign in (1, -1)]
"""Between which bounds the data of whole models is drawn besides: a sum that holds a NaN or an infinity decides
nothing, and what a model compares or branches by is often a sum."""


@dataclass(frozen=True)
class _Base:
    """Accepted inputs that are changed in a single value."""

    case: Case
    shapes: Sequence[Any]
    """Of the outputs."""
    fruitful: bool
    """Some output has elements."""


class DiversityFloor:
    """Measures the accepted inputs, and tries each required value that was not accepted so far."""

    def __init__(self, builder: CaseBuilder, floor: Floor, numbers: Sequence[float], words: Sequence[str] = ()) -> None:
        self._builder = builder
        self._numbers = numbers
        required = (*numbers, *(derived_from(numbers) if floor is Floor.BRIEF else ()))
        self._floor = floor
        self._bases: dict[str, _Base] = {}
        self._tallies = {
            one.name: Tally(
                one.dtype,
                required_values(
                    one.dtype, required, tuple(words), rounding=builder.rounding, briefly=floor is Floor.BRIEF
                ),
                CONTROLS if one.controls_shapes else DATA,
                is_empty=0 in (dims_of(one.type) or ()),
            )
            for one in builder.inputs
            if floor is not Floor.NONE and one.dtype is not None
        }

    def record(self, case: Case, shapes: Sequence[Any]) -> None:
        """Count a case that the original accepted; `shapes` are those of its outputs."""
        fruitful = any(map(may_have_elements, shapes))
        for name, tally in self._tallies.items():
            tally.record(case.values[name])
            base = self._bases.get(name)
            if (base is None or (fruitful and not base.fruitful)) and _has_elements(case.values[name]):
                self._bases[name] = _Base(replace(case, is_required=True), shapes, fruitful)

    def diversity(self) -> Diversity:
        """What was measured of the inputs that the original accepted."""
        inputs = [tally.diversity(name) for name, tally in self._tallies.items()]
        has_data = any(one.elements for one in inputs)
        return Diversity(inputs, may_be_constant=not has_data)

    def complete(self, attempt: Attempt) -> None:
        """Try what the floor requires: each value that was not accepted so far, at last as the only change."""
        measured = [
            one
            for one in self._builder.inputs
            if one.name in self._tallies and not one.controls_shapes and one.name in self._bases
        ]
        may_be_sizes = [one.name for one in measured if self._may_be_size(one)]
        if len(measured) > MANY:
            if may_be_sizes and not self._sizes_follow(may_be_sizes, attempt):
                may_be_sizes = []
            self._try_required_in_halves([one.name for one in measured if one.name not in may_be_sizes], attempt)
        for one in measured:
            tally = self._tallies[one.name]
            if one.name in may_be_sizes and self._sizes_follow([one.name], attempt):
                tally.role = CONTROLS_SHAPES
            else:
                self._try_required(one.name, tally, attempt)
        if self._floor is Floor.FULL and not self._builder.rounding:
            self._move_far(attempt)
        if self._floor is Floor.BRIEF and not self._builder.rounding:
            self._try_together(attempt)
            self._try_pairs(attempt)
        if self._floor is Floor.BRIEF:
            self._try_ranges(attempt)
            self._try_uniform(attempt)
        self._try_lengths(attempt)

    def _try_ranges(self, attempt: Attempt) -> None:
        """Ordinary numbers of both signs, of several magnitudes, in all data inputs at once."""
        names = self.data
        for low, high in RANGES if names else ():
            base = self._bases[names[0]].case
            near = 0.0 if self._builder.rounding else low
            drawn = {name: drawn_between(near, high, base.values[name], self._builder.rng) for name in names}
            attempt(Case.of(base.layout, f"between {near:g} and {high:g}", {**base.values, **drawn}, is_required=True))

    def _try_uniform(self, attempt: Attempt) -> None:
        """All data inputs full of one value: a bound, or a sum beyond its dtype, shows where no element is below it."""
        inputs = {one.name: one for one in self._builder.inputs}
        names = [name for name in self.data if inputs[name].type.HasField("tensor_type")]
        if not names:
            return
        base = self._bases[names[0]].case
        each = halves(names) if len(names) > MANY else [[name] for name in names]
        for strategy in ("zeros", "ones") if self._builder.rounding else UNIFORM:
            for kept in [[], *each] if len(names) > 1 else [[]]:
                filled = {
                    name: draw(strategy, inputs[name].dtype or "", numpy.shape(base.values[name]), self._builder.rng)
                    for name in names
                    if name not in kept
                }
                label = in_words(strategy) + (f" but for {kept[0]}{' and others' * (len(kept) > 1)}" if kept else "")
                attempt(Case.of(base.layout, label, {**base.values, **filled}, is_required=True))

    @property
    def data(self) -> list[str]:
        """The inputs that hold data, and of which some value was accepted."""
        return [name for name, tally in self._tallies.items() if name in self._bases and tally.role == DATA]

    def _try_required(self, name: str, tally: Tally, attempt: Attempt) -> None:
        base = self._bases[name]
        count = next(array.size for array in tensors_in(base.case.values[name]) if array.size)
        size = 1 if self._builder.rounding else min(count, SCANNED)
        untried = tally.untried()
        groups = [untried[start : start + size] for start in range(0, len(untried), size)][::-1]
        for _ in range(MOST_REQUIRED):
            if not groups:
                return
            group = groups.pop()
            places = self._builder.rng.permutation(min(count, SCANNED)).tolist()
            changed = with_values(base.case.values[name], group, places)
            if changed is None:
                return
            values = {**base.case.values, name: changed}
            case = Case.of(base.case.layout, f"required values of {name}", values, is_required=True)
            if attempt(case) is None:
                if len(group) == 1:
                    tally.reject(group[0])
                else:
                    groups += [group[len(group) // 2 :], group[: len(group) // 2]]

    def _try_required_in_halves(self, names: Sequence[str], attempt: Attempt) -> None:
        """Do the same for half of many inputs at a time, so that each has its values where any other one has not."""
        if not names or self._builder.rounding:
            return
        base = self._bases[names[0]].case
        rounds: list[dict[str, Any]] = []
        for name in names:
            count = next((array.size for array in tensors_in(base.values[name]) if array.size), 0)
            size, untried = min(count, SCANNED), self._tallies[name].untried()
            for number, start in enumerate(range(0, len(untried), size) if size else ()):
                places = self._builder.rng.permutation(size).tolist()
                changed = with_values(base.values[name], untried[start : start + size], places)
                if number == len(rounds):
                    rounds.append({})
                rounds[number][name] = base.values[name] if changed is None else changed
        for half in halves(names):
            for changes in rounds:
                together = {**base.values, **{name: changes[name] for name in half if name in changes}}
                label = f"required values of {half[0]} and others"
                attempt(Case.of(base.layout, label, together, is_required=True))

    def _try_together(self, attempt: Attempt) -> None:
        """Accepted values of all data inputs at once: a difference may take two of them."""
        names = self.data
        accepted = {name: values for name in names if (values := self._tallies[name].accepted())}
        rng = self._builder.rng
        for _ in range(TOGETHER if len(accepted) > 1 else 0):
            base = self._bases[names[0]].case
            together = dict(base.values)
            for name, values in accepted.items():
                changed = with_values(together[name], [values[int(rng.integers(len(values)))]], [0])
                together[name] = together[name] if changed is None else changed
            attempt(Case.of(base.layout, "required values together", together, is_required=True))

    def _try_pairs(self, attempt: Attempt) -> None:
        """Each number of the models throughout each data input, and each pair of them in any two.

        Rows of a Latin square hold every pair for all inputs at once.
        """
        inputs = {one.name: one for one in self._builder.inputs}
        names = [name for name in self.data if is_number(inputs[name]) and not _is_complex(inputs[name])]
        held = {
            name: own_numbers(self._numbers[:MOST_PAIRED], self._bases[name].case.values[name].dtype) for name in names
        }
        names = [name for name in names if held[name].size]
        count = next((one for one in (2, 3, 5) if one >= max((len(held[name]) for name in names), default=0)), 0)
        for row, column in product(range(count if len(names) > 1 else len(names)), range(count)):
            base = self._bases[names[0]].case
            together = dict(base.values)
            for place, name in enumerate(names):
                number = held[name][(row * place + column) % count % held[name].size]
                together[name] = numpy.full_like(together[name], number)
            attempt(Case.of(base.layout, "numbers of the models together", together, is_required=True))

    def _try_lengths(self, attempt: Attempt) -> None:
        """Sequences of other lengths, among them numbers of the models, and optionals without an element."""
        numbers = [int(one) for one in self._numbers if 1 < one <= LONGEST and one == int(one)][:MOST_PAIRED]
        for one in self._builder.inputs:
            if one.name not in self._bases:
                continue
            case = self._bases[one.name].case
            kind, value = one.type.WhichOneof("value"), case.values[one.name]
            if kind == "optional_type":
                attempt(Case.of(case.layout, f"{one.name} absent", {**case.values, one.name: None}, is_required=True))
            elif kind == "sequence_type":
                for length in sorted({*LENGTHS, *numbers, *(number + 1 for number in numbers)}):
                    several = [value[place % len(value)] for place in range(length)]
                    label = f"{length} elements in {one.name}"
                    attempt(Case.of(case.layout, label, {**case.values, one.name: several}, is_required=True))

    def _may_be_size(self, one: Input) -> bool:
        """Whether sizes may follow the input: of sites this was found out for all other inputs."""
        if one.name in self._builder.controls:
            return True
        value = self._bases[one.name].case.values[one.name]
        return self._floor is Floor.BRIEF and numpy.size(value) <= FEW_NUMBERS

    def _sizes_follow(self, names: Sequence[str], attempt: Attempt) -> bool:
        base = self._bases[names[0]]
        return outputs_grow(base.case, base.shapes, names, attempt)

    def _move_far(self, attempt: Attempt) -> None:
        """Move numbers that sizes depend on far from zero, alone and together, where the sizes do not follow.

        They may be data as well, as the start of a range is.
        """
        names = [
            one.name
            for one in self._builder.inputs
            if one.name in self._bases and self._tallies[one.name].role == CONTROLS_SHAPES
        ][:3]
        for count in range(1, len(names) + 1):
            for chosen in combinations(names, count):
                if not self._sizes_follow(chosen, attempt):
                    for number in FAR_NUMBERS:
                        attempt_moved(self._bases[chosen[0]].case, chosen, number, attempt)


def halves(names: Sequence[str]) -> list[list[str]]:
    """Halves of some names, such that of any two each is once in one without the other."""
    bits = range(max(len(names) - 1, 1).bit_length())
    return [
        half
        for bit in bits
        for side in (0, 1)
        if (half := [name for place, name in enumerate(names) if place >> bit & 1 == side])
    ]


def may_have_elements(shape: Any) -> bool:
    """Whether an output of this shape has elements, as far as one can tell: of a sequence or a map one cannot."""
    return not isinstance(shape, tuple) or elements(shape) > 0


def _has_elements(value: Any) -> bool:
    return any(array.size for array in tensors_in(value))


def _is_complex(one: Input) -> bool:
    return one.dtype is not None and one.dtype.startswith("complex")
