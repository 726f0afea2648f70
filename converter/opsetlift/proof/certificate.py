"""The record of a proof: both halves of the argument, every distinct site, and what it takes to run it again."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

import numpy
import onnx
from onnx import ModelProto

from opsetlift.model.files import Contents, ModelFileError
from opsetlift.proof.diversity import InputDiversity
from opsetlift.rulebook.rule import Rule
from opsetlift.rulebook.trace import ConversionTrace, ScopeTrace, SiteTrace
from opsetlift.specification.history import Transition, canonical_domain, display_domain
from opsetlift.targets import Target

SCHEMA_VERSION = 2

Record = TypeVar("Record")

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
    """The rules that changed it, each with its transition; empty for the claim that it means the same unchanged."""
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
class Destination:
    """Where a conversion was to take a model: with the model and the rule book, this decides the trace."""

    opsets: dict[str, int]
    """By domain, as people write it."""
    ir: int | None = None
    """The IR version that was asked for."""
    runtime: str | None = None
    """The runtime that the result was to be for, as "onnxruntime==1.4"."""

    @classmethod
    def of(cls, opsets: Mapping[str, int], ir: int | None, runtime: Target | None) -> Destination:
        """The destination that `opsetlift.derivation.derive` is given."""
        shown = {display_domain(domain): opset for domain, opset in opsets.items()}
        return cls(shown, ir, runtime.spelling if runtime is not None else None)

    @property
    def opsets_by_domain(self) -> dict[str, int]:
        """As `derive` takes them."""
        return {canonical_domain(domain): opset for domain, opset in self.opsets.items()}


@dataclass
class Certificate:
    """The proof of one conversion."""

    source_sha256: str
    """What `model_sha256` gives for the model that was converted."""
    target_sha256: str
    """The same for the result."""
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
    destination: Destination | None = None
    """None for a proof that cannot be run again from its certificate, as its trace comes from elsewhere."""

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
        nodes = f"{_number(self.nodes, 'node')} changed operator version ({_number(len(self.sites), 'distinct case')})"
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
            return "No operator definition changed; only version stamps differ."
        return f"{nodes}: all proven equal ({cases})" + "".join(f", {other}" for other in others)

    def to_json(self) -> str:
        """The certificate as JSON text."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        content = {name: value for name, value in vars(self).items() if name not in ("sites", "trace", "dtypes")}
        content["argument"] = list(self.argument)
        content["sites"] = [{**asdict(site), "outcome": site.outcome.name} for site in self.sites]
        content["trace"] = trace_as_dict(self.trace)
        content["destination"] = asdict(self.destination) if self.destination is not None else None
        dtypes = self.dtypes
        content["dtypes"] = {**asdict(dtypes), "outcome": dtypes.outcome.name} if dtypes is not None else None
        return content

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """The inverse of `to_json`.

        Raises:
            ValueError: This is no certificate of this schema version, it names something twice, or a value is not of
                its field's type.
        """
        try:
            content = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_number)
            if not isinstance(content, dict) or "schema_version" not in content:
                raise ValueError("it states no schema_version")
            found = content["schema_version"]
            if found != SCHEMA_VERSION:
                raise ValueError(f"the certificate has schema version {found}; this program reads {SCHEMA_VERSION}")
            content["sites"] = [_site_record(site) for site in content["sites"]]
            content["trace"] = _trace_from_json(content["trace"])
            if content["destination"] is not None:
                content["destination"] = _record(Destination, content["destination"])
            if content["dtypes"] is not None:
                content["dtypes"] = _record(DtypeProof, _with_outcome(content["dtypes"]))
            return _record(cls, content)
        except KeyError as error:
            raise ValueError(f"it lacks the entry {error}") from error
        except (TypeError, AttributeError) as error:
            raise ValueError("an entry holds a value of another type than expected") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _with_outcome(content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "outcome": Outcome[content["outcome"]]}


def _record(kind: type[Record], content: dict[str, Any]) -> Record:
    """A dataclass from its fields. Raises TypeError for unknown and missing ones, and for values of another type."""
    for one in fields(kind):  # type: ignore[arg-type]
        if one.name in content and not _has_type(content[one.name], str(one.type)):
            raise TypeError(f"{one.name} is {str(content[one.name])[:40]!r}, which is no {one.type}")
    return kind(**content)


def _site_record(content: dict[str, Any]) -> SiteRecord:
    inputs = [_record(InputDiversity, one) for one in content.get("inputs", [])]
    return _record(SiteRecord, {**_with_outcome(content), "inputs": inputs})


def _has_type(value: Any, spelt: str) -> bool:
    """Whether a value has the type of an annotation; numbers have to be finite and not negative."""
    if spelt.endswith(" | None"):
        return value is None or _has_type(value, spelt.removesuffix(" | None"))
    if spelt in ("list[str]", "Sequence[str]"):
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if spelt.startswith("dict[str, "):
        inner = spelt.removeprefix("dict[str, ").removesuffix("]")
        return isinstance(value, dict) and all(_has_type(one, inner) for one in value.values())
    if spelt == "str":
        return isinstance(value, str)
    if spelt == "int":
        return type(value) is int and value >= 0
    if spelt == "float":
        return type(value) in (int, float) and math.isfinite(value) and value >= 0
    return True


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _counted(found: Sequence[str], noun: str) -> str:
    return _number(len(found), noun)


def _named(site: SiteRecord) -> str:
    return f"{site.operator} {site.node!r} in {site.path}"


def trace_as_dict(trace: ConversionTrace) -> dict[str, Any]:
    """For JSON."""
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
                {"transition": asdict(transition), "rule": rule.name, "ulps": rule.ulps}
                for transition, rule in site.applied
            ],
        }
        for site in scope.sites
    ]
    return {"sites": sites, **_sets_as_lists(scope)}


def _sets_as_lists(trace: ScopeTrace | ConversionTrace) -> dict[str, list[str]]:
    return {name: sorted(value) for name, value in vars(trace).items() if isinstance(value, set)}


def _trace_from_json(content: dict[str, Any]) -> ConversionTrace:
    scopes = {path: _scope_from_json(scope) for path, scope in content.pop("scopes").items()}
    return ConversionTrace(scopes, **_lists_as_sets(content))


def _lists_as_sets(content: dict[str, Any]) -> dict[str, set[str]]:
    for name, value in content.items():
        if not _has_type(value, "list[str]") or len(set(value)) < len(value):
            raise TypeError(f"{name} is no list of different names")
    return {name: set(value) for name, value in content.items()}


def _scope_from_json(content: dict[str, Any]) -> ScopeTrace:
    def crossings(site: dict[str, Any]) -> Iterator[tuple[Transition, Rule]]:
        for one in site["crossings"]:
            if len(one) > 3:
                raise TypeError("a rule is said to have done more than there is")
            yield Transition(**one["transition"]), Rule(one["rule"], None, ulps=one["ulps"])

    sites = []
    for site in content.pop("sites"):
        place = site["index"], site["start"], site["stop"]
        if len(site) > 4 or not all(_has_type(one, "int") for one in place):
            raise TypeError(f"a site is at {str(place)[:80]}, which is no place")
        sites.append(SiteTrace(*place, list(crossings(site))))
    return ScopeTrace(sites, **_lists_as_sets(content))


def tool_versions() -> dict[str, str]:
    """The versions of what the proof rests on."""
    try:
        own = version("opsetlift")
    except PackageNotFoundError:
        own = "not installed"
    return {"opsetlift": own, "onnx": onnx.__version__, "numpy": numpy.__version__}


def model_sha256(model: ModelProto, contents: Contents | None = None) -> str:
    """The SHA-256 of a model, in which it makes no difference how, and in which files, its tensors are stored.

    Args:
        model: The model.
        contents: Reads the external data. Without it a model that has some has no hash.

    Returns:
        The hash; "" where external data cannot be read.
    """
    try:
        comparable = (contents or Contents("")).comparable(model)
    except ModelFileError:
        return ""
    return hashlib.sha256(comparable.SerializeToString(deterministic=True)).hexdigest()
