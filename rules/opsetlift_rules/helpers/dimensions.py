"""Helpers for sizes: constants where they are known, else values computed at run time.

`op` writes for opset 14 or later.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsetlift.rulebook.site import Operators, Site
from opsetlift_rules.helpers.counting import iota

Size = int | str
"""A number, or the name of an int64 scalar."""


def size(site: Site, op: Operators, value: str, axis: int) -> Size:
    """The length of an axis of a tensor."""
    shape = site.shape(value)
    known = shape[axis] if shape is not None else None
    if isinstance(known, int):
        return known
    return str(op.Gather(op.Shape(value), site.constant(axis, "int64", "axis")))


def named(site: Site, number: Size) -> str:
    """The name of an int64 scalar."""
    return site.constant(number, "int64", "size") if isinstance(number, int) else number


def divisor(site: Site, op: Operators, size: Size) -> str:
    """The name of a size that positions are divided by, 1 in place of 0.

    Where a size is 0 there are no positions; onnxruntime from 1.31 on refuses to divide even none of them by 0.
    """
    if isinstance(size, int):
        return named(site, max(size, 1))
    return str(op.Add(size, op.Cast(op.Not(op.Cast(size, to="bool")), to="int64")))


def product(site: Site, op: Operators, sizes: Sequence[Size]) -> Size:
    """The product of sizes, a number as far as they are."""
    known = 1
    unknown: list[str] = []
    for one in sizes:
        if isinstance(one, int):
            known *= one
        else:
            unknown.append(one)
    if not unknown:
        return known
    result = unknown[0]
    for name in unknown[1:]:
        result = op.Mul(result, name)
    return result if known == 1 else str(op.Mul(result, named(site, known)))


def reshaped(site: Site, op: Operators, value: str, sizes: Sequence[Size]) -> str:
    """A Reshape to these sizes, any of which may be 0."""
    numbers = [one for one in sizes if isinstance(one, int)]
    if len(numbers) == len(sizes):
        shape = site.constant(numbers, "int64", "shape")
        return str(op.Reshape(value, shape, **({"allowzero": 1} if 0 in numbers else {})))
    first = site.constant([0], "int64")
    parts = [
        site.constant([one], "int64", "shape") if isinstance(one, int) else op.Unsqueeze(one, first) for one in sizes
    ]
    return str(op.Reshape(value, op.Concat(*parts, axis=0), allowzero=1))


def reshape_exactly(op: Operators, value: str, shape: str) -> str:
    """Reshape to computed dimensions, in which 0 means 0. `op` writes for opset 14 or later."""
    return str(op.Reshape(value, shape, allowzero=1))


def numbers_up_to(site: Site, op: Operators, count: Size) -> str:
    """0, 1, ... up to a size, int64."""
    return site.folded(lambda: iota(site, op, named(site, count)), "numbers")
