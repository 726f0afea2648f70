"""What a model can reach: for every opset and every known runtime whether it can be taken there, or what is in the way.

Nothing is written or proven. The walks are those of a conversion, on copies without weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnx import ModelProto

from opsetlift.conversion.destination import opsets_to_reach
from opsetlift.conversion.ir_fitting import IRFitting
from opsetlift.conversion.objections import objections
from opsetlift.conversion.walked import DryRuns, Walked, walked_copy
from opsetlift.facts import ModelFacts
from opsetlift.model.files import load_model, repaired, validate_model
from opsetlift.model.ir_version import natural_ir_version
from opsetlift.model.names import Names
from opsetlift.pipeline.convert import ModelOrPath
from opsetlift.rulebook.book import RuleBook, default_rule_book
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification.history import CONVERTED_DOMAINS, display_domain, latest_opset
from opsetlift.support.refusal import ConversionRefused, Refusal
from opsetlift.targets import Target, catalogue, find_target

Opsets = tuple[tuple[str, int], ...]
"""Opsets by domain, as a key."""


@dataclass(frozen=True)
class Answer:
    """Whether a model can be taken somewhere."""

    where: str
    """"ai.onnx 13", or a target as "onnxruntime==1.4"."""
    opsets: Mapping[str, int]
    """The opsets that it would have there, the default domain spelt "ai.onnx"."""
    ir_version: int
    """0 where it cannot be taken there."""
    rewrites: int
    """How many nodes rules would change."""
    ulps: int
    """The largest bound of a rounding rule among them; 0 where all are exact."""
    blockers: tuple[Refusal, ...]
    """What is in the way, place by place."""
    is_bounded: bool = True
    """Whether the opsets are known that are taken there. Where they are not, "reachable" means little."""

    @property
    def is_reachable(self) -> bool:
        return not self.blockers

    @property
    def sentence(self) -> str:
        """For people: "yes", "yes, with 3 rewrites", or "no" with the number of places."""
        if self.blockers:
            return f"no, {_counted(len(self.blockers), 'place')} in the way"
        if not self.is_bounded:
            return "no known obstacle (data incomplete)"
        if not self.rewrites:
            return "yes"
        rounding = f", within {self.ulps} ULP" if self.ulps else ""
        return f"yes, with {_counted(self.rewrites, 'rewrite')}{rounding}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        fields = {name: value for name, value in vars(self).items() if name not in ("blockers", "opsets")}
        return {
            "reachable": self.is_reachable,
            **fields,
            "opsets": dict(self.opsets),
            "blockers": [refusal.as_dict() for refusal in self.blockers],
        }


@dataclass(frozen=True)
class Reach:
    """Every answer on one model."""

    opsets: tuple[Answer, ...]
    """By domain and opset, oldest first."""
    targets: tuple[Answer, ...]
    """By runtime and version, oldest first."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "opsets": [answer.as_dict() for answer in self.opsets],
            "targets": [answer.as_dict() for answer in self.targets],
        }


def reach(
    model_or_path: ModelOrPath,
    *,
    targets: Sequence[str | Target] | None = None,
    exact: bool = False,
    base_dir: str = "",
    rule_book: RuleBook | None = None,
) -> Reach:
    """Say where a model can be taken: every opset of the domains that it imports, and `targets`, by default every
    version of every known runtime. `exact` takes rules that round for refusals.

    Raises ModelFileError for a file or model that cannot be read, UnknownTarget.
    """
    if isinstance(model_or_path, ModelProto):
        source = model_or_path
    else:
        source = load_model(Path(model_or_path))
        base_dir = base_dir or str(Path(model_or_path).absolute().parent)
    source, _ = repaired(source)
    validate_model(source)
    wanted = list(_known_targets()) if targets is None else [_as_target(target) for target in targets]
    asked: dict[Opsets, list[str | Target]] = {}
    order: list[str] = []
    for domain, opset in _opsets_of_domains(source):
        where = f"{display_domain(domain)} {opset}"
        order.append(where)
        asked.setdefault(_key({domain: opset}, source), []).append(where)
    for target in wanted:
        order.append(target.spelling)
        asked.setdefault(_key(opsets_to_reach(None, source, target, is_complete=True), source), []).append(target)
    survey = _Survey(source, rule_book or default_rule_book(), exact, base_dir)
    answers = {answer.where: answer for opsets, places in asked.items() for answer in survey.answers(opsets, places)}
    names = {target.spelling for target in wanted}
    found = [answers[where] for where in order]
    return Reach(
        tuple(answer for answer in found if answer.where not in names),
        tuple(answer for answer in found if answer.where in names),
    )


def _known_targets() -> Iterator[Target]:
    for runtime in catalogue().values():
        yield from runtime.targets


def _as_target(target: str | Target) -> Target:
    return find_target(target) if isinstance(target, str) else target


def _opsets_of_domains(source: ModelProto) -> Iterator[tuple[str, int]]:
    imported = opsets_to_reach(None, source, None, is_complete=True)
    for domain in CONVERTED_DOMAINS:
        if domain in imported:
            for opset in range(1, latest_opset(domain) + 1):
                yield domain, opset


def _key(opsets: Mapping[str, int], source: ModelProto) -> Opsets:
    """All domains of the model, so that the same walk has the same key."""
    return tuple(sorted(opsets_to_reach(opsets, source, None, is_complete=True).items()))


class _Survey:
    """Walks to each combination of opsets once."""

    def __init__(self, source: ModelProto, rule_book: RuleBook, exact: bool, base_dir: str) -> None:
        self._source = source
        self._rule_book = rule_book
        self._exact = exact
        self._base_dir = base_dir
        self._dry = DryRuns(source, base_dir)

    def answers(self, opsets: Opsets, places: Sequence[str | Target]) -> Iterator[Answer]:
        """The answer for each place that wants these opsets; runtimes that doubt the same share a walk."""
        groups: list[list[str | Target]] = []
        for place in places:
            group = next((group for group in groups if _takes_the_same(group[0], place)), None)
            if group is None:
                groups.append([place])
            else:
                group.append(place)
        for group in groups:
            yield from self._answers_after_one_walk(opsets, group)

    def _answers_after_one_walk(self, opsets: Opsets, places: Sequence[str | Target]) -> Iterator[Answer]:
        shown = {display_domain(domain): opset for domain, opset in opsets}
        runtime = places[0] if isinstance(places[0], Target) and places[0].doubted else None
        try:
            walked = walked_copy(
                self._source,
                dict(opsets),
                self._rule_book,
                exact=self._exact,
                base_dir=self._base_dir,
                dry=self._dry,
                runtime=runtime,
            )
        except ConversionRefused as refused:
            for place in places:
                where = place if isinstance(place, str) else place.spelling
                yield Answer(where, shown, 0, 0, 0, refused.refusals)
            return
        rewrites, ulps = _rewrites(walked.trace)
        facts = ModelFacts(walked.model)
        fitted: dict[tuple[int, bool], tuple[int, tuple[Refusal, ...]]] = {}
        for place in places:
            if isinstance(place, str):
                yield Answer(place, shown, walked.model.ir_version, rewrites, ulps, ())
                continue
            ir_version = place.ir_version_for(walked.model.ir_version)
            form = (ir_version, place.has_functions)
            if form not in fitted:
                fitted[form] = _fitted(walked, *form)
            needed, missing = fitted[form]
            blockers = (*missing, *objections(facts, place))
            ir_version = 0 if blockers else place.ir_version_for(needed)
            is_bounded = bool(place.opsets)
            yield Answer(place.spelling, shown, ir_version, rewrites, ulps, blockers, is_bounded)


def _takes_the_same(one: str | Target, other: str | Target) -> bool:
    """Whether nodes have to be written the same way for two places."""

    def doubts(place: str | Target) -> object:
        return (
            (place.kernels, place.forms, place.operators_lacking)
            if isinstance(place, Target)
            else ({}, (), frozenset())
        )

    return doubts(one) == doubts(other)


def _rewrites(trace: ConversionTrace) -> tuple[int, int]:
    """How many nodes rules changed, and the largest bound of a rounding one."""
    changed = [
        site
        for scope in trace.scopes.values()
        for site in scope.sites
        if any(rule.apply is not None for _, rule in site.applied)
    ]
    return len(changed), max((site.ulps for site in changed), default=0)


def _fitted(walked: Walked, ir_version: int, has_functions: bool) -> tuple[int, tuple[Refusal, ...]]:
    """The IR version that a walked model needs after all that can be changed for one, and what that cannot hold."""
    if ir_version == walked.model.ir_version and (has_functions or not walked.model.functions):
        return ir_version, ()
    copy = ModelProto()
    copy.CopyFrom(walked.model)
    fitting = IRFitting(walked.model, copy, ConversionTrace(), Names(walked.model), lambda path: [])
    try:
        fitting.fit(ir_version, keep_metadata=True, keep_functions=has_functions)
    except ConversionRefused as refused:
        return ir_version, refused.refusals
    return natural_ir_version(copy), ()


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
