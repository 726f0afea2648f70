"""What rule authors read of a site: the page docs/site.md, and `help(Site)`."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

from opsetlift.conversion.walk.site import NodeSite
from opsetlift.development.site_page import site_page
from opsetlift.rulebook import site
from opsetlift.rulebook.site import Operators, Site

PROJECT = Path(__file__).parents[1]


def members(described: type) -> set[str]:
    return {name for name in vars(described) if not name.startswith("_")}


@pytest.mark.slow
def test_the_page_is_what_the_module_writes():
    written = subprocess.run([sys.executable, "-m", "opsetlift.development.site_page"], capture_output=True, check=True)
    assert written.stdout.decode("utf-8") == (PROJECT / "docs" / "site.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("described", [Site, Operators])
def test_the_page_has_every_member_with_its_description(described: type):
    page = site_page()
    for name in members(described):
        assert inspect.getdoc(getattr(described, name)), name
        assert f"- `{name}(" in page or f"- `{name}: " in page, name


def test_the_page_has_every_function_that_is_built_from_a_site():
    page = site_page()
    for name in site.__all__:
        if inspect.isfunction(getattr(site, name)):
            assert f"- `{name}(site: Site" in page


def test_help_of_a_site_fits_on_two_screens():
    assert len(pydoc.render_doc(Site, renderer=pydoc.plaintext).splitlines()) <= 150


def test_what_the_walk_asks_of_a_site_is_not_in_what_rules_are_given():
    assert {"emitted", "touched", "rounding", "scope"}.isdisjoint(members(Site))
    assert members(NodeSite) - members(Site) == {"emitted", "touched", "rounding"}
