"""What holds for all tests: verdicts and bytecode are kept in folders of the run, and which cases are slow."""

from __future__ import annotations

import gc
import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

gc.disable()
"""Until the tests are collected: all of that stays, so that it is looked at neither now nor ever again."""


_STARTED = time.monotonic()
_MINUTES = float(os.environ.get("OPSETLIFT_TEST_MINUTES", "9"))
"""After so many no slow case is begun, so that a slow machine, too, is done in a quarter of an hour; 0: all are."""

_OUT_OF_TIME = "slow, and the minutes for such cases were over"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if _MINUTES and item.get_closest_marker("slow") and time.monotonic() - _STARTED > 60 * _MINUTES:
        pytest.skip(_OUT_OF_TIME)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    left_out = sum(_OUT_OF_TIME in str(one.longrepr) for one in terminalreporter.stats.get("skipped", ()))
    if left_out:
        advice = "OPSETLIFT_TEST_MINUTES=0 runs them all"
        terminalreporter.section(f"{left_out} slow cases were left out after {_MINUTES:g} minutes; {advice}", sep="!")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """None uses the verdicts that the user's own runs have kept."""
    folder = tmp_path_factory.mktemp("verdicts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSETLIFT_CACHE", str(folder))
        yield folder


@pytest.fixture(autouse=True, scope="session")
def _bytecode_of_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where Python is told to write no bytecode, the hundreds of processes that tests start would each compile all."""
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        yield
        return
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE")
        patch.setenv("PYTHONPYCACHEPREFIX", str(shared / "bytecode"))
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark cases of parametrised tests as slow, but for the share that `quick_share` names: `-m` reads the marks.

    Which ones hangs on their names alone, and so on all parameters alike: strides would stay at one value of some.
    """
    seen: set[str] = set()
    for item in items:
        if (mark := item.get_closest_marker("quick_share")) is not None:
            test = item.nodeid.partition("[")[0]
            (every,) = mark.args
            if test in seen and zlib.crc32(item.nodeid.encode()) % every:
                item.add_marker(pytest.mark.slow)
            seen.add(test)
    _sort_quick_ones_first(items)


def _sort_quick_ones_first(items: list[pytest.Item]) -> None:
    """Each worker gets as many of the tests, one behind the other, and begins with its quick ones."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    kinds = [[one for one in items if bool(one.get_closest_marker("slow")) is is_slow] for is_slow in (False, True)]
    bounds = [[len(kind) * place // workers for place in range(workers + 1)] for kind in kinds]
    items[:] = [
        one
        for place in range(workers)
        for kind, ends in zip(kinds, bounds, strict=True)
        for one in kind[ends[place] : ends[place + 1]]
    ]
