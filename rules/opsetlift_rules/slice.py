"""Slices.

Slice  10: starts, ends, axes attributes -> inputs, +steps · 11: axes may be negative · 13: +bfloat16
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift.rulebook.site import Operators, Site, list_length, pop_attribute
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import NamedAxes, counted_from_front, gather_within
from opsetlift_rules.helpers.counting import iota
from opsetlift_rules.helpers.signs import added_where, is_negative


def move_attributes_to_inputs(site: Site) -> None:
    """Move starts, ends and axes of Slice-1 to inputs of Slice-10."""
    axes = pop_attribute(site, "axes")
    for name in ("starts", "ends"):
        site.set_input(len(site.inputs), site.constant(pop_attribute(site, name), "int64", name))
    if axes is not None:
        site.set_input(len(site.inputs), site.constant(axes, "int64"))


def make_axes_non_negative(site: Site) -> None:
    """Make the axes of Slice-11 non-negative, as Slice-10 requires."""
    if not site.input(3) or site.target < opsets.SLICE_INPUTS:
        # Below 10 the next rule takes the axes as they are.
        return
    axes = site.constant_value(3)
    because = "below opset 11 negative axes must be made non-negative"
    if axes is None:
        rank = site.constant(site.rank(0, because=because), site.dtype(3), "rank")
        op = site.op
        counts_back = is_negative(site, op, site.input(3))
        site.set_input(3, added_where(op, counts_back, site.input(3), rank, site.dtype(3)))
    elif axes.size and axes.min() < 0:
        counted = counted_from_front(site, axes.reshape(-1).tolist(), site.rank(0, because=because))
        site.set_input(3, site.constant(numpy.array(counted, axes.dtype), hint="axes"))


def move_inputs_to_attributes(site: Site) -> None:
    """Move the inputs of Slice-10 to attributes of Slice-1.

    Steps other than 1, and bounds computed at run time, become Gather by computed indices.
    """
    values = [site.constant_value(position) if site.input(position) else None for position in range(1, 5)]
    starts, ends, axes, steps = (None if value is None else value.reshape(-1).tolist() for value in values)
    is_known = all(not site.input(position + 1) or value is not None for position, value in enumerate(values))
    if not is_known or starts is None or ends is None:
        _gather_at_run_time(site, axes, steps if site.input(4) else [1])
        return
    axes = list(range(len(starts))) if axes is None else axes
    if axes and min(axes) < 0:
        rank = site.rank(0, because="below opset 10 negative axes must be made non-negative")
        axes = counted_from_front(site, axes, rank)
    if steps is None or all(step == 1 for step in steps):
        for position in (4, 3, 2, 1):
            site.remove_input(position)
        for name, numbers in (("starts", starts), ("ends", ends), ("axes", axes)):
            site.set_attribute(name, numbers)
        return
    _gather_with_steps(site, axes, list(zip(starts, ends, steps, strict=True)))


def _gather_with_steps(site: Site, axes: Sequence[int], slices: Sequence[tuple[int, int, int]]) -> None:
    """Constant indices where the dimension is known."""
    if 0 in (step for _, _, step in slices):
        site.refuse(Why.INVALID_MODEL, "a step of the slice is 0")
    dims = site.shape(0)
    sizes = [dims[axis] if dims is not None and axis < len(dims) else None for axis in axes]
    if not all(isinstance(size, int) or step == 1 for size, (_, _, step) in zip(sizes, slices, strict=True)):
        _gather_at_run_time(site, axes, None)
        return
    op = site.op
    value = site.input(0)
    plain = [(axis, start, end) for axis, (start, end, step) in zip(axes, slices, strict=True) if step == 1]
    if plain:
        numbers = {
            name: list(column)
            for name, column in zip(("axes", "starts", "ends"), zip(*plain, strict=True), strict=True)
        }
        value = op.Slice(value, **numbers)
    for axis, size, (start, end, step) in zip(axes, sizes, slices, strict=True):
        if step != 1 and isinstance(size, int):
            indices = numpy.arange(size, dtype=numpy.int64)[_clamped(start, end, step, size)]
            value = op.Gather(value, site.constant(indices, hint="indices"), axis=axis)
    site.replace(value)


def write_axes_or_gather(site: Site) -> None:
    """Write axes where there are none, as some runtimes slice all axes then, also those without bounds.

    The axes of Slice-1, an attribute, become non-negative where the runtime fails on others, and bounds numbers from 0
    to the size; else see about steps.
    """
    is_attribute = len(site.inputs) == 1
    axes = site.attribute("axes") if is_attribute else None
    if not (axes if is_attribute else site.input(3)):
        _write_axes(site, is_attribute=is_attribute)
        # A new node, whose bounds are counted from the front in its turn where that was not enough.
        site.replace(site.op.copy(*site.inputs))
    elif axes and min(axes) < 0:
        rank = site.rank(0, because="the runtime needs axes that are counted from the front")
        site.set_attribute("axes", counted_from_front(site, axes, rank))
        site.replace(site.op.copy(*site.inputs))
    elif _counts_bounds_from_front(site, is_attribute=is_attribute):
        if _is_any_apart(_named_axes(site, is_attribute=is_attribute)):
            site.replace(site.op.copy(*site.inputs))
    elif _is_any_apart(_named_axes(site, is_attribute=is_attribute)):
        _slice_one_by_one(site, is_attribute=is_attribute)
    elif not is_attribute:
        gather_what_steps_back(site)


def _named_axes(site: Site, *, is_attribute: bool) -> list[int]:
    known = None if is_attribute else site.constant_value(3)
    given = site.attribute("axes") if is_attribute else None if known is None else known.reshape(-1).tolist()
    return list(given or [])


def _is_any_apart(axes: Sequence[int]) -> bool:
    return any(after != before + 1 for before, after in pairwise(axes))


def _slice_one_by_one(site: Site, *, is_attribute: bool) -> None:
    """Slice one axis after the other, for runtimes that take axes next to one another only."""
    value, axes = site.input(0), _named_axes(site, is_attribute=is_attribute)
    if is_attribute:
        for axis, start, end in zip(axes, site.attribute("starts"), site.attribute("ends"), strict=True):
            value = site.op.copy(value, axes=[axis], starts=[start], ends=[end])
        site.replace(value)
        return
    given = [site.constant_value(position) for position in range(1, len(site.inputs))]
    known = [numbers.reshape(-1) for numbers in given if numbers is not None]
    if len(known) < len(given):
        return
    for numbers in zip(*known, strict=True):
        bounds = [site.constant(one[None], hint="bound") for one in numpy.array(numbers)]
        value = site.op.Slice(value, *bounds)
    site.replace(value)


def _counts_bounds_from_front(site: Site, *, is_attribute: bool) -> bool:
    """Whether constant bounds of a slice that steps forward were others than from 0 to the size, and are so now."""
    if is_attribute:
        starts, ends, axes = (site.attribute(name) for name in ("starts", "ends", "axes"))
    else:
        known = [site.constant_value(position) for position in (1, 2, 3)]
        starts, ends, axes = (None if value is None else value.reshape(-1).tolist() for value in known)
    steps, dims = site.constant_value(4) if site.input(4) else None, site.shape(0)
    if starts is None or ends is None or axes is None or dims is None or (site.input(4) and steps is None):
        return False
    sizes = [dims[axis] for axis in axes if -len(dims) <= axis < len(dims)]
    if (steps is not None and steps.min(initial=1) < 1) or not all(isinstance(size, int) for size in sizes):
        return False
    bounds = [_clamped(start, end, 1, int(size or 0)) for start, end, size in zip(starts, ends, sizes, strict=True)]
    found = {"starts": [one.start for one in bounds], "ends": [one.stop for one in bounds]}
    if found == {"starts": starts, "ends": ends}:
        return False
    for position, (name, numbers) in enumerate(found.items(), 1):
        if is_attribute:
            site.set_attribute(name, numbers)
        else:
            site.set_input(position, site.constant(numpy.array(numbers, site.dtype(1)), hint=name))
    return True


def _write_axes(site: Site, *, is_attribute: bool) -> None:
    starts = site.attribute("starts") if is_attribute else None
    count = len(starts) if starts else list_length(site, 1, because="the axes of the slice are written for the runtime")
    if is_attribute:
        site.set_attribute("axes", list(range(count)))
    else:
        site.set_input(3, site.constant(numpy.arange(count, dtype=site.dtype(1)), hint="axes"))


def gather_what_steps_back(site: Site) -> None:
    """Gather by constant indices along the axes on which a Slice steps back; the others stay a Slice."""
    values = [site.constant_value(position) if site.input(position) else None for position in range(1, 5)]
    starts, ends, axes, steps = (None if value is None else value.reshape(-1).tolist() for value in values)
    dims = site.shape(0)
    if starts is None or ends is None or steps is None or dims is None or (site.input(3) and axes is None):
        return
    axes = counted_from_front(site, axes or list(range(len(starts))), len(dims))
    slices = list(zip(axes, starts, ends, steps, strict=True))
    turned = [(axis, dims[axis], _slice) for axis, *_slice in slices if _slice[-1] < 0]
    if not turned or not all(isinstance(size, int) for _, size, _ in turned):
        return
    op, value = site.op_at(opsets.BFLOAT16), site.input(0)
    if kept := [one for one in slices if one[-1] > 0]:
        names = ("axes", "starts", "ends", "steps")
        columns = {
            name: site.constant(list(numbers), "int64", name)
            for name, numbers in zip(names, zip(*kept, strict=True), strict=True)
        }
        value = op.Slice(value, columns["starts"], columns["ends"], columns["axes"], columns["steps"])
    for axis, size, (start, end, step) in turned:
        assert isinstance(size, int)
        indices = numpy.arange(size, dtype=numpy.int64)[_clamped(start, end, step, size)]
        value = op.Gather(value, site.constant(indices, hint="indices"), axis=axis)
    site.replace(value)


def _clamped(start: int, end: int, step: int, size: int) -> slice:
    """Clamp bounds as 13 defines it; Python's slices differ only for an end of -1, which counts from the end."""
    start += size if start < 0 else 0
    end += size if end < 0 else 0
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    if size == 0:
        return slice(0, 0)
    start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    return slice(start, None if end < 0 else end, step)


def _gather_at_run_time(site: Site, axes: Sequence[int] | None, steps: Sequence[int] | None) -> None:
    """Gather what bounds take that are computed at run time; None stands for axes and steps that are computed, too."""
    if (axes is None and site.input(3)) or steps is None or any(step != 1 for step in steps):
        _gather_by_steps(site, axes)
    else:
        _gather_in_a_row(site, axes)


def _gather_in_a_row(site: Site, axes: Sequence[int] | None) -> None:
    """Where each element from the first on is taken: in integers, as some runtimes calculate nothing in double."""
    because = "the slice is computed at run time, dimension by dimension"
    rank = site.rank(0, because=because)
    if axes is None:
        length = list_length(site, 1, because=because)
        axes = range(length)
    axes = counted_from_front(site, axes, rank)
    op = site.op_at(opsets.AXES_AS_INPUTS)
    value = site.input(0)
    sizes = op.Gather(op.Shape(value), site.constant(axes, "int64", "axes"), axis=0)
    known = site.constant_value(1)
    first = None if known is not None and not known.any() else _within(site, op, 1, sizes)
    stop = _within(site, op, 2, sizes)
    counts = stop if first is None else op.Sub(stop, first)
    for position, axis in enumerate(axes):
        number = site.constant(position, "int64", "position")
        indices = iota(site, op, op.Gather(counts, number))
        if first is not None:
            indices = op.Add(indices, op.Gather(first, number))
        value = gather_within(site, value, indices, axis=axis)
    site.replace(value)


def _within(site: Site, op: Operators, position: int, sizes: str) -> str:
    """Bounds counted from the front, and clamped to 0 and the sizes. No difference leaves the range of int64."""
    bounds, known = site.input(position), site.constant_value(position)
    if site.dtype(position) != "int64":
        bounds = op.Cast(bounds, to="int64")
    if known is None or known.min(initial=0) < 0:
        from_front = added_where(op, is_negative(site, op, bounds), bounds, sizes, "int64")
        bounds = op.Mul(from_front, op.Cast(op.Not(is_negative(site, op, from_front)), to="int64"))
    beyond = op.Sub(bounds, sizes)
    return added_where(op, is_negative(site, op, beyond), sizes, beyond, "int64")


def _gather_by_steps(site: Site, axes: Sequence[int] | None) -> None:
    """Start, number and step for each dimension, clamped as the text has it, then an index for each element that stays.

    In double, which holds the size of every dimension. What is larger is clamped: to a size, to -1 or to one element.
    """
    because = "the slice is computed at run time, dimension by dimension"
    rank = site.rank(0, because=because)
    op = site.op_at(opsets.AXES_AS_INPUTS)
    sizes = op.Cast(op.Shape(site.input(0)), to="double")
    starts, ends, steps, named = _by_dimension(site, op, rank, sizes, because)
    zero = site.constant(numpy.zeros(rank), hint="zero")
    is_backward = op.Cast(op.Less(steps, zero), to="double")
    last = op.Sub(sizes, is_backward)
    bounds = []
    for bound, least in ((starts, zero), (ends, op.Neg(is_backward))):
        from_front = op.Add(bound, op.Mul(sizes, op.Cast(op.Less(bound, zero), to="double")))
        # Not below the least, not above the last. Min and Max of old opsets take one shape only, and few runtimes
        # have them for doubles; a bound too large to be a difference without rounding is above the last all the same.
        raised = op.Add(least, op.Relu(op.Sub(from_front, least)))
        bounds.append(op.Sub(last, op.Relu(op.Sub(last, raised))))
    first, stop = bounds
    counts = op.Relu(op.Ceil(op.Div(op.Sub(stop, first), steps)))
    value = site.input(0)
    for axis in named if axes is None else counted_from_front(site, axes, rank):
        number = site.constant(axis, "int64", "axis")
        count = op.Cast(op.Gather(counts, number), to="int64")
        numbers = op.Mul(op.Cast(iota(site, op, count), to="double"), op.Gather(steps, number))
        indices = op.Cast(op.Add(numbers, op.Gather(first, number)), to="int64")
        value = gather_within(site, value, indices, axis=axis)
    site.replace(value)


def _by_dimension(
    site: Site, op: Operators, rank: int, sizes: str, because: str
) -> tuple[str, str, str, Sequence[int]]:
    """Starts, ends and steps of all dimensions, and the dimensions that the axes may name."""
    starts, ends = (op.Cast(site.input(position), to="double") for position in (1, 2))
    steps = op.Cast(site.input(4), to="double") if site.input(4) else None
    ones = site.constant(numpy.ones(rank), hint="ones")
    if not site.input(3):
        length = list_length(site, 1, because=because)
        rest = rank - length
        if rest:
            tail = site.constant([length], "int64", "bound")
            starts = op.Concat(starts, site.constant(numpy.zeros(rest), hint="zero"), axis=0)
            ends = op.Concat(ends, op.Slice(sizes, tail, site.constant([rank], "int64", "bound")), axis=0)
            steps = None if steps is None else op.Concat(steps, site.constant(numpy.ones(rest), hint="ones"), axis=0)
        return starts, ends, steps or ones, range(length)
    axes = site.input(3) if site.dtype(3) == "int64" else op.Cast(site.input(3), to="int64")
    named = NamedAxes(site, op, axes, rank, "double")
    unnamed = op.Sub(ones, named.are_named())
    all_steps = ones if steps is None else op.Add(named.spread(steps), unnamed)
    return named.spread(starts), op.Add(named.spread(ends), op.Mul(unnamed, sizes)), all_steps, range(rank)


_RANGE = "11 adds negative axes; non-negative axes mean the same"
_CLAMPS = "13 spells out how bounds are clamped, as numpy does, which 11 refers to"

STEPS = [
    Step("Slice", 1, 10, up=move_attributes_to_inputs, down=move_inputs_to_attributes),
    Step("Slice", 10, 11, up=unchanged, down=make_axes_non_negative, because=_RANGE),
    Step("Slice", 11, 13, up=unchanged, down=unchanged, because=_CLAMPS),
]

FALLBACKS = [
    Fallback("Slice", write_axes_or_gather),
]
