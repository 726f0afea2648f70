"""Runs passes over a model, again and again until nothing changes, and keeps account of what each did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx_graphsurgeon as gs

from opsetlift.model.files import ModelFileError
from opsetlift.normalizer.facts.graph_facts import Revision
from opsetlift.normalizer.graphs.dead_code import CyclicGraph
from opsetlift.normalizer.graphs.exporting import to_model
from opsetlift.normalizer.model_state import ModelState
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.normalizer.snapshots.snapshot import Snapshot
from opsetlift.normalizer.snapshots.structure import Structure
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.progress import tell

MOST_ROUNDS = 24
"""How often all passes run at most. They converge in a few rounds, unless two of them undo each other's work."""


class PassFailed(OpsetLiftError):
    """A pass raised an error, or left an invalid model. The message is one sentence."""


class RunFailed(PassFailed):
    """The same of one run of a pass: `reason` without the pass, and after how many runs that had changed something."""

    def __init__(self, failed: Pass, reason: str, after: int) -> None:
        super().__init__(f"pass {failed.name}: {reason}")
        self.failed = failed
        self.reason = reason
        self.after = after


@dataclass(frozen=True)
class Change:
    """What one run of a pass did that changed something; see `Account`."""

    name: str
    is_built_in: bool
    changes: int
    nodes: int
    bytes: int


@dataclass
class Account:
    """What a pass did, in all its runs."""

    name: str
    ulps: int = 0
    runs: int = 0
    changes: int = 0
    """Nodes that it changed, added or removed, and initializers that it added or removed."""
    nodes: int = 0
    """By how many nodes the model grew through it; it shrank where this is negative."""
    bytes: int = 0
    """By how many bytes of constants the model grew through it."""


class Pipeline:
    """Passes over one model. It stops early after `most_changes` runs of passes that changed something.

    `left_out` names passes that do not run any more once so many runs have changed something.
    """

    def __init__(
        self,
        state: ModelState,
        passes: Sequence[Pass],
        most_changes: int | None = None,
        left_out: Mapping[str, int] | None = None,
    ) -> None:
        self._state = state
        self._passes = passes
        self._most_changes = most_changes
        self._left_out = left_out or {}
        self.changes: list[Change] = []
        """The runs that changed something, in order."""
        self.changes_before_last_round = 0
        self.accounts = [Account(one.name, one.ulps) for one in passes]
        self.rounds = 0
        self._is_clean = False
        self._unchanged_since: dict[int, Revision] = {}
        """The revision of the facts, by pass, when it last found nothing to do."""
        self.has_converged = not passes

    @property
    def graph(self) -> gs.Graph:
        """The graph that the passes work on."""
        return self._state.graph

    def run(self) -> None:
        """Run the passes. Raises PassFailed."""
        facts = self._state.facts
        now = self._snapshot()
        while not self.has_converged and self.rounds < MOST_ROUNDS and self._most_changes != 0:
            self.rounds += 1
            self.has_converged = True
            self.changes_before_last_round = len(self.changes)
            facts.renew()
            for index, (one, account) in enumerate(zip(self._passes, self.accounts, strict=True)):
                tell(f"running passes, round {self.rounds}", index, len(self._passes))
                if self._is_left_out(one) or (self._is_clean and self._has_nothing_to_do(index, now)):
                    continue
                before = now
                now, changes = self._applied(one, before)
                account.runs += 1
                if not changes:
                    self._unchanged_since[index] = facts.revision
                    continue
                if not now.differs_in_names_only(before):
                    facts.graph_has_changed(now.nodes_changed_since(before))
                self.has_converged = False
                done = Change(
                    one.name, one.is_built_in, changes, now.node_count - before.node_count, now.bytes - before.bytes
                )
                account.changes += done.changes
                account.nodes += done.nodes
                account.bytes += done.bytes
                self.changes.append(done)
                if len(self.changes) == self._most_changes:
                    return

    def _is_left_out(self, one: Pass) -> bool:
        return one.name in self._left_out and len(self.changes) >= self._left_out[one.name]

    def _has_nothing_to_do(self, index: int, now: Snapshot) -> bool:
        """Whether a pass would certainly leave the model as it is: it is not run then."""
        one = self._passes[index]
        if one.operators and one.operators.isdisjoint(now.operators):
            return True
        return one.is_built_in and self._unchanged_since.get(index) == self._state.facts.revision

    def _applied(self, one: Pass, before: Snapshot) -> tuple[Snapshot, int]:
        """The model after a pass, and the number of differences. Raises RunFailed."""
        try:
            now = self._apply(one, before)
            changes = now.changes_since(before) if now is not before else 0
        except (ModelFileError, MemoryError):
            raise
        except CyclicGraph as error:
            raise RunFailed(one, str(error), len(self.changes)) from error
        except Exception as error:
            reason = f"failed with {type(error).__name__}: {' '.join(str(error).split())}"
            raise RunFailed(one, reason, len(self.changes)) from error
        if changes and now.structure.interface != before.structure.interface:
            raise RunFailed(one, "it changes the inputs or the outputs of the model", len(self.changes))
        return now, changes

    def _apply(self, one: Pass, before: Snapshot) -> Snapshot:
        """The model after a pass; `before` itself where the pass found nothing to do."""
        done = [one.rewrite(place.graph, Context(self._state, place)) for place in self._state.places()]
        if self._is_clean and one.is_built_in and all(said is False for said in done):
            return before
        if not one.is_built_in:
            self._state.facts.forget_everything()  # values may have been changed in place, which nothing else tells
        now = self._renewed(before) if self._is_clean else None
        if now is not None and (now is before or (one.is_built_in and self._has_same_graphs(now))):
            return now
        self._state.clean_up()
        self._is_clean = True
        if not one.is_built_in:
            to_model(self._state.graph, largest=0)  # fails where the pass has left what cannot be written
        return self._renewed(before) or self._snapshot(before)

    def _renewed(self, before: Snapshot) -> Snapshot | None:
        """The model as it is now; None where its structure is another than before."""
        is_same = before.structure.still_holds(self._state.places(), self._state.graph.functions)
        return before.renewed() if is_same else None

    def _has_same_graphs(self, now: Snapshot) -> bool:
        """Whether nodes that are others than before hold the subgraphs that they held."""
        self._state.nodes_have_changed()
        return now.structure.has_graphs_of(self._state.places())

    def _snapshot(self, before: Snapshot | None = None) -> Snapshot:
        return Snapshot(Structure(self._state.places(), self._state.graph.functions), before)
