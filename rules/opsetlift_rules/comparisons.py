"""Comparisons.

Less, Greater                7: +numpy's broadcasting · 9: +the eight integer dtypes · 13: +bfloat16
Equal                        7: +numpy's broadcasting · 11: +floats +the other integers · 13: +bfloat16 · 19: +string
LessOrEqual, GreaterOrEqual  12: introduced · 16: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged, widen_values
from opsetlift.rulebook.site import Operators, Site, is_constant, widen, widen_to_kernel
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import compute_side_by_side, copies_repeated_channels, onto_one_shape
from opsetlift_rules.helpers.dtype_groups import COMPARED_IN, FLOATING
from opsetlift_rules.helpers.legacy_broadcast import add_broadcast_attributes, remove_broadcast_attributes

# Casts that keep different values different; uint64 wraps around.
_WIDER_INTEGERS = {
    "int8": "int32",
    "uint8": "int32",
    "int16": "int32",
    "uint16": "int32",
    "uint32": "int64",
    "uint64": "int64",
}


def compare_integers_as_floats(site: Site) -> None:
    """Compare integers, which Less-7 and Greater-7 do not take, as floats.

    A float type holds every integer of up to 32 bits. Of 64 bits the lesser is found by a reduction: Less holds where
    the lesser differs from the second one.
    """
    dtype = site.dtype(0)
    if dtype in COMPARED_IN:
        widen(site, COMPARED_IN[dtype])
    elif dtype in ("int64", "uint64"):
        op = site.op_at(opsets.AXES_AS_INPUTS)
        values = onto_one_shape(site, op, site.inputs, dtype)
        stacked = op.Concat(*(op.Unsqueeze(value, site.constant([0], "int64")) for value in values), axis=0)
        reduction = op.ReduceMin if site.node.op_type == "Less" else op.ReduceMax
        extreme = reduction(stacked, axes=[0], keepdims=0)
        site.replace(op.Cast(op.Sub(extreme, values[1]), to="bool"))


def compute_equality_from_order(site: Site) -> None:
    """Compute Equal-11 for Equal-7: cast integers to a type that it takes; floats are equal if neither is less.

    NaN is excluded by the sum, which is NaN where one of both is (or where they are opposite infinities, which are not
    equal).
    """
    dtype = site.dtype(0)
    if dtype in _WIDER_INTEGERS:
        widen(site, _WIDER_INTEGERS[dtype])
    elif dtype in FLOATING:
        op = site.op
        first, second = site.inputs
        differs = op.Or(op.Less(first, second), op.Greater(first, second))
        site.replace(op.Not(op.Or(differs, op.IsNaN(op.Add(first, second)))))


def compare_strings_with_unique(site: Site) -> None:
    """Compare strings, which Equal-13 does not take, by the numbers that Unique gives to equal strings."""
    if site.dtype(0) != "string":
        return
    if site.target < opsets.UNIQUE:
        site.refuse(Why.NO_EQUIVALENT, "below opset 11, which introduces Unique, no operator distinguishes strings")
    op = site.op
    flat = [op.Reshape(value, site.constant([-1], "int64", "flat")) for value in site.inputs]
    _, _, numbers, _ = op.Unique(op.Concat(*flat, axis=0), outputs=4, sorted=0)
    first_length, zero = op.Shape(flat[0]), site.constant([0], "int64", "start")
    end = op.Shape(numbers)
    parts = [op.Slice(numbers, zero, first_length), op.Slice(numbers, first_length, end)]
    pairs = zip(parts, site.inputs, strict=True)
    site.replace(op.Equal(*(op.Reshape(part, op.Shape(value), allowzero=1) for part, value in pairs)))


def combine_order_and_equality(site: Site) -> None:
    """Replace LessOrEqual-12 or GreaterOrEqual-12 with Less or Greater, and Equal.

    With NaN neither holds. Integers need one comparison only: not greater, or not less.
    """
    op = site.op
    strict, opposite = (op.Less, op.Greater) if site.node.op_type == "LessOrEqual" else (op.Greater, op.Less)
    if site.dtype(0) in FLOATING:
        site.replace(op.Or(strict(*site.inputs), op.Equal(*site.inputs)))
    else:
        site.replace(op.Not(opposite(*site.inputs)))


# Fallbacks for runtimes that lack a dtype


def compare_by_sign_of_the_difference(site: Site) -> None:
    """Compare by the sign of the difference where the runtime lacks the dtype, and no wider type serves.

    Doubles differ exactly where their difference is not 0, which is never lost to underflow; the difference of equal
    infinities is NaN, which has no sign either. Integers of 64 bits are halved, so that no difference overflows: the
    upper halves decide first. Div truncates, which keeps the order.
    """
    dtype = site.dtype(0)
    if _is_mirrored(site) or _copies_channels(site) or widen_to_kernel(site):
        return
    op = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC)
    if dtype == "double":
        difference = op.Sub(*site.inputs)
    elif dtype == "int64":
        first, second = (_halves(site, op, value) for value in site.inputs)
        upper, lower = (op.Sign(op.Sub(one, other)) for one, other in zip(first, second, strict=True))
        difference = op.Add(op.Add(upper, upper), lower)
    else:
        if site.node.op_type == "Less" and site.computes("Less", T=dtype) and site.computes("Greater", T=dtype):
            site.replace(site.op.Greater(*reversed(site.inputs)))
        return
    sign = op.Cast(op.Sign(difference), to="float")
    compare = op.Less if site.node.op_type == "Less" else op.Greater
    site.replace(compare(sign, site.constant(0, "float", "zero")))


def _halves(site: Site, op: Operators, value: str) -> tuple[str, str]:
    known = site.constant_value(value)
    half = 2**32
    if known is not None:
        upper = (known // half) + ((known < 0) & (known % half != 0))
        return site.constant(upper, hint="upper"), site.constant(known - upper * half, hint="lower")
    unit = site.constant(half, "int64", "half")
    upper_half = op.Div(value, unit)
    return upper_half, op.Sub(value, op.Mul(upper_half, unit))


def compute_equality_in_a_supported_type(site: Site) -> None:
    """Compute Equal in a type that the runtime supports, else from Less and Greater."""
    if not _is_mirrored(site) and not _copies_channels(site) and not widen_to_kernel(site):
        compute_equality_from_order(site)


def _copies_channels(site: Site) -> bool:
    return site.computes(site.node.op_type, T=site.dtype(0)) and copies_repeated_channels(site)


def _is_mirrored(site: Site) -> bool:
    """Write a constant second, where the runtime has the kernel but fails on the form; whether that was done."""
    if not is_constant(site, 0) or not site.computes(site.node.op_type, T=site.dtype(0)):
        return False
    mirrored = {"Less": "Greater", "Greater": "Less"}.get(site.node.op_type, site.node.op_type)
    site.replace(site.op.emit(mirrored, *reversed(site.inputs)))
    return True


STEPS = [
    Step("Less", 1, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="Greater")),
    Step("Less", 7, 9, up=unchanged, down=compare_integers_as_floats),
    Step("Greater", 1, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="Less")),
    Step("Greater", 7, 9, up=unchanged, down=compare_integers_as_floats),
    Step("Equal", 1, 7, up=remove_broadcast_attributes, down=add_broadcast_attributes(mirrored="Equal")),
    Step("Equal", 7, 11, up=unchanged, down=compute_equality_from_order),
    Step("Equal", 13, 19, up=unchanged, down=compare_strings_with_unique),
    Step("LessOrEqual", 12, 16, up=unchanged, down=widen_values()),
    Step("GreaterOrEqual", 12, 16, up=unchanged, down=widen_values()),
]

INTRODUCTIONS = [
    Introduction("LessOrEqual", 12, down=combine_order_and_equality),
    Introduction("GreaterOrEqual", 12, down=combine_order_and_equality),
]

FALLBACKS = [
    Fallback("Less", compare_by_sign_of_the_difference, otherwise=compute_side_by_side),
    Fallback("Greater", compare_by_sign_of_the_difference, otherwise=compute_side_by_side),
    Fallback("Equal", compute_equality_in_a_supported_type, otherwise=compute_side_by_side),
    Fallback("LessOrEqual", combine_order_and_equality),
    Fallback("GreaterOrEqual", combine_order_and_equality),
]
