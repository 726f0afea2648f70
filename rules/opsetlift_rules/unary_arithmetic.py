"""Functions of one number that arithmetic is made of.

Neg                                6: consumed_inputs goes, +the signed integers · 13: +bfloat16
Abs                                6: consumed_inputs goes, +the eight integer dtypes · 13: +bfloat16
Ceil, Floor                        6: consumed_inputs goes · 13: +bfloat16, says what integral numbers give
Reciprocal, Sqrt, Exp, Log         6: consumed_inputs goes · 13: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift.rulebook.site import Site
from opsetlift_rules.helpers.consumed_inputs import consumed_inputs_go
from opsetlift_rules.helpers.dtype_groups import FLOATING


def integers_are_multiplied_by_minus_one(site: Site) -> None:
    """Which wraps around as Neg does."""
    dtype = site.dtype(0)
    if dtype not in FLOATING:
        site.replace(site.op_at(14).Mul(site.input(0), site.scalar(-1, dtype, "minus_one")))


def numbers_are_multiplied_by_minus_one(site: Site) -> None:
    """The sign of a float changes, that of a zero too; integers wrap around as with Neg."""
    if not site.carry_to_kernel():
        site.replace(site.op_at(14).Mul(site.input(0), site.scalar(-1, site.dtype(0), "minus_one")))


def one_is_divided(site: Site) -> None:
    """A quotient is rounded once, as the reciprocal is."""
    site.replace(site.op_at(14).Div(site.scalar(1, site.dtype(0), "one"), site.input(0)))


def magnitude_is_the_greater_of_both_signs(site: Site) -> None:
    """The least integer, which has no positive counterpart, stays what it is."""
    dtype = site.dtype(0)
    if dtype.startswith("uint"):
        site.replace(site.op.Identity(site.input(0)))
    elif dtype not in FLOATING:
        op = site.op_at(14)
        site.replace(op.Max(site.input(0), op.Mul(site.input(0), site.scalar(-1, dtype, "minus_one"))))


_INTEGRAL = "13 says that integral numbers, NaN and infinities stay what they are, as they always did"

STEPS = [
    Step("Neg", 1, 6, up=consumed_inputs_go, down=integers_are_multiplied_by_minus_one),
    Step("Abs", 1, 6, up=consumed_inputs_go, down=magnitude_is_the_greater_of_both_signs),
    Step("Abs", 6, 13, up=unchanged, down=unchanged, because="'the absolute is' becomes 'absolute value'"),
    Step("Ceil", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Ceil", 6, 13, up=unchanged, down=unchanged, because=_INTEGRAL),
    Step("Floor", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Floor", 6, 13, up=unchanged, down=unchanged, because=_INTEGRAL),
    Step("Reciprocal", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Sqrt", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Exp", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Log", 1, 6, up=consumed_inputs_go, down=unchanged),
]

FALLBACKS = [
    Fallback("Neg", numbers_are_multiplied_by_minus_one),
    Fallback("Reciprocal", one_is_divided),
]
