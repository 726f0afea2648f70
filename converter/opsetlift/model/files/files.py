"""One table of the files of a job: what it reads and what it writes, so that nothing is written over anything else."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto

from opsetlift.model.files.errors import FileExists, ModelFileError, reason
from opsetlift.model.files.external_data import external_locations, resolve_location
from opsetlift.model.files.neighbours import model_with_data, reads_as_document, reads_as_model

MODEL = "the model"
CERTIFICATE = "the certificate"
REPORT = "the report"
SUMMARY = "the summary"


@dataclass(frozen=True)
class Stamp:
    """What changes when a file is written to: its identity, size and time of change."""

    file: tuple[int, int]
    size: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """The stamp of a file with this status."""
        return cls((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class _Identity:
    """Which file a path leads to, or would: links, "..", other names of one file and other cases are seen through."""

    path: str
    stamp: Stamp | None

    @classmethod
    def of(cls, path: Path) -> _Identity:
        resolved = os.path.realpath(path)
        try:
            return cls(resolved, Stamp.of(os.stat(resolved)))
        except OSError:
            return cls(resolved, None)

    def is_same(self, other: _Identity) -> bool:
        if self.path == other.path:
            return True
        if self.stamp is not None and other.stamp is not None:
            return self.stamp.file == other.stamp.file
        # Of files that do not exist yet nobody knows whether their folder tells cases and compositions apart.
        return self.stamp is other.stamp and _folded(self.path) == _folded(other.path)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


@dataclass(frozen=True)
class _Entry:
    path: Path
    role: str
    identity: _Identity


class JobFiles:
    """The files of one job. `overwrite` allows to replace regular files that are named as targets, and no others."""

    def __init__(self, *, overwrite: bool = False) -> None:
        self.overwrite = overwrite
        self._sources: list[_Entry] = []
        self._targets: list[_Entry] = []

    def read(self, path: Path, role: str) -> None:
        """Note a file that is read. Raises ModelFileError where it is a target."""
        self._sources.append(self._checked(path, role))

    def _checked(self, path: Path, role: str) -> _Entry:
        try:
            entry = _Entry(path, role, _Identity.of(path))
        except (OSError, ValueError) as error:
            raise ModelFileError(f"{path}: the file cannot be read: {reason(error)}") from error
        if target := _find(self._targets, entry.identity):
            raise _collision(target, entry)
        return entry

    def read_data(self, model: ModelProto, folder: Path) -> None:
        """Note the external data of a model. Raises ModelFileError where a file of it is a target."""
        self._sources += self._data_entries(model, folder)

    def check_data(self, model: ModelProto, folder: Path) -> None:
        """Raises ModelFileError where a file of a model's external data is a target."""
        for _ in self._data_entries(model, folder):
            pass

    def _data_entries(self, model: ModelProto, folder: Path) -> Iterator[_Entry]:
        for location in external_locations(model):
            resolve_location(location, folder)  # an error where it leads out of the folder
            yield self._checked(folder / location, f"the external data {location!r} of the input")

    def write(self, path: Path, role: str) -> Path:
        """Note a file that is to be written; returns the file itself where the path is a link to it.

        Raises ModelFileError where it is a source or another target, where something is there that has to stay, or
        where nothing can be written. Asked again for the same target, it looks again.
        """
        try:
            resolved = _resolved_target(path)
            entry = _Entry(path, role, _Identity.of(resolved))
            others = [one for one in self._targets if (one.path, one.role) != (path, role)]
            if other := _find([*self._sources, *others], entry.identity):
                raise _collision(entry, other)
            self._check_replaceable(path, resolved, role)
            if not os.access(resolved.parent, os.W_OK | os.X_OK):
                number = _why_not_writable(resolved.parent)
                raise OSError(number, os.strerror(number))
        except (OSError, ValueError) as error:
            raise ModelFileError(f"{path}: cannot be written: {reason(error)}") from error
        self._targets = [*others, entry]
        return resolved

    def role_of(self, path: Path) -> str | None:
        """What a path was noted as a target for; None where it was not."""
        return next((one.role for one in self._targets if one.path == path), None)

    def is_free(self, path: Path) -> bool:
        """Whether a path is neither a source nor a target."""
        return _find([*self._sources, *self._targets], _Identity.of(path)) is None

    def take(self, path: Path) -> None:
        """Note a file that nobody named, and that is found to be free."""
        self._targets = [*self._targets, _Entry(path, "the external data of the model", _Identity.of(path))]

    def stamp(self, path: Path) -> Stamp | None:
        """How a source stood when it was noted, by the path that was noted; None for what is no source.

        The path may lead to another file since: a link may have taken its place.
        """
        return next((entry.identity.stamp for entry in self._sources if entry.path == path), None)

    def _check_replaceable(self, path: Path, resolved: Path, role: str) -> None:
        if not resolved.exists():
            return
        mode = resolved.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ModelFileError(f"{path}: this is a folder, not a file to write to")
        if not stat.S_ISREG(mode):
            raise ModelFileError(f"{path}: this is not a regular file, and OpsetLift replaces only those")
        if not self.overwrite:
            raise FileExists(path)
        if role != MODEL and reads_as_model(resolved):
            raise ModelFileError(f"{path}: this is a model; choose another file for {role}")
        if not reads_as_document(resolved) and (neighbour := model_with_data(resolved)):
            raise ModelFileError(f"{path}: this is external data of {neighbour.name!r}; name another file")


def _resolved_target(path: Path) -> Path:
    if not path.parent.is_dir():
        raise ModelFileError(f"{path}: the folder {path.parent} does not exist")
    if not path.is_symlink():
        return path
    resolved = Path(os.path.realpath(path))
    if not resolved.exists():
        raise ModelFileError(f"{path}: this is a link to a file that does not exist")
    return resolved


def _find(entries: Sequence[_Entry], identity: _Identity) -> _Entry | None:
    return next((entry for entry in entries if entry.identity.is_same(identity)), None)


def _collision(target: _Entry, other: _Entry) -> ModelFileError:
    return ModelFileError(f"{target.path}: this is {other.role}; choose another file for {target.role}")


def _why_not_writable(folder: Path) -> int:
    """The number of the error that writing to a folder would end in, where access to it is denied."""
    is_read_only = hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    return errno.EROFS if is_read_only else errno.EACCES
