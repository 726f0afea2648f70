"""Nodes with other attributes."""

from __future__ import annotations

from typing import Any

from opsetlift.rulebook.site import Site, has_attribute


def replace_with_attributes(site: Site, **changed: Any) -> None:
    """Replace the node by itself with other attributes, so that it is looked at anew."""
    results = site.op.copy(*site.inputs, **changed)
    site.replace(*([results] if isinstance(results, str) else results))


def write_the_mode(site: Site) -> None:
    """Write the default of the attribute mode, and have the node looked at anew."""
    if not has_attribute(site, "mode"):
        replace_with_attributes(site, mode="nearest")
