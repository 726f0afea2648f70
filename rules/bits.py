"""Operators on the bits of integers.

BitShift                                      11: born, for unsigned integers · 28: +the signed integers
BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot 18: born
"""

from __future__ import annotations

import numpy

from converter.dtypes import numpy_dtype
from converter.rule import Birth, Step, unchanged
from converter.site import Operators, Site

_SIGNED = ("int8", "int16", "int32", "int64")


def _width(dtype: str) -> int:
    return int(dtype.removeprefix("u").removeprefix("int"))


def _modulus(dtype: str) -> int:
    return 1 << _width(dtype)


def signed_integers_shift_as_unsigned(site: Site) -> None:
    """The bits are the same. A right shift copies the sign: it shifts the complement of a negative number.

    A negative amount counts as one beyond the width, and is one as an unsigned number.
    """
    dtype = site.dtype(0)
    if dtype not in _SIGNED:
        return
    op, unsigned = site.op, f"u{dtype}"
    value, amount = site.input(0), op.Cast(site.input(1), to=unsigned)
    if site.attribute("direction") == "LEFT":
        site.replace(op.Cast(site.copy(op.Cast(value, to=unsigned), amount), to=dtype))
        return
    ones_if_negative = op.Neg(op.Cast(op.Less(value, site.scalar(0, dtype, "zero")), to=dtype))
    magnitude = op.Cast(op.BitwiseXor(value, ones_if_negative), to=unsigned)
    shifted = op.Cast(site.copy(magnitude, amount), to=dtype)
    site.replace(op.BitwiseXor(shifted, ones_if_negative))


def shift_is_a_product_or_quotient(site: Site) -> None:
    """With a power of two, looked up in a table; an amount beyond the width leaves nothing."""
    dtype = site.dtype(0)
    op = site.op_at(14)
    is_left = site.attribute("direction") == "LEFT"
    width = _width(dtype)
    # The last entry is for all amounts beyond the width: a factor of 0, or a quotient of 0 by the greatest divisor.
    powers = [1 << position for position in range(width)]
    amounts = site.constant_value(1)
    if amounts is not None and (is_left or bool((amounts < width).all())):
        known = numpy.array([*powers, 0], numpy_dtype(dtype))[numpy.minimum(amounts, width).astype(numpy.int64)]
        power = site.constant(known.reshape(amounts.shape), "power")
        site.replace(op.Mul(site.input(0), power) if is_left else op.Div(site.input(0), power))
        return
    index = op.Cast(op.Min(site.input(1), site.scalar(width, dtype, "width")), to="int64")
    power = op.Gather(_table(site, [*powers, 0 if is_left else 1], dtype), index)
    if is_left:
        site.replace(op.Mul(site.input(0), power))
    else:
        is_within = op.Gather(_table(site, [*[1] * width, 0], dtype), index)
        site.replace(op.Mul(op.Div(site.input(0), power), is_within))


def _table(site: Site, values: list[int], dtype: str) -> str:
    return site.constant(numpy.array(values, numpy_dtype(dtype)), "powers")


def complement_is_a_difference(site: Site) -> None:
    """All bits less those that are set."""
    dtype = site.dtype(0)
    op, carrier = site.op_at(14), _carrier(dtype)
    ones = site.scalar(-1 if _width(dtype) == 64 else _modulus(dtype) - 1, carrier, "ones")
    site.replace(_as(op, op.Sub(ones, _number(op, site.input(0), dtype)), carrier, dtype))


def bits_are_taken_apart(site: Site) -> None:
    """The common bits are the products of single ones. A sum holds them twice: for Or once too often, for Xor twice."""
    op, dtype = site.op_at(14), site.dtype(0)
    carrier = _carrier(dtype)
    first, second = (_number(op, value, dtype) for value in site.inputs)
    result = common = _common_bits(site, op, first, second, dtype)
    if site.node.op_type != "BitwiseAnd":
        rest = common if site.node.op_type == "BitwiseOr" else op.Add(common, common)
        result = op.Sub(op.Add(first, second), rest)
    site.replace(_as(op, result, carrier, dtype))


def _carrier(dtype: str) -> str:
    """Where the bits are computed: in a dtype that runtimes calculate in, be there others that could hold them."""
    return "int32" if _width(dtype) < 32 else "int64"


def _number(op: Operators, value: str, dtype: str) -> str:
    """The number that the bits are, in the carrier; of 64 bits the first is the sign."""
    unsigned = "u" + dtype.removeprefix("u")
    return value if dtype == "int64" else _as(op, _as(op, value, dtype, unsigned), unsigned, _carrier(dtype))


def _as(op: Operators, value: str, dtype: str, wanted: str) -> str:
    return value if dtype == wanted else str(op.Cast(value, to=wanted))


def _common_bits(site: Site, op: Operators, first: str, second: str, dtype: str) -> str:
    carrier = _carrier(dtype)
    has_sign = _width(dtype) == 64
    width = _width(dtype) - has_sign
    powers = site.constant(numpy.array([1 << position for position in range(width)], numpy_dtype(carrier)), "powers")
    two = site.scalar(2, carrier, "two")
    bits, signs = [], []
    for value in (first, second):
        if has_sign:
            least = site.scalar(-(2**63), carrier, "least")
            signs.append(op.Cast(op.Less(value, site.zero(carrier)), to=carrier))
            value = op.Sub(value, op.Mul(signs[-1], least))
        bits.append(op.Mod(op.Div(op.Unsqueeze(value, site.constant_int64([-1])), powers), two))
    common = op.ReduceSum(op.Mul(op.Mul(*bits), powers), site.constant_int64([-1]), keepdims=0)
    return str(op.Add(common, op.Mul(op.Mul(*signs), least)) if has_sign else common)


_TEXT_28 = "28 adds the signed integers, and says what amounts beyond the width do: what runtimes have always done"

STEPS = [
    Step(
        "BitShift", 11, 28, up=unchanged, down=signed_integers_shift_as_unsigned, because="28 adds the signed integers"
    ),
]

BIRTHS = [
    Birth("BitShift", 11, down=shift_is_a_product_or_quotient),
    Birth("BitwiseAnd", 18, down=bits_are_taken_apart),
    Birth("BitwiseOr", 18, down=bits_are_taken_apart),
    Birth("BitwiseXor", 18, down=bits_are_taken_apart),
    Birth("BitwiseNot", 18, down=complement_is_a_difference),
]
