"""Writing a model with its weights in it, without a second copy of them.

Protobuf serializes a message as a whole, and holds the result twice meanwhile. Here the large initializers of the graph
are left out, and put in their places when the file is written; also those that stayed in the file that the model was
read from. The file is the same, byte for byte.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, NamedTuple

from google.protobuf.message import EncodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import GraphProto, ModelProto, TensorProto

from opsetlift.model.files import wire
from opsetlift.model.files.errors import ModelFileError
from opsetlift.model.files.left_weights import NO_WEIGHTS_LEFT, FileRange, LeftWeights
from opsetlift.model.files.partial_copies import copy_without
from opsetlift.model.files.wire import PROTOBUF_LIMIT

LARGE = 1 << 20
"""Bytes, from which on the raw data of an initializer is written by itself."""


_REFERENCE = ("external_data", "data_location")


class _RawData(NamedTuple):
    """That of a tensor, which is taken from it when it is written."""

    tensor: TensorProto
    size: int

    def blocks(self) -> Iterator[bytes]:
        yield self.tensor.raw_data


_Piece = bytes | _RawData | FileRange


def write_by_parts(model: ModelProto, file: BinaryIO, left: LeftWeights = NO_WEIGHTS_LEFT) -> bool:
    """Write a model as protobuf does, but the raw data of large initializers one by one.

    Args:
        model: The model.
        file: Where it goes.
        left: Weights that are in a file, and are written as if the model held them.

    Returns:
        Whether that was done. Nothing is written of a model without such initializers, of one with fields that this
        version of onnx does not know, or with text that is not UTF-8, beside them, and of one whose attributes have
        weights that were left.

    Raises:
        EncodeError: The model is too large for one protobuf.
        ModelFileError: What was left is no longer there.
    """
    try:
        found = {position: _by_itself(tensor, left) for position, tensor in enumerate(model.graph.initializer)}
        large = {position: piece for position, piece in found.items() if piece is not None}
        if not large or left.is_elsewhere(model) or any(len(UnknownFieldSet(one)) for one in (model, model.graph)):
            return False
        pieces = _spliced(model, "graph", [_graph(model.graph, large)])
    except ModelFileError:
        return False
    if _size(pieces) > PROTOBUF_LIMIT:
        raise EncodeError("it takes more than the 2 GB of a protobuf")
    for piece in pieces:
        if isinstance(piece, bytes):
            file.write(piece)
        else:
            file.writelines(piece.blocks())
    return True


def _by_itself(tensor: TensorProto, left: LeftWeights) -> _RawData | FileRange | None:
    """The data of a tensor that is written by itself; None for all others."""
    if left.holds(tensor):
        return left.range_of(tensor)
    size = len(tensor.raw_data)
    return _RawData(tensor, size) if size >= LARGE and not len(UnknownFieldSet(tensor)) else None


def _graph(graph: GraphProto, large: Mapping[int, _RawData | FileRange]) -> list[_Piece]:
    tensors = [
        _spliced(tensor, "raw_data", [[piece]], without=_REFERENCE if isinstance(piece, FileRange) else ())
        if (piece := large.get(position)) is not None
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
    without: Sequence[str] = (),
) -> list[_Piece]:
    """What protobuf makes of a message, with these values of a field.

    `before` gives those of the first of its fields, `without` names those that are left out.
    """
    rest = type(message)()
    copy_without(message, rest, except_for=(name, *without, *before[:1]) if before else (name, *without))
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
