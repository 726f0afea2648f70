"""Signals that end a program, as exceptions, so that temporary files are removed."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from opsetlift.cli.errors import Interrupted

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

_A_MOMENT = 0.01
"""Seconds."""


@contextmanager
def raised_as_exceptions() -> Iterator[None]:
    """Let signals raise Interrupted, except those that the parent process ignores, as nohup does."""
    before = {}
    hook = sys.unraisablehook
    sys.unraisablehook = partial(_raise_again, hook)
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, _raise)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_further_signals() -> None:
    """Let the final messages be printed undisturbed."""
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            if signal.getsignal(number) is _raise:
                signal.signal(number, signal.SIG_IGN)


def _raise_again(hook: Callable[[sys.UnraisableHookArgs], object], lost: sys.UnraisableHookArgs) -> None:
    """Raise a signal a moment later that came where nothing can be raised, as while an object is removed."""
    if isinstance(lost.exc_value, Interrupted):
        threading.Timer(_A_MOMENT, signal.raise_signal, [lost.exc_value.number]).start()
    else:
        hook(lost)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)
