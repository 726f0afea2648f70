"""Helpers for the step 1→6, at which some thirty operators lose `consumed_inputs`."""

from __future__ import annotations

from opsetlift.rulebook.site import Site


def remove_consumed_inputs(site: Site) -> None:
    """Remove consumed_inputs of version 1, which allowed in-place computation and never affected the result."""
    site.remove_attribute("consumed_inputs")
