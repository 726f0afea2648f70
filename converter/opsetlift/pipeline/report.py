"""The report of a job: the rewrites, by rule and count, and what else a user should know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from onnx import ModelProto

from opsetlift.conversion.dtype_policy import DtypeChanges
from opsetlift.model.notes import MovedNote
from opsetlift.model.scopes import function_path, imported_opsets
from opsetlift.pipeline.evidence import Converted, Retyped, ShapesFixed
from opsetlift.pipeline.job import Job
from opsetlift.rulebook.rule import Rule
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification.history import Transition, display_domain

SCHEMA_VERSION = 1
"""Of the document that `--json` prints; pipeline/report.schema.json describes it."""


@dataclass(frozen=True)
class Rewrite:
    """A rule that was applied across one transition, and how often."""

    transition: str
    rule: str
    count: int
    ulps: int
    """0 for an exact rule; else the bound of a rounding rule."""

    @property
    def exactness(self) -> str:
        """For people: "exact", or the bound."""
        return f"within {self.ulps} ULP" if self.ulps else "exact"


@dataclass(frozen=True)
class Report:
    """What was done to a model, except by passes. Opsets are by domain, the default one spelt "ai.onnx"."""

    source_opsets: Mapping[str, int]
    target_opsets: Mapping[str, int]
    source_ir_version: int
    target_ir_version: int
    rewrites: Sequence[Rewrite]
    """In the order in which the transitions were first applied."""
    source_nodes: int
    """Nodes of the graph and the functions; those of subgraphs are not counted."""
    target_nodes: int
    notes: Sequence[str] = field(default=())
    """Sentences on oddities of the model that did not prevent the conversion."""
    added_functions: Sequence[str] = field(default=())
    """Copies of functions whose callers needed different conversions of one body."""
    inlined_functions: Sequence[str] = field(default=())
    """Functions whose calls were replaced by their bodies, because the IR version has no functions."""
    added_inputs: Sequence[str] = field(default=())
    """Initializers that became inputs with a default, because the IR version requires it."""
    target: str = ""
    """The runtime that the result is for."""
    quirks: Sequence[str] = field(default=())
    """Known limitations of that runtime that refuse nothing."""
    dtypes: DtypeChanges | None = None
    """The dtype changes, if any were requested; they are not exact."""
    is_conversion: bool = False
    """Whether the model was converted; False if only passes ran."""
    fixed_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The sizes that were fixed: a single size by the name of a dimension, a whole shape by the name of an input."""
    moved_metadata: Sequence[MovedNote] = field(default=())
    """Metadata of the model in fields that the IR version lacks."""

    @property
    def both_opsets(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The opsets before and after."""
        return self.source_opsets, self.target_opsets

    @classmethod
    def of(cls, job: Job) -> Report:
        """The report of a job that is done."""
        source, result, runtime = job.source, job.model, job.options.runtime
        conversions = [one for one in job.evidence if isinstance(one, Converted)]
        fittings = [one.fitting for one in conversions]
        notes = [note for one in conversions for note in (*sorted(one.walked.trace.notes), *one.fitting.notes)]
        return cls(
            source_opsets=_opsets(source),
            target_opsets=_opsets(result),
            source_ir_version=source.ir_version,
            target_ir_version=result.ir_version,
            rewrites=_rewrites([one.walked.trace for one in conversions]),
            source_nodes=node_count(source),
            target_nodes=node_count(result),
            notes=tuple(dict.fromkeys((*job.notes, *notes, *([runtime.note] if runtime and runtime.note else ())))),
            target=runtime.spelling if runtime else "",
            quirks=tuple(quirk.text for quirk in runtime.quirks) if runtime else (),
            dtypes=next((one.changes for one in job.evidence if isinstance(one, Retyped)), None),
            is_conversion=bool(conversions),
            fixed_shapes=next((one.shapes for one in job.evidence if isinstance(one, ShapesFixed)), {}),
            added_functions=_added_functions(source, result),
            inlined_functions=tuple(path for one in fittings for path in one.inlined_functions),
            added_inputs=tuple(name for one in fittings for name in one.added_inputs),
            moved_metadata=tuple(note for one in fittings for note in one.moved_notes),
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "rewrites": [asdict(rewrite) for rewrite in self.rewrites]}


def _opsets(model: ModelProto) -> dict[str, int]:
    return {display_domain(domain): opset for domain, opset in imported_opsets(model.opset_import).items()}


def node_count(model: ModelProto) -> int:
    """The nodes of the graph and of functions, without those of subgraphs."""
    return len(model.graph.node) + sum(len(function.node) for function in model.functions)


def _added_functions(source: ModelProto, result: ModelProto) -> tuple[str, ...]:
    before = set(map(function_path, source.functions))
    return tuple(path for path in map(function_path, result.functions) if path not in before)


def _rewrites(traces: Sequence[ConversionTrace]) -> tuple[Rewrite, ...]:
    counts: Counter[tuple[Transition, Rule]] = Counter(
        (transition, rule)
        for trace in traces
        for scope in trace.scopes.values()
        for site in scope.sites
        for transition, rule in site.applied
        if rule.apply is not None
    )
    return tuple(Rewrite(str(transition), rule.name, count, rule.ulps) for (transition, rule), count in counts.items())
