"""Which nodes of a run compute what the specification does not define, such as an integer divided by zero."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_found: ContextVar[list[str] | None] = ContextVar("_found", default=None)


@contextmanager
def open_results() -> Iterator[list[str]]:
    """Collect what nodes report inside of the context, each as a verb phrase: "divides an integer by zero"."""
    found: list[str] = []
    token = _found.set(found)
    try:
        yield found
    finally:
        _found.reset(token)


def report_open_result(what: str) -> None:
    """Report `what` the node that runs now does; without effect outside of `open_results`."""
    found = _found.get()
    if found is not None:
        found.append(what)
