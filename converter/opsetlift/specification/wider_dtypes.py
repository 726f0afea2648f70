"""Wider dtypes: they hold every value of a dtype, and Cast converts to them and back without a change.

Signed zeros, infinities and NaN are values, the payload of a NaN is not. Cast takes both dtypes at the opset asked for.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from opsetlift.specification import history
from opsetlift.specification.dtypes import tensor_type

_WIDER_DTYPES = {
    "bool": ("uint8", "int8", "int32", "float", "int64", "float16", "double"),
    "int2": ("int8", "int16", "int32", "int64", "float", "double"),
    "uint2": ("uint8", "int8", "int16", "int32", "int64", "float", "double"),
    "int4": ("int8", "int16", "int32", "int64", "float", "double"),
    "uint4": ("uint8", "int8", "int16", "int32", "int64", "float", "double"),
    "int8": ("int16", "int32", "int64", "float", "float16", "double"),
    "uint8": ("int16", "uint16", "int32", "uint32", "int64", "float", "float16", "double"),
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
"""Wider dtypes by dtype, the one to prefer first: integers in integers, then float, which runtimes compute, then the
narrowest."""

_FLOAT8_WITH_INFINITY = "float8e5m2"


@lru_cache(maxsize=1024)
def cast_takes(dtype: str, opset: int) -> bool:
    """Whether Cast converts a dtype, both ways, at an opset."""
    found = history.definition("", "Cast", opset)
    return found is not None and all(tensor_type(dtype) in found.allowed_types(variable) for variable in ("T1", "T2"))


def exact_wider_dtype(dtype: str, allowed: Collection[str], opset: int) -> str | None:
    """The best wider dtype for `dtype` among the types `allowed` ("tensor(float)", ...); None where there is none."""
    if not cast_takes(dtype, opset):
        return None
    for wider in _WIDER_DTYPES.get(dtype, ()):
        if tensor_type(wider) in allowed and cast_takes(wider, opset):
            return wider
    return None


def wider_dtypes_of(dtype: str) -> tuple[str, ...]:
    """The dtypes that hold every value of `dtype`, the one to prefer first."""
    return _WIDER_DTYPES.get(dtype, ())


def holds(wider: str, dtype: str) -> bool:
    """Whether every value of `dtype` is one of `wider`."""
    return wider == dtype or wider in _WIDER_DTYPES.get(dtype, ())


def cast_back_attributes(dtype: str) -> dict[str, int]:
    """What a Cast from a wider dtype back to `dtype` needs, so that infinities stay: a saturating one has none."""
    return {"saturate": 0} if dtype == _FLOAT8_WITH_INFINITY else {}
