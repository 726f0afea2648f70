"""Functions of one number that arithmetic is made of.

Neg                                6: -consumed_inputs, +the signed integers · 13: +bfloat16
Abs                                6: -consumed_inputs, +the eight integer dtypes · 13: +bfloat16
Ceil, Floor                        6: -consumed_inputs · 13: +bfloat16, says what integral numbers give
Reciprocal, Sqrt, Exp, Log         6: -consumed_inputs · 13: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift.rulebook.site import Site
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs
from opsetlift_rules.helpers.dtype_groups import FLOATING


def multiply_integers_by_minus_one(site: Site) -> None:
    """Replace Neg-6 of integers, which Neg-1 does not take, with Mul by -1, which wraps around in the same way."""
    dtype = site.dtype(0)
    if dtype not in FLOATING:
        site.replace(
            site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC).Mul(site.input(0), site.scalar(-1, dtype, "minus_one"))
        )


def multiply_by_minus_one(site: Site) -> None:
    """Replace Neg with Mul by -1, for runtimes without the dtype: it changes the sign of zeros and wraps around too."""
    if not site.carry_to_kernel():
        site.replace(
            site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC).Mul(
                site.input(0), site.scalar(-1, site.dtype(0), "minus_one")
            )
        )


def divide_one_by_the_input(site: Site) -> None:
    """Replace Reciprocal with 1 / x, for runtimes without the dtype: both round once."""
    site.replace(site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC).Div(site.scalar(1, site.dtype(0), "one"), site.input(0)))


def compute_integer_abs_with_max(site: Site) -> None:
    """Replace Abs-6 of integers, which Abs-1 does not take, with Max(x, -x).

    The least integer, which has no positive counterpart, stays as it is.
    """
    dtype = site.dtype(0)
    if dtype.startswith("uint"):
        site.replace(site.op.Identity(site.input(0)))
    elif dtype not in FLOATING:
        op = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC)
        site.replace(op.Max(site.input(0), op.Mul(site.input(0), site.scalar(-1, dtype, "minus_one"))))


_INTEGRAL = "13 says that integral numbers, NaN and infinities are unchanged, as they always were"

STEPS = [
    Step("Neg", 1, 6, up=remove_consumed_inputs, down=multiply_integers_by_minus_one),
    Step("Abs", 1, 6, up=remove_consumed_inputs, down=compute_integer_abs_with_max),
    Step("Abs", 6, 13, up=unchanged, down=unchanged, because="wording only"),
    Step("Ceil", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Ceil", 6, 13, up=unchanged, down=unchanged, because=_INTEGRAL),
    Step("Floor", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Floor", 6, 13, up=unchanged, down=unchanged, because=_INTEGRAL),
    Step("Reciprocal", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Sqrt", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Exp", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Log", 1, 6, up=remove_consumed_inputs, down=unchanged),
]

FALLBACKS = [
    Fallback("Neg", multiply_by_minus_one),
    Fallback("Reciprocal", divide_one_by_the_input),
]
