"""The diagram of the rooms in docs/architecture.md shows those of the import contracts."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1]


def contract() -> list[list[str]]:
    """The rooms from the top, as the layers contract has them; rooms of one layer do not import each other."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = [one for one in contracts if one["name"] == "Rooms import downward only"]
    return [[room.removeprefix("opsetlift.") for room in layer.split(" | ")] for layer in layers["layers"]]


def rooms() -> set[str]:
    return {room for layer in contract() for room in layer}


def test_the_diagram_shows_the_rooms_in_the_order_of_the_contract():
    page = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawing = page.partition("```mermaid")[2].partition("```")[0]
    (chain,) = re.findall(r"^ *(cli --> .*)$", drawing, flags=re.MULTILINE)
    assert chain.split(" --> ") == [layer[0] for layer in contract()]
    assert set(re.findall(r"^ *(\w+)\[", drawing, flags=re.MULTILINE)) == {*rooms(), "rules"}


def test_each_folder_of_the_package_is_a_room_and_no_module_lies_beside_them():
    package = PROJECT / "converter" / "opsetlift"
    assert {one.name for one in package.iterdir() if one.is_dir() and one.name != "__pycache__"} == rooms()
    assert {one.name for one in package.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_each_room_says_what_it_is_for():
    package = PROJECT / "converter" / "opsetlift"
    for room in rooms():
        assert (package / room / "__init__.py").read_text(encoding="utf-8").startswith('"""'), room
