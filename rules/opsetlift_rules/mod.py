"""Mod.

Mod  10: introduced · 13: +bfloat16 · 28: fmod=0 for floats too
"""

from __future__ import annotations

import math

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged
from opsetlift.rulebook.site import Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import copy_repeated_channels
from opsetlift_rules.helpers.dtype_groups import COMPUTED_IN, FLOATING

_QUOTIENT_BITS = {"float": 278, "float16": 41}
"""The number of bits from the smallest to the largest number of the dtype."""

_DIGITS = 28
"""The bits of a quotient computed at a time: with the 24 of a float's significand they fit the 53 of a double's."""

_BEYOND = 200
"""The exponent of a power of two that is greater than every finite float."""


def correct_the_sign_of_the_remainder(site: Site) -> None:
    """Compute Mod-28 of floats with fmod=0 from fmod=1, the only one of Mod-13: add the divisor if signs differ."""
    dtype = site.dtype(0)
    if dtype not in FLOATING or site.attribute("fmod", 0):
        return
    op = site.op
    divisor, zero = site.input(1), site.constant(0, dtype, "zero")
    remainder = site.op.copy(*site.inputs, fmod=1)
    is_zero, is_negative = op.Equal(remainder, zero), op.Less(divisor, zero)
    differs = op.And(op.Not(is_zero), op.Xor(op.Less(remainder, zero), is_negative))
    signed = op.Where(differs, op.Add(remainder, divisor), remainder)
    signed_zero = op.Where(is_negative, site.constant(-0.0, dtype, "negative_zero"), zero)
    site.replace(op.Where(is_zero, signed_zero, signed))


def compute_the_remainder_by_division(site: Site) -> None:
    """Replace Mod-10 with a - a / b * b for integers, and with the same in exact steps for floats."""
    dtype = site.dtype(0)
    if dtype == "double":
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                f"the remainder of doubles is exact for every quotient, and opset {site.opset} has no wider "
                "type to divide them in exact steps"
            ),
        )
    if dtype in FLOATING:
        _divide_in_steps(site, dtype)
    else:
        _divide_integers(site, dtype)


def _divide_in_steps(site: Site, dtype: str) -> None:
    """A long division of the magnitudes in double, from the greatest possible quotient down, _DIGITS bits at a time.

    The digits times the divisor fit double's significand, and so does what they leave. A quotient that is rounded up
    leaves less than nothing, and the divisor once more sets it right.
    """
    op = site.op_at(opsets.BROADCASTING_IN_MIN_AND_MAX)
    dividend, divisor = (op.Cast(name, to="double") for name in site.inputs)
    zero = site.constant(0.0, "double", "zero")
    rest = op.Abs(dividend)
    # An infinite divisor leaves every finite dividend unchanged, as does one that is greater than all of them.
    # Not every runtime has Min for doubles where it has Max.
    beyond = site.constant(-math.ldexp(1, _BEYOND), "double", "beyond")
    bounded = op.Neg(op.Max(op.Neg(op.Abs(divisor)), beyond))
    for exponent in reversed(range(0, _QUOTIENT_BITS[dtype], _DIGITS)):
        step = op.Mul(bounded, site.constant(math.ldexp(1, exponent), "double", "scale"))
        rest = op.Sub(rest, op.Mul(op.Floor(op.Div(rest, step)), step))
        rest = op.Add(rest, op.Mul(op.Cast(op.Less(rest, zero), to="double"), step))
    # The reciprocal of -0 is less than 0, which -0 is not.
    is_negative = op.Cast(op.Less(op.Reciprocal(dividend), zero), to="double")
    sign = op.Sub(site.constant(1.0, "double", "one"), op.Add(is_negative, is_negative))
    site.replace(op.Cast(op.Mul(rest, sign), to=dtype))


def _divide_integers(site: Site, dtype: str) -> None:
    """Div truncates: a - a / b * b has the sign of a; without fmod b is added where the signs differ.

    Of a division by zero, which the text leaves to the platform, the remainder is 0. So it is of a division by -1,
    which is one by 1 here: the quotient of the least integer does not fit, and ends runtimes.
    """
    op = site.op_at(opsets.BFLOAT16)
    compute_dtype = COMPUTED_IN.get(dtype, dtype)
    dividend, divisor = (
        op.Cast(name, to=compute_dtype) if compute_dtype != dtype else name for name in (site.input(0), site.input(1))
    )
    value, safe = site.constant_value(1), divisor
    if not dtype.startswith("uint") and compute_dtype == dtype and (value is None or (value == -1).any()):
        is_minus_one = op.Cast(op.Equal(divisor, site.constant(-1, compute_dtype, "minus_one")), to=compute_dtype)
        safe = op.Add(divisor, op.Add(is_minus_one, is_minus_one))
    remainder = op.Sub(dividend, op.Mul(op.Div(dividend, safe), safe))
    if not site.attribute("fmod", 0) and not dtype.startswith("uint"):
        remainder = _with_sign_of(site, op, remainder, divisor, compute_dtype)
    if value is None or not value.all():
        remainder = op.Mul(remainder, op.Cast(op.Cast(divisor, to="bool"), to=compute_dtype))
    site.replace(op.Cast(remainder, to=dtype) if compute_dtype != dtype else remainder)


def _with_sign_of(site: Site, op: Operators, remainder: str, divisor: str, dtype: str) -> str:
    zero = site.constant(0, dtype, "zero")
    differs = op.And(op.Cast(remainder, to="bool"), op.Xor(op.Less(remainder, zero), op.Less(divisor, zero)))
    return str(op.Add(remainder, op.Mul(op.Cast(differs, to=dtype), divisor)))


_TEXT_13 = "13 defines fmod for floats, infinities and NaN included; 10 says the same by naming numpy.fmod()"
_TEXT_28 = "28 defines fmod=0 for floats, which 13 forbids; the rest is only reworded"

STEPS = [
    Step("Mod", 10, 13, up=unchanged, down=unchanged, because=_TEXT_13),
    Step("Mod", 13, 28, up=unchanged, down=correct_the_sign_of_the_remainder, because=_TEXT_28),
]

INTRODUCTIONS = [Introduction("Mod", 10, down=compute_the_remainder_by_division)]

FALLBACKS = [
    Fallback("Mod", copy_repeated_channels),
]
