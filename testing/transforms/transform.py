"""What a transform is, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

from testing.cases import Case


def no_complaint(_before: Case, _after: ModelProto) -> str:
    """What transforms say of a converted model that have nothing to assert about it."""
    return ""


@dataclass(frozen=True)
class Transform:
    """A rewriting that keeps the meaning of a test's model; None where the test has nothing for it to rewrite."""

    name: str
    apply: Callable[[Case], Case | None]
    complaint: Callable[[Case, ModelProto], str] = no_complaint
    """What is wrong with the conversion of a transformed case, beside its outputs; empty where nothing is."""
    is_legal: bool = True
    """Whether the specification allows the form, so that the transformed model runs before it is converted."""


def rewritten(
    case: Case, model: ModelProto, inputs: list[Any] | None = None, expected: list[Any] | None = None
) -> Case:
    """The case with another model, and with other inputs and outputs where they are given; its first data set only."""
    given = list(case.inputs().values()) if inputs is None else inputs
    outputs = case.expected() if expected is None else expected
    return Case(case.name, model, [(given, outputs)], case.rtol, case.atol, case.base_dir)


def copied(model: ModelProto) -> ModelProto:
    """A copy to edit."""
    copy = ModelProto()
    copy.CopyFrom(model)
    return copy


def required_inputs(model: ModelProto) -> list[ValueInfoProto]:
    """The graph's inputs without a default."""
    initialized = {tensor.name for tensor in model.graph.initializer}
    return [info for info in model.graph.input if info.name not in initialized]


def tensors_of_inputs(case: Case, largest: int = 512) -> dict[str, TensorProto]:
    """What a case feeds to its tensor inputs, as tensors; only those of at most `largest` elements."""
    found = {}
    for info in required_inputs(case.model):
        value = case.inputs().get(info.name)
        if info.type.WhichOneof("value") != "tensor_type" or value is None or numpy.size(value) > largest:
            continue
        tensor = tensor_of(value, info.name)
        if tensor.data_type == info.type.tensor_type.elem_type:
            found[info.name] = tensor
    return found


def tensor_of(value: Any, name: str) -> TensorProto:
    """An array as a tensor with raw data, strings apart."""
    array = numpy.asarray(value)
    return numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array, name)


def without_inputs(model: ModelProto, names: Iterable[str]) -> None:
    """Take graph inputs away."""
    gone = set(names)
    kept = [info for info in model.graph.input if info.name not in gone]
    del model.graph.input[:]
    model.graph.input.extend(kept)


def add_initializer(model: ModelProto, tensor: TensorProto) -> None:
    """Add an initializer; below IR version 4 it has to be an input, too."""
    model.graph.initializer.append(tensor)
    if model.ir_version < 4:
        model.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))


def ensure_ir_version(model: ModelProto, version: int) -> None:
    """Raise the IR version where it is older."""
    model.ir_version = max(model.ir_version, version)


def computes_its_outputs(model: ModelProto) -> bool:
    """Whether nodes compute the outputs, each another one, so that they can move into another scope."""
    computed = {name for node in model.graph.node for name in node.output}
    outputs = [info.name for info in model.graph.output]
    return bool(outputs) and len(set(outputs)) == len(outputs) and computed.issuperset(outputs)


def renamed(nodes: Iterable[NodeProto], names: Mapping[str, str]) -> list[NodeProto]:
    """Copies of nodes that say other names, in their subgraphs too; nothing there hides a name of `names`."""
    copies = []
    for node in nodes:
        copy = NodeProto()
        copy.CopyFrom(node)
        _rename(copy, names)
        copies.append(copy)
    return copies


def _rename(node: NodeProto, names: Mapping[str, str]) -> None:
    node.input[:] = [names.get(name, name) for name in node.input]
    node.output[:] = [names.get(name, name) for name in node.output]
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            for inner in attribute.g.node:
                _rename(inner, names)
            for output in attribute.g.output:
                output.name = names.get(output.name, output.name)


def renamed_info(info: ValueInfoProto, name: str) -> ValueInfoProto:
    """The declaration of a value under another name."""
    copy = ValueInfoProto()
    copy.CopyFrom(info)
    copy.name = name
    return copy
