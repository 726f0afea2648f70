"""What a model holds, and where it can go: everything that `opsetlift inspect` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from onnx import ModelProto, NodeProto, ValueInfoProto

from opsetlift.conversion.objections import objections
from opsetlift.facts import ModelFacts
from opsetlift.model.files import (
    all_tensors,
    check_tensors,
    fault_found,
    is_external,
    load_model,
    repaired,
    stored_bytes,
    validated,
)
from opsetlift.model.scopes import function_path, imported_opsets, subgraphs_within
from opsetlift.pipeline.reach import reach
from opsetlift.reporting.differences import operator_of, shown_type
from opsetlift.specification.dtypes import dtype_name
from opsetlift.specification.history import CONVERTED_DOMAINS, display_domain
from opsetlift.targets import Target, catalogue

SCHEMA_VERSION = 1
"""Of the document that `--json` prints; reporting/inspection.schema.json describes it."""


@dataclass(frozen=True)
class Value:
    """An input or an output of the graph."""

    name: str
    type: str
    """With its sizes: "float[batch, 3]"."""


@dataclass(frozen=True)
class Constants:
    """The tensors of one dtype in a model: initializers and the attributes of nodes."""

    dtype: str
    count: int
    bytes: int


@dataclass(frozen=True)
class LowestOpsets:
    """The lowest opset of ai.onnx that a model can be converted to; None where there is none."""

    unchanged: int | None
    """Where no node has to be rewritten."""
    rewritten: int | None
    """Where rules may rewrite nodes."""


@dataclass(frozen=True)
class Inspection:
    """What a model holds."""

    path: str
    file_bytes: int
    """Of the file itself, without external data."""
    external_bytes: int
    producer: str
    ir_version: int
    opsets: Mapping[str, int]
    """By domain, the default one spelt "ai.onnx"."""
    inputs: Sequence[Value]
    """Those without an initializer."""
    outputs: Sequence[Value]
    nodes: int
    """Subgraphs and functions included."""
    subgraphs: int
    operators: Mapping[str, int]
    """How many nodes each operator has, most frequent first."""
    constants: Sequence[Constants]
    """By dtype, the largest first."""
    functions: Mapping[str, int]
    """How many nodes each has, by path."""
    lowest_opsets: LowestOpsets | None
    """None where they were not looked for, or onnx's checker rejects the model."""
    runtimes: Mapping[str, Sequence[str]]
    """The versions, by runtime, that take the model as it is, as far as is known; none where the checker rejects it."""
    notes: Sequence[str] = ()
    """What was odd about the model."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}


def inspect(source: Path | ModelProto, *, looks_for_opsets: bool = True) -> Inspection:
    """Look at a model.

    Args:
        source: The file, or a model that came from none.
        looks_for_opsets: Whether to try to which opsets it can be converted, which takes a dry run for each.

    Raises:
        ModelFileError: The file or the model cannot be read.
    """
    given = source if isinstance(source, ModelProto) else load_model(source)
    path = Path("-") if isinstance(source, ModelProto) else source
    check_tensors(given, None)
    model, notes = repaired(given)
    model, more = validated(model)
    notes += more
    folder = str(path.parent)
    fault = fault_found(model, folder)
    if fault:
        notes.append(fault)
    tensors = list(all_tensors(model))
    nodes = list(_nodes(model))
    initialized = {tensor.name for tensor in model.graph.initializer}
    return Inspection(
        path=str(path),
        file_bytes=source.ByteSize() if isinstance(source, ModelProto) else source.stat().st_size,
        external_bytes=sum(stored_bytes(one) or 0 for one in tensors if is_external(one)),
        producer=f"{model.producer_name} {model.producer_version}".strip(),
        ir_version=model.ir_version,
        opsets={display_domain(one): opset for one, opset in imported_opsets(model.opset_import).items()},
        inputs=_values(one for one in model.graph.input if one.name not in initialized),
        outputs=_values(model.graph.output),
        nodes=len(nodes),
        subgraphs=sum(1 for body in (model.graph, *model.functions) for _ in subgraphs_within(body)),
        operators=dict(Counter(map(operator_of, nodes)).most_common()),
        constants=_constants(model),
        functions={function_path(one): len(one.node) for one in model.functions},
        lowest_opsets=_lowest_opsets(model, folder) if looks_for_opsets and not fault else None,
        runtimes={} if fault else _runtimes(model, folder),
        notes=notes,
    )


def _nodes(model: ModelProto) -> Iterator[NodeProto]:
    for body in (model.graph, *model.functions):
        yield from body.node
        for graph in subgraphs_within(body):
            yield from graph.node


def _values(infos: Iterable[ValueInfoProto]) -> list[Value]:
    return [Value(one.name, shown_type(one.type)) for one in infos]


def _constants(model: ModelProto) -> list[Constants]:
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for tensor in all_tensors(model):
        dtype = dtype_name(tensor.data_type)
        size = stored_bytes(tensor)
        counts[dtype] += 1
        sizes[dtype] += sum(map(len, tensor.string_data)) if size is None else size
    return [Constants(dtype, counts[dtype], size) for dtype, size in sizes.most_common()]


def _lowest_opsets(model: ModelProto, folder: str) -> LowestOpsets:
    found = [one for one in reach(model, targets=(), base_dir=folder).opsets if one.where.startswith("ai.onnx ")]
    reachable = [one for one in found if one.is_reachable]
    unchanged = [one for one in reachable if not one.rewrites]
    first = [one.opsets["ai.onnx"] for one in (*unchanged[:1], *reachable[:1])]
    return LowestOpsets(first[0] if unchanged else None, first[-1] if reachable else None)


def _runtimes(model: ModelProto, folder: str) -> dict[str, list[str]]:
    facts = ModelFacts(model, folder)
    return {
        name: versions
        for name, runtime in catalogue().items()
        if (versions := [target.version for target in runtime.targets if takes(target, model, facts)])
    }


@dataclass(frozen=True)
class Objection:
    """Why a runtime does not take a model as it is."""

    kind: str
    """opset, ir-version, functions or node."""
    sentence: str


def takes(target: Target, model: ModelProto, facts: ModelFacts) -> bool:
    """Whether a runtime takes a model as it is, as far as the target's data tells."""
    return next(_objections(target, model, facts), None) is None


def objections_of(target: Target, model: ModelProto, facts: ModelFacts) -> list[Objection]:
    """Everything that a runtime does not take in a model as it is, as far as the target's data tells."""
    return list(_objections(target, model, facts))


def _objections(target: Target, model: ModelProto, facts: ModelFacts) -> Iterator[Objection]:
    title = f"{target.title} {target.version}"
    is_at_its_opset = True
    for domain, opset in imported_opsets(model.opset_import).items():
        accepted = target.opsets.get(domain)
        if domain in CONVERTED_DOMAINS and (accepted is None or opset not in accepted):
            is_at_its_opset = False
            shown = "none" if accepted is None else str(accepted)
            yield Objection("opset", f"the model imports {display_domain(domain)} {opset}; {title} accepts {shown}")
    if model.ir_version not in target.ir_versions:
        sentence = f"the model has IR version {model.ir_version}; {title} accepts {target.ir_versions}"
        yield Objection("ir-version", sentence)
    if model.functions and not target.has_functions:
        yield Objection("functions", f"{title} does not accept models with functions")
    if is_at_its_opset:
        # At another opset nodes have other forms, of which a conversion takes care.
        yield from (Objection("node", str(one)) for one in objections(facts, target))
