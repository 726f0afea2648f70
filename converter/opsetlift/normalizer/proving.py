"""The proof of a normalisation: the model before and after, part by part where that can be done, and whole.

The models differ in few distinct places, which are executed by themselves; a few runs of the whole model then show that
it is what it declares to be. Where a pass rounds, or a place cannot be told by itself, the whole runs on many inputs.

Nodes that cannot be executed, or that draw random numbers, are cut out of both models alike where the rest can still be
compared: what they read has to be the same on both sides, and what they give is drawn like an input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any

from onnx import ModelProto

from opsetlift.model.files import all_tensors, is_external
from opsetlift.model.scopes import imported_opsets, subgraphs_within
from opsetlift.normalizer.opaque_nodes import Cut, cut_out, not_executable
from opsetlift.proof import (
    MOST_NUMBERS,
    Attempt,
    Case,
    Differences,
    Explored,
    Floor,
    Input,
    InputGenerator,
    Inside,
    KnownVerdict,
    Outcome,
    Proof,
    ProofByParts,
    Region,
    Sides,
    Trial,
    Verdict,
    VerdictCache,
    dims_of,
    drives_of,
    folded_tensors,
    inside_of,
    interface_differences,
    long_lists,
    model_inputs,
    note_constant_outputs,
    numbers_of,
    numbers_of_differences,
    regions_of,
    sizes_held,
    texts_of,
    try_overridden,
    try_sides,
    verdict_key,
    ways_of,
)

_MOST_TRIED_IN_PARTS = 50_000
"""Inputs in all, rejected ones included; where parts take more, the whole is compared."""

_WAYS_OF_PARTS = 12
"""Between so many pairs of inputs thresholds in parts of models are looked for at most."""

_HEAVY = 1 << 28
"""Elements of inputs and weights above which a model is too large to be executed here, side by side with another."""


@dataclass(frozen=True)
class _Extent:
    """How much is tried of whole models."""

    first: int
    """Runs on inputs of the first shapes that the model takes."""
    others: int
    """Runs on inputs of each of the other shapes."""
    shapes: int
    numbers: int
    """How many more values of inputs that may control shapes (trip counts, axes) are tried on the first shapes."""
    floor: Floor


_THOROUGH = _Extent(first=8, others=2, shapes=6, numbers=12, floor=Floor.BRIEF)

_PART = replace(_THOROUGH)
"""Parts of models: the same, but where no value takes steps no thresholds are looked for."""

_SAMPLE = _Extent(first=2, others=1, shapes=3, numbers=1, floor=Floor.NONE)
"""Where the parts are proven."""


def prove_passes(
    original: ModelProto,
    result: ModelProto,
    *,
    ulps: int,
    seed: int,
    base_dir: str,
    cache: VerdictCache | None = None,
) -> Proof:
    """Execute both models on the same inputs, of several shapes where the model leaves some open.

    Args:
        original: The model before the passes.
        result: The model after them.
        ulps: How far results may move; 0: not a bit.
        seed: What the inputs follow from.
        base_dir: The folder of the external data of both.
        cache: The verdicts of earlier runs on parts that are equal, where they may be used.
    """
    unproven = partial(Proof, Outcome.UNPROVEN, 0, 0, 0, ulps, 0.0, seed)
    if differences := interface_differences(original, result):
        return Proof(Outcome.DIFFERENT, 0, 0, 0, ulps, 0.0, seed, "; ".join(differences))
    if _is_heavy(original):
        return unproven("the model is too large to be executed here")
    parts, watched = (None, Inside()) if ulps else _proven_parts(original, result, seed, base_dir, cache)
    extent = _THOROUGH if parts is None else _SAMPLE
    names = [(info.name, info.name) for info in original.graph.output]
    whole = _Comparison(original, result, names, base_dir, extent, watched)
    trial, shapes = whole.run(ulps, seed)
    is_random = bool(trial.counterexample) and not whole.is_repeatable(seed)
    cut: Cut | None = None
    if trial.blocked or is_random:
        cut = cut_out(original, result, base_dir)
        if cut is not None:
            trial, shapes = _Comparison(cut.original, cut.result, cut.outputs, base_dir, extent).run(ulps, seed)
        elif is_random:
            return unproven("two runs of the model differ on the same inputs")
    left_out = () if cut is None else cut.nodes
    numbers = (trial.rejected, ulps, trial.worst_ulps, seed)
    if trial.counterexample:
        return Proof(Outcome.DIFFERENT, trial.cases, shapes, *numbers, trial.counterexample, left_out)
    if parts is not None and (trial.cases or not (trial.blocked or left_out)):
        inputs = trial.diversity.inputs
        return Proof(Outcome.EQUAL, trial.cases, shapes, *numbers, cut=left_out, inputs=inputs, parts=parts)
    if not trial.cases:
        drawn = f"the model accepted none of {trial.rejected} generated inputs: {trial.obstacle}"
        return Proof(Outcome.UNPROVEN, 0, 0, *numbers, trial.obstacle if trial.blocked else drawn, left_out)
    missing = trial.diversity.missing
    outcome = Outcome.WEAK if missing else Outcome.EQUAL
    return Proof(outcome, trial.cases, shapes, *numbers, missing, left_out, trial.diversity.inputs, trial.worst_case)


def _proven_parts(
    original: ModelProto, result: ModelProto, seed: int, base_dir: str, cache: VerdictCache | None
) -> tuple[ProofByParts | None, Inside]:
    """The proof of each part in which two models differ; None where it takes the whole to tell.

    Also the values where parts differ, which are to be watched in the whole then.
    """
    opaque = not_executable(original), not_executable(result)
    if opaque[0] is None or opaque[1] is None:
        return None, Inside()
    runs = tried = from_cache = 0
    differences = Differences()
    functions = [[one.SerializeToString(deterministic=True) for one in model.functions] for model in (original, result)]

    def verdict(region: Region) -> Verdict:
        nonlocal runs, tried, from_cache
        if _is_heavy(region.original) or tried > _MOST_TRIED_IN_PARTS:
            return Verdict.OPEN
        kept_as, names = "", [info.name for info in region.original.graph.input]
        if cache is not None and not _reads_files(region):
            opsets = sorted(imported_opsets(region.original.opset_import).items())
            kept_as = verdict_key("part", region.key, opsets, functions, seed)
            if known := cache.find(kept_as, names):
                runs, from_cache = runs + known.cases, from_cache + 1
                return Verdict.EQUAL
        watched = inside_of(region)
        part = _Comparison(region.original, region.result, region.outputs, base_dir, _PART, watched)
        trial, _ = part.run(0, seed)
        runs += trial.cases
        tried += trial.cases + trial.rejected
        differences.note(region, trial)
        if trial.values_differ:
            return Verdict.DIFFERENT
        if not trial.cases or trial.counterexample or trial.diversity.missing:
            return Verdict.OPEN
        if cache is not None and kept_as:
            found = KnownVerdict(trial.cases, trial.rejected, trial.worst_ulps, trial.diversity)
            cache.keep(kept_as, names, found)
        return Verdict.EQUAL

    found = regions_of(original, result, base_dir, verdict, opaque[0] | opaque[1])
    if found is None:
        return None, differences.inside(original, result)
    parts = ProofByParts(found.same, len(result.graph.node), found.count, found.distinct, runs, from_cache)
    return parts, Inside()


def _reads_files(region: Region) -> bool:
    """Whether a tensor has external data, of which keys may hold the place and not the content."""
    return any(is_external(tensor) for model in (region.original, region.result) for tensor in all_tensors(model))


def _is_heavy(model: ModelProto) -> bool:
    shapes_of_inputs = [dims_of(info.type) or () for info in model.graph.input]
    shapes_of_weights = [tensor.dims for tensor in all_tensors(model)]
    return sum(map(_size, shapes_of_inputs)) + sum(map(_size, shapes_of_weights)) > _HEAVY


def _size(dims: Iterable[int | str | None]) -> int:
    """The elements, as if every open dimension were 1."""
    return prod(dim for dim in dims if isinstance(dim, int))


@dataclass(frozen=True)
class _Comparison:
    original: ModelProto
    result: ModelProto
    outputs: Sequence[tuple[str, str]]
    base_dir: str
    extent: _Extent = _THOROUGH
    watched: Inside = field(default_factory=Inside)
    """Values inside of both that are to become numbers of theirs."""

    def run(self, ulps: int, seed: int) -> tuple[Trial, int]:
        """What came of it, and how many shapes of the inputs were taken."""
        sides = Sides(
            self.original, self.result, self.outputs, ulps=ulps, base_dir=self.base_dir, watched=self.watched.names
        )
        generators: list[_FewOfEachShape] = []

        def cases() -> InputGenerator:
            inputs = model_inputs(self.original, self.result)
            is_thorough = self.extent is not _SAMPLE
            models = self.original, self.result
            computed = [folded_tensors(model, self.base_dir) for model in models] if is_thorough else ((), ())
            numbers = numbers_of(models, MOST_NUMBERS, in_tables=is_thorough, computed=computed)
            if is_thorough:
                numbers += numbers_of_differences(*models, computed)[:MOST_NUMBERS]
            lists = long_lists(self.original, self.result) if is_thorough else []
            words = texts_of([self.original, self.result], MOST_NUMBERS)
            options = {"rounding": ulps > 0, "floor": self.extent.floor, "numbers": numbers, "words": words}
            options |= {"hints": [] if self.extent is _PART else sizes_held(models)}
            options |= {
                "lists": lists,
                "targets": self.watched.numbers,
                "drives": drives_of(*models, are_parts=self.extent is _PART),
            }
            ways = 0 if ulps or self.extent is _SAMPLE else ways_of(*models)
            options |= {"ways": ways if self.extent is _THOROUGH else min(_WAYS_OF_PARTS, ways)}
            has_bodies = any(True for model in models for _ in subgraphs_within(model.graph))
            options |= {"looks_always": self.extent is _THOROUGH or has_bodies or bool(models[0].functions)}
            generators.append(_FewOfEachShape(self.extent, inputs, [seed], **options))
            return generators[-1]

        trial = try_sides(sides, cases)
        note_constant_outputs(trial, self.original, self.base_dir)
        if trial.cases and not trial.counterexample:
            trial = try_overridden(sides, trial, seed)
        return trial, max((len(generator.runs) for generator in generators), default=0)

    def is_repeatable(self, seed: int) -> bool:
        """Whether the original gives the same outputs for the same inputs again."""
        again = _Comparison(self.original, self.original, [(name, name) for name, _ in self.outputs], self.base_dir)
        return not again.run(0, seed)[0].counterexample


class _FewOfEachShape(InputGenerator):
    """Test inputs for whole models: some of the first shapes that the model takes, then a few of others."""

    def __init__(self, extent: _Extent, inputs: Sequence[Input], *arguments: Any, **options: Any) -> None:
        super().__init__(inputs, *arguments, **options)
        self._extent = extent
        self.runs: Counter[str] = Counter()
        self._results: dict[str, Sequence[Any]] = {}
        self._number_inputs = [
            one.name for one in inputs if one.may_control_shapes and one.type.HasField("tensor_type")
        ]
        self._tried_numbers: set[tuple[bytes, ...]] = set()

    def _wanted(self, attempt: Attempt) -> Attempt:
        def sparingly(case: Case) -> Sequence[Any] | None:
            shapes = case.layout
            numbers = tuple(case.values[name].tobytes() for name in self._number_inputs)
            if case.is_required:
                return attempt(case)
            if self.runs[shapes] >= self._most(shapes, numbers):
                return self._results[shapes]
            if shapes not in self._results and len(self._results) >= self._extent.shapes:
                raise Explored
            found = attempt(case)
            if found is None:
                if not self.runs[shapes]:
                    del self.runs[shapes]
                return None
            self.runs[shapes] += 1
            self._results[shapes] = found
            self._tried_numbers.add(numbers)
            return found

        return sparingly

    def _most(self, shapes: str, numbers: tuple[bytes, ...]) -> int:
        """How many runs inputs of these shapes may have had for one more with these numbers."""
        if self.runs and shapes != next(iter(self.runs)):
            return self._extent.others
        is_new = bool(numbers) and numbers not in self._tried_numbers
        return self._extent.first + (self._extent.numbers if is_new else 0)
