"""Types as the schemas spell them ("tensor(float)", "seq(tensor(int64))") and their numpy counterparts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy
import onnx
from onnx import TensorProto, TypeProto

_SCHEMA_SPELLING = {
    name: {"BOOL": "bool", "STRING": "string"}.get(name, name.lower())
    for name in TensorProto.DataType.keys()  # noqa: SIM118 (an enum wrapper, not a mapping)
    if name != "UNDEFINED"
}

DIGITS = {"bfloat16": 8, "float16": 11, "float": 24, "double": 53}
"""Binary digits of a number in each floating-point dtype that operators compute in."""


@lru_cache(maxsize=1024)
def dtype_name(element_type: int) -> str:
    """How the schemas spell an element type: TensorProto.FLOAT -> "float". Raises ValueError for an unknown number."""
    if element_type == TensorProto.UNDEFINED:
        raise ValueError("the element type is undefined")
    spelling: str = _SCHEMA_SPELLING[TensorProto.DataType.Name(element_type)]
    return spelling


@lru_cache(maxsize=1024)
def element_type(name: str) -> int:
    """The TensorProto element type of a spelling: "float" -> TensorProto.FLOAT. Raises ValueError for an unknown."""
    return int(TensorProto.DataType.Value(name.upper()))


@lru_cache(maxsize=1024)
def numpy_dtype(name: str) -> numpy.dtype[Any]:
    """The numpy (or ml_dtypes) dtype that holds a dtype: "float" -> float32, "string" -> object."""
    if name == "string":
        return numpy.dtype(object)
    return numpy.dtype(onnx.helper.tensor_dtype_to_np_dtype(element_type(name)))


@lru_cache(maxsize=1024)
def name_of_numpy_dtype(dtype: numpy.dtype[Any]) -> str:
    """The inverse of `numpy_dtype`; numpy's text dtypes count as string. Raises ValueError where ONNX has none."""
    if dtype.kind in "OUS" or dtype.kind == "T":
        return "string"
    try:
        return dtype_name(onnx.helper.np_dtype_to_tensor_dtype(dtype))
    except (KeyError, ValueError) as error:
        raise ValueError(f"ONNX has no dtype for numpy's {dtype}") from error


def tensor_type(name: str) -> str:
    """The type of a tensor of a dtype: "float" -> "tensor(float)"."""
    return f"tensor({name})"


def tensor_type_proto(name: str, shape: Sequence[int | str | None] | None = None) -> TypeProto:
    """The type of a tensor: of any rank, or of the given dimensions, None where one is open."""
    return onnx.helper.make_tensor_type_proto(element_type(name), shape)


def shape_of_type(type_proto: TypeProto) -> list[int | str | None] | None:
    """A number, a symbol or None per dimension; None where the rank is not given."""
    tensor = type_proto.tensor_type
    if not tensor.HasField("shape"):
        return None
    return [
        # What is not 0 has been given; asking whether it was takes as long as everything else here.
        dim.dim_value or (0 if dim.HasField("dim_value") else dim.dim_param or None)
        for dim in tensor.shape.dim
    ]


def type_of_spelling(spelling: str) -> TypeProto | None:
    """The inverse of `type_string`, for tensors and for sequences and optionals of them; None for other types."""
    result = TypeProto()
    kind, _, rest = spelling.partition("(")
    if kind == "tensor":
        result.tensor_type.elem_type = element_type(rest[:-1])
        return result
    inner = type_of_spelling(rest[:-1]) if kind in ("seq", "optional") else None
    if inner is None:
        return None
    (result.sequence_type if kind == "seq" else result.optional_type).elem_type.CopyFrom(inner)
    return result


def dtype_of_type(type_string: str) -> str | None:
    """The dtype of a tensor: "tensor(float)" -> "float"; None for sequences, maps, optionals and sparse tensors."""
    return type_string[7:-1] if type_string.startswith("tensor(") else None


def type_string(type_proto: TypeProto) -> str | None:
    """A type as the schemas spell it, shapes left out; None where the type (or an element type in it) is not given."""
    kind = type_proto.WhichOneof("value")
    if kind is None:
        return None
    value = getattr(type_proto, kind)
    if kind in ("tensor_type", "sparse_tensor_type"):
        if value.elem_type == TensorProto.UNDEFINED:
            return None
        prefix = "tensor" if kind == "tensor_type" else "sparse_tensor"
        return f"{prefix}({dtype_name(value.elem_type)})"
    if kind == "map_type":
        inner = type_string(value.value_type)
        return inner and f"map({dtype_name(value.key_type)}, {dtype_of_type(inner) or inner})"
    if kind in ("sequence_type", "optional_type"):
        inner = type_string(value.elem_type)
        return inner and f"{'seq' if kind == 'sequence_type' else 'optional'}({inner})"
    return None
