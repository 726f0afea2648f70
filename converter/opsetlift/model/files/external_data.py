"""External data: where a tensor says its bytes lie, and whether they really lie there, inside the model's folder."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from onnx import ModelProto, TensorProto

from opsetlift.model.files.errors import ModelFileError, reason
from opsetlift.model.files.tensors import all_tensors, is_external, stored_bytes


@dataclass(frozen=True)
class ExternalReference:
    """Where a tensor's bytes lie: a file, relative to the model's folder, and a range in it."""

    location: str
    offset: int
    length: int | None


def external_reference(tensor: TensorProto) -> ExternalReference:
    """What a tensor says of its external data. Raises ModelFileError where that makes no sense."""
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if entry.key in entries:
            raise ModelFileError(f"the external data of tensor {tensor.name!r} states its {entry.key} twice")
        entries[entry.key] = entry.value
    location = entries.get("location", "")
    if not location:
        raise ModelFileError(f"the external data of tensor {tensor.name!r} names no file")
    return ExternalReference(
        location,
        _number(tensor, "offset", entries.get("offset", "0")),
        _number(tensor, "length", entries["length"]) if "length" in entries else None,
    )


def external_locations(model: ModelProto) -> list[str]:
    """The locations of all external data of a model, sorted. Raises ModelFileError where a tensor names none."""
    return sorted({external_reference(tensor).location for tensor in all_tensors(model) if is_external(tensor)})


def _number(tensor: TensorProto, key: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        raise ModelFileError(f"the external data of tensor {tensor.name!r} has an impossible {key}: {text[:40]!r}")
    return int(text)


def resolve_location(location: str, folder: Path) -> Path:
    """The file that a location names, symbolic links followed. Raises ModelFileError where it is not in the folder."""
    described = f"external data {location!r}"
    if PurePosixPath(location).is_absolute() or PureWindowsPath(location).is_absolute():
        raise ModelFileError(f"{described} is an absolute path, and only the model's own folder is read")
    if "\0" in location or ".." in PurePosixPath(location).parts:
        raise ModelFileError(f"{described} is not a plain path below the model's folder")
    try:
        found = (folder / location).resolve(strict=True)
        if not found.is_relative_to(folder.resolve()):
            raise ModelFileError(f"{described} is a link that leads out of the model's folder")
        if not stat.S_ISREG(found.stat().st_mode):
            raise ModelFileError(f"{described} is not a regular file")
    except FileNotFoundError as error:
        raise ModelFileError(f"{described} does not exist in the model's folder") from error
    except (OSError, RuntimeError) as error:
        raise ModelFileError(f"{described} cannot be read: {reason(error)}") from error
    return found


class ExternalData:
    """The external data of one model's folder; looks at each file once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sizes: dict[str, int] = {}

    def size(self, location: str) -> int:
        """The bytes in the file at a location. Raises ModelFileError where it is not to be read."""
        if location not in self._sizes:
            self._sizes[location] = os.stat(resolve_location(location, self.folder)).st_size
        return self._sizes[location]

    def check(self, tensor: TensorProto) -> None:
        """Raises ModelFileError unless the bytes of an external tensor lie, complete, in a file of the folder."""
        reference = external_reference(tensor)
        expected = stored_bytes(tensor)
        if expected is None:
            raise ModelFileError(f"tensor {tensor.name!r} holds strings, which cannot be external data")
        if tensor.HasField("raw_data") and tensor.raw_data:
            raise ModelFileError(f"tensor {tensor.name!r} holds its data in the model and in {reference.location!r}")
        available = self.size(reference.location)
        if reference.length is not None and reference.length != expected:
            raise ModelFileError(
                f"the external data of tensor {tensor.name!r} has {reference.length} bytes, its shape takes {expected}"
            )
        if reference.offset + expected > available:
            raise ModelFileError(
                f"the external data of tensor {tensor.name!r} ends at byte {reference.offset + expected} of "
                f"{reference.location!r}, which has {available}"
            )

    def read(self, tensor: TensorProto, most: int | None = None) -> bytes:
        """The bytes of an external tensor, or the first of them. Raises ModelFileError where `check` does."""
        self.check(tensor)
        reference = external_reference(tensor)
        size = stored_bytes(tensor) or 0
        size = size if most is None else min(size, most)
        try:
            with open(resolve_location(reference.location, self.folder), "rb") as file:
                file.seek(reference.offset)
                content = file.read(size)
        except OSError as error:
            raise ModelFileError(f"external data {reference.location!r} cannot be read: {reason(error)}") from error
        if len(content) != size:
            raise ModelFileError(f"external data {reference.location!r} was truncated while it was read")
        return content

    def is_same(self, tensor: TensorProto, other_data: ExternalData, other: TensorProto) -> bool:
        """Whether two external tensors of one size hold the same bytes. Raises ModelFileError."""
        places = [(self, external_reference(tensor)), (other_data, external_reference(other))]
        files = [resolve_location(reference.location, data.folder) for data, reference in places]
        if files[0] == files[1] and places[0][1].offset == places[1][1].offset:
            return True
        return self.read(tensor) == other_data.read(other)


def with_data(tensor: TensorProto, folder: str | os.PathLike[str]) -> TensorProto:
    """A tensor, or where its data is external a copy that has it. Raises ModelFileError where it cannot be read.

    Unlike onnx's own reader, this takes links that stay in the folder, as loading and onnxruntime do.
    """
    if not is_external(tensor):
        return tensor
    content = ExternalData(Path(folder)).read(tensor)
    return TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=content)
