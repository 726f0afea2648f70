"""What the dtypes can hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy

from opsetlift.specification import dtypes


@dataclass(frozen=True)
class FloatLimits:
    """The limits of a dtype of floats, as Python floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float


@lru_cache(maxsize=1024)
def float_limits(dtype: numpy.dtype[Any]) -> FloatLimits:
    """The limits of one of numpy's or ml_dtypes' dtypes of floats, not of a complex one."""
    found: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    numbers = (found.eps, found.max, found.min, found.smallest_normal, found.smallest_subnormal)
    return FloatLimits(int(found.bits), *map(float, numbers))


@lru_cache(maxsize=1024)
def integer_limits(dtype: numpy.dtype[Any]) -> tuple[int, int]:
    """The smallest and the largest integer of a dtype, those of ml_dtypes included."""
    found: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(found.min), int(found.max)


@lru_cache(maxsize=1024)
def is_floating(dtype: numpy.dtype[Any]) -> bool:
    """Whether the dtype is one of floats, ml_dtypes' and the complex ones included."""
    if dtype.kind in "fc":
        return True
    return dtype.kind == "V" and dtypes.name_of_numpy_dtype(dtype).startswith(("bfloat", "float"))
