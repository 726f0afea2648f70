"""RE2's regular expressions in the syntax of Python's `re`, for a full match (which does not depend on greediness)."""

from __future__ import annotations

import re

_POSIX_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}

# Python's $ also matches before a final newline; its \s has the vertical tab, RE2's has not.
_OUTSIDE_CLASS = {"$": r"\Z", r"\s": r"[\t\n\f\r ]", r"\S": r"[^\t\n\f\r ]"}
_SPACES_IN_CLASS = {r"\s": r"\t\n\f\r ", r"\S": r"\S\v"}

_TOKEN = re.compile(
    r"""
      (?P<quoted>\\Q(?P<literal>.*?)(?:\\E|\Z))
    | (?P<hex>\\x\{(?P<code>[0-9A-Fa-f]+)\})
    | (?P<property>\\[pP])
    | (?P<backreference>\\[1-9])
    | (?P<escape>\\.)
    | (?P<posix>\[:(?P<negated>\^?)(?P<name>\w+):\])
    | (?P<flags>\(\?(?P<on>[imsU]*)(?P<off>(?:-[imsU]+)?)(?P<scope>[:)]))
    | (?P<extension>\(\?(?!P<\w)(?!<\w))
    | (?P<name_without_P>\(\?<(?=\w))
    | (?P<open_range>\{,\d+\})
    | (?P<possessive>(?:[*+?]|\{\d+(?:,\d*)?\})\+)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class NotRe2(ValueError):
    """The pattern is none of RE2's."""


class UnknownToPython(ValueError):
    """The pattern uses something that Python's `re` lacks."""


def python_pattern(pattern: str) -> str:
    """An equivalent for `re.fullmatch` with re.ASCII; raises NotRe2 or UnknownToPython."""
    parts: list[str] = []
    inside_class = False
    position = 0
    while match := _TOKEN.match(pattern, position):
        token = match[0]
        if match["other"] and token == "[" and not inside_class:
            # "]" directly after the opening is a literal.
            opening = re.compile(r"\[\^?\]?").match(pattern, position)
            token = opening[0] if opening else token
            inside_class = True
            parts.append(token.replace("]", r"\]"))
        elif inside_class:
            inside_class = token != "]"
            parts.append(_in_class(match))
        else:
            parts.append(_outside_class(match))
        position += len(token)
    return "".join(parts)


def _in_class(match: re.Match[str]) -> str:
    if match["posix"]:
        if match["name"] not in _POSIX_CLASSES:
            raise NotRe2(f"invalid character class {match[0]}")
        if match["negated"]:
            raise UnknownToPython(f"negated class {match[0]} within brackets")
        return _POSIX_CLASSES[match["name"]]
    if any(match[kind] for kind in ("flags", "extension", "name_without_P", "possessive", "open_range")):
        return "".join(re.escape(character) for character in match[0])
    if match[0] in _SPACES_IN_CLASS:
        return _SPACES_IN_CLASS[match[0]]
    if match["other"]:
        return "\\" + match[0] if match[0] in "[&~|" else match[0]
    return _character(match)


def _outside_class(match: re.Match[str]) -> str:
    if match["backreference"]:
        raise NotRe2(f"invalid escape sequence {match[0]}: backreferences are not supported")
    if match["posix"]:  # outside of brackets, a class of these characters
        return "[" + "".join(re.escape(character) for character in match[0][1:-1]) + "]"
    if match["flags"]:
        return _flags(match)
    if match["extension"]:
        raise NotRe2("invalid perl operator: only named groups and flags may follow (?")
    if match["name_without_P"]:
        return "(?P<"
    if match["possessive"]:
        raise NotRe2(f"bad repetition operator {match[0]}")
    if match["open_range"]:
        return re.escape(match[0])
    if match[0] in _OUTSIDE_CLASS:
        return _OUTSIDE_CLASS[match[0]]
    return match[0] if match["other"] else _character(match)


def _character(match: re.Match[str]) -> str:
    if match["quoted"]:
        return re.escape(match["literal"])
    if match["hex"]:
        return re.escape(chr(int(match["code"], 16)))
    if match["property"]:
        raise UnknownToPython("Unicode properties")
    escape = match[0]
    if escape == r"\z":
        return r"\Z"
    if escape == r"\C":
        raise UnknownToPython("single-byte matching")
    if escape[1].isalpha() and escape[1] not in "AabBdDfnrsStvwWx":
        raise NotRe2(f"invalid escape sequence {escape}")
    return escape


def _flags(match: re.Match[str]) -> str:
    on, off = match["on"].replace("U", ""), match["off"].replace("U", "").rstrip("-")
    if match["scope"] == ":":
        return f"(?{on}{off}:"
    if not on and not off:
        return ""
    if match.start() == 0 and not off:
        return f"(?{on})"
    raise UnknownToPython(f"flags {match[0]} in the middle of a pattern")
