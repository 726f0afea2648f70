"""Reading a model with its weights in it, without a second copy of them.

Whoever parses a file as a whole holds its bytes and the model meanwhile. Here the large initializers of the graph are
empty at first, and parsed one by one. The model is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto

from opsetlift.model.files import wire
from opsetlift.model.files.writing_by_parts import LARGE

_GRAPH = ModelProto.DESCRIPTOR.fields_by_name["graph"].number, wire.DELIMITED
_INITIALIZER = GraphProto.DESCRIPTOR.fields_by_name["initializer"].number, wire.DELIMITED


def read_by_parts(file: BinaryIO, size: int, parse: Callable[[bytes], ModelProto]) -> ModelProto | None:
    """Read a model as protobuf does, but the large initializers one by one.

    Args:
        file: What it is in.
        size: The length of the file.
        parse: Makes a model of bytes.

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
        for number, one in large.items():
            model.graph.initializer[number].MergeFromString(_part(file, one.content, one.end))
    except (wire.NotWireFormatError, DecodeError):
        return None
    return model


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
