"""What normalisers do to models, beside each other: outputs that change, models that are invalid, nodes left, time.

    python -m benchmarks.normalize [--models FOLDER] [--only TEXT] [--without-node-tests] [--json FILE]
    python -m benchmarks.normalize --exports FOLDER [--only TEXT] [--normalisers NAMES] [--json FILE]

Ours, onnxsim, onnxslim, onnxoptimizer and the onnxscript optimizer (the extra `peers`; those that are not installed are
said) get the same models: the node tests of the installed onnx as they are, and the models in FOLDER (examples/models
by default; folders with model.onnx and inputs.npz), their input shapes fixed to those of the inputs. Each runs in a
process of its own, which is started anew where it crashes or takes more than a minute, with the options that it has by
itself. "ours, everything" also runs the passes that are not run unless they are asked for: those that round, and the
one that takes defaults of inputs for constants. For the models in FOLDER the commands that users type are timed, too,
from the start of the process to the written file.

With `--exports` the models are all files "*.onnx" in a folder and the folders in it, as they are, their inputs random;
a size that is open is the first of 2, 3, 1, 4, 8 and 16 that onnxruntime takes.

A result is *invalid* where onnx.checker takes the original and not the result, *changed* where its outputs are not
those of the original: within the test's tolerance, as several normalisers fuse what rounds. Both are executed by
onnxruntime, its optimisations off, or by our evaluator where onnxruntime does not run the original. *Failed* is where a
normaliser raises an error, crashes, or runs out of time. Nodes of subgraphs and functions count.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy
import onnx

from benchmarks.normalize_commands import command_table
from opsetlift.evaluator import Evaluator
from opsetlift.normalizer import node_count, with_fixed_shapes
from testing.cases import node_cases

OWN_MODELS = Path(__file__).parents[1] / "examples" / "models"
SECONDS = 60
REPEATS = 5
"""Runs of a model of FOLDER, of which the fastest counts; each node test is run once."""

Normaliser = Callable[[onnx.ModelProto], onnx.ModelProto]


def ours() -> Normaliser:
    """The passes that run by themselves, without the proof."""
    from opsetlift.pipeline.normalize import normalize

    return lambda model: normalize(model, prove=False).model


def ours_proven() -> Normaliser:
    """The same with its proof."""
    from opsetlift.pipeline.normalize import normalize

    return lambda model: normalize(model).model


def ours_everything() -> Normaliser:
    """Every pass, those that round included."""
    from opsetlift.pipeline.normalize import normalize

    return lambda model: normalize(model, ["all"], prove=False).model


def onnxsim() -> Normaliser:
    """onnxsim.simplify."""
    from onnxsim import simplify

    return lambda model: simplify(model)[0]


def onnxslim() -> Normaliser:
    """onnxslim.slim."""
    from onnxslim import slim

    return lambda model: slim(model)


def onnxoptimizer() -> Normaliser:
    """onnxoptimizer.optimize, again and again until nothing changes."""
    from onnxoptimizer import optimize

    return lambda model: optimize(model, fixed_point=True)


def onnxscript() -> Normaliser:
    """onnxscript.optimizer.optimize."""
    from onnxscript.optimizer import optimize

    return lambda model: optimize(model)


NORMALISERS: Mapping[str, tuple[str, Callable[[], Normaliser]]] = {
    "ours": ("opsetlift", ours),
    "ours with proof": ("opsetlift", ours_proven),
    "ours, everything": ("opsetlift", ours_everything),
    "onnxsim": ("onnxsim", onnxsim),
    "onnxslim": ("onnxslim", onnxslim),
    "onnxoptimizer": ("onnxoptimizer", onnxoptimizer),
    "onnxscript": ("onnxscript", onnxscript),
}
"""What has to be installed, and how to make it ready."""


@dataclass(frozen=True)
class Job:
    """A model to normalise, and the inputs on which its outputs are compared."""

    name: str
    model: onnx.ModelProto
    inputs: Mapping[str, Any]
    is_network: bool
    rtol: float = 1e-3
    atol: float = 1e-5


def node_jobs() -> Iterator[Job]:
    """The node tests of onnx."""
    for case in node_cases():
        yield Job(case.name, case.model, case.inputs(), False, case.rtol, max(case.atol, 1e-6))


def model_jobs(folder: Path) -> Iterator[Job]:
    """The models in a folder, their input shapes fixed."""
    for file in sorted(folder.glob("*/model.onnx")):
        inputs = dict(numpy.load(file.with_name("inputs.npz")))
        shapes = {name: value.shape for name, value in inputs.items()}
        yield Job(file.parent.name, with_fixed_shapes(onnx.load(file), shapes), inputs, True)


OPEN_SIZES = (2, 3, 1, 4, 8, 16)


def export_jobs(folder: Path) -> Iterator[Job]:
    """The models in a folder and the folders in it, with random inputs."""
    for file in sorted(folder.rglob("*.onnx")):
        model = onnx.load(file)
        choices = [drawn_inputs(model, size) for size in OPEN_SIZES]
        inputs = next((inputs for inputs in choices if runs(model, inputs)), choices[0])
        yield Job(str(file.relative_to(folder)), model, inputs, False)


def drawn_inputs(model: onnx.ModelProto, open_size: int) -> dict[str, Any]:
    """A random value for each input that has no default: normal floats, integers of 0 and 1."""
    generator = numpy.random.default_rng(0)
    defaults = {initializer.name for initializer in model.graph.initializer}
    found: dict[str, Any] = {}
    for info in model.graph.input:
        if info.name in defaults or not info.type.HasField("tensor_type"):
            continue
        kind = info.type.tensor_type
        shape = [dim.dim_value or open_size for dim in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        normal = generator.standard_normal(shape)
        found[info.name] = (normal if dtype.kind == "f" else normal > 0).astype(dtype)
    return found


def runs(model: onnx.ModelProto, inputs: Mapping[str, Any]) -> bool:
    """Whether onnxruntime executes the model on these inputs."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        session.run(None, dict(inputs))
    except Exception:  # onnxruntime has an exception type of its own for each of its statuses
        return False
    return True


@dataclass
class Score:
    """What a normaliser did to some models."""

    changed: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    nodes: Counter[str] = field(default_factory=Counter)
    """Nodes left by model; those that failed keep all."""
    seconds: Counter[str] = field(default_factory=Counter)
    """Of those that succeeded."""


def work(name: str, folder: Path, first: int) -> None:
    """In a process of its own: normalise the models of `folder` from the one of number `first` on."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    normalise = NORMALISERS[name][1]()
    jobs = json.loads((folder / "jobs.json").read_text())
    for number in range(first, len(jobs)):
        model = onnx.load(folder / f"{number}.onnx")
        signal.alarm(SECONDS)
        best = numpy.inf
        error = ""
        for _ in range(REPEATS if jobs[number]["is_network"] else 1):
            copy = onnx.ModelProto()
            copy.CopyFrom(model)
            start = time.perf_counter()
            try:
                result = normalise(copy)
            except Exception as raised:
                error = f"{type(raised).__name__}: {' '.join(str(raised).split())[:200]}"
                break
            best = min(best, time.perf_counter() - start)
        signal.alarm(0)
        if not error:
            onnx.save(result, folder / f"{number}.result.onnx")
        print(
            json.dumps({"number": number, "error": error, "seconds": 0.0 if error else best}),
            file=sys.__stdout__,
            flush=True,
        )


def results_of(name: str, folder: Path, count: int) -> Iterator[tuple[int, str, float]]:
    """For each job its number, what went wrong, and how long it took."""
    first = 0
    while first < count:
        command = [sys.executable, "-m", "benchmarks.normalize", "--worker", name, str(folder), str(first)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith('{"number"'):
                    found = json.loads(line)
                    first = found["number"] + 1
                    yield found["number"], found["error"], found["seconds"]
        if first < count:
            yield first, f"the process ended with status {process.returncode}", 0.0
            first += 1


class Judge:
    """Executes models on the inputs of a job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.expected: list[Any] | None = None
        self._run = self._run_in_onnxruntime
        for run in (self._run_in_onnxruntime, self._run_in_evaluator):
            try:
                self.expected = run(job.model)
            except Exception:  # onnxruntime has an exception type of its own for each of its statuses
                continue
            self._run = run
            break
        if self.expected is not None and self.is_changed(job.model):
            self.expected = None  # two runs differ, so that nothing can be said of others
        self._is_valid = _is_valid(job.model)

    def _run_in_onnxruntime(self, model: onnx.ModelProto) -> list[Any]:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return list(session.run([info.name for info in self._job.model.graph.output], dict(self._job.inputs)))

    def _run_in_evaluator(self, model: onnx.ModelProto) -> list[Any]:
        results = Evaluator(model, strict=False).run(self._job.inputs)
        return [results[info.name] for info in self._job.model.graph.output]

    def is_changed(self, model: onnx.ModelProto) -> bool:
        """Whether the outputs are others than those of the original, or no outputs come."""
        if self.expected is None:
            return False
        try:
            found = self._run(model)
        except Exception:
            return True
        return not all(_is_close(*pair, self._job) for pair in zip(self.expected, found, strict=True))

    def is_invalid(self, model: onnx.ModelProto) -> bool:
        """Whether onnx's checker takes the original, but not this."""
        return self._is_valid and not _is_valid(model)


def _is_valid(model: onnx.ModelProto) -> bool:
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:
        return False
    return True


def _is_close(expected: Any, found: Any, job: Job) -> bool:
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(expected) == len(found)
            and all(_is_close(*pair, job) for pair in zip(expected, found, strict=True))
        )
    if not isinstance(expected, numpy.ndarray):
        return bool(expected == found) or expected is found
    if not isinstance(found, numpy.ndarray) or expected.dtype != found.dtype or expected.shape != found.shape:
        return False
    if expected.dtype.kind in "OUSb":
        return bool((expected == found).all())
    wide = numpy.complex128 if expected.dtype.kind == "c" else numpy.float64
    with numpy.errstate(all="ignore"):
        return bool(
            numpy.allclose(expected.astype(wide), found.astype(wide), rtol=job.rtol, atol=job.atol, equal_nan=True)
        )


def scores_of(jobs: Sequence[Job], names: Sequence[str]) -> dict[str, Score]:
    """Run each normaliser over all jobs and judge its results."""
    scores = {name: Score() for name in names}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "jobs.json").write_text(json.dumps([{"is_network": job.is_network} for job in jobs]))
        for number, job in enumerate(jobs):
            onnx.save(job.model, folder / f"{number}.onnx")
        judges: dict[int, Judge] = {}
        for name in names:
            for number, error, seconds in results_of(name, folder, len(jobs)):
                job, score = jobs[number], scores[name]
                score.seconds[job.name] = seconds
                if error:
                    score.failed.append(f"{job.name}: {error}")
                    score.nodes[job.name] = node_count(job.model)
                    continue
                if number not in judges:
                    judges[number] = Judge(job)
                judge = judges[number]
                result = onnx.load(folder / f"{number}.result.onnx")
                score.nodes[job.name] = node_count(result)
                if judge.is_invalid(result):
                    score.invalid.append(job.name)
                if judge.is_changed(result):
                    score.changed.append(job.name)
    return scores


def summary(title: str, jobs: Sequence[Job], scores: Mapping[str, Score]) -> Iterator[str]:
    """A table of what each normaliser did to all jobs."""
    before = sum(node_count(job.model) for job in jobs)
    yield f"{title}: {len(jobs)} models, {before} nodes"
    yield f"{'':>18} {'changed':>8} {'invalid':>8} {'failed':>7} {'nodes left':>11} {'share':>7} {'seconds':>8}"
    for name, score in scores.items():
        nodes, seconds = sum(score.nodes.values()), sum(score.seconds.values())
        counts = f"{len(score.changed):>8} {len(score.invalid):>8} {len(score.failed):>7}"
        yield f"{name:>18} {counts} {nodes:>11} {nodes / before:>7.1%} {seconds:>8.2f}"


def network_table(jobs: Sequence[Job], scores: Mapping[str, Score]) -> Iterator[str]:
    """Nodes left and milliseconds by network and normaliser."""
    yield f"{'nodes left, and ms':>26} {'before':>7}" + "".join(f"{name:>18}" for name in scores)
    for job in jobs:
        cells = (f"{score.nodes[job.name]:>8} {1000 * score.seconds[job.name]:>7.0f}ms" for score in scores.values())
        yield f"{job.name:>26} {node_count(job.model):>7}" + "".join(f"{cell:>18}" for cell in cells)


def details_of(found: Mapping[str, Mapping[str, Score]]) -> dict[str, Any]:
    """Which models each normaliser changed, made invalid or failed on, and the nodes that it left."""
    return {
        title: {
            name: {
                "changed": score.changed,
                "invalid": score.invalid,
                "failed": score.failed,
                "nodes": dict(score.nodes),
            }
            for name, score in scores.items()
        }
        for title, scores in found.items()
    }


def main() -> None:
    """Run the normalisers, each in a process of its own, and print what each left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=OWN_MODELS, help="a folder of model folders")
    parser.add_argument("--exports", type=Path, help="a folder of models, to be run instead of all others")
    parser.add_argument("--only", default="", help="a part of the names of the models to run")
    parser.add_argument("--without-node-tests", action="store_true", help="run the models of the folder only")
    parser.add_argument("--normalisers", help="the names of those to run, separated by semicolons")
    parser.add_argument("--json", type=Path, help="write which models each changed, made invalid or failed on")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        name, folder, first = arguments.worker
        work(name, Path(folder), int(first))
        return
    asked = [name.strip() for name in arguments.normalisers.split(";")] if arguments.normalisers else [*NORMALISERS]
    missing = [name for name in asked if find_spec(NORMALISERS[name][0]) is None]
    if missing:
        print(f"Not installed, and left out: {', '.join(missing)} (pip install opsetlift[peers]).")
    names = [name for name in asked if name not in missing]
    found: dict[str, dict[str, Score]] = {}
    if arguments.exports:
        jobs = [job for job in export_jobs(arguments.exports) if arguments.only in job.name]
        found["exports"] = scores = scores_of(jobs, names)
        print("\n".join(summary("Exports", jobs, scores)))
        if arguments.json:
            arguments.json.write_text(json.dumps(details_of(found), indent=1))
        return
    networks = [job for job in model_jobs(arguments.models) if arguments.only in job.name]
    found["models with fixed input shapes"] = scores = scores_of(networks, names)
    print(
        "\n".join([*network_table(networks, scores), "", *summary("Models with fixed input shapes", networks, scores)]),
        end="\n\n",
    )
    for line in command_table({job.name: job.model for job in networks}, names):
        print(line, flush=True)
    if not arguments.without_node_tests:
        jobs = [job for job in node_jobs() if arguments.only in job.name]
        found["node tests"] = scores = scores_of(jobs, names)
        print("\n".join(["", *summary("Node tests", jobs, scores)]))
    if arguments.json:
        arguments.json.write_text(json.dumps(details_of(found), indent=1))


if __name__ == "__main__":
    main()
