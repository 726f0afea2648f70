"""Saving: the form by the extension, external data carried along, all of it or nothing."""

from __future__ import annotations

import filecmp
import os
import shutil
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy
import onnx
from google.protobuf.message import EncodeError, Message
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.serialization import registry

from converter.model_file.errors import ModelFileError, reason
from converter.model_file.external_data import external_reference, resolve_location
from converter.model_file.loading import PROTOBUF_LIMIT
from converter.model_file.replacing import Replacement
from converter.model_file.tensors import all_tensors, is_external, stored_bytes
from converter.model_file.weightless import copy_head, copy_with_tensors

SMALLEST_EXTERNAL_TENSOR = 1024
"""Bytes; where a model is too large for one file, tensors from this size on go into a file of their own."""

_ROOM_FOR_THE_REST = 2**26
_PAGE = 4096


def save_model(
    model: ModelProto,
    path: str | os.PathLike[str],
    *,
    source_dir: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    beside: Mapping[Path, bytes] | None = None,
) -> list[Path]:
    """Write a model, in the form that the extension says, and the external data that it refers to.

    `source_dir` is the folder that the external data lies in. Files appear under their names complete or not at all,
    and where one cannot be written none is; `beside` gives the contents of files that go with the model. A model that
    is too large for one file has its weights put into `<name>.data`. Returns the files written, the model first.
    Raises ModelFileError.
    """
    target = Path(path)
    check_writable(target, overwrite=overwrite)
    try:
        with Replacement(overwrite=overwrite) as replacement:
            data = {} if source_dir is None else _external_files(model, Path(source_dir))
            if source_dir is None and any(map(is_external, all_tensors(model))):
                raise ModelFileError("the model has external data, and the folder that it lies in is not given")
            _carry_along(data, target, replacement)
            for path_beside, content in (beside or {}).items():
                replacement.stage(path_beside).write_bytes(content)
            if _size(model) + _ROOM_FOR_THE_REST > PROTOBUF_LIMIT:
                model = _split_off_weights(model, target.with_name(target.name + ".data"), replacement)
            replacement.stage(target).write_bytes(_serialize(model, target))
            return replacement.commit()
    except ModelFileError as error:
        raise ModelFileError(f"{target}: {error}") from error
    except (OSError, MemoryError) as error:
        raise ModelFileError(f"{target}: cannot be written: {reason(error)}") from error


def check_writable(path: Path, *, overwrite: bool) -> None:
    """Raises ModelFileError where nothing can be written at `path`, or something is there and has to stay."""
    try:
        if not path.parent.is_dir():
            raise ModelFileError(f"{path}: the folder {path.parent} does not exist")
        if path.is_dir():
            raise ModelFileError(f"{path}: this is a folder, not a file to write to")
        if os.path.lexists(path):
            if not overwrite:
                raise ModelFileError(f"{path}: this exists already; --force (overwrite=True) replaces it")
            if not path.is_file() and not path.is_symlink():
                raise ModelFileError(f"{path}: this is not a regular file")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise ModelFileError(f"{path}: cannot be written: permission denied")
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path}: cannot be written: {reason(error)}") from error


def _external_files(model: ModelProto, source_dir: Path) -> dict[str, Path]:
    locations = sorted({external_reference(tensor).location for tensor in all_tensors(model) if is_external(tensor)})
    return {location: resolve_location(location, source_dir) for location in locations}


def _carry_along(data: dict[str, Path], target: Path, replacement: Replacement) -> None:
    """Stage copies of external data beside the target, unless it is there already."""
    for location, source in data.items():
        destination = target.parent / location
        if target.exists() and source.samefile(target):
            raise ModelFileError(f"this is the external data {location!r} of the model itself")
        if destination.parent.resolve() / destination.name == target.parent.resolve() / target.name:
            raise ModelFileError(f"the external data {location!r} has to lie there")
        if not _nearest_folder(destination).resolve().is_relative_to(target.parent.resolve()):
            raise ModelFileError(f"the external data {location!r} would be written outside the folder")
        if destination.exists() and (destination.samefile(source) or filecmp.cmp(source, destination, shallow=False)):
            continue
        shutil.copyfile(source, replacement.stage(destination))


def _nearest_folder(path: Path) -> Path:
    return next(parent for parent in path.parents if parent.exists())


def _size(model: ModelProto) -> int:
    """The bytes of all tensors inside the model, as their shapes say."""
    return sum(stored_bytes(tensor) or 0 for tensor in all_tensors(model) if not is_external(tensor))


def _split_off_weights(model: ModelProto, path: Path, replacement: Replacement) -> ModelProto:
    """A copy of the model whose weights are written to `path`."""
    with replacement.stage(path).open("wb") as file:

        def is_kept(tensor: TensorProto) -> bool:
            size = stored_bytes(tensor)
            return is_external(tensor) or size is None or size < SMALLEST_EXTERNAL_TENSOR

        def copy_tensor(tensor: TensorProto, target: TensorProto) -> None:
            file.write(b"\0" * (-file.tell() % _PAGE))
            copy_head(tensor, target)
            target.data_location = TensorProto.EXTERNAL
            entries = {"location": path.name, "offset": str(file.tell()), "length": str(stored_bytes(tensor))}
            for key, value in entries.items():
                target.external_data.add(key=key, value=value)
            file.write(tensor.raw_data if tensor.HasField("raw_data") else _raw_data(tensor))

        return copy_with_tensors(model, is_kept, copy_tensor)


def _raw_data(tensor: TensorProto) -> bytes:
    return numpy_helper.from_array(numpy.ascontiguousarray(numpy_helper.to_array(tensor))).raw_data


def _serialize(model: ModelProto, path: Path) -> bytes:
    form = registry.get_format_from_file_extension(path.suffix) or "protobuf"
    try:
        content = registry.get(form).serialize_proto(model)
    except (EncodeError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"the model cannot be written in the {form} form: {reason(error)}") from error
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
    _clear_empty_strings(copied)
    return copied


def _clear_empty_strings(message: Message) -> None:
    for field, value in message.ListFields():
        if field.message_type is not None:
            inner: Iterable[Message] = value if field.is_repeated else (value,)
            for one in inner:
                _clear_empty_strings(one)
        elif value == "":
            message.ClearField(field.name)
