"""What flows between nodes, and how it is read from protobufs.

A tensor is a numpy array (text as dtype object), a sequence a `Sequence`, an optional an `Optional`, a map a dict.
None stands for an input that is not there at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy
import onnx
from onnx import AttributeProto, SparseTensorProto, TensorProto, TypeProto, numpy_helper

from opsetlift.model.arrays import Array
from opsetlift.model.files import ModelFileError, with_data
from opsetlift.specification import dtypes

Value = Any
"""Array, Sequence, Optional, dict or None: kernels branch on it at run time."""


class Sequence(list[Any]):
    """A sequence that knows its type, which an empty list could not tell."""

    __slots__ = ("type_string",)

    def __init__(self, elements: Iterable[Any], type_string: str) -> None:
        super().__init__(elements)
        self.type_string = type_string


@dataclass(frozen=True, slots=True)
class Optional:
    """A value of an optional type; `element` is None where it is empty."""

    element: Value
    type_string: str


@lru_cache(maxsize=256)
def _tensor_type(dtype: numpy.dtype[Any]) -> str:
    return dtypes.tensor_type(dtypes.name_of_numpy_dtype(dtype))


@lru_cache(maxsize=256)
def plain_dtype(type_string: str) -> numpy.dtype[Any] | None:
    """Return the dtype of arrays that are values of a type whatever they hold; None for text and for no tensors."""
    dtype = dtypes.dtype_of_type(type_string)
    return None if dtype in (None, "string") else dtypes.numpy_dtype(str(dtype))


def type_of(value: Value) -> str | None:
    """Return the type as the schemas spell it; None for the empty plain list, whose type only its context knows.

    Raises:
        ValueError: It is not an ONNX value.
    """
    if isinstance(value, numpy.ndarray):
        return _tensor_type(value.dtype)
    if isinstance(value, (Sequence, Optional)):
        return value.type_string
    if isinstance(value, list):
        types = {type_of(element) for element in value}
        if len(types) > 1:
            raise ValueError(f"a sequence has elements of one type, not of {sorted(map(str, types))}")
        inner = next(iter(types), None)
        return inner and f"seq({inner})"
    if isinstance(value, dict):
        return _map_type(value)
    raise ValueError(f"{type(value).__name__} is not an ONNX value")


def _map_type(value: Mapping[Any, Any]) -> str | None:
    for key, element in value.items():
        inner = dtypes.name_of_numpy_dtype(numpy.asarray(element).dtype)
        return f"map({'string' if isinstance(key, str) else 'int64'}, {inner})"
    return None


def as_type(value: Value, type_string: str) -> Value:
    """Give a value the type that its context knows.

    Raises:
        ValueError: It has another one.
    """
    is_text = type_string == "tensor(string)"  # whose elements are looked at
    if isinstance(value, (numpy.ndarray, Sequence, Optional)) and not is_text and type_of(value) == type_string:
        return value
    if type_string.startswith("optional("):
        if isinstance(value, Optional):
            value = value.element
        element_type = type_string[len("optional(") : -1]
        return Optional(None if value is None else as_type(value, element_type), type_string)
    if type_string.startswith("seq(") and isinstance(value, (list, tuple)):
        element_type = type_string[len("seq(") : -1]
        return Sequence([as_type(element, element_type) for element in value], type_string)
    if type_string.startswith("map(") and isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, numpy.ndarray):
        if isinstance(value, (list, tuple, Mapping, Optional)) or value is None:
            raise ValueError(f"{type_string} is declared, {type(value).__name__} was given")
        value = numpy.asarray(value)
    if is_text and value.dtype.kind in "USOT":
        return as_text(value)
    actual = type_of(value)
    if actual != type_string:
        raise ValueError(f"{type_string} is declared, {actual} was given")
    return value


def as_text(array: Array) -> Array:
    """Return strings [*shape] as dtype object holding str.

    Raises:
        ValueError: An element is no text.
    """
    if array.dtype.kind == "O" and all(type(element) is str for element in array.flat):
        return array
    text = numpy.empty(array.shape, dtype=object)
    for index, element in enumerate(array.flat):
        if isinstance(element, bytes):
            element = element.decode()
        if not isinstance(element, str):
            raise ValueError(f"element {index} of a string tensor is a {type(element).__name__}")
        text.flat[index] = str(element)
    return text


def in_c_order(value: Value) -> Value:
    """Return a value with arrays C-contiguous and aligned: how numpy and BLAS round depends on the layout."""
    if isinstance(value, numpy.ndarray):
        flags = value.flags
        return value if flags.c_contiguous and flags.aligned else numpy.array(value, order="C")
    if isinstance(value, Sequence):
        return Sequence(map(in_c_order, value), value.type_string)
    if isinstance(value, list):
        return [in_c_order(element) for element in value]
    if isinstance(value, Optional):
        return Optional(in_c_order(value.element), value.type_string)
    return value


def plain(value: Value) -> Value:
    """Return a value as callers get it: optionals unwrapped, sequences as lists."""
    if isinstance(value, Optional):
        return plain(value.element)
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value


def tensor_value(tensor: TensorProto, base_dir: str | None = None) -> Array:
    """Return the array that a TensorProto holds; never writable.

    Raises:
        ValueError: It cannot be read.
    """
    if tensor.data_location == TensorProto.EXTERNAL and base_dir is None:
        raise ValueError("the data is external; base_dir says where")
    if tensor.data_type not in _ELEMENT_TYPES:
        raise ValueError(f"{tensor.data_type} is not an element type")
    try:
        tensor = with_data(tensor, base_dir or "")
    except ModelFileError as error:
        raise ValueError(str(error)) from error
    array: Array = numpy.asarray(numpy_helper.to_array(tensor))
    array.flags.writeable = False
    return array


def sparse_tensor_value(sparse: SparseTensorProto, base_dir: str | None = None) -> Array:
    """Return the dense array that a SparseTensorProto stands for; never writable.

    Raises:
        ValueError: The parts do not fit together.
    """
    shape = tuple(sparse.dims)
    values = tensor_value(sparse.values, base_dir)
    indices = tensor_value(sparse.indices, base_dir)
    if indices.ndim == 2 and indices.shape == (values.size, len(shape)):
        positions = numpy.ravel_multi_index(tuple(indices.T), shape) if values.size else indices[:, :0].reshape(-1)
    elif indices.ndim == 1 and indices.size == values.size:
        positions = indices
    else:
        raise ValueError(
            f"sparse indices of shape {indices.shape} do not fit {values.size} values of rank {len(shape)}"
        )
    positions = positions.astype(numpy.int64)
    size = int(numpy.prod(shape, dtype=numpy.int64))
    if positions.size and (positions.min() < 0 or positions.max() >= size or (numpy.diff(positions) <= 0).any()):
        raise ValueError("sparse indices are unique, ascending and within the shape")
    dense = numpy.full(size, "" if values.dtype == object else numpy.zeros((), values.dtype), dtype=values.dtype)
    dense[positions] = values.reshape(-1)
    dense = dense.reshape(shape)
    dense.flags.writeable = False
    return dense


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


_ELEMENT_TYPES = frozenset(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}

_FIELD_OF_TYPE: dict[int, str] = {
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.TYPE_PROTO: "tp",
    AttributeProto.FLOATS: "floats",
    AttributeProto.INTS: "ints",
    AttributeProto.STRINGS: "strings",
    AttributeProto.TENSORS: "tensors",
    AttributeProto.GRAPHS: "graphs",
    AttributeProto.SPARSE_TENSORS: "sparse_tensors",
    AttributeProto.TYPE_PROTOS: "type_protos",
}


def attribute_type(attribute: AttributeProto) -> int:
    """Return an attribute's kind; where IR versions before 2 left `type` out, that of the field that is filled in."""
    if attribute.type != AttributeProto.UNDEFINED:
        return int(attribute.type)
    filled = [kind for kind, field in _FIELD_OF_TYPE.items() if _is_filled(attribute, field)]
    return filled[0] if len(filled) == 1 else int(AttributeProto.UNDEFINED)


def _is_filled(attribute: AttributeProto, field: str) -> bool:
    repeated = field.endswith("s") and field != "s"
    return bool(getattr(attribute, field)) if repeated else attribute.HasField(field)


def attribute_value(attribute: AttributeProto, base_dir: str | None = None) -> Any:
    """Return an attribute as kernels see it (registry.Call.attributes).

    Raises:
        ValueError: It cannot be read.
    """
    kind = attribute_type(attribute)
    if kind == AttributeProto.UNDEFINED:
        raise ValueError(f"attribute {attribute.name!r} has no type")
    value = getattr(attribute, _FIELD_OF_TYPE[kind])
    match kind:
        case AttributeProto.STRING:
            return _text(value)
        case AttributeProto.TENSOR:
            return tensor_value(value, base_dir)
        case AttributeProto.SPARSE_TENSOR:
            return sparse_tensor_value(value, base_dir)
        case AttributeProto.STRINGS:
            return [_text(text) for text in value]
        case AttributeProto.TENSORS:
            return [tensor_value(tensor, base_dir) for tensor in value]
        case AttributeProto.SPARSE_TENSORS:
            return [sparse_tensor_value(sparse, base_dir) for sparse in value]
        case AttributeProto.INT | AttributeProto.FLOAT | AttributeProto.GRAPH | AttributeProto.TYPE_PROTO:
            return value
    return list(value)


def type_proto(type_string: str | None, shape: tuple[int, ...] | None = None) -> TypeProto:
    """Return the TypeProto of a type string, with the shape of a tensor; without a type the empty one.

    Raises:
        ValueError: It is no type.
    """
    if type_string is None:
        return TypeProto()
    if (dtype := dtypes.dtype_of_type(type_string)) is not None:
        return onnx.helper.make_tensor_type_proto(dtypes.element_type(dtype), shape)
    if type_string.startswith("seq("):
        return onnx.helper.make_sequence_type_proto(type_proto(type_string[4:-1]))
    if type_string.startswith("optional("):
        return onnx.helper.make_optional_type_proto(type_proto(type_string[9:-1]))
    if type_string.startswith("map("):
        key, inner = type_string[4:-1].split(", ", 1)
        return onnx.helper.make_map_type_proto(dtypes.element_type(key), type_proto(dtypes.tensor_type(inner)))
    raise ValueError(f"{type_string!r} is not a type")
