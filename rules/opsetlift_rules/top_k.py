"""The greatest or least elements along an axis.

TopK  10: k attribute -> input · 11: +largest, +sorted, axis may be any negative, +integers · 24: +bfloat16
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Step, unchanged, widen_values
from opsetlift.rulebook.site import Operators, Site, pop_attribute
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import (
    counted_from_front,
    gather_within,
    is_along_the_last_axis,
    put_an_axis_behind,
)
from opsetlift_rules.helpers.counting import iota
from opsetlift_rules.helpers.dtype_groups import COMPARED_IN, FIRST_FLOATS

_UNITS = {"double": [2**32], "float": [2**44, 2**22]}
"""Divisors that split a 64-bit integer into parts that the float type holds exactly."""
_BEFORE_THE_START = -(2**63)
"""The end of a Slice with negative steps that includes element 0."""
_LARGEST_ONLY = 10
"""The opset at which TopK takes k as an input, and finds the largest elements only."""


def move_k_to_an_input(site: Site) -> None:
    """Move k of TopK-1 to an input of TopK-10."""
    site.set_input(len(site.inputs), site.constant([pop_attribute(site, "k")], "int64", "k"))


def move_k_to_an_attribute(site: Site) -> None:
    """Move k of TopK-10 to the attribute of TopK-1; with k computed at run time, sort the whole axis and gather."""
    k = site.constant_value(1)
    if k is not None:
        if k.reshape(()) < 1:
            site.refuse(Why.INVALID_MODEL, f"K is {k.reshape(())}; it must be positive")
        site.remove_input(1)
        site.set_attribute("k", int(k.reshape(())))
        return
    axis, dims = site.attribute("axis", -1), site.shape(0)
    size = dims[axis] if dims is not None and -len(dims) <= axis < len(dims) else None
    if dims is None or not isinstance(size, int):
        site.refuse(
            Why.INPUT_NOT_CONSTANT,
            "TopK needs a constant k below opset 10; here k and the size of the axis are known only at run time",
        )
    op = site.op_at(opsets.BFLOAT16)
    count = op.Reshape(site.input(1), site.constant([], "int64", "shape"))
    first = iota(site, op, count)
    sorted_ = site.op.copy(site.input(0), k=size, outputs=2)
    site.replace(*(gather_within(site, value, first, axis=axis % len(dims)) for value in sorted_))


def sort_smallest_and_integers_as_largest_floats(site: Site) -> None:
    """Write TopK-11 for TopK-10, which finds the largest floats only and always sorts them."""
    is_largest = pop_attribute(site, "largest", 1)
    site.remove_attribute("sorted")
    axis, dtype = site.attribute("axis", -1), site.dtype(0)
    if axis < -1:
        rank = site.rank(0, because="below opset 11 an axis below -1 must be made non-negative")
        axis = counted_from_front(site, [axis], rank, name="axis")[0]
        site.set_attribute("axis", axis)
    if is_largest and dtype in FIRST_FLOATS:
        return
    data, k = site.inputs
    op = site.op_at(opsets.BFLOAT16)
    if is_largest:
        values, indices = _greatest(site, op, data, k, axis)
    else:
        values, indices = _least(site, op, data, k, axis)
    site.replace(values, indices)


def _least(site: Site, op: Operators, data: str, k: str, axis: int) -> tuple[str, str]:
    """Sort all elements of the reversed tensor in descending order, and read them from the end.

    Of equal ones the first then comes first, and NaN, the greatest, last.
    """
    count, dims = site.constant_value(k), site.shape(0) or []
    length = dims[axis] if -len(dims) <= axis < len(dims) else None
    if isinstance(length, int) and count is not None and count.size == 1 and 0 <= count.item() <= length:
        return _least_of_known(site, op, axis, length, int(count.item()))
    position = site.constant([axis], "int64", "axis")
    back = site.constant([-1], "int64", "minus_one")
    turned = op.Slice(data, back, site.constant([_BEFORE_THE_START], "int64", "end"), position, back)
    size = op.Gather(op.Shape(data), position)
    sorted_ = _greatest(site, op, turned, size, axis)
    known = site.constant_value(k)
    end = op.Sub(back, k) if known is None else site.constant([-1 - int(known.reshape(()))], "int64", "end")
    values, indices = (op.Slice(value, back, end, position, back) for value in sorted_)
    return values, op.Sub(op.Sub(size, site.constant([1], "int64", "one")), indices)


def _least_of_known(site: Site, op: Operators, axis: int, length: int, count: int) -> tuple[str, str]:
    """The same by constant indices, where size and k are known."""
    backwards = site.constant(numpy.arange(length - 1, -1, -1), "int64", "backwards")
    last = site.constant(numpy.arange(length - 1, length - 1 - count, -1), "int64", "last")
    turned = op.Gather(site.input(0), backwards, axis=axis)
    sorted_ = _greatest(site, op, turned, site.constant([length], "int64", "size"), axis)
    values, indices = (op.Gather(value, last, axis=axis) for value in sorted_)
    return values, op.Sub(site.constant(length - 1, "int64", "end"), indices)


def _greatest(site: Site, op: Operators, data: str, k: str, axis: int) -> tuple[str, str]:
    dtype = site.dtype(0)
    top = site.op_at(_LARGEST_ONLY).TopK
    if dtype in FIRST_FLOATS:
        values, indices = top(data, k, axis=axis, outputs=2)
        return values, indices
    if dtype in COMPARED_IN and site.computes("TopK", T=COMPARED_IN[dtype]):
        values, indices = top(op.Cast(data, to=COMPARED_IN[dtype]), k, axis=axis, outputs=2)
        return op.Cast(values, to=dtype), indices
    # A radix sort, as no float holds 64 bits: TopK is stable, so sorting by the lowest part first and the highest last
    # sorts by all of them.
    compute_dtype = "double" if site.computes("TopK", T="double") else "float"
    wide = dtype if dtype == "uint64" else "int64"
    rest = data if dtype == wide else op.Cast(data, to=wide)
    parts = []
    for number in _UNITS[compute_dtype]:
        unit = site.constant(numpy.array(number, numpy_dtype(wide)), hint="unit")
        parts.append(op.Div(rest, unit))
        rest = op.Sub(rest, op.Mul(parts[-1], unit))
    size = op.Gather(op.Shape(data), site.constant([axis], "int64", "axis"))
    _, indices = top(op.Cast(rest, to=compute_dtype), size, axis=axis, outputs=2)
    for part in reversed(parts):
        in_order = op.GatherElements(op.Cast(part, to=compute_dtype), indices, axis=axis)
        _, places = top(in_order, k if part is parts[0] else size, axis=axis, outputs=2)
        indices = op.GatherElements(indices, places, axis=axis)
    return op.GatherElements(data, indices, axis=axis), indices


def write_k_out_or_sort_as_largest_floats(site: Site) -> None:
    """Write k as a constant where it is known, else reshape it to [1]; other nodes become TopK-11 as TopK-10 has it.

    TopK-1, whose k is an attribute, is moved to the last axis. The one largest number along the last axis is looked for
    with another axis behind it, of one element: some runtimes find the first of equal ones only so.
    """
    rank, axis = len(site.shape(0) or ()), site.attribute("axis", -1)
    has_kernel = site.computes("TopK", T=site.dtype(0))
    if site.attribute("k") is not None and has_kernel and rank and axis % rank != rank - 1:
        _find_along_the_last_axis(site, rank)
        return
    is_usual = site.attribute("largest", 1) and site.attribute("sorted", 1) and axis >= -1
    if not is_usual or not has_kernel:
        sort_smallest_and_integers_as_largest_floats(site)
        return
    k = site.constant_value(1)
    if k is not None and k.shape == (1,) and k[0] == 1 and is_along_the_last_axis(site, axis):
        site.replace(*put_an_axis_behind(site))
    elif k is None:
        site.set_input(1, site.op_at(opsets.BFLOAT16).Reshape(site.input(1), site.constant([1], "int64", "shape")))
    else:
        site.set_input(1, site.constant(k.reshape(-1), hint="k"))


def _find_along_the_last_axis(site: Site, rank: int) -> None:
    """Find the elements of TopK-1 along the last axis, for runtimes that look along another one there."""
    op, axis = site.op, site.attribute("axis", -1) % rank
    order = [place for place in range(rank) if place != axis] + [axis]
    found = op.copy(op.Transpose(site.input(0), perm=order), axis=-1, outputs=2)
    back = [order.index(place) for place in range(rank)]
    site.replace(*(op.Transpose(value, perm=back) for value in found))


_DEFAULTS = "the defaults of 11 are what 10 does"

_SORTED_AS_THE_GREATEST = sort_smallest_and_integers_as_largest_floats

STEPS = [
    Step("TopK", 1, 10, up=move_k_to_an_input, down=move_k_to_an_attribute),
    Step("TopK", 10, 11, up=unchanged, down=_SORTED_AS_THE_GREATEST, because=_DEFAULTS),
    Step("TopK", 11, 24, up=unchanged, down=widen_values()),
]

FALLBACKS = [
    Fallback("TopK", write_k_out_or_sort_as_largest_floats),
]
