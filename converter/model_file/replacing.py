"""Putting several files into place, all of them or none."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from types import TracebackType

from converter.model_file.errors import ModelFileError


class Replacement:
    """Files written under temporary names beside their targets; `commit` moves them, leaving without it drops them."""

    def __init__(self, *, overwrite: bool) -> None:
        self.overwrite = overwrite
        self._staged: list[tuple[Path, Path]] = []
        self._made_folders: list[Path] = []
        self._is_committed = False

    def __enter__(self) -> Replacement:
        return self

    def stage(self, target: Path) -> Path:
        """An empty file to write what is to become `target`. Raises ModelFileError where `target` has to stay."""
        if os.path.lexists(target) and not self.overwrite:
            raise ModelFileError(f"{target.name!r} exists already; --force (overwrite=True) replaces it")
        self._make_folder(target.parent)
        temporary = _temporary_name(target)
        temporary.touch(exist_ok=False)
        self._staged.append((temporary, target))
        return temporary

    def _make_folder(self, folder: Path) -> None:
        missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
        for parent in reversed(missing):
            parent.mkdir()
            self._made_folders.append(parent)

    def commit(self) -> list[Path]:
        """Move every file into place, the one staged last as the last; where one fails, put back what was there."""
        undo: list[tuple[Path | None, Path]] = []
        try:
            for temporary, target in self._staged:
                if os.path.lexists(target) and not self.overwrite:
                    raise ModelFileError(f"{target.name!r} exists already; --force (overwrite=True) replaces it")
                backup = self._backup(target)
                undo.append((backup, target))
                os.replace(temporary, target)
        except BaseException:
            for backup, target in reversed(undo):
                if backup is not None:
                    os.replace(backup, target)
                    backup.unlink(missing_ok=True)  # both may still be names of one file, which a move leaves alone
                else:
                    target.unlink(missing_ok=True)
            raise
        self._is_committed = True
        for backup, _ in undo:
            if backup is not None:
                backup.unlink()
        return [target for _, target in reversed(self._staged)]

    @staticmethod
    def _backup(target: Path) -> Path | None:
        """A second name for what is at `target`, so that it never goes missing."""
        if not os.path.lexists(target):
            return None
        backup = _temporary_name(target)
        try:
            os.link(target, backup, follow_symlinks=False)
        except OSError:
            os.replace(target, backup)  # a file system without links
        return backup

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_committed:
            return
        for temporary, _ in self._staged:
            temporary.unlink(missing_ok=True)
        for folder in reversed(self._made_folders):
            with contextlib.suppress(OSError):
                folder.rmdir()


def _temporary_name(target: Path) -> Path:
    return target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
