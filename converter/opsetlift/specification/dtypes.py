"""Types as the schemas spell them ("tensor(float)", "seq(tensor(int64))") and their numpy counterparts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, TypeProto

_SCHEMA_SPELLING = {
    name: {"BOOL": "bool", "STRING": "string"}.get(name, name.lower())
    for name in TensorProto.DataType.keys()  # noqa: SIM118 (an enum wrapper, not a mapping)
    if name != "UNDEFINED"
}

_NUMPY_DTYPES: dict[str, numpy.dtype[Any]] = {
    "bool": numpy.dtype(bool),
    "double": numpy.dtype(numpy.float64),
    "float": numpy.dtype(numpy.float32),
    "string": numpy.dtype(object),
    "float4e2m1": numpy.dtype(ml_dtypes.float4_e2m1fn),
    "float6e2m3": numpy.dtype(ml_dtypes.float6_e2m3fn),
    "float6e3m2": numpy.dtype(ml_dtypes.float6_e3m2fn),
    "float8e4m3fn": numpy.dtype(ml_dtypes.float8_e4m3fn),
    "float8e4m3fnuz": numpy.dtype(ml_dtypes.float8_e4m3fnuz),
    "float8e5m2": numpy.dtype(ml_dtypes.float8_e5m2),
    "float8e5m2fnuz": numpy.dtype(ml_dtypes.float8_e5m2fnuz),
    "float8e8m0": numpy.dtype(ml_dtypes.float8_e8m0fnu),
    **{name: numpy.dtype(getattr(ml_dtypes, name)) for name in ("bfloat16", "int2", "uint2", "int4", "uint4")},
    **{f"int{bits}": numpy.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": numpy.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{name: numpy.dtype(name) for name in ("float16", "complex64", "complex128")},
}
"""The numpy (or ml_dtypes) dtype of each dtype, also of those that the installed onnx does not know yet."""

_NAMES_OF_NUMPY_DTYPES = {dtype: name for name, dtype in _NUMPY_DTYPES.items()}

DIGITS = {"bfloat16": 8, "float16": 11, "float": 24, "double": 53}
"""Binary digits of a number in each floating-point dtype that operators compute in."""


@lru_cache(maxsize=1024)
def dtype_name(element_type: int) -> str:
    """How the schemas spell an element type: TensorProto.FLOAT -> "float". Raises ValueError for an unknown number."""
    try:
        spelling: str = _SCHEMA_SPELLING[TensorProto.DataType.Name(element_type)]
    except (KeyError, TypeError) as error:  # undefined, or no number at all
        raise ValueError(f"{element_type!r} is no element type") from error
    return spelling


@lru_cache(maxsize=1024)
def element_type(name: str) -> int:
    """The TensorProto element type of a spelling: "float" -> TensorProto.FLOAT. Raises ValueError for an unknown."""
    return int(TensorProto.DataType.Value(name.upper()))


def by_element_type(values: Mapping[str, int]) -> dict[int, int]:
    """A table by spelling as one by element type, without the dtypes that the installed onnx does not know."""
    return {element_type(name): value for name, value in values.items() if name in _SCHEMA_SPELLING.values()}


@lru_cache(maxsize=1024)
def numpy_dtype(name: str) -> numpy.dtype[Any]:
    """The numpy (or ml_dtypes) dtype that holds a dtype: "float" -> float32, "string" -> object.

    Raises:
        ValueError: The name is that of no dtype.
    """
    try:
        return _NUMPY_DTYPES[name]
    except KeyError as error:
        raise ValueError(f"no dtype has the name {name!r}") from error


@lru_cache(maxsize=1024)
def name_of_numpy_dtype(dtype: numpy.dtype[Any]) -> str:
    """The inverse of `numpy_dtype`; numpy's text dtypes count as string. Raises ValueError where ONNX has none."""
    if dtype.kind in "OUS" or dtype.kind == "T":
        return "string"
    try:
        return _NAMES_OF_NUMPY_DTYPES[dtype]
    except KeyError as error:
        raise ValueError(f"ONNX has no dtype for numpy's {dtype}") from error


def tensor_type(name: str) -> str:
    """The type of a tensor of a dtype: "float" -> "tensor(float)"."""
    return f"tensor({name})"


def tensor_type_proto(name: str, shape: Sequence[int | str | None] | None = None) -> TypeProto:
    """The type of a tensor: of any rank, or of the given dimensions, None where one is open."""
    return onnx.helper.make_tensor_type_proto(element_type(name), shape)


def shape_of_type(type_proto: TypeProto) -> list[int | str | None] | None:
    """A number, a symbol or None per dimension; None where the rank is not given.

    Exporters write negative numbers for dimensions that are open, and runtimes read them so.
    """
    tensor = type_proto.tensor_type
    if not tensor.HasField("shape"):
        return None
    return [
        # What is not 0 has been given; asking whether it was takes as long as everything else here.
        (dim.dim_value if dim.dim_value > 0 else None)
        if dim.dim_value
        else (0 if dim.HasField("dim_value") else dim.dim_param or None)
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
