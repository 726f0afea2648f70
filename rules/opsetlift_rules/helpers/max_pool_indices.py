"""Helpers for the second output of MaxPool: the index of each maximum in the input."""

from __future__ import annotations

import math
from functools import partial

import numpy

from opsetlift.rulebook.site import Array, Operators, Site, static_shape
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.windows import Windows, padded, slice_of_tap, windows_of


def compute_indices_of_maxima(site: Site) -> None:
    """Compute the indices of MaxPool-8 with other operators: MaxPool-1 has no second output."""
    if not site.is_read(1):
        site.keep_outputs(1)
        site.remove_attribute("storage_order")
        return
    op, windows = site.op_at(opsets.BFLOAT16), windows_of(site)
    value = padded(site, op, site.input(0), site.dtype(0), windows.filled_pads, with_=-math.inf)
    indices = indices_of_maxima(site, op, value, windows)
    site.replace(site.op.copy(site.input(0), outputs=1, storage_order=None), indices)


def indices_of_maxima(site: Site, op: Operators, value: str, windows: Windows) -> str:
    """The flat index in the input of each window's first maximum, or NaN; `value` is the input with its pads.

    Axis by axis from the last: of equal maxima the first one in row-major order is found. Positions are doubles, which
    hold each of them, and -1 in the pads.
    """
    shape = static_shape(site, 0, because="the indices count the elements of the flattened input")
    column_major = bool(site.attribute("storage_order", 0))
    position = site.constant(_positions(shape[2:], windows.filled_pads, column_major=column_major), hint="positions")
    for axis in reversed(range(len(windows.kernel))):
        value, position = _first_maximum(site, op, value, position, windows, axis)
    planes = numpy.arange(math.prod(shape[:2]), dtype=numpy.float64) * math.prod(shape[2:])
    starts = site.constant(planes.reshape(*shape[:2], *(1,) * len(windows.kernel)), hint="planes")
    zero = site.constant(0, "double", "zero")
    position = op.Where(op.Less(position, zero), zero, position)
    return str(op.Cast(op.Add(position, starts), to="int64"))


def _positions(sizes: list[int], pads: list[int], *, column_major: bool) -> Array:
    """The flat index of each element within its channel, -1 in the pads, with axes for batch and channel."""
    order = "F" if column_major else "C"
    numbers = numpy.arange(math.prod(sizes), dtype=numpy.float64).reshape(sizes, order=order)  # type: ignore[call-overload]
    rank = len(sizes)
    around = list(zip(pads[:rank], pads[rank:], strict=True))
    return numpy.pad(numbers, around, constant_values=-1)[None, None]


def _first_maximum(
    site: Site, op: Operators, value: str, position: str, windows: Windows, axis: int
) -> tuple[str, str]:
    taps, span, stride = windows.kernel[axis], windows.spans[axis], windows.strides[axis]
    zero = site.constant(0, "double", "zero")
    best = best_position = ""
    for tap in range(taps):
        first = tap * windows.dilations[axis]
        tap_of = partial(slice_of_tap, site, op, axis=axis, first=first, span=span, stride=stride)
        candidate = tap_of(value)
        own = site.folded(partial(tap_of, position), "positions")
        if not best:
            best, best_position = candidate, own
            continue
        is_greater = op.Or(op.Greater(candidate, best), op.And(op.IsNaN(candidate), op.Not(op.IsNaN(best))))
        # Among -inf alone the elements of the input come before the pads.
        is_inside = op.And(op.Less(best_position, zero), op.Not(op.Less(own, zero)))
        is_better = op.Or(is_greater, is_inside)
        best = op.Where(is_better, candidate, best)
        best_position = op.Where(is_better, own, best_position)
    return best, best_position
