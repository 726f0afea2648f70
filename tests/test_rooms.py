"""The picture of the rooms in docs/architecture.md is that of the import contracts."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1]


def contract() -> list[str]:
    """The rooms from the top, as the layers contract has them."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = [one for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers"]
    return [one.removeprefix("opsetlift.") for one in layers["layers"]]


def test_the_picture_shows_the_rooms_in_the_order_of_the_contract():
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawing = page.partition("```mermaid")[2].partition("```")[0]
    (chain,) = re.findall(r"^ *(cli --> .*)$", drawing, flags=re.MULTILINE)
    assert chain.split(" --> ") == contract()
    assert set(re.findall(r"^ *(\w+)\[", drawing, flags=re.MULTILINE)) == {*contract(), "rules"}


def test_each_folder_of_the_package_is_a_room_and_no_module_lies_beside_them():
    package = PROJECT / "converter" / "opsetlift"
    assert {one.name for one in package.iterdir() if one.is_dir() and one.name != "__pycache__"} == set(contract())
    assert {one.name for one in package.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_each_room_says_what_it_is_for():
    package = PROJECT / "converter" / "opsetlift"
    for room in contract():
        assert (package / room / "__init__.py").read_text(encoding="utf-8").startswith('"""'), room
