"""The record of what a job did, from the model that it read to the model that it gave, and how each stage is proven."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy
import onnx
from onnx import ModelProto

from opsetlift.model.files import Contents, ModelFileError
from opsetlift.proof.diversity import InputDiversity
from opsetlift.proof.json_records import as_json, parsed, record, value
from opsetlift.proof.trace_json import trace_as_dict, trace_from_dict
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification.history import canonical_domain, display_domain
from opsetlift.support.showing import Shown
from opsetlift.targets import Target

SCHEMA_VERSION = 3

ARGUMENT = (
    "Outside the sites the two models are the same: every node, initializer, name, type, attribute and annotation was "
    "compared byte by byte, in the graph, in subgraphs of any depth and in functions, and the nodes of each site read "
    "and define only what the original node did.",
    "Each site computes the same on both sides: every node whose operator has another definition at the target, and "
    "every node that a rule changed, was executed before and after on the same inputs by a strict evaluator, each at "
    "its own opset; equal sites once. Unchanged nodes whose versions it executes by the same code were not.",
)
"""The two halves: together they say that the models compute the same, as far as the inputs tried can tell."""


class Outcome(Enum):
    """What is known of a site."""

    EQUAL = "equal"
    SAME_CODE = "executed by the same code at both versions"
    """An unchanged node, whose versions the evaluator cannot tell apart: it computes the same on every input."""
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
    worst_case: str = ""
    """The inputs that gave the largest difference; empty where all had the same bits or an earlier run found it."""
    from_cache: bool = False
    """Whether an earlier run found this, whose verdict was kept."""


@dataclass
class DtypeProof:
    """What is known of a change of dtypes: how near the results of both models are, on whole inputs. Never exact."""

    changes: dict[str, str]
    interface: str
    """Whether inputs and outputs keep their dtypes, or change them."""
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
            return f"{shown} is not exact: the whole model ran on {_number(self.runs, 'input')}, {within}"
        return f"{shown} is not exact, and {self.outcome.value}: {self.sentence}"


@dataclass
class Repair:
    """What the model left out and every reader supplies. Nothing is computed differently."""

    notes: list[str]


@dataclass
class FixedShapes:
    """The sizes that were declared. Nodes stay as they are: the model computes the same on inputs of these sizes."""

    shapes: dict[str, list[int]]
    """A size by the name of a dimension, or a shape by the name of an input."""


@dataclass
class Destination:
    """Where a conversion was to take a model."""

    opsets: dict[str, int]
    """By domain, as people write it."""
    ir: int | None = None
    """The IR version that was asked for."""
    runtime: str | None = None
    """The runtime that the result was to be for, as "onnxruntime==1.4"."""

    @classmethod
    def of(cls, opsets: Mapping[str, int], ir: int | None, runtime: Target | None) -> Destination:
        """The destination of a conversion to `opsets`, by domain."""
        shown = {display_domain(domain): opset for domain, opset in opsets.items()}
        return cls(shown, ir, runtime.spelling if runtime is not None else None)

    @property
    def opsets_by_domain(self) -> dict[str, int]:
        """The opsets by the domain as models spell it."""
        return {canonical_domain(domain): opset for domain, opset in self.opsets.items()}


@dataclass
class ConversionProof:
    """The proof of one conversion: both halves of the argument and every distinct site."""

    destination: Destination | None
    """None for a proof of two models that were converted elsewhere."""
    structure: list[str]
    """The differences outside the sites; empty where the first half of the argument holds."""
    sites: list[SiteRecord]
    nodes: int
    """How many nodes changed operator version, or were changed."""
    trace: ConversionTrace
    argument: Sequence[str] = ARGUMENT

    @property
    def is_refuted(self) -> bool:
        """Whether something differs."""
        return bool(self.structure) or bool(self.by_outcome(Outcome.DIFFERENT))

    @property
    def is_proven(self) -> bool:
        """Whether nothing differs, and no site is unproven or weakly proven."""
        return not self.is_refuted and not self.by_outcome(Outcome.UNPROVEN) and not self.is_weak

    @property
    def is_weak(self) -> bool:
        """Whether a site is weakly proven."""
        return bool(self.by_outcome(Outcome.WEAK))

    @property
    def cases(self) -> int:
        """How many inputs ran on both sides, over all distinct sites."""
        return sum(site.cases for site in self.sites)

    def by_outcome(self, outcome: Outcome) -> list[SiteRecord]:
        """The distinct sites of one outcome."""
        return [site for site in self.sites if site.outcome is outcome]

    def summary(self) -> str:
        """One line for people, with the first of whatever is wrong."""
        if self.structure:
            count = _number(len(self.structure), "difference")
            return f"not equivalent: {count} outside the sites; {self.structure[0]}"
        nodes = f"{_number(self.nodes, 'node')} changed operator version ({_number(len(self.sites), 'distinct case')})"
        if different := self.by_outcome(Outcome.DIFFERENT):
            first = different[0]
            return f"not equivalent: {nodes}, {len(different)} different; {_named(first)}: {first.reason}"
        tried = _number(self.cases, "test input")
        open_ones = [found for outcome in (Outcome.UNPROVEN, Outcome.WEAK) if (found := self.by_outcome(outcome))]
        if open_ones:
            proven = len(self.sites) - sum(map(len, open_ones))
            counts = ", ".join(f"{len(found)} {found[0].outcome.value}" for found in open_ones)
            first = open_ones[0][0]
            return f"{nodes}: {proven} proven equal ({tried}), {counts}; {_named(first)}: {first.reason}"
        others = [
            f"{len(found)} {what}"
            for outcome, what in (
                (Outcome.SAME_CODE, "executed by the same code at both versions"),
                (Outcome.SAME_STRUCTURE, "random and unchanged"),
                (Outcome.UNUSED, "whose outputs are unused"),
            )
            if (found := self.by_outcome(outcome))
        ]
        if not self.sites:
            return "No operator definition changed."
        if kept := sum(site.from_cache for site in self.sites):
            others.append(f"{kept} of them in earlier runs (--no-cache proves them again)")
        tried = f" ({tried})" if self.cases else ""
        return f"{nodes}: all proven equal{tried}" + "".join(f", {other}" for other in others)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        content = {name: found for name, found in vars(self).items() if name not in ("sites", "trace", "destination")}
        return {
            **content,
            "argument": list(self.argument),
            "destination": asdict(self.destination) if self.destination is not None else None,
            "sites": [as_json(site) for site in self.sites],
            "trace": trace_as_dict(self.trace),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> ConversionProof:
        """The inverse of `as_dict`. Raises KeyError, TypeError and AttributeError for what it does not give."""
        found = {name: one for name, one in content.items() if name != "trace"}
        without_trace: ConversionProof = record(_UntracedConversionProof, found)  # type: ignore[assignment]
        return cls(**vars(without_trace), trace=trace_from_dict(content["trace"]))


@dataclass
class _UntracedConversionProof:
    """The fields of a `ConversionProof` that are read by their annotations."""

    destination: Destination | None
    structure: list[str]
    sites: list[SiteRecord]
    nodes: int
    argument: Sequence[str]


@dataclass
class PassRecord:
    """What one pass did, in all its runs."""

    name: str
    ulps: int
    """0 for an exact pass; else its bound."""
    changes: int
    """Nodes that it changed, added or removed, and constants that it added or removed."""


@dataclass(frozen=True)
class ProofByParts:
    """What was proven of each part in which two models differ, for any numbers that it may read."""

    same: int
    """How many nodes of the result are as in the original, and read the same."""
    nodes: int
    """How many nodes the result has."""
    rewrites: int
    """In how many places the models differ."""
    distinct: int
    """How many of these were executed; those that differ in names only count once."""
    runs: int
    """On how many inputs they agreed."""
    from_cache: int = 0
    """Of how many distinct ones an earlier run had found that."""

    def summary(self) -> str:
        """A clause for people."""
        same = f"{self.same} of {self.nodes:,} nodes are as before"
        if not self.rewrites:
            return same
        shown = [f"{self.distinct} distinct"] if self.distinct < self.rewrites else []
        if self.from_cache:
            shown.append(f"{self.from_cache} proven in earlier runs: --no-cache proves them again")
        distinct = f" ({', '.join(shown)})" if shown else ""
        agree = "agrees" if self.rewrites == 1 else "agree"
        return f"{same}, {_number(self.rewrites, 'rewrite')}{distinct} {agree} on {_number(self.runs, 'input')}"


@dataclass(frozen=True)
class Proof:
    """What executing a model before and after the passes has shown."""

    outcome: Outcome
    """EQUAL, WEAK, DIFFERENT or UNPROVEN."""
    runs: int
    """On how many inputs both ran and agreed."""
    shapes: int
    """Of how many shapes these inputs were."""
    rejected: int
    """How many inputs the original rejected."""
    ulps: int
    """0: bit for bit. Else the bound of the rounding passes, in units in the last place of the largest magnitude."""
    worst_ulps: float
    seed: int
    reason: str = ""
    """The first output that differs, where and by how much; or why nothing is proven."""
    cut: Sequence[str] = ()
    """Nodes that are the same on both sides and were left out of the runs."""
    inputs: Sequence[InputDiversity] = ()
    """How diverse the accepted test inputs were."""
    worst_case: str = ""
    """The inputs that gave the largest difference; empty where all had the same bits or an earlier run found it."""
    parts: ProofByParts | None = None
    """What was proven of the parts of the model; None where only the whole was executed."""

    @property
    def is_proven(self) -> bool:
        """Whether all runs agreed, on inputs that were diverse enough."""
        return self.outcome is Outcome.EQUAL

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "outcome": self.outcome.value}

    def summary(self) -> str:
        """One sentence, or two."""
        if self.outcome is Outcome.DIFFERENT:
            return f"Not equivalent: {self.reason}"
        if self.outcome not in (Outcome.EQUAL, Outcome.WEAK):
            return f"Unproven: {self.reason}."
        how = f"within {self.ulps} ULP (worst {self.worst_ulps:.3g})" if self.ulps else "bit for bit"
        verdict = "Proven" if self.is_proven else "Weakly proven"
        parts, of = ("", "") if self.parts is None else (f" {self.parts.summary()}, and", " of the whole model")
        runs = f"{_number(self.runs, 'run')}{of} on inputs of {_number(self.shapes, 'shape')}"
        proven = f"{verdict}:{parts} {runs} agree {how}."
        if not self.is_proven:
            proven += f" Not enough for a proof:  {self.reason}."
        if self.cut:
            proven += f" Not executed, because both sides are the same and get the same inputs: {', '.join(self.cut)}."
        return proven


@dataclass
class PassesProof:
    """What passes did, and the proof of all of them together."""

    passes: list[PassRecord]
    """Those that were asked for, in order."""
    undone: list[str]
    """Those of them whose result was not used, from some run on; "" stands for all of them."""
    rounds: int
    proof: Proof


Evidence = Repair | FixedShapes | DtypeProof | ConversionProof | PassesProof

_KINDS: dict[str, type[Evidence]] = {
    "repair": Repair,
    "write operators": PassesProof,
    "fix shapes": FixedShapes,
    "fold": PassesProof,
    "unroll": PassesProof,
    "change dtypes": DtypeProof,
    "convert": ConversionProof,
    "normalize": PassesProof,
}


@dataclass
class StageRecord:
    """A stage that gave another model than it was given, or that was asked for."""

    stage: str
    source_sha256: str
    """What `model_sha256` gives for the model before the stage, which is the one after the stage before it."""
    target_sha256: str
    evidence: Evidence

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        evidence = self.evidence
        content = evidence.as_dict() if isinstance(evidence, ConversionProof) else as_json(evidence)
        return {**vars(self), "evidence": content}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> StageRecord:
        """The inverse of `as_dict`. Raises KeyError, TypeError and AttributeError for what it does not give."""
        kind = _KINDS.get(content["stage"])
        if kind is None:
            raise TypeError(f"there is no stage {content['stage']!r}")
        found = content["evidence"]
        evidence = ConversionProof.from_dict(found) if kind is ConversionProof else record(kind, found)
        before, after = (value(str, content[name]) for name in ("source_sha256", "target_sha256"))
        if len(content) != 4:
            raise TypeError(f"the stage {content['stage']!r} has entries that are unknown")
        return cls(content["stage"], before, after, evidence)


@dataclass
class Request:
    """What was asked for: with the model, the rules and the passes that are installed, this decides the result."""

    to: dict[str, int] | None = None
    """Opsets by domain."""
    ir: int | None = None
    runtime: str | None = None
    dtypes: dict[str, str] | None = None
    dtype_interface: str = "keep"
    fix_shapes: dict[str, list[int]] = field(default_factory=dict)
    passes: list[str] | None = None
    """Their names, in order; None where the normaliser was not asked for."""
    size_limit: int | None = None
    check: bool = True


@dataclass(repr=False)
class Certificate(Shown):
    """What was done to a model from its beginning to its end, stage by stage, with the proof of each."""

    source_sha256: str
    """What `model_sha256` gives for the model that was read."""
    target_sha256: str
    """The same for the result."""
    source_opsets: dict[str, int]
    target_opsets: dict[str, int]
    seed: int
    request: Request
    stages: list[StageRecord]
    """In order; the target of each is the source of the next."""
    tools: dict[str, str] = field(default_factory=lambda: tool_versions())
    schema_version: int = SCHEMA_VERSION

    def _shown_lines(self) -> Sequence[str]:
        stages = ", ".join(one.stage for one in self.stages) or "no change"
        hashes = f"{self.source_sha256[:12]} → {self.target_sha256[:12]}"
        return f"Certificate: {stages}", f"SHA-256 {hashes}", self.summary().partition("\n")[0]

    def _shown_rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        rows = [
            (one.operator, f"{one.source_since} → {one.target_since}", one.count, one.outcome.value, one.cases)
            for one in self.sites
        ]
        return ("operator", "version", "nodes", "outcome", "test inputs"), rows

    @property
    def conversions(self) -> list[ConversionProof]:
        """The proofs of conversions; a second one takes a normalised model to the IR version or runtime again."""
        return [one.evidence for one in self.stages if isinstance(one.evidence, ConversionProof)]

    @property
    def sites(self) -> list[SiteRecord]:
        """The distinct sites of all conversions."""
        return [site for one in self.conversions for site in one.sites]

    @property
    def structure(self) -> list[str]:
        """The differences outside the sites of all conversions."""
        return [difference for one in self.conversions for difference in one.structure]

    @property
    def nodes(self) -> int:
        """How many nodes conversions changed."""
        return sum(one.nodes for one in self.conversions)

    @property
    def cases(self) -> int:
        """How many inputs ran on both sides, over all distinct sites."""
        return sum(one.cases for one in self.conversions)

    @property
    def dtypes(self) -> DtypeProof | None:
        """The proof of a change of dtypes, where one was asked for."""
        return next((one.evidence for one in self.stages if isinstance(one.evidence, DtypeProof)), None)

    @property
    def passes(self) -> PassesProof | None:
        """The proof of passes, where they were asked for."""
        return next((one for name, one in self._passes if name == "normalize"), None)

    @property
    def _passes(self) -> list[tuple[str, PassesProof]]:
        """The proofs of all stages that ran passes, by the stages' names."""
        return [(one.stage, one.evidence) for one in self.stages if isinstance(one.evidence, PassesProof)]

    @property
    def is_refuted(self) -> bool:
        """Something differs: the result must not be used."""
        return any(one.is_refuted for one in self.conversions) or Outcome.DIFFERENT in self._outcomes

    @property
    def is_proven(self) -> bool:
        """Nothing differs, and nothing is unproven or weakly proven."""
        return all(one.is_proven for one in self.conversions) and self._outcomes <= {Outcome.EQUAL}

    @property
    def is_weakly_proven(self) -> bool:
        """Nothing differs and nothing is unproven, but something is weakly proven."""
        unproven = any(one.by_outcome(Outcome.UNPROVEN) for one in self.conversions)
        if self.is_refuted or self.is_proven or unproven:
            return False
        return self._outcomes <= {Outcome.EQUAL, Outcome.WEAK}

    @property
    def _outcomes(self) -> set[Outcome]:
        found = {self.dtypes.outcome} if self.dtypes is not None else set()
        return found | {one.proof.outcome for _, one in self._passes}

    def by_outcome(self, outcome: Outcome) -> list[SiteRecord]:
        """The distinct sites of one outcome."""
        return [site for site in self.sites if site.outcome is outcome]

    def summary(self) -> str:
        """One line for people for each proof, with the first of whatever is wrong; one line only where that differs."""
        if self.dtypes is not None and self.dtypes.outcome is Outcome.DIFFERENT:
            return f"not equivalent: {self.dtypes.summary}"
        for one in self.conversions:
            if one.is_refuted:
                return one.summary()
        return "\n".join(self._sentences()) or "Nothing was changed."

    def _sentences(self) -> Iterator[str]:
        others = [self.dtypes.summary] if self.dtypes is not None else []
        others += [one.proof.summary() for _, one in self._passes]
        proofs = [one for one in self.conversions if one.sites]
        yield from (one.summary() for one in proofs)
        if not proofs and not others and self.conversions:
            yield self.conversions[0].summary()
        yield from others

    def to_json(self) -> str:
        """The certificate as JSON text."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "request": asdict(self.request), "stages": [one.as_dict() for one in self.stages]}

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """The inverse of `to_json`.

        Raises:
            ValueError: This is no certificate of this schema version, it names something twice, or a value is not of
                its field's type.
        """
        content = parsed(text)
        if not isinstance(content, dict) or "schema_version" not in content:
            raise ValueError("it states no schema_version")
        found = content["schema_version"]
        if found != SCHEMA_VERSION:
            raise ValueError(f"the certificate has schema version {found}; this program reads {SCHEMA_VERSION}")
        try:
            stages = [StageRecord.from_dict(one) for one in content["stages"]]
            certificate = record(cls, {**content, "stages": []})
        except KeyError as error:
            raise ValueError(f"it lacks the entry {error}") from error
        except (TypeError, AttributeError) as error:
            raise ValueError("an entry holds a value of another type than expected") from error
        certificate.stages = stages
        return certificate


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _named(site: SiteRecord) -> str:
    return f"{site.operator} {site.node!r} in {site.path}"


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
