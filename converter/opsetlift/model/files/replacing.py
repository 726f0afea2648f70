"""Putting several files into place: one rename switches from the old files to the new ones."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from opsetlift.model.files.errors import ModelFileError
from opsetlift.model.files.temporary import Temporary, remove_leftovers


class Replacement:
    """Files that are written under temporary names; `commit` gives them theirs, leaving without it drops them.

    What is put under a new name becomes visible first, and nobody refers to it yet; then what is replaced, the model
    as the last: its one rename switches to the new files. A process that is killed before leaves the old ones.
    """

    def __init__(self) -> None:
        self._temporaries: list[Temporary] = []
        self._new: list[tuple[Temporary, Path]] = []
        self._replaced: list[tuple[Temporary, Path, bool]] = []
        self._made_folders: list[Path] = []
        self._cleaned: set[Path] = set()
        self._is_committed = False

    def __enter__(self) -> Replacement:
        return self

    def temporary(self, folder: Path) -> Temporary:
        """A file to write to, in a folder that is made if it is not there."""
        self._make_folder(folder)
        if folder not in self._cleaned:
            remove_leftovers(folder)
            self._cleaned.add(folder)
        self._temporaries.append(Temporary(folder))
        return self._temporaries[-1]

    def drop(self, temporary: Temporary) -> None:
        """Do without a file after all."""
        self._temporaries.remove(temporary)
        temporary.remove()

    def put(self, temporary: Temporary, target: Path) -> None:
        """Let a file have a new name, which nothing may have."""
        temporary.sync()
        self._new.append((temporary, target))

    def replace(self, temporary: Temporary, target: Path, *, overwrite: bool) -> None:
        """Let a file take the place of another one. The model comes last."""
        temporary.sync()
        self._replaced.append((temporary, target, overwrite))

    def _make_folder(self, folder: Path) -> None:
        missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
        for parent in reversed(missing):
            parent.mkdir()
            self._made_folders.append(parent)

    def commit(self, *, obsolete: Iterable[Path] = ()) -> None:
        """Put every file into place, or none; then remove files that nothing refers to any more."""
        backups: list[tuple[Path, Temporary]] = []
        try:
            for temporary, target in self._new:
                _put(temporary, target)
            for folder in {target.parent for _, target in self._new}:
                _sync_folder(folder)
            for temporary, target, overwrite in self._replaced:
                if overwrite and os.path.lexists(target):
                    if (temporary, target, overwrite) != self._replaced[-1]:
                        self._temporaries.append(Temporary.second_name(target))
                        backups.append((target, self._temporaries[-1]))
                    _replace(temporary, target)
                else:
                    _put(temporary, target)
            self._is_committed = True
        except BaseException:
            model, path, _ = self._replaced[-1]
            self._is_committed = model.is_at(path)  # an interruption may come right after the rename
            if not self._is_committed:
                self._undo(backups)
            raise
        for folder in {target.parent for _, target, _ in self._replaced}:
            _sync_folder(folder)
        for path in obsolete:
            with contextlib.suppress(OSError):
                path.unlink()

    def _undo(self, backups: Iterable[tuple[Path, Temporary]]) -> None:
        for target, backup in backups:
            os.replace(backup.path, target)
        restored = {target for target, _ in backups}
        for temporary, target in (*self._new, *((one, path) for one, path, _ in self._replaced)):
            if target not in restored and temporary.is_at(target):
                with contextlib.suppress(OSError):
                    target.unlink()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for temporary in self._temporaries:
            temporary.remove()
        if not self._is_committed:
            for folder in reversed(self._made_folders):
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _replace(temporary: Temporary, target: Path) -> None:
    if not stat.S_ISREG(target.lstat().st_mode):
        raise ModelFileError(f"{target.name!r} is not a regular file any more")
    os.replace(temporary.path, target)


def _put(temporary: Temporary, target: Path) -> None:
    """Give a file a name that nothing has, and no other: onnx reads no data that has two."""
    try:
        os.link(temporary.path, target)
    except FileExistsError as error:
        raise ModelFileError(f"{target.name!r} exists already") from error
    except OSError:
        _put_without_links(temporary, target)
    else:
        os.unlink(temporary.path)


def _put_without_links(temporary: Temporary, target: Path) -> None:
    """On a file system that has none: an empty file of the name keeps others away, and is replaced."""
    with open(target, "xb"):
        pass
    try:
        os.replace(temporary.path, target)
    except BaseException:
        target.unlink()
        raise


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
