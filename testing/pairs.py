"""Fewer cases for a parametrised test: each value of a parameter meets each value of every other in some case."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from allpairspy import AllPairs  # type: ignore[import-untyped]


def every_pair(*parameters: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return combinations of parameters' values, one of each, so that all pairs of two parameters' values occur.

    Most faults hang on one value or on two together; all combinations would be several times as many.
    """
    return [tuple(one) for one in AllPairs([list(values) for values in parameters])]
