"""The inputs on which two models are compared.

A battery tries layouts (shapes for all inputs) and, for each that the original takes, manners of filling them. What the
original rejects is redrawn from narrower ranges, and what was found to be accepted is where the next layout begins.
Everything follows from the seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy.typing import NDArray
from onnx import TypeProto

from converter import dtypes
from converter.prove.draw import BROAD, DIRECTING, GENTLE, ROUNDING, SPECIAL, Deck, direct, draw, every_value_of
from converter.prove.exhaustive import every_combination, every_value, pairs_at_once, pairs_by_turns
from converter.prove.shapes import BEARABLE, Layout, Layouts, Shape, dims_of, elements

Array = NDArray[Any]

PATIENCE = 250
"""How many inputs the original may reject before the first that it takes."""

GUESSES = 80
"""How many random layouts are tried where the original takes none of the usual ones."""

LATER_PATIENCE = 6
"""How many inputs of a further layout the original may reject."""

MOST_TURNS = 24
"""At most so many tensors of special values."""

ENUMERATED_NUMBER = 6
"""Single numbers that steer are tried from minus this to this."""

STEERED_AGAIN = ("axes", "signed axes", "signed index", "signed axes", "parts of the last size", "signed axes")
"""What steers is drawn more often in these manners: one draw meets few of the combinations that matter."""

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


class Enough(Exception):
    """Raised by an attempt that has seen all it wants; ends the battery."""


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
    that are tried before any are drawn.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        seed: Sequence[int],
        *,
        rounding: bool = False,
        hints: Sequence[int] = (),
        first: Sequence[Case] = (),
    ) -> None:
        self._inputs = inputs
        self._first = first
        self._rng = numpy.random.default_rng(list(seed))
        self._steering: set[str] = {one.name for one in inputs if one.directs}
        dims = {one.name: dims_of(one.type) for one in inputs}
        self._layouts = Layouts(dims, self._rng, lists=set(self._steering), hints=hints)
        self._decks = {
            one.name: Deck(one.dtype, self._rng)
            for one in inputs
            if one.dtype is not None and one.type.HasField("tensor_type") and not one.directs
        }
        self._rounding = rounding
        self._settled = _Settled()
        self._gentle = ("positive", "ones", "integral") if rounding else GENTLE
        examples = [EXAMPLE] if any(one.example is not None for one in inputs) else []
        self._directing = (*examples, *DIRECTING)

    def run(self, attempt: Attempt) -> None:
        """Try the cases one by one."""
        try:
            for case in self._first:
                attempt(case)
            if self._inputs:
                self._run(attempt)
            else:
                attempt(Case("no inputs", {}))
        except Enough:
            pass

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
                self._explore(layout, shapes, attempt, first=first)
            elif patience <= 0:
                break
        if not self._settled.found and not self._layouts.are_fixed:
            for layout in self._layouts.guesses(GUESSES):
                shapes = self._settle(layout, attempt, 2)[1]
                if shapes is not None:
                    self._explore(layout, shapes, attempt, first=True)
                    return

    def _explore(self, layout: Layout, shapes: Sequence[Any], attempt: Attempt, *, first: bool) -> None:
        if first:
            self._find_steering(layout, shapes, attempt)
        self._fill(layout, attempt, thoroughly=first)
        if first:
            for case in self._exhaustive(layout):
                attempt(case)
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

    def _find_steering(self, layout: Layout, shapes: Sequence[Any], attempt: Attempt) -> None:
        """Where other values make outputs of other sizes, single numbers stay small: they might be sizes themselves.

        So they do where single numbers are all there is and make lists.
        """
        single = {name for name, shape in layout.shapes.items() if elements(shape) <= 1}
        varies = len(single) == len(layout.shapes) and any(shapes)
        for data in ("positive", "integral", "ones"):
            again = attempt(self._case(layout, data, self._settled.steering)) if single else None
            varies |= again is not None and again != shapes
        if varies:
            self._steering |= single
            self._settled.steering = {**dict.fromkeys(single, DIRECTING[0]), **self._settled.steering}

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
                case = self._case(layout, settled.data, {**settled.steering, name: manner})
                if attempt(case) is not None:
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
            label = f"{name} is {number}"
            attempt(self._case(layout, self._settled.data, self._settled.steering, label, {name: value}))

    def _turns(self, layout: Layout) -> int:
        """How many tensors it takes until every special value has had its turn."""
        counts = {name: elements(shape) for name, shape in layout.shapes.items() if name in self._decks}
        turns = [math.ceil(len(self._decks[name].values) / count) for name, count in counts.items() if count]
        return min(max([3, *turns]), MOST_TURNS)

    def _exhaustive(self, base: Layout) -> Iterator[Case]:
        """Every value of bool and 8-bit inputs, in all combinations where they are few, and pairs of values of all."""
        special = {name: deck.values for name, deck in self._decks.items() if name not in self._steering}
        if not special or self._rounding:
            return
        tables = {name: every_value_of(self._decks[name].dtype) for name in special}
        narrow = {name: table for name, table in tables.items() if table is not None}
        settled = self._settled
        if narrow:
            combined = list(every_combination(narrow, base.shapes)) if len(narrow) == len(tables) else []
            for filling in combined or every_value(narrow, base.shapes):
                yield self._case(base, settled.data, settled.steering, "every value", filling)
        for filling in pairs_by_turns(special, base.shapes, self._rng, MOST_TURNS):
            yield self._case(base, settled.data, settled.steering, "pairs of values", filling)
        for layout, filling in pairs_at_once({**special, **narrow}, self._layouts, base):
            yield self._case(layout, settled.data, settled.steering, "every pair of values", filling)

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
