"""Outputs of graphs that declare no type: IR.md requires one, and runtimes infer it."""

from __future__ import annotations

from onnx import ModelProto, TypeProto

from opsetlift.facts import MADE_UP, ModelFacts
from opsetlift.model.files import ModelFileError
from opsetlift.specification.dtypes import type_string


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
        info.type.CopyFrom(computed)
        for dim in info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else ():
            if dim.dim_param.startswith(MADE_UP):
                dim.Clear()
        notes.append(f"output {info.name!r} had no type; it was declared as it is computed, {type_string(computed)}")
    return result, notes


def _is_untyped(declared: TypeProto) -> bool:
    return declared.WhichOneof("value") != "opaque_type" and type_string(declared) is None
