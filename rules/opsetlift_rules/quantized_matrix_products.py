"""Matrix products and convolutions of quantized numbers.

MatMulInteger, ConvInteger   10: introduced
QLinearMatMul                10: introduced · 21: +float16 +bfloat16 scales, +float8
QLinearConv                  10: introduced

Products of 9-bit numbers are summed exactly in float as long as there are few of them, and in double otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged
from opsetlift.rulebook.site import Operators, Site, known_shape
from opsetlift_rules.helpers.quantized_arithmetic import arithmetic, cast, saturated

_EXACT_IN_FLOAT = 2**24 // 255**2
_EXACT_IN_32_BITS = 2**31 // 255**2
_RANKS = "the rank distinguishes one parameter for all from one for each row, column or channel"


def _terms(site: Site, value: int, axes: slice) -> float:
    """The number of products in each sum; infinite where the shape is unknown."""
    shape = known_shape(site, value)
    return math.inf if shape is None else math.prod(shape[axes])


def _centred(site: Site, op: Operators, value: str, zero_point: str, dtype: str, shaped: tuple[int, ...]) -> str:
    """A value without its zero point, in `dtype`; the dimensions `shaped` are added to a vector of zero points."""
    wide = cast(site, op, value, dtype)
    known = site.constant_value(zero_point)
    if not zero_point or (known is not None and not known.astype(numpy.float64).any()):
        return wide
    return str(op.Sub(wide, _spread(site, op, cast(site, op, zero_point, dtype), shaped)))


def _spread(site: Site, op: Operators, value: str, added: tuple[int, ...]) -> str:
    """A vector with dimensions added, so that it broadcasts along rows or channels; other ranks stay as they are."""
    if not added or site.rank(value, because=_RANKS) != 1:
        return value
    return site.folded(lambda: op.Unsqueeze(value, site.constant(added, "int64")))


def multiply_integers_in_floats(site: Site) -> None:
    """Replace MatMulInteger-10 with MatMul in float or double, whichever holds the sums exactly."""
    op = arithmetic(site)
    terms = _terms(site, 0, slice(-1, None))
    accumulated = _matrix_product(site, op, (0, 2), (1, 3), "float" if terms <= _EXACT_IN_FLOAT else "double")
    site.replace(_as_int32(op, accumulated, terms))


def write_one_zero_point_or_multiply_in_floats(site: Site) -> None:
    """Let zero points that are one number for all columns be that number, where the runtime computes the dtypes.

    Elsewhere the product is one of floats.
    """
    known = site.constant_value(3)
    has_kernel = site.computes("MatMulInteger", T1=site.dtype(0), T2=site.dtype(1))
    if not has_kernel or known is None or known.size < _SEVERAL or (known != known.flat[0]).any():
        multiply_integers_in_floats(site)
        return
    site.replace(site.op.MatMulInteger(*site.inputs[:3], site.constant(known.flat[0], site.dtype(1), "zero_point")))


_SEVERAL = 2


def _as_int32(op: Operators, value: str, terms: float) -> str:
    """Cast sums to int32; those that 32 bits do not hold lose their higher bits."""
    return str(op.Cast(value if terms <= _EXACT_IN_32_BITS else op.Cast(value, to="int64"), to="int32"))


def _matrix_product(site: Site, op: Operators, left: tuple[int, int], right: tuple[int, int], dtype: str) -> str:
    """The product of two inputs, given by position with the positions of their zero points."""
    rows = (1,) if site.rank(left[0], because=_RANKS) == 2 else ()
    a = _centred(site, op, site.input(left[0]), site.input(left[1]), dtype, rows)
    b = _centred(site, op, site.input(right[0]), site.input(right[1]), dtype, ())
    return str(op.MatMul(a, b))


def cast_scales_and_decompose_float8(site: Site) -> None:
    """Cast the scales of QLinearMatMul-21 to float, the only dtype of version 10; decompose float8."""
    if any(site.dtype(position).startswith("float8") for position in (0, 3, 7)):
        decompose_quantized_matmul(site)
        return
    for position in (1, 4, 6):
        if site.dtype(position) != "float":
            site.set_input(position, cast(site, site.op, site.input(position), "float"))


def decompose_quantized_matmul(site: Site) -> None:
    """Replace QLinearMatMul-10 with MatMul, Mul, Round, Add and Clip.

    The sums, exact and rounded to float once, are multiplied by one factor, as in onnxruntime and ONNX's tests.
    """
    op = arithmetic(site)
    is_few = _terms(site, 0, slice(-1, None)) <= _EXACT_IN_FLOAT and not site.dtype(0).startswith("float8")
    is_few &= not site.dtype(3).startswith("float8")
    accumulated = _matrix_product(site, op, (0, 2), (3, 5), "float" if is_few else "double")
    accumulated = accumulated if is_few else op.Cast(accumulated, to="float")
    ranks = [site.rank(position, because=_RANKS) for position in (0, 3)]
    rows = (1,) if ranks[0] == 2 else ()
    of_result = (1,) if max(ranks) == 2 and min(ranks) > 0 and ranks != [1, 2] and ranks != [2, 1] else ()
    a_scale, b_scale, y_scale = (cast(site, op, site.input(position), "float") for position in (1, 4, 6))

    def factor() -> str:
        return str(op.Div(op.Mul(_spread(site, op, a_scale, rows), b_scale), _spread(site, op, y_scale, of_result)))

    zero_point = _spread(site, op, cast(site, op, site.input(7), "float"), of_result)
    product = op.Mul(accumulated, site.folded(factor))
    site.replace(saturated(site, op, product, "float", zero_point, site.dtype(7)))


def convolve_integers_in_floats(site: Site) -> None:
    """Replace ConvInteger-10 with Conv in float or double, whichever holds the sums exactly."""
    op = arithmetic(site)
    terms = _terms(site, 1, slice(1, None))
    accumulated = _convolution(site, op, (0, 2), (1, 3), "float" if terms <= _EXACT_IN_FLOAT else "double")
    site.replace(_as_int32(op, accumulated, terms))


def _convolution(site: Site, op: Operators, data: tuple[int, int], weights: tuple[int, int], dtype: str) -> str:
    """Pads follow the subtraction: they represent the real number 0, which is the zero point."""
    channels = tuple(
        range(1, site.rank(weights[0], because="the zero points of the weights may differ for each channel"))
    )
    x = _centred(site, op, site.input(data[0]), site.input(data[1]), dtype, ())
    w = _centred(site, op, site.input(weights[0]), site.input(weights[1]), dtype, channels)
    attributes: dict[str, Any] = {attribute.name: site.attribute(attribute.name) for attribute in site.node.attribute}
    return str(op.Conv(x, w, **attributes))


def decompose_quantized_convolution(site: Site) -> None:
    """Replace QLinearConv-10 with Conv, Add, Mul, Round and Clip; the bias is added before sums round to float."""
    op = arithmetic(site)
    dtype = "float" if _terms(site, 3, slice(1, None)) <= _EXACT_IN_FLOAT else "double"
    accumulated = _convolution(site, op, (0, 2), (3, 5), dtype)
    channels = tuple(range(1, site.rank(3) - 1))
    if site.input(8):
        bias = _spread(site, op, cast(site, op, site.input(8), "double"), channels)
        accumulated = op.Add(op.Cast(accumulated, to="double") if dtype != "double" else accumulated, bias)
        dtype = "double"
    accumulated = op.Cast(accumulated, to="float") if dtype != "float" else accumulated
    factor = site.folded(lambda: op.Div(op.Mul(site.input(1), site.input(4)), site.input(6)))
    product = op.Mul(accumulated, _spread(site, op, factor, channels))
    zero_point = cast(site, op, site.input(7), "float")
    site.replace(saturated(site, op, product, "float", zero_point, site.dtype(7)))


_MORE_DTYPES = "21 adds dtypes; the text is the same"

STEPS = [
    Step("QLinearMatMul", 10, 21, up=unchanged, down=cast_scales_and_decompose_float8, because=_MORE_DTYPES),
]

INTRODUCTIONS = [
    Introduction("MatMulInteger", 10, down=multiply_integers_in_floats),
    Introduction("ConvInteger", 10, down=convolve_integers_in_floats),
    Introduction("QLinearMatMul", 10, down=decompose_quantized_matmul),
    Introduction("QLinearConv", 10, down=decompose_quantized_convolution),
]

FALLBACKS = [
    Fallback("MatMulInteger", write_one_zero_point_or_multiply_in_floats),
    Fallback("ConvInteger", convolve_integers_in_floats),
    Fallback("QLinearMatMul", decompose_quantized_matmul),
    Fallback("QLinearConv", decompose_quantized_convolution),
]
