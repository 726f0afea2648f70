"""Texts that a regular expression matches, and some that it nearly does.

Models tell texts apart by patterns, which no text of the models matches but by chance. What is drawn here need not
match: it is only tried. So what is rare in patterns is read as it stands, or passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy

SAMPLES = 24
"""So many texts are drawn for a pattern."""

LONGEST = 64

_IS_PATTERN = re.compile(r"[\[(*+?{\\|]|\.[*+?{]")
_REPEATED = re.compile(r"\{(\d{1,3})(,(\d{0,3}))?\}")
_CLASSES = {"d": "07", "w": "aZ9_", "s": " \t", "D": "a-", "W": "-!", "S": "a1", "n": "\n", "t": "\t"}
_NAMED_GROUP = re.compile(r"\?(P?<\w+>|[a-zA-Z]*:)")
_ANY = "a1-b"
_OTHER = "~"
"""Instead of what a class excludes."""


@dataclass(frozen=True)
class _Part:
    """The characters of which one stands in a place, or what a group matches; how often at least and at most."""

    inner: str | _Choice
    least: int = 1
    most: int = 1


@dataclass(frozen=True)
class _Choice:
    """Sequences of parts, of which one is matched."""

    sequences: tuple[tuple[_Part, ...], ...]


@lru_cache(maxsize=64)
def near_pattern(pattern: str) -> tuple[str, ...]:
    """Distinct texts around what a regular expression matches; none where the text looks like no expression."""
    if not _IS_PATTERN.search(pattern) or len(pattern) > 1 << 10:
        return ()
    parsed, _ = _choice(pattern, 0, 0)
    rng = numpy.random.default_rng(0)
    drawn = (_text(parsed, rng, nearly=number % 2 == 1)[:LONGEST] for number in range(SAMPLES))
    return tuple(dict.fromkeys(drawn))


def _text(choice: _Choice, rng: numpy.random.Generator, *, nearly: bool) -> str:
    """A match; or, `nearly`, one with a part more or less often than it may stand there."""
    found = []
    for part in choice.sequences[int(rng.integers(len(choice.sequences)))]:
        counts = [part.least, part.most]
        if nearly and (part.least, part.most) != (1, 1):
            counts += [part.least - 1, part.most + 1]
        for _ in range(max(0, counts[int(rng.integers(len(counts)))])):
            inner = part.inner
            found.append(
                inner[int(rng.integers(len(inner)))] if isinstance(inner, str) else _text(inner, rng, nearly=nearly)
            )
            if len(found) > LONGEST:
                return "".join(found)
    return "".join(found)


def _choice(pattern: str, at: int, depth: int) -> tuple[_Choice, int]:
    """The expression from a place on, up to its end or the end of its group, and where that is."""
    sequences: list[tuple[_Part, ...]] = []
    parts: list[_Part] = []
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            sequences.append(tuple(parts))
            parts, at = [], at + 1
            continue
        inner, at = _one(pattern, at, depth)
        least, most, at = _repetition(pattern, at)
        if inner:
            parts.append(_Part(inner, least, most))
    return _Choice((*sequences, tuple(parts))), at


def _one(pattern: str, at: int, depth: int) -> tuple[str | _Choice, int]:
    """What stands at a place: a group, or the characters of which one stands there; empty for an anchor."""
    character = pattern[at]
    match character:
        case "(" if depth < 20:
            named = _NAMED_GROUP.match(pattern, at + 1)
            inner, end = _choice(pattern, named.end() if named else at + 1, depth + 1)
            return inner, end + 1
        case "[":
            return _class(pattern, at + 1)
        case "\\" if at + 1 < len(pattern):
            return _CLASSES.get(pattern[at + 1], pattern[at + 1]), at + 2
        case "^" | "$":
            return "", at + 1
        case ".":
            return _ANY, at + 1
    return character, at + 1


def _class(pattern: str, at: int) -> tuple[str, int]:
    is_excluding = pattern[at : at + 1] == "^"
    start = at = at + is_excluding
    found = ""
    while at < len(pattern) and (pattern[at] != "]" or at == start):
        if pattern[at] == "\\" and at + 1 < len(pattern):
            found += _CLASSES.get(pattern[at + 1], pattern[at + 1])
            at += 2
        else:
            if pattern[at] != "-":
                found += pattern[at]
            at += 1
    return _OTHER if is_excluding else found or _OTHER, at + 1


def _repetition(pattern: str, at: int) -> tuple[int, int, int]:
    """How often at least and at most what stands before a place is repeated, and where that ends."""
    least, most = 1, 1
    if found := _REPEATED.match(pattern, at):
        least = int(found[1])
        most = least if found[2] is None else int(found[3]) if found[3] else least + 2
        at = found.end()
    elif pattern[at : at + 1] in ("*", "+", "?"):
        least, most = {"*": (0, 2), "+": (1, 2), "?": (0, 1)}[pattern[at]]
        at += 1
    else:
        return least, most, at
    return least, most, at + (pattern[at : at + 1] in ("?", "+"))
