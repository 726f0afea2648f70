"""Operators on the bits of integers.

BitShift                                      11: introduced, for unsigned integers · 28: +the signed integers
BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot 18: introduced
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy

from opsetlift.rulebook.rule import Introduction, Step, unchanged
from opsetlift.rulebook.site import Operators, Site
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.zeros import zero

_SIGNED = ("int8", "int16", "int32", "int64")


def _width(dtype: str) -> int:
    return int(dtype.removeprefix("u").removeprefix("int"))


def _modulus(dtype: str) -> int:
    return 1 << _width(dtype)


def shift_signed_integers_as_unsigned(site: Site) -> None:
    """Compute BitShift-28 of signed integers, which BitShift-11 does not take, in the unsigned dtype.

    A right shift copies the sign: it shifts the complement of a negative number. A negative amount, read as unsigned,
    is beyond the width, and counts as such.
    """
    dtype = site.dtype(0)
    if dtype not in _SIGNED:
        return
    op, unsigned = site.op, f"u{dtype}"
    value, amount = site.input(0), op.Cast(site.input(1), to=unsigned)
    if site.attribute("direction") == "LEFT":
        site.replace(op.Cast(site.op.copy(op.Cast(value, to=unsigned), amount), to=dtype))
        return
    ones_if_negative = op.Neg(op.Cast(op.Less(value, site.constant(0, dtype, "zero")), to=dtype))
    magnitude = op.Cast(op.BitwiseXor(value, ones_if_negative), to=unsigned)
    shifted = op.Cast(site.op.copy(magnitude, amount), to=dtype)
    site.replace(op.BitwiseXor(shifted, ones_if_negative))


def replace_shift_with_mul_or_div(site: Site) -> None:
    """Replace BitShift-11 with Mul or Div by a power of two.

    The power is gathered from a table, whose last entry is for all amounts beyond the width.
    """
    dtype = site.dtype(0)
    op, compute_dtype, width = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC), _compute_dtype(dtype), _width(dtype)
    value = _number(site, op, site.input(0), dtype)
    place = site.folded(lambda: _place(site, op, dtype), "place")

    def looked_up(*values: int) -> str:
        table = site.constant(numpy.array(values, numpy.uint64).astype(numpy_dtype(compute_dtype)), hint="powers")
        return site.folded(lambda: str(op.Gather(table, place)), "power")

    powers = [1 << position for position in range(width)]
    if site.attribute("direction") == "LEFT":
        site.replace(_as(op, op.Mul(value, looked_up(*powers, 0)), compute_dtype, dtype))
        return
    if width < 64:
        shifted = op.Div(value, looked_up(*powers, 1))
        places = site.constant_value(place)
        if places is None or (places == width).any():
            shifted = op.Mul(shifted, looked_up(*[1] * width, 0))
    else:
        # The sign bit and the remaining bits are shifted separately.
        sign, rest = _sign_and_rest(site, op, value)
        quotient = op.Div(rest, looked_up(*powers[:-1], 1, 1))
        shifted = op.Mul(quotient, looked_up(*[1] * (width - 1), 0, 0))
        shifted = op.Add(shifted, op.Mul(sign, looked_up(*reversed(powers), 0)))
    site.replace(_as(op, shifted, compute_dtype, dtype))


def _place(site: Site, op: Operators, dtype: str) -> str:
    """The shift amount, at most the width."""
    compute_dtype, width = _compute_dtype(dtype), _width(dtype)
    amount = _number(site, op, site.input(1), dtype)
    is_beyond = op.Less(site.constant(width - 1, compute_dtype, "last"), amount)
    if width == 64:
        is_beyond = op.Or(is_beyond, op.Less(amount, zero(site, compute_dtype)))
    beyond = op.Cast(is_beyond, to=compute_dtype)
    inside = op.Mul(amount, op.Sub(site.constant(1, compute_dtype, "one"), beyond))
    return str(op.Add(inside, op.Mul(beyond, site.constant(width, compute_dtype, "width"))))


def replace_bitwise_not_with_sub(site: Site) -> None:
    """Replace BitwiseNot-18 with Sub: all bits set, less x; of a signed integer, -1 - x."""
    dtype = site.dtype(0)
    op, compute_dtype = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC), _compute_dtype(dtype)
    ones = -1 if dtype in _SIGNED or _width(dtype) == 64 else _modulus(dtype) - 1
    difference = op.Sub(site.constant(ones, compute_dtype, "ones"), _as(op, site.input(0), dtype, compute_dtype))
    site.replace(_as(op, difference, compute_dtype, dtype))


def compute_bit_by_bit(site: Site) -> None:
    """Replace BitwiseAnd, BitwiseOr or BitwiseXor-18 with arithmetic on the single bits.

    The common bits are products of single bits. The sum of both inputs has them twice: Or subtracts them once, Xor
    twice.
    """
    op, dtype = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC), site.dtype(0)
    compute_dtype = _compute_dtype(dtype)
    first, second = (_number(site, op, value, dtype) for value in site.inputs)
    result = common = _common_bits(site, op, first, second, dtype)
    if site.node.op_type != "BitwiseAnd":
        rest = common if site.node.op_type == "BitwiseOr" else op.Add(common, common)
        result = op.Sub(op.Add(first, second), rest)
    site.replace(_as(op, result, compute_dtype, dtype))


def _compute_dtype(dtype: str) -> str:
    """The dtype in which the bits are computed: one for which runtimes have arithmetic."""
    return "int32" if _width(dtype) < 32 else "int64"


def _number(site: Site, op: Operators, value: str, dtype: str) -> str:
    """The bits as an unsigned number in the wider type; as a signed one for 64 bits.

    Not by casts to an unsigned dtype and on: there are runtimes that make one of the two, from the signed one.
    """
    compute_dtype = _compute_dtype(dtype)
    value = _as(op, value, dtype, compute_dtype)
    if dtype not in _SIGNED or _width(dtype) == 64:
        return value
    is_negative = op.Cast(op.Less(value, zero(site, compute_dtype)), to=compute_dtype)
    return str(op.Add(value, op.Mul(is_negative, site.constant(_modulus(dtype), compute_dtype, "modulus"))))


def _as(op: Operators, value: str, dtype: str, wanted: str) -> str:
    return value if dtype == wanted else str(op.Cast(value, to=wanted))


def _common_bits(site: Site, op: Operators, first: str, second: str, dtype: str) -> str:
    """The number whose bits both have; 64 bits are summed in halves, as there are runtimes that sum in double."""
    compute_dtype, width = _compute_dtype(dtype), _width(dtype)
    numbers: Sequence[str] = (first, second)
    parts = []
    if width == 64:
        signs, numbers = zip(*(_sign_and_rest(site, op, value) for value in numbers), strict=True)
        parts.append(op.Mul(op.Mul(*signs), _least(site)))
        width -= 1
    two, last = site.constant(2, compute_dtype, "two"), site.constant([-1], "int64")
    columns = [op.Unsqueeze(value, last) for value in numbers]
    for start in range(0, width, 32):
        values = [1 << position for position in range(start, min(start + 32, width))]
        powers = site.constant(numpy.array(values, numpy_dtype(compute_dtype)), hint="powers")
        bits = [op.Mod(op.Div(column, powers), two) for column in columns]
        parts.append(op.ReduceSum(op.Mul(op.Mul(*bits), powers), last, keepdims=0))
    return str(reduce(op.Add, parts))


def _least(site: Site) -> str:
    """The 64-bit number in which only the sign bit is set."""
    return site.constant(-(2**63), "int64", "least")


def _sign_and_rest(site: Site, op: Operators, value: str) -> tuple[str, str]:
    """The sign bit of a 64-bit number, and the number in its remaining bits."""
    sign = op.Cast(op.Less(value, zero(site, "int64")), to="int64")
    return sign, op.Sub(value, op.Mul(sign, _least(site)))


_TEXT_28 = "28 adds signed integers, and states what runtimes have always done for shifts beyond the width"

_SIGNED_INTEGERS = "28 adds signed integers"

STEPS = [
    Step("BitShift", 11, 28, up=unchanged, down=shift_signed_integers_as_unsigned, because=_SIGNED_INTEGERS),
]

INTRODUCTIONS = [
    Introduction("BitShift", 11, down=replace_shift_with_mul_or_div),
    Introduction("BitwiseAnd", 18, down=compute_bit_by_bit),
    Introduction("BitwiseOr", 18, down=compute_bit_by_bit),
    Introduction("BitwiseXor", 18, down=compute_bit_by_bit),
    Introduction("BitwiseNot", 18, down=replace_bitwise_not_with_sub),
]
