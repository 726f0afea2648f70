"""Ranges of opsets and of IR versions."""

from __future__ import annotations

from typing import NamedTuple


class Range(NamedTuple):
    """From the first to the last that is taken; None where there is no end, or none is known."""

    first: int
    last: int | None

    def nearest(self, number: int) -> int:
        """The number itself, or the end of the range that is nearest to it."""
        at_least = max(number, self.first)
        return at_least if self.last is None else min(at_least, self.last)

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.nearest(number) == number

    def __str__(self) -> str:
        if self.last is None:
            return f"{self.first} and later"
        return f"{self.first} to {self.last}" if self.last > self.first else str(self.first)
