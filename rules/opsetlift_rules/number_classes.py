"""What kind of number an element is, and the integer or sign that belongs to it.

IsNaN  9: introduced · 13: +bfloat16 · 20: +float8
IsInf  10: introduced · 20: +float16 +bfloat16 +float8
Sign   9: introduced · 13: +bfloat16
Round  11: introduced · 22: +bfloat16
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged, values_travel
from opsetlift.rulebook.site import Operators, Site
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dtype_groups import FLOATING
from opsetlift_rules.helpers.narrow_floats import cast_bfloat16


def detect_nan_by_comparison(site: Site) -> None:
    """Replace IsNaN-9 with comparisons: each number is less than 1 or greater than 0, and NaN is neither."""
    op, dtype = site.op, site.dtype(0)
    below = op.Less(site.input(0), site.scalar(1, dtype, "one"))
    above = op.Greater(site.input(0), site.scalar(0, dtype, "zero"))
    site.replace(op.Not(op.Or(below, above)))


def cast_double_to_float(site: Site) -> None:
    """Compute IsNaN of double in float, for runtimes without the former: casts never give NaN for numbers."""
    if site.dtype(0) == "double":
        site.replace(site.op.IsNaN(site.op.Cast(site.input(0), to="float")))


def detect_infinities_by_comparison(site: Site) -> None:
    """Replace IsInf-10 with comparisons with the least and largest finite number."""
    op, dtype = site.op, site.dtype(0)
    limits = numpy.finfo(numpy_dtype(dtype))
    detects = [bool(site.attribute(f"detect_{sign}", 1)) for sign in ("negative", "positive")]
    below = op.Less(site.input(0), site.scalar(limits.min, dtype, "lowest")) if detects[0] or not detects[1] else ""
    above = op.Greater(site.input(0), site.scalar(limits.max, dtype, "largest")) if detects[1] or not detects[0] else ""
    if all(detects):
        site.replace(op.Or(below, above))
    elif any(detects):
        site.replace(below or above)
    else:
        # Nothing is both: False everywhere.
        site.replace(op.And(below, above))


def compute_the_sign_by_comparison(site: Site) -> None:
    """Replace Sign-9 with (x > 0) - (x < 0); NaN, for which the text defines nothing, stays NaN."""
    op, dtype = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC), site.dtype(0)
    value = site.input(0)
    if dtype.startswith("uint"):
        site.replace(op.Cast(op.Cast(value, to="bool"), to=dtype))
        return
    zero = site.scalar(0, dtype, "zero")
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
    zero, a_half = site.scalar(0, dtype, "zero"), site.scalar(0.5, dtype, "half")
    is_negative = op.Less(value, zero)
    truncated = _truncated(site, op, is_negative, zero)
    halved = op.Mul(op.Abs(truncated), a_half)
    half_if_odd = op.Sub(halved, op.Floor(halved))
    # Beside an odd number the threshold is the greatest number below a half, so that a half is greater too.
    below_half = float(numpy.nextafter(numpy_dtype(dtype).type(0.5), numpy_dtype(dtype).type(0)))
    threshold = op.Sub(a_half, op.Mul(half_if_odd, site.scalar(1 - 2 * below_half, dtype, "step")))
    goes_on = op.Greater(op.Abs(op.Sub(value, truncated)), threshold)
    down, up = op.And(goes_on, is_negative), op.And(goes_on, op.Not(is_negative))
    site.replace(op.Sub(truncated, op.Sub(op.Cast(down, to=dtype), op.Cast(up, to=dtype))))


def _truncated(site: Site, op: Operators, is_negative: str, zero: str) -> str:
    value = site.input(0)
    if site.target >= opsets.WHERE:
        return str(op.Where(is_negative, op.Ceil(value), op.Floor(value)))
    # Below 9 a Where of floats is far more than this. One of both is 0, of the sign that leaves the other one's alone.
    return str(op.Sub(op.Ceil(op.Min(value, zero)), op.Ceil(op.Min(op.Neg(value), zero))))


STEPS = [
    Step("IsNaN", 13, 20, up=unchanged, down=values_travel()),
    Step("IsInf", 10, 20, up=unchanged, down=values_travel()),
    Step("Round", 11, 22, up=unchanged, down=cast_bfloat16),
]

INTRODUCTIONS = [
    Introduction("IsNaN", 9, down=detect_nan_by_comparison),
    Introduction("IsInf", 10, down=detect_infinities_by_comparison),
    Introduction("Sign", 9, down=compute_the_sign_by_comparison),
    Introduction("Round", 11, down=decompose_round),
]

FALLBACKS = [
    Fallback("IsNaN", cast_double_to_float),
]
