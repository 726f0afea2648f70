"""One line on standard error that shows how far a command is, where somebody watches."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from opsetlift.support.progress import watched_by

_PATIENCE = 1.0
"""Seconds before anything is shown."""
_PERIOD = 0.1
"""Seconds between two looks of the line."""
_LEAST = 0.02
"""The part of the work after which the time to go is told."""


class _Line:
    """The line; it is there only between `tell` and `clear`."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._what = ""
        self._began = self._start
        self._shown_at = 0.0
        self._is_shown = False

    def tell(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if (kind := what.partition(":")[0]) != self._what:
            self._what, self._began = kind, now
        if now - self._start < _PATIENCE or now - self._shown_at < _PERIOD:
            return
        self._shown_at = now
        self._is_shown = True
        width = shutil.get_terminal_size().columns
        _write(f"\r\033[K{text_of(what, done, total, now - self._began)[: width - 1]}")

    def clear(self) -> None:
        """Remove the line."""
        if self._is_shown:
            _write("\r\033[K")
            self._is_shown = False


def text_of(what: str, done: int, total: int, seconds: float) -> str:
    """What is being done, how far, and how long to go: "proving: 40 of 120 (33%), about 12 s to go"."""
    if not total:
        return f"{what} ..."
    part = done / total
    left = f", about {_duration(seconds * (1 - part) / part)} to go" if part >= _LEAST and seconds > _PATIENCE else ""
    return f"{what}: {done:,} of {total:,} ({part:.0%}){left}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"


def _write(text: str) -> None:
    with suppress(OSError, ValueError):
        print(text, end="", file=sys.stderr, flush=True)


@contextmanager
def progress_shown(*, is_wanted: bool = True) -> Iterator[Callable[[], None]]:
    """Show progress on standard error, if that is a terminal that can redraw a line.

    Yields what removes the line, before something else is printed.
    """
    stream = sys.stderr
    if not is_wanted or stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda: None
        return
    line = _Line()
    try:
        with watched_by(line.tell):
            yield line.clear
    finally:
        line.clear()
