"""Numbers counted at run time.

Range  11: introduced · 27: +float16 +bfloat16, stash_type
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged
from opsetlift.rulebook.site import Operators, Site, dtype_attribute, is_constant, widen
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.counting import endless
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS
from opsetlift_rules.helpers.separating import put_maxima_before
from opsetlift_rules.helpers.signs import is_negative, is_positive

_FLOATS = ("float", "double", "float16", "bfloat16")


def compute_narrow_floats_in_stash_type(site: Site) -> None:
    """Compute Range-27 of float16 and bfloat16, which Range-11 does not take, in stash_type, and cast the result."""
    stash_type = dtype_attribute(site, "stash_type", "float")
    site.remove_attribute("stash_type")
    dtype = site.dtype(0)
    if dtype not in ("float16", "bfloat16"):
        return
    if stash_type not in ("float", "double"):
        site.refuse(
            Why.NO_EQUIVALENT,
            f"Range has no stash_type below opset 27, and it does not compute in {stash_type} otherwise",
        )
    widen(site, stash_type)


def decompose_range(site: Site) -> None:
    """Replace Range-11 with a constant or, with inputs computed at run time, with start + i * delta."""
    known = site.constant_value(site.output(0))
    if known is not None:
        site.replace(site.constant(known, hint="range"))
        return
    start, _, delta = site.inputs
    dtype = site.dtype(0)
    op = site.op_at(opsets.AXES_AS_INPUTS)
    count = _floats_between(site, op, dtype) if dtype in _FLOATS else _integers_between(site, op, dtype)
    if any(site.shape(position) != [] for position in range(3)):
        # Of inputs with one element in one dimension, which runtimes take, the count has one, too.
        count = op.Reshape(count, site.constant([], "int64", "scalar"))
    numbers = _up_to(site, op, count)
    if site.constant_value(start) == 0 and site.constant_value(delta) == 1 and dtype not in _FLOATS:
        site.replace(numbers if dtype == "int64" else op.Cast(numbers, to=dtype))
        return
    if dtype in ("int16", "int32"):
        # int64 holds every product.
        start, delta = (op.Cast(value, to="int64") for value in (start, delta))
        site.replace(op.Cast(op.Add(start, op.Mul(numbers, delta)), to=dtype))
    else:
        numbers = numbers if dtype == "int64" else op.Cast(numbers, to=dtype)
        site.replace(op.Add(start, op.Mul(numbers, delta)))


def put_maxima_before_computed_bounds(site: Site) -> None:
    """Put the Max of a computed input of Range-11 and itself before it, for runtimes that infer another dtype of it."""
    for position, value in enumerate(site.inputs):
        if not is_constant(site, value):
            put_maxima_before(site, position, dtypes=(*FIRST_FLOATS, "int32"))


def _up_to(site: Site, op: Operators, count: str) -> str:
    """0, 1, ... up to an int64 scalar: NonZero of as many ones, or below 9 the iterations of a Loop."""
    if site.target >= opsets.NON_ZERO:
        length = op.Unsqueeze(count, site.constant([0], "int64"))
        ones = op.ConstantOfShape(length, value=numpy.array([True]))
        return str(op.Squeeze(op.NonZero(ones), site.constant([0], "int64")))

    def body(inner: Operators, number: str, going: str, state: str) -> list[str]:
        return [going, state, number]

    # Below 13 a Loop needs at least one state.
    graph = site.op.subgraph(body, takes=[("int64", []), ("bool", []), ("int64", [])])
    _, numbers = site.op.Loop(count, endless(site), site.constant(0, "int64", "zero"), body=graph, outputs=2)
    return str(numbers)


def _floats_between(site: Site, op: Operators, dtype: str) -> str:
    """max(ceil((limit - start) / delta), 0) in double: the quotient as exact as it can be.

    Rounded up by the sign of what truncation cuts off, as few runtimes have Ceil for doubles.
    """
    start, limit, delta = (op.Cast(value, to="double") if dtype != "double" else value for value in site.inputs)
    quotient = op.Div(op.Sub(limit, start), delta)
    # A negative quotient may be one that int64 does not hold.
    quotient = op.Mul(quotient, op.Cast(is_positive(site, op, op.Sign(quotient)), to="double"))
    truncated = op.Cast(quotient, to="int64")
    cut_off = op.Sign(op.Sub(quotient, op.Cast(truncated, to="double")))
    return str(op.Add(truncated, op.Cast(is_positive(site, op, cut_off), to="int64")))


def _integers_between(site: Site, op: Operators, dtype: str) -> str:
    """The quotient rounded up: the truncated one, and one more where a remainder of delta's sign is left."""
    start, limit, delta = (op.Cast(value, to="int64") if dtype != "int64" else value for value in site.inputs)
    if site.constant_value(site.input(0)) == 0 and site.constant_value(site.input(2)) == 1:
        return _count(site, op, limit)
    difference = op.Sub(limit, start)
    quotient = op.Div(difference, delta)
    remainder = op.Sub(difference, op.Mul(quotient, delta))
    is_left = op.Or(
        op.And(is_positive(site, op, remainder), is_positive(site, op, delta)),
        op.And(is_negative(site, op, remainder), is_negative(site, op, delta)),
    )
    return _count(site, op, op.Add(quotient, op.Cast(is_left, to="int64")))


def _count(site: Site, op: Operators, number: str) -> str:
    """A count that is not negative. Relu and Max of old opsets, and of old runtimes, take no integers."""
    return str(op.Mul(number, op.Cast(is_positive(site, op, number), to="int64")))


_STASH_TYPE = "stash_type applies only to the dtypes that 27 adds"

STEPS = [
    Step("Range", 11, 27, up=unchanged, down=compute_narrow_floats_in_stash_type, because=_STASH_TYPE),
]

INTRODUCTIONS = [
    Introduction("Range", 11, down=decompose_range),
]

FALLBACKS = [
    Fallback("Range", put_maxima_before_computed_bounds),
]
