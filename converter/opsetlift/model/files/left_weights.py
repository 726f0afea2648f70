"""Weights that stay in the file that a model was read from, until the result is written.

Meanwhile they refer to that file as if it were external data, so that whoever needs one reads its range, and nobody
holds them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from onnx import ModelProto, TensorProto

from opsetlift.model.files.copying import copy_with_tensors
from opsetlift.model.files.errors import ModelFileError
from opsetlift.model.files.external_data import ExternalData, external_reference, resolve_location
from opsetlift.model.files.tensors import all_tensors, is_external, stored_bytes

_BLOCK = 1 << 23


class FileRange(NamedTuple):
    """Some bytes of a file."""

    path: Path
    start: int
    size: int

    def blocks(self) -> Iterator[bytes]:
        """The bytes, some at a time. Raises ModelFileError where the file ends before, or is none any more."""
        if not self.path.is_file():  # reading what took its place may never end
            raise ModelFileError(f"{self.path.name!r} is not a regular file any more")
        with self.path.open("rb") as file:
            file.seek(self.start)
            left = self.size
            while left:
                block = file.read(min(left, _BLOCK))
                if not block:
                    raise ModelFileError(f"{self.path.name!r} ends before its weights do")
                left -= len(block)
                yield block


def leave(tensor: TensorProto, location: str, start: int, size: int) -> None:
    """Let a tensor without data refer to its bytes in the model's own file."""
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", str(start)), ("length", str(size))):
        tensor.external_data.add(key=key, value=value)


def can_refer_to(path: Path) -> bool:
    """Whether tensors can refer to this file, in its own folder."""
    try:
        path.name.encode()
        ExternalData(path.parent).size(path.name)
    except (UnicodeEncodeError, ModelFileError):
        return False
    return True


def refers_to(model: ModelProto, path: Path) -> bool:
    """Whether a model says itself that data of its tensors lies in the file at `path`."""
    for tensor in filter(is_external, all_tensors(model)):
        try:
            if resolve_location(external_reference(tensor).location, path.parent).samefile(path):
                return True
        except (ModelFileError, OSError):
            continue
    return False


@dataclass(frozen=True)
class LeftWeights:
    """Those that were left in `source`; none where that is None."""

    source: Path | None

    def holds(self, tensor: TensorProto) -> bool:
        """Whether the data of a tensor was left in the file."""
        if self.source is None or not is_external(tensor):
            return False
        return any(entry.key == "location" and entry.value == self.source.name for entry in tensor.external_data)

    def range_of(self, tensor: TensorProto) -> FileRange:
        """Where the data of a tensor that was left is."""
        assert self.source is not None
        return FileRange(self.source, external_reference(tensor).offset, stored_bytes(tensor) or 0)

    def is_elsewhere(self, model: ModelProto) -> bool:
        """Whether the data of a tensor was left that is no initializer of the graph any more."""
        if self.source is None:
            return False
        return sum(map(self.holds, model.graph.initializer)) < sum(map(self.holds, all_tensors(model)))

    def filled(self, model: ModelProto) -> ModelProto:
        """The model, or a copy whose tensors hold the data that was left. Raises ModelFileError."""
        if self.source is None or not any(map(self.holds, all_tensors(model))):
            return model

        def fill(tensor: TensorProto, target: TensorProto) -> None:
            target.raw_data = b"".join(self.range_of(tensor).blocks())

        return copy_with_tensors(model, lambda tensor: not self.holds(tensor), fill)


NO_WEIGHTS_LEFT = LeftWeights(None)
