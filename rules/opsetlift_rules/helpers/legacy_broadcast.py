"""Helpers for the step to opset 7, which replaces `broadcast` and `axis` with numpy's broadcasting.

Before 7 the second input is repeated onto the first one's shape where `broadcast=1` says so: it has one element, or its
shape is a contiguous part of the first one's, which starts at `axis` (without it: a suffix). The first input is never
repeated.
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Rule
from opsetlift.rulebook.site import Dims, Site, known_shape, pop_attribute
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import common_shape, filled_like, have_one_shape, repeated
from opsetlift_rules.helpers.dtype_groups import FLOATING

_RANKS_DECIDE = "below opset 7 the repeated dimensions must be counted"


def remove_broadcast_attributes(site: Site) -> None:
    """Remove `broadcast` and `axis` of versions below 7; a part that is not a suffix gets dimensions of size 1."""
    axis = pop_attribute(site, "axis")
    if not pop_attribute(site, "broadcast", 0) or axis is None:
        return
    second = site.shape(1)
    if second is not None and all(dim == 1 for dim in second):
        return
    rank = site.rank(0, because="axis counts dimensions from the front, but numpy's broadcasting counts from the back")
    part = site.rank(1, because="axis counts dimensions from the front, but numpy's broadcasting counts from the back")
    # The text knows no negative axis; exporters that wrote one meant the dimensions from the back.
    start = axis + rank if axis < 0 else axis
    if not 0 <= start <= rank - part:
        site.refuse(
            Why.INVALID_MODEL, f"axis {axis} places an input of rank {part} beyond the first input's rank {rank}"
        )
    if start + part < rank:
        dimensions = site.constant(range(part, rank - start), "int64")
        site.set_input(1, site.op_at(opsets.AXES_AS_INPUTS).Unsqueeze(site.input(1), dimensions))


def add_broadcast_attributes(mirrored: str = "") -> Rule:
    """Make the rule that adds `broadcast` and `axis` for versions below 7.

    `mirrored` is the operator that computes the same with its inputs exchanged, if there is one.
    """

    def add_broadcast_attributes(site: Site) -> None:
        shapes = [site.shape(0), site.shape(1)]
        if site.input(0) == site.input(1) or have_one_shape(shapes):
            return
        if shapes[1] == []:
            site.set_attribute("broadcast", 1)
            return
        if shapes[0] == [] and mirrored:
            site.replace(getattr(site.op, mirrored)(site.input(1), site.input(0), broadcast=1))
            return
        if shapes[0] == [] and known_shape(site, 1) is None and site.dtype(0) in FLOATING:
            site.set_input(0, filled_like(site.op_at(opsets.BFLOAT16), site.input(1), site.input(0), site.dtype(0)))
            return
        first, second = _known(site, 0), _known(site, 1)
        if _is_repeated_onto(second, first):
            _attach(site, second, first)
        elif mirrored and _is_repeated_onto(first, second):
            result = _emit_attached(site, mirrored, site.input(1), second, site.input(0), first)
            site.replace(result)
        else:
            _tile(site, first, second)

    return Rule("add broadcast attributes", add_broadcast_attributes)


def _known(site: Site, value: str | int) -> Dims:
    site.rank(value, because=_RANKS_DECIDE)
    shape = site.shape(value)
    assert shape is not None
    return shape


def _block(part: Dims, whole: Dims) -> tuple[int, int] | None:
    """The range (start, stop) in `whole` of the dimensions of `part` besides leading and trailing ones.

    None where `part` is not known to be repeated onto `whole` in this way.
    """
    if len(part) > len(whole):
        return None
    padded: Dims = [*[1] * (len(whole) - len(part)), *part]
    positions = [position for position, dim in enumerate(padded) if dim != 1]
    if not positions:
        return len(whole), len(whole)
    start, stop = positions[0], positions[-1] + 1
    block = padded[start:stop]
    return (start, stop) if None not in block and block == whole[start:stop] else None


def _is_repeated_onto(part: Dims, whole: Dims) -> bool:
    return _block(part, whole) is not None


def _attach(site: Site, part: Dims, whole: Dims) -> None:
    """Let the second input be repeated by attributes."""
    name, axis = _squeezed(site, site.input(1), part, whole)
    if name != site.input(1):
        site.set_input(1, name)
    site.set_attribute("broadcast", 1)
    if axis is not None:
        site.set_attribute("axis", axis)


def _emit_attached(site: Site, operator: str, first: str, whole: Dims, second: str, part: Dims) -> str:
    name, axis = _squeezed(site, second, part, whole)
    return str(getattr(site.op, operator)(first, name, broadcast=1, axis=axis))


def _squeezed(site: Site, name: str, part: Dims, whole: Dims) -> tuple[str, int | None]:
    """The input without its leading and trailing ones, and the axis at which it starts; None for a suffix."""
    block = _block(part, whole)
    assert block is not None
    start, stop = block
    if start == stop:
        return name, None
    offset = len(whole) - len(part)
    ones = [position - offset for position in range(offset, len(whole)) if not start <= position < stop]
    if ones:
        name = site.op_at(opsets.AXES_AS_INPUTS).Squeeze(name, site.constant(ones, "int64"))
    return name, start if stop < len(whole) else None


def _tile(site: Site, first: Dims, second: Dims) -> None:
    """Bring the first input to the common shape, and the second one too where attributes do not."""
    op = site.op_at(opsets.AXES_AS_INPUTS)
    names = site.inputs
    target = common_shape([first, second])
    site.set_input(0, repeated(site, op, names[0], names[1:]))
    if target is not None and _is_repeated_onto(second, target):
        _attach(site, second, target)
    else:
        site.set_input(1, repeated(site, op, names[1], names[:1]))
