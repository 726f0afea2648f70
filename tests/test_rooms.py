"""The rooms are those of docs/architecture.md and of the import contracts, and each is used by way of its door only."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PROJECT = Path(__file__).parents[1]


def contract() -> list[list[str]]:
    """The rooms from the top, as the layers contract has them; rooms of one layer do not import each other."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = [one for one in contracts if one["name"] == "Rooms import downward only"]
    return [[room.removeprefix("opsetlift.") for room in layer.split(" | ")] for layer in layers["layers"]]


@cache
def rooms() -> frozenset[str]:
    return frozenset(room for layer in contract() for room in layer)


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


class Use(NamedTuple):
    """An import of what a room has, from outside of it."""

    user: str
    room: str
    path: tuple[str, ...]
    """Under the room: modules, then the name that is imported from the last of them."""


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def door(folder: Path) -> tuple[str, ...]:
    """What a package says that others may import: names in `__all__`, or modules in `PUBLIC_MODULES`."""
    found: list[str] = []
    for statement in parsed(folder / "__init__.py").body:
        match statement:
            case ast.Assign([ast.Name("__all__" | "PUBLIC_MODULES")], value):
                found += ast.literal_eval(value)
    return tuple(found)


@cache
def uses() -> tuple[Use, ...]:
    """Imports of rooms by other rooms, the public interface, rules, examples, benchmarks and what tests share.

    Tests may look into the room that they test.
    """
    found: list[Use] = []
    folders = ("converter", "rules", "examples", "testing", "benchmarks")
    for file in (file for folder in folders for file in (PROJECT / folder).rglob("*.py")):
        own = file.relative_to(PROJECT).parts
        for name in imported_names(file):
            package, _, inner = name.partition(".")
            room, *path = inner.split(".")
            if package == "opsetlift" and room in rooms() and own[:3] != ("converter", "opsetlift", room):
                found.append(Use("/".join(own), room, tuple(path)))
    return tuple(found)


def imported_names(file: Path) -> Iterator[str]:
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.slow
def test_nothing_reaches_behind_the_door_of_a_room():
    package = PROJECT / "converter" / "opsetlift"
    for use in uses():
        folder = package / use.room
        assert use.path, f"{use.user} imports the whole of {use.room}"
        assert use.path[0] in door(folder), f"{use.user} imports {use.path[0]}, which is not in the door of {use.room}"
        within = folder / use.path[0]
        if within.is_dir() and len(use.path) > 1:
            assert use.path[1] in door(within), f"{use.user} imports {'.'.join(use.path)} of {use.room}"
        assert len(use.path) <= 2, f"{use.user} imports {'.'.join(use.path)} of {use.room}"


FOR_OTHERS = {"interop", "testing"}
"""Rooms that users import from, and nothing in the project does."""


@pytest.mark.slow
def test_what_a_door_names_is_used_outside_of_the_room():
    package = PROJECT / "converter" / "opsetlift"
    used = {(use.room, use.path[0]) for use in uses()}
    assert {(room, name) for room in rooms() - FOR_OTHERS for name in door(package / room)} == used


def modules_after(statement: str) -> set[str]:
    script = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_does_not_import_onnx():
    assert modules_after("import opsetlift").isdisjoint({"onnx", "numpy"})


@pytest.mark.slow
def test_the_conversion_command_does_not_import_the_normaliser_or_the_kernels():
    found = modules_after("import opsetlift.cli.conversion")
    assert found.isdisjoint({"onnx_graphsurgeon", "opsetlift.normalizer", "onnxruntime"})
    assert "opsetlift.evaluator.kernels.recurrent" not in found
