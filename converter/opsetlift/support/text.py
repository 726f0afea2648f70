"""Text of models and files that is shown to people."""

from __future__ import annotations


def printable(text: object) -> str:
    """Text with line breaks and control characters escaped: names in a model may hold anything."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(text))


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 node", "1,200 nodes"; the plural where it is more than an "s" longer."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def as_bytes(size: int) -> str:
    """A number of bytes for people: "513 bytes", "1.4 MB"."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return counted(size, "byte")
