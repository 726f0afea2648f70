"""What was changed in a model, one entry for each kind of change: from a conversion's trace, or by comparison."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from onnx import NodeProto

from opsetlift.model.scopes import subgraphs
from opsetlift.pipeline.evidence import Converted
from opsetlift.proof import Aligned, ConversionProof, ScopePair, SiteRecord, paired_scopes
from opsetlift.reporting.differences import ModelDifference, Region, ScopeDifference, operator_of, region_heading
from opsetlift.reporting.drawing import Drawing, State
from opsetlift.reporting.neighbourhood import Neighbourhood, name_of, node_text
from opsetlift.rulebook.book import RuleBook, default_rule_book
from opsetlift.rulebook.explain import UnknownOperator, explain
from opsetlift.rulebook.rule import Rule
from opsetlift.specification.history import Transition

BEFORE, AFTER = "Before", "After"


@dataclass
class Place:
    """A node in its scope."""

    path: str
    node: str
    operator: str


@dataclass
class Step:
    """A rule at one transition, in words."""

    transition: str
    rule: str
    summary: str
    """What the rule's author wrote about it."""
    because: str
    exactness: str
    specification: Sequence[str]
    """What changed in the operator there."""


@dataclass
class Change:
    """One kind of change, with its first place as an example."""

    heading: str
    operators: Sequence[str]
    places: list[Place]
    before: Drawing
    after: Drawing
    texts: tuple[Sequence[str], Sequence[str]]
    """The nodes of the example before and after, in one line each."""
    steps: Sequence[Step] = ()
    details: Sequence[str] = ()
    """What else is to be said of the example."""
    records: list[SiteRecord] = field(default_factory=list)
    """The proof, by distinct site."""
    anchor: str = ""
    """Its name for links into the page."""

    @property
    def exactness(self) -> str:
        """Whether all rules are exact; else their bounds."""
        rounding = [one.exactness for one in self.steps if one.exactness != "exact"]
        return "; ".join(dict.fromkeys(rounding)) or "exact"


def changes_of(converted: Converted, proof: ConversionProof | None, rule_book: RuleBook | None = None) -> list[Change]:
    """The kinds of changes of a conversion: nodes of one operator that the same rules changed to the same operators."""
    book = rule_book or default_rule_book()
    found: dict[tuple[object, ...], Change] = {}
    kinds: dict[tuple[str, str, str], Change] = {}
    for pair in paired_scopes(converted.before, converted.after, converted.walked.trace):
        views = _Views(pair)
        start = 0
        for aligned in pair.aligned:
            if not aligned.is_same and not _changed_inside_only(aligned):
                key = _kind_of(aligned)
                if key not in found:
                    found[key] = _change(pair, aligned, start, views, book)
                place = Place(pair.path, name_of(aligned.node), operator_of(aligned.node))
                found[key].places.append(place)
                kinds[place.path, place.node, place.operator] = found[key]
            start += len(aligned.after)
    for record in proof.sites if proof is not None else ():
        change = kinds.get((record.path, record.node, record.operator))
        if change is not None:
            change.records.append(record)
    return sorted(found.values(), key=lambda change: not change.steps)


def unchanged_sites(proof: ConversionProof, changes: Sequence[Change]) -> list[SiteRecord]:
    """The proofs that a node means the same though its operator was revised."""
    told = {id(record) for change in changes for record in change.records}
    return [record for record in proof.sites if id(record) not in told]


def _kind_of(aligned: Aligned) -> tuple[object, ...]:
    nodes = [(one.op_type, one.domain, tuple(sorted(a.name for a in one.attribute))) for one in _nodes(aligned)]
    return (*nodes, tuple((transition, rule.name) for transition, rule in _applied(aligned)))


def _changed_inside_only(aligned: Aligned) -> bool:
    """Whether only nodes in the subgraphs of a node changed, which are shown by themselves."""
    is_one = len(aligned.after) == 1 and _is_alike(aligned.node, aligned.after[0])
    return is_one and any(subgraphs(aligned.node)) and not any(rule.apply for _, rule in _applied(aligned))


def _without_rule(aligned: Aligned) -> str:
    """Why a node changed that no rule changed."""
    return "another form for the IR version or runtime" if aligned.after else "removed, because nothing uses it"


def _nodes(aligned: Aligned) -> list[NodeProto]:
    return [aligned.node, *aligned.after]


def _applied(aligned: Aligned) -> Sequence[tuple[Transition, Rule]]:
    return aligned.site.applied if aligned.site is not None else ()


def _change(pair: ScopePair, aligned: Aligned, start: int, views: _Views, book: RuleBook) -> Change:
    """A kind of change, drawn at its first place; its nodes begin at `start` in the result."""
    focus = range(start, start + len(aligned.after))
    heads = [one for one in _applied(aligned) if one[1].apply is not None]
    heading = "; ".join(dict.fromkeys(f"{transition}: {rule.name}" for transition, rule in heads))
    operator = operator_of(aligned.node)
    return Change(
        heading=heading or f"{operator}: {_without_rule(aligned)}",
        operators=list(dict.fromkeys(map(operator_of, _nodes(aligned)))),
        places=[],
        before=views.before.drawn(BEFORE, [aligned.position], views.state_before),
        after=views.after.drawn(
            AFTER, focus, views.state_after, filter(None, aligned.node.output), frozenset(pair.trace.added_initializers)
        ),
        texts=([node_text(aligned.node)], [node_text(one) for one in aligned.after]),
        steps=[_step(transition, rule, book) for transition, rule in heads],
    )


class _Views:
    """Both sides of a scope, and what became of each node."""

    def __init__(self, pair: ScopePair) -> None:
        self.before, self.after = Neighbourhood(pair.original), Neighbourhood(pair.result)
        self._before: dict[int, State] = {}
        self._after: dict[int, State] = {}
        start = 0
        for aligned in pair.aligned:
            if not aligned.is_same:
                self._tell(aligned, start)
            start += len(aligned.after)

    def _tell(self, aligned: Aligned, start: int) -> None:
        alike = [number for number, one in enumerate(aligned.after) if _is_alike(aligned.node, one)]
        self._before[aligned.position] = State.REWRITTEN if alike else State.REMOVED
        for number in range(len(aligned.after)):
            self._after[start + number] = State.REWRITTEN if alike[:1] == [number] else State.NEW

    def state_before(self, position: int) -> State:
        """Of a node of the original."""
        return self._before.get(position, State.KEPT)

    def state_after(self, position: int) -> State:
        """Of a node of the result."""
        return self._after.get(position, State.KEPT)


def _is_alike(node: NodeProto, other: NodeProto) -> bool:
    return (node.op_type, node.domain) == (other.op_type, other.domain)


def _step(transition: Transition, rule: Rule, book: RuleBook) -> Step:
    entry = book.entry(transition)
    summary = ""
    if rule.apply is not None and rule.apply.__name__.replace("_", " ") == rule.name:
        summary = (inspect.getdoc(rule.apply) or "").partition("\n\n")[0].replace("\n", " ").replace("`", "")
    return Step(
        str(transition),
        rule.name,
        summary,
        entry.because if entry is not None else rule.because,
        rule.exactness,
        tuple(_specification(transition)),
    )


def _specification(transition: Transition) -> Iterator[str]:
    if transition.stays or transition.is_experimental:
        return
    operator = f"{transition.domain}.{transition.operator}" if transition.domain else transition.operator
    between = transition.older or transition.newer - 1, transition.newer
    with suppress(UnknownOperator):
        for step in explain(operator, between).steps:
            yield from step.changes


def changes_between(found: ModelDifference) -> list[Change]:
    """The kinds of regions in which two models differ."""
    views: dict[str, tuple[Neighbourhood, Neighbourhood]] = {}
    return [_region_change(kind, views) for kind in found.kinds()]


def _region_change(
    kind: Sequence[tuple[ScopeDifference, Region]], views: dict[str, tuple[Neighbourhood, Neighbourhood]]
) -> Change:
    scope, region = kind[0]
    if scope.path not in views:
        views[scope.path] = Neighbourhood(scope.before), Neighbourhood(scope.after)
    before, after = views[scope.path]
    own = {one.before: State.REWRITTEN for one in region.changed} | dict.fromkeys(region.removed, State.REMOVED)
    theirs = {one.after: State.REWRITTEN for one in region.changed} | dict.fromkeys(region.added, State.NEW)
    values = [name for one in own for name in before.nodes[one].output if name]
    produced = [name for one in theirs for name in after.nodes[one].output if name]
    nodes = [before.nodes[one] for one in sorted(own)], [after.nodes[one] for one in sorted(theirs)]
    return Change(
        heading=region_heading(scope, region),
        operators=list(dict.fromkeys(map(operator_of, (*nodes[0], *nodes[1])))),
        places=[_region_place(one, other) for one, other in kind],
        before=before.drawn(BEFORE, own, lambda one: own.get(one, State.KEPT), produced),
        after=after.drawn(AFTER, theirs, lambda one: theirs.get(one, State.KEPT), values),
        texts=([node_text(one) for one in nodes[0]], [node_text(one) for one in nodes[1]]),
        details=[
            f"{operator_of(after.nodes[one.after])} {name_of(after.nodes[one.after])}: {', '.join(one.differences)}"
            for one in region.changed
        ],
    )


def _region_place(scope: ScopeDifference, region: Region) -> Place:
    sides = (
        (scope.before, [*(one.before for one in region.changed), *region.removed]),
        (scope.after, region.added),
    )
    side, position = next((side, positions[0]) for side, positions in sides if positions)
    return Place(scope.path, name_of(side.node[position]), operator_of(side.node[position]))
