"""Verdicts on distinct sites, kept across runs in a folder of the user's.

An entry is found by a key of everything that the verdict follows from: the site, its test inputs, the seed, the sources
of OpsetLift, the operator definitions, and the versions of what executes them. Only "equal" is kept; whatever else was
found is proven again each time.

Trust: whoever can write to the folder can make a wrong rewrite pass for a proven one. So a folder or an entry that is
another user's, or that others may write to, is not used. Each entry holds its key and a digest of its content: a
damaged entry, or one under another name, is not used either. That is no defence against somebody with the rights of
the user, who could replace OpsetLift itself. `verify` uses no cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import stat
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import onnx

from opsetlift.proof.diversity import Diversity, InputDiversity
from opsetlift.proof.json_records import parsed, record, value
from opsetlift.specification.history import definitions_sha256

ENVIRONMENT_VARIABLE = "OPSETLIFT_CACHE"

_VERSION = 1
"""Of the form of entries."""

_MOST_IN_A_FOLDER = 64
"""Entries are in 256 folders. In a folder that has more, the older half is removed."""

_LARGEST = 1 << 14
"""Bytes of an entry. A larger one is neither written nor read."""

_IS_POSIX = os.name == "posix"
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class KnownVerdict:
    """That both sides of a site are equal, and how that was found."""

    cases: int
    rejected: int
    worst_ulps: float
    diversity: Diversity


class VerdictCache:
    """The verdicts in one folder. Faults of the folder and of its entries are no errors: then nothing is known.

    Args:
        folder: Made when the first verdict is kept, for its user alone.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._is_usable: bool | None = None

    def find(self, key: str, names: Sequence[str]) -> KnownVerdict | None:
        """The verdict of a site; None where it is not known.

        Args:
            key: Of `verdict_key`.
            names: The inputs of the site, in order.
        """
        if not self._may_use():
            return None
        try:
            content = _own_content(self._path(key))
            return None if content is None else _verdict(content, key, names)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            return None

    def keep(self, key: str, names: Sequence[str], found: KnownVerdict) -> None:
        """Keep the verdict of a site; with `names` as in `find`."""
        numbers = {name: number for number, name in enumerate(names)}
        inputs = [{**asdict(one), "name": str(numbers.get(one.name, ""))} for one in found.diversity.inputs]
        if any(not one["name"] for one in inputs):
            return
        verdict = {**asdict(found), "diversity": {**asdict(found.diversity), "inputs": inputs}}
        content = json.dumps({"version": _VERSION, "key": key, "verdict": verdict, "digest": _digest(key, verdict)})
        if len(content) > _LARGEST or not self._may_use(makes_folder=True):
            return
        with suppress(OSError):
            self._write(self._path(key), content)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}.json"

    def _may_use(self, *, makes_folder: bool = False) -> bool:
        """Whether the folder is this user's and nobody else may write to it."""
        if self._is_usable is None or (makes_folder and not self._is_usable):
            try:
                if makes_folder:
                    self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._is_usable = _is_own(os.lstat(self._folder), stat.S_ISDIR)
            except OSError:
                self._is_usable = False
        return self._is_usable

    def _write(self, path: Path, content: str) -> None:
        """Write an entry under another name first, so that no other process reads a part of it."""
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(content)
            os.replace(temporary, path)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _remove_older_half(path.parent)


def default_folder() -> Path | None:
    """The folder for verdicts: `OPSETLIFT_CACHE`, or one of the user for caches; None where it is turned off."""
    given = os.environ.get(ENVIRONMENT_VARIABLE)
    if given is not None:
        return Path(given) if os.path.isabs(given) else None
    base = _user_cache_folder()
    return base / "opsetlift" / "verdicts" if base is not None else None


def _user_cache_folder() -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return Path(local) if os.path.isabs(local) else home / "AppData" / "Local"
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else home / ".cache"


def verdict_key(*parts: object) -> str:
    """The key of a verdict, from all that is particular to it; the tools that it follows from are added.

    Args:
        parts: Tuples, numbers, strings and bytes: equal ones have equal representations.
    """
    return hashlib.sha256(repr((_tools(), parts)).encode()).hexdigest()


@cache
def _tools() -> tuple[str, ...]:
    """What executes sites, and compares them: versions, sources and definitions."""
    versions = onnx.__version__, numpy.__version__, ml_dtypes.__version__, sys.version
    return (*versions, sys.platform, platform.machine(), _sources_sha256(), definitions_sha256())


def _sources_sha256() -> str:
    """The digest of the sources of this package: its evaluator, its proof, and what they import."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _is_own(found: os.stat_result, is_kind: Any) -> bool:
    if not is_kind(found.st_mode):
        return False
    return not _IS_POSIX or (found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE)


def _own_content(path: Path) -> bytes | None:
    """The content of an entry; None where it is not this user's own file."""
    if not _is_own(os.lstat(path.parent), stat.S_ISDIR):
        return None
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        return file.read(_LARGEST) if _is_own(found, stat.S_ISREG) and found.st_size <= _LARGEST else None


def _verdict(content: bytes, key: str, names: Sequence[str]) -> KnownVerdict | None:
    entry = parsed(content.decode("ascii"))
    if entry["version"] != _VERSION or entry["key"] != key:
        return None
    if entry["digest"] != _digest(key, entry["verdict"]):
        return None
    given = entry["verdict"]
    inputs = [record(InputDiversity, one) for one in given["diversity"]["inputs"]]
    inputs = [replace(one, name=names[int(one.name)]) for one in inputs]
    kinds = {"outputs_vary": bool, "may_be_constant": bool, "not_run": str}
    diversity = Diversity(inputs, **{name: value(kind, given["diversity"][name]) for name, kind in kinds.items()})
    if diversity.missing:
        return None
    return KnownVerdict(
        value(int, given["cases"]),
        value(int, given["rejected"]),
        value(float, given["worst_ulps"]),
        diversity,
    )


def _digest(key: str, verdict: object) -> str:
    return hashlib.sha256(f"{key}\0{json.dumps(verdict, sort_keys=True)}".encode()).hexdigest()


_NAME_OF_ENTRY = re.compile(r"[0-9a-f]{62}\.json")


def _remove_older_half(folder: Path) -> None:
    """Of the entries alone: what else is in the folder is somebody else's."""
    with os.scandir(folder) as entries:
        own = [one for one in entries if _NAME_OF_ENTRY.fullmatch(one.name)]
        found = [(one.stat(follow_symlinks=False).st_mtime_ns, one.path) for one in own]
    if len(found) > _MOST_IN_A_FOLDER:
        for _, path in sorted(found)[: len(found) // 2]:
            with suppress(OSError):
                os.unlink(path)
