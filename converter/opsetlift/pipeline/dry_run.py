"""What dry runs of one model to many destinations share: names, facts, and walks; nothing of them is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NoReturn

from onnx import ModelProto

from opsetlift.conversion.distinct import PartUndecided, Reduced, called
from opsetlift.conversion.ir_fitting import IRFitting
from opsetlift.conversion.objections import objections, what_objections_depend_on
from opsetlift.conversion.walked import Asked, DryRuns, Walked, walked_copy
from opsetlift.facts import ModelFacts
from opsetlift.model.ir_version import FIRST_WITH_OVERRIDES, natural_ir_version, needed_by_content
from opsetlift.model.names import Names
from opsetlift.model.scopes import GRAPH_PATH, imported_opsets
from opsetlift.rulebook.book import RuleBook
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification.history import canonical_domain
from opsetlift.support.refusal import ConversionRefused, Refusal, Why
from opsetlift.targets import Target, known_of_operators


class _Result:
    """A walked model, and what was found for the IR versions and runtimes of all walks that ended at it."""

    def __init__(self, model: ModelProto) -> None:
        self.facts = ModelFacts(model)
        self.forms: dict[tuple[int, bool, bool], tuple[int, tuple[Refusal, ...]]] = {}
        self._opsets = imported_opsets(model.opset_import)
        self._accepted: list[object] = []

    @cached_property
    def _operators(self) -> frozenset[tuple[str, str]]:
        nodes = (node for scope in self.facts.all_scopes() for node in scope.container.node)
        return frozenset((canonical_domain(node.domain), node.op_type) for node in nodes)

    def objections(self, runtime: Target) -> list[Refusal]:
        """What a runtime does not take of the model: nothing, where another was found to take it that is like it."""
        data = what_objections_depend_on(self._operators, self._opsets, runtime)
        if data in self._accepted:
            return []
        found = objections(self.facts, runtime)
        if not found:
            self._accepted.append(data)
        return found


class _Walk:
    """One walk; `result` is None where it was refused."""

    def __init__(
        self,
        opsets: Mapping[str, int],
        runtime: Target | None,
        asked: Asked,
        walked: Walked | ConversionRefused,
        result: _Result | None,
    ) -> None:
        self._opsets = opsets
        self._runtime = runtime
        self._asked = asked
        self.walked = walked
        self.result = result

    def holds_for(self, opsets: Mapping[str, int], runtime: Target | None, *, is_named: bool) -> bool:
        """Whether a walk to some opsets for a runtime gives the same.

        Args:
            opsets: By domain.
            runtime: The one that is asked about, or none.
            is_named: Whether refusals have to name it.
        """
        if opsets != self._opsets or runtime is self._runtime:
            return opsets == self._opsets
        refusals = self.walked.refusals if isinstance(self.walked, ConversionRefused) else ()
        if is_named and any(one.why is Why.TARGET for one in refusals):
            return False
        return self._answers(runtime) == self._own_answers

    @cached_property
    def _own_answers(self) -> object:
        return self._answers(self._runtime)

    def _answers(self, runtime: Target | None) -> object:
        """What a runtime answered, or would have, to all that was asked of it on the way."""
        if runtime is None:
            return {}, None
        known = known_of_operators(self._asked.operators, self._opsets, runtime)
        return known, runtime.dtypes_refused if self._asked.kernels else None


class DryRun:
    """Dry runs of one model. Walks to the opsets of the last run are kept, and of others those that were refused.

    Args:
        source: The model.
        base_dir: The folder of its external data.
        facts: Those of the model, where some are known already.
        part: Where the model is a part of another, what it stands for.
        names: The names in that one.
        until_refused: Whether the first refusal may end a walk.
        only_counts: Whether nothing is wanted of a walk but the refusals, the IR version, and which rules are applied
            to how many nodes: no runtime is asked about then.
    """

    def __init__(
        self,
        source: ModelProto,
        base_dir: str,
        facts: ModelFacts | None = None,
        *,
        part: Reduced | None = None,
        names: Names | None = None,
        until_refused: bool = False,
        only_counts: bool = False,
    ) -> None:
        self._source = source
        self._base_dir = base_dir
        self._until_refused = until_refused
        # Nodes that are not converted need what they needed before: of newer content it would have to be counted.
        self._only_counts = only_counts and needed_by_content(source).ir_version <= FIRST_WITH_OVERRIDES
        self._shared = DryRuns(source, base_dir, facts, names)
        self.searches = True
        """Whether other opsets are tried where a runtime refuses these."""
        self.smaller: DryRun | None = None
        """Dry runs of a smaller part: what it refuses, this one does."""
        self.around: Callable[[Collection[int]], DryRun] | None = None
        """Gives dry runs of the part around some nodes of the whole model."""
        self._part = part
        self._names = names
        self._opsets: Mapping[str, int] = {}
        self._walks: list[_Walk] = []
        self._results: dict[bytes, _Result] = {}

    @cached_property
    def search(self) -> DryRun:
        """Dry runs of the same model that end where something is refused."""
        facts = self._shared.facts()
        return DryRun(self._source, self._base_dir, facts, part=self._part, names=self._names, until_refused=True)

    def smaller_parts(self, refusals: Sequence[Refusal]) -> Iterator[DryRun]:
        """Dry runs of smaller parts: what they refuse, this one does. First that around a node that was refused."""
        if self.around is not None:
            names = {one.origin or one.node for one in refusals if one.path == GRAPH_PATH}
            first = next((place for place, one in enumerate(self._source.graph.node) if called(one) in names), None)
            if first is not None:
                yield self.around([first if self._part is None else self._part.positions[first]])
        if self.smaller is not None:
            yield self.smaller

    def _refuse(self, refusals: Sequence[Refusal]) -> NoReturn:
        """Raise ConversionRefused; PartUndecided where nodes are refused that stand for no others."""
        of_nodes = [one for one in refusals if one.node]
        if self._part is not None and self._part.positions_refused(of_nodes) is None:
            raise PartUndecided(is_refused=self._part.refuses(of_nodes))
        raise ConversionRefused(refusals)

    def _with_origins(self, refusals: Sequence[Refusal], walked: Walked) -> Sequence[Refusal]:
        """Say of nodes that rules wrote which node of the part they stand for."""
        if self._part is None:
            return refusals
        sites = walked.trace.scope(GRAPH_PATH).sites
        before, after = self._source.graph.node, walked.model.graph.node
        given = set(map(called, before))
        origins = {
            called(node): called(before[site.index])
            for site in sites
            for node in after[site.start : site.stop]
            if called(node) not in given
        }
        return [replace(one, origin=origins.get(one.node, "")) for one in refusals]

    def walked(self, opsets: Mapping[str, int], book: RuleBook, runtime: Target | None, *, exact: bool) -> Walked:
        """The model at `opsets`, without weights, as `runtime` takes it. Raises ConversionRefused."""
        if opsets != self._opsets:
            self._opsets, self._results = opsets, {}
            self._walks = [one for one in self._walks if one.result is None]
        is_named = not self._until_refused
        found = next((one for one in self._walks if one.holds_for(opsets, runtime, is_named=is_named)), None)
        if found is None:
            asked = Asked()
            walked = self._walk(opsets, book, runtime, asked, exact=exact)
            result = self._result(walked) if isinstance(walked, Walked) else None
            found = _Walk(opsets, runtime, asked, walked, result)
            self._walks.append(found)
        if isinstance(found.walked, ConversionRefused):
            self._refuse(found.walked.refusals)
        return found.walked

    def _result(self, walked: Walked) -> _Result:
        """What is known of a walked model: most runtimes take what the walk for no runtime gives, and share it."""
        content = walked.model.SerializeToString(deterministic=True)
        if content not in self._results:
            self._results[content] = _Result(walked.model)
            if self._part is not None:
                facts = self._results[content].facts
                facts.cut_inputs = self._part.facts.cut_inputs
                facts.graph.presume(self._part.facts.graph.own_types())
        return self._results[content]

    def _walk(
        self, opsets: Mapping[str, int], book: RuleBook, runtime: Target | None, asked: Asked, *, exact: bool
    ) -> Walked | ConversionRefused:
        if self._only_counts:
            # Sentences of refusals name emitted values, whose numbers depend on every node before: that walk is run in
            # full.
            try:
                return self._copy(opsets, book, runtime, asked, exact=exact, until_refused=True, only_counts=True)
            except ConversionRefused:
                pass
        try:
            return self._copy(
                opsets, book, runtime, asked, exact=exact, until_refused=self._until_refused, only_counts=False
            )
        except ConversionRefused as refused:
            return refused

    def _copy(
        self,
        opsets: Mapping[str, int],
        book: RuleBook,
        runtime: Target | None,
        asked: Asked,
        *,
        exact: bool,
        until_refused: bool,
        only_counts: bool,
    ) -> Walked:
        return walked_copy(
            self._source,
            opsets,
            book,
            exact=exact,
            base_dir=self._base_dir,
            dry=self._shared,
            runtime=runtime,
            asked=asked,
            until_refused=until_refused,
            only_counts=only_counts,
        )

    def ir_version(self, walked: Walked, ir: int | None, runtime: Target | None) -> int:
        """The IR version of a walked model that fits `ir` and `runtime`.

        Raises:
            ConversionRefused: With everything that the IR version cannot hold and the runtime does not take.
        """
        result = next(one.result for one in self._walks if one.walked is walked)
        assert result is not None
        wanted = walked.model.ir_version if runtime is None else runtime.ir_version_for(walked.model.ir_version)
        form = (wanted if ir is None else ir, runtime is None or runtime.has_functions, ir is None)
        if form not in result.forms:
            result.forms[form] = _fitted(walked.model, *form)
        needed, refusals = result.forms[form]
        if runtime is not None:
            refusals = (*refusals, *result.objections(runtime))
        if refusals:
            self._refuse(self._with_origins(refusals, walked))
        return needed if runtime is None or ir is not None else runtime.ir_version_for(needed)


def _fitted(
    model: ModelProto, ir_version: int, has_functions: bool, keeps_metadata: bool
) -> tuple[int, tuple[Refusal, ...]]:
    """The IR version that a model needs in the form of one, and what that cannot hold."""
    if keeps_metadata and ir_version == model.ir_version and (has_functions or not model.functions):
        return ir_version, ()
    copy = ModelProto()
    copy.CopyFrom(model)
    fitting = IRFitting(model, copy, ConversionTrace(), Names(model), lambda path: [])
    try:
        fitting.fit(ir_version, keep_metadata=keeps_metadata, keep_functions=has_functions)
    except ConversionRefused as refused:
        return ir_version, refused.refusals
    return natural_ir_version(copy) if keeps_metadata else ir_version, ()
