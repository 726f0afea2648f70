"""Loading: every file form that `onnx.load` knows, without the weights that lie in files of their own."""

from __future__ import annotations

import os
import re
import stat
import warnings
from pathlib import Path

import onnx
import onnx.parser
from google.protobuf import json_format, text_format
from google.protobuf.message import DecodeError
from onnx.serialization import registry

from opsetlift.model.files.errors import ModelFileError, one_line, reason
from opsetlift.model.files.external_data import ExternalData
from opsetlift.model.files.left_weights import can_refer_to, refers_to
from opsetlift.model.files.reading_by_parts import read_by_parts
from opsetlift.model.files.tensors import all_tensors, check_data, check_sparse, is_external, tensors_of
from opsetlift.model.files.wire import PROTOBUF_LIMIT

BY_PARTS = 1 << 26
"""Bytes, from which on a file is read by parts: looking for them takes longer than it is worth for smaller ones."""

_OTHER_FORMATS = (
    (b"version https://git-lfs", "a Git LFS pointer, not the model itself (git lfs pull fetches that)"),
    (b"PK\x03\x04", "a zip archive, perhaps a PyTorch checkpoint, not an ONNX model"),
    (b"\x89HDF", "an HDF5 file, perhaps of Keras, not an ONNX model"),
    (b"\x1f\x8b", "a gzip file: unpack it first"),
    (b"\x80\x02", "a Python pickle, perhaps a PyTorch checkpoint, not an ONNX model"),
    (b"<!DOCTYPE", "a web page, not an ONNX model"),
    (b"<html", "a web page, not an ONNX model"),
)
_ORT_MARK = b"ORTM"


def load_model(path: str | os.PathLike[str], *, leave_weights: bool = False) -> onnx.ModelProto:
    """The model in a file, its form told by the extension as `onnx.load` does.

    External data stays where it is; that each tensor's bytes are there, complete and inside the model's folder, is
    checked.

    Args:
        path: The file.
        leave_weights: Whether large initializers of a large file may stay in it: the model refers to them as to
            external data, and `save_model` has to be told the file.

    Raises:
        ModelFileError: It cannot be read, or its tensors are not complete.
    """
    try:
        model = _read(Path(path), leave_weights=leave_weights)
        _check_is_model(model)
        check_tensors(model, Path(path).parent)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error
    return model


def model_from(
    content: bytes, described: str = "standard input", *, form: str = "protobuf", folder: Path | None = None
) -> onnx.ModelProto:
    """The model in bytes that did not come from a file of ours, as those read from a pipe.

    Args:
        content: The bytes.
        described: Where they are from, for errors.
        form: Their form, as onnx names it.
        folder: Where external data lies, if that is known.

    Raises:
        ModelFileError: It cannot be read; also where it has external data and no folder is known.
    """
    try:
        if not content:
            raise ModelFileError("there is nothing to read")
        model = parse_model(content, form)
        _check_is_model(model)
        if folder is None and any(map(is_external, all_tensors(model))):
            raise ModelFileError("a model with external data must be read from a file, which tells where the data is")
        check_tensors(model, folder)
    except ModelFileError as error:
        raise ModelFileError(f"{described}: {error}") from error
    return model


def check_regular(path: Path) -> None:
    """Raises ModelFileError for what exists and is no regular file: reading a pipe or a device may never end."""
    try:
        is_special = path.exists() and not path.is_file()
    except (OSError, ValueError) as error:  # a folder above that may not be entered; a name that is too long
        raise ModelFileError(f"{path}: the file cannot be read: {reason(error)}") from error
    if is_special:
        raise ModelFileError(f"{path}: this is {'a folder' if path.is_dir() else 'not a regular file'}")


def read_file(path: Path, most: int | None = None) -> bytes:
    """The content of a regular file that holds no model, of at most so many bytes. Raises ModelFileError."""
    check_regular(path)
    try:
        if most is not None and path.stat().st_size > most:
            raise ModelFileError(f"{path}: the file is larger than {most >> 20} MiB")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelFileError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path}: the file cannot be read: {reason(error)}") from error
    except MemoryError as error:
        raise ModelFileError(f"{path}: the file does not fit into memory") from error


def is_known_form(path: Path) -> bool:
    """Whether the extension of a file names the form that it has; without one a file is protobuf."""
    return not path.suffix or registry.get_format_from_file_extension(path.suffix) is not None


def form_of(path: Path) -> str:
    """The form of a model file, by its extension, as onnx names it."""
    return registry.get_format_from_file_extension(path.suffix) or "protobuf"


def _read(path: Path, *, leave_weights: bool) -> onnx.ModelProto:
    form = form_of(path)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ModelFileError("this is a folder, not a model file")
        if not stat.S_ISREG(status.st_mode):
            # Reading a pipe or a device may never end.
            raise ModelFileError("this is not a regular file")
        if status.st_size == 0:
            raise ModelFileError("the file is empty")
        if status.st_size > PROTOBUF_LIMIT and form == "protobuf":
            raise ModelFileError("the file has more than the 2 GB of a protobuf; its weights belong in external data")
        if status.st_size >= BY_PARTS and form == "protobuf":
            model = _read_by_parts(path, status.st_size, leave_weights=leave_weights)
            if model is not None:
                return model
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise ModelFileError("no such file") from error
    except MemoryError as error:
        raise ModelFileError("the file does not fit into memory") from error
    except ModelFileError:
        raise
    except (OSError, ValueError) as error:
        raise ModelFileError(f"the file cannot be read: {reason(error)}") from error
    return parse_model(content, form)


def _read_by_parts(path: Path, size: int, *, leave_weights: bool) -> onnx.ModelProto | None:
    def location(model: onnx.ModelProto) -> str:
        # What a model itself says to be in its own file could not be told from what is left there.
        return path.name if leave_weights and can_refer_to(path) and not refers_to(model, path) else ""

    with path.open("rb") as file:
        return read_by_parts(file, size, lambda content: parse_model(content, "protobuf"), location)


def parse_model(content: bytes, form: str) -> onnx.ModelProto:
    """The model that a file of a form holds. Raises ModelFileError."""
    for mark, described in _OTHER_FORMATS:
        if content.startswith(mark):
            raise ModelFileError(f"this is {described}")
    if content[4:8] == _ORT_MARK:
        raise ModelFileError("this is a model in onnxruntime's own format, not an ONNX model")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the textual form announces itself as experimental
            return registry.get(form).deserialize_proto(content, onnx.ModelProto())
    except DecodeError as error:
        if "MaxDepth" in str(error):
            raise ModelFileError("the model is nested more deeply than protobuf allows") from error
        raise ModelFileError("this is not an ONNX model, or it is truncated or damaged") from error
    except UnicodeDecodeError as error:
        raise ModelFileError(f"this is not text, which a file of the {form} form has to be") from error
    except text_format.ParseError as error:
        raise ModelFileError(f"this is not an ONNX model in protobuf text form: {one_line(error)}") from error
    except json_format.ParseError as error:
        first_line = str(error).splitlines()[0]
        raise ModelFileError(f"this is not an ONNX model in JSON form: {one_line(first_line)}") from error
    except onnx.parser.ParseError as error:
        raise ModelFileError(f"this is not an ONNX model in textual form{_textual_position(error)}") from error
    except RecursionError as error:
        raise ModelFileError("the model is nested more deeply than can be read") from error
    except MemoryError as error:
        raise ModelFileError("the model does not fit into memory") from error
    except (ValueError, RuntimeError) as error:
        raise ModelFileError(f"this is not an ONNX model in the {form} form") from error


def _textual_position(error: Exception) -> str:
    found = re.search(r"line: (\d+) column: (\d+)", str(error))
    return f": line {found[1]}, column {found[2]} cannot be read" if found else ""


def _check_is_model(model: onnx.ModelProto) -> None:
    if not model.HasField("graph"):
        raise ModelFileError("this is not an ONNX model: it holds no graph")


def check_tensors(model: onnx.ModelProto, folder: Path | None) -> None:
    """Raises ModelFileError for the first tensor whose data does not fit its shape, or is not to be had.

    `folder` is where external data lies; without it, external data is left unchecked.
    """
    external_data = ExternalData(folder) if folder is not None else None
    found = tensors_of(model)
    for tensor in found.all():
        if not is_external(tensor):
            check_data(tensor)
        elif external_data is not None:
            external_data.check(tensor)
    for sparse in found.sparse:
        check_sparse(sparse)
