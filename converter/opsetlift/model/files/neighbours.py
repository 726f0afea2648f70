"""What other model files refer to: data that any of them could refer to is never replaced, reused or removed."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from opsetlift.model.files.errors import ModelFileError
from opsetlift.model.files.external_data import external_locations
from opsetlift.model.files.loading import form_of, parse_model

_CHUNK = 2**22
_LONGEST_NAME = 2**13
_GRAPH = 7
"""The number of the field in ModelProto."""


def mentioned(names: Collection[str], folder: Path, *, apart_from: Path) -> set[str]:
    """Those of these files in a folder that another file there or in a folder above could refer to as its data.

    A mention is enough: the bytes of the name in a file that could be a model. So is another name of the file in
    the folder, and a file in the folder that cannot be read. `apart_from` is the model whose data they are.
    """
    if not names:
        return set()  # else each model of a folder would cost a look at all others
    folder = Path(os.path.realpath(folder))
    apart_from = Path(os.path.realpath(apart_from))
    found = {name for name in names if not _plain_end(name) or _has_other_name(folder / name)}
    for holder in (folder, *folder.parents):
        for path in _files_in(holder):
            wanted = {name for name in names if folder / name != path} - found
            if wanted and path != apart_from:
                found |= _mentions(path, wanted, folder)
    return found


def model_with_data(path: Path) -> Path | None:
    """A model file in the folder of a file, or in a folder above, that has it as its external data."""
    path = Path(os.path.realpath(path))
    names = {path.name, *(other.name for other in _other_names(path))}
    for holder in path.parents:
        for sibling in _files_in(holder):
            if sibling == path or not _mentions(sibling, names, path.parent):
                continue
            if any(_leads_to(holder / location, path) for location in _locations(sibling)):
                return sibling
    return None


def _leads_to(place: Path, path: Path) -> bool:
    try:
        return place.samefile(path)
    except (OSError, ValueError):
        return False


def _locations(path: Path) -> Collection[str]:
    """The external data that a file refers to, if it is a model."""
    try:
        content = path.read_bytes()
        # Without the key of external data, or an escape that could hide it, there is nothing to parse for.
        if b"location" not in content and b"\\" not in content:
            return ()
        return external_locations(parse_model(content, form_of(path)))
    except (ModelFileError, OSError, MemoryError):
        return ()


def _files_in(folder: Path) -> Iterator[Path]:
    """The regular files in a folder, links to such included. A folder that cannot be listed has none."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        try:
            if stat.S_ISREG(entry.stat().st_mode):
                yield folder / entry.name
        except OSError:
            continue


def _has_other_name(path: Path) -> bool:
    try:
        return path.lstat().st_nlink > 1 or any(_other_names(path))
    except FileNotFoundError:
        return False


def _other_names(path: Path) -> Iterator[Path]:
    for other in _files_in(path.parent):
        if other != path and _leads_to(other, path):
            yield other


def _plain_end(name: str) -> str:
    """The end of a name that every form of model files writes as it is: text forms escape other letters."""
    found = re.search(r"[A-Za-z0-9._-]*\Z", name)
    return found[0].lower() if found else ""


def _mentions(path: Path, names: Collection[str], folder: Path) -> set[str]:
    """Those of the names, of files in `folder`, that a file has in it; all where it cannot be read."""
    above = path.parent != folder
    if form_of(path) != "protobuf" and (known := {PurePosixPath(one).name for one in _locations(path)}):
        return {name for name in names if name.lower() in {one.lower() for one in known}}
    patterns = {name: re.compile(_pattern(name, folder.name if above else "")) for name in names}
    found: set[str] = set()
    try:
        with path.open("rb") as file:
            if not _could_be_model(file):
                return set()
            file.seek(0)
            rest = b""
            while chunk := file.read(_CHUNK):
                text = rest + chunk.lower()
                found |= {name for name, pattern in patterns.items() if pattern.search(text)}
                rest = text[-_LONGEST_NAME:]
    except OSError:
        # Whoever may not read a file in the folder cannot know; above it, such files belong to somebody else.
        return set() if above else set(names)
    return found


def _pattern(name: str, folder_name: str) -> bytes:
    end = re.escape(_plain_end(name).encode())
    if folder_name:
        return re.escape(_plain_end(folder_name).encode()) + rb"[\\/.]+" + end
    return end


def reads_as_document(path: Path) -> bool:
    """Whether a file reads as a model or as JSON, and so is no file of weights."""
    with path.open("rb") as file:
        if file.read(1) != b"{":
            return _GRAPH in (_fields(file) or ())
        file.seek(0)
        try:
            json.loads(file.read())
        except (ValueError, RecursionError):
            return False
        return True


def reads_as_model(path: Path) -> bool:
    """Whether a file reads as a model, in the form that its extension says or in binary."""
    with path.open("rb") as file:
        if file.read(1) != b"{" and _GRAPH in (_fields(file) or ()):
            return True
    if form_of(path) == "protobuf":
        return False
    try:
        return bool(parse_model(path.read_bytes(), form_of(path)).HasField("graph"))
    except (ModelFileError, MemoryError):
        return False


def _could_be_model(file: BinaryIO) -> bool:
    """Whether a file is text, or reads as a protobuf message to its end. Weights do neither."""
    return b"\0" not in file.read(4096) or _fields(file) is not None


def _fields(file: BinaryIO) -> set[int] | None:
    """The numbers of the fields of a protobuf message that takes a whole file; None where it is none."""
    size = file.seek(0, os.SEEK_END)
    position = 0
    found: set[int] = set()
    while position < size:
        file.seek(position)
        head = file.read(20)
        tag, used = _varint(head)
        kind = tag & 7
        if tag < 8 or kind not in (0, 1, 2, 5):
            return None
        value, more = _varint(head[used:]) if kind in (0, 2) else (0, 8 if kind == 1 else 4)
        if not more:
            return None
        found.add(tag >> 3)
        position += used + more + (value if kind == 2 else 0)
    return found if position == size else None


def _varint(data: bytes) -> tuple[int, int]:
    """A number, and how many bytes it takes; (0, 0) where there is none."""
    value = 0
    for index, byte in enumerate(data[:10]):
        value |= (byte & 127) << (7 * index)
        if byte < 128:
            return value, index + 1
    return 0, 0
