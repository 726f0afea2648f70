"""Inputs of one element, which operators want as scalars and models give as vectors."""

from __future__ import annotations

from opsetlift.rulebook.site import Site
from opsetlift_rules.helpers import opsets


def scalar(site: Site, position: int) -> str:
    """An input of one element as a scalar."""
    value = site.input(position)
    if site.shape(value) == []:
        return value
    shape = site.constant([], "int64", "scalar")
    return site.folded(lambda: str(site.op_at(opsets.BFLOAT16).Reshape(value, shape)), "scalar")


def make_scalar(site: Site, position: int) -> None:
    """Give an input of one element the rank 0 that its operator states, for runtimes that need it."""
    if len(site.inputs) > position and site.input(position):
        site.set_input(position, scalar(site, position))
