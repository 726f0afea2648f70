"""The record of a proof: both halves of the argument, every distinct site, and what it takes to run it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy
import onnx
from onnx import ModelProto

from converter.history import Cell
from converter.prove.diversity import InputDiversity
from converter.rule import Rule
from converter.trace import ConversionTrace, ScopeTrace, SiteTrace

SCHEMA_VERSION = 1

ARGUMENT = (
    "Outside the sites the two models are the same: every node, initializer, name, type, attribute and annotation was "
    "compared byte by byte, in the graph, in subgraphs of any depth and in functions, and the nodes of each site read "
    "and define only what the original node did.",
    "Each site computes the same on both sides: every node whose operator has another definition at the target, and "
    "every node that a rule changed, was executed before and after on the same inputs by a strict evaluator, each at "
    "its own opset; equal sites once.",
)
"""The two halves: together they say that the models compute the same, as far as the inputs tried can tell."""


class Outcome(Enum):
    """What is known of a site."""

    EQUAL = "equal"
    SAME_STRUCTURE = "random, the same node on both sides"
    """An operator that draws random numbers cannot be compared by its results."""
    UNUSED = "its outputs are used by nothing"
    WEAK = "weakly proven"
    """Equal in every case, but the test inputs were less diverse than a proof requires."""
    UNPROVEN = "unproven"
    DIFFERENT = "different"


@dataclass
class SiteRecord:
    """A distinct site, and how many nodes are like it."""

    operator: str
    source_since: int
    target_since: int
    path: str
    """The scope of the first such node."""
    node: str
    count: int
    rules: list[str]
    """The rules that changed it, each with its cell; empty for the claim that it means the same unchanged."""
    ulps: int
    """0: bit for bit. Else the bound, in units in the last place of the largest magnitude in each result."""
    outcome: Outcome
    cases: int = 0
    rejected: int = 0
    """Inputs that the original rejected, and that hence say nothing."""
    worst_ulps: float = 0.0
    reason: str = ""
    """The counterexample, or why it is not proven."""
    notes: list[str] = field(default_factory=list)
    inputs: Sequence[InputDiversity] = ()
    """How diverse the accepted test inputs were."""


@dataclass
class DtypeProof:
    """What is known of a change of dtypes: how near the results of both models are, on whole inputs. Never exact."""

    changes: dict[str, str]
    interface: str
    """Whether inputs and outputs keep their dtypes, or change them."""
    retyped_sha256: str
    """The SHA-256 of the original with the new dtypes, from which on the rest of the certificate goes."""
    tolerance: float
    """How far floats may differ, as a part of the largest magnitude in a result; the others have to be equal."""
    outcome: Outcome
    runs: int = 0
    """On how many inputs the models agreed."""
    out_of_range: int = 0
    """On how many the original left the range of a new dtype, so that they say nothing."""
    worst: float = 0.0
    """The largest difference of floats, as a part of the largest magnitude."""
    sentence: str = ""
    """The counterexample, or why nothing is known."""

    @property
    def summary(self) -> str:
        """One line for people."""
        shown = ", ".join(f"{old}={new}" for old, new in self.changes.items())
        if self.outcome is Outcome.EQUAL:
            within = f"floats within {self.worst:.2g} of the largest magnitude" if self.tolerance else "all equal"
            return f"{shown} is not exact: tried on {_number(self.runs, 'input')} of the whole model, {within}"
        return f"{shown} is not exact, and {self.outcome.value}: {self.sentence}"


@dataclass
class Certificate:
    """The proof of one conversion."""

    source_sha256: str
    target_sha256: str
    source_opsets: dict[str, int]
    target_opsets: dict[str, int]
    seed: int
    structure: list[str]
    """The differences outside the sites; empty where the first half of the argument holds."""
    sites: list[SiteRecord]
    nodes: int
    """How many nodes crossed a version or were changed."""
    trace: ConversionTrace
    tools: dict[str, str] = field(default_factory=lambda: tool_versions())
    argument: Sequence[str] = ARGUMENT
    schema_version: int = SCHEMA_VERSION
    dtypes: DtypeProof | None = None
    """Where dtypes were changed, before all else: the source's hash is that of the model before."""

    @property
    def is_refuted(self) -> bool:
        """Something differs: the result must not be used."""
        if self.dtypes is not None and self.dtypes.outcome is Outcome.DIFFERENT:
            return True
        return bool(self.structure) or any(site.outcome is Outcome.DIFFERENT for site in self.sites)

    @property
    def is_proven(self) -> bool:
        """Nothing differs, and no site is unproven or weakly proven."""
        if self.dtypes is not None and self.dtypes.outcome is not Outcome.EQUAL:
            return False
        return not self.is_refuted and not self.is_undecided

    @property
    def is_undecided(self) -> bool:
        """Some site is unproven or weakly proven."""
        return any(site.outcome in (Outcome.UNPROVEN, Outcome.WEAK) for site in self.sites)

    @property
    def is_weakly_proven(self) -> bool:
        """Nothing differs and nothing is unproven, but some site is weakly proven."""
        outcomes = {site.outcome for site in self.sites}
        if self.dtypes is not None and self.dtypes.outcome is not Outcome.EQUAL:
            return False
        return not self.is_refuted and Outcome.WEAK in outcomes and Outcome.UNPROVEN not in outcomes

    @property
    def cases(self) -> int:
        """How many inputs ran on both sides, over all distinct sites."""
        return sum(site.cases for site in self.sites)

    def by_outcome(self, outcome: Outcome) -> list[SiteRecord]:
        """The distinct sites of one outcome."""
        return [site for site in self.sites if site.outcome is outcome]

    def summary(self) -> str:
        """One line for people, with the first of whatever is wrong; another one on changed dtypes."""
        if self.dtypes is None:
            return self._summary_of_sites()
        if self.dtypes.outcome is Outcome.DIFFERENT:
            return f"not equivalent: {self.dtypes.summary}"
        if not self.sites and not self.structure:
            return self.dtypes.summary
        return f"{self._summary_of_sites()}\n{self.dtypes.summary}"

    def _summary_of_sites(self) -> str:
        if self.structure:
            return f"not equivalent: {_counted(self.structure, 'difference')} outside the sites; {self.structure[0]}"
        nodes = f"{_number(self.nodes, 'node')} crossed a version at {_number(len(self.sites), 'distinct site')}"
        if different := self.by_outcome(Outcome.DIFFERENT):
            first = different[0]
            return f"not equivalent: {nodes}, {len(different)} different; {_named(first)}: {first.reason}"
        cases = _number(self.cases, "case")
        open_ones = [found for outcome in (Outcome.UNPROVEN, Outcome.WEAK) if (found := self.by_outcome(outcome))]
        if open_ones:
            proven = len(self.sites) - sum(map(len, open_ones))
            counts = ", ".join(f"{len(found)} {found[0].outcome.value}" for found in open_ones)
            first = open_ones[0][0]
            return f"{nodes}: {proven} proven equal ({cases}), {counts}; {_named(first)}: {first.reason}"
        others = [
            f"{len(found)} {what}"
            for outcome, what in ((Outcome.SAME_STRUCTURE, "random and left as they were"), (Outcome.UNUSED, "unused"))
            if (found := self.by_outcome(outcome))
        ]
        if not self.sites:
            return "no node crossed a version: the models are the same but for their opsets"
        return f"{nodes}: all proven equal ({cases})" + "".join(f", {other}" for other in others)

    def to_json(self) -> str:
        """The certificate as JSON text."""
        content = {name: value for name, value in vars(self).items() if name not in ("sites", "trace", "dtypes")}
        content["sites"] = [{**asdict(site), "outcome": site.outcome.name} for site in self.sites]
        content["trace"] = _trace_as_json(self.trace)
        if self.dtypes is not None:
            content["dtypes"] = {**asdict(self.dtypes), "outcome": self.dtypes.outcome.name}
        return json.dumps(content, indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """The inverse of `to_json`. Raises ValueError for what is no certificate of this schema version."""
        try:
            content = json.loads(text)
            found = content["schema_version"]
            if found != SCHEMA_VERSION:
                raise ValueError(f"the certificate has schema version {found}; this program reads {SCHEMA_VERSION}")
            content["sites"] = [
                SiteRecord(
                    **{
                        **site,
                        "outcome": Outcome[site["outcome"]],
                        "inputs": [InputDiversity(**one) for one in site.get("inputs", ())],
                    }
                )
                for site in content["sites"]
            ]
            content["trace"] = _trace_from_json(content["trace"])
            if dtypes := content.get("dtypes"):
                content["dtypes"] = DtypeProof(**{**dtypes, "outcome": Outcome[dtypes["outcome"]]})
            return cls(**content)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no certificate: {error}") from error


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _counted(found: Sequence[str], noun: str) -> str:
    return _number(len(found), noun)


def _named(site: SiteRecord) -> str:
    return f"{site.operator} {site.node!r} in {site.path}"


def _trace_as_json(trace: ConversionTrace) -> dict[str, Any]:
    return {
        "scopes": {path: _scope_as_json(scope) for path, scope in trace.scopes.items()},
        **_sets_as_lists(trace),
    }


def _scope_as_json(scope: ScopeTrace) -> dict[str, Any]:
    sites = [
        {
            "index": site.index,
            "start": site.start,
            "stop": site.stop,
            "crossings": [
                {"cell": asdict(cell), "rule": rule.name, "ulps": rule.ulps} for cell, rule in site.crossings
            ],
        }
        for site in scope.sites
    ]
    return {"sites": sites, **_sets_as_lists(scope)}


def _sets_as_lists(trace: ScopeTrace | ConversionTrace) -> dict[str, list[str]]:
    return {name: sorted(value) for name, value in vars(trace).items() if isinstance(value, set)}


def _trace_from_json(content: dict[str, Any]) -> ConversionTrace:
    scopes = {path: _scope_from_json(scope) for path, scope in content.pop("scopes").items()}
    return ConversionTrace(scopes, **{name: set(value) for name, value in content.items()})


def _scope_from_json(content: dict[str, Any]) -> ScopeTrace:
    def crossings(site: dict[str, Any]) -> Iterator[tuple[Cell, Rule]]:
        for one in site["crossings"]:
            yield Cell(**one["cell"]), Rule(one["rule"], None, ulps=one["ulps"])

    sites = [
        SiteTrace(site["index"], site["start"], site["stop"], list(crossings(site))) for site in content.pop("sites")
    ]
    return ScopeTrace(sites, **{name: set(value) for name, value in content.items()})


def tool_versions() -> dict[str, str]:
    """The versions of what the proof rests on."""
    try:
        own = version("opsetlift")
    except PackageNotFoundError:
        own = "not installed"
    return {"opsetlift": own, "onnx": onnx.__version__, "numpy": numpy.__version__}


def model_sha256(model: ModelProto) -> str:
    """The SHA-256 of a model as protobuf writes it; of one too large for that, of its initializers, nodes, functions
    and opsets one after the other. External data is no part of it."""
    try:
        return hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()
    except Exception:  # above 2 GiB each of protobuf's implementations raises an error of its own
        sha = hashlib.sha256()
        for part in (*model.graph.initializer, *model.graph.node, *model.functions, *model.opset_import):
            sha.update(part.SerializeToString(deterministic=True))
        return sha.hexdigest()
