"""Whether a model with other dtypes gives nearly what it gave: both are run as wholes, on inputs that fit both dtypes.

Inputs on which the original leaves the range of a new dtype say nothing about the others, and are counted apart. Floats
may differ by half the digits of the coarser dtype, in units of the largest magnitude of a result: that much is left
where errors of single operations pile up, and a wrong model is farther off. Where sums cancel, the rounding of a number
near one is near enough. All else has to be equal; where floats
change and an index or a truth value comes out otherwise, nothing is proven, as the least rounding decides between
values that are nearly equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from onnx import ModelProto, TypeProto

from opsetlift.conversion.retyping import changed_type, set_type
from opsetlift.evaluator import EvaluationError, Evaluator, Rejected
from opsetlift.facts import ModelFacts
from opsetlift.model.arrays import Array
from opsetlift.model.scopes import with_single_imports
from opsetlift.proof.certificate import DtypeProof, Outcome
from opsetlift.proof.compare import compare
from opsetlift.proof.inputs import Case, Enough, Input, InputGenerator
from opsetlift.proof.limits import float_limits, integer_limits, is_floating
from opsetlift.proof.shapes import MOST_DRAWN
from opsetlift.proof.side_by_side import model_inputs
from opsetlift.proof.trial import ITERATIONS
from opsetlift.specification import dtypes
from opsetlift.specification.wider_dtypes import holds

_RUNS = 5
"""On so many inputs both models run."""


def prove_dtypes(
    original: ModelProto,
    retyped: ModelProto,
    result: ModelProto,
    changes: Mapping[str, str],
    *,
    interface: str,
    clamped: float = 0.0,
    seed: int = 0,
    base_dir: str = "",
) -> DtypeProof:
    """Compare `original` with `result`, which was made from `retyped`, the original in other dtypes.

    Floats from half of `clamped` on stand for the largest of any dtype, and are no way out of range: so large are the
    constants that were clamped.
    """
    proof = DtypeProof(
        changes=dict(changes),
        interface=interface,
        tolerance=tolerance(changes),
        outcome=Outcome.UNPROVEN,
    )
    watched = _changed_values(ModelFacts(original, base_dir), ModelFacts(retyped, base_dir), changes)
    comparison = _Comparison(original, result, watched, proof, clamped, _RUNS, seed, base_dir)
    generator = InputGenerator(_drawn(model_inputs(original), changes), [seed], rounding=True)
    proof.sentence = generator.obstacle
    generator.run(comparison.attempt)
    if proof.outcome is Outcome.UNPROVEN and proof.runs and not comparison.is_undecided:
        proof.outcome, proof.sentence = Outcome.EQUAL, ""
    return proof


def _changed_values(before: ModelFacts, after: ModelFacts, changes: Mapping[str, str]) -> dict[str, numpy.dtype[Any]]:
    """The values of the graph that have another dtype now, with that dtype; what an output was computed as counts."""
    producers = {name: node for node in after.model.graph.node for name in node.output}
    found = {}
    for name in (name for node in before.model.graph.node for name in node.output if name):
        old = dtypes.dtype_of_type(before.graph.type_string(name) or "")
        new = dtypes.dtype_of_type(after.graph.type_string(name) or "")
        if old in changes and old == new and name in producers:
            source = next(iter(producers[name].input), "")
            new = dtypes.dtype_of_type(after.graph.type_string(source) or "")
        if old is not None and new is not None and changes.get(old) == new:
            found[name] = dtypes.numpy_dtype(new)
    return found


def tolerance(changes: Mapping[str, str]) -> float:
    """How far floats may differ, as a part of the largest magnitude: the root of the coarsest dtype's precision."""
    floats = [dtypes.numpy_dtype(name) for pair in changes.items() for name in pair]
    precisions = [float_limits(dtype).eps for dtype in floats if is_floating(dtype)]
    return math.sqrt(max(precisions, default=0.0))


def _drawn(inputs: Sequence[Input], changes: Mapping[str, str]) -> list[Input]:
    """The inputs with dtypes to draw from: what is drawn fits both, and sums and products of it mostly do."""
    narrow = {old: _narrow(old, new) for old, new in changes.items()}
    found = []
    for one in inputs:
        spelt = changed_type(dtypes.type_string(one.type), narrow)
        kind = TypeProto()
        kind.CopyFrom(one.type)
        if spelt:
            set_type(kind, spelt)
        found.append(Input(one.name, kind, one.controls_shapes))
    return found


def _narrow(old: str, new: str) -> str:
    if is_floating(dtypes.numpy_dtype(old)):
        return new if holds(old, new) else old
    return "uint8" if "u" in (old[0], new[0]) else "int8"


class _Comparison:
    """Runs both models on case after case."""

    def __init__(
        self,
        original: ModelProto,
        result: ModelProto,
        watched: Mapping[str, numpy.dtype[Any]],
        proof: DtypeProof,
        clamped: float,
        runs: int,
        seed: int,
        base_dir: str,
    ) -> None:
        self.is_undecided = False
        self._proof = proof
        self._watched = watched
        self._clamped = clamped
        self._runs = runs
        self._rng = numpy.random.default_rng([seed, runs])
        self._types = tuple(_types_of(model.graph.input) for model in (original, result))
        self._outputs = [(info.name, dtypes.type_string(info.type)) for info in original.graph.output]
        self._sides = _Side(with_single_imports(original), base_dir), _Side(result, base_dir)

    def attempt(self, case: Case) -> Sequence[Any] | None:
        """Run both sides; gives the shapes of the outputs, or None where the original does not take the case."""
        proof = self._proof
        first, second = self._sides
        names = [name for name, _ in self._outputs]
        try:
            given = {name: self._given(value, self._types[0].get(name)) for name, value in case.values.items()}
            expected = first.run(given, [*names, *(name for name in self._watched if name not in names)])
        except EvaluationError as error:
            if not (proof.runs or proof.out_of_range):
                proof.sentence = str(error)
            return None
        if any(_leaves(expected[name], dtype, self._clamped) for name, dtype in self._watched.items()):
            proof.out_of_range += 1
            proof.sentence = "on every input that was drawn, the model leaves the range of the new dtype"
            return None
        try:
            actual = second.run({name: _as_type(given[name], self._types[1].get(name)) for name in given})
        except EvaluationError as error:
            proof.outcome, proof.sentence = (
                Outcome.DIFFERENT,
                f"{case.label}: the result rejects what was taken: {error}",
            )
            raise Enough from error
        for name, spelt in self._outputs:
            self._compare(case, name, expected[name], _as_type(actual[name], spelt))
        proof.runs += 1
        if proof.runs >= self._runs:
            raise Enough
        return [_shape(expected[name]) for name in names]

    def _given(self, value: Any, spelt: str | None) -> Any:
        """A drawn value in the dtype of the original, floats a little apart, so that fewer of them are ties."""
        if isinstance(value, numpy.ndarray) and is_floating(value.dtype) and self._proof.tolerance:
            scale = self._rng.uniform(1.0 - self._proof.tolerance, 1.0, value.shape)
            value = numpy.asarray(value.astype(numpy.float64) * scale).astype(value.dtype)
        return _as_type(value, spelt)

    def _compare(self, case: Case, name: str, expected: Any, actual: Any) -> None:
        proof = self._proof
        precision = _precision(expected)
        allowed = max(1, round(proof.tolerance / precision)) if precision and proof.tolerance else 0
        verdict = compare(expected, actual, ulps=allowed)
        proof.worst = max(proof.worst, verdict.worst_ulps * precision)
        if verdict.equal or _is_cancelled(expected, actual, proof.tolerance**2):
            return
        proof.sentence = f"{case.label}: output {name!r} {verdict.sentence}"
        if proof.tolerance and not precision:
            self.is_undecided = True
            return
        proof.outcome = Outcome.DIFFERENT
        raise Enough


class _Side:
    """One of the models; what it does not take strictly is tried leniently."""

    def __init__(self, model: ModelProto, base_dir: str) -> None:
        self._model = model
        self._base_dir = base_dir
        self._evaluators: dict[bool, Evaluator] = {}

    def run(self, given: Mapping[str, Any], outputs: Sequence[str] | None = None) -> dict[str, Any]:
        """Raises EvaluationError."""
        try:
            return self._evaluator(strict=True).run(given, outputs)
        except Rejected:
            return self._evaluator(strict=False).run(given, outputs)

    def _evaluator(self, *, strict: bool) -> Evaluator:
        if strict not in self._evaluators:
            self._evaluators[strict] = Evaluator(
                self._model,
                strict=strict,
                base_dir=self._base_dir or None,
                iteration_limit=ITERATIONS,
                element_limit=MOST_DRAWN,
            )
        return self._evaluators[strict]


def _types_of(inputs: Any) -> dict[str, str | None]:
    return {info.name: dtypes.type_string(info.type) for info in inputs}


def _as_type(value: Any, spelt: str | None) -> Any:
    """A value as one of a type of the same form: its arrays in that type's dtype."""
    if isinstance(value, list):
        return [_as_type(element, spelt) for element in value]
    if not isinstance(value, numpy.ndarray) or not spelt or "map" in spelt:
        return value
    dtype = spelt.rpartition("(")[2].rstrip(")")
    return value if dtype == "string" else value.astype(dtypes.numpy_dtype(dtype))


def _leaves(value: Any, dtype: numpy.dtype[Any], clamped: float) -> bool:
    """Whether a value has elements that a dtype has no room for."""
    if not isinstance(value, numpy.ndarray) or not value.size:
        return False
    if not is_floating(dtype):
        low, high = integer_limits(dtype)
        return int(value.min()) < low or int(value.max()) > high
    with numpy.errstate(all="ignore"):
        out = numpy.isfinite(value) & ~numpy.isfinite(value.astype(dtype))
        if clamped:
            out &= numpy.abs(value.astype(numpy.float64)) < clamped / 2
        return bool(out.any())


def _is_cancelled(expected: Any, actual: Any, unit: float) -> bool:
    """Whether floats differ by no more than the rounding of a number near one, of which sums may leave nothing else."""
    if not unit or not _precision(expected) or isinstance(expected, list) or expected.shape != actual.shape:
        return False
    with numpy.errstate(all="ignore"):
        return bool((numpy.abs(expected.astype(numpy.float64) - actual.astype(numpy.float64)) <= unit).all())


def _precision(value: Any) -> float:
    """The precision of a value of floats; 0 for all others."""
    if isinstance(value, list):
        return max(map(_precision, value), default=0.0)
    if not isinstance(value, numpy.ndarray) or not is_floating(value.dtype) or value.dtype.kind == "c":
        return 0.0
    return float_limits(value.dtype).eps


def _shape(value: Array | Any) -> Any:
    return [_shape(element) for element in value] if isinstance(value, list) else numpy.shape(value)
