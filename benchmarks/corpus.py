"""Every test that the installed onnx carries, taken to other opsets: how many arrive, how many are wrong.

    python -m benchmarks.corpus [--up] [--down] [--peer] [--ort] [--only NAME] [--reasons N] [--releases FOLDER]

Each test's model goes from its own opset to each target, is checked in full by onnx.checker and executed on the shipped
inputs; the outputs have to be the shipped ones. `--peer` puts onnx.version_converter through the same; `--ort` executes
in onnxruntime as well, where that implements the opset. `--releases` takes the tests of older onnx releases instead,
from wheels unpacked in a folder each (pip download --no-deps --only-binary=:all: --python-version 3.6 onnx==1.5.0).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy
import onnx

from benchmarks.onnxruntime_judge import NoKernel, disagreement
from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.model.scopes import imported_opsets
from opsetlift.rulebook.routes import operators_taking
from opsetlift.specification.dtypes import type_string
from tests.evaluator.cases import Case, cases_of_releases, folder_cases, node_cases
from tests.evaluator.comparison import mismatch

UP_TARGETS = (7, 9, 11, 13, 15, 17, 18, 21, 23, 25, 28)
DOWN_TARGETS = (1, 4, 6, 7, 9, 11, 13, 15, 17, 18, 21, 23, 25)
NO_KERNEL = "onnxruntime has no kernel for "
OUTCOMES = ("correct", "refused", "wrong", "invalid", "crashed")


@dataclass(frozen=True)
class Result:
    """What became of one test at one target."""

    name: str
    source: int
    target: int
    outcome: str
    detail: str = ""
    interface_exists: bool = True
    """Whether any operator at the target takes the types of the model's inputs and outputs at all."""

    @property
    def direction(self) -> str:
        return "up" if self.target > self.source else "down"


@cache
def all_cases(releases: Path | None) -> tuple[Case, ...]:
    """The node tests and the suites of files, those that have an opset of ai.onnx."""
    found = cases_of_releases(releases) if releases else (*node_cases(), *folder_cases())
    return tuple(case for case in found if case.opset)


def interface_exists(model: onnx.ModelProto, target: int) -> bool:
    """Whether some operator at `target` takes each of the interface's types."""
    types = {type_string(info.type) for info in (*model.graph.input, *model.graph.output)}
    return all(one is not None and operators_taking(one, target, "") for one in types)


def ours(case: Case, target: int) -> onnx.ModelProto:
    return convert(case.model, to=target, prove=False, check=False, base_dir=case.base_dir).model


def peer(case: Case, target: int) -> onnx.ModelProto:
    return onnx.version_converter.convert_version(case.model, target)


def computes_the_same(case: Case, model: onnx.ModelProto, use_onnxruntime: bool) -> str | None:
    """What is wrong with a converted model's outputs; None where nothing is."""
    for data_set in range(len(case.data_sets)):
        inputs, expected = case.inputs(data_set), case.expected(data_set)
        results = list(Evaluator(model, base_dir=case.base_dir or None).run(inputs).values())
        tolerances = {"rtol": _tolerance(case, expected), "atol": absolute_tolerance(case, expected)}
        if found := mismatch(results, expected, **tolerances):
            return found
        if use_onnxruntime and (found := disagreement(case, model, inputs, expected)):
            return f"onnxruntime: {found}"
    return None


def _tolerance(case: Case, expected: list) -> float:
    """The test's own, but for float16 two units in the last place, which 1e-3 does not always cover."""
    halves = any(getattr(value, "dtype", None) == numpy.float16 for value in expected)
    return max(case.rtol, 2.0**-9) if halves else case.rtol


def absolute_tolerance(case: Case, expected: list) -> float:
    """The test's own, but for transforms one unit in the last place of the largest element.

    Each of their elements has the rounding errors of all: where ONNX's fast algorithm leaves 1.9e-7 of 54 for what
    should be 0, another one leaves something else.
    """
    if case.operator not in ("DFT", "STFT"):
        return case.atol
    return max(case.atol, *(float(numpy.spacing(numpy.abs(value).max(initial=0))) for value in expected))


def checker_complaint(model: onnx.ModelProto) -> str:
    """What onnx.checker's full check has against a model; it also has something against one of ONNX's own tests."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        return str(error).strip()[:300]
    return ""


def judge(
    case: Case,
    target: int,
    converter: str,
    use_onnxruntime: bool,
    complaint: Callable[[Case, onnx.ModelProto], str] | None = None,
) -> Result:
    """Take one test to one target; `complaint` says what else is wrong with the result, where something is."""

    def result(outcome: str, detail: str = "") -> Result:
        return Result(case.name, case.opset, target, outcome, detail, interface_exists(case.model, target))

    try:
        model = (ours if converter == "opsetlift" else peer)(case, target)
    except ConversionRefused as refused:
        first = refused.refusals[0]
        return result("refused", f"{first.why.name} {first.operator} [{first.transition}] {first.sentence[:150]}")
    except Exception as error:
        outcome = "refused" if converter == "peer" else "crashed"
        return result(outcome, f"{type(error).__name__}: {str(error)[:200]}")
    if imported_opsets(model.opset_import).get("") != target:
        return result("wrong", "the opset is another than was asked for")
    if (invalid := checker_complaint(model)) and not checker_complaint(case.model):
        return result("invalid", invalid)
    if complaint and (found := complaint(case, model)):
        return result("wrong", found)
    try:
        different = computes_the_same(case, model, use_onnxruntime)
    except NoKernel as missing:
        return result("correct", f"{NO_KERNEL}{missing}")
    except EvaluationError as error:
        return result("wrong", f"{type(error).__name__}: {error}"[:300])
    except Exception as error:
        return result("crashed", f"{type(error).__name__}: {str(error)[:200]}")
    return result("wrong", different) if different else result("correct")


def targets(case: Case, up: bool, down: bool) -> Iterator[int]:
    """Where a test goes."""
    if up:
        yield from (target for target in UP_TARGETS if target > case.opset)
    if down:
        yield from (target for target in DOWN_TARGETS if target < case.opset)


def reproducible(case: Case) -> bool:
    """Whether our evaluator reproduces the test at its own opset; otherwise it cannot judge a conversion of it."""
    try:
        return computes_the_same(case, case.model, False) is None
    except Exception:
        return False


def _judge_case(job: tuple[Path | None, int, bool, bool, str, bool]) -> list[Result]:
    releases, index, up, down, converter, use_onnxruntime = job
    case = all_cases(releases)[index]
    if not reproducible(case):
        return []
    return [judge(case, target, converter, use_onnxruntime) for target in targets(case, up, down)]


def measure(
    *,
    up: bool = True,
    down: bool = True,
    converter: str = "opsetlift",
    use_onnxruntime: bool = False,
    only: str = "",
    releases: Path | None = None,
) -> list[Result]:
    """Every test at every target, on all cores."""
    cases = enumerate(all_cases(releases))
    indices = [index for index, case in cases if only in case.name or only == case.operator]
    jobs = [(releases, index, up, down, converter, use_onnxruntime) for index in indices]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        return [result for results in pool.imap(_judge_case, jobs, chunksize=8) for result in results]


def table(results: list[Result]) -> str:
    """Outcomes by direction; the share of the correct is of those whose interface exists at the target."""
    lines = [f"{'':>6} {'cases':>7} " + " ".join(f"{outcome:>9}" for outcome in OUTCOMES) + f" {'correct':>9}"]
    for direction in ("up", "down"):
        chosen = [one for one in results if one.direction == direction]
        if not chosen:
            continue
        counts = Counter(one.outcome for one in chosen)
        possible = [one for one in chosen if one.interface_exists and one.target >= 7]
        share = 100 * sum(one.outcome == "correct" for one in possible) / max(len(possible), 1)
        transitions = " ".join(f"{counts[outcome]:>9}" for outcome in OUTCOMES)
        lines.append(f"{direction:>6} {len(chosen):>7} {transitions} {share:>8.1f}%")
    return "\n".join(lines)


def _parts_of_refusal(detail: str) -> tuple[str, str, str]:
    """Why, the transition that stopped the conversion, and the sentence, from a result's detail."""
    head, _, sentence = detail.partition("] ")
    return head.split(" ", 1)[0], head.split("[", 1)[1], sentence


def page(ours: list[Result], peers: list[Result]) -> str:
    """docs/corpus.md: the tables of both converters, and what our refusals cost, most costly first."""
    reasons: dict[tuple[str, str], list[Result]] = {}
    for one in ours:
        if one.outcome == "refused" and one.interface_exists:
            why, transition, _ = _parts_of_refusal(one.detail)
            reasons.setdefault((one.direction, f"{why} {transition}"), []).append(one)
    lines = [
        "# ONNX's own tests at other opsets",
        "",
        f"Written by `python -m benchmarks.corpus --markdown`, with onnx {onnx.__version__}. The last column is the",
        "share of the correct among conversions to opset 7 and later whose interface types exist there.",
        "",
        "```",
        "opsetlift",
        table(ours),
        "",
        "onnx.version_converter",
        table(peers),
        "```",
        "",
        "## What refusals cost",
        "",
        "Conversions refused although the types of inputs and outputs exist at the target, by the transition that",
        "stopped them; the number behind the slash counts targets from 7 on only.",
        "",
        "| conversions | direction | transition | example |",
        "|---|---|---|---|",
    ]
    for (direction, transition), refused in sorted(reasons.items(), key=lambda item: -len(item[1])):
        late = sum(one.target >= 7 for one in refused)
        sentence = _parts_of_refusal(refused[0].detail)[2].replace("|", "\\|")
        lines.append(f"| {len(refused)} / {late} | {direction} | {transition} | {sentence} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--up", action="store_true")
    parser.add_argument("--down", action="store_true")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--ort", action="store_true")
    parser.add_argument("--only", default="", help="a part of a test's name, or an operator")
    parser.add_argument("--releases", type=Path, help="a folder of unpacked wheels of older onnx releases")
    parser.add_argument("--markdown", action="store_true", help="print the page docs/corpus.md, for both converters")
    parser.add_argument("--reasons", type=int, default=0, help="how many of the most frequent refusals to list")
    parser.add_argument("--bad", type=int, default=20, help="how many wrong, invalid or crashed cases to list")
    options = parser.parse_args()
    both = options.up == options.down
    if options.markdown:
        print(page(*(measure(only=options.only, converter=one) for one in ("opsetlift", "peer"))))
        return
    for converter in ("opsetlift", "peer") if options.peer else ("opsetlift",):
        results = measure(
            up=options.up or both,
            down=options.down or both,
            converter=converter,
            use_onnxruntime=options.ort,
            only=options.only,
            releases=options.releases,
        )
        print("onnx.version_converter" if converter == "peer" else "opsetlift")
        print(table(results))
        if converter == "opsetlift":
            bad = [one for one in results if one.outcome not in ("correct", "refused")]
            for one in bad[: options.bad]:
                print(f"  {one.outcome}: {one.name} {one.source}->{one.target}: {one.detail}")
            reasons = Counter(
                (one.direction, one.detail.split("]")[0] + "]")
                for one in results
                if one.outcome == "refused" and one.interface_exists and one.target >= 7
            )
            for (direction, reason), count in reasons.most_common(options.reasons):
                print(f"  {count:>5} {direction:>5} {reason}")
            missing = Counter(
                (one.direction, one.name.split("@")[0], one.detail)
                for one in results
                if one.detail.startswith(NO_KERNEL)
            )
            for (direction, operator, detail), count in missing.most_common():
                print(f"  {count:>5} {direction:>5} {operator}: {detail}")


if __name__ == "__main__":
    main()
