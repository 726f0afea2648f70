"""Saving: the form by the extension, external data is copied, and all of it is written or nothing."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy
import onnx
from google.protobuf.message import EncodeError
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.serialization import registry

from opsetlift.model.files.comparable import clear_empty_strings
from opsetlift.model.files.copying import copy_with_tensors
from opsetlift.model.files.data_copies import (
    Names,
    check_unchanged,
    copy_data,
    old_data,
    stem_of,
    unused,
    with_locations,
)
from opsetlift.model.files.errors import ModelFileError, reason
from opsetlift.model.files.files import CERTIFICATE, MODEL, JobFiles
from opsetlift.model.files.left_weights import NO_WEIGHTS_LEFT, LeftWeights
from opsetlift.model.files.loading import form_of
from opsetlift.model.files.replacing import Replacement
from opsetlift.model.files.temporary import Temporary, only_writer, remove_leftovers
from opsetlift.model.files.tensors import all_tensors, is_external, stored_bytes
from opsetlift.model.files.wire import PROTOBUF_LIMIT
from opsetlift.model.files.writing_by_parts import write_by_parts

SMALLEST_EXTERNAL_TENSOR = 1024
"""Bytes; where a model is too large for one file, tensors from this size on go into a file of their own."""

_ROOM_FOR_THE_REST = 2**26
_PAGE = 4096
_TO_BE_NAMED = "/"
"""The location of data that has no name yet; a path that no model can have."""


def save_model(
    model: ModelProto,
    path: str | os.PathLike[str],
    *,
    source_dir: str | os.PathLike[str] | None = None,
    source: Path | None = None,
    overwrite: bool = False,
    beside: Mapping[Path, bytes] | None = None,
    files: JobFiles | None = None,
) -> list[Path]:
    """Write a model, in the form that the extension says, and copies of the external data that it refers to.

    Files appear under their names complete or not at all, and where one cannot be written none is. The rename of the
    model comes last and switches from the old files to the new ones. No file is replaced but the one at `path` and
    those of `beside`: where the name of external data is taken in the folder, the data gets another one, and the model
    refers to that. Two models never share data. Data that was so named for the model which is replaced is removed,
    unless another file mentions it.

    Args:
        model: The model; it stays as it is.
        path: Where to write it. A link to a regular file is followed.
        source_dir: The folder that the model's external data lies in.
        source: The file that the model was read from, where weights were left in it; what is written holds them.
        overwrite: Whether regular files at `path` and in `beside` may be replaced; `files` decides where it is given.
        beside: The contents of other files that go with the model, as its certificate.
        files: What the job read, which is never replaced.

    Returns:
        The files written, the model first.

    Raises:
        ModelFileError: where something cannot be written, or is not to be replaced.
    """
    given = Path(path)
    table = JobFiles(overwrite=overwrite) if files is None else files
    target = table.write(given, MODEL)
    others = {one: table.write(one, table.role_of(one) or CERTIFICATE) for one in beside or {}}
    tensors, left = list(all_tensors(model)), LeftWeights(source)
    external = [tensor for tensor in tensors if is_external(tensor) and not left.holds(tensor)]
    has_data = bool(external)
    if has_data and source_dir is not None:
        table.check_data(model, Path(source_dir))
    try:
        if has_data and source_dir is None:
            raise ModelFileError("the model has external data: give the folder that contains it")
        is_too_large = _size(tensors, left) + _ROOM_FOR_THE_REST > PROTOBUF_LIMIT
        with Replacement() as replacement:
            # What depends on no other file is written while other processes may write to the folder, too.
            written = None if has_data or is_too_large else _written(model, target, replacement, left)
            with only_writer(target.parent):
                if written is None:
                    remove_leftovers(target.parent)  # they may be second names of data, which is not used then
                names = Names(target, table)
                changed: dict[str, str] = {}
                if has_data and source_dir is not None:
                    changed = copy_data(external, Path(source_dir), target, names, table, replacement)
                if is_too_large:
                    model = _split_off_weights(model, target, names, replacement, left)
                if names.used and target.parent.resolve() != given.parent.resolve():
                    raise ModelFileError("this is a link to another folder, but external data must be beside the model")
                for one, content in (beside or {}).items():
                    temporary = replacement.temporary(others[one].parent)
                    temporary.file.write(content)
                    replacement.replace(temporary, others[one], overwrite=table.overwrite)
                written = written or _written(with_locations(model, changed), target, replacement, left)
                if source is not None and any(map(left.holds, tensors)):
                    check_unchanged(source, "the input", table.stamp(source))
                replacement.replace(written, target, overwrite=table.overwrite)
                replacement.commit(obsolete=unused(old_data(target) - names.used, target))
                return [given, *(beside or {}), *names.new]
    except ModelFileError as error:
        raise ModelFileError(f"{given}: {error}") from error
    except (OSError, MemoryError, ValueError) as error:
        raise ModelFileError(f"{given}: cannot be written: {reason(error)}") from error


def save_beside(path: Path, content: bytes, files: JobFiles) -> None:
    """Write a file of a job whose model is not written; it was noted as a target. Raises ModelFileError."""
    target = files.write(path, files.role_of(path) or CERTIFICATE)
    try:
        with Replacement() as replacement:
            temporary = replacement.temporary(target.parent)
            temporary.file.write(content)
            replacement.replace(temporary, target, overwrite=files.overwrite)
            replacement.commit()
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except (OSError, MemoryError) as error:
        raise ModelFileError(f"{path}: cannot be written: {reason(error)}") from error


def model_bytes(model: ModelProto) -> bytes:
    """A model for a pipe. Raises ModelFileError for one that needs files beside it."""
    tensors = list(all_tensors(model))
    if any(map(is_external, tensors)):
        raise ModelFileError("a model with external data cannot go to standard output; name a file")
    if _size(tensors, NO_WEIGHTS_LEFT) + _ROOM_FOR_THE_REST > PROTOBUF_LIMIT:
        raise ModelFileError("a model of more than 2 GB cannot go to standard output; name a file")
    return _serialize(model, Path())


def _size(tensors: Iterable[TensorProto], left: LeftWeights) -> int:
    """The bytes of all tensors inside a model, as their shapes say."""
    return sum(stored_bytes(tensor) or 0 for tensor in tensors if not is_external(tensor) or left.holds(tensor))


def _split_off_weights(
    model: ModelProto, target: Path, names: Names, replacement: Replacement, left: LeftWeights
) -> ModelProto:
    """A copy of the model whose weights go to a file of their own."""
    temporary = replacement.temporary(target.parent)
    file = temporary.file

    def is_kept(tensor: TensorProto) -> bool:
        size = stored_bytes(tensor)
        if is_external(tensor):
            return not left.holds(tensor)
        return size is None or size < SMALLEST_EXTERNAL_TENSOR

    def fill(tensor: TensorProto, copied: TensorProto) -> None:
        file.write(b"\0" * (-file.tell() % _PAGE))
        copied.data_location = TensorProto.EXTERNAL
        entries = {"location": _TO_BE_NAMED, "offset": str(file.tell()), "length": str(stored_bytes(tensor))}
        for key, value in entries.items():
            copied.external_data.add(key=key, value=value)
        if left.holds(tensor):
            file.writelines(left.range_of(tensor).blocks())
        else:
            file.write(tensor.raw_data if tensor.HasField("raw_data") else _raw_data(tensor))

    split = copy_with_tensors(model, is_kept, fill)
    file.flush()
    location, is_there = names.find(stem_of(target) + ".data", temporary.path)
    if is_there:
        replacement.drop(temporary)
    else:
        replacement.put(temporary, target.parent / location)
    return with_locations(split, {_TO_BE_NAMED: location})


def _raw_data(tensor: TensorProto) -> bytes:
    return numpy_helper.from_array(numpy.ascontiguousarray(numpy_helper.to_array(tensor))).raw_data


def _written(model: ModelProto, target: Path, replacement: Replacement, left: LeftWeights) -> Temporary:
    """A model under a temporary name in the folder of its target, which has to exist."""
    target.parent.stat()
    temporary = replacement.temporary(target.parent)
    _write(model, target, temporary.file, left)
    temporary.sync()
    return temporary


def _write(model: ModelProto, path: Path, file: BinaryIO, left: LeftWeights) -> None:
    form = form_of(path)
    with _form_is_possible(form):
        if form == "protobuf" and write_by_parts(model, file, left):
            return
    file.write(_serialize(left.filled(model), path))


@contextmanager
def _form_is_possible(form: str) -> Iterator[None]:
    try:
        yield
    except (EncodeError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"the model cannot be written in the {form} form: {reason(error)}") from error


def _serialize(model: ModelProto, path: Path) -> bytes:
    form = form_of(path)
    with _form_is_possible(form):
        content = registry.get(form).serialize_proto(model)
    if form == "onnxtxt" and not _is_same_textually(model, content):
        raise ModelFileError("ONNX's textual form cannot hold all of this model; .textproto and .json can")
    return bytes(content)


def _is_same_textually(model: ModelProto, content: bytes) -> bool:
    """Whether the textual form, which leaves out doc strings and more, gives back the model that went in."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = registry.get("onnxtxt").deserialize_proto(content, ModelProto())
    except (onnx.parser.ParseError, RuntimeError, ValueError):
        return False
    return _plain(parsed) == _plain(model)


def _plain(model: ModelProto) -> ModelProto:
    """A copy that spells everything in one way: no empty strings, tensors as raw data."""
    copied = ModelProto()
    copied.CopyFrom(model)
    for tensor in all_tensors(copied):
        if not is_external(tensor) and tensor.data_type != TensorProto.STRING:
            data = _raw_data(tensor)
            for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                tensor.ClearField(field)
            tensor.raw_data = data
    clear_empty_strings(copied)
    return copied
