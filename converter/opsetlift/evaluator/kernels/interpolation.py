"""Where an interpolated value comes from: for each point on an axis its neighbours and their weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy

from opsetlift.evaluator.kernels.axes import Array
from opsetlift.evaluator.kernels.registry import Call


@dataclass(frozen=True)
class Taps:
    """The neighbours of every point, both arrays of shape (points, neighbours)."""

    indices: Array
    weights: Array


def linear_weight(distance: Array) -> Array:
    """The triangle of linear interpolation."""
    height: Array = 1 - abs(distance)
    return height.clip(0, None)


def cubic_weight(distance: Array, coefficient: float) -> Array:
    """Equation (4) of Keys, "Cubic Convolution Interpolation", with the coefficient `a`."""
    a, d = distance.dtype.type(coefficient), abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return numpy.where(d <= 1, near, numpy.where(d < 2, far, 0))


def taps(points: Array, size: int, *, cubic_coefficient: float | None, stretch: float, exclude_outside: bool) -> Taps:
    """The neighbours of `points` on an axis of `size` elements; linear where there is no cubic coefficient.

    `stretch` >= 1 widens the filter (antialiasing). A neighbour outside is the edge's element, or left out.
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
    return Taps(indices.astype(numpy.int64), weights)


def apply_taps(data: Array, axis: int, neighbours: Taps) -> Array:
    """The weighted averages of `data` along `axis`, in the dtype of `data`."""
    shape = [-1 if position == axis else 1 for position in range(data.ndim)]
    result = numpy.zeros((*data.shape[:axis], len(neighbours.indices), *data.shape[axis + 1 :]), data.dtype)
    for indices, weights in zip(neighbours.indices.T, neighbours.weights.T, strict=True):
        term = data.take(indices, axis)
        term *= weights.astype(data.dtype).reshape(shape)
        result += term
    return result


def working_copy(call: Call, data: Array) -> Array:
    """`data` in the dtype to interpolate in: double for wide integers and double, otherwise float."""
    kind, width = data.dtype.kind, data.dtype.itemsize
    if kind == "O":
        call.fail("strings have no weighted average; only the mode nearest takes them")
    if kind == "c":
        return data
    return data.astype(numpy.float64 if kind in "iuf" and width >= (8 if kind == "f" else 4) else numpy.float32)


def cast_back(values: Array, dtype: numpy.dtype[Any]) -> Array:
    """Averages in the dtype of the operator: integers truncate, as a cast does, and stay in their range.

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
