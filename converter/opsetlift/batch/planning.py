"""Which files of a folder or a glob become which, so that no output replaces an input or another output."""

from __future__ import annotations

import glob
import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opsetlift.batch.task import Ending, Result, Task
from opsetlift.support.errors import OpsetLiftError

SUFFIX = ".onnx"
"""Of the models of a folder. A glob names files of other forms."""

CERTIFICATE_SUFFIX = ".certificate.json"


class NoModels(OpsetLiftError):
    """There is nothing to convert, or no folder to write to."""


def is_batch(source: Path) -> bool:
    """Whether a path means several models: it is a folder, or a glob that no file has for its name."""
    return os.path.isdir(source) or (glob.has_magic(str(source)) and not os.path.exists(source))


def models_of(pattern: str) -> list[Path]:
    """The files that a path means: itself, the models of a folder, or those that match a glob; in order."""
    path = Path(pattern)
    if path.is_dir():
        return sorted(one for one in path.rglob(f"*{SUFFIX}") if not one.is_dir())
    return sorted(one for one in _matching(path) if not one.is_dir())


def _matching(path: Path) -> list[Path]:
    """The file itself, or what matches a glob, each folder passed through once: links may lead back into one."""
    if os.path.exists(path):
        return [path]
    found = []
    for one in map(Path, glob.iglob(str(path), recursive=True)):
        folders = [os.path.realpath(folder) for folder in one.parents]
        if len(set(folders)) == len(folders):
            found.append(one)
    return found


def inputs(source: Path, folder: Path) -> list[Path]:
    """The models of a folder or a glob whose outputs go to `folder`."""
    return _models(source, folder)[1]


def planned(
    source: Path,
    folder: Path,
    options: Mapping[str, Any],
    *,
    overwrite: bool = False,
    skip_existing: bool = False,
    certificates: Path | None = None,
) -> tuple[list[Task], list[Result]]:
    """The models to convert, and those that need no work.

    Args:
        source: A folder, all of whose models in all its folders are meant, a glob, or a single model.
        folder: Where outputs go, in the same tree as the inputs. Models in it are no inputs.
        options: Arguments of `Options.of`.
        overwrite: Whether existing outputs are replaced.
        skip_existing: Whether models that have an output are left out.
        certificates: Where certificates go, in the same tree, each called as its model with ".certificate.json".

    Raises:
        NoModels: There are none, or `folder` is no folder.
    """
    for one, what in ((folder, "models"), (certificates, "certificates")):
        if one is not None and os.path.exists(one) and not os.path.isdir(one):
            raise NoModels(f"{one}: this is a file, but several {what} need a folder to go to")
    base, found = _models(source, folder)
    if not found:
        raise NoModels(f"{source}: {_why_none(source)}")
    sources = {_folded(path) for path in found}
    identities = {identity for path in found if (identity := _identity(path)) is not None}
    tasks: list[Task] = []
    results: list[Result] = []
    taken: dict[str, Path] = {}
    for path in found:
        target = folder / path.relative_to(base)
        certificate = None
        if certificates is not None:
            certificate = certificates / path.relative_to(base).with_name(f"{path.name}{CERTIFICATE_SUFFIX}")
        fault = ""
        first = taken.setdefault(_folded(target), path)
        if _folded(target) in sources or _identity(target) in identities:
            fault = "its output would replace a model of the batch"
        elif certificate is not None and (_folded(certificate) in sources or _identity(certificate) in identities):
            fault = "its certificate would replace a model of the batch"
        elif certificate is not None and taken.setdefault(_folded(certificate), path) is not path:
            fault = "its certificate would have the name of an output"
        elif first is not path:
            fault = f"its output would have the name of that of {first}"
        elif os.path.exists(target) and skip_existing:
            results.append(Result(path, target, Ending.SKIPPED))
            continue
        elif os.path.exists(target) and not overwrite:
            fault = "its output already exists; --force replaces it, and --skip-existing leaves it"
        if fault:
            results.append(Result(path, target, Ending.UNUSABLE, f"{path}: {fault}", fault))
        else:
            tasks.append(Task(path, target, options, overwrite, certificate, skip_existing))
    return tasks, results


def _models(source: Path, folder: Path) -> tuple[Path, list[Path]]:
    """The folder that outputs are relative to, and the files."""
    if os.path.isdir(source):
        base, found = source, list(source.rglob(f"*{SUFFIX}"))
    else:
        parts = source.parts
        # A pattern's folder is what stands before its first special part; that of a single file is the one it lies in.
        plain = next((number for number, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
        base = Path(*parts[:plain])
        found = _matching(source)
    outputs = os.path.realpath(folder)
    # Earlier outputs are no inputs; where the inputs' folder is in that of the outputs, all would be left out.
    is_within = os.path.realpath(base) == outputs or _is_in(base, outputs)
    return base, sorted(path for path in found if not path.is_dir() and (is_within or not _is_in(path, outputs)))


def _why_none(source: Path) -> str:
    if glob.has_magic(str(source)):
        return "no file matches"
    return f"this is a folder without {SUFFIX} files" if os.path.isdir(source) else "no such file or folder"


def _is_in(path: Path, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.join(folder, ""))


def _folded(path: Path) -> str:
    """The path that a file has, in which cases and compositions of letters make no difference."""
    return unicodedata.normalize("NFC", os.path.realpath(path)).casefold()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
