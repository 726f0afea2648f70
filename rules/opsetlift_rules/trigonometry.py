"""Trigonometric functions.

Sin, Cos, Tan, Asin, Acos, Atan  7: born · 22: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Birth, refused
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.narrow_floats import computed_bfloat16_step

_OPERATORS = ("Sin", "Cos", "Tan", "Asin", "Acos", "Atan")

_NOTHING_PERIODIC = refused(
    Why.NO_EQUIVALENT,
    "below opset 7 no operator computes a trigonometric function or an inverse of one, and Exp, Log and Sqrt of real "
    "numbers give none: a polynomial would be an approximation",
)

STEPS = [computed_bfloat16_step(operator, 7, 22) for operator in _OPERATORS]

BIRTHS = [Birth(operator, 7, down=_NOTHING_PERIODIC) for operator in _OPERATORS]
