"""Inputs that the caller gives, and the outputs that are expected for them.

They are in memory, in an .npz, or in the folders `test_data_set_*` that ONNX's own test data has, with `input_0.pb` and
`output_0.pb`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
from google.protobuf.message import DecodeError, Message
from onnx import MapProto, ModelProto, OptionalProto, SequenceProto, TensorProto, TypeProto, ValueInfoProto

from opsetlift.model.arrays import Array, array_of
from opsetlift.model.files import ModelFileError, check_data, check_regular, is_external, read_file
from opsetlift.proof.inputs import Case
from opsetlift.specification.dtypes import dtype_of_type, numpy_dtype, type_string
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.text import counted, printable

Data = Mapping[str, Any] | str | os.PathLike[str]
"""Values by name, an .npz, or a folder of ONNX's test data."""

_DATA_SET = "test_data_set_*"


class UnusableData(OpsetLiftError, ValueError):
    """Inputs, or expected outputs, that are not those of the models; the message is one sentence."""


def given_cases(inputs: Data, expected: Data | None, model: ModelProto) -> list[Case]:
    """The cases that a caller gives.

    Args:
        inputs: A value for each input, or where these are: an .npz, a folder with `input_0.pb` and so on, or a folder
            that holds such folders, called `test_data_set_*`.
        expected: In the same way the outputs. Without it those that lie beside the inputs as `output_0.pb` and so on.
        model: The model whose inputs and outputs they are.

    Raises:
        UnusableData: They are not those of the model, or cannot be read.
    """
    required, outputs = _required(model), list(model.graph.output)
    if not _is_path(inputs) or not Path(inputs).is_dir():  # type: ignore[arg-type]
        label = "the given inputs"
        found = [Case(label, _values(inputs, list(model.graph.input), required, "input"))]
    else:
        found = [_of_folder(folder, model, required) for folder in _folders(Path(inputs))]  # type: ignore[arg-type]
    if expected is None:
        return found
    if _are_same_folder(inputs, expected):
        return found
    if len(found) > 1:
        held = f"this folder holds {len(found)} data sets; name the one that has the expected outputs"
        raise UnusableData(f"{os.fspath(inputs)}: {held}")  # type: ignore[arg-type]
    if found[0].expected:
        raise UnusableData(f"{os.fspath(inputs)}: this folder holds expected outputs already; leave out the others")  # type: ignore[arg-type]
    return [Case(found[0].label, found[0].values, expected=_values(expected, outputs, outputs, "output"))]


def _is_path(given: object) -> bool:
    return isinstance(given, (str, os.PathLike))


def _are_same_folder(inputs: Data, expected: Data) -> bool:
    """Whether the outputs are those beside the inputs, which need not be named."""
    if isinstance(inputs, Mapping) or isinstance(expected, Mapping):
        return False
    return Path(inputs).is_dir() and Path(inputs).resolve() == Path(expected).resolve()


def _required(model: ModelProto) -> list[ValueInfoProto]:
    initialized = {tensor.name for tensor in model.graph.initializer}
    initialized |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    return [info for info in model.graph.input if info.name not in initialized]


def _values(
    given: Data, formals: Sequence[ValueInfoProto], required: Sequence[ValueInfoProto], what: str
) -> dict[str, Any]:
    """Values from memory, an .npz or a folder, for formal inputs or outputs by name."""
    if isinstance(given, Mapping):
        return _by_name(given, formals, required, what, "")
    path = Path(given)
    if path.is_dir():
        values = _of_files(path, formals, required, what)
        if not values:
            raise UnusableData(f"{path}: this folder holds no {what}_0.pb")
        return values
    return _by_name(_read_archive(path, what), formals, required, what, f"{path}: ")


def _by_name(
    values: Mapping[str, Any],
    formals: Sequence[ValueInfoProto],
    required: Sequence[ValueInfoProto],
    what: str,
    where: str,
) -> dict[str, Any]:
    types = {info.name: type_string(info.type) or "" for info in formals}
    if missing := {info.name for info in required} - values.keys():
        raise UnusableData(f"{where}there is no array for the {what} {printable(min(missing))!r}")
    if unknown := values.keys() - types.keys():
        raise UnusableData(f"{where}the first model has no {what} {printable(min(map(str, unknown)))!r}")
    found = {name: _as_dtype(value, dtype_of_type(types[name])) for name, value in values.items()}
    for name, value in found.items():
        declared = dtype_of_type(types[name]) if what == "input" else None
        if declared is not None and isinstance(value, numpy.ndarray) and value.dtype != numpy_dtype(declared):
            held = f"an array of {value.dtype}, and the model declares {declared}"
            raise UnusableData(f"{where}the {what} {printable(name)!r} has {held}")
    return found


def _read_archive(path: Path, what: str) -> dict[str, Array]:
    try:
        check_regular(path)
        with numpy.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise UnusableData(f"{path}: no such file") from error
    except ModelFileError as error:
        raise UnusableData(str(error)) from error
    except MemoryError as error:
        raise UnusableData(f"{path}: its arrays do not fit into memory") from error
    except Exception as error:  # each decompressor and parser below numpy.load has errors of its own
        raise UnusableData(f"{path}: this is not an .npz with an array for each {what}") from error


def _as_dtype(value: Any, dtype: str | None) -> Any:
    """Text as objects, and what numpy's format has no name for (bfloat16, float8) as the dtype of the input."""
    if not isinstance(value, numpy.ndarray):
        return value
    if value.dtype.kind == "U":
        return value.astype(object)
    if value.dtype.kind == "V" and dtype is not None and value.dtype.itemsize == numpy_dtype(dtype).itemsize:
        return value.view(numpy_dtype(dtype))
    return value


def _folders(path: Path) -> list[Path]:
    """The data sets in a folder, or the folder itself."""
    found = [one for one in path.glob(_DATA_SET) if one.is_dir()]
    if found and any(path.glob("input_*.pb")):
        raise UnusableData(f"{path}: holds data sets, and is one itself")
    return sorted(found, key=lambda one: (len(one.name), one.name)) or [path]


def _of_folder(folder: Path, model: ModelProto, required: Sequence[ValueInfoProto]) -> Case:
    inputs = _of_files(folder, list(model.graph.input), required, "input")
    outputs = _of_files(folder, list(model.graph.output), list(model.graph.output), "output")
    if not inputs and not outputs:
        raise UnusableData(f"{folder}: this folder holds neither input_0.pb nor a folder test_data_set_0")
    if missing := {info.name for info in required} - inputs.keys():
        raise UnusableData(f"{folder}: there is no file for the input {printable(min(missing))!r}")
    return Case(folder.name, inputs, expected=outputs)


def _of_files(
    folder: Path, formals: Sequence[ValueInfoProto], required: Sequence[ValueInfoProto], what: str
) -> dict[str, Any]:
    """The values in the files of one kind, which belong to formal inputs or outputs by name, else by position."""
    paths = _numbered(folder, what)
    names = _names_of_tensors(paths)
    by_name = {info.name: info for info in formals}
    known = by_name.keys() & set(names)
    if len(set(names)) == len(paths) == len(known) and known >= {info.name for info in required}:
        chosen = [by_name[name] for name in names]
    elif len(paths) in (len(required), len(formals)):
        chosen = list(required if len(paths) == len(required) else formals)
    elif not paths:
        return {}
    else:
        held = counted(len(paths), f"{what} file")
        raise UnusableData(f"{folder}: holds {held}, and the first model has {len(required)}")
    for path, name, info in zip(paths, names, chosen, strict=True):
        if name in by_name and name != info.name:
            raise UnusableData(f"{path}: by its name this is the {what} {name!r}, and by its number {info.name!r}")
    return {info.name: _value_in(path, info) for path, info in zip(paths, chosen, strict=True)}


def _numbered(folder: Path, what: str) -> list[Path]:
    found = {}
    for path in folder.glob(f"{what}_*.pb"):
        number = re.fullmatch(rf"{what}_(\d+)\.pb", path.name)
        if number is None or str(int(number[1])) != number[1]:
            raise UnusableData(f"{path}: its name is not {what}_N.pb")
        found[int(number[1])] = path
    if missing := [number for number in range(len(found)) if number not in found]:
        raise UnusableData(f"{folder}: {what}_{missing[0]}.pb is missing, and {what}_{max(found)}.pb is there")
    return [found[number] for number in range(len(found))]


def _names_of_tensors(paths: Sequence[Path]) -> list[str]:
    """The names in files that may hold tensors; "" where there is none."""
    names = []
    for path in paths:
        try:
            names.append(TensorProto.FromString(_content(path)).name)
        except DecodeError:
            names.append("")
    return names


def _content(path: Path) -> bytes:
    try:
        return read_file(path)
    except ModelFileError as error:
        raise UnusableData(str(error)) from error


_MESSAGES: Mapping[str, type[Message]] = {
    "tensor_type": TensorProto,
    "sequence_type": SequenceProto,
    "optional_type": OptionalProto,
    "map_type": MapProto,
}


def _value_in(path: Path, info: ValueInfoProto) -> Any:
    kind = info.type.WhichOneof("value") or ""
    declared = printable(type_string(info.type) or "another type")
    if kind not in _MESSAGES:
        raise UnusableData(f"{path}: {info.name!r} is {declared}, which no such file holds")
    try:
        message = _MESSAGES[kind].FromString(_content(path))
        return _value(message, info.type)
    except DecodeError as error:
        raise UnusableData(f"{path}: holds no {declared} (for {info.name!r}), or is truncated or damaged") from error
    except ModelFileError as error:
        raise UnusableData(f"{path}: holds no {declared} (for {info.name!r}): {printable(error)}") from error


_ELEMENTS = {
    SequenceProto.TENSOR: "tensor",
    SequenceProto.SEQUENCE: "sequence",
    SequenceProto.MAP: "map",
    SequenceProto.OPTIONAL: "optional",
}
"""The field of an element, by the number that SequenceProto and OptionalProto have for its kind."""


def _value(message: Any, declared: TypeProto) -> Any:
    """What a message holds. Raises ModelFileError where that is nothing of the declared type."""
    match message:
        case TensorProto():
            return _array(message, declared)
        case SequenceProto():
            field = _element_field(message, declared.sequence_type.elem_type)
            return [_value(one, declared.sequence_type.elem_type) for one in getattr(message, f"{field}_values")]
        case OptionalProto():
            if message.elem_type == OptionalProto.UNDEFINED:
                return None
            element = declared.optional_type.elem_type
            field = f"{_element_field(message, element)}_value"
            return _value(getattr(message, field), element) if message.HasField(field) else None
    keys = list(message.keys) or [one.decode("utf-8", "surrogateescape") for one in message.string_keys]
    elements = TypeProto()
    elements.sequence_type.elem_type.CopyFrom(declared.map_type.value_type)
    values = _value(message.values, elements) if keys else []
    if len(values) != len(keys):
        raise ModelFileError(f"a map has {len(keys)} keys and {len(values)} values")
    return dict(zip(keys, values, strict=True))


def _element_field(message: Any, declared: TypeProto) -> str:
    field = _ELEMENTS.get(message.elem_type)
    wanted = (declared.WhichOneof("value") or "").removesuffix("_type")
    if field is None or field != wanted:
        raise ModelFileError(f"its elements are {field or 'of no'} type{'s' * bool(field)}, and {wanted}s are declared")
    return field


def _array(tensor: TensorProto, declared: TypeProto) -> Array:
    if is_external(tensor):
        raise ModelFileError("its data lies in another file")
    check_data(tensor)
    if tensor.data_type != declared.tensor_type.elem_type:
        raise ModelFileError(f"it is {type_string(_type_of(tensor))}")
    array = array_of(tensor, "")
    if array is None:
        raise ModelFileError("its data cannot be read")
    return array


def _type_of(tensor: TensorProto) -> TypeProto:
    found = TypeProto()
    found.tensor_type.elem_type = tensor.data_type
    return found
