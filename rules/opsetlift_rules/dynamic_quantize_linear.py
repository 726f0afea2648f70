"""Quantization by the range of the values.

DynamicQuantizeLinear  11: introduced
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Introduction
from opsetlift.rulebook.site import Site
from opsetlift_rules.helpers.quantized_arithmetic import arithmetic, saturated


def decompose_dynamic_quantization(site: Site) -> None:
    """Replace DynamicQuantizeLinear-11: the range of the values and 0 is divided into 255 steps.

    If all values are 0, so is the step, and quotients are NaN as in a kernel.
    """
    op = arithmetic(site)
    zero = site.constant(0, "float", "zero")
    x = site.input(0)
    low, high = op.Min(zero, op.ReduceMin(x, keepdims=0)), op.Max(zero, op.ReduceMax(x, keepdims=0))
    scale = op.Div(op.Sub(high, low), site.constant(255, "float", "steps"))
    place = op.Div(op.Sub(zero, low), scale)
    zero_point = saturated(site, op, place, "float", "", "uint8")
    quantized = saturated(site, op, op.Div(x, scale), "float", op.Cast(zero_point, to="float"), "uint8")
    site.replace(quantized, scale, zero_point)


INTRODUCTIONS = [
    Introduction("DynamicQuantizeLinear", 11, down=decompose_dynamic_quantization),
]

FALLBACKS = [
    Fallback("DynamicQuantizeLinear", decompose_dynamic_quantization),
]
