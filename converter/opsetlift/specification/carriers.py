"""Wider types that represent every value of a dtype, and to which Cast converts without a change.

A wider type (carrier) holds every value of the dtype, signed zeros, infinities and NaN included (the payload of a NaN
is no value), and Cast takes both dtypes at the opset in question.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from opsetlift.specification import history
from opsetlift.specification.dtypes import tensor_type

_CARRIERS = {
    "bool": ("uint8", "int8", "int32", "float", "int64", "float16", "double"),
    "int2": ("int8", "int16", "int32", "int64", "float", "double"),
    "uint2": ("uint8", "int8", "int16", "int32", "int64", "float", "double"),
    "int4": ("int8", "int16", "int32", "int64", "float", "double"),
    "uint4": ("uint8", "int8", "int16", "int32", "int64", "float", "double"),
    "int8": ("int16", "int32", "int64", "float16", "float", "double"),
    "uint8": ("int16", "uint16", "int32", "uint32", "int64", "float16", "float", "double"),
    "int16": ("int32", "int64", "float", "double"),
    "uint16": ("int32", "uint32", "int64", "float", "double"),
    "int32": ("int64", "double"),
    "uint32": ("int64", "uint64", "double"),
    "float4e2m1": ("float16", "float", "double"),
    "float6e2m3": ("float16", "float", "double"),
    "float6e3m2": ("float16", "float", "double"),
    "float8e4m3fn": ("float16", "float", "double"),
    "float8e4m3fnuz": ("float16", "float", "double"),
    "float8e5m2": ("float16", "float", "double"),
    "float8e5m2fnuz": ("float16", "float", "double"),
    "float8e8m0": ("bfloat16", "float", "double"),
    "float16": ("float", "double"),
    "bfloat16": ("float", "double"),
    "float": ("double",),
}
"""Wider types by dtype, the one to prefer first: integers in integers, then the narrowest."""

_FLOAT8_WITH_INFINITY = "float8e5m2"


@lru_cache(maxsize=1024)
def cast_takes(dtype: str, opset: int) -> bool:
    """Whether Cast converts a dtype, both ways, at an opset."""
    found = history.definition("", "Cast", opset)
    return found is not None and all(tensor_type(dtype) in found.allowed_types(variable) for variable in ("T1", "T2"))


def exact_carrier(dtype: str, allowed: Collection[str], opset: int) -> str | None:
    """The best wider type for `dtype` among the types `allowed` ("tensor(float)", ...); None where there is none."""
    if not cast_takes(dtype, opset):
        return None
    for carrier in _CARRIERS.get(dtype, ()):
        if tensor_type(carrier) in allowed and cast_takes(carrier, opset):
            return carrier
    return None


def carriers_of(dtype: str) -> tuple[str, ...]:
    """The dtypes that hold every value of `dtype`, the one to prefer first."""
    return _CARRIERS.get(dtype, ())


def holds(carrier: str, dtype: str) -> bool:
    """Whether every value of `dtype` is one of `carrier`."""
    return carrier == dtype or carrier in _CARRIERS.get(dtype, ())


def cast_back_attributes(dtype: str) -> dict[str, int]:
    """What a Cast from a wider type back to `dtype` needs, so that infinities stay: a saturating one has none."""
    return {"saturate": 0} if dtype == _FLOAT8_WITH_INFINITY else {}
