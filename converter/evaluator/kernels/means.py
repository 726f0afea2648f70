"""The mean, summed in double as ReduceMean does, and without numpy's warnings about empty slices."""

from __future__ import annotations

import math
from typing import Any

import numpy
from numpy.typing import NDArray


def mean(x: NDArray[Any], axes: tuple[int, ...], *, keepdims: bool = False) -> NDArray[Any]:
    """Over `axes`, in the dtype of `x`, float or double; NaN where there is nothing to average."""
    count = math.prod(x.shape[axis] for axis in axes)
    total = x.sum(axis=axes, keepdims=keepdims, dtype=numpy.float64)
    return numpy.asarray(total / numpy.float64(count)).astype(x.dtype, copy=False)
