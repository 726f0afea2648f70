"""Slice.

Slice  10: starts, ends, axes attributes -> inputs, +steps · 11: axes may be negative
"""

from __future__ import annotations

from collections.abc import Sequence

from opsetlift.evaluator.kernels.axes import distinct_axes, int_list
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@kernel("Slice", since=(1,))
def slice_by_attributes(call: Call, data: Array) -> Array:
    """Slice-1: A part of data [*shape], by the attributes starts, ends and axes."""
    attributes = call.attributes
    return _slice(call, data, attributes["starts"], attributes["ends"], attributes.get("axes"), None)


@kernel("Slice", since=(10, 11, 13), changes=(11,))
def slice_by_inputs(
    call: Call, data: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None
) -> Array:
    """Slice-10, 11, 13: A part of data, in steps.

    Args:
        call: No attributes.
        data: [*shape], any dtype.
        starts: int32 or int64 [n].
        ends: int32 or int64 [n], left out themselves.
        axes: int32 or int64 [n]; absent, the first n.
        steps: int32 or int64 [n], not 0; absent, 1.

    Returns:
        The part, of the dtype of data.
    """
    return _slice(
        call,
        data,
        int_list(call, starts, "starts"),
        int_list(call, ends, "ends"),
        None if axes is None else int_list(call, axes, "axes"),
        None if steps is None else int_list(call, steps, "steps"),
    )


def _slice(
    call: Call,
    data: Array,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None,
    steps: Sequence[int] | None,
) -> Array:
    # Omitted axes are "[0, ..., r-1]", but Slice-1 also says "[0, ..., len(starts) - 1]"; ONNX's shape inference and
    # onnxruntime take the latter for all versions.
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        call.fail("starts, ends, axes and steps must have the same length")
    index = [slice(None)] * data.ndim
    # A repeated axis is undefined behaviour in 13 and contradicts "corresponding" in the others.
    for axis, start, end, step in zip(distinct_axes(call, axes, data.ndim), starts, ends, steps, strict=True):
        if step == 0:
            call.fail("a step cannot be 0")
        index[axis] = _effective_slice(start, end, step, data.shape[axis])
    return data[tuple(index)]


def _effective_slice(start: int, end: int, step: int, dimension: int) -> slice:
    start += dimension if start < 0 else 0
    end += dimension if end < 0 else 0
    if step > 0:
        return slice(min(max(start, 0), dimension), min(max(end, 0), dimension), step)
    if dimension == 0:
        return slice(0, 0)
    start, end = min(max(start, 0), dimension - 1), min(max(end, -1), dimension - 1)
    return slice(start, None if end < 0 else end, step)
