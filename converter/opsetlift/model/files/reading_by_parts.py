"""Reading a model with its weights in it, without a second copy of them.

Whoever parses a file as a whole holds its bytes and the model meanwhile. Here the large initializers of the graph are
empty at first, and parsed one by one; the model is the same. Or their data stays in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import BinaryIO

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import GraphProto, ModelProto, TensorProto

from opsetlift.model.files import wire
from opsetlift.model.files.errors import ModelFileError
from opsetlift.model.files.left_weights import leave
from opsetlift.model.files.tensors import VALUE_FIELDS, stored_bytes
from opsetlift.model.files.writing_by_parts import LARGE

_GRAPH = ModelProto.DESCRIPTOR.fields_by_name["graph"].number, wire.DELIMITED
_INITIALIZER = GraphProto.DESCRIPTOR.fields_by_name["initializer"].number, wire.DELIMITED
_RAW_DATA = TensorProto.DESCRIPTOR.fields_by_name["raw_data"].number, wire.DELIMITED
_MOST_FIELDS = 64
"""Of a tensor with raw data; old exporters write each element of others as a field."""
_DATA = (*VALUE_FIELDS, "external_data", "data_location")


def read_by_parts(
    file: BinaryIO, size: int, parse: Callable[[bytes], ModelProto], location: Callable[[ModelProto], str] | None = None
) -> ModelProto | None:
    """Read a model as protobuf does, but the large initializers one by one.

    Args:
        file: What it is in.
        size: The length of the file.
        parse: Makes a model of bytes.
        location: Gives the file's name for the model without these initializers. Unless it is "", their raw data is not
            read, and they refer to it as to external data.

    Returns:
        The model. None for one without such initializers, and for what is not as protobuf writes models: the file has
        to be parsed as a whole then, if only to tell what is wrong with it.
    """
    try:
        graphs = [one for one in wire.fields(file, 0, size) if (one.number, one.kind) == _GRAPH]
        if len(graphs) != 1:  # several are merged
            return None
        (graph,) = graphs
        initializers = [
            one for one in wire.fields(file, graph.content, graph.end) if (one.number, one.kind) == _INITIALIZER
        ]
        large = {number: one for number, one in enumerate(initializers) if one.end - one.content >= LARGE}
        if not large:
            return None
        model = parse(_without(file, size, graph, list(large.values())))
        can_be_left = {number: _without_data(file, one) for number, one in large.items()} if location else {}
        left = {number: found for number, found in can_be_left.items() if found is not None}
        for number in large.keys() - left.keys():
            _read_initializer(file, large[number], model.graph.initializer[number])
        left_at = location(model) if location else ""
        for number, (head, data) in left.items():
            if left_at:
                model.graph.initializer[number].CopyFrom(head)
                leave(model.graph.initializer[number], left_at, data.content, data.end - data.content)
            else:
                _read_initializer(file, large[number], model.graph.initializer[number])
    except (wire.NotWireFormatError, DecodeError):
        return None
    return model


def _read_initializer(file: BinaryIO, place: wire.Field, tensor: TensorProto) -> None:
    tensor.MergeFromString(_part(file, place.content, place.end))


def _without_data(file: BinaryIO, place: wire.Field) -> tuple[TensorProto, wire.Field] | None:
    """An initializer without its data, and where that is; None unless that is large raw data, and complete."""
    fields = list(islice(wire.fields(file, place.content, place.end), _MOST_FIELDS + 1))
    data = [one for one in fields if (one.number, one.kind) == _RAW_DATA]
    if len(fields) > _MOST_FIELDS or len(data) != 1:
        return None
    around = _part(file, place.content, data[0].start) + _part(file, data[0].end, place.end)
    head, size = TensorProto.FromString(around), data[0].end - data[0].content
    if size < LARGE or len(UnknownFieldSet(head)) or any(described.name in _DATA for described, _ in head.ListFields()):
        return None
    try:
        return (head, data[0]) if stored_bytes(head) == size else None
    except ModelFileError:
        return None


def _without(file: BinaryIO, size: int, graph: wire.Field, large: list[wire.Field]) -> bytes:
    """The bytes of the model in which some initializers are empty."""
    pieces, position = [], graph.content
    for one in large:
        pieces += [_part(file, position, one.start), wire.tag_of(GraphProto, "initializer"), wire.varint(0)]
        position = one.end
    body = b"".join([*pieces, _part(file, position, graph.end)])
    head = wire.tag_of(ModelProto, "graph") + wire.varint(len(body))
    return b"".join([_part(file, 0, graph.start), head, body, _part(file, graph.end, size)])


def _part(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    content = file.read(end - start)
    if len(content) != end - start:
        raise wire.NotWireFormatError("the file ends before its model does")
    return content
