"""Zeros of any dtype."""

from __future__ import annotations

from opsetlift.rulebook.site import Site


def zero(site: Site, dtype: str) -> str:
    """The name of a constant zero, False or empty string, of rank 0."""
    return site.constant("" if dtype == "string" else 0, dtype, "zero")
