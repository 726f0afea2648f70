"""Outputs of graphs that declare no type, which IR.md requires and runtimes infer, or no shape, which some need."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import ModelProto, TypeProto, ValueInfoProto

from opsetlift.facts import MADE_UP, ModelFacts
from opsetlift.model.files import ModelFileError
from opsetlift.specification.dtypes import shape_of_type, type_string


def with_typed_outputs(facts: ModelFacts) -> tuple[ModelProto, list[str]]:
    """The model, or a copy whose outputs declare the types that are computed, and a sentence on each that did not.

    Raises:
        ModelFileError: An output declares no type, and none is known.
    """
    found = {one.name: facts.graph.type_of(one.name) for one in facts.model.graph.output if _is_untyped(one.type)}
    if not found:
        return facts.model, []
    result, notes = ModelProto(), []
    result.CopyFrom(facts.model)
    for info in result.graph.output:
        if info.name not in found:
            continue
        computed = found[info.name]
        if computed is None or _is_untyped(computed):
            raise ModelFileError(f"graph output {info.name!r} has no type")
        _declare(info, computed)
        notes.append(f"output {info.name!r} had no type; it was declared as it is computed, {type_string(computed)}")
    return result, notes


def with_shaped_outputs(facts: ModelFacts) -> tuple[ModelProto, list[str]]:
    """The model, or a copy whose outputs declare the shapes that are known, and a sentence on each that did not."""
    undeclared = {one.name for one in facts.model.graph.output if has_no_shape(one.type)}
    found = {name: facts.graph.type_of(name) for name in sorted(undeclared)}
    known = {name: kind for name, kind in found.items() if kind is not None and not has_no_shape(kind)}
    if not known:
        return facts.model, []
    result = ModelProto()
    result.CopyFrom(facts.model)
    for info in result.graph.output:
        if info.name in known:
            _declare(info, known[info.name])
    return result, [f"output {name!r} had no shape; it was declared as it is computed" for name in known]


def with_typed_bodies(facts: ModelFacts) -> ModelProto:
    """The model, or a copy whose subgraphs declare the types of their inputs and outputs, as far as they are known."""
    if not any(_untyped_in_subgraphs(facts)):
        return facts.model
    result = ModelProto()
    result.CopyFrom(facts.model)
    for info, computed in _untyped_in_subgraphs(ModelFacts(result, facts.base_dir)):
        _declare(info, computed)
    return result


def _untyped_in_subgraphs(facts: ModelFacts) -> Iterator[tuple[ValueInfoProto, TypeProto]]:
    for scope in facts.all_scopes():
        for info in () if scope.parent is None else (*scope.container.input, *scope.container.output):
            computed = scope.type_of(info.name) if _is_untyped(info.type) else None
            if computed is not None and not _is_untyped(computed):
                yield info, computed


def has_no_shape(kind: TypeProto) -> bool:
    """Whether it is the type of tensors of any rank."""
    return kind.HasField("tensor_type") and shape_of_type(kind) is None


def _declare(info: ValueInfoProto, computed: TypeProto) -> None:
    info.type.CopyFrom(computed)
    for dim in info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else ():
        if dim.dim_param.startswith(MADE_UP):
            dim.Clear()


def _is_untyped(declared: TypeProto) -> bool:
    return declared.WhichOneof("value") != "opaque_type" and type_string(declared) is None
