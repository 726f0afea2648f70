"""Mod.

Mod  10: born · 13: +bfloat16 · 28: fmod=0 for floats too
"""

from __future__ import annotations

from converter.refusal import Why
from converter.rule import Birth, Step, unchanged
from converter.site import Operators, Site
from rules.broadcasting import FLOATING

_CARRIERS = {"int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int32"}


def remainder_takes_the_sign_of_the_divisor(site: Site) -> None:
    """Below 28 floats have only the remainder of a truncated quotient: the divisor is added where the signs differ."""
    dtype = site.dtype(0)
    if dtype not in FLOATING or site.attribute("fmod", 0):
        return
    op = site.op
    divisor, zero = site.input(1), site.scalar(0, dtype, "zero")
    remainder = site.copy(*site.inputs, fmod=1)
    is_zero, is_negative = op.Equal(remainder, zero), op.Less(divisor, zero)
    differs = op.And(op.Not(is_zero), op.Xor(op.Less(remainder, zero), is_negative))
    signed = op.Where(differs, op.Add(remainder, divisor), remainder)
    signed_zero = op.Where(is_negative, site.scalar(-0.0, dtype, "negative_zero"), zero)
    site.replace(op.Where(is_zero, signed_zero, signed))


def remainder_is_what_the_quotient_leaves(site: Site) -> None:
    """Div truncates: a - a / b * b has the sign of a, and without fmod is brought to that of b.

    Of a division by zero, which the text leaves to the platform, the remainder is 0.
    """
    dtype = site.dtype(0)
    if dtype in FLOATING:
        site.refuse(
            Why.NO_EQUIVALENT,
            "the remainder of floating-point numbers is exact whatever the size of their quotient, and no operator of "
            f"opset {site.opset} is: a quotient that does not fit the significand would be rounded",
        )
    op = site.op_at(13)
    carrier = _CARRIERS.get(dtype, dtype)
    dividend, divisor = (
        op.Cast(name, to=carrier) if carrier != dtype else name for name in (site.input(0), site.input(1))
    )
    remainder = op.Sub(dividend, op.Mul(op.Div(dividend, divisor), divisor))
    if not site.attribute("fmod", 0) and not dtype.startswith("uint"):
        remainder = _with_sign_of(site, op, remainder, divisor, carrier)
    value = site.constant_value(1)
    if value is None or not value.all():
        remainder = op.Mul(remainder, op.Cast(op.Cast(divisor, to="bool"), to=carrier))
    site.replace(op.Cast(remainder, to=dtype) if carrier != dtype else remainder)


def _with_sign_of(site: Site, op: Operators, remainder: str, divisor: str, dtype: str) -> str:
    zero = site.scalar(0, dtype, "zero")
    differs = op.And(op.Cast(remainder, to="bool"), op.Xor(op.Less(remainder, zero), op.Less(divisor, zero)))
    return str(op.Add(remainder, op.Mul(op.Cast(differs, to=dtype), divisor)))


_TEXT_13 = (
    "13 says what fmod means for floats, infinities and NaN included; what 10 says by naming numpy.fmod() is the same"
)
_TEXT_28 = "28 gives fmod=0 a meaning for floats, which 13 forbids, and says the rest in other words"

STEPS = [
    Step("Mod", 10, 13, up=unchanged, down=unchanged, because=_TEXT_13),
    Step("Mod", 13, 28, up=unchanged, down=remainder_takes_the_sign_of_the_divisor, because=_TEXT_28),
]

BIRTHS = [Birth("Mod", 10, down=remainder_is_what_the_quotient_leaves)]
