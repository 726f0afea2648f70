"""Signs of integers, compared in a dtype that every runtime compares."""

from __future__ import annotations

from opsetlift.rulebook.site import Operators, Site


def is_negative(site: Site, op: Operators, value: str) -> str:
    """Whether each integer is below 0.

    A float keeps the sign of each; Less takes integers from 9 on, and onnxruntime 64-bit ones from 1.0 on.
    """
    return str(op.Less(op.Cast(value, to="float"), site.constant(0, "float", "zero")))


def is_positive(site: Site, op: Operators, value: str) -> str:
    """Whether each integer is above 0."""
    return str(op.Greater(op.Cast(value, to="float"), site.constant(0, "float", "zero")))


def added_where(op: Operators, condition: str, value: str, addend: str, dtype: str) -> str:
    """`value`, and `addend` more where the condition holds. Where takes 64-bit integers from onnxruntime 1.0 on."""
    return str(op.Add(value, op.Mul(op.Cast(condition, to=dtype), addend)))


def number_added_where(site: Site, op: Operators, condition: str, value: str, number: int, dtype: str) -> str:
    """The same for a known number.

    Runtimes that select no integers may keep computed ones as floats, and join them with no constant ones: there the
    number is a float until it is added, which Floor says to be whole.
    """
    if abs(number) > _LARGEST_EXACT or site.computes("Where", T=dtype):
        return added_where(op, condition, value, site.constant(number, dtype, "size"), dtype)
    addend = op.Mul(op.Cast(condition, to="float"), site.constant(number, "float", "size"))
    return str(op.Add(value, op.Cast(op.Floor(addend), to=dtype)))


_LARGEST_EXACT = 2**24
"""Up to which float holds all integers."""
