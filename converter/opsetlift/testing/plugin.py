"""The pytest plugin: a fixture `assert_equivalent`, and options for what it draws."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from opsetlift.proof import WholeModelResult


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("opsetlift")
    group.addoption("--opsetlift-seed", type=int, default=0, metavar="N", help="Random seed of assert_equivalent.")
    group.addoption(
        "--opsetlift-runs",
        type=int,
        default=3,
        metavar="N",
        help="Minimum number of its random inputs.",
    )


@pytest.fixture(scope="session")
def assert_equivalent(pytestconfig: pytest.Config) -> Callable[..., WholeModelResult]:
    """`opsetlift.testing.assert_equivalent`, with the seed and the number of runs of the command line."""
    from opsetlift.testing import assert_equivalent as function

    return partial(
        function, seed=pytestconfig.getoption("--opsetlift-seed"), runs=pytestconfig.getoption("--opsetlift-runs")
    )
