"""Trigonometric functions.

Sin, Cos, Tan, Asin, Acos, Atan  7: introduced · 22: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Introduction, Step, refused, unchanged
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.broadcasting import compute_a_vector_as_a_row
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, cast_bfloat16_and_round

_NOTHING_PERIODIC = refused(
    Why.NO_EQUIVALENT,
    (
        "below opset 7 no operator computes a trigonometric function, and exponentials, logarithms and roots "
        "of real numbers give none: a polynomial would be an approximation"
    ),
)

STEPS = [
    Step("Sin", 7, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Cos", 7, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Tan", 7, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Asin", 7, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Acos", 7, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Atan", 7, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
]

INTRODUCTIONS = [
    Introduction("Sin", 7, down=_NOTHING_PERIODIC),
    Introduction("Cos", 7, down=_NOTHING_PERIODIC),
    Introduction("Tan", 7, down=_NOTHING_PERIODIC),
    Introduction("Asin", 7, down=_NOTHING_PERIODIC),
    Introduction("Acos", 7, down=_NOTHING_PERIODIC),
    Introduction("Atan", 7, down=_NOTHING_PERIODIC),
]

FALLBACKS = [
    Fallback("Acos", compute_a_vector_as_a_row),
    Fallback("Asin", compute_a_vector_as_a_row),
    Fallback("Atan", compute_a_vector_as_a_row),
    Fallback("Cos", compute_a_vector_as_a_row),
    Fallback("Sin", compute_a_vector_as_a_row),
    Fallback("Tan", compute_a_vector_as_a_row),
]
