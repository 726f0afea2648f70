"""Helpers for several attention heads: split from packed tensors, and packed again."""

from __future__ import annotations

from collections.abc import Sequence

from opsetlift.rulebook.site import Operators, Site
from opsetlift_rules.helpers.axes import END
from opsetlift_rules.helpers.counting import iota


def sizes(site: Site, op: Operators, value: str, first: int, stop: int = END) -> str:
    """A slice of a tensor's shape: constant where it is known."""
    bounds = (site.constant([first], "int64", "first"), site.constant([stop], "int64", "stop"))
    return site.folded(lambda: str(op.Slice(op.Shape(value), *bounds)), "sizes")


def numbers_up_to(site: Site, op: Operators, value: str, axis: int) -> str:
    """0, 1, ... up to the size of an axis."""

    def counted() -> str:
        size = op.Gather(op.Shape(value), site.constant(axis, "int64", "axis"))
        return iota(site, op, size)

    return site.folded(counted, "numbers")


def with_heads(site: Site, op: Operators, value: str, heads: int) -> str:
    """[batch, length, heads * size] as [batch, length, heads, size]; no size is left to inference, which 0 defeats."""
    width = (site.shape(value) or [None])[-1]
    if isinstance(width, int) and width > 0:
        return str(op.Reshape(value, site.constant([0, 0, heads, width // heads], "int64", "shape")))
    count = site.constant([heads], "int64", "heads")
    shape = op.Concat(sizes(site, op, value, 0, 2), count, op.Div(sizes(site, op, value, 2), count), axis=0)
    return str(op.Reshape(value, shape, allowzero=1))


def without_heads(site: Site, op: Operators, value: str, heads: int) -> str:
    """The inverse."""
    size = (site.shape(value) or [None])[-1]
    if isinstance(size, int) and size > 0:
        return str(op.Reshape(value, site.constant([0, 0, heads * size], "int64", "shape")))
    width = op.Mul(sizes(site, op, value, 3), site.constant([heads], "int64", "heads"))
    return str(op.Reshape(value, op.Concat(sizes(site, op, value, 0, 2), width, axis=0), allowzero=1))


def transposed(op: Operators, value: str, order: Sequence[int] = (0, 2, 1, 3)) -> str:
    """Swap heads and length, by default."""
    return str(op.Transpose(value, perm=list(order)))
