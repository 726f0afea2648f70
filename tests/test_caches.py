"""Caches that are keyed by what a model says have a bound: a process that converts many models does not grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import opsetlift
import opsetlift_rules

ROOTS = [Path(package.__file__ or "").parent for package in (opsetlift, opsetlift_rules)]


def unbounded_caches(source: str) -> Iterator[str]:
    """The functions with parameters whose results are kept without a bound."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and (function.args.args or function.args.kwonlyargs):
            decorators = [ast.unparse(one) for one in function.decorator_list]
            if {"cache", "functools.cache"} & set(decorators) or any("maxsize=None" in one for one in decorators):
                yield function.name


@pytest.mark.slow
def test_no_cache_of_a_function_with_parameters_is_unbounded() -> None:
    sources = [path for root in ROOTS for path in root.rglob("*.py")]
    assert len(sources) > 200
    found = [f"{path.name}: {name}" for path in sources for name in unbounded_caches(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize("decorator", ["cache", "functools.cache", "lru_cache(maxsize=None)"])
def test_each_way_to_write_an_unbounded_cache_is_seen(decorator: str) -> None:
    assert list(unbounded_caches(f"@{decorator}\ndef of(name): return name")) == ["of"]
    assert list(unbounded_caches(f"@{decorator}\ndef once(): return 1")) == []
