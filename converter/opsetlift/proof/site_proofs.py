"""The second half of the argument: each distinct site, executed on both sides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

from onnx import ModelProto, NodeProto

from opsetlift.model.arrays import Array
from opsetlift.model.files import all_tensors, is_external
from opsetlift.model.scopes import GRAPH_PATH
from opsetlift.proof.body_keys import BodyKeys
from opsetlift.proof.certificate import Outcome, SiteRecord
from opsetlift.proof.constant_outputs import cannot_vary
from opsetlift.proof.declarations import Declarations, declare_all
from opsetlift.proof.diversity import Diversity, joined
from opsetlift.proof.inputs import FEW_GUESSES, GUESSES, LONG, Case, Floor, Input, InputGenerator
from opsetlift.proof.model_numbers import lists_of, numbers_of, texts_of
from opsetlift.proof.original_run import OriginalRun
from opsetlift.proof.scopes import Aligned, ScopePair
from opsetlift.proof.shapes import BEARABLE, FEW, LIGHT, Dims, fixed_elements, shrunk
from opsetlift.proof.signature import Key, array_key, seed_of, types_key
from opsetlift.proof.site_keys import SiteKeys
from opsetlift.proof.site_models import drawn_inputs, site_models, typings
from opsetlift.proof.sites import Facts, Site, SiteFinder
from opsetlift.proof.trial import Sides, Trial, try_sides
from opsetlift.proof.type_numbers import TypeNumbers
from opsetlift.proof.verdict_cache import KnownVerdict, VerdictCache, verdict_key
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification.history import display_domain
from opsetlift.support.processes import worked_off
from opsetlift.support.progress import tell

Open = Mapping[str, Dims | None]
"""The dimensions of the inputs, as far as they are known."""

MOST_NUMBERS = 12
"""So many numbers in the constants and attributes of a site, each with its neighbours, are required of its inputs."""

MOST_ITERATED = 1 << 10
"""So many elements inputs of open sizes have together where the result iterates over elements."""

MOST_COMPARED = 1 << 26
"""Inputs of so few elements in all are tried once at the model's own sizes where rules declared sizes."""

NOTHING: Mapping[str, Any] = {}

EMPTY = "the text of the target forbids inputs without elements; with that clause relaxed, the sides agree on them"
OWN_SIZES = "equal only with the model's own sizes, constants and declared shapes"
NOT_COMPARED = "the types that the result declares anew were compared with what is computed on no input"
LENIENT = "the original violates the specification of its version; the clauses that old exporters violate were relaxed"


@dataclass(frozen=True)
class Verdict:
    """What was found of a site, and of all sites that are equal to it."""

    outcome: Outcome
    cases: int = 0
    rejected: int = 0
    worst_ulps: float = 0.0
    reason: str = ""
    notes: tuple[str, ...] = ()
    diversity: Diversity = field(default_factory=Diversity)
    worst_case: str = ""
    from_cache: bool = False
    """Whether an earlier run found it."""


class _Place(NamedTuple):
    """A node whose sites are proven."""

    pair: ScopePair
    aligned: Aligned
    key: Key | None
    """Nodes with equal keys have sites of the same verdict, unless that depends on what is particular to each."""
    is_first: bool
    """Whether no node before has the same key."""


def _places(pairs: Sequence[ScopePair], finder: SiteFinder, facts: Facts) -> Iterator[_Place]:
    types = TypeNumbers()
    bodies = None if finder.replaces_bodies else BodyKeys(pairs, facts, types)
    done, total = 0, sum(len(pair.aligned) for pair in pairs)
    met: set[Key] = set()
    for pair in pairs:
        keys = SiteKeys(pair, facts, finder.overridable(pair), types, bodies)
        same_code: dict[int, Key | None] = {}
        for aligned in finder.changed(pair):
            tell("comparing", done + aligned.position, total)
            kind = keys.kind_so_far(aligned) if aligned.site is None and not pair.in_parts else 0
            if not kind or kind not in same_code:
                same_code[kind] = finder.same_code_key(pair, aligned)
            key = same_code[kind] or keys.of(aligned)
            yield _Place(pair, aligned, key, key is None or key not in met)
            if key is not None:
                met.add(key)
        done += len(pair.aligned)


class SiteProofs:
    """Proves sites, equal ones once, and keeps a record of each distinct one.

    Args:
        original: The model before.
        result: The model after.
        seed: Random seed for the inputs.
        cache: The verdicts of earlier runs, where they may be used.
        jobs: How many processes share the work where it takes long.
    """

    def __init__(
        self, original: ModelProto, result: ModelProto, seed: int, cache: VerdictCache | None = None, jobs: int = 1
    ) -> None:
        self._original = original
        self._result = result
        self._seed = seed
        self._cache = cache
        self._jobs = jobs
        self._verdicts: dict[Key, Verdict] = {}
        self._records: dict[tuple[Key, tuple[str, ...]], SiteRecord] = {}
        self._nodes = 0
        self._like_sites: dict[Key, Sequence[SiteRecord]] = {}
        self._original_run: OriginalRun | None = None

    @property
    def records(self) -> list[SiteRecord]:
        """The distinct sites."""
        return list(self._records.values())

    @property
    def nodes(self) -> int:
        """How many nodes they stand for."""
        return self._nodes

    def add_all(self, pairs: Iterable[ScopePair], trace: ConversionTrace, facts: Facts) -> None:
        """Prove every site of a conversion: one that is like a site before is counted, and costs no more than its key.

        Args:
            pairs: The scopes of both models.
            trace: Which nodes became which.
            facts: What is known of the original's values.
        """
        finder = SiteFinder(self._original, self._result, trace, facts)
        places = list(_places(list(pairs), finder, facts))
        self._nodes += len(places)
        if self._jobs > 1:
            self._prove_ahead([one for one in places if one.is_first], finder)
        for done, place in enumerate(places):
            tell("proving", done, len(places))
            records = None if place.key is None else self._like_sites.get(place.key)
            if records is not None:
                for record in records:
                    record.count += 1
                continue
            is_called = finder.is_called(place.pair)
            found = [self._added(site, is_called=is_called) for site in finder.sites(place.pair, place.aligned)]
            if place.key is not None and is_called and all(is_general for _, is_general in found):
                self._like_sites[place.key] = [record for record, _ in found]

    def _prove_ahead(self, places: Sequence[_Place], finder: SiteFinder) -> None:
        """Find the verdicts on the sites of different places, in several processes where that takes long."""
        found = worked_off(
            lambda number: self._new_verdicts(places[number], finder),
            len(places),
            self._jobs,
            lambda begun: tell("proving", begun, len(places)),
        )
        # Different places may have sites of the same key: the first of them gives the names in the record.
        for verdicts in reversed(found):
            self._verdicts.update(verdicts)

    def _new_verdicts(self, place: _Place, finder: SiteFinder) -> Mapping[Key, Verdict]:
        """Those on the sites of a place that were not known so far."""
        known = len(self._verdicts)
        for site in finder.sites(place.pair, place.aligned):
            self._verdict(site)
        return dict(islice(reversed(self._verdicts.items()), len(self._verdicts) - known))

    def _added(self, site: Site, *, is_called: bool) -> tuple[SiteRecord, bool]:
        """The record of a site, and whether it is that of all sites with the same cheap key, too."""
        key, verdict = self._verdict(site)
        if not is_called and verdict.outcome in (Outcome.UNPROVEN, Outcome.WEAK):
            # Only a call would tell the types; nothing runs the node.
            verdict = Verdict(Outcome.UNUSED, verdict.cases, verdict.rejected, verdict.worst_ulps)
        identity = (*key, is_called), site.rules
        if identity not in self._records:
            self._records[identity] = _record(site, verdict)
        record = self._records[identity]
        record.count += 1
        is_general = verdict.outcome is Outcome.SAME_CODE or (verdict.outcome in _GENERAL and not site.is_constant)
        return record, is_general

    def _verdict(self, site: Site) -> tuple[Key, Verdict]:
        if site.outputs and site.runs_same_code:
            return (site.node.domain, site.node.op_type, *site.since_versions), Verdict(Outcome.SAME_CODE)
        own = site.dims
        fixed = {size for value in site.embedded.values() for size in value.shape}
        count = fixed_elements(own)
        small = own if count <= (FEW if site.iterates else LIGHT) else shrunk(own, fixed)
        key = (site.key, types_key(site.types, small), small == own, site.is_constant)
        if key not in self._verdicts:
            ways = [small, own] if small != own and count <= (LIGHT if site.iterates else BEARABLE) else [small]
            is_last = not site.has_large and small == own
            self._verdicts[key] = self._known_or_tried(site, ways, key, is_last=is_last)
        verdict = self._verdicts[key]
        if verdict.outcome not in (Outcome.DIFFERENT, Outcome.UNPROVEN):
            return key, verdict
        constants = _large_constants(site)
        numbered = tuple((list(site.types).index(name), array_key(value)) for name, value in constants.items())
        own_key = (*key, types_key(site.types, own), numbered, tuple(site.declared.items()))
        if own_key not in self._verdicts:
            # What is declared only leaves out inputs, of which none was accepted where nothing differed.
            is_declared = verdict.outcome is Outcome.DIFFERENT and (site.declares_shapes or site.dims_told != site.dims)
            if small != own or site.has_large or is_declared:
                verdict = self._verdict_at_own_sizes(site, constants, key, verdict)
            if verdict.outcome is Outcome.UNPROVEN and (seen := self._seen(site, constants)):
                # Inputs for which the declarations hold were found: others would say nothing.
                declared = site.declares_shapes and verdict.cases > 0
                ways = [{**own, **_sizes(seen)}]
                found = self._try(site, ways, constants, key, seen=seen, as_declared=declared)
                verdict = found if found.cases or not declared else verdict
            self._verdicts[own_key] = verdict
        return own_key, self._verdicts[own_key]

    def _known_or_tried(self, site: Site, ways: Sequence[Open], key: Key, *, is_last: bool) -> Verdict:
        """The verdict of an earlier run, or else of this one, which is kept where the sides are equal."""
        if self._cache is None or self._reads_files(site):
            return self._try(site, ways, {}, key, is_last=is_last)
        names = list(site.types)
        sizes = [types_key(site.types, way) for way in ways]
        kept_as = verdict_key(key, sizes, is_last, self._seed, self._functions_sha256)
        known = self._cache.find(kept_as, names)
        if known is not None:
            return Verdict(
                Outcome.EQUAL, known.cases, known.rejected, known.worst_ulps, diversity=known.diversity, from_cache=True
            )
        verdict = self._try(site, ways, {}, key, is_last=is_last)
        if verdict.outcome is Outcome.EQUAL and not verdict.notes:
            found = KnownVerdict(verdict.cases, verdict.rejected, verdict.worst_ulps, verdict.diversity)
            self._cache.keep(kept_as, names, found)
        return verdict

    def _reads_files(self, site: Site) -> bool:
        """Whether an attribute has external data, of which keys hold the place and not the content."""
        held = ModelProto(functions=[*self._original.functions, *self._result.functions])
        held.graph.node.extend((*site.before_as_run, *site.after))
        held.graph.node.extend(node for node in site.shared.values() if isinstance(node, NodeProto))
        return any(map(is_external, all_tensors(held)))

    @cached_property
    def _functions_sha256(self) -> str:
        """The digest of the functions of both models, which sites may call by name; "" where there are none."""
        models = self._original, self._result
        functions = [[one.SerializeToString(deterministic=True) for one in model.functions] for model in models]
        return hashlib.sha256(repr(functions).encode()).hexdigest() if any(functions) else ""

    def _verdict_at_own_sizes(self, site: Site, constants: Mapping[str, Array], key: Key, general: Verdict) -> Verdict:
        """With the model's own sizes and constants, and only with inputs for which all is as it declares.

        Where small sizes and drawn constants fail, it need not be the fault of the rule, which may have used all these.
        """
        verdict = self._try(site, [site.dims], constants, key, as_declared=True)
        if verdict.outcome not in _AGREE and site.dims_told != site.dims:
            verdict = self._try(site, [site.dims_told], constants, key, as_declared=True)
        if verdict.outcome is Outcome.UNPROVEN and site.declares_shapes and not verdict.cases:
            # What the model declares may be wrong, or a size of 0; it must not hide that the sides differ.
            verdict = self._try(site, [site.dims_told], constants, key)
        if verdict.outcome in _AGREE and general.outcome is Outcome.DIFFERENT:
            return replace(verdict, notes=(*verdict.notes, f"{OWN_SIZES}: {general.reason}"))
        return verdict

    def _seen(self, site: Site, constants: Mapping[str, Array]) -> Mapping[str, Array]:
        """What a site of the graph reads in a run of the whole original model; nothing where that cannot be had."""
        names = [name for name in site.types if name not in constants]
        if site.path != GRAPH_PATH or not names:
            return {}
        self._original_run = self._original_run or OriginalRun(self._original, site.facts.base_dir, self._seed)
        return self._original_run.tensors(names)

    def _with_declarations(
        self,
        verdict: Verdict,
        site: Site,
        sides: Sides,
        declarations: Declarations,
        inputs: Sequence[Input],
        key: Key,
    ) -> Verdict:
        """A verdict, after one more input: one of the model's own sizes, for which all holds that it declares."""
        if fixed_elements(site.dims) <= MOST_COMPARED:
            checked = declarations.checked(own_sizes=True)
            sides = replace(sides, declared=site.declared, as_declared=True, checked=checked)
            results = [sizes for sizes in site.declared.values() if sizes]
            generator = partial(
                InputGenerator, inputs, seed_of(self._seed, key), hints=site.numbers, results=results, limit=1
            )
            trial = try_sides(sides, generator)
            if trial.counterexample:
                return _judged(site, trial, may_be_empty=True)
            declarations.take_note(trial, own_sizes=True)
        return verdict if declarations.were_compared else replace(verdict, outcome=Outcome.WEAK, reason=NOT_COMPARED)

    def _try(
        self,
        site: Site,
        ways: Sequence[Open],
        constants: Mapping[str, Array],
        key: Key,
        *,
        as_declared: bool = False,
        seen: Mapping[str, Array] = NOTHING,
        is_last: bool = True,
    ) -> Verdict:
        if not site.outputs and not site.after:
            return Verdict(Outcome.UNUSED)
        try:
            alternatives = typings(site)
        except ValueError as error:
            return Verdict(Outcome.UNPROVEN, reason=str(error))
        hints = [*site.numbers, *(size for value in constants.values() for size in value.shape)]
        met = [*site.embedded.values(), *constants.values()]
        verdicts = []
        for types in alternatives:
            before, after = site_models(site, types, constants, self._original, self._result)
            numbers = numbers_of([before, after], MOST_NUMBERS)
            words = texts_of([before, after], MOST_NUMBERS)
            outputs = [(name, name) for name in site.outputs]
            declared = site.declared if as_declared else NOTHING
            sides = Sides(before, after, outputs, ulps=site.ulps, declared=declared, base_dir=site.facts.base_dir)
            sides.as_declared = as_declared
            declarations = declare_all(site, before, after)
            left = {name: kind for name, kind in types.items() if name not in constants}
            for dims in ways:
                inputs = drawn_inputs(site, left, dims, seen)
                first = [Case("as in a run of the whole model", seen)] if seen else []
                generator = partial(
                    InputGenerator,
                    inputs,
                    seed_of(self._seed, key),
                    rounding=site.ulps > 0,
                    hints=hints,
                    first=first,
                    floor=Floor.FULL,
                    numbers=numbers,
                    # Those of the result are mostly axes and shapes, and each costs several runs.
                    lists=lists_of([before]),
                    words=words,
                    constants=met,
                    results=[sizes for sizes in declared.values() if sizes],
                    guesses=GUESSES if is_last else FEW_GUESSES,
                    has_bodies=site.has_bodies,
                    most_elements=MOST_ITERATED if site.iterates else LONG,
                )
                sides.checked = declarations.checked(own_sizes=dims == site.dims, as_declared=as_declared)
                trial = try_sides(sides, generator)
                declarations.take_note(trial, own_sizes=dims == site.dims)
                measured = trial.diversity
                if trial.cases and not (trial.counterexample or measured.outputs_vary or measured.may_be_constant):
                    seed = seed_of(self._seed, key)
                    measured.may_be_constant = cannot_vary(before, inputs, seed, lenient=trial.is_lenient)
                may_be_empty = (_may_be_empty(dims) and dims == site.dims) or (as_declared and _declares_empty(site))
                verdicts.append(_judged(site, trial, may_be_empty=may_be_empty))
                if verdicts[-1].outcome not in _AGREE:
                    break
            if not declarations.were_compared and verdicts[-1].outcome in _AGREE:
                inputs = drawn_inputs(site, left, site.dims, seen)
                verdicts.append(self._with_declarations(verdicts[-1], site, sides, declarations, inputs, key))
        verdict = verdicts[0] if len(verdicts) == 1 else _joined(verdicts, are_alternatives=len(alternatives) > 1)
        if not site.outputs and verdict.outcome is Outcome.EQUAL:
            return replace(verdict, outcome=Outcome.UNUSED)
        definition = site.definition
        if definition is not None and definition.is_random and not definition.takes_subgraphs:
            return _judged_as_random(site, verdict)
        return verdict


def _record(site: Site, verdict: Verdict) -> SiteRecord:
    domain = display_domain(site.node.domain)
    return SiteRecord(
        operator=f"{domain}.{site.node.op_type}" if site.node.domain else site.node.op_type,
        source_since=site.since_versions[0],
        target_since=site.since_versions[1],
        path=site.path,
        node=site.node.name or next(filter(None, site.node.output), ""),
        count=0,
        rules=list(site.rules),
        ulps=site.ulps,
        outcome=verdict.outcome,
        cases=verdict.cases,
        rejected=verdict.rejected,
        worst_ulps=verdict.worst_ulps,
        reason=verdict.reason,
        notes=list(verdict.notes),
        inputs=list(verdict.diversity.inputs),
        worst_case=verdict.worst_case,
        from_cache=verdict.from_cache,
    )


_AGREE = (Outcome.EQUAL, Outcome.WEAK)
"""Both sides agreed wherever the original ran."""

_GENERAL = (Outcome.EQUAL, Outcome.SAME_STRUCTURE, Outcome.UNUSED)
"""What holds for every site of a key, whatever large constants, declared shapes and runs of the model may say."""


def _large_constants(site: Site) -> dict[str, Array]:
    found = {name: site.constant(name) for name in site.types}
    return {name: value for name, value in found.items() if value is not None}


def _sizes(seen: Mapping[str, Array]) -> Open:
    return {name: value.shape for name, value in seen.items()}


def _may_be_empty(dims: Open) -> bool:
    """Whether outputs without elements may be all there are: no size is open, or no input ever has an element."""
    return all(one is not None and all(isinstance(size, int) for size in one) for one in dims.values()) or all(
        one is not None and 0 in one for one in dims.values()
    )


def _declares_empty(site: Site) -> bool:
    """Whether the model declares that no output has elements."""
    return all(0 in (site.declared.get(name) or ()) for name in site.outputs)


def _judged(site: Site, trial: Trial, *, may_be_empty: bool) -> Verdict:
    """The verdict on a site from one trial. Outputs without elements prove nothing, unless the model has no others."""
    numbers = (trial.cases, trial.rejected, trial.worst_ulps)
    diversity = trial.diversity
    notes = tuple(
        note for note, holds in ((LENIENT, trial.is_lenient), (f"{EMPTY}: {trial.relaxed}", trial.relaxed)) if holds
    )
    if trial.counterexample:
        return Verdict(Outcome.DIFFERENT, *numbers, trial.counterexample, notes)
    if not trial.cases or trial.blocked:
        return Verdict(Outcome.UNPROVEN, *numbers, f"the original never ran: {trial.obstacle}", notes)
    if not site.outputs:
        return Verdict(Outcome.EQUAL, *numbers, notes=notes)
    if not (trial.has_elements or may_be_empty):
        return Verdict(Outcome.UNPROVEN, *numbers, "no input was found for which an output has elements", notes)
    if may_be_empty and not trial.has_elements:
        return Verdict(Outcome.EQUAL, *numbers, notes=notes, diversity=diversity, worst_case=trial.worst_case)
    diversity.may_be_constant |= site.is_constant
    missing = diversity.missing
    outcome = Outcome.WEAK if missing else Outcome.EQUAL
    return Verdict(outcome, *numbers, missing, notes, diversity, trial.worst_case)


def _judged_as_random(site: Site, verdict: Verdict) -> Verdict:
    """What draws random numbers is kept if the same node, with all its attributes, stands in its place.

    Its results say little: the evaluator draws the same numbers on both sides, and no other runtime draws those.
    """
    if verdict.outcome is Outcome.DIFFERENT:
        return verdict
    reason = "it draws random numbers, and the node was changed"
    if len(site.after) == 1:
        one, other = site.node, site.after[0]
        attributes = [{a.name: a.SerializeToString() for a in node.attribute} for node in (one, other)]
        connections = [(node.op_type, node.domain, list(node.input), list(node.output)) for node in (one, other)]
        if connections[0] == connections[1] and attributes[0].items() <= attributes[1].items():
            return replace(verdict, outcome=Outcome.SAME_STRUCTURE, reason="")
    if verdict.outcome in _AGREE:
        return replace(verdict, notes=(*verdict.notes, f"{reason}; with the same numbers, it computes the same"))
    return replace(verdict, reason=f"{reason}; {verdict.reason}")


def _joined(verdicts: Sequence[Verdict], *, are_alternatives: bool) -> Verdict:
    """One verdict of several on the same site: at several shapes, or for each dtype that an unknown one may be."""
    cases, rejected = sum(one.cases for one in verdicts), sum(one.rejected for one in verdicts)
    nearest = max(verdicts, key=lambda one: one.worst_ulps)
    worst = nearest.worst_ulps
    notes = tuple(dict.fromkeys(note for one in verdicts for note in one.notes))
    diversity = joined([one.diversity for one in verdicts])
    bad = [one for one in verdicts if one.outcome is Outcome.DIFFERENT]
    good = [one for one in verdicts if one.outcome in _AGREE]
    if not are_alternatives:
        failed = [one for one in verdicts if one.outcome not in _AGREE]
        if failed:
            return Verdict(failed[0].outcome, cases, rejected, worst, failed[0].reason, notes, diversity)
        # What one way left out, another one tried.
        missing = diversity.missing
        outcome = Outcome.WEAK if missing else Outcome.EQUAL
        return Verdict(outcome, cases, rejected, worst, missing, notes, diversity, nearest.worst_case)
    if bad:
        outcome = Outcome.UNPROVEN if good else Outcome.DIFFERENT
        return Verdict(
            outcome,
            cases,
            rejected,
            worst,
            f"the dtype cannot be inferred, and for one of them the sides differ: {bad[0].reason}",
            notes,
        )
    if not good:
        return verdicts[0]
    notes = (
        *notes,
        f"the dtype cannot be inferred: of {len(verdicts)} possible ones, the original accepts {len(good)}",
    )
    weakest = next((one for one in good if one.outcome is Outcome.WEAK), good[0])
    return Verdict(
        weakest.outcome, cases, rejected, worst, weakest.reason, notes, weakest.diversity, nearest.worst_case
    )
