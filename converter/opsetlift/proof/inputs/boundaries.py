"""Inputs on either side of the places where what a model computes jumps.

A threshold that is computed stands in no constant. Between two inputs that differ, the search halves the way again and
again, into the half in which the outputs change more, until it has two neighbours: one on either side of a jump, if
there is one. A model with another threshold, or another way to round, gives something else on one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy

from opsetlift.model.arrays import Array
from opsetlift.proof.inputs.cases import Attempt, Case, Ran
from opsetlift.proof.limits import is_floating

STEPS = 48
"""So often the way between two inputs is halved at most."""

_SETTLED = 10
"""After so many steps what changes continuously has become small."""

_CONTINUOUS = 2.0**-6
"""By this much then."""

Values = Mapping[str, Any]


def search(one: Case, other: Case, names: Sequence[str], attempt: Attempt) -> None:
    """Look between two accepted cases of the same shapes that differ in the inputs called `names`.

    The way is halved for all elements together, and then for each by itself, led by outputs of the shape of an input:
    once by what the first side gives and, where that may be something else, once by what the second does.
    """
    first, last = attempt(one), attempt(other)
    if not isinstance(first, Ran) or not isinstance(last, Ran):
        return
    for side in range(len(first.sides)):
        _together((one, first), (other, last), names, attempt, side)
        _each_by_itself((one, first), (other, last), names, attempt, side)


def _together(
    one: tuple[Case, Ran], other: tuple[Case, Ran], names: Sequence[str], attempt: Attempt, side: int
) -> None:
    (low, low_ran), (high, high_ran) = one, other
    at_first = _change(low_ran.sides[side], high_ran.sides[side])
    for step in range(STEPS):
        middle = _between(low, high, names)
        if middle is None:
            return
        ran = attempt(middle)
        if not isinstance(ran, Ran):
            return
        below, above = (_change(end.sides[side], ran.sides[side]) for end in (low_ran, high_ran))
        if below >= above:
            high, high_ran = middle, ran
        else:
            low, low_ran = middle, ran
        kept = max(below, above)
        if step > _SETTLED and not kept[0] and kept[1] <= at_first[1] * _CONTINUOUS:
            return


def _each_by_itself(
    one: tuple[Case, Ran], other: tuple[Case, Ran], names: Sequence[str], attempt: Attempt, side: int
) -> None:
    (low, low_ran), (high, high_ran) = one, other
    for place, output in enumerate(low_ran.sides[side]):
        if not isinstance(output, numpy.ndarray) or output.size < 2:
            continue
        alike = [name for name in names if low.values[name].shape == output.shape]
        ends = output, high_ran.sides[side][place]
        if not alike or numpy.shape(ends[1]) != output.shape:
            continue
        at_first = _jumps(*ends)
        from_low, from_high = low, replace(low, values={**low.values, **{name: high.values[name] for name in alike}})
        for step in range(STEPS):
            middle = _between(from_low, from_high, alike)
            ran = None if middle is None else attempt(middle)
            if middle is None or not isinstance(ran, Ran):
                break
            found = ran.sides[side][place]
            if numpy.shape(found) != output.shape:
                break
            is_below = _jumps(ends[0], found) >= _jumps(ends[1], found)
            from_low = _chosen(is_below, from_low, middle, alike)
            from_high = _chosen(is_below, middle, from_high, alike)
            ends = numpy.where(is_below, ends[0], found), numpy.where(is_below, found, ends[1])
            if step > _SETTLED and bool((_jumps(*ends) <= at_first * _CONTINUOUS).all()):
                break


def _chosen(is_first: Array, first: Case, second: Case, names: Sequence[str]) -> Case:
    """The elements of one case where `is_first`, and those of another elsewhere."""
    chosen = {name: numpy.where(is_first, first.values[name], second.values[name]) for name in names}
    return replace(first, values={**first.values, **chosen})


def _between(low: Case, high: Case, names: Sequence[str]) -> Case | None:
    """Half-way between two cases; None where these are neighbours."""
    middle = {name: _half_way(low.values[name], high.values[name]) for name in names}
    if all(bool(((value == low.values[name]) | (value == high.values[name])).all()) for name, value in middle.items()):
        return None
    return replace(low, values={**low.values, **middle})


def _half_way(low: Array, high: Array) -> Array:
    with numpy.errstate(all="ignore"):
        if is_floating(low.dtype):
            wide = numpy.float64 if low.dtype.itemsize < 8 else low.dtype
            found = low.astype(wide) / 2 + high.astype(wide) / 2
            return numpy.asarray(found).astype(low.dtype)
        return numpy.asarray((low >> 1) + (high >> 1) + (low & high & 1))


def _change(first: Sequence[Any], second: Sequence[Any]) -> tuple[float, float]:
    """By how much outputs differ: in how many shapes and values that are no floats, and by how much the floats do."""
    discrete = continuous = 0.0
    for one, other in zip(first, second, strict=True):
        if not isinstance(one, numpy.ndarray) or numpy.shape(one) != numpy.shape(other):
            discrete += numpy.shape(one) != numpy.shape(other)
        elif one.dtype.kind in "iubO":
            discrete += int((one != other).sum())
        elif is_floating(one.dtype):
            continuous += float(_jumps(one, other).sum())
    return discrete, continuous


def _jumps(first: Array, second: Array) -> Array:
    """By how much the elements differ; between what is finite and what is not by very much."""
    if first.dtype.kind not in "iuf" and not is_floating(first.dtype):
        return numpy.asarray(first != second, numpy.float64)
    with numpy.errstate(all="ignore"):
        one, other = first.astype(numpy.float64), second.astype(numpy.float64)
        found = numpy.abs(one - other)
        same = (one == other) | (numpy.isnan(one) & numpy.isnan(other))
        return numpy.where(same, 0.0, numpy.where(numpy.isfinite(found), found, 1e300))
