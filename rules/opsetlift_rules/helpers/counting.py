"""Helpers for what is counted at run time: positions, and the iterations of a Loop."""

from __future__ import annotations

from opsetlift.rulebook.site import Operators, Site

LARGEST_TABLE = 1 << 22
"""Tables of more elements are computed at run time rather than stored."""


def endless(site: Site) -> str:
    """The condition of a Loop that ends by its trip count. onnxruntime up to 1.8 crashes if it is absent."""
    return site.constant(True, "bool", "going")


def iota(site: Site, op: Operators, count: str) -> str:
    """The numbers 0, 1, ... up to `count`, an int64 scalar, exclusive. `op` writes for opset 11 or later."""
    return str(op.Range(site.constant(0, "int64"), count, site.constant(1, "int64")))
