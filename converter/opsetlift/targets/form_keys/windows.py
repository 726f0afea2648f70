"""Keys of windows: of convolutions and pools, and of pads."""

from __future__ import annotations

import numpy

from opsetlift.facts import has_late_windows as may_have_late_windows
from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key
from opsetlift.targets.form_keys.shared import rank_of

_DILATIONS = "dilations"

_PAIR = 2


@key(bool)
def is_dilated(place: Place) -> bool:
    """Whether the elements of its windows lie apart: one of its dilations is above 1."""
    return any(max(one.ints) > 1 for one in place.node.attribute if one.name == _DILATIONS)


@key(bool)
def dilates_more_than_pairs(place: Place) -> bool:
    """Whether one of its dilations is above 1 along an axis where its kernel has not two elements."""
    node = place.node
    given = {one.name: list(one.ints) for one in node.attribute}
    dilations = given.get(_DILATIONS, [])
    kernel = given.get("kernel_shape") or (place.scope.shape(node.input[1]) or [None] * (len(dilations) + 2))[2:]
    return any(dilation > 1 and taps != _PAIR for dilation, taps in zip(dilations, kernel, strict=False))


@key(bool)
def has_late_windows(place: Place) -> bool:
    """Whether ceil_mode may give a pooling a window that starts in the end pads."""
    node = place.node
    return may_have_late_windows(node, place.scope.shape(node.input[0]))


@key(bool)
def has_longer_end_pads(place: Place) -> bool:
    """Whether the pad at the end of an axis may be longer than every second one of its pads, in their order, says.

    Pads are all those of beginnings, then all those of ends.
    """
    given = {one.name: one for one in place.node.attribute}
    if "auto_pad" in given and given["auto_pad"].s == b"SAME_UPPER":
        return True
    pads = list(given["pads"].ints) if "pads" in given else []
    return any(second < end for second, end in zip(pads[1::2], pads[len(pads) // 2 :], strict=True))


@key(bool)
def cuts_pads(place: Place) -> bool:
    """Whether output_shape of a ConvTranspose may be less than its windows cover along an axis."""
    return any(one is None or one[0] > 0 for one in _left_by_output_shape(place))


@key(bool)
def cuts_odd_pads(place: Place) -> bool:
    """Whether it may be less by an odd number of elements."""
    return any(one is None or (one[0] > 0 and one[0] % 2) for one in _left_by_output_shape(place))


@key(bool)
def exceeds_windows(place: Place) -> bool:
    """Whether output_shape of a ConvTranspose is more than its windows cover by a stride, or more, along an axis."""
    return any(one is not None and -one[0] >= one[1] for one in _left_by_output_shape(place))


@key(bool)
def pads_other_axes_than_the_last(place: Place) -> bool:
    """Whether a Pad adds elements, but none along the last axis, or may do so as its pads are computed.

    Pads are all those of beginnings, then all those of ends, of the axes that the input axes names, or of all.
    """
    scope = place.scope
    named = {one.formal: scope.constant(one.name) for one in place.inputs}
    given = place.attribute("pads") or place.attribute("paddings")
    pads, axes = named.get("pads", given), named.get("axes", "all")
    if pads is None or axes is None:
        return True
    numbers = numpy.asarray(pads).reshape(2, -1)
    last = numbers.shape[1] - 1
    if not isinstance(axes, str):
        rank = rank_of(place.node.input[0], scope)
        places = [int(axis) if axis < 0 or rank is None else int(axis) - rank for axis in axes.reshape(-1)]
        last = places.index(-1) if -1 in places else len(places)
    return bool(numbers.any()) and not (last < numbers.shape[1] and numbers[:, last].any())


def _left_by_output_shape(place: Place) -> list[tuple[int, int] | None]:
    """By how much the windows of a ConvTranspose cover more than output_shape, with the stride, along each axis.

    None along an axis where that is not known; empty without output_shape.
    """
    shape, weights = (list(place.scope.shape(name) or ()) for name in place.node.input[:2])
    given = {one.name: list(one.ints) for one in place.node.attribute}
    rank = max(len(shape), len(weights)) - 2
    wanted = given.get("output_shape", [])
    if not wanted or rank < 1:
        return [None] if wanted else []
    sizes, kernel = (
        (shape or [None] * (rank + 2))[2:],
        given.get("kernel_shape") or (weights or [None] * (rank + 2))[2:],
    )
    strides, dilations = (given.get(name) or [1] * rank for name in ("strides", "dilations"))
    extra = given.get("output_padding") or [0] * rank
    return [
        (stride * (size - 1) + more + (taps - 1) * dilation + 1 - want, stride)
        if isinstance(size, int) and isinstance(taps, int)
        else None
        for want, size, taps, stride, dilation, more in zip(
            wanted[-rank:], sizes, kernel, strides, dilations, extra, strict=False
        )
    ]
