"""What `import opsetlift` offers: each name is there, and so is each error that a caller may have to catch."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Iterator

import pytest

import opsetlift

PUBLIC = [name for name in opsetlift.__all__ if name != "__version__"]


def documented(name: str) -> Iterator[str]:
    """The docstrings of a public function, or of a class and its public methods."""
    found = getattr(opsetlift, name)
    yield inspect.getdoc(found) or ""
    if inspect.isclass(found):
        for own, member in inspect.getmembers(found, callable):
            if not own.startswith("_"):
                yield inspect.getdoc(member) or ""


def errors_raised(docstring: str) -> set[str]:
    """The errors that the section `Raises:` of a docstring names."""
    section = docstring.partition("\nRaises:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^ {4}(\S[^:]*):", section, flags=re.MULTILINE)
    return {name for entry in entries for name in re.split(r",\s*|\s+and\s+", entry) if name.isidentifier()}


def test_each_name_is_there_for_programs_for_people_and_for_type_checkers() -> None:
    (block,) = [one for one in ast.parse(inspect.getsource(opsetlift)).body if isinstance(one, ast.If)]
    checked = [alias.name for one in block.body if isinstance(one, ast.ImportFrom) for alias in one.names]
    assert sorted(checked) == sorted(PUBLIC)
    assert set(opsetlift.__all__) <= set(dir(opsetlift))
    for name in PUBLIC:
        assert getattr(opsetlift, name).__doc__, name


@pytest.mark.parametrize("name", PUBLIC)
def test_each_error_that_is_documented_can_be_caught_by_its_public_name(name: str) -> None:
    for docstring in documented(name):
        for error in errors_raised(docstring):
            assert hasattr(builtins, error) or error in PUBLIC, f"{name} raises {error}"


def test_errors_are_documented() -> None:
    assert {"ConversionRefused", "NotEquivalent", "TypeError"} <= errors_raised(inspect.getdoc(opsetlift.convert) or "")


def test_each_public_error_is_an_opsetlift_error() -> None:
    classes = [getattr(opsetlift, name) for name in PUBLIC]
    errors = [one for one in classes if inspect.isclass(one) and issubclass(one, BaseException)]
    assert len(errors) > 10
    assert all(issubclass(error, opsetlift.OpsetLiftError) for error in errors)
