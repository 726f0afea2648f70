"""A copy of a model, walked to its opsets; where one body of a function cannot serve all callers, with copies of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from onnx import ModelProto, NodeProto, OperatorSetIdProto

from opsetlift.conversion.specialise import CallSite, final_functions, specialisable, specialise, uncalled
from opsetlift.conversion.walk import WalkState, walk_model
from opsetlift.facts import ModelFacts
from opsetlift.model.files import without_weights
from opsetlift.model.ir_version import natural_ir_version
from opsetlift.model.names import Names
from opsetlift.model.scopes import (
    GRAPH_PATH,
    FunctionKey,
    function_key,
    function_path,
    imported_opsets,
    root_path,
)
from opsetlift.rulebook.book import RuleBook
from opsetlift.rulebook.trace import AppliedRules, ConversionTrace
from opsetlift.specification.history import AI_ONNX, canonical_domain
from opsetlift.support.internal_error import InternalError
from opsetlift.support.refusal import ConversionRefused, Refusal
from opsetlift.targets import Target

_MOST_FUNCTIONS = 1000
"""Copies for single calls multiply with the depth of calls; past this many the conversion is refused as it stands."""


@dataclass(frozen=True)
class Walked:
    """A model at its opsets, how it got there, and what to name more of it."""

    model: ModelProto
    trace: ConversionTrace
    names: Names
    applied: Mapping[str, AppliedRules]
    """The rules that were applied in each function, also in those that only the result has."""
    left_out: Sequence[str] = ()
    """The paths of functions that nothing calls and that could not be converted: the result is without them."""
    held: Sequence[NodeProto] = field(default=(), repr=False)
    """The nodes of the graph, which many read: while they are held, protobuf makes no second object of each."""

    def applied_of(self, path: str) -> AppliedRules:
        """The rules that were applied in the function at a path."""
        return list(self.applied.get(path, ()))


@dataclass(frozen=True)
class Asked:
    """The operators, by domain and name, of which a conversion asked what its runtime takes."""

    operators: set[tuple[str, str]] = field(default_factory=set)
    kernels: set[tuple[str, str]] = field(default_factory=set)
    """Those of which a rule asked whether there is a kernel."""

    def note(self, walk: WalkState) -> None:
        """Add what a walk asked."""
        self.kernels.update(walk.kernels_asked)
        self.operators.update(walk.kernels_asked, walk.routes.operators)


class DryRuns:
    """What several walks of one model share, when nothing of them is to be written: facts, names, and no weights."""

    def __init__(
        self, source: ModelProto, base_dir: str, facts: ModelFacts | None = None, names: Names | None = None
    ) -> None:
        self.source = source
        self.specialised: DryRuns | None = None
        """Those of the model in which functions were copied for their callers, as a walk asked for it."""
        self._light = without_weights(source)
        self._facts = facts or ModelFacts(source, base_dir)
        self._names = names or Names(source, self._facts.tables.index)

    def copy(self) -> ModelProto:
        """The model to be walked. Facts are read off the one with weights."""
        model = ModelProto()
        model.CopyFrom(self._light)
        return model

    def facts(self) -> ModelFacts:
        """The facts for the next walk."""
        self._facts = self._facts.renewed()
        return self._facts

    def names(self) -> Names:
        """The names for the next walk."""
        self._names = self._names.renewed()
        return self._names


def walked_copy(
    source: ModelProto,
    targets: Mapping[str, int],
    rule_book: RuleBook,
    *,
    exact: bool,
    base_dir: str,
    facts: ModelFacts | None = None,
    dry: DryRuns | None = None,
    runtime: Target | None = None,
    until_refused: bool = False,
    only_counts: bool = False,
    asked: Asked | None = None,
) -> Walked:
    """Convert a copy of a model. Where a function cannot be converted for all its callers at once, each gets its own.

    Args:
        source: What is converted; it stays as it is.
        targets: The opsets to go to, by domain.
        rule_book: Whose rules are applied.
        exact: Whether rules that round are refused.
        base_dir: The folder of the external data.
        facts: Those of `source`, where some are known already.
        dry: What this walk shares with others whose results are not written either.
        runtime: What it does not accept as it is written is written otherwise.
        until_refused: Whether the first refusal ends the walk.
        only_counts: Whether nothing is wanted but the refusals, the IR version, and which rules are applied to how many
            nodes. The result is no model then: nodes that equal others are not converted.
        asked: Is given the operators of which the conversion asked what `runtime` takes.

    Raises:
        ConversionRefused: With every refusal, unless `until_refused`.
        InternalError: A rule is defective.
    """
    start = source
    if AI_ONNX in targets and AI_ONNX not in imported_opsets(source.opset_import):
        start = ModelProto()
        start.CopyFrom(source)
        start.opset_import.add(domain=AI_ONNX, version=targets[AI_ONNX])
    while until_refused and dry is not None and dry.specialised is not None:
        # Of the result nothing but the verdict is wanted: the copies that another walk needed serve this one.
        dry = dry.specialised
        start = dry.source
    calls: list[CallSite] = []
    while True:
        shared = dry if dry is not None and dry.source is start else None
        walk = _walk(start, targets, rule_book, exact, base_dir, facts if start is source else None, shared, runtime)
        walk.ends_when_refused = until_refused
        # Other functions that are refused are copied for their callers, all of them at once.
        walk.final_functions = final_functions(start) if until_refused and start is not source else set()
        walk.only_counts = only_counts
        walk.is_dry = shared is not None
        walk_model(walk)
        if asked is not None:
            asked.note(walk)
        if walk.faults:
            raise InternalError(walk.faults, walk.refusals)
        if not walk.refusals:
            break
        generic = specialisable(start, _functions_refused(start, walk.refusals))
        if walk.is_over or not generic or len(start.functions) > _MOST_FUNCTIONS:
            raise ConversionRefused(walk.refusals)
        start, sites = specialise(start, generic)
        calls += sites
        if shared is not None and until_refused:
            dry = shared.specialised = DryRuns(start, base_dir)
    applied = _trace_of_source(walk.trace, source, start, calls)
    _stamp(walk.model, targets)
    left_out = [path for path in map(function_path, uncalled(source)) if path in walk.trace.dropped_functions]
    return Walked(walk.model, walk.trace, walk.names, applied, left_out, walk.model.graph.node[:])


def _trace_of_source(
    trace: ConversionTrace, source: ModelProto, start: ModelProto, calls: Sequence[CallSite]
) -> Mapping[str, AppliedRules]:
    """Make the trace of a walk from `start` one from `source`: what calls a copy of a function is a site of its own.

    Returns:
        The rules that were applied in each function of `start`.
    """
    before = set(map(function_path, source.functions))
    after = set(map(function_path, start.functions))
    trace.added_functions = after - before
    trace.dropped_functions = before - after
    own = trace.applied_in(after)
    applied = {path: list(found) for path, found in own.items()}
    for path, _, function in reversed(calls):
        # Copies of callers were made before those of what they call.
        if (caller := root_path(path)) in applied:
            applied[caller] += applied.get(function, [])
    kept = {GRAPH_PATH, *(before & after)}
    trace.scopes = {path: one for path, one in trace.scopes.items() if root_path(path) in kept}
    for path, index, function in calls:
        if root_path(path) in kept:
            trace.add_site(path, index, applied.get(function, []))
    return own


def _walk(
    start: ModelProto,
    targets: Mapping[str, int],
    rule_book: RuleBook,
    exact: bool,
    base_dir: str,
    facts: ModelFacts | None,
    dry: DryRuns | None,
    runtime: Target | None,
) -> WalkState:
    if dry is not None:
        facts = dry.facts()
        names = dry.names()
        return WalkState(start, dry.copy(), targets, rule_book, exact=exact, facts=facts, names=names, runtime=runtime)
    model = ModelProto()
    model.CopyFrom(start)
    return WalkState(start, model, targets, rule_book, exact=exact, base_dir=base_dir, facts=facts, runtime=runtime)


def _functions_refused(model: ModelProto, refusals: list[Refusal]) -> set[FunctionKey]:
    paths = {root_path(refusal.path) for refusal in refusals}
    return {function_key(function) for function in model.functions if function_path(function) in paths}


def _stamp(model: ModelProto, targets: Mapping[str, int]) -> None:
    """Write the opsets that the model and its functions have arrived at, and the IR version that goes with them."""
    for container in (model, *model.functions):
        imported = imported_opsets(container.opset_import)
        arrived = {domain: targets.get(domain, opset) for domain, opset in imported.items()}
        if len(imported) < len(container.opset_import):
            spelt = {canonical_domain(entry.domain): entry.domain for entry in container.opset_import}
            del container.opset_import[:]
            container.opset_import.extend(OperatorSetIdProto(domain=spelt[domain]) for domain in arrived)
        for entry in container.opset_import:
            entry.version = arrived[canonical_domain(entry.domain)]
    model.ir_version = natural_ir_version(model)
