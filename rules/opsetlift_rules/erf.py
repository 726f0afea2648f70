"""The error function.

Erf  9: introduced · 13: +bfloat16, -integers
"""

from __future__ import annotations

import math

from opsetlift.rulebook.rule import Fallback, Introduction, Step, rounding, unchanged
from opsetlift.rulebook.site import Site, widen
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import compute_a_vector_as_a_row
from opsetlift_rules.helpers.dtype_groups import FLOATING
from opsetlift_rules.helpers.separating import put_maxima_before

_ROUNDS_TO_1 = 4.0
"""The least number whose error function rounds to 1 in float and narrower dtypes."""

_LAST_INTEGER_BELOW_1 = 5
"""The largest integer whose error function does not round to 1 in double."""

_TERMS = 60
"""The number of terms of the series up to x = 4; the omitted ones are less than 1e-12 of the sum."""


def compute_integers_in_double(site: Site) -> None:
    """Compute Erf-9 of integers, which Erf-13 does not take, in double; truncate the results, as runtimes did."""
    if site.dtype(0) not in FLOATING:
        site.rounds()
        widen(site, "double")


def sum_the_error_function_series(site: Site) -> None:
    """Replace Erf-9 with the series erf(x) = 2/√π exp(-x²) Σ 2ⁿ x²ⁿ⁺¹ / (2n+1)!!, in double.

    All terms have one sign, and the rest is far below the digits of a float.
    """
    dtype = site.dtype(0)
    if dtype == "double":
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                "below opset 9 no operator computes the error function, and a series would need a wider type "
                "than double to be exact to its last digit"
            ),
        )
    op = site.op_at(opsets.BROADCASTING_IN_MIN_AND_MAX)
    if dtype not in FLOATING:
        site.replace(_of_integers(site, dtype))
        return
    # Limited in float: not every runtime has Min and Max for doubles.
    value = site.input(0) if dtype == "float" else op.Cast(site.input(0), to="float")
    value = op.Min(value, site.constant(_ROUNDS_TO_1, "float", "limit"))
    value = op.Max(value, site.constant(-_ROUNDS_TO_1, "float", "limit"))
    value = op.Cast(value, to="double")
    square = op.Mul(value, value)
    total = site.constant(_coefficient(_TERMS - 1), "double", "coefficient")
    for term in reversed(range(_TERMS - 1)):
        total = op.Add(op.Mul(square, total), site.constant(_coefficient(term), "double", "coefficient"))
    factor = op.Mul(op.Mul(value, site.constant(2 / math.sqrt(math.pi), "double", "factor")), op.Exp(op.Neg(square)))
    site.replace(op.Cast(op.Mul(factor, total), to=dtype))


def _coefficient(term: int) -> float:
    return float(2**term / math.prod(range(1, 2 * term + 2, 2)))


def _of_integers(site: Site, dtype: str) -> str:
    """1 or -1 where the error function rounds to it in double, else 0."""
    op = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC)
    value, bound = site.input(0), _LAST_INTEGER_BELOW_1
    above = op.Cast(op.Greater(value, site.constant(bound, dtype, "bound")), to=dtype)
    if dtype.startswith("uint"):
        return str(above)
    return str(op.Sub(above, op.Cast(op.Less(value, site.constant(-bound, dtype, "bound")), to=dtype)))


_TRUNCATED = "the specification leaves the rounding of integer results open; they are truncated"

_COMPUTE_INTEGERS_IN_DOUBLE = rounding(
    compute_integers_in_double, ulps=1, when="the values are integers", because=_TRUNCATED
)

STEPS = [
    Step("Erf", 9, 13, up=_COMPUTE_INTEGERS_IN_DOUBLE, down=unchanged),
]

_SUM_THE_ERROR_FUNCTION_SERIES = rounding(
    sum_the_error_function_series,
    ulps=1,
    because=f"computed as a series in double; {_TRUNCATED}",
)

INTRODUCTIONS = [
    Introduction("Erf", 9, down=_SUM_THE_ERROR_FUNCTION_SERIES),
]

FALLBACKS = [
    Fallback("Erf", put_maxima_before, otherwise=compute_a_vector_as_a_row),
]
