"""Runs two models side by side on the same inputs, drawn or given."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import ModelProto, TypeProto, ValueInfoProto

from opsetlift.facts import ModelFacts
from opsetlift.model.files import ModelFileError, all_tensors, repaired, validated
from opsetlift.model.scopes import imported_opsets, subgraphs_within
from opsetlift.proof.certificate import Outcome
from opsetlift.proof.compare import EXACT, Tolerance
from opsetlift.proof.constant_outputs import follow_from_form
from opsetlift.proof.data_sets import Data, UnusableData, given_cases
from opsetlift.proof.diversity import InputDiversity
from opsetlift.proof.first_difference import FirstDifference, first_difference
from opsetlift.proof.folded_constants import folded_tensors
from opsetlift.proof.inputs import Case, Floor, Input, InputGenerator
from opsetlift.proof.limits import float_limits, integer_limits, is_floating
from opsetlift.proof.model_numbers import (
    lists_of,
    numbers_of,
    numbers_of_differences,
    sizes_held,
    sizes_that_bound,
    sizes_that_tell,
    texts_of,
)
from opsetlift.proof.regions import Region, Verdict, regions_of
from opsetlift.proof.shapes import dims_of, may_be_sizes
from opsetlift.proof.trial import Sides, Trial, try_sides
from opsetlift.proof.watching import Differences, Inside, inside_of
from opsetlift.specification import dtypes
from opsetlift.support.arguments import whole_number
from opsetlift.support.progress import tell
from opsetlift.support.showing import Shown
from opsetlift.support.text import counted

ModelOrPath = ModelProto | str | os.PathLike[str]

MOST_NUMBERS = 12
"""So many numbers in the constants of two models, each with its neighbours, are required of their inputs."""

RUNS_OVERRIDDEN = 12
"""So many inputs that override all defaults are wanted, and more where these may be sizes."""

CHEAP_RUNS = 2000
"""A model of one node is run on so many inputs at least, one of two nodes on half of them, and so on."""

MOST_COST_OF_LISTS = 400
"""Lists of models that cost more are not tried as they stand there: it takes up to 64 runs for each input."""

SHORT_LIST = 12
"""Lists of more numbers or texts are no axes, pads or shapes; of whole models these alone are tried."""

CHEAP_WAYS = 400
"""In the same way, between so many pairs of inputs it is looked for thresholds, but not more than `MOST_WAYS`."""

MOST_WAYS = 36

FEW_WAYS, MOST_COST_OF_WAYS = 2, 4000
"""Between at least so many pairs, of models that cost no more."""

DRIVES, DRIVES_OF_PARTS = (60, 600, 250_000), (30, 200, 20_000)
"""On so many inputs at least and at most it is tried to make values inside models numbers of theirs, but so that not
more than so many nodes run; for whole models and for parts of them."""

CHEAP_SIZE = 1 << 21
"""Open sizes are as large as a narrow dtype asks for up to this number, divided by what a run costs."""

WEIGHTS_PER_NODE = 10_000

_WATCHED_WHOLE = 64
"""Of models that cost no more all values are watched."""

_RUNS_OF_PARTS = 24
"""Parts of larger models run on so many inputs to see whether they differ."""

_OVERRIDABLE_SINCE = 4
"""The IR version."""

_NAMED = 3

_NARROW = 2
"""Dtypes of up to so many bytes do not hold sizes that are tried."""

_SIZES = range(2, 65)
"""What stands in the models may divide sizes, as blocks and groups do, or be them."""


@dataclass(frozen=True, repr=False)
class WholeModelResult(Shown):
    """What a comparison of two models found."""

    outcome: Outcome
    """EQUAL, WEAK, DIFFERENT or UNPROVEN."""
    runs: int
    """On how many inputs both ran and agreed."""
    rejected: int
    """How many inputs the first model rejected."""
    worst_ulps: float
    sentence: str
    """The first output that differs, where and by how much; what kept the models from being compared; or what was not
    tried."""
    inputs: Sequence[InputDiversity] = ()
    """What was measured of the drawn inputs."""
    worst_case: str = ""
    """The inputs that gave the largest difference within the bound; empty where all results had the same bits."""
    as_expected: bool | None = None
    """Whether both gave the outputs that were expected; None where none were."""
    first_difference: FirstDifference | None = None
    """Where the models begin to differ; None where they do not, or where it cannot be told."""

    @property
    def is_equal(self) -> bool:
        """Whether both models gave the same, on inputs that are diverse enough for a proof."""
        return self.outcome is Outcome.EQUAL

    @property
    def agrees(self) -> bool:
        """Both models gave the same wherever both ran, whether that proves enough or not."""
        return self.outcome in (Outcome.EQUAL, Outcome.WEAK)

    def _shown_lines(self) -> Sequence[str]:
        within = f"within {self.worst_ulps:g} ULP" if self.worst_ulps else "bit for bit"
        rejected = f"; the first model rejected {self.rejected} more" if self.rejected else ""
        agreed = f"{counted(self.runs, 'test input')} gave the same {within}{rejected}"
        drawn = "nothing was left untried" if self.inputs else "the inputs were given"
        return (
            f"WholeModelResult: {self.outcome.value}",
            *([agreed] if self.outcome is not Outcome.DIFFERENT else []),
            self.sentence or drawn,
        )

    def _shown_rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        rows = [(one.name, one.dtype, one.role, one.cases, one.elements, one.distinct) for one in self.inputs]
        return ("input", "dtype", "role", "cases", "elements", "distinct"), rows


def prove_models(
    a: ModelOrPath,
    b: ModelOrPath,
    *,
    inputs: Data | None = None,
    expected: Data | None = None,
    runs: int = 3,
    seed: int = 0,
    ulps: int = 0,
    rtol: float = 0.0,
    atol: float = 0.0,
    base_dir: str = "",
    other_dir: str | None = None,
) -> WholeModelResult:
    """As `opsetlift.prove_models`, of models and files.

    `base_dir` is the folder of the external data of a model, `other_dir` that of the second where it is another one.
    """
    runs, seed = whole_number(runs, "the number of runs", least=1), whole_number(seed, "the seed", least=0)
    ulps, tolerance = whole_number(ulps, "the bound in ULPs", least=0), Tolerance(rtol, atol)
    if expected is not None and inputs is None:
        raise UnusableData("expected outputs need the inputs that belong to them")
    (one, folder), (other, other_folder) = (
        _loaded(a, base_dir),
        _loaded(b, base_dir if other_dir is None else other_dir),
    )
    mismatches = interface_differences(one, other)
    if mismatches:
        return WholeModelResult(Outcome.DIFFERENT, 0, 0, 0.0, "; ".join(mismatches))
    outputs = [(info.name, info.name) for info in one.graph.output]
    given = None if inputs is None else given_cases(inputs, expected, one)
    is_exact = not ulps and tolerance == EXACT and folder == other_folder
    inside = _where_they_differ(one, other, folder, seed) if given is None and is_exact else Inside()
    sides = Sides(
        one,
        other,
        outputs,
        ulps=ulps,
        tolerance=tolerance,
        base_dir=folder,
        result_base_dir=other_folder,
        loops_freely=bool(given),
        shapes_tell=False,
        watched=inside.names,
    )

    computed = folded_tensors(one, folder), folded_tensors(other, other_folder)
    numbers = numbers_of([one, other], MOST_NUMBERS, in_tables=True, computed=computed)
    numbers += numbers_of_differences(one, other, computed)
    cost = max(_cost(one), _cost(other))
    long = sorted(
        {
            *sizes_that_tell(numbers),
            *sizes_that_bound(numbers),
            *_sizes_beyond_dtypes(one),
            *_sizes_beyond_dtypes(other),
        }
    )

    lists = long_lists(one, other)

    def drawn() -> InputGenerator:
        return InputGenerator(
            model_inputs(one, other),
            [seed],
            floor=Floor.BRIEF,
            hints=[
                *(size for number in numbers if number in _SIZES for size in (int(number), int(number) ** 2)),
                *sizes_held([one, other]),
            ],
            numbers=numbers,
            lists=lists,
            words=texts_of([one, other], MOST_NUMBERS),
            limit=max(runs, CHEAP_RUNS // cost),
            ways=ways_of(one, other),
            long=[size for size in long if size * cost <= CHEAP_SIZE],
            targets=inside.numbers,
            drives=drives_of(one, other),
        )

    tell("running both models")
    trial = try_sides(sides, drawn) if given is None else _try_each(sides, given)
    note_constant_outputs(trial, one, folder)
    if given is None and trial.cases and not trial.counterexample:
        trial = try_overridden(sides, trial, seed)
        _note_lost_defaults(trial, one, other)
    if given is None and not trial.counterexample:
        _note_what_did_not_run(trial, sides)
    found = None
    if trial.different_case is not None:
        tell("looking for the first node that differs")
        found = first_difference(sides, trial.different_case.values)
    return _result(trial, found, is_given=given is not None)


def _where_they_differ(one: ModelProto, other: ModelProto, base_dir: str, seed: int) -> Inside:
    """The values inside two models where what one of them computes is not what the other does; of small ones all."""
    outputs = [(info.name, info.name) for info in one.graph.output]
    if max(_cost(one), _cost(other)) <= _WATCHED_WHOLE:
        return inside_of(Region(one, other, outputs))
    differences = Differences()

    def verdict(region: Region) -> Verdict:
        inside = inside_of(region)
        sides = Sides(region.original, region.result, region.outputs, base_dir=base_dir, watched=inside.names)

        def drawn() -> InputGenerator:
            models = region.original, region.result
            numbers = numbers_of(models, MOST_NUMBERS, in_tables=True) + numbers_of_differences(*models)
            inputs = model_inputs(*models)
            return InputGenerator(
                inputs,
                [seed],
                floor=Floor.BRIEF,
                numbers=numbers,
                limit=_RUNS_OF_PARTS,
                ways=FEW_WAYS,
                targets=inside.numbers,
                drives=drives_of(*models, are_parts=True),
            )

        trial = try_sides(sides, drawn)
        differences.note(region, trial)
        if trial.values_differ:
            return Verdict.DIFFERENT
        return Verdict.OPEN if trial.counterexample or not trial.cases else Verdict.EQUAL

    regions_of(one, other, base_dir, verdict)
    return differences.inside(one, other)


def long_lists(one: ModelProto, other: ModelProto) -> list[tuple[float | str, ...]]:
    """What inputs of whole models are to hold: shorter lists are axes, pads and shapes; of costly models none."""
    if max(_cost(one), _cost(other)) > MOST_COST_OF_LISTS:
        return []
    return [each for each in lists_of([one, other]) if len(each) > SHORT_LIST]


def _cost(model: ModelProto) -> int:
    """What a run costs, in nodes: a node counts as much as some thousands of weights."""
    containers = (model.graph, *model.functions)
    nodes = sum(
        len(container.node) + sum(len(graph.node) for graph in subgraphs_within(container)) for container in containers
    )
    weights: int = sum(math.prod(tensor.dims) for tensor in all_tensors(model))
    return 1 + nodes + weights // WEIGHTS_PER_NODE


def ways_of(one: ModelProto, other: ModelProto) -> int:
    """Between how many pairs of inputs thresholds are looked for."""
    cost = max(_cost(one), _cost(other))
    return min(MOST_WAYS, max(CHEAP_WAYS // cost, FEW_WAYS if cost <= MOST_COST_OF_WAYS else 0))


def drives_of(one: ModelProto, other: ModelProto, *, are_parts: bool = False) -> int:
    """On how many inputs it is tried to make values inside two models numbers of theirs."""
    least, most, cheap = DRIVES_OF_PARTS if are_parts else DRIVES
    return min(most, max(least, cheap // max(_cost(one), _cost(other))))


def _sizes_beyond_dtypes(model: ModelProto) -> Iterator[int]:
    """What the narrow dtypes of computed values do not hold any more, in which a size or a position may be kept."""
    facts = ModelFacts(model).graph
    kinds = (facts.type_of(name) for node in model.graph.node for name in filter(None, node.output))
    found = {kind.tensor_type.elem_type for kind in kinds if kind is not None and kind.HasField("tensor_type")}
    for dtype in map(dtypes.numpy_dtype, filter(None, map(dtypes.dtype_name, filter(None, sorted(found))))):
        if dtype.kind in "Ob" or dtype.itemsize > _NARROW:
            continue
        most = int(2 / float_limits(dtype).eps) if is_floating(dtype) else integer_limits(dtype)[1]
        yield from (most + 1, most + 2)


def try_overridden(sides: Sides, trial: Trial, seed: int) -> Trial:
    """A trial after further cases that override the defaults which callers of both models may override."""
    one, other = sides.original, sides.result
    shared = {info.name for info in _overridable(other)}
    defaults = [
        Input(info.name, info.type, may_control_shapes=may_be_sizes(info.type))
        for info in _overridable(one)
        if info.name in shared
    ]
    if not defaults:
        return trial
    inputs = [*model_inputs(one, other), *defaults]
    runs = RUNS_OVERRIDDEN * (5 if any(one.may_control_shapes for one in defaults) else 1)
    further = try_sides(sides, lambda: InputGenerator(inputs, [seed], rounding=sides.ulps > 0, limit=runs))
    if further.counterexample:
        return further
    trial.cases += further.cases
    return trial


def _note_lost_defaults(trial: Trial, one: ModelProto, other: ModelProto) -> None:
    left = {info.name for info in _overridable(other)} | {info.name for info in required_inputs(other)}
    lost = [repr(info.name) for info in _overridable(one) if info.name not in left]
    if lost:
        trial.diversity.not_overridden = f"only the first model lets callers override {', '.join(lost[:_NAMED])}" + (
            f", and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        )


def _overridable(model: ModelProto) -> list[ValueInfoProto]:
    """The inputs with a default that callers may override; below IR version 4 each initializer had to be an input."""
    if model.ir_version < _OVERRIDABLE_SINCE:
        return []
    required = {info.name for info in required_inputs(model)}
    return [info for info in model.graph.input if info.name not in required]


def _try_each(sides: Sides, cases: Sequence[Case]) -> Trial:
    """Run both sides on each case, up to the first on which they differ or which the original rejects."""
    total = Trial()
    for case in cases:
        trial = try_sides(sides, lambda case=case: [case])  # type: ignore[misc]
        trial.cases += total.cases
        if total.worst_ulps > trial.worst_ulps:
            trial.worst_ulps, trial.worst_case = total.worst_ulps, total.worst_case
        if trial.as_expected is None:
            trial.as_expected = total.as_expected
        total = trial
        if trial.counterexample or trial.rejected or trial.blocked:
            break
    return total


def _note_what_did_not_run(trial: Trial, sides: Sides) -> None:
    """Let the measure of a trial know which branches and bodies of loops never ran: what they hold was not compared."""
    if left := _undecided(trial, sides):
        trial.diversity.not_run = f"no input made {left[0]} run" + (f", and {len(left) - 1} more" if left[1:] else "")


def _undecided(trial: Trial, sides: Sides) -> list[str]:
    """The subgraphs that have not run, without those of nodes whose inputs are the same in every run."""
    if not any(trial.not_run):
        return []
    found = []
    folders = sides.base_dir, sides.base_dir if sides.result_base_dir is None else sides.result_base_dir
    for which, model, folder, nodes in zip(
        ("first", "second"), (sides.original, sides.result), folders, trial.not_run, strict=True
    ):
        facts = ModelFacts(model, folder).graph
        for node, attribute in nodes:
            if any(facts.constant(name) is None for name in filter(None, node.input)):
                found.append(f"{attribute!r} of {node.op_type} {node.name or node.output[0]!r} in the {which} model")
    return found


def note_constant_outputs(trial: Trial, model: ModelProto, base_dir: str) -> None:
    """Let the measure of a trial know where the outputs of the original cannot vary, as those that shapes decide."""
    if not trial.diversity.outputs_vary:
        facts = ModelFacts(model, base_dir).graph
        trial.diversity.may_be_constant |= all(facts.constant(info.name) is not None for info in model.graph.output)
        trial.diversity.may_be_constant |= follow_from_form(model, model_inputs(model))


def _loaded(model: ModelOrPath, base_dir: str) -> tuple[ModelProto, str]:
    if isinstance(model, ModelProto):
        return _as_converted(model), base_dir
    path = Path(model)
    loaded = onnx.load(path, load_external_data=False)
    return _as_converted(loaded), base_dir or str(path.absolute().parent)


def _as_converted(model: ModelProto) -> ModelProto:
    """The model as a conversion reads it: repaired, and of conflicting imports the last one counts."""
    found, _ = repaired(model)
    with suppress(ModelFileError):  # of what is not sound, the run tells
        found, _ = validated(found)
    imported = imported_opsets(found.opset_import)
    if len(imported) == len(found.opset_import):
        return found
    copied = ModelProto()
    copied.CopyFrom(found)
    del copied.opset_import[:]
    for domain, version in imported.items():
        copied.opset_import.add(domain=domain, version=version)
    return copied


def _result(trial: Trial, found: FirstDifference | None, *, is_given: bool) -> WholeModelResult:
    numbers = (trial.cases, trial.rejected, trial.worst_ulps)
    if trial.counterexample:
        return WholeModelResult(
            Outcome.DIFFERENT, *numbers, trial.counterexample, as_expected=trial.as_expected, first_difference=found
        )
    if not trial.cases or (is_given and trial.rejected):
        what = "the given inputs" if is_given else f"any of {trial.rejected} generated inputs"
        sentence = f"the first model did not run on {what}: {trial.obstacle}"
        return WholeModelResult(Outcome.UNPROVEN, *numbers, trial.obstacle if trial.blocked else sentence)
    missing = "" if is_given else trial.diversity.missing
    outcome = Outcome.WEAK if missing else Outcome.EQUAL
    return WholeModelResult(outcome, *numbers, missing, trial.diversity.inputs, trial.worst_case, trial.as_expected)


def required_inputs(model: ModelProto) -> list[ValueInfoProto]:
    """The inputs that a caller must give: those without an initializer."""
    initialized = {tensor.name for tensor in model.graph.initializer}
    initialized |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    return [info for info in model.graph.input if info.name not in initialized]


def interface_differences(one: ModelProto, other: ModelProto) -> list[str]:
    """Why the models cannot take each other's place; empty where they can."""
    found = []
    defaults = {info.name: info.type for info in _overridable(other)}
    for info in _overridable(one):
        if info.name in defaults and (sentence := _type_difference(info.type, defaults[info.name])):
            found.append(f"input {info.name!r} {sentence}")
    for what, before, after in (
        ("input", required_inputs(one), required_inputs(other)),
        ("output", list(one.graph.output), list(other.graph.output)),
    ):
        types = {info.name: info.type for info in before}, {info.name: info.type for info in after}
        for name in types[0].keys() | types[1].keys():
            if name not in types[1]:
                found.append(f"{what} {name!r} is missing in the second model")
            elif name not in types[0]:
                found.append(f"{what} {name!r} is missing in the first model")
            elif sentence := _type_difference(types[0][name], types[1][name]):
                found.append(f"{what} {name!r} {sentence}")
        if not found and [info.name for info in before] != [info.name for info in after]:
            found.append(f"the {what}s are in another order")
    return sorted(found)


def _type_difference(one: TypeProto, other: TypeProto) -> str:
    spelt = dtypes.type_string(one), dtypes.type_string(other)
    if None not in spelt and spelt[0] != spelt[1]:
        return f"is {spelt[0]} in the first model and {spelt[1]} in the second"
    first, second = dims_of(one), dims_of(other)
    if first is None or second is None:
        return ""
    sizes = zip(first, second, strict=False)
    if len(first) != len(second) or any(x != y for x, y in sizes if isinstance(x, int) and isinstance(y, int)):
        return f"has shape {list(first)} in the first model and {list(second)} in the second"
    return ""


def model_inputs(model: ModelProto, other: ModelProto | None = None) -> list[Input]:
    """The inputs of a model to be drawn; `other`, a model of the same interface, may know more of their shapes."""
    hints = {info.name: info.type for info in (other or model).graph.input}
    drawn = []
    for info in required_inputs(model):
        kind = _merged(info.type, hints[info.name])
        drawn.append(Input(info.name, kind, may_control_shapes=may_be_sizes(kind)))
    return drawn


def _merged(one: TypeProto, other: TypeProto) -> TypeProto:
    """The type that says most: a dimension that one model leaves open may be fixed in the other."""
    first, second = dims_of(one), dims_of(other)
    if first is None:
        return other
    if second is None or one.WhichOneof("value") != "tensor_type":
        return one
    merged = [y if isinstance(y, int) or x is None else x for x, y in zip(first, second, strict=True)]
    return onnx.helper.make_tensor_type_proto(one.tensor_type.elem_type, merged)
