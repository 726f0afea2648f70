"""Functions of one number that arithmetic is made of.

Neg                                6: -consumed_inputs, +the signed integers · 13: +bfloat16
Abs                                6: -consumed_inputs, +the eight integer dtypes · 13: +bfloat16
Ceil, Floor                        6: -consumed_inputs · 13: +bfloat16, says what integral numbers give
Reciprocal, Sqrt, Exp, Log         6: -consumed_inputs · 13: +bfloat16
Sign                               9: introduced · 13: +bfloat16
Round                              11: introduced · 22: +bfloat16
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged
from opsetlift.rulebook.site import Site, widen_to_kernel
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import compute_a_vector_as_a_row
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs
from opsetlift_rules.helpers.dtype_groups import FLOATING
from opsetlift_rules.helpers.narrow_floats import cast_bfloat16
from opsetlift_rules.helpers.separating import put_a_sum_with_zero_before


def multiply_integers_by_minus_one(site: Site) -> None:
    """Replace Neg-6 of integers, which Neg-1 does not take, with Mul by -1, which wraps around in the same way."""
    dtype = site.dtype(0)
    if dtype not in FLOATING:
        site.replace(
            site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC).Mul(site.input(0), site.constant(-1, dtype, "minus_one"))
        )


def multiply_by_minus_one(site: Site) -> None:
    """Replace Neg with Mul by -1, for runtimes without the dtype: it changes the sign of zeros and wraps around too."""
    if not widen_to_kernel(site):
        site.replace(
            site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC).Mul(
                site.input(0), site.constant(-1, site.dtype(0), "minus_one")
            )
        )


def divide_one_by_the_input(site: Site) -> None:
    """Replace Reciprocal with 1 / x, for runtimes without the dtype: both round once."""
    site.replace(
        site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC).Div(site.constant(1, site.dtype(0), "one"), site.input(0))
    )


def compute_integer_abs_with_max(site: Site) -> None:
    """Replace Abs-6 of integers, which Abs-1 does not take, with Max(x, -x).

    The least integer, which has no positive counterpart, stays as it is.
    """
    dtype = site.dtype(0)
    if dtype.startswith("uint"):
        site.replace(site.op.Identity(site.input(0)))
    elif dtype not in FLOATING:
        op = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC)
        site.replace(op.Max(site.input(0), op.Mul(site.input(0), site.constant(-1, dtype, "minus_one"))))


def compute_the_sign_by_comparison(site: Site) -> None:
    """Replace Sign-9 with (x > 0) - (x < 0); NaN, for which the text defines nothing, stays NaN."""
    op, dtype = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC), site.dtype(0)
    value = site.input(0)
    if dtype.startswith("uint"):
        site.replace(op.Cast(op.Cast(value, to="bool"), to=dtype))
        return
    zero = site.constant(0, dtype, "zero")
    sign = op.Sub(op.Cast(op.Greater(value, zero), to=dtype), op.Cast(op.Less(value, zero), to=dtype))
    if dtype in FLOATING:
        # Tanh is finite for every number and NaN for NaN, so that this difference is 0 or NaN.
        finite = op.Tanh(value)
        sign = op.Add(sign, op.Sub(finite, finite))
    site.replace(sign)


def decompose_round(site: Site) -> None:
    """Replace Round-11: truncate, and add 1 where the fraction exceeds a half, or equals it beside an odd number.

    The fraction is exact, and so is half of the truncated number. The sign of zeros is kept.
    """
    op, dtype = site.op, site.dtype(0)
    value = site.input(0)
    zero, a_half = site.constant(0, dtype, "zero"), site.constant(0.5, dtype, "half")
    is_negative = op.Less(value, zero)
    # Neither Where nor Min, in which runtimes lose the sign of zeros.
    whole = op.Ceil(value)
    is_above = op.And(op.Greater(whole, value), op.Greater(value, zero))
    truncated = op.Sub(whole, op.Cast(is_above, to=dtype))
    halved = op.Mul(op.Abs(truncated), a_half)
    half_if_odd = op.Sub(halved, op.Floor(halved))
    # Beside an odd number the threshold is the greatest number below a half, so that a half is greater too.
    below_half = float(numpy.nextafter(numpy_dtype(dtype).type(0.5), numpy_dtype(dtype).type(0)))
    threshold = op.Sub(a_half, op.Mul(half_if_odd, site.constant(1 - 2 * below_half, dtype, "step")))
    goes_on = op.Greater(op.Abs(op.Sub(value, truncated)), threshold)
    down, up = op.And(goes_on, is_negative), op.And(goes_on, op.Not(is_negative))
    site.replace(op.Sub(truncated, op.Sub(op.Cast(down, to=dtype), op.Cast(up, to=dtype))))


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
    Step("Round", 11, 22, up=unchanged, down=cast_bfloat16),
]

INTRODUCTIONS = [
    Introduction("Sign", 9, down=compute_the_sign_by_comparison),
    Introduction("Round", 11, down=decompose_round),
]

FALLBACKS = [
    Fallback("Neg", multiply_by_minus_one),
    Fallback("Reciprocal", divide_one_by_the_input),
    Fallback("Log", compute_a_vector_as_a_row, otherwise=put_a_sum_with_zero_before),
    Fallback("Abs", compute_a_vector_as_a_row),
    Fallback("Ceil", compute_a_vector_as_a_row),
    Fallback("Exp", compute_a_vector_as_a_row),
    Fallback("Floor", compute_a_vector_as_a_row),
    Fallback("Round", compute_a_vector_as_a_row),
    Fallback("Sign", compute_a_vector_as_a_row),
    Fallback("Sqrt", compute_a_vector_as_a_row),
]
