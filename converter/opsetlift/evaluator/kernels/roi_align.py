"""Pooling over regions of interest: RoiAlign (MaxRoiPool is with the poolings).

RoiAlign  16: +coordinate_transformation_mode; its default, half_pixel, changes the result
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy

from opsetlift.evaluator.kernels.accumulation import total
from opsetlift.evaluator.kernels.grid_sample import float_precision
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

_MOST_SAMPLES = 1 << 20
"""On an axis of a region. In float32, where one has more the places run together."""


@kernel("RoiAlign", since=(10, 16, 22), changes=(16,))
def roi_align(call: Call, data: Array, rois: Array, batch_indices: Array) -> Array:
    """RoiAlign-10, 16, 22: Averages or maxima of interpolated points in regions.

    RoiAlign-10 is output_half_pixel, "a backward-compatible behavior".

    Args:
        call: output_height, output_width, sampling_ratio, spatial_scale, mode and, from 16, the coordinate mode.
        data: [N, C, H, W], any float dtype.
        rois: [regions, 4], corners, of the dtype of data.
        batch_indices: int64 [regions].

    Returns:
        [regions, C, output_height, output_width], of the dtype of data.
    """
    attributes = call.attributes
    transformation, mode = attributes.get("coordinate_transformation_mode", "output_half_pixel"), attributes["mode"]
    shape = attributes["output_height"], attributes["output_width"]
    ratio = attributes["sampling_ratio"]
    _check_inputs(call, data, rois, batch_indices)
    if transformation not in ("half_pixel", "output_half_pixel"):
        call.fail(f"coordinate_transformation_mode is {transformation!r}; it is half_pixel or output_half_pixel")
    if mode not in ("avg", "max"):
        call.fail(f"mode is {mode!r}; it is avg or max")
    if min(shape) < 1 or ratio < 0:
        call.fail(f"the output is {list(shape)} with sampling_ratio {ratio}; sizes are positive, the ratio >= 0")

    precision = float_precision(data)
    # Channels last: each sampled point is one contiguous read.
    images = numpy.ascontiguousarray(data.transpose(0, 2, 3, 1)).astype(precision, copy=False)
    corners = rois.astype(precision) * precision.type(attributes["spatial_scale"])
    if not numpy.isfinite(corners).all():
        call.fail("rois has infinite coordinates, or NaN")
    half_pixel = transformation == "half_pixel"
    corners = corners - precision.type(0.5) if half_pixel else corners
    # Columns are x1, y1, x2, y2; the axes of the image are (y, x).
    starts, extents = corners[:, 1::-1], corners[:, :1:-1] - corners[:, 1::-1]
    if not half_pixel:
        # Not in the text: the original RoIAlign, and with it onnxruntime, makes each region at least one pixel large.
        extents = numpy.maximum(extents, 1)
    result = numpy.zeros((len(rois), *shape, data.shape[1]), precision)
    for number, (start, extent) in enumerate(zip(starts, extents, strict=True)):
        samples = [ratio or int(numpy.ceil(extent[axis] / shape[axis])) for axis in range(2)]
        if min(samples) >= 1:
            result[number] = _pooled(images[batch_indices[number]], start, extent, shape, samples, mode)
    return numpy.ascontiguousarray(result.transpose(0, 3, 1, 2)).astype(data.dtype)


def _check_inputs(call: Call, data: Array, rois: Array, batch_indices: Array) -> None:
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 4:
        call.fail(f"X must be (N, C, H, W) and rois (num_rois, 4), not {list(data.shape)} and {list(rois.shape)}")
    if batch_indices.shape != rois.shape[:1]:
        call.fail(f"batch_indices has the shape {list(batch_indices.shape)}; it must be [{rois.shape[0]}]")
    if batch_indices.size and not (batch_indices.min() >= 0 and batch_indices.max() < data.shape[0]):
        call.fail(f"a batch index is not in [0, {data.shape[0] - 1}]")
    if 0 in data.shape[2:]:
        call.fail("X has no pixel to sample")


def _pooled(
    image: Array, start: Array, extent: Array, shape: Sequence[int], samples: Sequence[int], mode: str
) -> Array:
    """The averages or maxima of the bins of one region of an [H, W, C] image, [*shape, C]."""
    if max(samples[axis] * shape[axis] for axis in range(2)) > _MOST_SAMPLES:
        raise MemoryError(f"a region of {samples[0] * shape[0]} x {samples[1] * shape[1]} samples")
    places = [
        _near_image(_places(start[axis], extent[axis], shape[axis], samples[axis]), image.shape[axis])
        for axis in range(2)
    ]
    terms = _weighted_corners(image, *(near.reshape(-1) for near in places))
    # The text has both modes pool interpolated values. ONNX's test of max, its reference and onnxruntime take the
    # greatest of the four weighted terms where the interpolation would add them; no executor does otherwise.
    values = functools.reduce(numpy.add if mode == "avg" else numpy.maximum, terms)
    bins = values.reshape(*places[0].shape, *places[1].shape, -1)
    if mode == "avg":
        return numpy.asarray(total(bins, (1, 3)) / (float(samples[0]) * samples[1]), image.dtype)
    maxima = numpy.asarray(bins.max(axis=(1, 3)))
    # Samples that were left out are 0.
    return maxima if [bins.shape[1], bins.shape[3]] == samples else numpy.maximum(maxima, 0)


def _places(start: Array, extent: Array, bins: int, samples: int) -> Array:
    """The sampling coordinates on one axis, [bins, samples], evenly spaced."""
    size = extent / bins
    bin_starts = start + numpy.arange(bins, dtype=size.dtype)[:, None] * size
    return bin_starts + (numpy.arange(samples, dtype=size.dtype) + size.dtype.type(0.5)) * size / samples


def _near_image(places: Array, size: int) -> Array:
    """Keep of each bin as many neighbouring places, at least one, as hold all that have a value in any bin.

    A region may be far larger than the image.
    """
    inside = _has_value(places, size)
    count = max(1, int(numpy.count_nonzero(inside, axis=1).max()))
    first = numpy.minimum(inside.argmax(axis=1), places.shape[1] - count)
    return numpy.take_along_axis(places, first[:, None] + numpy.arange(count), axis=1)


def _has_value(places: Array, size: int) -> Array:
    """A point more than one pixel outside has none; up to there it has the edge's."""
    return numpy.asarray((places >= -1) & (places <= size))


def _weighted_corners(image: Array, rows: Array, columns: Array) -> Iterator[Array]:
    """Yield the four terms of the bilinear interpolation of an [H, W, C] image, each [row, column, C].

    They are 0 where a point has no value.
    """
    for row, row_weights in _ends(rows, image.shape[0]):
        for column, column_weights in _ends(columns, image.shape[1]):
            weights = row_weights[:, None] * column_weights
            term = image[row[:, None], column]
            term *= weights[..., None]
            # 0, not NaN, where a pixel without weight is infinite.
            term[weights == 0] = 0
            yield term


def _ends(places: Array, size: int) -> Iterator[tuple[Array, Array]]:
    """The pixels before and after each place on an axis, with their weights."""
    clamped = places.clip(0, size - 1)
    before = numpy.floor(clamped)
    fraction = clamped - before
    inside = _has_value(places, size)
    first = before.astype(numpy.int64)
    yield first, numpy.where(inside, 1 - fraction, 0)
    yield numpy.minimum(first + 1, size - 1), numpy.where(inside, fraction, 0)
