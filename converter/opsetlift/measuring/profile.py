"""Measures a runtime: opsets and IR versions that load, then every case of every operator version at those opsets."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy
import onnx
from onnx import ModelProto, parser

from opsetlift.evaluator import Evaluator
from opsetlift.measuring.cases import Case, cases_of
from opsetlift.measuring.contributed import lacking
from opsetlift.measuring.examples import OLDEST_OPSET, examples, released_with
from opsetlift.measuring.learning import Answered, Pattern, grids_of, patterns_of, tells_dtypes, untold
from opsetlift.measuring.packs import Runs, verdicts
from opsetlift.measuring.runner import RunnerFault
from opsetlift.measuring.verdicts import difference_of_outputs
from opsetlift.model.ir_version import minimum_for_opsets
from opsetlift.specification.dtypes import dtype_name, element_type, numpy_dtype
from opsetlift.specification.history import AI_ONNX, AI_ONNX_ML, history, latest_opset
from opsetlift.targets import Range

Key = tuple[str, str, int]

FALSE_SHAPES, OPEN_DIMENSIONS, FUNCTIONS = "false_shapes", "open_dimensions", "functions"
UNNAMED_DIMENSIONS, CAPTURED_INITIALIZERS = "unnamed_dimensions", "captured_initializers"
INPUTS_AS_OUTPUTS, INITIALIZERS_AS_OUTPUTS = "inputs_as_outputs", "initializers_as_outputs"
OUTPUTS_BESIDE_OTHERS, OUTPUTS_LOST_WHERE_READ = "outputs_beside_others", "outputs_lost_where_read"

PROBES = (
    FUNCTIONS,
    OPEN_DIMENSIONS,
    FALSE_SHAPES,
    UNNAMED_DIMENSIONS,
    CAPTURED_INITIALIZERS,
    INPUTS_AS_OUTPUTS,
    INITIALIZERS_AS_OUTPUTS,
    OUTPUTS_BESIDE_OTHERS,
)
"""What is asked about models as a whole: keys of target files."""

_PROBES = {
    "stamp": "(float[2] x) => (float[2] y) { y = Neg (x) }",
    OPEN_DIMENSIONS: "(float[n, 3] x) => (float[n, 3] y) { z = Relu (x) y = Neg (z) }",
    FALSE_SHAPES: "(float[2] x) => (float[3] y) { y = Neg (x) }",
    UNNAMED_DIMENSIONS: (
        "(float[?, 3] x, float[2, 3] w) => (float[?, 3] z, float[2, ?] y) { z, y = Scan <num_scan_inputs = 1, "
        "body = each (float[?, ?] held, float[?] row) => (float[?, ?] same, float[?] lengths) { same = Identity (held) "
        "d = Sub (held, row) lengths = ReduceSumSquare <axes = [1], keepdims = 0> (d) }> (x, w) }"
    ),
    CAPTURED_INITIALIZERS: (
        "(float[3] x, float[2, 3] w) => (float[3] y, float[2, 3] z) <float[3] c = {1, 2, 3}> { y, z = Scan "
        "<num_scan_inputs = 1, body = each (float[3] held, float[3] row) => (float[3] same, float[3] sums) { "
        "same = Identity (held) d = Add (held, row) sums = Add (d, c) }> (x, w) }"
    ),
    INPUTS_AS_OUTPUTS: "(float[2] x) => (float[2] y, float[2] x) { y = Neg (x) }",
    INITIALIZERS_AS_OUTPUTS: "(float[2] x) => (float[2] y, float[2] w) <float[2] w = {1, 2}> { y = Neg (x) }",
    OUTPUTS_BESIDE_OTHERS: "(float[4] x) => (float[2] y, float[2] z) { y, z = Split <axis = 0> (x) }",
    OUTPUTS_LOST_WHERE_READ: (
        "(float[2, 3] x) => (float[2, 3] y, float[3] z) <float s = {0.5}, uint8 p = {3}, int64 i = {1}> { "
        "q = QuantizeLinear (x, s, p) y = DequantizeLinear (q, s, p) g = Gather (y, i) r = QuantizeLinear (g, s, p) "
        "z = DequantizeLinear (r, s, p) }"
    ),
    FUNCTIONS: (
        "(float[2] x) => (float[2] y) { y = local.outer (x, x) } "
        '<domain: "local", opset_import: ["": %d, "local": 1]> outer (a, unused) => (b) { '
        "is_so = Constant <value = bool {1}> () c = local.twice (a) "
        "b = If (is_so) <then_branch = called () => (d) { d = local.twice (c) }, "
        "else_branch = captured () => (e) { e = Neg (c) }> } "
        '<domain: "local", opset_import: ["": %d]> twice (a) => (b) { b = Add (a, a) }'
    ),
}
"""Graphs that tell what a runtime makes of a model as a whole, in ONNX's textual form."""

_NEIGHBOURS = {
    OUTPUTS_BESIDE_OTHERS: (
        "(float[4] x) => (float[2] y, float[2] z) { a, b = Split <axis = 0> (x) y = Identity (a) z = Identity (b) }"
    ),
    OUTPUTS_LOST_WHERE_READ: (
        "(float[2, 3] x) => (float[2, 3] y, float[3] z) <float s = {0.5}, uint8 p = {3}, int64 i = {1}> { "
        "q = QuantizeLinear (x, s, p) y = DequantizeLinear (q, s, p) a = Sum (y) g = Gather (a, i) "
        "r = QuantizeLinear (g, s, p) z = DequantizeLinear (r, s, p) }"
    ),
    UNNAMED_DIMENSIONS: (
        "(float[2, 3] x, float[2, 3] w) => (float[2, 3] z, float[2, 2] y) { z, y = Scan <num_scan_inputs = 1, "
        "body = each (float[2, 3] held, float[3] row) => (float[2, 3] same, float[2] lengths) { same = Identity (held) "
        "d = Sub (held, row) lengths = ReduceSumSquare <axes = [1], keepdims = 0> (d) }> (x, w) }"
    ),
    CAPTURED_INITIALIZERS: (
        "(float[3] x, float[2, 3] w) => (float[3] y, float[2, 3] z) { y, z = Scan <num_scan_inputs = 1, "
        "body = each (float[3] held, float[3] row) => (float[3] same, float[3] sums) { same = Identity (held) "
        "c = Constant <value = float[3] {1, 2, 3}> () d = Add (held, row) sums = Add (d, c) }> (x, w) }"
    ),
}
"""The same without what is asked for: a runtime that does not run these lacks something else, as Scan."""

_DTYPES_OF_INPUTS = [
    "bool",
    "double",
    "float16",
    "int16",
    "int32",
    "int64",
    "int8",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]
"""Those of which numpy's files hold values."""

_OPSET_OF_CASTS = 11
_OPSET_OF_QUANTIZATION = 10

_OPSETS = {
    FUNCTIONS: 15,
    UNNAMED_DIMENSIONS: 9,
    CAPTURED_INITIALIZERS: 9,
    OUTPUTS_BESIDE_OTHERS: 13,
    OUTPUTS_LOST_WHERE_READ: 13,
}
"""The opsets of probes with several operators: one without a kernel at the newest opset says nothing of the probe."""

_ML_PROBE = "(float[2] x) => (float[2] y) { y = ai.onnx.ml.Binarizer <threshold = 0.5> (x) }"

_FEWEST_BEHIND = 8
"""Operators behind another one, below which that most of them fail may be their own doing."""
_AS_MANY_AS_BEFORE = 0.75
"""A runtime that ignores opsets has one if it computes at least such a share of what it does of older ones."""

_FEWEST_OF_AN_OPSET = 5
"""Of an opset with fewer new operator versions nothing can be told by their share."""


@dataclass
class Profile:
    """What was measured of a runtime."""

    opset: Range | None = None
    ml_opset: Range | None = None
    ir_versions: Range | None = None
    takes: dict[str, bool] = field(default_factory=dict)
    """What `_PROBES` has beside the stamp: whether a model with it runs."""
    kernels: dict[Key, list[dict[str, list[str]]]] = field(default_factory=dict)
    patterns: dict[Key, list[Pattern]] = field(default_factory=dict)
    untold: dict[Key, int] = field(default_factory=dict)
    """How many cases fail that none of the patterns tells from others."""
    contributed_lacking: list[str] = field(default_factory=list)
    """Operators of com.microsoft that it does not compute, or not of some dtype."""
    inputs_refused: list[str] = field(default_factory=list)
    """Dtypes that it computes but does not take as inputs of a model."""
    tried: int = 0
    right: int = 0


class JournalFault(Exception):
    """A file is no journal, and must not be appended to; the message is one sentence."""


class Journal:
    """The verdicts so far, in a file that is read again after an interruption.

    Raises:
        JournalFault: There is another file at the path.
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, str] = {}
        if path is not None and path.exists():
            self._known = _verdicts_in(path)

    def __len__(self) -> int:
        return len(self._known)

    def verdicts(self, cases: Sequence[Case], runner: Runs) -> list[Answered]:
        """What is known of some cases, or what the runtime answers now."""
        new = [case for case in cases if case.identity not in self._known]
        for case, said in verdicts(new, runner):
            self._known[case.identity] = said
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([case.identity, said]) + "\n")
        return [Answered(case, self._known[case.identity]) for case in cases]


def _verdicts_in(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise JournalFault(f"{path} is not a regular file, so it cannot be a journal")
    known: dict[str, str] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.startswith(b'["'[: len(line)]):
            raise JournalFault(f"line {number} of {path} does not belong to a journal; name another file")
        try:
            identity, said = json.loads(line)
        except ValueError:  # a run was stopped while it wrote
            continue
        known[str(identity)] = str(said)
    return known


def measure(
    cases: Iterable[tuple[Key, Iterable[Case]]],
    runner: Runs,
    journal: Journal,
    report: Callable[[str], None] = lambda _: None,
) -> Profile:
    """Run every case that the runtime may know, and say what it computes.

    Args:
        cases: The cases of each operator version, those of old opsets first.
        runner: The runtime.
        journal: What is known of an earlier run.
        report: Takes a line on the progress after each operator version.
    """
    found = Profile()
    loaded = [opset for opset in range(1, latest_opset() + 1) if _runs(runner, _model("stamp", opset))]
    if not loaded:
        said = runner.run(_model("stamp", OLDEST_OPSET), {"x": numpy.zeros(2, numpy.float32)}).error
        raise RunnerFault(f"it runs no model at any opset{said and ': '}{said}")
    newest = max(loaded)
    found.ir_versions = _ir_versions(runner, newest)
    ml_loaded = [one for one in range(1, latest_opset(AI_ONNX_ML) + 1) if _runs(runner, _ml_model(one, newest))]
    answers: dict[Key, list[Answered]] = {}
    last = {AI_ONNX: newest, AI_ONNX_ML: max(ml_loaded, default=0)}
    for key, those in cases:
        domain, operator, since = key
        if since > last[domain]:
            continue
        if last[domain] == latest_opset(domain) and _lacks(since - 1, domain, answers):
            last[domain] = since - 2
            continue
        answers[key] = journal.verdicts([case for case in those if case.opset <= last[domain]], runner)
        right = sum(one.is_right for one in answers[key])
        found.tried += len(answers[key])
        found.right += right
        report(f"{operator}-{since}: {right} of {len(answers[key])}; {found.tried} models so far")
    for domain, opset in last.items():
        if opset == latest_opset(domain) and _lacks(opset, domain, answers):
            last[domain] = opset - 1
    _learn(found, {key: those for key, those in answers.items() if those})
    found.opset = Range(max(OLDEST_OPSET, min(loaded)), last[AI_ONNX])
    if ml_loaded:
        found.ml_opset = Range(1, max(1, last[AI_ONNX_ML]))
    for probe in (*PROBES, OUTPUTS_LOST_WHERE_READ):
        opset = found.opset.nearest(_OPSETS.get(probe, newest))
        if probe == OUTPUTS_LOST_WHERE_READ and opset < _OPSET_OF_QUANTIZATION:
            continue
        found.takes[probe] = _runs(runner, _model(probe, opset)) or not _runs_neighbour(runner, probe, opset)
    opset = found.opset.nearest(_OPSET_OF_CASTS)
    ir_version = found.ir_versions.nearest(minimum_for_opsets({AI_ONNX: opset}))
    found.contributed_lacking = list(lacking(runner.run, opset, max(4, ir_version)))
    found.inputs_refused = [dtype for dtype in _DTYPES_OF_INPUTS if _refuses_inputs(runner, dtype, found.opset)]
    return found


def _runs_neighbour(runner: Runs, probe: str, opset: int) -> bool:
    text = _NEIGHBOURS.get(probe)
    return text is None or _runs(runner, _parsed(_stamped(text, opset)))


def _refuses_inputs(runner: Runs, dtype: str, opsets: Range) -> bool:
    """Whether it computes a dtype, but takes no input of it."""
    number = element_type(dtype)
    computed = "Greater (x, half)" if dtype == "bool" else f"Cast <to = {number}> (x)"
    given = f"({dtype}[2] x) => (float[2] y) {{ y = Cast <to = 1> (x) }}"
    inside = f"(float[2] x) => (float[2] y) <float half = {{0.5}}> {{ c = {computed} y = Cast <to = 1> (c) }}"
    opset = opsets.nearest(_OPSET_OF_CASTS)
    return not _runs(runner, _of_text(given, opset)) and _runs(runner, _of_text(inside, opset))


def _of_text(graph: str, opset: int) -> ModelProto:
    ir_version = max(4, minimum_for_opsets({AI_ONNX: opset}))
    return _parsed(f'<ir_version: {ir_version}, opset_import: ["": {opset}]> measured {graph}')


def _lacks(opset: int, domain: str, answers: Mapping[Key, Sequence[Answered]]) -> bool:
    """Whether the runtime computes clearly fewer of the operator versions of an opset than of those before it."""
    before: list[bool] = []
    here: list[bool] = []
    computed = {key: any(one.is_right for one in those) for key, those in answers.items()}
    for (other, operator, since), is_computed in computed.items():
        older = [one for key, one in computed.items() if key[:2] == (other, operator) and key[2] < since]
        if other == domain and since < opset:
            before.append(is_computed)
        elif other == domain and since == opset and (domain == AI_ONNX_ML or any(older)):
            here.append(is_computed)
    if domain == AI_ONNX_ML and here and not any(here):
        return True
    if len(here) < _FEWEST_OF_AN_OPSET or not before:
        return False
    return sum(here) / len(here) < _AS_MANY_AS_BEFORE * sum(before) / len(before)


def without_failing_producers(answers: Mapping[Key, Sequence[Answered]]) -> dict[Key, list[Answered]]:
    """Leave out the failures behind operators behind which most others fail: those tell of the first operator."""
    tried: dict[str, dict[str, bool]] = {}
    for (_, operator, _), those in answers.items():
        for one in those:
            for producer in _producers(one):
                behind = tried.setdefault(producer, {})
                behind[operator] = behind.get(operator, False) or one.is_right
    failing = {
        producer
        for producer, behind in tried.items()
        if len(behind) >= _FEWEST_BEHIND and 2 * sum(behind.values()) < len(behind)
    }
    return {
        key: [one for one in those if one.is_right or not failing & _producers(one)] for key, those in answers.items()
    }


def _producers(answered: Answered) -> set[str]:
    return {str(one.value) for one in answered.case.features if one.key == "after"}


def _learn(found: Profile, answers: Mapping[Key, Sequence[Answered]]) -> None:
    for key, those in without_failing_producers(answers).items():
        operator = history(key[0], key[1])
        assert operator is not None
        definition = operator.definitions[key[2]]
        if definition.takes_subgraphs and not any(one.is_right for one in those):
            # That the few subgraphs of the tests do not run says nothing of others.
            continue
        grids = grids_of(those, definition)
        if tells_dtypes(those, definition) or not grids:
            found.kernels[key] = grids
        patterns = patterns_of(those, grids)
        if patterns:
            found.patterns[key] = patterns
        if left := untold(those, grids, patterns):
            found.untold[key] = left


def _model(probe: str, opset: int, ir_version: int = 0) -> ModelProto:
    if probe != FUNCTIONS:
        return _parsed(_stamped(_PROBES[probe], opset, ir_version))
    ir_version = ir_version or max(8, minimum_for_opsets({AI_ONNX: opset}))
    text = _PROBES[probe] % (opset, opset)
    return _parsed(f'<ir_version: {ir_version}, opset_import: ["": {opset}, "local": 1]> measured {text}')


def _stamped(text: str, opset: int, ir_version: int = 0) -> str:
    ir_version = ir_version or max(4, minimum_for_opsets({AI_ONNX: opset}))
    return f'<ir_version: {ir_version}, opset_import: ["": {opset}]> measured {text}'


def _ml_model(opset: int, newest: int) -> ModelProto:
    own = min(released_with(opset), newest)
    imports = {AI_ONNX: own, AI_ONNX_ML: opset}
    ir_version = max(4, minimum_for_opsets(imports))
    return _parsed(f'<ir_version: {ir_version}, opset_import: ["": {own}, "ai.onnx.ml": {opset}]> measured {_ML_PROBE}')


def _parsed(text: str) -> ModelProto:
    return parser.parse_model(text)


def _ir_versions(runner: Runs, opset: int) -> Range:
    """From 3, which all runtimes take, to the newest that loads in a row."""
    last = 3
    for ir_version in range(4, onnx.IR_VERSION + 1):
        if not _runs(runner, _model("stamp", opset, ir_version)):
            return Range(3, last)
        last = ir_version
    return Range(3, None)


def _runs(runner: Runs, model: ModelProto) -> bool:
    """Whether a model runs and gives what it should."""
    inputs = {}
    for info in model.graph.input:
        shape = [dim.dim_value or 2 for dim in info.type.tensor_type.shape.dim]
        dtype = numpy_dtype(dtype_name(info.type.tensor_type.elem_type))
        least = -1 if dtype == numpy.float32 else 0
        inputs[info.name] = numpy.linspace(least, 1, prod(shape), dtype=numpy.float32).reshape(shape).astype(dtype)
    expected: dict[str, Any] = Evaluator(model, strict=False).run(inputs)
    answer = runner.run(model, inputs)
    return not answer.error and not difference_of_outputs(expected, answer.outputs)


def all_cases(operators: Collection[str] = ()) -> Iterator[tuple[Key, Iterator[Case]]]:
    """The cases of every operator version that an example shows, or of those of some operators; old opsets first."""
    for key, those in sorted(examples(operators).items(), key=lambda item: (item[0][0], item[0][2], item[0][1])):
        yield key, cases_of(those)
