"""Helpers for the step 1→6, at which some thirty operators lose `consumed_inputs`."""

from __future__ import annotations

from opsetlift.rulebook.site import Site


def remove_consumed_inputs(site: Site) -> None:
    """The attribute allowed a runtime to compute in place; it never said anything about the result."""
    site.remove_attribute("consumed_inputs")
