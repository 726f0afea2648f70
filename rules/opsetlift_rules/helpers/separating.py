"""Keeping a node apart from the one before it, where an optimiser of a runtime would merge the two wrongly."""

from __future__ import annotations

from collections.abc import Iterable

from opsetlift.rulebook.site import Site
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS


def put_sums_before(site: Site, positions: Iterable[int] = (0,)) -> None:
    """Put a Sum of one term before inputs of a node of floats: it gives them as they are.

    A node whose dtype the runtime does not compute stays as it is: that is the reason to name then.
    """
    dtype = site.dtype(0)
    if dtype in FIRST_FLOATS and site.computes(site.node.op_type, T=dtype):
        op = site.op_at(opsets.BFLOAT16)
        for position in positions:
            site.set_input(position, op.Sum(site.input(position)))


def put_maxima_before(site: Site, position: int = 0, dtypes: Iterable[str] = FIRST_FLOATS) -> None:
    """Put the Max of an input and itself before a node of floats, for runtimes that look through a Sum of one term."""
    if site.dtype(0) in dtypes and site.computes(site.node.op_type, T=site.dtype(0)):
        value = site.input(position)
        site.set_input(position, site.op_at(opsets.BFLOAT16).Max(value, value))


def put_a_sum_with_zero_before(site: Site) -> None:
    """Put the Sum of the first input and -0, the same number, before a node of floats.

    It is for runtimes that keep more of results than their numbers, as those of convolutions in blocks of channels.
    """
    dtype = site.dtype(0)
    if dtype in FIRST_FLOATS and site.computes(site.node.op_type, T=dtype):
        site.set_input(0, site.op.Sum(site.input(0), site.constant(-0.0, dtype, "zero")))
