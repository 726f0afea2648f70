"""How a node was refused, as far as it holds for nodes that are equal to it but for their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from opsetlift.facts import MADE_UP
from opsetlift.support.refusal import Refusal

_QUOTED = re.compile(r"'([^']*)'")
_NUMBERED = re.compile(r"(.*?)(?:_(\d+))?")

Piece = str | int | tuple[str]
"""A part of a sentence: text, the position of one of the node's names, or what a name goes on with after the base."""


class RefusedSite:
    """The refusal of a node, and what its sentence is made of.

    It serves for a third node once that of a second had the same parts: shared constants have the name of the first
    node that needed them.

    Args:
        refusal: Of the first node.
        names: The names of its values, inputs first.
        base: What names that were made for it begin with.
        symbols: The symbolic sizes of its values.
    """

    def __init__(self, refusal: Refusal, names: Sequence[str], base: str, symbols: Sequence[str]) -> None:
        self._refusal = refusal
        self._names = names
        self._pieces = _pieces(refusal.sentence, names, base)
        text = " ".join(one for one in self._pieces if isinstance(one, str))
        self._is_fit = not any(symbol in text for symbol in (*symbols, MADE_UP))
        self._confirmed_by: Sequence[str] | None = None

    def confirm(self, refusal: Refusal, names: Sequence[str], base: str) -> None:
        """Compare with the refusal of another node that is equal but for its names."""
        like = replace(refusal, node="", sentence="") == replace(self._refusal, node="", sentence="")
        self._is_fit = self._is_fit and like and _pieces(refusal.sentence, names, base) == self._pieces
        self._confirmed_by = names

    def like(self, node: str, names: Sequence[str], base: str, is_free: Callable[[str], bool]) -> Refusal | None:
        """The refusal of a further node; None where it has to be found out.

        Args:
            node: How refusals name it.
            names: The names of its values.
            base: What names that are made for it begin with.
            is_free: Whether nothing has a name.
        """
        if self._confirmed_by is None or not self._is_fit:
            return None
        for first, second, third in zip(self._names, self._confirmed_by, names, strict=True):
            if first == second != third:
                return None
        shown: list[str] = []
        for piece in self._pieces:
            if isinstance(piece, str):
                shown.append(piece)
            elif isinstance(piece, int):
                shown.append(repr(names[piece]))
            elif _would_be_given(base, piece[0], is_free):
                shown.append(repr(base + piece[0]))
            else:
                return None
        return replace(self._refusal, node=node, sentence="".join(shown))


def _pieces(sentence: str, names: Sequence[str], base: str) -> list[Piece]:
    found: list[Piece] = []
    for number, text in enumerate(_QUOTED.split(sentence)):
        if number % 2 == 0:
            found.append(text)
        elif text in names:
            found.append(list(names).index(text))
        elif text.startswith(f"{base}_"):
            found.append((text.removeprefix(base),))
        else:
            found.append(repr(text))
    return found


def _would_be_given(base: str, rest: str, is_free: Callable[[str], bool]) -> bool:
    """Whether a new name goes on as for another node: no number in it is skipped as it is taken."""
    stem, number = _NUMBERED.fullmatch(rest).groups()  # type: ignore[union-attr]  # it fits any text
    names = [base + stem, *(f"{base}{stem}_{each}" for each in range(1, int(number or 0) + 1)), base + rest]
    return all(map(is_free, names))
