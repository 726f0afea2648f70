"""MaxUnpool and MaxRoiPool."""

from __future__ import annotations

import math

import numpy

from opsetlift.evaluator.kernels.numeric import as_dtype, smallest, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.kernels.windows import per_axis, spatial_shape
from opsetlift.model.arrays import Array


@kernel("MaxUnpool", since=(9, 11, 22), changes=())
def max_unpool(call: Call, x: Array, indices: Array, output_shape: Array | None = None) -> Array:
    """MaxUnpool-9, 11, 22: Elements put where MaxPool found them, else 0.

    The text does not say which shape the indices are flat in when output_shape is given; ONNX's node test does:
    the one that the attributes give, placed at the beginning of a larger output. (onnxruntime: in output_shape.)

    Args:
        call: kernel_shape, strides, pads.
        x: [N, C, *spatial], any float dtype.
        indices: int64, of the shape of x, flat in the whole output.
        output_shape: int64 [rank].

    Returns:
        The unpooled tensor, of the dtype of x.
    """
    spatial = spatial_shape(call, x)
    rank = len(spatial)
    kernel_shape = per_axis(call, "kernel_shape", rank, default=1, least=1)
    strides = per_axis(call, "strides", rank, default=1, least=1)
    pads = per_axis(call, "pads", 2 * rank, default=0, least=0)
    if indices.shape != x.shape:
        call.fail(f"I must have the shape of X, {list(x.shape)}, not {list(indices.shape)}")
    inferred = x.shape[:2] + tuple(
        (size - 1) * stride + taps - begin - end
        for size, stride, taps, begin, end in zip(spatial, strides, kernel_shape, pads[:rank], pads[rank:], strict=True)
    )
    count = math.prod(inferred)
    if indices.size and not (indices.min() >= 0 and indices.max() < count):
        call.fail(f"the indices must be in [0, {count})")
    unpooled = numpy.zeros(inferred, x.dtype)
    unpooled.reshape(-1)[indices.reshape(-1)] = x.reshape(-1)
    if output_shape is None:
        return unpooled
    if output_shape.ndim != 1:
        call.fail(f"output_shape must have rank 1, not {output_shape.ndim}")
    wanted = tuple(int(size) for size in output_shape)
    if len(wanted) != x.ndim or any(want < size for want, size in zip(wanted, inferred, strict=True)):
        call.fail(f"output_shape {list(wanted)} must be at least {list(inferred)}")
    call.reserve(math.prod(wanted))
    result = numpy.zeros(wanted, x.dtype)
    result[tuple(map(slice, inferred))] = unpooled
    return result


@kernel("MaxRoiPool", since=(1, 22))
def max_roi_pool(call: Call, x: Array, rois: Array) -> Array:
    """MaxRoiPool-1, 22: The greatest element of each part of regions.

    The text defines no rounding; this is the original definition's (Fast R-CNN), as in onnxruntime.

    Args:
        call: pooled_shape, spatial_scale.
        x: [N, C, H, W], any float dtype.
        rois: [regions, 5]: the batch index and two corners.

    Returns:
        [regions, C, *pooled_shape], of the dtype of x.
    """
    pooled_shape = call.attributes["pooled_shape"]
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        call.fail("X must have the shape (N x C x H x W) and rois (num_rois, 5)")
    if len(pooled_shape) != 2 or min(pooled_shape) < 1:
        call.fail(f"pooled_shape must be two positive sizes, not {pooled_shape}")
    wide = widened(x)
    wide_rois = widened(rois)
    images = wide_rois[:, 0].astype(numpy.int64)
    if images.size and not (images.min() >= 0 and images.max() < x.shape[0]):
        call.fail(f"the batch ids of rois must be in [0, {x.shape[0]})")
    scaled = wide_rois[:, 1:] * wide_rois.dtype.type(call.attributes["spatial_scale"])
    corners = numpy.trunc(scaled + numpy.copysign(scaled.dtype.type(0.5), scaled)).astype(numpy.int64)
    y = numpy.empty((rois.shape[0], x.shape[1], *pooled_shape), wide.dtype)
    for index, (image, (left, top, right, bottom)) in enumerate(zip(images, corners, strict=True)):
        rows = _bins(int(top), int(bottom), pooled_shape[0], x.shape[2])
        columns = _bins(int(left), int(right), pooled_shape[1], x.shape[3])
        y[index] = _binned_maximum(_binned_maximum(wide[image], rows, axis=1), columns, axis=2)
        empty = (rows[:, 0] >= rows[:, 1])[:, None] | (columns[:, 0] >= columns[:, 1])
        y[index][:, empty] = 0
    return as_dtype(y, x.dtype)


def _bins(first: int, last: int, count: int, size: int) -> Array:
    """Start and end of each bin of a region along one axis, clipped to the image."""
    length = numpy.float32(max(last - first + 1, 1)) / numpy.float32(count)
    steps = numpy.arange(count + 1, dtype=numpy.float32) * length
    starts = numpy.floor(steps[:-1]).astype(numpy.int64) + first
    ends = numpy.ceil(steps[1:]).astype(numpy.int64) + first
    return numpy.asarray(numpy.clip(numpy.stack([starts, ends], axis=1), 0, size))


def _binned_maximum(x: Array, bins: Array, axis: int) -> Array:
    """The maximum of each bin along an axis; of an empty bin some value that the caller overwrites."""
    # The extra element lets a bin end at the end of the axis; reduceat's odd results are of the gaps between bins.
    guard = numpy.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), smallest(x.dtype), x.dtype)
    maxima = numpy.maximum.reduceat(numpy.concatenate([x, guard], axis=axis), bins.reshape(-1), axis=axis)
    return numpy.asarray(maxima.take(range(0, 2 * len(bins), 2), axis=axis))
