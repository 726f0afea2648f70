"""Values read at freely given positions: GridSample, and the grids that AffineGrid makes for it.

GridSample  20: any number of spatial axes; modes bilinear, bicubic renamed linear, cubic
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from opsetlift.evaluator.kernels.accumulation import product
from opsetlift.evaluator.kernels.axes import int_list, zero
from opsetlift.evaluator.kernels.interpolation import cast_back, cubic_weight, linear_weight, working_copy
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

Confine = Callable[[Array, int], Array]
"""Brings neighbours' indices on an axis of the given size into it; a neighbour that it leaves outside counts as 0."""

# The text names no coefficient for the cubic mode; this one is PyTorch's, which the text points to, and onnxruntime's.
_CUBIC_COEFFICIENT = -0.75


def float_precision(*tensors: Array) -> numpy.dtype[Any]:
    """Return the dtype to compute in with floating-point operands: float64 if one is, otherwise float32."""
    wide = any(tensor.dtype == numpy.float64 for tensor in tensors)
    return numpy.dtype(numpy.float64 if wide else numpy.float32)


def leave_outside(indices: Array, size: int) -> Array:
    """Return indices as they are: neighbours outside count as 0."""
    return indices


def sample(
    data: Array, points: Sequence[Array], reach: int, weight: Callable[[Array], Array], confine: Confine
) -> Array:
    """Interpolate values at points.

    Args:
        data: [batch, channels, *spatial].
        points: [batch, point] for each spatial axis.
        reach: How many neighbours on either side of a point count.
        weight: The weight of a neighbour by its distance on each axis.
        confine: What becomes of neighbours outside.

    Returns:
        [batch, channels, point], of the dtype of data.
    """
    batch, channels, *spatial = data.shape
    flat = data.reshape(batch, channels, math.prod(spatial))
    neighbours = [_neighbours(point, reach, weight) for point in points]
    result = numpy.zeros((batch, channels, points[0].shape[1]), data.dtype)
    for corner in itertools.product(range(2 * reach), repeat=len(spatial)):
        total = numpy.ones(points[0].shape, points[0].dtype)
        indices = []
        for tap, (axis_indices, axis_weights) in zip(corner, neighbours, strict=True):
            indices.append(axis_indices[tap])
            total = total * axis_weights[tap]
        values = _read(flat, indices, spatial, confine)
        values *= total[:, None].astype(data.dtype)
        result += values
    return result


def _neighbours(points: Array, reach: int, weight: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Indices and weights, both [neighbour, batch, point]."""
    offsets = numpy.arange(1 - reach, 1 + reach, dtype=points.dtype)[:, None, None]
    places = numpy.floor(points) + offsets
    return as_indices(places), weight(places - points)


def as_indices(places: Array) -> Array:
    """Return float places [*shape] as int64; NaN and what is far beyond any axis become some far place outside."""
    far = float(2**40)
    return numpy.nan_to_num(places, nan=-far, posinf=far, neginf=-far).clip(-far, far).astype(numpy.int64)


def _read(flat: Array, indices: Sequence[Array], spatial: Sequence[int], confine: Confine) -> Array:
    """The elements at `indices`, [batch, channels, point]."""
    position = numpy.zeros_like(indices[0])
    inside = numpy.ones(indices[0].shape, bool)
    for axis_indices, size in zip(indices, spatial, strict=True):
        confined = confine(axis_indices, size)
        inside &= (confined >= 0) & (confined < size)
        position = position * size + confined.clip(0, size - 1)
    values = numpy.empty((*flat.shape[:2], position.shape[1]), flat.dtype)
    for image, places, found in zip(flat, position, values, strict=True):
        image.take(places, axis=1, out=found, mode="clip")
    return values if inside.all() else numpy.where(inside[:, None], values, zero(flat.dtype))


@kernel("GridSample", since=(16, 20, 22), changes=(20,))
def grid_sample(call: Call, data: Array, grid: Array) -> Array:
    """GridSample-16, 20, 22: data interpolated at the places of a grid.

    Args:
        call: mode, padding_mode, align_corners.
        data: [N, C, *spatial], any dtype of the version; two spatial axes before 20.
        grid: [N, *spatial of the output, rank], floats: 1 and -1 are the edges, the last axis comes first.

    Returns:
        [N, C, *spatial of the output], of the dtype of data.
    """
    rank = data.ndim - 2
    if (call.since_version < 20 and rank != 2) or rank < 1:
        call.fail(f"the input has {rank} spatial axes; this version takes {'2' if call.since_version < 20 else '>= 1'}")
    if grid.ndim != data.ndim or grid.shape[0] != data.shape[0] or grid.shape[-1] != rank:
        call.fail(f"grid has the shape {list(grid.shape)}; it must be [{data.shape[0]}, ..., {rank}]")
    if 0 in data.shape[2:]:
        call.fail("the input has no element to sample")
    align_corners = bool(call.attributes["align_corners"])
    precision = float_precision(data, grid)
    # The grid lists the coordinates from the innermost axis to the outermost.
    normalized = grid.astype(precision).reshape(grid.shape[0], math.prod(grid.shape[1:-1]), rank)[..., ::-1]
    points = []
    for axis, size in enumerate(data.shape[2:]):
        place = normalized[..., axis] + 1
        points.append(place / 2 * (size - 1) if align_corners else (place * size - 1) / 2)

    confine = _padding(call, align_corners)
    mode = call.attributes["mode"]
    linear, cubic = ("linear", "cubic") if call.since_version >= 20 else ("bilinear", "bicubic")
    if mode == "nearest":
        # Rounded first, then padded, as in ONNX's reference and onnxruntime; only ties outside depend on the order.
        rounded = [as_indices(numpy.rint(point)) for point in points]
        flat = data.reshape(*data.shape[:2], math.prod(data.shape[2:]))
        result = _read(flat, rounded, data.shape[2:], confine)
    elif mode == linear:
        result = cast_back(sample(working_copy(call, data), points, 1, linear_weight, confine), data.dtype)
    elif mode == cubic:
        averages = sample(working_copy(call, data), points, 2, _cubic, confine)
        result = cast_back(averages, data.dtype)
    else:
        call.fail(f"mode is {mode!r}; this version has {linear}, nearest, {cubic}")
    return result.reshape(*data.shape[:2], *grid.shape[1:-1])


def _cubic(distance: Array) -> Array:
    return cubic_weight(distance, _CUBIC_COEFFICIENT)


def _padding(call: Call, align_corners: bool) -> Confine:
    mode = call.attributes["padding_mode"]
    if mode == "zeros":
        return leave_outside
    if mode == "border":
        return lambda indices, size: indices.clip(0, size - 1)
    if mode != "reflection":
        call.fail(f"padding_mode is {mode!r}; it is zeros, border or reflection")
    return _reflect_on_centers if align_corners else _reflect_on_edges


def _reflect_on_centers(indices: Array, size: int) -> Array:
    last = size - 1
    return numpy.asarray(last - abs(last - indices % max(2 * last, 1)))


def _reflect_on_edges(indices: Array, size: int) -> Array:
    wrapped = indices % (2 * size)
    return numpy.asarray(numpy.minimum(wrapped, 2 * size - 1 - wrapped))


@kernel("AffineGrid", since=(20,))
def affine_grid(call: Call, theta: Array, size: Array) -> Array:
    """AffineGrid-20: Grids for GridSample, by affine maps.

    theta [N, rank, rank + 1] of a float dtype, int64 size [rank + 2], rank 2 or 3. The output is [N, *spatial, rank].
    """
    dimensions = int_list(call, size, "size")
    rank = len(dimensions) - 2
    if rank not in (2, 3):
        call.fail(f"size has {len(dimensions)} values; it is (N, C, H, W) or (N, C, D, H, W)")
    if min(dimensions) < 0:
        call.fail(f"size is {dimensions}; a dimension cannot be negative")
    if theta.shape != (dimensions[0], rank, rank + 1):
        call.fail(f"theta has the shape {list(theta.shape)}; size asks for {[dimensions[0], rank, rank + 1]}")
    precision = float_precision(theta)
    call.reserve(math.prod(max(length, 1) for length in dimensions) * rank)
    axes = [_spread(length, bool(call.attributes["align_corners"]), precision) for length in dimensions[2:]]
    # Positions are (x, y[, z], 1): the innermost axis first.
    places = numpy.meshgrid(*axes, indexing="ij")[::-1]
    positions = numpy.stack([*places, numpy.ones_like(places[0])], axis=-1).reshape(-1, rank + 1)
    grid: Array = product(positions, theta.astype(precision).transpose(0, 2, 1))
    return grid.reshape(dimensions[0], *dimensions[2:], rank).astype(theta.dtype)


def _spread(length: int, align_corners: bool, precision: numpy.dtype[Any]) -> Array:
    """`length` positions, evenly spaced, of which the first and last touch, or have as their centers, -1 and 1."""
    index = numpy.arange(length, dtype=precision)
    if align_corners:
        steps, gaps = 2 * index, max(length - 1, 1)
    else:
        steps, gaps = 2 * index + 1, max(length, 1)
    return numpy.asarray(steps / precision.type(gaps) - 1)
