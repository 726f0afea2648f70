"""How often Python looks for cyclic garbage while a model is worked on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_OBJECTS_BETWEEN = 500_000
"""A large model is hundreds of thousands of objects of which none is garbage; to look through them after each 700 new
ones takes a third of the time."""

_lock = Lock()
_working = 0
_before = (0, 0, 0)


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Collect garbage more rarely in a block, also where several threads are in one; one that is off stays off."""
    global _working, _before
    with _lock:
        if not _working:
            _before = gc.get_threshold()
            if _before[0]:
                gc.set_threshold(max(_before[0], _OBJECTS_BETWEEN), *_before[1:])
        _working += 1
    try:
        yield
    finally:
        with _lock:
            _working -= 1
            if not _working:
                gc.set_threshold(*_before)
