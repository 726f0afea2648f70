"""Helpers for narrow floats, which many operators take later than float.

No operator's steps stand here; rule modules import it.
"""

from __future__ import annotations

from collections.abc import Callable

from converter.rule import Step, exact_cast, rounding, unchanged
from converter.site import Operators, Site

DIGITS = {"bfloat16": 8, "float16": 11, "float": 24, "double": 53}
"""Binary digits of a number in each dtype."""

ROUNDED_ONCE = "computed in float, of which bfloat16 is the upper half, and rounded to bfloat16 at the end"

bfloat16_is_computed_in_float = rounding(exact_cast("bfloat16", through="float"), ulps=1, because=ROUNDED_ONCE)
"""For functions whose results a bfloat16 does not hold."""

bfloat16_travels_in_float = exact_cast("bfloat16", through="float")
"""For operators whose results are bfloat16 where their inputs are."""


def in_float(site: Site, op: Operators) -> tuple[str, list[str], Callable[[str], str]]:
    """A dtype to compute in, the inputs in it, and what brings a result back: float for narrower floats.

    For formulas of several steps, which would round each of them to few digits.
    """
    dtype = site.dtype(0)
    if dtype not in ("float16", "bfloat16"):
        return dtype, site.inputs, lambda value: value
    return "float", [op.Cast(name, to="float") for name in site.inputs], lambda value: str(op.Cast(value, to=dtype))


def computed_bfloat16_step(operator: str, older: int, newer: int) -> Step:
    """The step of a function that adds bfloat16 and nothing else."""
    return Step(operator, older, newer, up=unchanged, down=bfloat16_is_computed_in_float, because="bfloat16 is added")
