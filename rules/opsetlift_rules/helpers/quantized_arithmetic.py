"""Helpers for quantization in plain arithmetic, as QuantizeLinear and DequantizeLinear define it.

Everything is as exact as the operators: quotients and products in float, the quotient then rounded to the precision of
the division; integers of at most 16 bits are exact in float.
"""

from __future__ import annotations

import ml_dtypes
import numpy

from opsetlift.rulebook.site import Operators, Site
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.specification.wider_dtypes import cast_takes
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import counted_from_front, gather_within
from opsetlift_rules.helpers.counting import iota

_AXIS = 13
"""The version of QuantizeLinear and DequantizeLinear that adds an axis."""

_RANKS = "the rank distinguishes one scale for all elements from one for each index of an axis"


def quantized(site: Site, to: str, precision: str) -> None:
    """Replace a QuantizeLinear: saturate(round(x / scale) + zero point), the division in `precision`."""
    op = arithmetic(site)
    wide = "double" if precision == "int32" else "float"
    x, scale = (cast(site, op, site.input(position), wide) for position in (0, 1))
    quotient = op.Div(x, laid_out(site, op, scale, 1))
    if precision not in (wide, "int32"):
        quotient = op.Cast(op.Cast(quotient, to=precision), to=wide)
    site.replace(saturated(site, op, quotient, wide, _zero_point(site, op, 2, wide), to))


def saturated(site: Site, op: Operators, value: str, dtype: str, zero_point: str, to: str) -> str:
    """Round a value of `dtype`, add the zero point ("" for none), and cast it with saturation."""
    if to.startswith("float"):
        shifted = op.Add(value, zero_point) if zero_point else value
        attributes = {"saturate": site.attribute("saturate", 1)} if to.startswith("float8") else {}
        return str(op.Cast(shifted, to=to, **attributes))
    # What becomes of NaN, which has no nearest integer, is left open by QuantizeLinear as it is by Cast.
    rounded = op.Round(value)
    shifted = op.Add(rounded, zero_point) if zero_point else rounded
    limits = ml_dtypes.iinfo(numpy_dtype(to))  # type: ignore[no-untyped-call]
    low, high = (site.constant(float(limit), dtype, "limit") for limit in (limits.min, limits.max))
    return str(op.Cast(op.Clip(shifted, low, high), to=to))


def dequantized(site: Site, to: str) -> None:
    """Replace a DequantizeLinear: (x - zero point) * scale in float, the product cast to the dtype `to`."""
    op = arithmetic(site)
    x, scale = (cast(site, op, widened_constant(site, position), "float") for position in (0, 1))
    # int32 has no zero point.
    zero_point = "" if site.dtype(0) == "int32" else _zero_point(site, op, 2, "float")
    difference = op.Sub(x, zero_point) if zero_point else x
    product = op.Mul(difference, laid_out(site, op, scale, 1))
    site.replace(op.Cast(product, to=to) if to != "float" else product)


def arithmetic(site: Site) -> Operators:
    """Emit operators of the source version's opset, of 13 at least; their own rules convert them."""
    source = site.transition.newer - 1 if site.transition.upward else site.transition.newer
    return site.op_at(max(source, opsets.AXES_AS_INPUTS))


def cast(site: Site, op: Operators, name: str, to: str) -> str:
    """A Cast where there is anything to cast."""
    if site.dtype(name) == to:
        return name
    return site.folded(lambda: op.Cast(name, to=to))


def _zero_point(site: Site, op: Operators, position: int, dtype: str) -> str:
    """The zero point in `dtype`, laid out; "" where it is absent or known to be 0."""
    if not site.input(position):
        return ""
    known = site.constant_value(position)
    if known is not None and not known.astype(numpy.float64).any():
        return ""
    return laid_out(site, op, cast(site, op, widened_constant(site, position), dtype), position)


def widened_constant(site: Site, position: int) -> str:
    """An input; a constant of a dtype that the destination version lacks is written in one that holds its values."""
    name, dtype = site.input(position), site.dtype(position)
    if cast_takes(dtype, site.opset):
        return name
    value = site.content(name)
    if value is None:
        return name
    return site.constant(value.astype(numpy.float32 if dtype.startswith("float") else numpy.int8), hint="values")


def laid_out(site: Site, op: Operators, value: str, position: int) -> str:
    """Reshape a scale or zero point, given as the input at `position`, so that it broadcasts to x."""
    rank = site.rank(position, because=_RANKS)
    if site.attribute("block_size", 0):
        return _replicated(site, op, value)
    if rank == 0:
        return value
    if site.rank(1, because=_RANKS) == 0 or site.transition.source_version < _AXIS:
        # Exporters write single numbers as vectors of one, too.
        return site.folded(lambda: op.Squeeze(value, site.constant([0], "int64")))
    whole = site.rank(0, because="the quantization axis is counted from the front")
    if whole <= 1:
        return value if whole else site.folded(lambda: op.Squeeze(value, site.constant([0], "int64")))
    (axis,) = counted_from_front(site, [site.attribute("axis", 1)], whole, name="axis")
    trailing = site.constant(range(1, whole - axis), "int64")
    return site.folded(lambda: op.Unsqueeze(value, trailing)) if axis < whole - 1 else value


def _replicated(site: Site, op: Operators, value: str) -> str:
    """Repeat each number for `block_size` elements along the axis."""
    rank = site.rank(0, because="the quantization axis is counted from the front")
    (axis,) = counted_from_front(site, [site.attribute("axis", 1)], rank, name="axis")
    block = site.constant(site.attribute("block_size"), "int64", "block")
    position = site.constant(axis, "int64", "axis")

    def indices() -> str:
        length = op.Gather(op.Shape(site.input(0)), position)
        return str(op.Div(iota(site, op, length), block))

    shape = site.shape(0)
    length = shape[axis] if shape is not None else None
    if isinstance(length, int):
        known = numpy.arange(length, dtype=numpy.int64) // site.attribute("block_size")
        return site.folded(lambda: gather_within(site, value, site.constant(known, hint="indices"), axis=axis))
    return gather_within(site, value, indices(), axis=axis)
