"""ONNX's own tests at another opset and back: what becomes of each, and which forms do not come back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import onnx
from onnx import AttributeProto, GraphProto

from opsetlift import ConversionRefused
from opsetlift.specification.history import history, latest_opset
from testing.cases import Case
from testing.corpus import DOWN_TARGETS, checker_complaint, computes_the_same, ours, reproducible
from testing.lost_forms import why_lost
from testing.transforms.variants import versions_back

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
        """The order of the two ways."""
        return "up and down" if self.target > self.source else "down and up"

    @property
    def is_bad(self) -> bool:
        """Whether the trip shows a defect; a refused way back shows none."""
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
