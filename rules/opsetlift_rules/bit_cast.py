"""Bits read as another dtype.

BitCast  26: introduced
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Introduction
from opsetlift.rulebook.site import Operators, Site, dtype_attribute
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.specification.wider_dtypes import cast_back_attributes
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.axes import gather_within

_STORED_BITS = {"float16": 10, "bfloat16": 7, "float": 23, "double": 52}
_SIGNED = {8: "int8", 16: "int16", 32: "int32", 64: "int64"}
_NARROW = frozenset(["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float4e2m1"])


def decode_bits(site: Site) -> None:
    """Replace BitCast-26: cast integers, whose bits Cast keeps, and compute floats from the bits of integers."""
    source, to = site.dtype(0), dtype_attribute(site, "to")
    if source == to:
        site.replace(site.op.Identity(site.input(0)))
    elif not _is_integer(source) or to.startswith("complex"):
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                f"BitCast from {source} to {to} has no equivalent below opset 26: no operator reads the "
                "payload of a NaN or the parts of complex numbers"
            ),
        )
    elif _is_integer(to):
        site.replace(site.op.Cast(site.input(0), to=to))
    elif to in _NARROW:
        site.replace(_looked_up(site, site.op, to))
    else:
        site.replace(_put_together(site, site.op, to))


def _is_integer(dtype: str) -> bool:
    return dtype == "bool" or dtype.startswith(("int", "uint"))


def _looked_up(site: Site, op: Operators, to: str) -> str:
    """Gather the values of a dtype of at most 8 bits from a table of all of them."""
    bits = 4 if to == "float4e2m1" else 8
    table = numpy.arange(2**bits, dtype=numpy.uint8).view(numpy_dtype(to)).astype(numpy.float32)
    unsigned = op.Cast(site.input(0), to=f"uint{bits}")
    value = gather_within(site, site.constant(table, hint="values"), op.Cast(unsigned, to="int64"))
    return str(op.Cast(value, to=to, **cast_back_attributes(to)))


def _put_together(site: Site, op: Operators, to: str) -> str:
    """The product sign * significand * 2 ** exponent, in double, where each factor is exact, and so is the product."""
    stored = _STORED_BITS[to]
    bits = 8 * numpy_dtype(to).itemsize
    exponents = 2 ** (bits - 1 - stored)
    signed = op.Cast(op.Cast(site.input(0), to=_SIGNED[bits]), to="int64")
    is_negative = op.Cast(op.Less(signed, site.constant(0, "int64", "zero")), to="int64")
    lowest = site.constant(-(2 ** (bits - 1)), "int64", "lowest")
    magnitude = op.Sub(signed, op.Mul(is_negative, lowest))
    unit = site.constant(2**stored, "int64", "unit")
    exponent = op.Div(magnitude, unit)
    fraction = op.Cast(op.Sub(magnitude, op.Mul(exponent, unit)), to="double")

    numbers = numpy.arange(exponents)
    bias = exponents // 2 - 1
    # The exponent 0 is the exponent 1 without the leading bit; the last one marks infinities and NaN.
    leading = numpy.where(numbers > 0, 2.0**stored, 0.0)
    power = numpy.ldexp(1.0, numpy.minimum(numpy.maximum(numbers, 1), exponents - 2) - bias - stored)
    significand = op.Add(fraction, gather_within(site, site.constant(leading, hint="leading"), exponent))
    finite = op.Mul(significand, gather_within(site, site.constant(power, hint="power"), exponent))
    is_finite = op.Less(exponent, site.constant(exponents - 1, "int64", "last"))
    zero, infinity = site.constant(0.0, "double", "zero"), site.constant(numpy.inf, "double", "infinity")
    no_number = op.Where(op.Greater(fraction, zero), site.constant(numpy.nan, "double", "nan"), infinity)
    sign = op.Cast(op.Sub(site.constant(1, "int64", "one"), op.Add(is_negative, is_negative)), to="double")
    value = op.Mul(op.Where(is_finite, finite, no_number), sign)
    return value if to == "double" else str(op.Cast(value, to=to))


INTRODUCTIONS = [
    Introduction("BitCast", 26, down=decode_bits),
]
