"""One-hot vectors of classes.

OneHot  9: introduced · 11: indices and axis may be negative · 28: +bfloat16
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged, widen_values
from opsetlift.rulebook.site import Operators, Site
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import counted_from_front
from opsetlift_rules.helpers.counting import iota
from opsetlift_rules.helpers.signs import added_where, is_negative


def move_negative_indices_out_of_range(site: Site) -> None:
    """Replace negative indices of OneHot-9, which select nothing, with the depth: in 11 they count from the end."""
    indices = site.constant_value(0)
    if site.dtype(0).startswith("uint") or (indices is not None and (indices > -1).all()):
        return
    op = site.op_at(opsets.BFLOAT16)
    classes, depth = (_as_int64(site, op, position) for position in (0, 1))
    site.set_input(0, op.Where(op.Less(classes, site.constant(0, "int64", "zero")), depth, classes))


def make_indices_and_axis_non_negative(site: Site) -> None:
    """Make indices and axis of OneHot-11 non-negative, as version 9 requires."""
    _count_axis_from_front(site)
    indices = site.constant_value(0)
    if not site.dtype(0).startswith("uint") and (indices is None or (indices <= -1).any()):
        site.set_input(0, _indices_from_front(site, site.op_at(opsets.BFLOAT16)))


def _count_axis_from_front(site: Site) -> None:
    """Make the axis non-negative, except for -1, which version 9 has for the last dimension."""
    axis = site.attribute("axis", -1)
    if axis < -1:
        rank = site.rank(0, because="below opset 11 a negative axis must be made non-negative")
        site.set_attribute("axis", counted_from_front(site, [axis], rank + 1, name="axis")[0])


def _indices_from_front(site: Site, op: Operators) -> str:
    """Indices below -depth stay as they are: adding the depth once would give a negative index in range."""
    classes, depth = (_as_int64(site, op, position) for position in (0, 1))
    is_too_low = is_negative(site, op, op.Add(classes, depth))
    is_counted = op.And(is_negative(site, op, classes), op.Not(is_too_low))
    return added_where(op, is_counted, classes, depth, "int64")


def _as_int64(site: Site, op: Operators, position: int) -> str:
    """An input as int64, to which the text casts other dtypes; of the depth, its only element."""
    value = site.input(position)
    is_shaped = position == 0 or site.shape(position) == []
    if is_shaped and site.dtype(position) == "int64":
        return value
    known = site.constant_value(position)
    if known is not None:
        return site.constant(known.astype(numpy.int64).reshape(() if position == 1 else known.shape), hint="depth")
    if not is_shaped:
        value = op.Reshape(value, site.constant([], "int64", "shape"))
    return value if site.dtype(position) == "int64" else str(op.Cast(value, to="int64"))


def decompose_one_hot(site: Site) -> None:
    """Replace OneHot-9 with Equal and a Gather from the values [off, on]."""
    because = "the classes need a dimension of size 1 for each later axis"
    rank = site.rank(0, because=because)
    axis = counted_from_front(site, [site.attribute("axis", -1)], rank + 1, name="axis")[0]
    op = site.op_at(opsets.AXES_AS_INPUTS)
    depth = site.constant_value(1)
    trailing = rank - axis
    if depth is not None:
        count = int(depth.astype(numpy.int64).reshape(()))
        classes = site.constant(numpy.arange(count, dtype=numpy.int64).reshape(-1, *[1] * trailing), hint="classes")
    else:
        classes = iota(site, op, _as_int64(site, op, 1))
        if trailing:
            classes = op.Unsqueeze(classes, site.constant(range(1, trailing + 1), "int64"))
    indices = op.Unsqueeze(_as_int64(site, op, 0), site.constant([axis], "int64"))
    is_hot = op.Cast(op.Equal(indices, classes), to="int64")
    site.replace(site.op.Gather(site.input(2), is_hot, axis=0))


def compare_with_all_classes(site: Site) -> None:
    """Replace OneHot of any version with Equal and a Gather from the values."""
    if site.opset > opsets.NON_NEGATIVE_INDICES:
        make_indices_and_axis_non_negative(site)
    decompose_one_hot(site)


def cast_indices_and_depth_to_int64(site: Site) -> None:
    """Cast indices and depth to int64, as the specification says; reshape the depth to [1], as old runtimes require.

    Without a kernel for the dtype of the values, OneHot is decomposed.
    """
    if not site.computes("OneHot", T1="int64", T2="int64", T3=site.dtype(2)):
        compare_with_all_classes(site)
        return
    op = site.op_at(opsets.BFLOAT16)
    for position in (0, 1):
        if site.dtype(position) != "int64":
            site.set_input(position, op.Cast(site.input(position), to="int64"))
    if site.shape(1) == []:
        depth, line = site.input(1), site.constant([1], "int64", "shape")
        site.set_input(1, site.folded(lambda: str(op.Reshape(depth, line)), "depth"))


STEPS = [
    Step("OneHot", 9, 11, up=move_negative_indices_out_of_range, down=make_indices_and_axis_non_negative),
    Step("OneHot", 11, 28, up=unchanged, down=widen_values(like=2)),
]

INTRODUCTIONS = [
    Introduction("OneHot", 9, down=decompose_one_hot),
]

FALLBACKS = [
    Fallback("OneHot", cast_indices_and_depth_to_int64, otherwise=compare_with_all_classes),
]
