"""Whether a model can be converted to each opset and each known runtime, and what blocks it.

Nothing is written or proven. The walks are those of a conversion, on copies without weights.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from onnx import ModelProto

from opsetlift.conversion.contributed import places_to_write
from opsetlift.conversion.destination import opsets_to_reach
from opsetlift.conversion.distinct import Kinds, PartUndecided, Reduced, is_reducible
from opsetlift.model.files import ModelFileError, fault_found
from opsetlift.model.names import Names
from opsetlift.model.scopes import GRAPH_PATH
from opsetlift.pipeline.dry_run import DryRun
from opsetlift.pipeline.given import Model
from opsetlift.pipeline.job import Job, Options
from opsetlift.pipeline.stages import (
    CONVERT,
    DRY_RUN,
    FIT,
    FOLD,
    LOAD,
    REPAIR,
    UNROLL,
    WRITE_OPERATORS,
    is_folded_for,
    is_unrolled_for,
    run,
)
from opsetlift.rulebook.book import RuleBook, default_rule_book
from opsetlift.specification.history import CONVERTED_DOMAINS, display_domain, latest_opset
from opsetlift.support.arguments import whole_number
from opsetlift.support.garbage import rarely_collected
from opsetlift.support.processes import worked_off
from opsetlift.support.progress import tell
from opsetlift.support.refusal import ConversionRefused, Refusal, Why
from opsetlift.support.showing import Shown
from opsetlift.targets import Target, catalogue, target_of

Opsets = tuple[tuple[str, int], ...]
"""Opsets by domain, as a key."""


_FEWEST_NODES = 300
"""Of a model with fewer nodes, all of them are tried: to find the kinds of nodes would take longer than it saves."""

_NEAR = 3
"""Nodes before a node. The kinds of few nodes differ by those; by more, of most."""


@dataclass(frozen=True)
class Answer:
    """Whether a model can be converted to one opset or for one runtime."""

    where: str
    """"ai.onnx 13", or a target as "onnxruntime==1.4"."""
    opsets: Mapping[str, int]
    """The opsets that it would have there, the default domain spelt "ai.onnx"."""
    ir_version: int
    """0 where it cannot be converted."""
    rewrites: int
    """How many nodes rules would change."""
    ulps: int
    """The largest bound of a rounding rule among them; 0 where all are exact."""
    blockers: tuple[Refusal, ...]
    """The refusals, place by place."""
    is_bounded: bool = True
    """Whether the opsets that the runtime accepts are known. Where they are not, "reachable" means little."""

    @property
    def is_reachable(self) -> bool:
        """Whether nothing blocks it."""
        return not self.blockers

    @property
    def sentence(self) -> str:
        """For people: "yes", "yes, with 3 rewrites", or "no" with the number of places."""
        if self.blockers:
            return f"no, {_counted(len(self.blockers), 'place')} cannot be converted"
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


@dataclass(frozen=True, repr=False)
class Reach(Shown):
    """Every answer on one model."""

    opsets: tuple[Answer, ...]
    """By domain and opset, oldest first."""
    targets: tuple[Answer, ...]
    """By runtime and version, oldest first."""

    def _shown_lines(self) -> Sequence[str]:
        return (
            f"Reach: {len(self.opsets)} opsets and {len(self.targets)} runtimes tried",
            *(f"{what}: {_in_short(found)}" for what, found in (("opsets", self.opsets), ("runtimes", self.targets))),
        )

    def _shown_rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        return ("destination", "answer"), [(one.where, one.sentence) for one in (*self.targets, *self.opsets)]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "opsets": [answer.as_dict() for answer in self.opsets],
            "targets": [answer.as_dict() for answer in self.targets],
        }


@rarely_collected()
def reach(
    model: Model,
    *,
    targets: Sequence[str | Target] | None = None,
    opsets: bool = True,
    exact: bool = False,
    base_dir: str = "",
    rule_book: RuleBook | None = None,
    jobs: int = 1,
) -> Reach:
    """Find the opsets and runtimes that a model can be converted to.

    Nothing is written or proven: the stages of a conversion run up to its checks, on copies without weights.

    Args:
        model: A model, in any kind that `opsetlift.convert` takes. It stays as it is.
        targets: The runtimes; by default every version of every known one.
        opsets: Whether to answer for every opset, too; for a few runtimes alone that costs more than they do.
        exact: Refuse rules that round.
        base_dir: The folder of external data; by default that of the file.
        rule_book: The rules; by default those that are installed.
        jobs: How many processes share the work where it takes more than half a second, as in `opsetlift.convert`.

    Returns:
        An answer for each opset of the domains that the model imports, if asked for, and for each target.

    Raises:
        ModelFileError: The file or the model cannot be read.
        UnknownTarget: There is no such runtime.
        TypeError: `targets` is one text.
    """
    if isinstance(targets, str):
        raise TypeError(f"targets must be a list, as [{targets!r}]")
    job = run((LOAD, REPAIR), Job(model, Options(), base_dir))
    source = job.model
    found_targets = _known_targets() if targets is None else map(target_of, targets)
    wanted = list({target.spelling: target for target in found_targets}.values())
    asked: dict[Opsets, list[str | Target]] = {}
    order: list[str] = []
    for domain, opset in _opsets_of_domains(source) if opsets else ():
        where = f"{display_domain(domain)} {opset}"
        order.append(where)
        asked.setdefault(_key({domain: opset}, source), []).append(where)
    for target in wanted:
        order.append(target.spelling)
        asked.setdefault(_key(opsets_to_reach(None, source, target, is_complete=True), source), []).append(target)
    depths = {target.depth for target in wanted}
    options = Options(exact=exact, rule_book=rule_book or default_rule_book())
    starts = _Jobs(replace(job, options=options), depths)
    trials = [
        _Trial(dict(destination), place, not any(isinstance(one, Target) for one in places))
        for destination, places in asked.items()
        for place in places
    ]
    trials.sort(key=lambda one: not starts.preparation(one.place).is_folded)
    tell("trying opsets and runtimes", 0, len(trials))
    # To fold the model takes long, and so does to compare its nodes: copies of this process inherit both.
    for trial in {starts.preparation(one.place): one for one in trials}.values():
        starts.start(trial.place)

    def answer_of(number: int) -> Answer:
        return starts.start(trials[number].place).answer(trials[number])

    def told(begun: int) -> None:
        tell("trying opsets and runtimes", begun, len(trials))

    tried = worked_off(answer_of, len(trials), whole_number(jobs, "the number of jobs", least=1), told)
    if fault_found(source, job.base_dir):
        # A few such models are valid at another opset, which only the checks of a conversion tell.
        tried = [_checked(answer, trial, options, job) for answer, trial in zip(tried, trials, strict=True)]
    answers = {answer.where: answer for answer in tried}
    names = {target.spelling for target in wanted}
    found = [answers[where] for where in order]
    return Reach(
        tuple(answer for answer in found if answer.where not in names),
        tuple(answer for answer in found if answer.where in names),
    )


class _Trial(NamedTuple):
    """What is asked about a model."""

    opsets: Mapping[str, int]
    place: str | Target
    only_counts: bool
    """No runtime is asked about at these opsets."""


class _Preparation(NamedTuple):
    """What is done to a model for a runtime before it is converted."""

    written: frozenset[tuple[str, int]] = frozenset()
    """The nodes of other domains that are written in ONNX's operators, by path and position."""
    is_folded: bool = False
    """Whether constants are folded."""
    is_unrolled: bool = False
    """Whether the runs of Loops are written out."""


class _Jobs:
    """The job at its start, and after the stages that only some runtimes need."""

    def __init__(self, job: Job, depths: Collection[int]) -> None:
        self._job = job
        self._depths = depths
        self._prepared: dict[_Preparation, Job] = {_Preparation(): job}
        self._kinds: dict[_Preparation, Kinds | None] = {}
        self._trials: dict[tuple[_Preparation, int], _Trials] = {}
        self._preparations: dict[int, _Preparation] = {}
        """By the identity of the place, which the trials keep."""

    def _job_after(self, preparation: _Preparation, runtime: Target | None) -> Job:
        if preparation not in self._prepared:
            options = replace(self._job.options, prove=False, runtime=runtime)
            start = replace(self._job, options=options, notes=[], evidence=[])
            stages = (WRITE_OPERATORS, FOLD, UNROLL) if preparation.is_unrolled else (WRITE_OPERATORS, FOLD)
            self._prepared[preparation] = replace(run(stages, start), options=self._job.options)
        return self._prepared[preparation]

    def _shared_depth(self, runtime: Target) -> int:
        """The depth of a runtime, or of all those that look neither much farther back: they share their walks."""
        near = [depth for depth in self._depths if 0 < depth <= _NEAR]
        return max(near) if 0 < runtime.depth <= _NEAR else runtime.depth

    def preparation(self, place: str | Target) -> _Preparation:
        """What is done to the model before it is converted to an opset or for a runtime."""
        if not isinstance(place, Target):
            return _Preparation()
        if id(place) not in self._preparations:
            self._preparations[id(place)] = self._preparation(place)
        return self._preparations[id(place)]

    def _preparation(self, place: Target) -> _Preparation:
        book = self._job.options.rule_book or default_rule_book()
        written = places_to_write(self._job.facts_of(self._job.model), place, book)
        known = _Preparation(written, is_folded_for(place, self._job))
        job = self._job_after(known, place)
        options = replace(job.options, runtime=place, opsets=None)
        return known._replace(is_unrolled=is_unrolled_for(replace(job, options=options)))

    def start(self, place: str | Target) -> _Trials:
        """Trials of the job before its conversion to an opset or for a runtime."""
        runtime = place if isinstance(place, Target) else None
        is_large = len(self._job.model.graph.node) >= _FEWEST_NODES
        depth = self._shared_depth(runtime) if is_large and runtime is not None else 0
        preparation = self.preparation(place)
        if (preparation, depth) not in self._trials:
            job = self._job_after(preparation, runtime)
            if preparation not in self._kinds:
                self._kinds[preparation] = _kinds(job)
            self._trials[preparation, depth] = _Trials(job, self._kinds[preparation], depth)
        return self._trials[preparation, depth]


def _kinds(job: Job) -> Kinds | None:
    """The kinds of a model's nodes; None where all nodes are tried."""
    facts, book = job.facts_of(job.model), job.options.rule_book
    is_large = len(job.model.graph.node) >= _FEWEST_NODES
    return Kinds(facts, book) if book and is_large and is_reducible(facts) else None


class _Trials:
    """Dry runs of one model, of which each tells as little as it may: most are of one node of each kind.

    Args:
        job: The job before its conversion.
        kinds: The kinds of nodes for rules alone; None where all nodes are tried.
        depth: How many nodes before a node decide for a runtime on it.
    """

    def __init__(self, job: Job, kinds: Kinds | None, depth: int) -> None:
        self._job = job
        self._facts = job.facts_of(job.model)
        # What a runtime takes depends on what the nodes before have become, and that on those before them.
        self._kinds = kinds.at(2 * depth + 1) if kinds and depth else kinds
        self._jobs: dict[bool, Job] = {}
        self._part: Reduced | None = None
        self._part_jobs: dict[bool, Job] = {}
        self._in_full: set[int] = set()
        """Positions of nodes that are not taken for equal to others."""

    @cached_property
    def _names(self) -> Names:
        return Names(self._job.model, self._facts.tables.index)

    @cached_property
    def _smallest(self) -> Reduced | None:
        return self._kinds.reduced() if self._kinds is not None else None

    def answer(self, trial: _Trial) -> Answer:
        """The answer for one opset or runtime."""
        opsets, place, only_counts = trial
        while self._kinds is not None:
            part = self._part = self._part or (self._kinds.reduced(self._in_full) if self._in_full else self._smallest)
            assert part is not None
            if self._is_nearly_all(part):
                break
            if only_counts not in self._part_jobs:
                self._part_jobs[only_counts] = self._job_of(part, only_counts=only_counts)
            try:
                found = _answer(self._part_jobs[only_counts], opsets, place, part)
                told_apart = self._kinds.told_apart_by_large_constants(part)
                if not told_apart:
                    return self._with_all_places(found, part, opsets, place)
            except PartUndecided:
                break
            self._in_full |= told_apart
            self._part, self._part_jobs = None, {}
        if only_counts not in self._jobs:
            model, base_dir = self._job.model, self._job.base_dir
            facts = self._facts if self._kinds is None else self._kinds.facts_of_all()
            dry = DryRun(model, base_dir, facts, names=self._names, only_counts=only_counts)
            if self._smallest is not None:
                dry.around, dry.smaller = self._around, self._dry_run(self._smallest)
            self._jobs[only_counts] = replace(self._job, dry=dry)
        return _answer(self._jobs[only_counts], opsets, place)

    def _is_nearly_all(self, part: Reduced) -> bool:
        """Whether a walk of all nodes takes hardly longer than of a part."""
        return 2 * len(part.positions) > len(self._job.model.graph.node)

    def _job_of(self, part: Reduced, *, only_counts: bool = False, searches: bool = True) -> Job:
        dry = self._dry_run(part, only_counts=only_counts)
        dry.searches, dry.around = searches, self._around
        if part is not self._smallest and self._smallest is not None:
            dry.smaller = self._dry_run(self._smallest)
        return replace(self._job, model=part.model, facts=part.facts, dry=dry)

    def _around(self, positions: Collection[int]) -> DryRun:
        assert self._kinds is not None
        return self._dry_run(self._kinds.reduced(positions, others=False))

    def _dry_run(self, part: Reduced, *, only_counts: bool = False) -> DryRun:
        return DryRun(
            part.model,
            self._job.base_dir,
            part.facts,
            part=part,
            names=self._names.renewed(),
            only_counts=only_counts,
        )

    def _with_all_places(self, found: Answer, part: Reduced, opsets: Mapping[str, int], place: str | Target) -> Answer:
        """The answer with the refusals of all nodes. Raises PartUndecided where they are not found this way."""
        if not found.blockers:
            return found
        refused = part.positions_refused(found.blockers)
        if refused is None or self._kinds is None:
            raise PartUndecided
        every = self._kinds.nodes_like(refused)
        if len(every) == len(refused):
            return found
        larger = self._kinds.reduced(self._in_full.union(every))
        answer = _answer(self._job_of(larger, searches=False), opsets, place, larger)
        if larger.positions_refused(answer.blockers) != set(every):
            raise PartUndecided
        return answer


def _answer(job: Job, opsets: Mapping[str, int], place: str | Target, part: Reduced | None = None) -> Answer:
    """Run the stages of a conversion up to its checks, for one opset or runtime; on a part that stands for a model.

    Raises PartUndecided where the part does not tell.
    """
    runtime = place if isinstance(place, Target) else None
    where = place if isinstance(place, str) else place.spelling
    shown = {display_domain(domain): opset for domain, opset in opsets.items()}
    options = replace(job.options, opsets=opsets if runtime is None else None, runtime=runtime)
    rewrites = ulps = ir_version = 0
    blockers: tuple[Refusal, ...] = ()
    trial = replace(job, options=options, evidence=[])
    try:
        run((CONVERT,), trial)
        rewrites, ulps = _rewrites(trial, part)
        run((FIT,), trial)
        ir_version = trial.conversion.ir_version
        reached = trial.conversion.destination.opsets_by_domain
        shown = {display_domain(domain): opset for domain, opset in reached.items()}
    except ConversionRefused as refused:
        blockers = refused.refusals
    is_bounded = runtime is None or bool(runtime.opsets)
    return Answer(where, shown, ir_version, rewrites, ulps, blockers, is_bounded)


def _checked(answer: Answer, trial: _Trial, options: Options, job: Job) -> Answer:
    """The answer, where a conversion with its checks agrees; the model is one that onnx's checker rejects."""
    if answer.blockers:
        return answer
    runtime = trial.place if isinstance(trial.place, Target) else None
    options = replace(options, opsets=trial.opsets if runtime is None else None, runtime=runtime, prove=False)
    try:
        run(DRY_RUN, Job(job.source, options, job.base_dir))
    except ConversionRefused as refused:
        return replace(answer, blockers=refused.refusals)
    except ModelFileError as fault:
        return replace(answer, blockers=(Refusal(Why.INVALID_MODEL, str(fault), "", "", GRAPH_PATH, ""),))
    return answer


def _known_targets() -> Iterator[Target]:
    for runtime in catalogue().values():
        yield from runtime.targets


def _opsets_of_domains(source: ModelProto) -> Iterator[tuple[str, int]]:
    imported = opsets_to_reach(None, source, None, is_complete=True)
    for domain in CONVERTED_DOMAINS:
        if domain in imported:
            for opset in range(1, latest_opset(domain) + 1):
                yield domain, opset


def _key(opsets: Mapping[str, int], source: ModelProto) -> Opsets:
    """All domains of the model, so that the same walk has the same key."""
    return tuple(sorted(opsets_to_reach(opsets, source, None, is_complete=True).items()))


def _rewrites(job: Job, part: Reduced | None) -> tuple[int, int]:
    """How many nodes rules changed, and the largest bound of a rounding one."""
    changed = [
        site
        for scope in job.conversion.walked.trace.scopes.values()
        for site in scope.sites
        if any(rule.apply is not None for _, rule in site.applied)
    ]
    count = len(changed) if part is None else sum(part.counts[site.index] for site in changed)
    return count, max((site.ulps for site in changed), default=0)


def _in_short(answers: Sequence[Answer]) -> str:
    """How many are in reach, and the first that is not."""
    out = [one for one in answers if not one.is_reachable]
    first = f"; out of reach: {out[0].where}{f' and {len(out) - 1} more' if out[1:] else ''}" if out else ""
    return f"{len(answers) - len(out)} of {len(answers)} in reach{first}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
