"""Writing a model with its weights in it, without a second copy of them.

Protobuf serializes a message as a whole, and holds the result twice meanwhile. Here the large initializers of the graph
are left out, and put in their places when the file is written. The file is the same, byte for byte.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO, NamedTuple

from google.protobuf.message import EncodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import GraphProto, ModelProto, TensorProto

from opsetlift.model.files import wire
from opsetlift.model.files.errors import ModelFileError
from opsetlift.model.files.partial_copies import copy_without
from opsetlift.model.files.wire import PROTOBUF_LIMIT

LARGE = 1 << 20
"""Bytes, from which on the raw data of an initializer is written by itself."""


class _RawData(NamedTuple):
    """That of a tensor, which is taken from it when it is written."""

    tensor: TensorProto
    size: int


_Piece = bytes | _RawData


def write_by_parts(model: ModelProto, file: BinaryIO) -> bool:
    """Write a model as protobuf does, but the raw data of large initializers one by one.

    Returns:
        Whether that was done. Nothing is written of a model without such initializers, and of one with fields that this
        version of onnx does not know, or with text that is not UTF-8, beside them.

    Raises:
        EncodeError: The model is too large for one protobuf.
    """
    try:
        large = {position: size for position, size in enumerate(map(_size_by_itself, model.graph.initializer)) if size}
        if not large or any(len(UnknownFieldSet(one)) for one in (model, model.graph)):
            return False
        pieces = _spliced(model, "graph", [_graph(model.graph, large)])
    except ModelFileError:
        return False
    if _size(pieces) > PROTOBUF_LIMIT:
        raise EncodeError("it takes more than the 2 GB of a protobuf")
    for piece in pieces:
        file.write(piece if isinstance(piece, bytes) else piece.tensor.raw_data)
    return True


def _size_by_itself(tensor: TensorProto) -> int:
    """The size of the raw data of a tensor that is written by itself; 0 for all others."""
    size = len(tensor.raw_data)
    return size if size >= LARGE and not len(UnknownFieldSet(tensor)) else 0


def _graph(graph: GraphProto, large: Mapping[int, int]) -> list[_Piece]:
    tensors = [
        _spliced(tensor, "raw_data", [[_RawData(tensor, large[position])]])
        if position in large
        else [tensor.SerializeToString()]
        for position, tensor in enumerate(graph.initializer)
    ]
    # A copy of the nodes would take more memory than their bytes, and they may hold weights, too.
    nodes: list[list[_Piece]] = [[node.SerializeToString()] for node in graph.node]
    return _spliced(graph, "initializer", tensors, before=("node", nodes))


def _spliced(
    message: Message,
    name: str,
    values: Iterable[Sequence[_Piece]],
    before: tuple[str, Iterable[Sequence[_Piece]]] | None = None,
) -> list[_Piece]:
    """What protobuf makes of a message, with these values of a field.

    `before` gives those of the first of its fields.
    """
    rest = type(message)()
    copy_without(message, rest, except_for=(name, before[0]) if before else (name,))
    start, end = _around(rest, name)
    result = _fields(message, *before) if before else []
    return [*result, start, *_fields(message, name, values), end]


def _around(rest: Message, name: str) -> tuple[bytes, bytes]:
    """What stands before and after a field of a message that has none, when it is given one that is empty."""
    empty = wire.tag_of(type(rest), name) + wire.varint(0)
    rest.MergeFromString(empty)
    content = rest.SerializeToString()
    number = rest.DESCRIPTOR.fields_by_name[name].number
    start = next(one.start for one in wire.fields(io.BytesIO(content), 0, len(content)) if one.number == number)
    return content[:start], content[start + len(empty) :]


def _fields(message: Message, name: str, values: Iterable[Sequence[_Piece]]) -> list[_Piece]:
    """Values of a field, each with its tag and length."""
    tag = wire.tag_of(type(message), name)
    return [piece for value in values for piece in (tag + wire.varint(_size(value)), *value)]


def _size(pieces: Iterable[_Piece]) -> int:
    return sum(len(piece) if isinstance(piece, bytes) else piece.size for piece in pieces)
