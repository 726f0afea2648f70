"""The index of an extreme.

ArgMax, ArgMin  11: axis may be negative, no empty input · 12: +select_last_index, empty inputs again · 13: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift.rulebook.site import Site, pop_attribute, widen_to_kernel
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import is_along_the_last_axis, make_axis_non_negative, put_an_axis_behind

_FIRST = -(2**63)


def replace_select_last_index_and_empty_inputs(site: Site) -> None:
    """Write ArgMax-12 or ArgMin-12 for 11, which has neither select_last_index nor empty inputs."""
    if 0 in (site.shape(0) or []):
        _indices_of_nothing(site)
    else:
        search_last_index_from_the_end(site)


def _indices_of_nothing(site: Site) -> None:
    """Write a Reshape of an empty input: to a size of 1 along the axis, and the same sizes (0) elsewhere.

    It fails where the axis has no elements and the others have some, as there is no extreme.
    """
    op = site.op_at(opsets.AXES_AS_INPUTS)
    axis, shape = site.attribute("axis", 0), site.shape(0) or []
    if not -len(shape) <= axis < len(shape):
        site.refuse(Why.INVALID_MODEL, f"axis {axis} is beyond the rank, {len(shape)}")
    sizes = [0] * len(shape)
    sizes[axis] = 1
    others = [size for place, size in enumerate(shape) if place != axis % len(shape)]
    if all(isinstance(size, int) and size for size in others):
        site.refuse(Why.INVALID_MODEL, f"axis {axis} has no elements, so there is no extreme")
    indices = op.Cast(op.Reshape(site.input(0), site.constant(sizes, "int64", "sizes")), to="int64")
    site.replace(indices if site.attribute("keepdims", 1) else op.Squeeze(indices, site.constant([axis], "int64")))


def search_last_index_from_the_end(site: Site) -> None:
    """Search the reversed input, whose first extreme is the last one of the input."""
    if not pop_attribute(site, "select_last_index", 0):
        return
    axis = site.attribute("axis", 0)
    op = site.op_at(opsets.BFLOAT16)
    one = site.constant([-1], "int64", "minus_one")
    axes = site.constant([axis], "int64")
    backwards = op.Slice(site.input(0), one, site.constant([_FIRST], "int64", "end"), axes, one)
    length = op.Gather(op.Shape(site.input(0)), site.constant(axis, "int64", "axis"))
    last = op.Sub(length, site.constant(1, "int64", "one"))
    site.replace(op.Sub(last, site.op.copy(backwards)))


def compare_with_the_extreme_or_widen(site: Site) -> None:
    """Compute in a type that the runtime supports; of int64, which none holds, find the number equal to the extreme.

    Where the runtime has a kernel, the axis is counted from the front, and kept and removed afterwards; else, as the
    last one, it gets another one behind it, of one element: some runtimes find the first of equal numbers only so.
    """
    if site.computes(site.node.op_type, T=site.dtype(0)):
        counts_back = site.attribute("axis", 0) < 0 and bool(site.shape(0))
        if counts_back:
            make_axis_non_negative(site)
        if not site.attribute("keepdims", 1):
            axis = site.constant([site.attribute("axis", 0)], "int64", "axes")
            site.replace(site.op_at(opsets.AXES_AS_INPUTS).Squeeze(site.op.copy(site.input(0), keepdims=1), axis))
        if counts_back or site.is_replaced:
            return
        if is_along_the_last_axis(site, site.attribute("axis", 0)):
            site.replace(*put_an_axis_behind(site))
            return
    if widen_to_kernel(site) or site.dtype(0) != "int64":
        return
    op = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC)
    is_max = site.node.op_type == "ArgMax"
    axes = [site.attribute("axis", 0)]
    extreme = op.emit("ReduceMax" if is_max else "ReduceMin", site.input(0), axes=axes, keepdims=1)
    is_extreme = op.Equal(site.input(0), extreme)
    site.replace(site.op.copy(op.Cast(is_extreme if is_max else op.Not(is_extreme), to="float")))


_AXIS = "11 adds negative axes and forbids empty inputs, which have no extreme"
_TIES = "11 leaves open which of several equal extremes is found; runtimes have always taken the first, as 12 says"
_EDITORIAL = "13 only corrects the grammar"


STEPS = [
    Step("ArgMax", 1, 11, up=unchanged, down=make_axis_non_negative, because=_AXIS),
    Step("ArgMax", 11, 12, up=unchanged, down=replace_select_last_index_and_empty_inputs, because=_TIES),
    Step("ArgMax", 12, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ArgMin", 1, 11, up=unchanged, down=make_axis_non_negative, because=_AXIS),
    Step("ArgMin", 11, 12, up=unchanged, down=replace_select_last_index_and_empty_inputs, because=_TIES),
    Step("ArgMin", 12, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
]

FALLBACKS = [
    Fallback("ArgMax", compare_with_the_extreme_or_widen),
    Fallback("ArgMin", compare_with_the_extreme_or_widen),
]
