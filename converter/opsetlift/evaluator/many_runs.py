"""What the evaluator's arithmetic needs around it, entered once for many runs: it takes longer than a small kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

import numpy

from opsetlift.evaluator.one_thread import one_thread

_is_entered: ContextVar[bool] = ContextVar("_is_entered", default=False)
_NOTHING = nullcontext()


def around_a_run() -> AbstractContextManager[None]:
    """Return the context of a run: one thread, and no warnings of numpy's."""
    return _NOTHING if _is_entered.get() else many_runs()


@contextmanager
def many_runs() -> Iterator[None]:
    """Enter the context of a run once for all runs inside."""
    with one_thread(), numpy.errstate(all="ignore"):
        token = _is_entered.set(True)
        try:
            yield
        finally:
            _is_entered.reset(token)
