"""Hyperbolic functions, which exponentials and logarithms give. Tanh, which is as old as ONNX, is an activation.

Sinh, Cosh, Asinh, Acosh, Atanh  9: introduced · 22: +bfloat16
"""

from __future__ import annotations

import math
from collections.abc import Callable

from opsetlift.rulebook.rule import Fallback, Introduction, Rule, Step, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import compute_a_vector_as_a_row
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, cast_bfloat16_and_round

_ULPS = 8
_BECAUSE = "exponentials and logarithms round at each step of the formula; a kernel may round only once"

# From here on 1 is lost beside the square, which does not overflow yet.
_LARGE_EXPONENT = 500
_LARGEST_FLOAT = math.ldexp(2 - math.ldexp(1, -23), 127)


class Formula:
    """Writes formulas of one dtype: the names of values and plain numbers mix. Narrower floats compute in double."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._op = site.op_at(opsets.BROADCASTING_IN_MIN_AND_MAX)
        self._narrow = site.dtype(0)

    @property
    def op(self) -> Operators:
        """Emits the operators of the formula."""
        return self._op

    def argument(self) -> str:
        """The argument in double."""
        value = self._site.input(0)
        return value if self._narrow == "double" else self._op.Cast(value, to="double")

    def plain_argument(self) -> tuple[str, str]:
        """The argument in float where that holds it, and its dtype."""
        if self._narrow in ("float", "double"):
            return self._site.input(0), self._narrow
        return self._op.Cast(self._site.input(0), to="float"), "float"

    def result(self, value: str) -> None:
        """Replace the output with a double, cast to its dtype."""
        self._site.replace(value if self._narrow == "double" else self._op.Cast(value, to=self._narrow))

    def number(self, value: float, dtype: str = "double") -> str:
        """A constant of rank 0."""
        return self._site.constant(value, dtype, "number")

    def sign(self, value: str) -> str:
        """1, 0 or -1."""
        op, zero = self._op, self.number(0)
        return str(op.Sub(op.Cast(op.Greater(value, zero), to="double"), op.Cast(op.Less(value, zero), to="double")))

    def log_of_1_plus(self, value: str) -> str:
        """Kahan's log1p: the rounding of 1 + value cancels in the quotient of its logarithm and itself less 1.

        Where it rounds to 1 both are 0, and the quotient is set to 1.
        """
        op, one = self._op, self.number(1)
        sum_ = op.Add(one, value)
        rest = op.Sub(sum_, one)
        is_apart = op.Cast(op.Cast(rest, to="bool"), to="double")
        is_lost = op.Sub(one, is_apart)
        quotient = op.Div(op.Add(op.Log(sum_), is_lost), op.Add(rest, is_lost))
        return str(op.Mul(value, quotient))


def decompose_cosh(site: Site) -> None:
    """Replace Cosh-9 with (exp(x) + exp(-x)) / 2, from exp(x/2), so that nothing overflows before the result does."""
    formula = Formula(site)
    formula.result(_cosh(formula, formula.argument()))


def _cosh(formula: Formula, value: str) -> str:
    op = formula.op
    root = op.Exp(op.Mul(value, formula.number(0.5)))
    half_root, half_inverse = op.Mul(root, formula.number(0.5)), op.Div(formula.number(0.5), root)
    return str(op.Add(op.Mul(half_root, root), op.Div(half_inverse, root)))


def decompose_sinh(site: Site) -> None:
    """Replace Sinh-9 with tanh(x) * cosh(x), which loses no digits near 0."""
    formula = Formula(site)
    value = formula.argument()
    formula.result(formula.op.Mul(formula.op.Tanh(value), _cosh(formula, value)))


def decompose_asinh(site: Site) -> None:
    """Replace Asinh-9 with log1p(|x| + x² / (1 + √(1 + x²))) and the sign of x."""
    formula = Formula(site)
    op, value = formula.op, formula.argument()
    bounded, excess = _split(formula, magnitude=True)
    square = op.Mul(bounded, bounded)
    hypotenuse = op.Sqrt(op.Add(square, formula.number(1)))
    terms = op.Add(bounded, op.Div(square, op.Add(hypotenuse, formula.number(1))))
    formula.result(op.Mul(op.Add(formula.log_of_1_plus(terms), excess), formula.sign(value)))


def decompose_acosh(site: Site) -> None:
    """Replace Acosh-9 with acosh(1 + t) = log1p(t + √t √(t + 2))."""
    formula = Formula(site)
    op = formula.op
    bounded, excess = _split(formula)
    above = op.Sub(bounded, formula.number(1))
    root = op.Mul(op.Sqrt(above), op.Sqrt(op.Add(above, formula.number(2))))
    formula.result(op.Add(formula.log_of_1_plus(op.Add(above, root)), excess))


def _split(formula: Formula, *, magnitude: bool = False) -> tuple[str, str]:
    """The argument limited so that its square is finite in double, and the logarithm of the factor beyond.

    Of floats only infinity is beyond; and not every runtime has Min and Max for doubles.
    """
    op = formula.op
    value, dtype = formula.plain_argument()
    limit = formula.number(_LARGEST_FLOAT if dtype == "float" else math.ldexp(1, _LARGE_EXPONENT), dtype)
    value = op.Abs(value) if magnitude else value
    bounded = op.Min(value, limit)
    factor = op.Max(op.Div(value, limit), formula.number(1, dtype))
    if dtype == "float":
        bounded, factor = op.Cast(bounded, to="double"), op.Cast(factor, to="double")
    return bounded, op.Log(factor)


def decompose_atanh(site: Site) -> None:
    """Replace Atanh-9 with (log1p(x) - log1p(-x)) / 2."""
    formula = Formula(site)
    op, value = formula.op, formula.argument()
    logarithms = [formula.log_of_1_plus(term) for term in (value, op.Neg(value))]
    formula.result(op.Mul(op.Sub(*logarithms), formula.number(0.5)))


def _rounding(rule: Callable[[Site], None]) -> Rule:
    return rounding(rule, ulps=_ULPS, because=_BECAUSE)


STEPS = [
    Step("Sinh", 9, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Cosh", 9, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Asinh", 9, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Acosh", 9, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Atanh", 9, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
]

INTRODUCTIONS = [
    Introduction("Sinh", 9, down=_rounding(decompose_sinh)),
    Introduction("Cosh", 9, down=_rounding(decompose_cosh)),
    Introduction("Asinh", 9, down=_rounding(decompose_asinh)),
    Introduction("Acosh", 9, down=_rounding(decompose_acosh)),
    Introduction("Atanh", 9, down=_rounding(decompose_atanh)),
]

FALLBACKS = [
    Fallback("Acosh", compute_a_vector_as_a_row),
    Fallback("Asinh", compute_a_vector_as_a_row),
    Fallback("Atanh", compute_a_vector_as_a_row),
    Fallback("Cosh", compute_a_vector_as_a_row),
    Fallback("Sinh", compute_a_vector_as_a_row),
]
