"""The mean, without numpy's warnings about empty slices and in fewer steps."""

from __future__ import annotations

import math
from typing import Any

import numpy
from numpy.typing import NDArray


def mean(x: NDArray[Any], axes: tuple[int, ...], *, keepdims: bool = False) -> NDArray[Any]:
    """Over `axes`, in the dtype of `x`; NaN where there is nothing to average."""
    count = math.prod(x.shape[axis] for axis in axes)
    return numpy.asarray(x.sum(axis=axes, keepdims=keepdims) / x.dtype.type(count))
