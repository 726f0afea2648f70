"""Runs passes over a model, again and again until nothing changes, and keeps account of what each did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from converter.internal_error import InternalError, internal_error
from converter.model_file import ModelFileError
from converter.normalize import passes as own_passes
from converter.normalize.exporting import to_model
from converter.normalize.graph_facts import Standing
from converter.normalize.model_state import ModelState
from converter.normalize.picture import Picture
from converter.normalize.rewriting import Context, Pass
from converter.normalize.structure import Structure
from converter.normalize.sweeping import CyclicGraph

MOST_ROUNDS = 24
"""How often all passes run at most. They settle in a few rounds, unless two of them undo each other's work."""

_OWN_PASSES = f"{own_passes.__name__}."


class PassFailed(Exception):
    """A pass raised an error, or left something behind that is no model. The message is one sentence."""


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
    """Passes over one model. It stops early after `most_changes` runs of passes that changed something."""

    def __init__(self, state: ModelState, passes: Sequence[Pass], most_changes: int | None = None) -> None:
        self._state = state
        self._passes = passes
        self._most_changes = most_changes
        self.changed_by: list[str] = []
        """The pass of each run that changed something, in order."""
        self.accounts = [Account(one.name, one.ulps) for one in passes]
        self.rounds = 0
        self._is_tidy = False
        self._quiet: dict[int, Standing] = {}
        """What stood, by pass, when it last found nothing to do."""
        self.has_settled = not passes

    def run(self) -> None:
        """Run the passes. Raises PassFailed."""
        facts = self._state.facts
        now = self._picture()
        while not self.has_settled and self.rounds < MOST_ROUNDS:
            self.rounds += 1
            self.has_settled = True
            facts.renew()
            for index, (one, account) in enumerate(zip(self._passes, self.accounts, strict=True)):
                if self._is_tidy and self._has_nothing_to_do(index, now):
                    continue
                before = now
                now = self._apply(one, before)
                changes = now.changes_since(before) if now is not before else 0
                account.runs += 1
                if not changes:
                    self._quiet[index] = facts.standing
                    continue
                if now.structure.interface != before.structure.interface:
                    raise PassFailed(f"pass {one.name}: it changes the inputs or the outputs of the model")
                if not now.differs_in_names_only(before):
                    facts.graph_has_changed()
                self.has_settled = False
                account.changes += changes
                account.nodes += now.node_count - before.node_count
                account.bytes += now.bytes - before.bytes
                self.changed_by.append(one.name)
                if len(self.changed_by) == self._most_changes:
                    return

    def _has_nothing_to_do(self, index: int, now: Picture) -> bool:
        """Whether a pass would certainly leave the model as it is: it is not run then."""
        one = self._passes[index]
        if one.operators and one.operators.isdisjoint(now.operators):
            return True
        return _is_own(one) and self._quiet.get(index) == self._state.facts.standing

    def _apply(self, one: Pass, before: Picture) -> Picture:
        """The model after a pass; the very picture of before where the pass found nothing to do."""
        try:
            done = [one.rewrite(place.graph, Context(self._state, place)) for place in self._state.places()]
            if self._is_tidy and _is_own(one) and all(said is False for said in done):
                return before
            if not _is_own(one):
                self._state.facts.distrust()  # values may have been changed in place, which nothing else tells
            now = self._renewed(before) if self._is_tidy else None
            if now is not None and (now is before or (_is_own(one) and self._has_same_graphs(now))):
                return now
            self._state.tidy()
            self._is_tidy = True
            if not _is_own(one):
                to_model(self._state.graph, largest=0)  # which fails where the pass has left what nobody can write
        except (ModelFileError, InternalError, MemoryError):
            raise
        except CyclicGraph as error:
            raise PassFailed(f"pass {one.name}: {error}") from error
        except Exception as error:
            if _is_own(one):
                raise internal_error(error, f"the pass {one.name}", one.rewrite.__module__) from error
            reason = " ".join(str(error).split())
            raise PassFailed(f"pass {one.name} failed with {type(error).__name__}: {reason}") from error
        return self._renewed(before) or self._picture(before)

    def _renewed(self, before: Picture) -> Picture | None:
        """The model as it is now; None where its structure is another than before."""
        is_same = before.structure.still_holds(self._state.places(), self._state.graph.functions)
        return before.renewed() if is_same else None

    def _has_same_graphs(self, now: Picture) -> bool:
        """Whether nodes that are others than before hold the subgraphs that they held."""
        self._state.nodes_have_changed()
        return now.structure.has_graphs_of(self._state.places())

    def _picture(self, before: Picture | None = None) -> Picture:
        return Picture(Structure(self._state.places(), self._state.graph.functions), before)


def _is_own(one: Pass) -> bool:
    """Whether a pass keeps to what `rewriting` says of them: a tensor stands for one value, names mean nothing, and it
    has done nothing where it says so."""
    return one.rewrite.__module__.startswith(_OWN_PASSES)
