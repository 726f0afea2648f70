"""ONNX's own tests written otherwise, then taken to other opsets: what arrives plainly has to arrive in every form.

    python -m benchmarks.transformed [--only NAME] [--transform NAME] [--every N] [--ort] [--releases FOLDER]

Each test goes through each transform of benchmarks/transforms, which keeps what the model means, and is converted,
checked and executed at each target as benchmarks/corpus.py does it. Beside wrong, invalid and crashed conversions, this
counts those that are refused although the test itself is not.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.corpus import Result, absolute_tolerance, all_cases, computes_the_same, judge, reproducible
from benchmarks.transforms import TRANSFORMS, Transform
from opsetlift.model.files import validate_model
from opsetlift.specification.dtypes import type_string
from tests.evaluator.cases import Case

TARGETS = (7, 9, 11, 13, 18, 21, 28)
UNJUDGED = "unjudged"
"""The outcome where the transformed test itself does not run, so that no conversion of it can be judged."""
COLUMNS = ("correct", "refused", "refused anew", "wrong", "invalid", "crashed", UNJUDGED)


@dataclass(frozen=True)
class Outcome:
    """One test in one form at one target, and what became of it as it was."""

    transform: str
    result: Result
    plain: str
    """The outcome of the test that was not transformed; empty where nobody asked."""

    @property
    def kind(self) -> str:
        is_new = self.result.outcome == "refused" and self.plain == "correct" and self.result.interface_exists
        return "refused anew" if is_new else self.result.outcome

    @property
    def is_bad(self) -> bool:
        return self.kind not in ("correct", "refused")

    def __str__(self) -> str:
        one = self.result
        return f"{self.kind}: {one.name} {self.transform} {one.source}->{one.target}: {one.detail}"


def transformed(case: Case, transform: Transform) -> Case | None:
    """A test in another form, judged by the tolerances that it has in its own."""
    changed = transform.apply(case)
    if changed is None:
        return None
    return replace(changed, atol=absolute_tolerance(case, changed.expected()))


def outcomes(case: Case, transform: Transform, targets: tuple[int, ...], *, ort: bool = False) -> list[Outcome]:
    """A test in one form at each target."""
    changed = transformed(case, transform)
    if changed is None:
        return []
    if transform.is_legal and (reason := _why_unjudged(changed)):
        return [Outcome(transform.name, Result(case.name, case.opset, case.opset, UNJUDGED, reason), "")]
    found = []
    for target in targets:
        if target != changed.opset:
            result = judge(changed, target, "opsetlift", ort, complaint=transform.complaint)
            plain = judge(case, target, "opsetlift", False).outcome if result.outcome == "refused" else ""
            found.append(Outcome(transform.name, result, plain))
    return found


def _why_unjudged(case: Case) -> str:
    try:
        validate_model(case.model)
        return computes_the_same(case, case.model, False) or ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]


def _judge_case(job: tuple[Path | None, int, tuple[str, ...], tuple[int, ...], bool]) -> list[Outcome]:
    releases, index, names, targets, ort = job
    case = all_cases(releases)[index]
    if not reproducible(case):
        return []
    chosen = (transform for transform in TRANSFORMS if transform.name in names)
    return [one for transform in chosen for one in outcomes(case, transform, targets, ort=ort)]


def _kind(case: Case) -> object:
    """What tells tests apart that are worth converting both: operators, attributes, types; not values or sizes."""
    graph = case.model.graph
    nodes = [(node.op_type, [bool(name) for name in node.input], len(node.output)) for node in graph.node]
    attributes = [sorted((one.name, one.type) for one in node.attribute) for node in graph.node]
    types = [type_string(info.type) for info in (*graph.input, *graph.output)]
    return repr((case.opset, nodes, attributes, types))


def chosen_cases(releases: Path | None, only: str, *, expanded: bool, all_kinds: bool) -> list[int]:
    """The places of the tests to take in all_cases."""
    found: dict[object, int] = {}
    for index, case in enumerate(all_cases(releases)):
        if (only in case.name or only == case.operator) and (expanded or "_expanded" not in case.name):
            found.setdefault(index if all_kinds else _kind(case), index)
    return list(found.values())


def table(found: list[Outcome]) -> str:
    """Outcomes by transform."""
    lines = [f"{'':>36} " + " ".join(f"{column:>12}" for column in COLUMNS)]
    for name in dict.fromkeys(one.transform for one in found):
        counts = Counter(one.kind for one in found if one.transform == name)
        lines.append(f"{name:>36} " + " ".join(f"{counts[column]:>12}" for column in COLUMNS))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a part of a test's name, or an operator")
    parser.add_argument("--transform", default="", help="parts of transforms' names, separated by commas")
    parser.add_argument("--targets", default=",".join(map(str, TARGETS)), help="opsets, separated by commas")
    parser.add_argument("--every", type=int, default=1, help="take each N-th test only")
    parser.add_argument("--start", type=int, default=0, help="the first of these")
    parser.add_argument("--expanded", action="store_true", help="also the tests of expanded functions, of many nodes")
    parser.add_argument("--all", action="store_true", help="also tests that differ from another in values alone")
    parser.add_argument("--ort", action="store_true", help="execute in onnxruntime as well")
    parser.add_argument("--releases", type=Path, help="a folder of unpacked wheels of older onnx releases")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--bad", type=int, default=200, help="how many kinds of bad conversions to list")
    options = parser.parse_args()
    parts = options.transform.split(",")
    names = tuple(one.name for one in TRANSFORMS if any(part in one.name for part in parts))
    targets = tuple(map(int, options.targets.split(",")))
    indices = chosen_cases(options.releases, options.only, expanded=options.expanded, all_kinds=options.all)
    jobs = [(options.releases, index, names, targets, options.ort) for index in indices[options.start :: options.every]]
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        found = [one for some in pool.imap(_judge_case, jobs, chunksize=4) for one in some]
    print(table(found))
    bad = Counter((one.kind, one.transform, one.result.detail) for one in found if one.is_bad)
    examples = {(one.kind, one.transform, one.result.detail): one for one in reversed(found)}
    for key, count in sorted(bad.items(), key=lambda item: (item[0][0], -item[1]))[: options.bad]:
        print(f"{count:>5} {examples[key]}")


if __name__ == "__main__":
    main()
