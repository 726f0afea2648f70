"""Copies of models in which it makes no difference how, and in which file, the contents of tensors are stored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto, numpy_helper

from opsetlift.model.files.copying import check_texts, copy_whole, copy_with_tensors
from opsetlift.model.files.errors import ModelFileError, reason
from opsetlift.model.files.external_data import ExternalReference, external_reference, resolve_location
from opsetlift.model.files.tensors import is_external, stored_bytes, tensors_of
from opsetlift.support.protobuf import is_repeated

_LARGEST_CONTENT = 256
"""Bytes. What is larger is represented by its SHA-256."""

_LARGEST_HELD = 1 << 16
"""Bytes. What is larger is rather hashed again for a second model than held until then."""

_CHUNK = 1 << 24

_TYPED_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")


class Contents:
    """The contents of the tensors of models whose external data lies in one folder; reads each piece of it once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._digests: dict[tuple[ExternalReference, int], bytes] = {}
        self._contents: dict[str, tuple[bytes, bytes]] = {}
        """By name, the last content of a tensor, and its digest: that of another model is the same for most."""

    def comparable(self, model: ModelProto) -> ModelProto:
        """A model whose tensors hold their contents, or the SHA-256 of these, as raw data, without empty strings.

        It is a copy, or the model itself where that is so already. Tensors of strings stay as they are.

        Raises:
            ModelFileError: External data cannot be read.
        """
        tensors = tensors_of(model)
        if all(map(_is_comparable, tensors.all())):
            check_texts(model)
            empty = list(_empty_strings(model))
            if not empty:
                return model
            # Few parts change: of the copy nothing is read.
            copied = copy_whole(model)
            _clear(copied, empty)
            return copied
        copied = copy_with_tensors(model, _is_comparable, self._fill, tensors)
        # Sparse tensors and those of training graphs have been copied as they are.
        for tensor in tensors_of(copied).others if tensors.others else ():
            if not _is_comparable(tensor):
                content = self._short(tensor)
                for field in (*_TYPED_FIELDS, "external_data"):
                    tensor.ClearField(field)
                tensor.ClearField("data_location")
                tensor.raw_data = content
        clear_empty_strings(copied)
        return copied

    def _fill(self, tensor: TensorProto, target: TensorProto) -> None:
        target.raw_data = self._short(tensor)

    def _short(self, tensor: TensorProto) -> bytes:
        if is_external(tensor):
            reference, size = external_reference(tensor), stored_bytes(tensor) or 0
            key = ExternalReference(reference.location, reference.offset, None), size
            if key not in self._digests:
                self._digests[key] = self._digest(*key)
            return self._digests[key]
        content = tensor.raw_data or _raw_data(tensor)
        if len(content) <= _LARGEST_CONTENT:
            return content
        known, digest = self._contents.get(tensor.name, (b"", b""))
        if known != content:
            digest = hashlib.sha256(content).digest()
            if len(content) <= _LARGEST_HELD:
                self._contents[tensor.name] = content, digest
        return digest

    def _digest(self, reference: ExternalReference, size: int) -> bytes:
        """What stands for so many bytes of a file, as if they were in the model."""
        if not self._folder:
            raise ModelFileError(f"the folder of the external data {reference.location!r} is not known")
        sha, whole = hashlib.sha256(), b""
        try:
            with open(resolve_location(reference.location, Path(self._folder)), "rb") as file:
                file.seek(reference.offset)
                left = size
                while left:
                    chunk = file.read(min(left, _CHUNK))
                    if not chunk:
                        raise ModelFileError(f"external data {reference.location!r} ends before its tensors do")
                    sha.update(chunk)
                    left -= len(chunk)
                    whole = chunk
        except OSError as error:
            raise ModelFileError(f"external data {reference.location!r} cannot be read: {reason(error)}") from error
        return whole if size <= _LARGEST_CONTENT else sha.digest()


def _is_comparable(tensor: TensorProto) -> bool:
    """Whether a tensor can stay as it is: it holds strings, or a short content as raw data and nothing besides."""
    if tensor.data_type == TensorProto.STRING:
        return True
    if not 0 < len(tensor.raw_data) <= _LARGEST_CONTENT or tensor.HasField("data_location"):
        return False
    # Spelt out, as every tensor of both models is asked, and a loop takes four times as long.
    return not (
        tensor.external_data
        or tensor.float_data
        or tensor.int32_data
        or tensor.string_data
        or tensor.int64_data
        or tensor.double_data
        or tensor.uint64_data
    )


def _raw_data(tensor: TensorProto) -> bytes:
    try:
        return bytes(numpy_helper.from_array(numpy.ascontiguousarray(numpy_helper.to_array(tensor))).raw_data)
    except (ValueError, TypeError, KeyError, NotImplementedError):
        # No data that fits the shape and dtype: whatever it holds is all that can be compared.
        return bytes(tensor.SerializeToString(deterministic=True))


def clear_empty_strings(message: Message) -> None:
    """Let absent what is empty: the textual form does not tell them apart, and nor does ONNX."""
    _clear(message, list(_empty_strings(message)))


_Path = tuple[tuple[str, int | None], ...]
"""Where a field is: the fields around it and its own, each with the position where it is repeated."""


def _clear(message: Message, paths: Iterable[_Path]) -> None:
    for *around, (name, _) in paths:
        holder = message
        for field, position in around:
            value = getattr(holder, field)
            holder = value if position is None else value[position]
        holder.ClearField(name)


def _empty_strings(message: Message, path: _Path = ()) -> Iterator[_Path]:
    """Where a message has a string that is there and empty."""
    for field, value in message.ListFields():
        name = field.name
        if field.message_type is None:
            if value == "":
                yield (*path, (name, None))
        elif not is_repeated(field):
            yield from _empty_strings(value, (*path, (name, None)))
        else:
            contents: Iterable[bytes] = map(type(value[0]).SerializeToString, value)
            # What is empty has a length of 0, which is a byte of its own.
            if not isinstance(value[0], TensorProto):  # of which there may be more than should be held at once
                contents = list(contents)
                if b"\0" not in b"".join(contents):
                    continue
            for position, (one, content) in enumerate(zip(value, contents, strict=True)):
                if b"\0" in content and not (isinstance(one, TensorProto) and _zeros_are_data(one, content)):
                    yield from _empty_strings(one, (*path, (name, position)))


def _zeros_are_data(tensor: TensorProto, content: bytes) -> bool:
    """Whether all bytes of a serialized tensor that are 0 are those of its raw data."""
    return content.count(0) == tensor.raw_data.count(0)
