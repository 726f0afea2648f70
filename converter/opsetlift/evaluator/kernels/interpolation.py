"""Where an interpolated value comes from: for each point on an axis its neighbours and their weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy

from opsetlift.evaluator.kernels.registry import Call
from opsetlift.model.arrays import Array


@dataclass(frozen=True)
class Taps:
    """The neighbours of every point, all arrays of shape (points, neighbours)."""

    indices: Array
    weights: Array
    left_out: Array | None = None
    """Which neighbours are no terms at all; None where each is one, also with the weight 0."""


def linear_weight(distance: Array) -> Array:
    """Return the weights 1 - |d|, at least 0, of neighbours at distances [*shape] of a float dtype."""
    height: Array = 1 - abs(distance)
    return height.clip(0, None)


def cubic_weight(distance: Array, coefficient: float) -> Array:
    """Return weights for distances [*shape]: equation (4) of Keys, "Cubic Convolution Interpolation"."""
    a, d = distance.dtype.type(coefficient), abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return numpy.where(d <= 1, near, numpy.where(d < 2, far, 0))


def taps(points: Array, size: int, *, cubic_coefficient: float | None, stretch: float, exclude_outside: bool) -> Taps:
    """Find the neighbours of points on an axis, with their weights.

    Args:
        points: float32 or float64 [n].
        size: The number of elements on the axis.
        cubic_coefficient: Keys' `a`; None for linear interpolation.
        stretch: How much the filter is widened, 1 or more (antialiasing).
        exclude_outside: Whether a neighbour outside is left out; otherwise it is the edge's element.

    Returns:
        Indices and weights [n, neighbours].
    """
    reach = math.ceil((1 if cubic_coefficient is None else 2) * stretch)
    neighbours = numpy.floor(points)[:, None] + numpy.arange(1 - reach, 1 + reach, dtype=points.dtype)
    distances = (neighbours - points[:, None]) / points.dtype.type(stretch)
    weights = linear_weight(distances) if cubic_coefficient is None else cubic_weight(distances, cubic_coefficient)
    indices = neighbours.clip(0, size - 1)
    if exclude_outside:
        weights = numpy.where(neighbours == indices, weights, 0)
    if exclude_outside or stretch > 1:
        total = weights.sum(axis=1, keepdims=True)
        # A point whose neighbours are all left out has no value to take: 0, where the quotient would be 0 / 0.
        weights = numpy.divide(weights, total, out=numpy.zeros_like(weights), where=total != 0)
    left_out = None
    if cubic_coefficient is None:
        # Where both neighbours are the same element, it is the value, as in runtimes: 0 * infinity would be NaN.
        left_out = (weights == 0) & (indices == indices[:, :1]).all(axis=1, keepdims=True)
        left_out &= (weights != 0).any(axis=1, keepdims=True)
    return Taps(indices.astype(numpy.int64), weights, left_out if left_out is not None and left_out.any() else None)


def apply_taps(data: Array, axis: int, neighbours: Taps) -> Array:
    """Average data [*before, size, *after] along an axis with weights for n points: [*before, n, *after]."""
    shape = [-1 if position == axis else 1 for position in range(data.ndim)]
    result = numpy.zeros((*data.shape[:axis], len(neighbours.indices), *data.shape[axis + 1 :]), data.dtype)
    for number, (indices, weights) in enumerate(zip(neighbours.indices.T, neighbours.weights.T, strict=True)):
        term = data.take(indices, axis)
        term *= weights.astype(data.dtype).reshape(shape)
        if neighbours.left_out is not None:
            numpy.copyto(term, 0, where=neighbours.left_out[:, number].reshape(shape))
        result += term
    return result


def working_copy(call: Call, data: Array) -> Array:
    """Return data [*shape] in the dtype to interpolate in: float64 for it and wide integers, else float32."""
    kind, width = data.dtype.kind, data.dtype.itemsize
    if kind == "O":
        call.fail("strings have no weighted average; only the mode nearest takes them")
    if kind == "c":
        return data
    return data.astype(numpy.float64 if kind in "iuf" and width >= (8 if kind == "f" else 4) else numpy.float32)


def cast_back(values: Array, dtype: numpy.dtype[Any]) -> Array:
    """Return averages [*shape] in the dtype of the operator: integers truncate, as casts do, and stay in their range.

    The texts leave the rounding open. ONNX's reference truncates, onnxruntime too, but where it antialiases.
    """
    if dtype.kind in "iu":
        limits = numpy.iinfo(dtype)
        truncated = numpy.trunc(values)
        result = truncated.clip(limits.min, limits.max).astype(dtype)
        # The greatest 64-bit integers are no doubles; the clip above rounds them up, out of the range.
        result[truncated >= float(limits.max)] = limits.max
        return result
    return values.astype(dtype)
