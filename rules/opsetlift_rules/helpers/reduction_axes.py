"""Helpers for the axes of reductions: counted from the front, moved between attribute and input, found at run time."""

from __future__ import annotations

import numpy

from opsetlift.rulebook.site import Operators, Site, known_shape, pop_attribute
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import counted_from_front
from opsetlift_rules.helpers.dtype_groups import FLOATING

_KEEPS_SINGLE_VALUES = frozenset(["ReduceMin", "ReduceMax", "ReduceMean", "ReduceSum", "ReduceProd"])
"""Reductions that map a single value to itself."""

_STARTS_AT_0 = frozenset(["ReduceSum", "ReduceMean"])
"""Reductions that add to 0, which turns -0 into 0."""


def move_axes_to_an_input(site: Site) -> None:
    """Move the attribute `axes` of a reduction to an input. Absent and empty axes both mean all axes."""
    axes = pop_attribute(site, "axes")
    if axes:
        site.set_input(len(site.inputs), site.constant(axes, "int64"))


def move_axes_to_an_attribute(site: Site) -> None:
    """Move the axes of a reduction to an attribute, and remove noop_with_empty_axes.

    Without axes a noop still applies the operator to each element: ReduceL1 gives the magnitude, ReduceLogSum the
    logarithm. Others become Identity. Computed axes whose shape is [0] are none.
    """
    is_noop_if_empty = bool(pop_attribute(site, "noop_with_empty_axes", 0))
    axes_name = site.input(1)
    axes = site.constant_value(axes_name)
    if axes_name and axes is None and site.shape(axes_name) != [0]:
        _reduce_axes_of_the_run(site, axes_name, is_noop_if_empty)
        return
    site.remove_input(1)
    if axes is not None and axes.size:
        site.set_attribute("axes", axes.reshape(-1).tolist())
    elif is_noop_if_empty and site.node.op_type in _KEEPS_SINGLE_VALUES:
        site.replace(site.op.Identity(site.input(0)))
    elif is_noop_if_empty:
        single = site.op_at(opsets.AXES_AS_INPUTS).Unsqueeze(site.input(0), site.constant([0], "int64"))
        site.replace(site.op.copy(single, axes=[0], keepdims=0))


def make_axes_non_negative(site: Site) -> None:
    """Make the axes of a reduction non-negative, as versions below 11 require."""
    axes = site.attribute("axes")
    if not axes or min(axes) >= 0:
        return
    rank = site.rank(0, because="below opset 11 negative axes must be made non-negative")
    counted = counted_from_front(site, axes, rank)
    if len(set(counted)) < len(counted):
        site.refuse(Why.INVALID_MODEL, f"axes {axes} contain a dimension of {site.input(0)!r} twice")
    site.set_attribute("axes", counted)


def _reduce_axes_of_the_run(site: Site, axes: str, is_noop_if_empty: bool) -> None:
    """Reshape each dimension n to (1, n) if it is reduced, else to (n, 1), and reduce every second dimension."""
    rank = site.rank(0, because="the axes are computed at run time")
    if site.target < opsets.SHAPE_AS_INPUT:
        site.refuse(
            Why.INPUT_NOT_CONSTANT,
            (
                f"the axes ({axes!r}) are computed at run time, so the shape of the result is too; below "
                "opset 5 no operator accepts a computed shape"
            ),
        )
    op = site.op_at(opsets.ALLOWZERO)
    is_reduced = _named_dimensions(site, op, axes, rank)
    is_empty = op.Equal(op.Size(axes), site.constant(0, "int64", "zero")) if _may_be_empty(site, axes) else ""
    if is_empty and not is_noop_if_empty:
        is_reduced = op.Or(is_reduced, is_empty)
    sizes, one = op.Shape(site.input(0)), site.constant(1, "int64", "one")
    pairs = [op.Where(is_reduced, one, sizes), op.Where(is_reduced, sizes, one)]
    second = site.constant([1], "int64")
    shape = op.Concat(*(op.Unsqueeze(sizes, second) for sizes in pairs), axis=1)
    shape = op.Reshape(shape, site.constant([-1], "int64", "flat"))
    keepdims = pop_attribute(site, "keepdims", 1)
    if 0 in (known_shape(site, 0) or []):
        # Below 14 Reshape cannot make every empty shape; an empty tensor is made anew.
        doubled = site.op_at(opsets.BFLOAT16_IN_CONSTANT_OF_SHAPE).ConstantOfShape(
            shape, value=numpy.zeros(1, numpy_dtype(site.dtype(0)))
        )
    else:
        doubled = op.Reshape(site.input(0), shape, allowzero=1)
    doubled_axes = [2 * position + 1 for position in range(rank)]
    reduced = site.op.copy(doubled, axes=doubled_axes, keepdims=0)
    if is_empty and is_noop_if_empty and site.node.op_type in _STARTS_AT_0 and site.dtype(0) in FLOATING:
        # A sum over no axes keeps -0, as ReduceMax of single values does.
        same = site.op.ReduceMax(doubled, axes=doubled_axes, keepdims=0)
        reduced = op.Where(is_empty, same, reduced)
    if not keepdims:
        kept = op.Compress(sizes, op.Not(is_reduced), axis=0)
        reduced = op.Reshape(reduced, kept, allowzero=1)
    site.replace(reduced)


def _named_dimensions(site: Site, op: Operators, axes: str, rank: int) -> str:
    """Whether the axes name each dimension: a sum over the axes, which is 0 over none (a maximum is not)."""
    column = op.Unsqueeze(axes, site.constant([1], "int64"))
    numbers = [site.constant(range(first, first + rank), "int64", "dimensions") for first in (0, -rank)]
    named = op.Or(*(op.Equal(column, one) for one in numbers))
    counts = op.ReduceSum(op.Cast(named, to="int64"), site.constant([0], "int64"), keepdims=0)
    return str(op.Cast(counts, to="bool"))


def _may_be_empty(site: Site, axes: str) -> bool:
    shape = site.shape(axes)
    return not shape or not isinstance(shape[0], int) or shape[0] == 0
