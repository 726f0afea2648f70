"""Temporary files that the next run removes if their process is gone, and only then."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO

from opsetlift.model.files.errors import ModelFileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_MARK = ".opsetlift-"

_LONGEST_WAIT = 60.0
"""Seconds."""

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
"""Seconds between two attempts. Small models are written within milliseconds, and many processes may do so at once."""


class Temporary:
    """A file under a temporary name, locked as long as its process lives."""

    def __init__(self, folder: Path) -> None:
        while True:
            self.path = _temporary_path(folder)
            self.file: BinaryIO = self.path.open("x+b")
            _try_to_lock(self.file)
            status = os.fstat(self.file.fileno())
            if status.st_nlink:
                break
            self.file.close()  # another process took it for a leftover before it was locked
        self._identity = (status.st_dev, status.st_ino)

    @classmethod
    def second_name(cls, path: Path) -> Temporary:
        """A second name for an existing file, under which it can come back."""
        made = cls.__new__(cls)
        made.path = _temporary_path(path.parent)
        made.file = path.open("rb")
        _try_to_lock(made.file, wait=False)
        status = os.fstat(made.file.fileno())
        made._identity = (status.st_dev, status.st_ino)
        try:
            os.link(path, made.path)
        except OSError:
            shutil.copyfile(path, made.path)  # a file system without links
        return made

    def sync(self) -> None:
        """Have everything written before the file gets its name."""
        if self.file.closed:
            return
        self.file.flush()
        os.fsync(self.file.fileno())
        if fcntl is None:
            self.file.close()  # Windows does not rename open files

    def is_at(self, path: Path) -> bool:
        """Whether a path is a name of this very file."""
        try:
            found = path.lstat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    def remove(self) -> None:
        """Remove the temporary name; the file stays where it has another one."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.file.close()


def is_temporary(name: str) -> bool:
    """Whether a name begins as those of temporary files do."""
    return name.startswith(_MARK)


def _temporary_path(folder: Path) -> Path:
    return folder / f"{_MARK}{_machine()}-{os.getpid()}-{secrets.token_hex(6)}.tmp"


def _try_to_lock(file: BinaryIO, *, wait: bool = True) -> None:
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks, where nobody removes leftovers either
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of processes of this machine that are gone: nobody holds their locks."""
    if fcntl is None:
        return
    pattern = re.compile(rf"{re.escape(_MARK)}{_machine()}-\d+-[0-9a-f]{{12}}\.tmp")
    with contextlib.suppress(OSError):
        for name in filter(pattern.fullmatch, os.listdir(folder)):
            with contextlib.suppress(OSError):
                _remove_unless_locked(folder / name)


def _remove_unless_locked(path: Path) -> None:
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(handle)


@cache
def _machine() -> str:
    """Locks are seen on the machine that holds them; on others that share the folder they may not be."""
    identity = [socket.gethostname()]
    with contextlib.suppress(OSError):
        identity.append(Path("/etc/machine-id").read_text(encoding="ascii", errors="replace"))
    return hashlib.sha256("\n".join(identity).encode(errors="replace")).hexdigest()[:8]


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Keep other processes of ours from writing into a folder meanwhile. Raises ModelFileError where one takes long."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    end, pause = time.monotonic() + _LONGEST_WAIT, _SHORTEST_PAUSE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > end:
                raise ModelFileError(f"another process is writing to the folder {folder}; try again later") from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        except OSError:
            return  # a file system without locks
        else:
            return
