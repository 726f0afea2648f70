"""Markdown from texts that hold its marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKS = re.compile(r"([\\`*_{}\[\]<>|#])")


def plain(text: str) -> str:
    """Text that shows as it is."""
    return _MARKS.sub(r"\\\1", text)


def code(text: str) -> str:
    """A short piece of code, also in tables."""
    return f"`{text}`".replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; none where it has no rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines, ""] if lines else []


def points(items: Iterable[str]) -> list[str]:
    """The lines of a list."""
    lines = [f"- {item}" for item in items]
    return [*lines, ""] if lines else []


def counted(number: int, what: str) -> str:
    """A number of things: "1 operator", "3 operators"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
