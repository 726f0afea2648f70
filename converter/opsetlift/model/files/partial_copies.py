"""Copies of protobuf messages without some of their fields."""

from __future__ import annotations

from collections.abc import Collection

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from opsetlift.model.files.errors import ModelFileError
from opsetlift.support.protobuf import is_repeated


def copy_without(source: Message, target: Message, *, except_for: Collection[str]) -> None:
    """Copy a message but for some fields; those that this version of onnx does not know are copied, too.

    Raises ModelFileError for text that is none.
    """
    if len(UnknownFieldSet(source)):
        # Only a copy of the whole message has them.
        target.CopyFrom(source)
        for name in except_for:
            target.ClearField(name)
        return
    for described, value in source.ListFields():
        name = described.name
        if name in except_for:
            continue
        try:
            if is_repeated(described):
                getattr(target, name).MergeFrom(value)
            elif described.message_type is not None:
                getattr(target, name).CopyFrom(value)
            else:
                setattr(target, name, value)
        except UnicodeDecodeError as error:
            raise _not_text(name) from error


def check_text(message: Message) -> None:
    """Raises ModelFileError where a field of a message itself holds text that is none."""
    for described, value in message.ListFields():
        if described.type == FieldDescriptor.TYPE_STRING and isinstance(value, bytes):
            raise _not_text(described.name)


def _not_text(field: str) -> ModelFileError:
    return ModelFileError(f"the model has text in a {field} that is not UTF-8")
