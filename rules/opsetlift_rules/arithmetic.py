"""The four basic operations.

Add, Sub, Mul, Div  6: -consumed_inputs, +int32 +int64 +uint32 +uint64 · 7: +numpy's broadcasting · 13: +bfloat16 ·
                    14: +int8 +uint8 +int16 +uint16
"""

from __future__ import annotations

import math

import numpy

from opsetlift.rulebook.rule import Fallback, Step, for_lost_types, unchanged
from opsetlift.rulebook.site import Array, Operators, Site, is_constant, known_shape, widen, widen_to_kernel
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import (
    compute_side_by_side,
    computes_vectors_as_rows,
    copies_repeated_channels,
    have_one_shape,
    repeated,
)
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs
from opsetlift_rules.helpers.counting import LARGEST_TABLE
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS, FLOATING, NARROW_INTEGERS
from opsetlift_rules.helpers.legacy_broadcast import add_broadcast_attributes, remove_broadcast_attributes
from opsetlift_rules.helpers.separating import put_maxima_before


@for_lost_types
def compute_narrow_integers_in_a_wider_type(site: Site) -> None:
    """Compute Add, Sub, Mul or Div-14 of integers of 8 and 16 bits, which version 13 does not take, in int32.

    Casting back drops the higher bits, as overflow does. The product of two uint16 does not fit into int32: it is
    computed in int64.
    """
    dtype = site.dtype(0)
    if dtype in NARROW_INTEGERS:
        widen(site, "int64" if dtype == "uint16" and site.node.op_type == "Mul" else "int32")


def compute_integers_with_reductions(site: Site) -> None:
    """Compute Add, Sub, Mul or Div-6 of integers, which version 1 does not take, with ReduceSum and ReduceProd.

    These take integers at every version and wrap around in the same way. Quotients of 32 bits are computed in double.
    """
    dtype = site.dtype(0)
    if dtype in FLOATING:
        return
    op = site.op_at(opsets.AXES_AS_INPUTS)
    first, second = site.input(0), _repeated_by_attributes(site, op)
    operator = site.node.op_type
    if operator == "Div":
        if dtype in ("int64", "uint64"):
            site.refuse(
                Why.NO_EQUIVALENT,
                f"no operator of opset {site.opset} divides integers, and no floating-point type holds every {dtype}",
            )
        site.replace(_quotient_in_double(site, op, first, second, dtype))
        return
    if operator == "Sub":
        minus_one = -1 if dtype.startswith("int") else 2 ** int(dtype.removeprefix("uint")) - 1
        factor = repeated(site, op, site.constant(minus_one, dtype, "minus_one"), [second])
        second = _reduced(site, op, "ReduceProd", second, factor)
    site.replace(_reduced(site, op, "ReduceProd" if operator == "Mul" else "ReduceSum", first, second))


def _repeated_by_attributes(site: Site, op: Operators) -> str:
    """The second input as `broadcast` and `axis` of opset 6 repeat it."""
    second = site.input(1)
    if not site.attribute("broadcast", 0) or have_one_shape([site.shape(0), site.shape(1)]):
        return second
    rank = site.rank(0, because="the second input must be repeated to the first input's shape")
    part = site.rank(1, because="it must be repeated to the first input's shape")
    behind = rank - part - site.attribute("axis", rank - part)
    if behind > 0 and site.shape(1) != [1] * part:
        second = op.Unsqueeze(second, site.constant(range(part, part + behind), "int64"))
    return repeated(site, op, second, [site.input(0)])


def _reduced(site: Site, op: Operators, reduction: str, first: str, second: str) -> str:
    stacked = [op.Unsqueeze(value, site.constant([0], "int64")) for value in (first, second)]
    axes = site.constant([0], "int64") if reduction == "ReduceSum" else None
    attributes = {} if axes else {"axes": [0]}
    inputs = [op.Concat(*stacked, axis=0), *([axes] if axes else [])]
    return str(getattr(op, reduction)(*inputs, keepdims=0, **attributes))


def _quotient_in_double(site: Site, op: Operators, first: str, second: str, dtype: str) -> str:
    """Divide 32-bit integers in double: the quotient never rounds up to the next integer, so truncating it is exact.

    What the texts leave open stays as elsewhere: the one quotient that overflows wraps around, and by zero it is 0.
    """
    dividend, divisor = op.Cast(first, to="double"), op.Cast(second, to="double")
    value = site.constant_value(1)
    if value is not None and value.all():
        quotient = op.Div(dividend, divisor)
    else:
        is_not_zero = op.Cast(op.Cast(second, to="bool"), to="double")
        is_zero = op.Sub(site.constant(1.0, "double", "one"), is_not_zero)
        quotient = op.Mul(op.Div(dividend, op.Add(divisor, is_zero)), is_not_zero)
    return str(op.Cast(op.Cast(quotient, to="int64"), to=dtype))


_TEXT_13_14 = "14 adds types; the rest of the text is unchanged"


def write_constants_otherwise_or_widen(site: Site) -> None:
    """Write a constant operand or a vector second, or repeat it, where the runtime fails on the form; else widen.

    A constant minus a value is the value's negative plus the constant, the same number; a sum of floats is a
    difference with a negative, which no optimiser takes for the bias of the node before, and a difference such a sum,
    which none takes for that from a mean. Where only a constant is left, or what is subtracted or divided by is
    repeated along the last axis, the Max of the value and itself comes before.
    """
    operator = site.node.op_type
    if not site.computes(operator, T=site.dtype(0)):
        widen_to_kernel(site)
        return
    if operator == "Div" and site.dtype(0) in _SIGNED:
        _divide_without_a_remainder(site)
        return
    if computes_vectors_as_rows(site):
        return
    op, (first, second) = site.op, site.inputs
    is_vector_first = len(site.shape(0) or []) == 1 < len(site.shape(1) or [])
    is_sum = operator == "Add" and site.dtype(0) in FLOATING
    is_reduced = is_sum and (site.shape(0) or [])[-1:] == [1]
    if operator in ("Add", "Mul") and (is_constant(site, 0) or is_vector_first):
        site.replace(op.emit(operator, second, first))
    elif is_constant(site, 0) and operator == "Sub":
        site.replace(op.Add(op.Neg(second), first))
    elif not is_reduced and (repeated_constant := _repeated_constant(site)) is not None:
        site.replace(op.emit(operator, first, repeated_constant))
    elif copies_repeated_channels(site):
        return
    elif (scalar := _as_scalar(site)) is not None:
        site.set_input(1, scalar)
    elif operator in ("Sub", "Div") and not is_constant(site, 1) and _is_repeated_along_the_last_axis(site):
        put_maxima_before(site, 1)
    elif operator == "Add" and site.dtype(0) in FLOATING and not is_constant(site, 1):
        site.replace(op.Sub(second, op.Neg(first)))
    elif is_sum:
        site.replace(op.Sub(first, site.folded(lambda: str(op.Neg(second)), "negative")))
    elif operator == "Sub" and site.dtype(0) in FLOATING and not is_constant(site, 1):
        site.replace(op.Add(first, op.Neg(second)))
    elif operator == "Div" and not is_constant(site, 1):
        put_maxima_before(site, 1)
    elif is_constant(site, 0) or is_constant(site, 1):
        put_maxima_before(site, 0 if is_constant(site, 1) else 1, dtypes=(*FIRST_FLOATS, "int32", "int64"))


_SIGNED = ("int32", "int64")


def _divide_without_a_remainder(site: Site) -> None:
    """Take the remainder, which has the sign of the dividend, off a dividend of integers before it is divided.

    For runtimes that round quotients down, or towards the nearest number.
    """
    op, (first, second) = site.op_at(opsets.MOD), site.inputs
    remainder = op.Mod(first, second, fmod=1)
    site.replace(site.op.Div(op.Sub(first, remainder), second))


def _is_repeated_along_the_last_axis(site: Site) -> bool:
    return (site.shape(1) or [])[-1:] == [1] != (site.shape(0) or [])[-1:]


def _repeated_constant(site: Site) -> str | None:
    """The second input in the shape of the first, where it is constant and smaller, and that shape is no large one."""
    value, shape = site.content(1), known_shape(site, 0)
    if value is None or shape is None or list(value.shape) == shape or math.prod(shape) > LARGEST_TABLE:
        return None
    if value.ndim > len(shape) or any(
        one not in (1, size) for one, size in zip(value.shape[::-1], shape[::-1], strict=False)
    ):
        return None
    return site.constant(numpy.broadcast_to(value, shape).copy(), hint="repeated")


def _as_scalar(site: Site) -> str | None:
    """The second input without dimensions, where it is one constant number in a vector and the first has dimensions."""
    value = site.content(1)
    if value is None or value.shape != (1,) or not site.shape(0):
        return None
    return site.constant(value.reshape(()), hint="scalar")


def divide_by_the_reciprocal_or_widen(site: Site) -> None:
    """Write a product with a power of two as a quotient, or of two negatives, where the runtime fails on the form."""
    dtype = site.dtype(0)
    if dtype in FLOATING and site.computes("Mul", T=dtype):
        for position in (1, 0):
            if site.holds(position, _is_partly_huge):
                # Optimisers that distribute it over a sum before it overflow, or lose what is added behind it.
                put_maxima_before(site, 1 - position)
                return
            if site.holds(position, _has_an_exact_reciprocal):
                factor = site.content(position)
                assert factor is not None
                divisor = site.constant((1 / factor.astype(numpy.float64)).astype(factor.dtype), hint="divisor")
                site.replace(site.op.Div(site.input(1 - position), divisor))
                return
        if not is_constant(site, 0) and not is_constant(site, 1):
            if not copies_repeated_channels(site):
                # Optimisers that know a factor by the operators before it do not know its negative.
                site.replace(site.op.Mul(*map(site.op.Neg, site.inputs)))
            return
    write_constants_otherwise_or_widen(site)


def _is_partly_huge(factor: Array) -> bool:
    return bool((abs(factor.astype(numpy.float64)) >= _HUGE).any())


def _has_an_exact_reciprocal(factor: Array) -> bool:
    """Whether all numbers are powers of two, far from the ends of the range."""
    fractions, exponents = numpy.frexp(factor)
    return bool((abs(fractions) == 0.5).all() and (abs(exponents) <= _LARGEST_EXPONENT).all())


_HUGE = 1e5
_LARGEST_EXPONENT = 12
"""Also float16 holds 2 to this power and its reciprocal, and neither is subnormal."""

STEPS = [
    Step("Add", 1, 6, up=remove_consumed_inputs, down=compute_integers_with_reductions),
    Step("Add", 6, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="Add")),
    Step("Add", 13, 14, up=unchanged, down=compute_narrow_integers_in_a_wider_type, because=_TEXT_13_14),
    Step("Sub", 1, 6, up=remove_consumed_inputs, down=compute_integers_with_reductions),
    Step("Sub", 6, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes()),
    Step("Sub", 13, 14, up=unchanged, down=compute_narrow_integers_in_a_wider_type, because=_TEXT_13_14),
    Step("Mul", 1, 6, up=remove_consumed_inputs, down=compute_integers_with_reductions),
    Step("Mul", 6, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="Mul")),
    Step("Mul", 13, 14, up=unchanged, down=compute_narrow_integers_in_a_wider_type, because=_TEXT_13_14),
    Step("Div", 1, 6, up=remove_consumed_inputs, down=compute_integers_with_reductions),
    Step("Div", 6, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes()),
    Step("Div", 13, 14, up=unchanged, down=compute_narrow_integers_in_a_wider_type, because=_TEXT_13_14),
]

FALLBACKS = [
    Fallback("Add", write_constants_otherwise_or_widen, otherwise=compute_side_by_side),
    Fallback("Sub", write_constants_otherwise_or_widen, otherwise=compute_side_by_side),
    Fallback("Mul", divide_by_the_reciprocal_or_widen, otherwise=compute_side_by_side),
    Fallback("Div", write_constants_otherwise_or_widen, otherwise=compute_side_by_side),
]
