"""What releases of protobuf name differently."""

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor


def is_repeated(field: FieldDescriptor) -> bool:
    """Whether a field of a message is a list. `is_repeated` is new in protobuf 6, which is to lose `label`."""
    known = getattr(field, "is_repeated", None)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED if known is None else known)


def text_of(text: str | bytes) -> str:
    """A text that a field takes. protobuf gives one that is not UTF-8, as in doc strings of old files, as bytes."""
    return text if isinstance(text, str) else text.decode("utf-8", "backslashreplace")
