"""The trace of a conversion: which node of the original became which nodes of the result, through which rules.

The walk writes it, the proof checks it: what no trace entry claims must be the same, byte for byte, on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from onnx import NodeProto

from opsetlift.rulebook.rule import Rule
from opsetlift.specification.history import Transition

AppliedRules = list[tuple[Transition, Rule]]
"""The rules that were applied, each at its transition, in order."""


@dataclass
class SiteTrace:
    """A node of the original scope that was changed, and the nodes that stand in its place in the result."""

    index: int
    """Its position among the original scope's nodes."""
    start: int
    stop: int
    """The half-open range of positions in the result scope's nodes that took its place; empty where it was dropped."""
    applied: AppliedRules
    """The rules that changed it or nodes that they emitted, in order."""
    with_converted_bodies: NodeProto | None = None
    """The node before its own rules changed it, with subgraphs that had been converted by then; the traces of these are
    about this form of them. None where the subgraphs that the result has are meant."""

    @property
    def ulps(self) -> int:
        """The sum of the rounding bounds of its rules; 0 where all of them are exact."""
        return sum(rule.ulps for _, rule in self.applied)


@dataclass
class ScopeTrace:
    """What happened in one scope. Nodes that no site names keep their order and their bytes."""

    sites: list[SiteTrace] = field(default_factory=list)
    leading_copies: int = 0
    """How many nodes were put before all others that copy inputs, and whose results nothing reads."""
    added_initializers: set[str] = field(default_factory=set)
    dropped_initializers: set[str] = field(default_factory=set)
    scalarized: set[str] = field(default_factory=set)
    """Values of the original that the result has in parts only; what reads them is proven together with what computes
    them."""
    declared_values: set[str] = field(default_factory=set)
    """Values that have a type in value_info since the older definitions there infer none."""
    added_inputs: set[str] = field(default_factory=set)
    """Initializers that are inputs, too, in the result only: below IR version 4 all of them have to be."""
    densified: set[str] = field(default_factory=set)
    """Sparse initializers that are dense in the result."""


@dataclass
class ConversionTrace:
    """What happened in each scope, by the scope's path in the original."""

    scopes: dict[str, ScopeTrace] = field(default_factory=dict)
    added_functions: set[str] = field(default_factory=set)
    """Paths of functions that only the result has: copies for single calls, each of which is a site."""
    dropped_functions: set[str] = field(default_factory=set)
    """Paths of functions that only the original has; every call of them is a site."""
    copied_initializers: dict[str, str] = field(default_factory=dict)
    """The names of copies in the graph of the result, with what they are copies of."""
    notes: set[str] = field(default_factory=set)
    """Sentences on what was odd about the model, and could be taken."""
    moved_notes: set[str] = field(default_factory=set)
    """Fields of any message, none of which says what is computed, that the result's IR version does not have."""

    def scope(self, path: str) -> ScopeTrace:
        """The trace of a scope, made on first use."""
        return self.scopes.setdefault(path, ScopeTrace())

    def rounds_below(self, path: str) -> bool:
        """Whether rules that round were applied in a scope whose path begins so."""
        return any(
            one.startswith(path) and any(site.ulps for site in scope.sites) for one, scope in self.scopes.items()
        )

    def converted_bodies(self) -> list[NodeProto]:
        """The copies of nodes that stand for forms between the original and the result."""
        sites = (site for scope in self.scopes.values() for site in scope.sites)
        return [site.with_converted_bodies for site in sites if site.with_converted_bodies is not None]

    def applied_in(self, paths: Iterable[str]) -> dict[str, AppliedRules]:
        """The rules that were applied in each of some scopes and in the subgraphs in it."""
        found: dict[str, AppliedRules] = {path: [] for path in paths}
        for path, scope in self.scopes.items():
            applied = [one for site in scope.sites for one in site.applied]
            for around in accumulate(path.split("/"), "{}/{}".format) if applied else ():
                if around in found:
                    found[around] += applied
        return found

    def add_site(self, path: str, index: int, applied: Sequence[tuple[Transition, Rule]] = ()) -> None:
        """Claim a node of the original that was changed outside the walk, and stayed one node."""
        scope = self.scope(path)
        for site in scope.sites:
            if site.index == index:
                site.applied += applied
                return
        shift = sum(site.stop - site.start - 1 for site in scope.sites if site.index < index)
        scope.sites.append(SiteTrace(index, index + shift, index + shift + 1, list(applied)))
        scope.sites.sort(key=lambda site: site.index)
