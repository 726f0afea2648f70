"""Elements moved by operators that a runtime computes for few dtypes."""

from __future__ import annotations

import math

import numpy

from opsetlift.rulebook.site import Operators, Site, known_shape, widen_to_kernel
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import gather_within
from opsetlift_rules.helpers.counting import LARGEST_TABLE, iota
from opsetlift_rules.helpers.dimensions import reshape_exactly

_UNITS = {"double": [2**32], "float": [2**44, 2**22]}
"""Floats with numbers that divide an int64 into parts that they hold."""

_NUMPY = {"double": numpy.float64, "float": numpy.float32}


def move_elements(site: Site) -> None:
    """Move elements in a wider dtype; int64 in parts that floats hold, other dtypes by Gather of their positions."""
    operator = site.node.op_type
    if widen_to_kernel(site):
        return
    dtype = next((one for one in _UNITS if site.computes(operator, T=one)), None)
    if dtype is None:
        return
    op = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC)
    value = site.input(0)
    if site.dtype(0) == "int64":
        site.replace(_moved_in_parts(site, op, value, dtype))
        return
    flat = op.Reshape(value, site.constant([-1], "int64", "flat"))
    site.replace(gather_within(site, flat, _moved_positions(site, op, value, dtype)))


def _moved_in_parts(site: Site, op: Operators, value: str, dtype: str) -> str:
    """An int64 tensor, moved: the parts are put together as they were divided, by truncation."""
    moved = []
    rest = value
    for unit in _UNITS[dtype]:
        size = site.constant(unit, "int64", "unit")
        part = op.Div(rest, size)
        rest = op.Sub(rest, op.Mul(part, size))
        moved.append(op.Mul(_moved(site, op, part, dtype), size))
    whole = _moved(site, op, rest, dtype)
    for part in moved:
        whole = op.Add(whole, part)
    return str(whole)


def _moved(site: Site, op: Operators, value: str, dtype: str) -> str:
    return str(op.Cast(site.op.copy(op.Cast(value, to=dtype), *site.inputs[1:]), to="int64"))


def _moved_positions(site: Site, op: Operators, value: str, dtype: str) -> str:
    """For each element of the result, where it is in the flattened input."""
    dims = known_shape(site, 0)
    if dims is not None and math.prod(dims) <= LARGEST_TABLE:
        numbers = numpy.arange(math.prod(dims), dtype=_NUMPY[dtype]).reshape(dims)
        return str(op.Cast(site.op.copy(site.constant(numbers, hint="positions"), *site.inputs[1:]), to="int64"))
    counted = reshape_exactly(op, iota(site, op, op.Size(value)), op.Shape(value))
    return _moved_in_parts(site, op, counted, dtype)
