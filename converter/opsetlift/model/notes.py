"""Notes in a model: fields that say nothing of what it computes, and that some IR versions do not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto

from opsetlift.model.scopes import GRAPH_PATH, function_path, subgraph_path, subgraphs

_FIRST_IR_VERSION = {
    "quantization_annotation": 5,
    "metadata_props": 10,
    "value_info": 10,
    "device_configurations": 11,
    "configuration": 11,
}
"""Of the fields below; `value_info` of functions, `metadata_props` of anything but the model."""


@dataclass(frozen=True)
class MovedNote:
    """A note that the IR version of the result has no place for, and what it said."""

    path: str
    """The scope: "graph", "function:domain:name"; "model" for the model itself."""
    owner: str
    """What it was about: "node 'conv1'", or "" for the scope."""
    field: str
    content: Any
    """As JSON has it."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def fields_missing_in(ir_version: int) -> set[str]:
    """The fields for notes that an IR version does not have."""
    return {field for field, first in _FIRST_IR_VERSION.items() if ir_version < first}


def take_notes(model: ModelProto, fields: set[str]) -> list[MovedNote]:
    """Take the notes in `fields` off a model, in place; returns them."""
    found = list(_taken("model", "", model, fields & {"configuration", "producer_name", "producer_version"}))
    found += _off_graph(GRAPH_PATH, model.graph, fields)
    for function in model.functions:
        path = function_path(function)
        found += _taken(path, "", function, fields & {"metadata_props", "value_info"})
        for value in function.value_info:
            found += _taken(path, f"value {value.name!r}", value, fields & {"metadata_props"})
        found += _off_nodes(path, function.node, fields)
    for number, training in enumerate(model.training_info):
        found += _off_graph(f"training_info[{number}].initialization", training.initialization, fields)
        found += _off_graph(f"training_info[{number}].algorithm", training.algorithm, fields)
    return found


def take_notes_off_nodes(nodes: Iterable[NodeProto], fields: set[str]) -> None:
    """Take the notes in `fields` off nodes, in place; what they said is not kept."""
    for _ in _off_nodes("", nodes, fields):
        pass


def without_notes(model: ModelProto, fields: set[str]) -> ModelProto:
    """A model without the notes in `fields`; the model itself where there is nothing to leave out."""
    if not fields:
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    take_notes(copy, fields)
    return copy


def notes_of_function(function: FunctionProto) -> list[MovedNote]:
    """What a function says of itself, for which there is no place once it is inlined."""
    path = function_path(function)
    copy = FunctionProto()
    copy.CopyFrom(function)
    return list(_taken(path, "", copy, {"doc_string", "metadata_props", "value_info"}))


def _off_graph(path: str, graph: GraphProto, fields: set[str]) -> Iterator[MovedNote]:
    yield from _taken(path, "", graph, fields & {"metadata_props", "quantization_annotation"})
    metadata = fields & {"metadata_props"}
    if metadata:
        for value in (*graph.input, *graph.output, *graph.value_info):
            yield from _taken(path, f"value {value.name!r}", value, metadata)
        for tensor in graph.initializer:
            yield from _taken(path, f"initializer {tensor.name!r}", tensor, metadata)
        for sparse in graph.sparse_initializer:
            for part in (sparse.values, sparse.indices):
                yield from _taken(path, f"initializer {sparse.values.name!r}", part, metadata)
    yield from _off_nodes(path, graph.node, fields)


def _off_nodes(path: str, nodes: Iterable[NodeProto], fields: set[str]) -> Iterator[MovedNote]:
    takes_metadata = "metadata_props" in fields
    own = sorted(fields & {"metadata_props", "device_configurations"})
    for index, node in enumerate(nodes):
        if any(getattr(node, field) for field in own):
            yield from _taken(path, _owner(node), node, own)
        if not node.attribute:
            continue
        for tensor in _tensors(node) if takes_metadata else ():
            if tensor.metadata_props:
                yield from _taken(path, f"a tensor of {_owner(node)}", tensor, {"metadata_props"})
        for name, graph in subgraphs(node):
            yield from _off_graph(subgraph_path(path, index, node, name), graph, fields)


def _owner(node: NodeProto) -> str:
    return f"node {node.name or next(iter(node.output), '')!r}"


def _tensors(node: NodeProto) -> Iterator[TensorProto]:
    for attribute in node.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors


def _taken(path: str, owner: str, message: Message, fields: Iterable[str]) -> Iterator[MovedNote]:
    for field in sorted(fields):
        content = getattr(message, field)
        if not content:
            continue
        yield MovedNote(path, owner, field, _as_json(content))
        message.ClearField(field)


def _as_json(content: Any) -> Any:
    if isinstance(content, str):
        return content
    messages = [json_format.MessageToDict(one, preserving_proto_field_name=True) for one in content]
    if all(one.keys() <= {"key", "value"} for one in messages):
        return {one.get("key", ""): one.get("value", "") for one in messages}
    return messages
