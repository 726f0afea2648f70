"""DeformConv and Col2Im: convolutions whose columns are gathered, or scattered, by position."""

from __future__ import annotations

import itertools
import math

import numpy

from opsetlift.evaluator.kernels.accumulation import product
from opsetlift.evaluator.kernels.axes import int_list
from opsetlift.evaluator.kernels.grid_sample import float_precision, leave_outside, sample
from opsetlift.evaluator.kernels.interpolation import linear_weight
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@kernel("DeformConv", since=(19, 22), changes=())
def deform_conv(
    call: Call, data: Array, weight: Array, offset: Array, bias: Array | None = None, mask: Array | None = None
) -> Array:
    """DeformConv-19, 22: A convolution that reads x at shifted, interpolated places.

    Args:
        call: strides, pads, dilations, group, offset_group, kernel_shape.
        data: [N, C, *spatial], any float dtype of the version.
        weight: [M, C / group, *kernel].
        offset: [N, offset_group * taps * rank, *spatial of the output].
        bias: [M].
        mask: [N, offset_group * taps, *spatial of the output], a factor for each place.

    Returns:
        [N, M, *spatial of the output], of the dtype of data.
    """
    attributes = call.attributes
    rank = data.ndim - 2
    if rank < 1 or weight.ndim != data.ndim:
        call.fail(f"X has rank {data.ndim}, W {weight.ndim}; both must be the number of spatial axes + 2")
    batch, channels, *image = data.shape
    out_channels, group_channels, *kernel_shape = weight.shape
    if list(attributes.get("kernel_shape", kernel_shape)) != kernel_shape:
        call.fail(f"kernel_shape is {attributes['kernel_shape']}, that of W {kernel_shape}")
    groups, offset_groups = attributes["group"], attributes["offset_group"]
    if channels != group_channels * groups or out_channels % groups or channels % offset_groups:
        call.fail(f"{channels} and {out_channels} channels do not fit {groups} groups, {offset_groups} offset groups")
    strides, dilations, pads = _geometry(call, rank)
    output = [
        (size + pads[axis] + pads[axis + rank] - dilations[axis] * (taps - 1) - 1) // strides[axis] + 1
        for axis, (size, taps) in enumerate(zip(image, kernel_shape, strict=True))
    ]
    taps = math.prod(kernel_shape)
    if offset.shape != (batch, offset_groups * taps * rank, *output):
        call.fail(
            f"offset has the shape {list(offset.shape)}; it must be {[batch, offset_groups * taps * rank, *output]}"
        )
    # For more than two axes the text multiplies the mask's channels by n as well, which contradicts "applied to each
    # position in the convolution kernel" and the shape that it gives for two; one value for each position is taken.
    if mask is not None and mask.shape != (batch, offset_groups * taps, *output):
        call.fail(f"mask has the shape {list(mask.shape)}; it must be {[batch, offset_groups * taps, *output]}")
    if bias is not None and bias.shape != (out_channels,):
        call.fail(f"B has the shape {list(bias.shape)}; it must be [{out_channels}]")

    precision = float_precision(data)
    shifts = offset.astype(precision).reshape(batch * offset_groups, *kernel_shape, rank, *output)
    points = []
    for axis in range(rank):
        tap_place = _along(numpy.arange(kernel_shape[axis]) * dilations[axis] - pads[axis], axis, 2 * rank)
        output_place = _along(numpy.arange(output[axis]) * strides[axis], rank + axis, 2 * rank)
        place = (tap_place + output_place).astype(precision)
        points.append((shifts.take(axis, rank + 1) + place).reshape(batch * offset_groups, taps * math.prod(output)))
    images = data.astype(precision).reshape(batch * offset_groups, channels // offset_groups, *image)
    columns = sample(images, points, 1, linear_weight, leave_outside)
    if mask is not None:
        columns *= mask.astype(precision).reshape(batch * offset_groups, 1, taps * math.prod(output))

    columns = columns.reshape(batch, groups, group_channels * taps, math.prod(output))
    weights = weight.astype(precision).reshape(groups, out_channels // groups, group_channels * taps)
    result = product(weights, columns).reshape(batch, out_channels, *output)
    if bias is not None:
        result += bias.astype(precision).reshape(-1, *[1] * rank)
    return result.astype(data.dtype)


def _geometry(call: Call, rank: int) -> tuple[list[int], list[int], list[int]]:
    """strides, dilations and pads, their defaults filled in."""
    strides = list(call.attributes.get("strides", [1] * rank))
    dilations = list(call.attributes.get("dilations", [1] * rank))
    pads = list(call.attributes.get("pads", [0] * 2 * rank))
    if len(strides) != rank or len(dilations) != rank or len(pads) != 2 * rank:
        call.fail(f"strides and dilations need {rank} values, pads {2 * rank}")
    if min(strides) < 1 or min(dilations) < 1 or min(pads) < 0:
        call.fail("strides and dilations must be positive, pads must not be negative")
    return strides, dilations, pads


def _along(values: Array, axis: int, rank: int) -> Array:
    return values.reshape([-1 if position == axis else 1 for position in range(rank)])


@kernel("Col2Im", since=(18,))
def col2im(call: Call, data: Array, image_shape: Array, block_shape: Array) -> Array:
    """Col2Im-18: Columns of blocks put into an image; what overlaps adds up.

    Args:
        call: strides, pads, dilations.
        data: [N, C * elements of a block, number of blocks], any dtype.
        image_shape: int64 [rank], from 2 on.
        block_shape: int64 [rank].

    Returns:
        [N, C, *image_shape], of the dtype of data.
    """
    image, block = int_list(call, image_shape, "image_shape"), int_list(call, block_shape, "block_shape")
    rank = len(image)
    if rank < 2 or len(block) != rank:
        call.fail(f"image_shape and block_shape need at least 2 values each, they have {rank} and {len(block)}")
    if min(image) < 0 or min(block) < 1:
        call.fail(f"image_shape {image} and block_shape {block} must be positive")
    strides, dilations, pads = _geometry(call, rank)
    counts = [
        (image[axis] + pads[axis] + pads[axis + rank] - dilations[axis] * (block[axis] - 1) - 1) // strides[axis] + 1
        for axis in range(rank)
    ]
    if data.ndim != 3 or data.shape[1] % math.prod(block) or data.shape[2] != math.prod(counts):
        call.fail(
            f"the input has the shape {list(data.shape)}; it must be [N, C * {math.prod(block)}, {math.prod(counts)}]"
        )
    if data.dtype.kind == "O":
        call.fail("strings cannot be added up")
    batch, channels = data.shape[0], data.shape[1] // math.prod(block)
    call.reserve(batch * channels * math.prod(max(size, 1) for size in image))
    # Sixteen-bit floats are summed in float and rounded once.
    precision = data.dtype if data.dtype.kind in "biuc" or data.dtype.itemsize > 2 else numpy.dtype(numpy.float32)
    padded = [pads[axis] + image[axis] + pads[axis + rank] for axis in range(rank)]
    result = numpy.zeros((batch, channels, *padded), precision)
    columns = data.astype(precision).reshape(batch, channels, math.prod(block), *counts)
    for tap, position in enumerate(itertools.product(*map(range, block))):
        target = tuple(
            slice(start, start + strides[axis] * (counts[axis] - 1) + 1, strides[axis])
            for axis, start in enumerate(index * dilation for index, dilation in zip(position, dilations, strict=True))
        )
        result[(slice(None), slice(None), *target)] += columns[:, :, tap]
    inner = (slice(pads[axis], pads[axis] + image[axis]) for axis in range(rank))
    return result[(slice(None), slice(None), *inner)].astype(data.dtype)
