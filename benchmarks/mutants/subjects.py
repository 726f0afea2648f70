"""What is mutated, and how one example tells on a mutant: rules, what knows runtimes, passes, kernels."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import os
import pickle
import tempfile
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import onnx

from benchmarks.mutants import examples, judge
from benchmarks.mutants.examples import ROOT, Collector, Coverage, Example, Kept, operators_in
from benchmarks.mutants.inputs import Inputs, NotDrawn, Values, shipped_as_bytes, shipped_from_bytes

SAME = "same output"
"""Byte for byte what the unchanged code makes."""
KILLED = "killed by proof"
REFUSED = "refused"
REJECTED = "rejected by the checker"
UNPROVEN = "unproven"
WEAK = "weakly proven"
FAULT = "fault"
TOLD = "killed by a runtime"
"""Of kernels: onnxruntime or onnx.reference, which agrees with the unchanged kernel, gives something else."""
REJECTS = "rejects its inputs"
"""Of kernels: what the unchanged one takes."""
EQUIVALENT = "equivalent"
NOT_LOADED = "not loaded by onnxruntime"
"""Which loads what the unchanged code makes; whoever executes both finds no difference."""
UNJUDGED = "unjudged"
SURVIVED = "survived"
_SINGLE_ELEMENTS = "single elements"
TESTED = "caught by its test"
"""Executors differ, our evaluator does not, and a test that runs the changed line fails: what a rule does for
the sake of runtimes is held by its test, not by the proof."""


@dataclass(frozen=True)
class Verdict:
    """What one example says of a mutant."""

    outcome: str
    detail: str = ""
    judged_by: str = ""
    inputs: int = 0
    seen_by_evaluator: bool = False
    """Whether our own evaluator shows the difference on that input, too."""


class Subject(ABC):
    """A kind of code to mutate. Nothing of it may be imported before the mutant is in its place."""

    name: str
    folder: str
    """Its modules are in here."""
    left_out: frozenset[str] = frozenset()
    """Modules that hold no code of the kind."""
    sources: Sequence[str]
    """Patterns of the files that the examples and their coverage depend on."""
    most_per_line: int = examples.MOST_PER_LINE
    """So many examples are kept for a line."""

    @property
    def paths(self) -> list[str]:
        """The modules to mutate, relative to the project's root."""
        files = sorted((ROOT / self.folder).rglob("*.py"))
        return [str(one.relative_to(ROOT)) for one in files if one.name not in {"__init__.py", *self.left_out}]

    @abstractmethod
    def prepare(self) -> None:
        """Import all that is not mutated, once, before processes are forked."""

    @abstractmethod
    def collect(self, collector: Collector, tests: Sequence[str] = ()) -> None:
        """Run every example under the collector; with `tests`, those alone that these test files give."""

    @abstractmethod
    def verdict(self, kept: Kept, *, proves: bool) -> Verdict:
        """What the code as it now is makes of an example. Without `proves`, all that computes is taken for equal."""


def _import(*modules: str) -> None:
    """Import modules and what takes a while in them, so that forked processes need not."""
    for module in modules:
        importlib.import_module(module)
    importlib.import_module("opsetlift.specification.history").histories()
    importlib.import_module("onnxruntime").set_default_logger_severity(4)


def _result_bytes(model: onnx.ModelProto) -> bytes:
    return bytes(model.SerializeToString(deterministic=True))


def _run_without_output(*paths: str) -> None:
    """Run test files for what they hand to the recorder; whether they pass does not matter."""
    import pytest

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", *[str(ROOT / path) for path in paths]])


def is_caught_by_a_test(names: Sequence[str]) -> bool:
    """Whether one of the tests of these examples fails, run with the code as it now is."""
    import pytest

    tests = list(dict.fromkeys(name.removesuffix(f", {_SINGLE_ELEMENTS}") for name in names if "::" in name))
    with contextlib.chdir(ROOT):
        status = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", *tests])
    return bool(tests) and status == pytest.ExitCode.TESTS_FAILED


def _shipped(model: onnx.ModelProto, data_sets: Sequence[dict[str, Any]]) -> list[dict[str, bytes]]:
    found = [shipped_as_bytes(values) for values in data_sets]
    return [one for one in found if one is not None and sum(map(len, one.values())) < 100_000]


def _node_examples(*, expanded: bool = False) -> Iterator[tuple[str, onnx.ModelProto, list[dict[str, bytes]]]]:
    """ONNX's own tests, those that differ in more than values."""
    from testing.corpus import all_cases, chosen_cases

    for index in chosen_cases(None, "", expanded=expanded, all_kinds=False):
        case = all_cases(None)[index]
        yield (
            case.name,
            case.model,
            _shipped(case.model, [case.inputs(number) for number in range(len(case.data_sets))]),
        )


def _of_single_elements(example: Example) -> Example | None:
    """The same with every open size of the inputs 1: what a proof can try there is little. None where none is open."""
    model = example.proto
    found = False
    for info in model.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = 1
                found = True
    for info in (*model.graph.output, *model.graph.value_info):
        info.type.tensor_type.ClearField("shape")
    name = f"{example.name}, {_SINGLE_ELEMENTS}"
    return (
        dataclasses.replace(example, name=name, model=_result_bytes(model), variant=_SINGLE_ELEMENTS) if found else None
    )


def _example_models() -> Iterator[tuple[str, onnx.ModelProto]]:
    for path in sorted((ROOT / "examples/models").glob("*/model.onnx")):
        yield f"examples/models/{path.parent.name}", onnx.load(path)


class _Believed:
    """Stands in for a certificate or a proof while tests are recorded."""

    is_proven = True
    sites: tuple[Any, ...] = ()

    def summary(self) -> str:
        return ""


class Rules(Subject):
    """Conversions: the certificate against the judge."""

    name = "rules"
    folder = "rules/opsetlift_rules"
    sources = (
        "rules/**/*.py",
        "tests/rules/*.py",
        "tests/test_fallbacks*.py",
        "tests/test_walk.py",
        "converter/opsetlift/conversion/walk/**/*.py",
        "converter/opsetlift/facts/*.py",
        "converter/opsetlift/rulebook/**/*.py",
        "converter/opsetlift/targets/**/*.py",
        "converter/opsetlift/targets/**/*.toml",
    )

    _OPTIONS = frozenset(["to", "ir", "target", "exact"])

    def prepare(self) -> None:
        """Import the converter, the proof and all kernels, but no rule."""
        _import("opsetlift.pipeline.convert", "opsetlift.proof", "onnx.reference")
        importlib.import_module("opsetlift.evaluator.kernels.registry").all_kernels()

    def collect(self, collector: Collector, tests: Sequence[str] = ()) -> None:
        """Record the conversions of the rule tests, of ONNX's node tests and of the example models."""
        self._record_tests(collector, tests or ("tests/rules", "tests/test_walk.py", *self._tests_of_fallbacks()))
        for example in collector.examples:
            if small := _of_single_elements(example):
                self._trace(collector, small)
        if tests:
            return
        for name, model, shipped in _node_examples():
            for target in self._targets(model):
                self._trace(collector, Example(f"{name} to {target}", _result_bytes(model), {"to": target}, shipped))
        for name, model in _example_models():
            for target in (7, 9, 11, 13, 18, 21, 23):
                self._trace(collector, Example(f"{name} to {target}", _result_bytes(model), {"to": target}))

    @staticmethod
    def _tests_of_fallbacks() -> list[str]:
        return sorted(str(one.relative_to(ROOT)) for one in (ROOT / "tests").glob("test_fallbacks*.py"))

    @staticmethod
    def _targets(model: onnx.ModelProto) -> list[int | dict[str, int]]:
        """On either side of each version of the operators, in ai.onnx and in ai.onnx.ml."""
        from opsetlift.specification.history import history

        targets: list[int | dict[str, int]] = []
        opsets = {entry.domain if entry.domain != "ai.onnx" else "": entry.version for entry in model.opset_import}
        for domain in ("", "ai.onnx.ml"):
            goals: set[int] = set()
            for operator in set(operators_in(model.graph)):
                found = history(domain, operator)
                if domain in opsets and found is not None:
                    for version in found.definitions:
                        goals.add(version if version > opsets[domain] else version - 1)
            targets += [{domain: goal} if domain else goal for goal in sorted(goals) if 0 < goal != opsets[domain]]
        return targets

    def _trace(self, collector: Collector, example: Example) -> None:
        if collector.is_new(example):
            with collector.tracing(example) as outcome:
                outcome.append(self._attempt(example))

    def _attempt(self, example: Example) -> tuple[str, bytes]:
        from opsetlift import ConversionRefused, convert

        try:
            return SAME, _result_bytes(convert(example.proto, **example.options, prove=False, check=False).model)
        except ConversionRefused:
            return REFUSED, b""
        except Exception as error:
            return FAULT, f"{type(error).__name__}: {error}"[:200].encode()

    def _record_tests(self, collector: Collector, tests: Sequence[str]) -> None:
        import opsetlift
        from opsetlift.pipeline.convert import convert

        def recording(model: Any, **options: Any) -> Any:
            known = {name: value for name, value in options.items() if name in self._OPTIONS and value is not None}
            left = {name: value for name, value in options.items() if name not in known and value is not None}
            simple = left.keys() <= {"prove", "check", "seed", "base_dir"} and not options.get("base_dir")
            # A description that a test writes to a file is gone by the time the mutants run.
            simple &= isinstance(known.get("target", ""), str) and ".toml" not in known.get("target", "")
            if not isinstance(model, onnx.ModelProto) or not simple:
                return convert(model, **options)
            test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
            example = Example(test, _result_bytes(model), {n: v for n, v in known.items() if v or n != "exact"})
            if not collector.is_new(example):
                return dataclasses.replace(
                    convert(model, **{**options, "prove": False, "check": False}), certificate=_Believed()
                )
            with collector.tracing(example) as outcome:
                try:
                    found = convert(model, **{**options, "prove": False, "check": False})
                    outcome.append((SAME, _result_bytes(found.model)))
                except opsetlift.ConversionRefused:
                    outcome.append((REFUSED, b""))
                    raise
            return dataclasses.replace(found, certificate=_Believed())

        opsetlift.convert = recording  # type: ignore[assignment]
        try:
            _run_without_output(*tests)
        finally:
            opsetlift.convert = convert

    def verdict(self, kept: Kept, *, proves: bool) -> Verdict:
        """Convert again with the mutated rule; where the result differs, ask the proof, then the judge."""
        from opsetlift import ConversionRefused, NotEquivalent, convert
        from opsetlift.model.files import ModelFileError

        outcome, result = self._attempt(kept.example)
        if (outcome, result) == (kept.outcome, kept.result) or (outcome == kept.outcome != SAME):
            return Verdict(SAME)
        if outcome == REFUSED:
            return Verdict(REFUSED)
        if outcome == FAULT:
            return Verdict(FAULT, result.decode())
        ulps = 0
        model = onnx.ModelProto.FromString(result)
        if proves:
            try:
                certificate = convert(kept.example.proto, **kept.example.options).certificate
            except NotEquivalent as error:
                return Verdict(KILLED, error.certificate.summary()[:300])
            except ModelFileError as error:
                return Verdict(REJECTED, str(error)[:200])
            except ConversionRefused as error:
                return Verdict(REFUSED, str(error)[:200])
            except Exception as error:
                return Verdict(FAULT, f"{type(error).__name__}: {error}"[:200])
            assert certificate is not None
            outcomes = {one.outcome.name for one in certificate.sites}
            if not certificate.is_proven:
                is_weak = "WEAK" in outcomes and "UNPROVEN" not in outcomes
                return Verdict(WEAK if is_weak else UNPROVEN, certificate.summary()[:300])
            ulps = max((one.ulps for one in certificate.sites), default=0)
        baseline = onnx.ModelProto.FromString(kept.result) if kept.outcome == SAME else None
        return _judged(kept.example, model, baseline, ulps)


class Targets(Rules):
    """What decides whether a runtime takes a node: conversions for runtimes, which tests have to tell apart.

    No proof says that a fallback was needed: with one and without one the results are equal.
    """

    name = "targets"
    folder = "converter/opsetlift/targets"
    left_out = frozenset(["finding.py", "reading.py", "kernel_file.py", "signature_file.py"])  # what reads the files
    sources = (*Rules.sources, "tests/test_targets.py")
    most_per_line = 400  # every conversion runs most of them

    def prepare(self) -> None:
        """Import what takes long and knows nothing of runtimes."""
        _import("opsetlift.evaluator", "opsetlift.facts", "onnx.reference")
        importlib.import_module("opsetlift.evaluator.kernels.registry").all_kernels()

    def collect(self, collector: Collector, tests: Sequence[str] = ()) -> None:
        """Record the conversions of the tests of fallbacks and targets."""
        self._record_tests(collector, tests or (*self._tests_of_fallbacks(), "tests/test_targets.py"))

    def verdict(self, kept: Kept, *, proves: bool) -> Verdict:
        """Convert again; where the result differs, a test has to fail."""
        outcome, result = self._attempt(kept.example)
        if (outcome, result) == (kept.outcome, kept.result):
            return Verdict(SAME)
        if outcome == FAULT:
            return Verdict(FAULT, result.decode())
        return Verdict(SURVIVED, "another result" if outcome == kept.outcome else f"{kept.outcome} became {outcome}")


def _judged(example: Example, model: onnx.ModelProto, baseline: onnx.ModelProto | None, ulps: int) -> Verdict:
    shipped = [shipped_from_bytes(one) for one in example.shipped]
    opinion = judge.judged(example.proto, model, baseline, shipped=shipped, ulps=ulps)
    if opinion is None:
        return Verdict(UNJUDGED)
    if opinion.not_loaded and not opinion.difference:
        return Verdict(NOT_LOADED, opinion.not_loaded, opinion.executor, opinion.inputs)
    if not opinion.difference:
        return Verdict(EQUIVALENT, "", opinion.executor, opinion.inputs)
    cause = "our evaluator shows it, too" if opinion.seen_by_evaluator else "our evaluator does not show it"
    seen = bool(opinion.seen_by_evaluator)
    return Verdict(SURVIVED, f"{opinion.difference}; {cause}", opinion.executor, opinion.inputs, seen)


class Passes(Subject):
    """Normalisations: the proof of the whole model against the judge."""

    name = "passes"
    folder = "converter/opsetlift/normalizer/passes"
    sources = (
        "converter/opsetlift/normalizer/**/*.py",
        "tests/normalize/*.py",
        "testing/*.py",
        "converter/opsetlift/facts/*.py",
    )

    def prepare(self) -> None:
        """Import what rules need, and the normaliser without its passes."""
        SUBJECTS["rules"].prepare()
        _import("opsetlift.normalizer")

    def collect(self, collector: Collector, tests: Sequence[str] = ()) -> None:
        """Record the normalisations of the pass tests, of random graphs, and of models of several nodes."""
        self._record_tests(collector, tests or self._tests())
        if tests:
            return
        from testing.random_graphs import random_graph

        for seed in range(400):
            self._trace(
                collector, Example(f"random graph {seed}", _result_bytes(random_graph(seed)), {"passes": ("all",)})
            )
        for name, model in _example_models():
            self._trace(collector, Example(name, _result_bytes(model), {"passes": ("all",)}))
        for name, model, shipped in _node_examples(expanded=True):
            if len(model.graph.node) > 3:
                self._trace(collector, Example(name, _result_bytes(model), {"passes": ("all",)}, shipped))

    def _trace(self, collector: Collector, example: Example) -> None:
        if collector.is_new(example):
            with collector.tracing(example) as outcome:
                outcome.append(self._attempt(example)[:2])

    def _attempt(self, example: Example) -> tuple[str, bytes, int]:
        """The model after the passes, without proof, and how far they may round."""
        from opsetlift.pipeline.normalize import normalize

        options = {**example.options, "passes": list(example.options["passes"])}
        try:
            found = normalize(example.proto, **options, prove=False, check=False)
        except Exception as error:
            return FAULT, f"{type(error).__name__}: {error}"[:200].encode(), 0
        ulps = sum(getattr(one, "ulps", 0) for one in found.report.passes if getattr(one, "changes", 0))
        return SAME, _result_bytes(found.model), ulps

    @staticmethod
    def _tests() -> list[str]:
        """Those that take their time over other things than passes are left out."""
        found = [one.name for one in sorted((ROOT / "tests/normalize").glob("test_*.py"))]
        slow = {"test_corpus.py", "test_random_graphs.py", "test_own_words.py", "test_repetitions.py", "test_cli.py"}
        return [f"tests/normalize/{name}" for name in found if name not in slow]

    def _record_tests(self, collector: Collector, tests: Sequence[str]) -> None:
        package = importlib.import_module("opsetlift.pipeline.normalize")
        original = package.normalize

        def recording(model: Any, passes: Any = None, **options: Any) -> Any:
            named = ("default",) if passes is None else tuple(passes) if isinstance(passes, list | tuple) else None
            simple = isinstance(model, onnx.ModelProto) and named and all(isinstance(one, str) for one in named)
            simple = simple and options.keys() <= {"prove", "check", "seed", "size_limit"}
            if simple:
                sizes = {"size_limit": options["size_limit"]} if "size_limit" in options else {}
                test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
                self._trace(collector, Example(test, _result_bytes(model), {"passes": named, **sizes}))
            options = {**options, "prove": False, "check": False}
            return dataclasses.replace(original(model, passes, **options), proof=_Believed())

        package.normalize = recording
        try:
            _run_without_output(*tests)
        finally:
            package.normalize = original

    def verdict(self, kept: Kept, *, proves: bool) -> Verdict:
        """Normalise again with the mutated pass; where the result differs, ask the proof, then the judge."""
        from opsetlift.model.files import ModelFileError, check_model
        from opsetlift.normalizer import prove_passes
        from opsetlift.proof import Outcome

        outcome, result, ulps = self._attempt(kept.example)
        if (outcome, result) == (kept.outcome, kept.result) or outcome == kept.outcome == FAULT:
            return Verdict(SAME)
        if outcome == FAULT:
            return Verdict(FAULT, result.decode())
        model = onnx.ModelProto.FromString(result)
        if proves:
            source = kept.example.proto
            try:
                check_model(model, original=source)
            except ModelFileError as error:
                return Verdict(REJECTED, str(error)[:200])
            proof = prove_passes(source, model, ulps=ulps, seed=0, base_dir="")
            if proof.outcome is Outcome.DIFFERENT:
                return Verdict(KILLED, proof.reason[:300])
            if proof.outcome is not Outcome.EQUAL:
                return Verdict(WEAK if proof.outcome.name == "WEAK" else UNPROVEN, proof.reason[:300])
        baseline = onnx.ModelProto.FromString(kept.result) if kept.outcome == SAME else None
        return _judged(kept.example, model, baseline, ulps)


class Kernels(Subject):
    """Executions: our evaluator with a mutated kernel against onnxruntime and the outputs that ONNX ships.

    A mutant is killed where onnxruntime, which agrees with the unchanged kernel, disagrees with the mutated one.
    """

    name = "kernels"
    folder = "converter/opsetlift/evaluator/kernels"
    left_out = frozenset(["registry.py"])
    sources = ("converter/opsetlift/evaluator/**/*.py", *Rules.sources)
    _INPUTS = 16
    _LARGEST = 1 << 18
    """Examples whose runs take more bytes are left out: there are thousands, and all are in memory at once."""
    _MOST_ELEMENTS = 1 << 20
    """Where drawn numbers are lengths, they ask for more memory than there is."""

    def prepare(self) -> None:
        """Import the converter and the evaluator without its kernels."""
        _import("opsetlift.pipeline.convert", "opsetlift.evaluator", "onnx.reference")

    def collect(self, collector: Collector, tests: Sequence[str] = ()) -> None:
        """Record executions of ONNX's node tests and of the models before and after the rules' conversions."""
        rules = coverage_of(SUBJECTS["rules"], tests)
        for name, model, shipped in () if tests else _node_examples():
            self._trace(collector, Example(name, _result_bytes(model), {}, shipped))
        for kept in rules.kept:
            example = kept.example
            self._trace(collector, Example(example.name, example.model, {}, example.shipped))
            if kept.outcome == SAME:
                converted = Example(f"{example.name}, converted", kept.result, {}, example.shipped)
                self._trace(collector, converted)

    def _trace(self, collector: Collector, example: Example) -> None:
        if not collector.is_new(example):
            return
        with collector.tracing(example) as outcome:
            runs = self._runs(example)
            content = pickle.dumps(runs)
            if any(run.results is not None for run in runs) and len(content) <= self._LARGEST:
                outcome.append((SAME, content))

    def _runs(self, example: Example, given: Sequence[Values] | None = None) -> list[KernelRun]:
        """What the evaluator makes of inputs, those given or such as are drawn."""
        from opsetlift.evaluator import Evaluator

        found: list[KernelRun] = []
        model = example.proto
        try:
            evaluator = Evaluator(model, iteration_limit=200, element_limit=self._MOST_ELEMENTS)
        except Exception:
            return found
        inputs = Inputs(model, 0, [shipped_from_bytes(one) for one in example.shipped])
        with contextlib.suppress(NotDrawn):
            for values in islice(inputs, 3 * self._INPUTS) if given is None else given:
                try:
                    results = list(evaluator.run(values).values())
                    inputs.take(values)
                except Exception:
                    results = None
                found.append(KernelRun(values, results))
                if given is None and sum(one.results is not None for one in found) >= self._INPUTS:
                    break
        return found

    def verdict(self, kept: Kept, *, proves: bool) -> Verdict:
        """Execute again with the mutated kernel; where results differ, compare with onnxruntime and onnx.reference."""
        before: list[KernelRun] = pickle.loads(kept.result)
        after = self._runs(kept.example, [one.values for one in before])
        if not after:
            return Verdict(REJECTS)
        changed = [
            (one, other.results)
            for one, other in zip(before, after, strict=True)
            if pickle.dumps(one.results) != pickle.dumps(other.results)
            and (
                one.results is None or other.results is None or judge.difference(one.results, other.results, 0, slack=0)
            )
        ]
        if not changed:
            return Verdict(SAME)
        if not proves:
            return Verdict(SURVIVED, "nobody was asked")
        verdicts = [self._told(kept.example, one, results) for one, results in changed]
        return next(
            (one for wanted in (TOLD, REJECTS, EQUIVALENT) for one in verdicts if one.outcome == wanted), verdicts[0]
        )

    @staticmethod
    def _told(example: Example, before: KernelRun, results: list[Any] | None) -> Verdict:
        """Whether onnxruntime or onnx.reference, which has to agree with the unchanged kernel, tells the two apart."""
        if before.results is None:
            return Verdict(UNJUDGED, "takes what the unchanged kernel rejects")
        if results is None:
            return Verdict(REJECTS)
        for executor in ("onnxruntime", "onnx.reference"):
            try:
                theirs = judge.EXECUTORS[executor](example.proto)(before.values)
            except Exception:
                continue
            if judge.difference(theirs, before.results, 0, slack=_ROUNDING):
                continue
            found = judge.difference(theirs, results, 0, slack=_ROUNDING)
            return Verdict(TOLD if found else EQUIVALENT, found, executor, 1)
        return Verdict(UNJUDGED, judge.difference(before.results, results, 0, slack=0))


@dataclass(frozen=True)
class KernelRun:
    """Inputs, and what the unchanged evaluator makes of them; None where it rejects them."""

    values: Values
    results: list[Any] | None


_ROUNDING = 64
"""Units in the last place of the largest magnitude that two implementations of a kernel may be apart."""

SUBJECTS: dict[str, Subject] = {one.name: one for one in (Rules(), Targets(), Passes(), Kernels())}


def coverage_of(
    subject: Subject, tests: Sequence[str] = (), *, say: Callable[[str], None] = lambda _: None
) -> Coverage:
    """What exercises what: read, or collected in a process of its own and kept; with `tests`, in these files alone."""
    if tests:
        with tempfile.TemporaryDirectory() as folder:
            return _collected(subject, tests, Path(folder, "coverage.gz"))
    path = examples.cache_file(subject.name, subject.sources)
    found = examples.load(path)
    if found is None:
        say(f"collecting what exercises which line of {subject.folder}")
        found = _collected(subject, (), path)
    return found


def _collected(subject: Subject, tests: Sequence[str], path: Path) -> Coverage:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            collector = Collector(subject.folder, subject.most_per_line)
            subject.collect(collector, tests)
            examples.save(collector.coverage(), path)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    found = examples.load(path)
    if status or found is None:
        raise RuntimeError(f"the examples for {subject.folder} could not be collected")
    return found
