"""External data on its way to the folder of a new model: under names that nothing has, never shared with others."""

from __future__ import annotations

import errno
import filecmp
import itertools
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from onnx import ModelProto, TensorProto

from opsetlift.model.files.errors import ModelFileError
from opsetlift.model.files.external_data import external_locations, external_reference, resolve_location
from opsetlift.model.files.files import JobFiles, Stamp
from opsetlift.model.files.loading import form_of, parse_model
from opsetlift.model.files.neighbours import mentioned
from opsetlift.model.files.replacing import Replacement
from opsetlift.model.files.temporary import Temporary, is_temporary, remove_leftovers
from opsetlift.model.files.tensors import all_tensors, is_external, stored_bytes

_BLOCK = 2**23
_LONGEST_STEM = 150
"""Bytes; most file systems take names of 255."""


class Names:
    """Names for the data of one model, beside the model."""

    def __init__(self, target: Path, files: JobFiles) -> None:
        self._target = target
        self._files = files
        self.used: set[Path] = set()
        self.new: list[Path] = []
        """Those of them that were not there before."""

    def find(self, wanted: str, content: Path) -> tuple[str, bool]:
        """The first location that is free for some content, and whether the content is there already."""
        for location in itertools.chain([wanted] if _may_be_kept(wanted) else [], _own_locations(self._target)):
            path = self._target.parent / location
            if not self._is_ours(location, path):
                continue
            if not os.path.lexists(path):
                self.new.append(path)
                return self._take(location, path), False
            if self._holds(path, content):
                return self._take(location, path), True
        raise AssertionError("there are names without end")

    def _take(self, location: str, path: Path) -> str:
        self.used.add(path)
        self._files.take(path)
        return location

    def _is_ours(self, location: str, path: Path) -> bool:
        """Whether a place is below the model's folder, not behind a link, and neither read nor written otherwise."""
        parts = PurePosixPath(location).parts
        folders = [self._target.parent.joinpath(*parts[:depth]) for depth in range(1, len(parts))]
        if any(os.path.lexists(one) and not stat.S_ISDIR(one.lstat().st_mode) for one in folders):
            return False
        return all(map(self._files.is_free, [*folders, path]))

    def _holds(self, path: Path, content: Path) -> bool:
        """Whether a file holds this already, and no other model can refer to it."""
        remove_leftovers(path.parent)  # of a process that was killed when the file had just got its name
        if not stat.S_ISREG(path.lstat().st_mode) or path.stat().st_size != content.stat().st_size:
            return False
        if not path.samefile(content) and not filecmp.cmp(path, content, shallow=False):
            return False
        return not mentioned([path.name], path.parent, apart_from=self._target)


def _may_be_kept(location: str) -> bool:
    """Whether a name of data is none that onnx reads no data of, or that temporary files have."""
    return ".." not in location and not is_temporary(PurePosixPath(location).name)


def stem_of(target: Path) -> str:
    """The name of a model file as names of its data begin with it.

    A model can only refer to text, and onnx reads no data of a name with two dots in a row.
    """
    name = re.sub(r"\.\.+", ".", target.name).encode(errors="surrogateescape")[:_LONGEST_STEM]
    is_text = len(name) == _LONGEST_STEM or _is_text(name)
    return (name.decode(errors="ignore").rstrip(".") if is_text else "") or "model"


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def _own_locations(target: Path) -> Iterator[str]:
    return (f"{stem_of(target)}.opsetlift-{number}.data" for number in itertools.count(1))


def copy_data(
    tensors: Iterable[TensorProto],
    source_dir: Path,
    target: Path,
    names: Names,
    files: JobFiles,
    replacement: Replacement,
) -> dict[str, str]:
    """Have copies of tensors' external data put beside the target; returns the locations that are others there."""
    needed: dict[str, int] = {}
    for tensor in tensors:
        reference = external_reference(tensor)
        end = reference.offset + (stored_bytes(tensor) or 0)
        needed[reference.location] = max(end, needed.get(reference.location, 0))
    found: dict[Path, list[str]] = {}
    for location in sorted(needed):
        found.setdefault(resolve_location(location, source_dir), []).append(location)
    changed: dict[str, str] = {}
    for source, locations in found.items():
        location, is_there = names.find(locations[0], source)
        stamps = [files.stamp(source_dir / one) for one in locations]
        for stamp in stamps:
            _check_data(source, max(needed[one] for one in locations), stamp)
        if not is_there:
            path = target.parent / location
            temporary = replacement.temporary(path.parent)
            _copy(source, temporary, stamps[0])
            replacement.put(temporary, path)
        changed |= {one: location for one in locations if one != location}
    return changed


def check_unchanged(path: Path, described: str, stamp: Stamp | None) -> None:
    """Raises ModelFileError where a file is not what it was when the model was read."""
    if stamp is not None and Stamp.of(path.stat()) != stamp:
        raise ModelFileError(f"{described} {path.name!r} has changed since the model was read")


def _check_data(source: Path, needed: int, stamp: Stamp | None) -> None:
    check_unchanged(source, "the external data", stamp)
    status = source.stat()
    if status.st_size < needed:
        raise ModelFileError(f"the external data {source.name!r} has {status.st_size} bytes, the model needs {needed}")


def _copy(source: Path, temporary: Temporary, stamp: Stamp | None) -> None:
    with source.open("rb") as file:
        before = Stamp.of(os.fstat(file.fileno()))
        for start, end in _ranges(file.fileno(), before.size):
            file.seek(start)
            temporary.file.seek(start)
            while block := file.read(min(_BLOCK, end - file.tell())):
                temporary.file.write(block)
        temporary.file.truncate(before.size)
        after = Stamp.of(os.fstat(file.fileno()))
    if before != after or stamp not in (None, after):
        raise ModelFileError(f"the external data {source.name!r} changed while it was copied")


def _ranges(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a file holds something: a sparse one stays sparse."""
    position = 0
    while position < size:
        try:
            start = os.lseek(file, position, os.SEEK_DATA)
            end = os.lseek(file, start, os.SEEK_HOLE)
        except (AttributeError, OSError) as error:
            if getattr(error, "errno", None) != errno.ENXIO:
                yield position, size
            return
        yield start, min(end, size)
        position = end


def old_data(target: Path) -> set[Path]:
    """The data that is named for the model at `target` by `Names`, and that this model refers to."""
    own = re.compile(re.escape(stem_of(target)) + r"\.opsetlift-[0-9]+\.data")
    try:
        if not any(map(own.fullmatch, os.listdir(target.parent))):
            return set()
        locations = external_locations(parse_model(target.read_bytes(), form_of(target)))
    except (ModelFileError, OSError, MemoryError):
        return set()
    return {target.parent / location for location in locations if own.fullmatch(location)}


def unused(paths: set[Path], target: Path) -> set[Path]:
    """Those of the files in the target's folder that no other model can refer to."""
    regular = {path for path in paths if os.path.lexists(path) and stat.S_ISREG(path.lstat().st_mode)}
    taken = mentioned({path.name for path in regular}, target.parent, apart_from=target)
    return {path for path in regular if path.name not in taken}


def with_locations(model: ModelProto, changed: Mapping[str, str]) -> ModelProto:
    """The model, or a copy that refers to its external data at other locations."""
    if not changed:
        return model
    copied = ModelProto()
    copied.CopyFrom(model)
    for tensor in filter(is_external, all_tensors(copied)):
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = changed.get(entry.value, entry.value)
    return copied
