"""Activations that came later, each a composition of older operators.

Shrink           9: introduced
ThresholdedRelu  10: introduced · 22: +bfloat16
Celu             12: introduced, for float · 28: +float16 +bfloat16 +double
HardSwish        14: introduced · 22: +bfloat16
Mish             18: introduced · 22: +bfloat16
Gelu             20: introduced
Swish            24: introduced
SwiGLU           28: introduced
"""

from __future__ import annotations

import math

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site, widen
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import compute_a_vector_as_a_row
from opsetlift_rules.helpers.narrow_floats import (
    BFLOAT16_IS_ADDED,
    cast_bfloat16,
    cast_bfloat16_and_round,
    in_float,
)

_STEPS_ROUND = "each operator of the formula rounds; a kernel may round only once"


def select_values_above_the_threshold(site: Site) -> None:
    """Replace ThresholdedRelu-10 with Greater and Where.

    A threshold that a narrow dtype does not hold is compared in float, the attribute's own dtype.
    """
    op, dtype, alpha = site.op_at(opsets.WHERE), site.dtype(0), site.attribute("alpha", 1.0)
    value, compared = site.input(0), dtype
    if float(numpy_dtype(dtype).type(alpha)) != alpha:
        value, compared = op.Cast(value, to="float"), "float"
    is_beyond = op.Greater(value, site.constant(alpha, compared, "threshold"))
    site.replace(op.Where(is_beyond, site.input(0), site.constant(0, dtype, "zero")))


def decompose_shrink(site: Site) -> None:
    """Replace Shrink-9 with comparisons and sums.

    They compute in a dtype that holds the input, both attributes and the result: float or double, except for 64-bit
    integers.
    """
    dtype, limit, bias = site.dtype(0), site.attribute("lambd", 0.5), site.attribute("bias", 0.0)
    op, value = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC), site.input(0)
    if dtype in ("int64", "uint64"):
        site.replace(_shrunk_numbers(site, op, value, dtype, *_integral_bounds(site, dtype, limit, bias)))
    elif dtype in ("float", "double"):
        site.replace(_shrunk(site, op, value, dtype, limit, bias))
    elif dtype == "float16":
        site.replace(op.Cast(_shrunk(site, op, op.Cast(value, to="float"), "float", limit, bias), to=dtype))
    else:
        wide = op.Cast(value, to="double")
        site.replace(op.Cast(_shrunk_numbers(site, op, wide, "double", -limit, limit, bias), to=dtype))


def _integral_bounds(site: Site, dtype: str, limit: float, bias: float) -> tuple[int, int, int]:
    """The bounds as integers: an integer is below a number if and only if it is below that number rounded up."""
    extremes = numpy.iinfo(numpy_dtype(dtype))
    low, high = math.ceil(-limit), math.floor(limit)
    if not bias.is_integer() or low > extremes.max or high < extremes.min:
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                f"Shrink of {dtype} with lambd {limit} and bias {bias} needs real numbers, and no floating-point "
                f"type holds every {dtype}"
            ),
        )
    return max(low, int(extremes.min)), min(high, int(extremes.max)), int(bias) % 2**64


def _shrunk(site: Site, op: Operators, value: str, dtype: str, limit: float, bias: float) -> str:
    offset = site.constant(bias, dtype, "bias")
    is_below = op.Less(value, site.constant(-limit, dtype, "low"))
    is_above = op.Greater(value, site.constant(limit, dtype, "high"))
    lowered = op.Where(is_above, op.Sub(value, offset), site.constant(0, dtype, "zero"))
    return str(op.Where(is_below, op.Add(value, offset), lowered))


def _shrunk_numbers(site: Site, op: Operators, value: str, dtype: str, low: float, high: float, bias: float) -> str:
    """Select by multiplication and sum: finite numbers times 0 are 0."""
    number = float(bias) if dtype == "double" else numpy.uint64(bias).astype(numpy_dtype(dtype))
    offset = site.constant(number, dtype, "bias")
    is_below = op.Less(value, site.constant(low, dtype, "low"))
    is_above = op.Greater(value, site.constant(high, dtype, "high"))
    if low > high:
        is_above = op.And(is_above, op.Not(is_below))
    raised = op.Mul(op.Add(value, offset), op.Cast(is_below, to=dtype))
    return str(op.Add(raised, op.Mul(op.Sub(value, offset), op.Cast(is_above, to=dtype))))


def cast_narrow_floats_or_decompose_celu(site: Site) -> None:
    """Compute Celu-28 of float16 and bfloat16 in float, the only dtype of Celu-12; decompose Celu of double."""
    dtype = site.dtype(0)
    if dtype in ("float16", "bfloat16"):
        site.rounds(1)
        widen(site, "float")
    elif dtype == "double":
        site.rounds()
        decompose_celu(site)


def decompose_celu(site: Site) -> None:
    """Replace Celu-12 with Relu and Elu, which computes exp(x) - 1 accurately near 0."""
    dtype, alpha = site.dtype(0), site.attribute("alpha", 1.0)
    if not alpha > 0:
        site.refuse(
            Why.NO_EQUIVALENT, f"Celu with alpha {alpha} cannot be written with Elu, which needs a positive alpha"
        )
    op, value = site.op_at(opsets.BROADCASTING_IN_MIN_AND_MAX), site.input(0)
    positive = op.Relu(value)
    negative = op.Min(value, site.constant(0, dtype, "zero"))
    if alpha == 1:
        site.replace(op.Add(positive, op.Elu(negative)))
        return
    scale = site.constant(alpha, dtype, "alpha")
    site.replace(op.Add(positive, op.Mul(op.Elu(op.Div(negative, scale)), scale)))


def decompose_hard_swish(site: Site) -> None:
    """Replace HardSwish-14 with x * HardSigmoid(x); for double, whose 1/6 the float alpha does not hold, with Clip."""
    op, value = site.op_at(opsets.BFLOAT16), site.input(0)
    if site.dtype(0) != "double":
        site.replace(op.Mul(value, op.HardSigmoid(value, alpha=1 / 6, beta=0.5)))
        return
    zero, half, one, sixth = (site.constant(number, "double", "number") for number in (0, 0.5, 1, 1 / 6))
    site.replace(op.Mul(value, op.Clip(op.Add(op.Mul(value, sixth), half), zero, one)))


def decompose_mish(site: Site) -> None:
    """Replace Mish-18 with x * Tanh(Softplus(x)); narrow floats compute in float."""
    op = site.op_at(opsets.BFLOAT16)
    _, (value,), result = in_float(site, op)
    site.replace(result(op.Mul(value, op.Tanh(op.Softplus(value)))))


def decompose_swish(site: Site) -> None:
    """Replace Swish-24 with x * Sigmoid(alpha * x); narrow floats compute in float."""
    op = site.op_at(opsets.BFLOAT16)
    dtype, (value,), result = in_float(site, op)
    site.replace(result(_swish(site, op, value, dtype)))


def _swish(site: Site, op: Operators, value: str, dtype: str) -> str:
    alpha = site.attribute("alpha", 1.0)
    scaled = value if alpha == 1 else op.Mul(site.constant(alpha, dtype, "alpha"), value)
    return str(op.Mul(value, op.Sigmoid(scaled)))


def decompose_swiglu(site: Site) -> None:
    """Replace SwiGLU-28 with Swish(gate) * value; narrow floats compute in float."""
    op = site.op_at(opsets.BFLOAT16)
    dtype, (gate, value), result = in_float(site, op)
    site.replace(result(op.Mul(_swish(site, op, gate, dtype), value)))


def decompose_gelu(site: Site) -> None:
    """Replace Gelu-20 with Erf or, with approximate="tanh", with Tanh; narrow floats compute in float."""
    op = site.op_at(opsets.BFLOAT16)
    dtype, (value,), result = in_float(site, op)

    def times(factor: float, name: str) -> str:
        return str(op.Mul(name, site.constant(factor, dtype, "factor")))

    if site.attribute("approximate", "none") == "tanh":
        cube = op.Mul(op.Mul(value, value), value)
        distribution = op.Tanh(times(math.sqrt(2 / math.pi), op.Add(value, times(0.044715, cube))))
    else:
        distribution = op.Erf(op.Div(value, site.constant(math.sqrt(2), dtype, "root")))
    site.replace(result(op.Mul(times(0.5, value), op.Add(distribution, site.constant(1, dtype, "one")))))


def decompose_an_approximation(site: Site) -> None:
    """Write Gelu with approximate="tanh" as its formula; another Gelu may run at another opset."""
    if site.attribute("approximate", "none") == "tanh":
        decompose_gelu(site)


def decompose_a_factor(site: Site) -> None:
    """Write Swish with another alpha than 1 as its formula; one with that may run at another opset."""
    if site.attribute("alpha", 1.0) != 1:
        decompose_swish(site)


_DECOMPOSE_CELU = rounding(decompose_celu, ulps=4, because=_STEPS_ROUND)
_DECOMPOSE_GELU = rounding(decompose_gelu, ulps=4, because=_STEPS_ROUND)
_DECOMPOSE_SWISH = rounding(decompose_swish, ulps=4, because=_STEPS_ROUND)
_DECOMPOSE_APPROXIMATION = rounding(decompose_an_approximation, ulps=4, because=_STEPS_ROUND)
_DECOMPOSE_FACTOR = rounding(decompose_a_factor, ulps=4, because=_STEPS_ROUND)

_CAST_NARROW_FLOATS_OR_DECOMPOSE_CELU = rounding(
    cast_narrow_floats_or_decompose_celu, ulps=4, when="the dtype is not float", because=_STEPS_ROUND
)

STEPS = [
    Step("ThresholdedRelu", 10, 22, up=unchanged, down=cast_bfloat16),
    Step("Celu", 12, 28, up=unchanged, down=_CAST_NARROW_FLOATS_OR_DECOMPOSE_CELU),
    Step("HardSwish", 14, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Mish", 18, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
]

INTRODUCTIONS = [
    Introduction("Shrink", 9, down=decompose_shrink),
    Introduction("ThresholdedRelu", 10, down=select_values_above_the_threshold),
    Introduction("Celu", 12, down=_DECOMPOSE_CELU),
    Introduction("HardSwish", 14, down=rounding(decompose_hard_swish, ulps=2, because=_STEPS_ROUND)),
    Introduction("Mish", 18, down=rounding(decompose_mish, ulps=4, because=_STEPS_ROUND)),
    Introduction("Gelu", 20, down=_DECOMPOSE_GELU),
    Introduction("Swish", 24, down=_DECOMPOSE_SWISH),
    Introduction("SwiGLU", 28, down=rounding(decompose_swiglu, ulps=4, because=_STEPS_ROUND)),
]

FALLBACKS = [
    Fallback("Celu", _DECOMPOSE_CELU),
    Fallback("Gelu", compute_a_vector_as_a_row, otherwise=_DECOMPOSE_APPROXIMATION),
    Fallback("HardSwish", compute_a_vector_as_a_row),
    Fallback("Mish", compute_a_vector_as_a_row),
    Fallback("Shrink", decompose_shrink),
    Fallback("Swish", compute_a_vector_as_a_row, otherwise=_DECOMPOSE_FACTOR),
    Fallback("ThresholdedRelu", compute_a_vector_as_a_row),
]
