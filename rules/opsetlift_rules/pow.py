"""Pow.

Pow  7: +numpy's broadcasting · 12: +int32 +int64 bases, exponents of any number dtype · 13: +bfloat16 bases ·
     15: +bfloat16 exponents
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Step, rounding, unchanged, widen_values
from opsetlift.rulebook.site import Array, Operators, Site
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import copies_repeated_channels
from opsetlift_rules.helpers.counting import endless
from opsetlift_rules.helpers.dtype_groups import FLOATING
from opsetlift_rules.helpers.legacy_broadcast import add_broadcast_attributes, remove_broadcast_attributes

# Dtypes all of whose values a base's dtype holds.
_HELD_EXACTLY = {
    "float16": ("int8", "uint8"),
    "float": ("int8", "uint8", "int16", "uint16", "float16"),
    "double": ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float"),
}


def cast_exponent_to_the_type_of_the_base(site: Site) -> None:
    """Compute Pow-12 with one float dtype, as Pow-7 does: that of the base if it holds the exponent, else double."""
    base, exponent = site.dtype(0), site.dtype(1)
    if base == exponent and base in FLOATING:
        return
    value = site.constant_value(1)
    if base not in FLOATING:
        _raise_integers(site, base, value)
    elif value is not None and _is_held(value, base):
        site.set_input(1, site.constant(value.astype(numpy_dtype(base)), hint="exponent"))
    elif exponent in _HELD_EXACTLY.get(base, ()):
        site.set_input(1, site.op_at(opsets.BFLOAT16).Cast(site.input(1), to=base))
    else:
        # No dtype holds every int64. onnxruntime and onnx.reference take the nearest double of an exponent, too.
        _compute_in_double(site)


def _is_held(value: Array, dtype: str) -> bool:
    with numpy.errstate(over="ignore"):
        held = value.astype(numpy_dtype(dtype))
    return bool(numpy.array_equal(held.astype(value.dtype), value, equal_nan=value.dtype.kind == "f"))


def _compute_in_double(site: Site) -> None:
    site.rounds()
    op = site.op_at(opsets.BFLOAT16)
    power = site.op.Pow(op.Cast(site.input(0), to="double"), op.Cast(site.input(1), to="double"))
    site.replace(op.Cast(power, to=site.dtype(0)))


def _raise_integers(site: Site, base: str, exponent: Array | None) -> None:
    """Compute integer powers by products, which wrap around; a Loop does so unless the exponent is a constant."""
    if site.dtype(1) in FLOATING:
        # The text leaves an integer to the power of a float open: computed in double and truncated.
        _compute_in_double(site)
    elif exponent is None or exponent.size != 1 or exponent.item() < 0:
        site.replace(_loop(site, base))
    else:
        power = _chain(site, int(exponent.item()))
        missing = exponent.ndim - (
            site.rank(0, because="the exponent may have more dimensions") if exponent.ndim else 0
        )
        op = site.op_at(opsets.AXES_AS_INPUTS)
        site.replace(op.Unsqueeze(power, site.constant(range(missing), "int64")) if missing > 0 else power)


def _loop(site: Site, base: str) -> str:
    """One iteration per bit of the exponent: a set bit multiplies the power by the square, which is squared each time.

    A negative exponent gives the reciprocal, truncated: it is 0 but for 1 and -1.
    """
    op = site.op
    dtype = site.dtype(1) if site.dtype(1) == "uint64" else "int64"
    exponent = site.input(1) if site.dtype(1) == dtype else op.Cast(site.input(1), to=dtype)
    value, one, two = site.input(0), site.constant(1, base, "one"), site.constant(2, dtype, "two")
    start = op.Add(op.Sub(value, value), op.Cast(op.Sub(exponent, exponent), to=base))
    states = [op.Add(start, one), op.Add(start, value), exponent]

    def body(inner: Operators, _: str, going: str, power: str, square: str, rest: str) -> list[str]:
        half = inner.Div(rest, two)
        bit = inner.Cast(inner.Sub(rest, inner.Mul(half, two)), to=base)
        factor = inner.Add(inner.Mul(bit, inner.Sub(square, one)), one)
        return [going, inner.Mul(power, factor), inner.Mul(square, square), inner.Identity(half)]

    for state in states:
        site.rank(state, because="the exponent is computed at run time, so a Loop computes the power")
    takes = [("int64", []), ("bool", []), *((site.dtype(state), site.shape(state) or []) for state in states)]
    trips = site.constant(64, "int64", "bits")
    power, _, _ = op.Loop(trips, endless(site), *states, outputs=3, body=site.op.subgraph(body, takes=takes))
    if dtype == "uint64" or site.dtype(1).startswith("uint"):
        return str(power)
    half = op.Div(exponent, two)
    odd = op.Cast(op.Cast(op.Sub(exponent, op.Mul(half, two)), to="bool"), to=base)
    alternating = op.Sub(one, op.Add(odd, odd))
    is_one, is_minus_one = (
        op.Cast(op.Equal(value, site.constant(number, base, "unit")), to=base) for number in (1, -1)
    )
    reciprocal = op.Add(is_one, op.Mul(is_minus_one, alternating))
    is_negative = op.Cast(op.Less(exponent, site.constant(0, dtype, "zero")), to=base)
    kept = op.Mul(power, op.Sub(one, is_negative))
    return str(op.Add(kept, op.Mul(reciprocal, is_negative)))


def _chain(site: Site, exponent: int) -> str:
    op = site.op
    square, result = site.input(0), ""
    if exponent == 0:
        return str(op.Add(op.Sub(square, square), site.constant(1, site.dtype(0), "one")))
    while True:
        if exponent & 1:
            result = op.Mul(result, square) if result else square
        exponent >>= 1
        if not exponent:
            return result
        square = op.Mul(square, square)


def multiply_or_copy_repeated_channels(site: Site) -> None:
    """Write a square as a product, and negate the base of other powers twice, for runtimes that merge Pow wrongly.

    Where broadcasting may repeat channels, copy the computed inputs instead. One number for all elements becomes a
    scalar, as which more runtimes take it.
    """
    if copies_repeated_channels(site):
        return
    base, exponent = site.inputs
    value, dims = site.constant_value(1), site.shape(0)
    is_single = value is not None and value.size == 1 and value.ndim <= len(dims or ())
    if value is not None and is_single and value.item() == _SQUARE:
        site.replace(site.op.Mul(base, base))
    elif value is not None and is_single and value.ndim:
        site.set_input(1, site.constant(value.reshape(()), hint="exponent"))
    elif site.dtype(0) in FLOATING:
        site.replace(site.op.Pow(site.op.Neg(site.op.Neg(base)), exponent))


_SQUARE = 2

_MIXED = "12 allows the exponent another dtype than the base"

_CAST_EXPONENT_TO_THE_TYPE_OF_THE_BASE = rounding(
    cast_exponent_to_the_type_of_the_base,
    ulps=1,
    when="the dtype of the base does not hold the exponent",
    because="computed in double and rounded or truncated to the dtype of the base once",
)

STEPS = [
    Step("Pow", 1, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes()),
    Step("Pow", 7, 12, up=unchanged, down=_CAST_EXPONENT_TO_THE_TYPE_OF_THE_BASE, because=_MIXED),
    Step("Pow", 12, 13, up=unchanged, down=unchanged, because="13 only drops the full stop after 'Output tensor'"),
    Step("Pow", 13, 15, up=unchanged, down=widen_values(like=1)),
]

FALLBACKS = [
    Fallback("Pow", multiply_or_copy_repeated_channels),
]
