"""Pad and CenterCropPad.

Pad  2: paddings renamed pads, which may be negative · 11: pads and value attributes -> inputs · 18: +axes ·
     19: +wrap mode
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

from opsetlift.evaluator.kernels.axes import distinct_axes, int_list, one_element, zero
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@kernel("Pad", since=(1,))
def pad_by_paddings_attribute(call: Call, data: Array) -> Array:
    """Pad-1: data [*shape] with elements added by the attribute paddings."""
    # The text's example writes the pairs axis by axis, its description of the format all beginnings first. The
    # description decides: the later versions corrected the example.
    paddings = call.attributes["paddings"]
    if min(paddings, default=0) < 0:
        call.fail_if_strict("paddings are counts; removing elements is defined from version 2 on")
    return _pad(call, data, paddings, range(data.ndim), numpy.asarray(call.attributes["value"], data.dtype))


@kernel("Pad", since=(2,))
def pad_by_pads_attribute(call: Call, data: Array) -> Array:
    """Pad-2: data [*shape], added to or cut by the attribute pads."""
    value = numpy.asarray(call.attributes["value"], data.dtype)
    return _pad(call, data, call.attributes["pads"], range(data.ndim), value)


@kernel("Pad", since=(11, 13, 18, 19, 21, 23, 24, 25), changes=(19,))
def pad_by_inputs(
    call: Call, data: Array, pads: Array, constant_value: Array | None = None, axes: Array | None = None
) -> Array:
    """Pad-11, 13, 18, 19, 21, 23, 24, 25: data with elements added, or cut.

    Args:
        call: mode: constant, reflect, edge or, from 19 on, wrap.
        data: [*shape], any dtype of the version.
        pads: int64 [2 * axes], all beginnings first; negative ones cut.
        constant_value: Scalar of the dtype of data; absent, 0, False or the empty string.
        axes: int32 or int64 [axes], from 18 on; absent, all.

    Returns:
        The padded tensor, of the dtype of data.
    """
    value = zero(data.dtype) if constant_value is None else one_element(call, constant_value, "constant_value")
    selected = range(data.ndim) if axes is None else distinct_axes(call, int_list(call, axes, "axes"), data.ndim)
    return _pad(call, data, int_list(call, pads, "pads"), selected, value)


_FIRST_WRAPPED = 11
"""The first version of which onnxruntime takes the mode."""


def _pad(call: Call, data: Array, pads: Sequence[int], axes: Sequence[int], value: Array) -> Array:
    mode = call.attributes["mode"]
    known = ("constant", "reflect", "edge", "wrap")[: 4 if call.since_version >= 19 else 3]
    if mode not in known:
        clause = f"mode is {mode!r}; this version has {', '.join(known)}"
        if mode != "wrap" or call.since_version < _FIRST_WRAPPED:
            call.fail(clause)
        # Exporters write it at opsets that do not have it yet.
        call.fail_if_strict(clause)
    if len(pads) != 2 * len(axes):
        call.fail(f"pads has {len(pads)} values for {len(axes)} axes; it must have two for each")
    begins, ends = [0] * data.ndim, [0] * data.ndim
    for position, axis in enumerate(axes):
        begins[axis], ends[axis] = pads[position], pads[position + len(axes)]

    # The text does not order removal and addition on one axis; removing first is what onnxruntime does, and the only
    # reading in which the added elements mirror or repeat what the output shows.
    for axis, dimension in enumerate(data.shape):
        if max(-begins[axis], 0) + max(-ends[axis], 0) > dimension:
            call.fail(f"pads remove more than the {dimension} elements of axis {axis}")
    kept = data[
        tuple(
            slice(max(-begin, 0), dimension - max(-end, 0))
            for begin, end, dimension in zip(begins, ends, data.shape, strict=True)
        )
    ]
    begins, ends = [max(begin, 0) for begin in begins], [max(end, 0) for end in ends]
    if mode == "constant":
        return _surround(call, kept, begins, ends, value)
    for axis, dimension in enumerate(kept.shape):
        if begins[axis] or ends[axis]:
            if dimension == 0:
                call.fail(f"axis {axis} has no element that mode {mode} could pad with")
            call.reserve(max(kept.size // dimension, 1) * (begins[axis] + dimension + ends[axis]))
            kept = kept.take(_source_indices(mode, begins[axis], ends[axis], dimension), axis)
    return kept


def _surround(call: Call, data: Array, begins: Sequence[int], ends: Sequence[int], value: Array) -> Array:
    shape = [begin + dimension + end for begin, dimension, end in zip(begins, data.shape, ends, strict=True)]
    call.reserve(math.prod(shape))
    result = numpy.empty(shape, data.dtype)
    result[...] = value
    inner = (slice(begin, begin + size) for begin, size in zip(begins, data.shape, strict=True))
    result[tuple(inner)] = data
    return result


def _source_indices(mode: str, begin: int, end: int, dimension: int) -> Array:
    indices = numpy.arange(-begin, dimension + end)
    if mode == "edge":
        return indices.clip(0, dimension - 1)
    if mode == "wrap":
        return indices % dimension
    # Mirrored on the first and last values, again and again where the pads are longer than the data.
    last = dimension - 1
    return last - abs(last - indices % max(2 * last, 1))


@kernel("CenterCropPad", since=(18,))
def center_crop_pad(call: Call, data: Array, shape: Array) -> Array:
    """CenterCropPad-18: data cropped or padded with 0 around the center.

    data [*shape] of any dtype; the int32 or int64 shape has a size for each of the attribute axes.
    """
    targets = int_list(call, shape, "shape")
    axes = distinct_axes(call, call.attributes.get("axes", range(data.ndim)), data.ndim)
    if len(targets) != len(axes):
        call.fail(f"shape has {len(targets)} values for {len(axes)} axes")
    if min(targets, default=0) < 0:
        call.fail(f"shape is {targets}; a dimension cannot be negative")
    index = [slice(None)] * data.ndim
    begins, ends = [0] * data.ndim, [0] * data.ndim
    for axis, target in zip(axes, targets, strict=True):
        excess = data.shape[axis] - target
        if excess > 0:
            index[axis] = slice(excess // 2, excess // 2 + target)
        else:
            begins[axis] = -excess // 2
            ends[axis] = -excess - begins[axis]
    return _surround(call, data[tuple(index)], begins, ends, zero(data.dtype))
