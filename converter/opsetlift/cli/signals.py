"""Signals that end a program, as exceptions, so that temporary files are removed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from opsetlift.cli.errors import Interrupted

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def raised_as_exceptions() -> Iterator[None]:
    """Let signals raise Interrupted, except those that the parent process ignores, as nohup does."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, _raise)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_further_signals() -> None:
    """Let the final messages be printed undisturbed."""
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            if signal.getsignal(number) is _raise:
                signal.signal(number, signal.SIG_IGN)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)
