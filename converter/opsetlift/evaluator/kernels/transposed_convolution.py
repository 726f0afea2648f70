"""ConvTranspose: the columns that W^T X gives are added up at the places that a convolution would read them from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from opsetlift.evaluator.kernels.accumulation import product
from opsetlift.evaluator.kernels.convolution import check_kernel_shape
from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.kernels.windows import Ints, checked_auto_pad, per_axis, spatial_shape, split_padding
from opsetlift.model.arrays import Array


@dataclass(frozen=True)
class _Canvas:
    """The output: `begin` is how much of the start of what the windows cover is cut off."""

    strides: Ints
    dilations: Ints
    begin: Ints
    output_shape: Ints


@kernel("ConvTranspose", since=(1, 11, 22), changes=(11,))
def transposed_convolution(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    """ConvTranspose-1, 11, 22: The gradient of a convolution: what it would read, added up.

    Args:
        call: strides, pads, dilations, group, auto_pad, kernel_shape, output_padding, output_shape.
        x: [N, C, *spatial], any float dtype of the version.
        w: [C, M / group, *kernel].
        b: [M].

    Returns:
        [N, M, *spatial of the output], of the dtype of x.
    """
    spatial = spatial_shape(call, x)
    group = call.attributes["group"]
    if w.ndim != x.ndim or w.shape[0] != x.shape[1]:
        call.fail(f"W must have the shape (C x M/group x k1 x ... x kn) with C = {x.shape[1]}, not {list(w.shape)}")
    if group < 1 or x.shape[1] % group:
        call.fail(f"the number of channels {x.shape[1]} must be a multiple of group {group}")
    maps = w.shape[1] * group
    if b is not None and b.shape != (maps,):
        call.fail(f"B must have the shape ({maps}), not {list(b.shape)}")
    check_kernel_shape(call, w)
    canvas = _canvas(call, spatial, w.shape[2:])
    wide_x, wide_w = widened(x), widened(w)
    y = numpy.zeros((x.shape[0], maps, *canvas.output_shape), wide_x.dtype)
    weights = wide_w.reshape(group, x.shape[1] // group, math.prod(w.shape[1:])).transpose(0, 2, 1)
    for image in range(x.shape[0]):
        pixels = wide_x[image].reshape(group, x.shape[1] // group, math.prod(spatial))
        columns = product(weights, pixels).reshape(maps, *w.shape[2:], *spatial)
        for tap in numpy.ndindex(*w.shape[2:]):
            source, target = _overlap(canvas, tap, spatial)
            y[image][(slice(None), *target)] += columns[(slice(None), *tap, *source)]
    if b is not None:
        y += widened(b).reshape(-1, *(1,) * len(spatial))
    return as_dtype(y, x.dtype)


def _overlap(canvas: _Canvas, tap: Ints, spatial: Ints) -> tuple[list[slice], list[slice]]:
    """Which input positions this tap adds to the output, and at which positions."""
    source, target = [], []
    for axis, size in enumerate(spatial):
        stride = canvas.strides[axis]
        offset = tap[axis] * canvas.dilations[axis] - canvas.begin[axis]
        first = max(0, -(offset // stride))
        last = min(size - 1, (canvas.output_shape[axis] - 1 - offset) // stride)
        count = max(0, last - first + 1)
        source.append(slice(first, first + count))
        start = offset + first * stride
        target.append(slice(start, start + count * stride, stride) if count else slice(0, 0))
    return source, target


def _canvas(call: Call, spatial: Ints, kernel_shape: Ints) -> _Canvas:
    rank = len(spatial)
    strides = per_axis(call, "strides", rank, default=1, least=1)
    dilations = per_axis(call, "dilations", rank, default=1, least=1)
    output_padding = per_axis(call, "output_padding", rank, default=0, least=0)
    pads = per_axis(call, "pads", 2 * rank, default=0, least=0)
    auto_pad = checked_auto_pad(call)
    if call.since_version >= 11 and any(
        extra >= max(stride, dilation)
        for extra, stride, dilation in zip(output_padding, strides, dilations, strict=True)
    ):
        call.fail_if_strict(
            f"each value of output_padding {list(output_padding)} must be less than the stride or dilation"
        )
    full = tuple(
        stride * (size - 1) + extra + (taps - 1) * dilation + 1
        for stride, size, extra, taps, dilation in zip(
            strides, spatial, output_padding, kernel_shape, dilations, strict=True
        )
    )
    wanted = _wanted_shape(call, spatial, strides, auto_pad, full)
    if wanted is None:
        begin = pads[:rank] if auto_pad == "NOTSET" else (0,) * rank
        end = pads[rank:] if auto_pad == "NOTSET" else (0,) * rank
        wanted = tuple(size - before - after for size, before, after in zip(full, begin, end, strict=True))
    else:
        totals = [size - want for size, want in zip(full, wanted, strict=True)]
        begin, _ = split_padding([max(0, total) for total in totals], upper=_extra_at_end(call, auto_pad))
        # Where output_shape exceeds what the windows cover, ONNX's node tests have the zeros at the end.
    if min(wanted) < 0:
        call.fail(f"the pads cut more off than the windows cover, {list(full)}")
    return _Canvas(strides, dilations, begin, wanted)


def _wanted_shape(call: Call, spatial: Ints, strides: Ints, auto_pad: str, full: Ints) -> Ints | None:
    """The output's spatial shape where it is given and the pads follow from it."""
    if call.attributes.get("output_shape"):
        given = tuple(call.attributes["output_shape"])
        if len(given) == len(spatial) + 2:
            call.fail_if_strict(f"output_shape {list(given)} must not include the batch size and the channels")
            given = given[2:]
        if len(given) != len(spatial):
            call.fail(f"output_shape needs {len(spatial)} values, it has {len(given)}")
        return given
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        # Since 11 in so many words; before, "match the input", which strides other than 1 make ambiguous. No runtime
        # and no inference adds anything where the windows cover less, as kernels below the stride do.
        return tuple(min(size * stride, most) for size, stride, most in zip(spatial, strides, full, strict=True))
    return None


def _extra_at_end(call: Call, auto_pad: str) -> bool:
    """On which side the odd element of a total padding is cut off."""
    if call.since_version >= 11:
        return auto_pad == "SAME_UPPER"
    # Version 1's equations for output_shape say the opposite of 11's; without output_shape, auto_pad's own sentence
    # ("at the end for SAME_UPPER") is the only one that applies.
    if call.attributes.get("output_shape"):
        return auto_pad != "SAME_UPPER"
    return auto_pad == "SAME_UPPER"
