"""Progress of long work: what does the work says how far it is, and whoever watches is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[str, int, int], None]
"""Takes what is being done, how much of it is done, and how much there is; 0 where nobody knows."""

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Let a function be told of progress."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def tell(what: str, done: int = 0, total: int = 0) -> None:
    """Say how far the work is."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what, done, total)
