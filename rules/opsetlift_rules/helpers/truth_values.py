"""Booleans as numbers, for runtimes without constants of booleans or without logic on them."""

from __future__ import annotations

import numpy

from opsetlift.rulebook.site import Operators, Site, is_constant


def as_number(site: Site, op: Operators, value: str) -> str:
    """1 for true and 0 for false, as floats."""
    known = site.content(value)
    return str(op.Cast(value, to="float")) if known is None else site.constant(known.astype(numpy.float32))


def is_set(site: Site, op: Operators, number: str) -> str:
    """Whether a number, at least 0 and whole, is not 0."""
    return str(op.Greater(number, site.constant(0.5, "float", "half")))


def computed_if_constant(site: Site, op: Operators, value: str) -> str:
    """A boolean; one that is constant as a comparison of constants."""
    return is_set(site, op, as_number(site, op, value)) if is_constant(site, value) else value
