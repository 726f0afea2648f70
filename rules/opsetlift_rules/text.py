"""Text.

StringNormalizer  10: introduced
StringConcat      20: introduced
StringSplit       20: introduced
RegexFullMatch    20: introduced
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Introduction, refused_unless_constant

_OPAQUE = "no older operator reads or writes the characters of a string"


INTRODUCTIONS = [
    Introduction("StringNormalizer", 10, down=refused_unless_constant(f"{_OPAQUE}, or changes their case")),
    Introduction("StringConcat", 20, down=refused_unless_constant(f"{_OPAQUE}, or joins strings")),
    Introduction("StringSplit", 20, down=refused_unless_constant(f"{_OPAQUE}, or splits strings")),
    Introduction("RegexFullMatch", 20, down=refused_unless_constant(f"{_OPAQUE}, or matches a pattern")),
]
