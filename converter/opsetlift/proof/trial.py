"""Runs two models on the same inputs, case by case, and compares the outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import ml_dtypes
import numpy
from onnx import ModelProto, NodeProto

from opsetlift.evaluator import (
    OTHER_VALUES,
    Checked,
    EvaluationError,
    Evaluator,
    NotExecutable,
    OpenResults,
    Rejected,
    TooLarge,
    many_runs,
)
from opsetlift.model.arrays import Array
from opsetlift.proof.compare import EXACT, Comparison, Tolerance, compare, differs_elsewhere
from opsetlift.proof.diversity import Diversity, codes
from opsetlift.proof.inputs import Case, Enough, InputGenerator, Ran
from opsetlift.proof.limits import is_floating
from opsetlift.proof.shapes import MOST_DRAWN, Dims

ITERATIONS = 1000
"""How long loops of the original may run on inputs that were drawn."""

_SHOWN = 12

_NUDGES = 4
_NUDGE = 2.0**-6
"""So often, and by so much of themselves, inputs are changed to see what rounding decides between NaN and infinity."""

_LAST_PLACES = 4
"""By so many units in the last place inputs are changed to see how much a finite result hangs on rounding."""

_JUMP, _JUMP_IN_LAST_PLACES = 1e-3, 64
"""What differs by more, beside the value or 1, is another result rather than one that is rounded otherwise."""

_BESIDE, _MOST_COLUMNS = 2.0**-12, 64
"""By so much of themselves inputs are changed beside one column, of so many in turn, which stays as it is."""

_SPREAD = 2
"""So many times the largest change that was seen, as few such inputs do not show the largest that there is."""

_COMPARED = 256
"""In so many elements of each output it is seen whether outputs vary."""


@dataclass
class Trial:
    """What came of it."""

    cases: int = 0
    """Inputs on which both sides ran and agreed."""
    rejected: int = 0
    """Inputs that the original rejected."""
    worst_ulps: float = 0.0
    worst_case: str = ""
    """The inputs on which the sides differed most and still agreed; empty where they never differed."""
    counterexample: str = ""
    """The first input on which the sides differ, and how."""
    values_differ: bool = False
    """Whether results of the same shape differ there: not their shapes, and the result does not reject the input."""
    different_case: Case | None = None
    """That input, where the outputs of both sides differ."""
    as_expected: bool | None = None
    """Whether both sides gave what was expected; None where nothing was."""
    obstacle: str = ""
    """What kept a side from running at all, or the last reason for which the original rejected an input."""
    is_lenient: bool = False
    """The original violates the specification of its version, and ran with the clauses relaxed that exporters broke."""
    relaxed: str = ""
    """A clause of the target's text that forbids inputs without elements, relaxed to compare the sides on them."""
    has_elements: bool = False
    """Some output had an element."""
    blocked: bool = False
    """A side lacks a kernel or data, so that nothing more can be tried."""
    diversity: Diversity = field(default_factory=Diversity)
    """What was measured of the inputs that were drawn; nothing of inputs that were given."""
    declarations_held: bool = False
    """Whether all that was to be compared with what the original declares was so on some input."""
    not_run: Sequence[Sequence[tuple[NodeProto, str]]] = ((), ())
    """On each side, the nodes with a subgraph that ran on none of the inputs, and its attribute."""


@dataclass
class Sides:
    """The two models; `outputs` pairs the names to compare, the original's first."""

    original: ModelProto
    result: ModelProto
    outputs: Sequence[tuple[str, str]]
    ulps: int = 0
    tolerance: Tolerance = EXACT
    declared: Mapping[str, Dims | None] = field(default_factory=dict)
    """What the original model says of the shapes of outputs. A rule may take it at its word: inputs for which the
    original gives others are rejected."""
    base_dir: str = ""
    result_base_dir: str | None = None
    """Where the result's external data lies, if not where the original's does."""
    as_declared: bool = False
    """Whether inputs are rejected, too, for which the original gives anything else than it declares."""
    checked: tuple[Checked | None, Checked | None] = (None, None)
    """What each side declares that is compared with its values. The result's has to hold where the original's does."""
    loops_freely: bool = False
    """Whether loops may run for as long as they like, as on inputs that the user gave."""
    watched: tuple[Sequence[str], Sequence[str]] = ((), ())
    """Values inside each model that those who generate inputs want to see."""
    shapes_tell: bool = True
    """Whether outputs of other shapes count as outputs that vary; values alone do where many shapes are tried."""

    @property
    def is_exact(self) -> bool:
        """Whether both have to give the same bits."""
        return not self.ulps and self.tolerance == EXACT


def try_sides(sides: Sides, cases: Callable[[], InputGenerator | Sequence[Case]]) -> Trial:
    """Run both sides on every case. Where the original strictly takes none, all is tried again leniently."""
    with many_runs():
        strict = _Runner(sides, lenient=False).run(cases())
        if strict.cases or strict.counterexample or strict.blocked:
            return strict
        again = _Runner(sides, lenient=True).run(cases())
    return again if again.cases or again.counterexample else strict


class _Runner:
    def __init__(self, sides: Sides, *, lenient: bool) -> None:
        self._sides = sides
        self._lenient = lenient
        self._trial = Trial(is_lenient=lenient)
        self._outputs_vary = False
        self._first_outputs: list[Any] = []
        limit = None if sides.loops_freely else ITERATIONS
        most = None if sides.loops_freely else MOST_DRAWN
        self._original = _Side(sides.original, sides.base_dir, lenient, limit, most, sides.checked[0], sides.watched[0])
        # The result may loop where the original does not; it may not loop without end.
        folder = sides.base_dir if sides.result_base_dir is None else sides.result_base_dir
        longest, most = limit and limit * 100, most and most * 2
        self._result = _Side(sides.result, folder, lenient, longest, most, sides.checked[1], sides.watched[1])

    def run(self, cases: InputGenerator | Sequence[Case]) -> Trial:
        try:
            if isinstance(cases, InputGenerator):
                self._trial.obstacle, self._trial.blocked = cases.obstacle, bool(cases.obstacle)
                cases.run(self._attempt)
                self._trial.diversity = cases.diversity()
                self._trial.diversity.outputs_vary = self._outputs_vary
            else:
                for case in cases:
                    self._attempt(case)
        except Enough:
            pass
        self._trial.not_run = self._original.not_run, self._result.not_run
        return self._trial

    def _attempt(self, case: Case) -> Sequence[Any] | None:
        trial = self._trial
        try:
            expected = self._original.run(case.values)
        except EvaluationError as error:
            trial.rejected += 1
            trial.obstacle = str(error)
            if self._original.cannot_run:
                trial.blocked = isinstance(error, NotExecutable)
                raise Enough from error
            return None
        watched = self._original.seen
        if self._sides.as_declared and (false := self._original.open_results.false_declarations):
            trial.rejected += 1
            trial.obstacle = f"the original {false[0]}"
            return None
        for name, dims in self._sides.declared.items():
            if _contradicts(expected[name], dims):
                trial.rejected += 1
                trial.obstacle = f"output {name!r} never has the shape that the model declares"
                return None
        try:
            actual = self._compare(case, expected)
        except TooLarge as error:
            trial.rejected += 1
            trial.obstacle = f"the result: {error}"
            return None
        except _DecidedByRounding:
            trial.rejected += 1
            trial.obstacle = "the original's own rounding decides what it gives"
            return None
        trial.cases += 1
        trial.has_elements |= any(map(_has_elements, expected.values()))
        if not self._outputs_vary:
            self._outputs_vary = self._varies(
                list(expected.values()), shapes_count=self._sides.shapes_tell and not case.is_required
            )
        ran = Ran(map(_shape, expected.values()))
        ran.sides = [tuple(one.values()) for one in ((expected,) if self._sides.is_exact else (expected, actual))]
        ran.watched = [*watched, *self._result.seen]
        return ran

    def _varies(self, outputs: Sequence[Any], *, shapes_count: bool) -> bool:
        """Whether some output has two different elements, within this case or compared with the first, or shapes.

        Shapes do not count where a case was made for its sizes: what depends on nothing else varies in others, too.
        """
        self._first_outputs = self._first_outputs or list(outputs)
        pairs = zip(outputs, self._first_outputs, strict=True)
        vary = any(_differ(value, first, shapes_count=shapes_count) for value, first in pairs)
        # What has no elements tells nothing of those that come.
        self._first_outputs = [
            first if not isinstance(first, numpy.ndarray) or first.size else value
            for value, first in zip(outputs, self._first_outputs, strict=True)
        ]
        return vary

    def _compare(self, case: Case, expected: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the result gives, if that agrees with what was expected."""
        trial = self._trial
        try:
            actual = self._run_result(case)
        except TooLarge:
            raise
        except NotExecutable as error:
            trial.obstacle, trial.blocked, trial.cases = f"the result cannot be run: {error}", True, 0
            raise Enough from error
        except EvaluationError as error:
            trial.counterexample = f"{case.label}: the result rejects what the original takes: {error}"
            raise Enough from error
        opened = self._result.open_results
        if opened.faults and not self._original.open_results.faults:
            reason = opened.faults[0]
            trial.counterexample = f"{case.label}: the result {reason}, and the original does not{_shown_inputs(case)}"
            raise Enough
        for name, other in self._sides.outputs:
            verdict = self._verdict(expected[name], actual[other])
            if verdict.worst_ulps > trial.worst_ulps:
                trial.worst_ulps = verdict.worst_ulps
                trial.worst_case = f"{case.label}{_shown_inputs(case)}"
            if not verdict.equal:
                if self._sides.ulps and self._is_decided_by_rounding(case, name, actual[other]):
                    raise _DecidedByRounding
                trial.counterexample = f"{case.label}: output {name!r} {verdict.sentence}{_shown_inputs(case)}"
                trial.different_case = case
                trial.values_differ = _shape(expected[name]) == _shape(actual[other])
                raise Enough
        self._compare_declarations(case)
        self._compare_with_expected(case, expected, actual)
        if opened.values:
            self._compare_open_values(case, expected, actual, opened.values[0])
        return actual

    def _is_decided_by_rounding(self, case: Case, name: str, actual: Any) -> bool:
        """Whether the original itself, its inputs nudged, differs as the sides do.

        That is so where one side has NaN and the other an infinity: a difference that cancels to 0 in one order of
        operations, and nearly so in another, may meet an infinity. And where the last places of the inputs change the
        original by more than the sides differ, as the exponential of a large product does. An infinity counts as the
        largest number there, and only where the last places decide between the two. Of plain numbers rounding excuses
        no jump, as from one leaf of a tree to another: on which side of a bound they are is not decided by rounding.
        But it is of sums of them, which differ no more where all but one are nudged.
        """
        expected = self._original.run(case.values)[name]
        if not isinstance(expected, numpy.ndarray) or not isinstance(actual, numpy.ndarray):
            return False
        if expected.shape != actual.shape:
            return False
        if not is_floating(expected.dtype):
            return self._is_flipped_by_rounding(case, name, expected, actual)
        before, after = (numpy.asarray(one, numpy.float64) for one in (expected, actual))
        apart = (numpy.isnan(before) & numpy.isinf(after)) | (numpy.isinf(before) & numpy.isnan(after))
        near = numpy.zeros_like(apart)
        largest = float(_limits(expected.dtype).max)
        with numpy.errstate(all="ignore"):
            difference = _distance(before, after, largest)
            overflow_differs = numpy.isinf(before) != numpy.isinf(after)
            for one in self._nudged_results(case, name, _nudged_last_places):
                if one.shape == before.shape:
                    explains_overflow = numpy.isinf(one) == numpy.isinf(after)
                    change = _SPREAD * _distance(before, one, largest)
                    near |= (difference <= change) & (~overflow_differs | explains_overflow)
            if case.is_plain:
                least_jump = max(_JUMP, _JUMP_IN_LAST_PLACES * float(_limits(expected.dtype).eps))
                jumps = difference > least_jump * numpy.maximum(numpy.abs(before), 1)
                if jumps.any() and self._differ_by_one_column(case, name):
                    near &= ~jumps
        if not self._verdict(expected, numpy.where(apart | near, expected, actual)).equal:
            return False
        changes = numpy.zeros_like(apart)
        for one in self._nudged_results(case, name, _nudged) if apart.any() else ():
            if one.shape == before.shape:
                changes |= numpy.isnan(one) != numpy.isnan(before)
        return bool(changes[apart].all())

    def _is_flipped_by_rounding(self, case: Case, name: str, expected: Array, actual: Array) -> bool:
        """Whether labels and the like differ only where the last places of the inputs decide on them."""
        rng, flips = numpy.random.default_rng(0), numpy.zeros(expected.shape, bool)
        for _ in range(4 * _NUDGES):
            with suppress(EvaluationError):
                nudged = {one: _nudged_last_places(value, rng) for one, value in case.values.items()}
                found = self._original.run(nudged)[name]
                flips |= (found != expected) if _shape(found) == expected.shape else False
        return bool(flips[expected != actual].all()) and not self._differ_by_one_column(case, name)

    def _differ_by_one_column(self, case: Case, name: str) -> bool:
        """Whether the sides differ, too, where all inputs are nudged but one column of one of them."""
        other = next(other for one, other in self._sides.outputs if one == name)
        rng = numpy.random.default_rng(0)
        arrays = {one: value for one, value in case.values.items() if isinstance(value, numpy.ndarray) and value.ndim}
        columns = [(one, place) for one, value in arrays.items() for place in range(value.shape[-1])]
        for (one, place), _ in product(columns[:_MOST_COLUMNS], range(_NUDGES)):
            values = {each: _nudged(value, rng, _BESIDE) for each, value in case.values.items()}
            values[one][..., place] = arrays[one][..., place]
            try:
                results = self._original.run(values)[name], self._result.run(values)[other]
            except EvaluationError:
                continue
            if not self._verdict(*results).equal:
                return True
        return not columns

    def _nudged_results(
        self, case: Case, name: str, nudge: Callable[[Any, numpy.random.Generator], Any]
    ) -> Iterator[Array]:
        """An output of the original for some inputs next to these, in double."""
        rng = numpy.random.default_rng(0)
        for _ in range(_NUDGES):
            try:
                found = self._original.run({one: nudge(value, rng) for one, value in case.values.items()})[name]
            except EvaluationError:
                continue
            yield numpy.asarray(found, numpy.float64)

    def _compare_declarations(self, case: Case) -> None:
        if self._original.open_results.false_declarations:
            return
        self._trial.declarations_held = True
        for what in self._result.open_results.false_declarations[:1]:
            self._trial.counterexample = f"{case.label}: the result {what}{_shown_inputs(case)}"
            raise Enough

    def _verdict(self, expected: Any, actual: Any) -> Comparison:
        return compare(expected, actual, ulps=self._sides.ulps, tolerance=self._sides.tolerance)

    def _compare_with_expected(self, case: Case, first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
        for name, other in self._sides.outputs if case.expected else ():
            verdicts = {
                "the first model": self._verdict(case.expected[name], first[name]),
                "the second model": self._verdict(case.expected[name], second[other]),
            }
            wrong = [model for model, verdict in verdicts.items() if not verdict.equal]
            if wrong:
                models = "both models" if len(wrong) == 2 else wrong[0]
                sentence = verdicts[wrong[0]].sentence
                self._trial.counterexample = f"{case.label}: output {name!r} of {models} is not as expected: {sentence}"
                self._trial.as_expected = False
                raise Enough
        if case.expected:
            self._trial.as_expected = True

    def _compare_open_values(
        self, case: Case, expected: Mapping[str, Any], actual: Mapping[str, Any], reason: str
    ) -> None:
        """Refute the result where what the specification leaves open decides elements that the original defines.

        A Where may leave such values out, so the result runs again with other values in their place; where it gives
        something else then, the original does, too.
        """
        found_so_far: list[Mapping[str, Any]] = []

        def of_the_original(name: str) -> Iterator[Any]:
            for number, instead in enumerate(OTHER_VALUES):
                if number == len(found_so_far):
                    found_so_far.append(self._original.run(case.values, instead))
                yield found_so_far[number][name]

        for instead in OTHER_VALUES:
            try:
                found = self._run_result(case, instead)
                consequence = ""
            except EvaluationError as error:
                consequence = f"with {instead} in its place the result rejects the input: {error}"
            try:
                if consequence:
                    for first, _ in self._sides.outputs[:1]:
                        list(of_the_original(first))
                else:
                    decided = (
                        name
                        for name, o in self._sides.outputs
                        if differs_elsewhere(expected[name], of_the_original(name), actual[o], found[o])
                    )
                    name = next(decided, None)
                    if name is None:
                        continue
                    consequence = f"output {name!r} depends on what that gives"
            except EvaluationError:  # what is left open decides the original, too
                return
            self._trial.counterexample = (
                f"{case.label}: the result {reason}, which the specification leaves open; {consequence}, and the "
                f"original does not{_shown_inputs(case)}"
            )
            raise Enough

    def _run_result(self, case: Case, instead: str = "") -> dict[str, Any]:
        try:
            return self._result.run(case.values, instead)
        except Rejected as error:
            if not any(isinstance(value, numpy.ndarray) and not value.size for value in case.values.values()):
                raise
            actual = self._result.run_leniently(case.values, instead)
            self._trial.relaxed = error.clause
            return actual


class _DecidedByRounding(Exception):
    """What the original gives for an input is no standard."""


def _nudged(value: Any, rng: numpy.random.Generator, by: float = _NUDGE) -> Any:
    if not isinstance(value, numpy.ndarray) or not is_floating(value.dtype):
        return value
    with numpy.errstate(all="ignore"):
        factors = 1 + rng.uniform(-by, by, value.shape)
        return (value.astype(numpy.float64) * factors).astype(value.dtype)


def _nudged_last_places(value: Any, rng: numpy.random.Generator) -> Any:
    if not isinstance(value, numpy.ndarray) or not is_floating(value.dtype):
        return value
    nudged = _nudged(value, rng, _LAST_PLACES * float(_limits(value.dtype).eps))
    # What is no number any more says nothing of what the original does with numbers.
    return numpy.where(numpy.isfinite(value) & ~numpy.isfinite(nudged), value, nudged)


def _distance(first: Array, second: Array, largest: float) -> Array:
    return numpy.asarray(numpy.abs(numpy.clip(first, -largest, largest) - numpy.clip(second, -largest, largest)))


def _limits(dtype: Any) -> Any:
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def _contradicts(value: Any, dims: Dims | None) -> bool:
    if dims is None or not isinstance(value, numpy.ndarray):
        return False
    return len(dims) != value.ndim or any(
        isinstance(dim, int) and dim != size for dim, size in zip(dims, value.shape, strict=True)
    )


@dataclass
class _Side:
    model: ModelProto
    base_dir: str
    lenient: bool
    limit: int | None
    most_elements: int | None
    checked: Checked | None
    watched: Sequence[str]
    cannot_run: bool = False
    """The model itself is at fault, whatever the input."""
    open_results: OpenResults = field(default_factory=OpenResults)
    """What the last run computed that the specification does not define."""
    seen: Sequence[Any] = ()
    """What the values were in the last run that are watched."""
    _evaluators: dict[bool, Evaluator] = field(default_factory=dict)

    @property
    def not_run(self) -> Sequence[tuple[NodeProto, str]]:
        """The nodes with a subgraph that did not run, and its attribute; none where the model cannot run at all."""
        try:
            found = [evaluator.subgraphs_not_run for evaluator in self._evaluators.values()]
        except EvaluationError:
            return []
        names = [{(node.output[0], attribute) for node, attribute in one} for one in found]
        first = found[0] if found else []
        return [
            (node, attribute) for node, attribute in first if all((node.output[0], attribute) in one for one in names)
        ]

    def run(self, values: Mapping[str, Any], instead: str = "") -> dict[str, Any]:
        """Strictly; where that is rejected and lenience was asked for, leniently."""
        try:
            return self._run(self._evaluator(strict=True), values, instead)
        except Rejected:
            if not self.lenient:
                raise
        return self.run_leniently(values, instead)

    def run_leniently(self, values: Mapping[str, Any], instead: str = "") -> dict[str, Any]:
        """With the clauses of the text relaxed that old exporters broke."""
        return self._run(self._evaluator(strict=False), values, instead)

    def _run(self, evaluator: Evaluator, values: Mapping[str, Any], instead: str) -> dict[str, Any]:
        results = evaluator.run(values, instead=instead, also=self.watched)
        self.open_results = evaluator.open_results
        if self.watched:
            self.seen = [results[name] for name in self.watched]
            results = {name: results[name] for name in evaluator.output_names}
        return results

    def _evaluator(self, *, strict: bool) -> Evaluator:
        if strict not in self._evaluators:
            try:
                self._evaluators[strict] = Evaluator(
                    self.model,
                    strict=strict,
                    base_dir=self.base_dir or None,
                    iteration_limit=self.limit,
                    element_limit=self.most_elements,
                    checked=self.checked,
                )
            except EvaluationError:
                self.cannot_run = not self.lenient or not strict
                raise
        return self._evaluators[strict]


def _differ(value: Any, first: Any, *, shapes_count: bool) -> bool:
    if not isinstance(value, numpy.ndarray) or not isinstance(first, numpy.ndarray):
        return True
    if value.shape != first.shape and shapes_count:
        return True
    if not value.size or not first.size:
        return False
    found = codes(value.flat[:_COMPARED])
    return any(code != found[0] for code in found) or found[0] != codes(first.flat[:1])[0]


def _shape(value: Any) -> Any:
    if isinstance(value, list):
        return [_shape(element) for element in value]
    return numpy.shape(value) if isinstance(value, numpy.ndarray) else None


def _has_elements(value: Any) -> bool:
    if isinstance(value, (list, dict)):
        return bool(value)
    return value is not None and numpy.size(value) > 0


def _shown_inputs(case: Case) -> str:
    if not case.values:
        return ""
    shown = "; ".join(f"{name} = {_shown(value)}" for name, value in case.values.items())
    return f"; inputs: {shown}"


def _shown(value: Any) -> str:
    if isinstance(value, numpy.ndarray):
        text = numpy.array2string(value, threshold=_SHOWN, separator=", ").replace("\n", "")
        return f"{text} {value.dtype}{list(value.shape)}"
    return repr(value)[:200]
