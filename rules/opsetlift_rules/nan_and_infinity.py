"""Whether an element is NaN or infinite.

IsNaN  9: introduced · 13: +bfloat16 · 20: +float8
IsInf  10: introduced · 20: +float16 +bfloat16 +float8
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged, widen_values
from opsetlift.rulebook.site import Site
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers import opsets


def detect_nan_by_comparison(site: Site) -> None:
    """Replace IsNaN-9 with comparisons: each number is less than 1 or greater than 0, and NaN is neither."""
    op, dtype = site.op, site.dtype(0)
    below = op.Less(site.input(0), site.constant(1, dtype, "one"))
    above = op.Greater(site.input(0), site.constant(0, dtype, "zero"))
    site.replace(op.Not(op.Or(below, above)))


def cast_double_or_compare_with_itself(site: Site) -> None:
    """Compute IsNaN of double in float, as casts never give NaN for numbers; else find what does not equal itself."""
    if site.dtype(0) == "double":
        site.replace(site.op.IsNaN(site.op.Cast(site.input(0), to="float")))
    else:
        op = site.op_at(opsets.FLOATS_IN_EQUAL)
        site.replace(op.Not(op.Equal(site.input(0), site.input(0))))


def detect_infinities_by_comparison(site: Site) -> None:
    """Replace IsInf-10 with comparisons with the least and largest finite number."""
    op, dtype = site.op, site.dtype(0)
    limits = numpy.finfo(numpy_dtype(dtype))
    detects = [bool(site.attribute(f"detect_{sign}", 1)) for sign in ("negative", "positive")]
    below = op.Less(site.input(0), site.constant(limits.min, dtype, "lowest")) if detects[0] or not detects[1] else ""
    above = (
        op.Greater(site.input(0), site.constant(limits.max, dtype, "largest")) if detects[1] or not detects[0] else ""
    )
    if all(detects):
        site.replace(op.Or(below, above))
    elif any(detects):
        site.replace(below or above)
    else:
        # Nothing is both: False everywhere.
        site.replace(op.And(below, above))


STEPS = [
    Step("IsNaN", 13, 20, up=unchanged, down=widen_values()),
    Step("IsInf", 10, 20, up=unchanged, down=widen_values()),
]

INTRODUCTIONS = [
    Introduction("IsNaN", 9, down=detect_nan_by_comparison),
    Introduction("IsInf", 10, down=detect_infinities_by_comparison),
]

FALLBACKS = [
    Fallback("IsInf", detect_infinities_by_comparison),
    Fallback("IsNaN", cast_double_or_compare_with_itself),
]
