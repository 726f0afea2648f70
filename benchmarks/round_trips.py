"""ONNX's own tests there and back: each to another opset and home again, where neither way is refused.

    python -m benchmarks.round_trips [--only NAME] [--releases FOLDER] [--markdown]

What comes back has to compute the shipped outputs. Up and down again it should have the nodes that it had, too; where
it has not, docs/round_trips.md, which `--markdown` prints, says why. Tests of older versions are made from the newer
ones that are legal there (benchmarks/transforms/variants.py).
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import onnx
from onnx import AttributeProto, GraphProto

from benchmarks.corpus import DOWN_TARGETS, all_cases, checker_complaint, computes_the_same, ours, reproducible
from benchmarks.lost_forms import why_lost
from benchmarks.transformed import chosen_cases
from benchmarks.transforms.variants import versions_back
from opsetlift import ConversionRefused
from opsetlift.specification.history import history, latest_opset
from tests.evaluator.cases import Case

OUTCOMES = ("same nodes", "equal", "refused back", "wrong", "invalid", "crashed")
_OLDEST_VARIANT = 6
"""So many versions back from the newest one a test is tried."""


@dataclass(frozen=True)
class Trip:
    """One test, there and back."""

    name: str
    operator: str
    source: int
    target: int
    outcome: str
    detail: str = ""

    @property
    def direction(self) -> str:
        return "up and down" if self.target > self.source else "down and up"

    @property
    def is_bad(self) -> bool:
        return self.outcome in ("wrong", "invalid", "crashed")


def nodes_as_text(graph: GraphProto) -> list[str]:
    """A graph's nodes without what means nothing: the order of attributes, fields that are there and empty."""
    lines = []
    for node in graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for field in ("doc_string", "domain"):
            if not getattr(copy, field):
                copy.ClearField(field)
        attributes = sorted(copy.attribute, key=lambda attribute: attribute.name)
        inner = [nodes_as_text(one.g) for one in attributes if one.type == AttributeProto.GRAPH]
        for attribute in attributes:
            if attribute.type == AttributeProto.GRAPH:
                attribute.ClearField("g")
        del copy.attribute[:]
        copy.attribute.extend(attributes)
        lines.append(f"{copy}{inner}")
    return lines


def round_trip(case: Case, target: int) -> Trip | None:
    """A test taken to `target` and back; None where it is refused on the way there."""

    def trip(outcome: str, detail: str = "") -> Trip:
        return Trip(case.name, case.operator, case.opset, target, outcome, detail)

    try:
        there = ours(case, target)
    except ConversionRefused:
        return None
    try:
        back = ours(replace(case, model=there), case.opset)
    except ConversionRefused as refused:
        first = refused.refusals[0]
        return trip("refused back", f"{first.operator} [{first.transition}] {first.sentence[:150]}")
    except Exception as error:
        return trip("crashed", f"{type(error).__name__}: {error}"[:200])
    if (complaint := checker_complaint(back)) and not checker_complaint(case.model):
        return trip("invalid", complaint)
    try:
        different = computes_the_same(case, back, use_onnxruntime=False)
    except Exception as error:
        return trip("wrong", f"{type(error).__name__}: {error}"[:200])
    if different:
        return trip("wrong", different)
    if nodes_as_text(back.graph) == nodes_as_text(case.model.graph):
        return trip("same nodes")
    return trip("equal", " ".join(node.op_type for node in back.graph.node)[:60])


@cache
def _targets_above(operators: frozenset[tuple[str, str]], source: int) -> tuple[int, ...]:
    """The opsets above `source` at which one of the operators has a new version, and the newest one."""
    versions = {latest_opset()}
    for domain, name in operators:
        known = history(domain, name)
        versions.update(new for _, new in known.steps()) if known and domain == "" else None
    return tuple(sorted(version for version in versions if version > source))


def targets(case: Case) -> Iterator[int]:
    """Where a test goes before it comes back."""
    yield from (target for target in DOWN_TARGETS if target < case.opset)
    yield from _targets_above(frozenset((node.domain, node.op_type) for node in case.model.graph.node), case.opset)


def with_older_versions(case: Case) -> Iterator[Case]:
    """The test, and what it is at the versions of its operator before its own."""
    yield case
    for number in range(1, _OLDEST_VARIANT + 1):
        if older := versions_back(number)(case):
            yield older


def trips(case: Case) -> list[Trip]:
    """All trips of a test in all its versions."""
    if not reproducible(case):
        return []
    made = (round_trip(one, target) for one in with_older_versions(case) for target in targets(one))
    return [trip for trip in made if trip]


def _trips_of(job: tuple[Path | None, int]) -> list[Trip]:
    releases, index = job
    return trips(all_cases(releases)[index])


def table(found: list[Trip]) -> str:
    """Outcomes by direction."""
    lines = [f"{'':>12} {'trips':>7} " + " ".join(f"{outcome:>12}" for outcome in OUTCOMES)]
    for direction in ("up and down", "down and up"):
        counts = Counter(one.outcome for one in found if one.direction == direction)
        transitions = " ".join(f"{counts[outcome]:>12}" for outcome in OUTCOMES)
        lines.append(f"{direction:>12} {counts.total():>7} {transitions}")
    return "\n".join(lines)


def first_losses(found: list[Trip]) -> dict[tuple[str, int, str], list[Trip]]:
    """Trips up and down whose nodes came back otherwise, by operator, version that began it, and what came back."""
    shortest: dict[tuple[str, int], Trip] = {}
    for one in found:
        if one.direction == "up and down" and one.outcome in ("equal", "refused back"):
            key = (one.name, one.source)
            if key not in shortest or one.target < shortest[key].target:
                shortest[key] = one
    losses: dict[tuple[str, int, str], list[Trip]] = {}
    for one in shortest.values():
        losses.setdefault((one.operator, one.target, why_lost(one.operator, one.target)), []).append(one)
    return losses


def page(found: list[Trip], asked: str) -> str:
    """docs/round_trips.md."""
    names = {one.name for one in found}
    lines = [
        "# There and back",
        "",
        f"Written by `python -m benchmarks.round_trips {asked} --markdown`, onnx {onnx.__version__}. Each test stands",
        f"for those that differ from it in values alone ({len(names)} of them here), and goes from every version of",
        "its operator that takes it to other opsets and back.",
        "",
        "```",
        table(found),
        "```",
        "",
        "*Same nodes* have the same operators, names, inputs, outputs and attribute values. *Equal* ones compute the",
        "shipped outputs, but are written otherwise. Down and up that is common: what was lowered is not put together",
        "again. Up and down it is the exception, and these are all:",
        "",
        "| operator | from | tests | for example | what comes back | why it is no inverse |",
        "|---|---|---|---|---|---|",
    ]
    for (operator, version, why), some in sorted(first_losses(found).items()):
        one = some[0]
        lines.append(
            f"| {operator} | {version} | {len(some)} | {one.name} {one.source}→{one.target}→{one.source} | "
            f"{one.detail.replace('|', '/')} | {why} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a part of a test's name, or an operator")
    parser.add_argument("--every", type=int, default=1, help="take each N-th test only")
    parser.add_argument("--all", action="store_true", help="also tests that differ from another in values alone")
    parser.add_argument("--releases", type=Path, help="a folder of unpacked wheels of older onnx releases")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--markdown", action="store_true", help="print the page docs/round_trips.md")
    options = parser.parse_args()
    indices = chosen_cases(options.releases, options.only, expanded=False, all_kinds=options.all)
    jobs = [(options.releases, index) for index in indices[:: options.every]]
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        found = [trip for some in pool.imap(_trips_of, jobs, chunksize=4) for trip in some]
    if options.markdown:
        print(page(found, f"--every {options.every}"))
        return
    print(table(found))
    for one in found:
        if one.is_bad or one.outcome == "refused back":
            print(f"  {one.outcome}: {one.name} {one.source}->{one.target}: {one.detail}")
    for (operator, version, why), some in sorted(first_losses(found).items()):
        one = some[0]
        print(f"  {operator} {version}: {one.name} {one.source}->{one.target}, {len(some)} tests: {one.detail}: {why}")


if __name__ == "__main__":
    main()
