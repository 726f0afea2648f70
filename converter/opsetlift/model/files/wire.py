"""The wire format of protobuf, as far as it takes to find the fields of a message: see its encoding guide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from google.protobuf.message import Message

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
"""How a field tells where it ends."""

PROTOBUF_LIMIT = 2**31 - 1
"""The most bytes that a message can have."""

_WIDTHS = {FIXED64: 8, FIXED32: 4}
_LARGEST_NUMBER = 2**29 - 1
_LONGEST_VARINT = 10
_LONGEST_TAG = 5
"""Bytes, also of a length: protobuf takes no longer ones, though it would for values of fields."""


class NotWireFormatError(ValueError):
    """The bytes are no fields, or fields of kinds that protobuf no longer writes."""


class Field(NamedTuple):
    """Where a field of a message lies in a file."""

    number: int
    kind: int
    start: int
    """Where its tag begins."""
    content: int
    """Where its content begins."""
    end: int


def tag_of(message: type[Message], name: str) -> bytes:
    """The tag of a field that holds text, bytes or messages."""
    return bytes([message.DESCRIPTOR.fields_by_name[name].number << 3 | DELIMITED])


def varint(number: int) -> bytes:
    """A number as the wire has it."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def fields(file: BinaryIO, start: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message that lies at a place of a file.

    Raises:
        NotWireFormatError: There is none, or the file ends before it does.
    """
    while start < end:
        file.seek(start)
        tag = _read_varint(file, _LONGEST_TAG)
        number, kind = tag >> 3, tag & 7
        if not 0 < number <= _LARGEST_NUMBER:
            raise NotWireFormatError(f"a field of number {number}")
        content = file.tell()
        if kind == VARINT:
            _read_varint(file)
            after = file.tell()
        elif kind == DELIMITED:
            length = _read_varint(file, _LONGEST_TAG)
            content = file.tell()
            after = content + length
        elif kind in _WIDTHS:
            after = content + _WIDTHS[kind]
        else:
            raise NotWireFormatError(f"a field of kind {kind}")
        if after > end:
            raise NotWireFormatError("a field is longer than its message")
        yield Field(number, kind, start, content, after)
        start = after


def _read_varint(file: BinaryIO, longest: int = _LONGEST_VARINT) -> int:
    number = 0
    for place in range(longest):
        (byte,) = file.read(1) or (None,)
        if byte is None:
            break
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number
    raise NotWireFormatError("a number does not end")
