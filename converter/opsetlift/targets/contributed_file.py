"""Reads the files that say what the releases of a runtime know of the operators of its own domain.

    ["com.microsoft.Attention"]
    "1.1" = { inputs = [4, 4], lacks = ["past_present_share_buffer", "scale"] }
    "1.4" = { inputs = [3, 5], lacks = ["scale"] }
    "1.20" = "gone"

A key names an operator. Under it stands from which version on the runtime has it, until the next that is named: with
how many inputs, where not all are taken, and which attributes of other versions it lacks. Before the first of these
versions, and where it is gone, the runtime does not have it. Of operators that are not in the file, nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opsetlift.targets.contributed import Contributed, ContributedOperators
from opsetlift.targets.kernel_file import KernelFileError, parsed
from opsetlift.targets.ranges import Range
from opsetlift.targets.target import version_key


class ContributedFile:
    """What a file says, for every version. Raises KernelFileError."""

    def __init__(self, text: str) -> None:
        self._operators = {_operator(key): dict(_releases(key, value)) for key, value in parsed(text).items()}

    def at(self, version: str) -> ContributedOperators:
        """What a version of the runtime has of these operators."""
        asked = version_key(version)
        found = {}
        for key, releases in self._operators.items():
            named = max((release for release in releases if release <= asked), default=None)
            found[key] = None if named is None else releases[named]
        return found


def _operator(key: str) -> tuple[str, str]:
    domain, _, operator = key.rpartition(".")
    if not domain:
        raise KernelFileError(f"{key!r} names no operator with its domain")
    return domain, operator


def _releases(key: str, releases: Any) -> Iterator[tuple[tuple[int, ...], Contributed | None]]:
    if not isinstance(releases, Mapping):
        raise KernelFileError(f"{key} lists no versions")
    for release, entry in releases.items():
        yield version_key(release), None if entry == "gone" else _contributed(key, entry)


def _contributed(key: str, entry: Any) -> Contributed:
    if not isinstance(entry, Mapping) or not entry.keys() <= {"inputs", "lacks"}:
        raise KernelFileError(f'{key}: a version has "inputs", "lacks" or neither, or is "gone"')
    counts, lacks = entry.get("inputs", [0, None]), entry.get("lacks", [])
    if not isinstance(counts, list) or len(counts) != 2 or not isinstance(lacks, list):
        raise KernelFileError(f"{key}: inputs are two numbers, and lacks is a list of names")
    return Contributed(Range(*counts), frozenset(lacks))
