"""Reads the files that say what versions of a runtime know of operators beside ONNX's own, where others know more.

    ["com.microsoft.Attention"]
    "1.1" = { inputs = [4, 4], lacks = ["past_present_share_buffer", "scale"] }
    "1.4" = { inputs = [3, 5], lacks = ["scale"] }
    "1.17" = {}

A key names an operator. Under it stand versions, each of which holds until the next that is named: how many inputs it
takes, at least and at most, and which attributes of other versions it lacks. Whether it has the operator is said
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opsetlift.targets.kernel_file import KernelFileError, parsed
from opsetlift.targets.ranges import Range
from opsetlift.targets.signatures import Signature, Signatures
from opsetlift.targets.target import version_key


class SignatureFile:
    """What a file says, for every version. Raises KernelFileError."""

    def __init__(self, text: str) -> None:
        self._operators = {_operator(key): dict(_releases(key, value)) for key, value in parsed(text).items()}

    def at(self, version: str) -> Signatures:
        """What a version of the runtime takes of these operators."""
        asked = version_key(version)
        found = {}
        for key, releases in self._operators.items():
            named = max((release for release in releases if release <= asked), default=None)
            if named is not None and releases[named] != Signature():
                found[key] = releases[named]
        return found


def _operator(key: str) -> tuple[str, str]:
    domain, _, operator = key.rpartition(".")
    if not domain:
        raise KernelFileError(f"{key!r} names no operator with its domain")
    return domain, operator


def _releases(key: str, releases: Any) -> Iterator[tuple[tuple[int, ...], Signature]]:
    if not isinstance(releases, Mapping):
        raise KernelFileError(f"{key} lists no versions")
    for release, entry in releases.items():
        yield version_key(release), _signature(key, entry)


def _signature(key: str, entry: Any) -> Signature:
    if not isinstance(entry, Mapping) or not entry.keys() <= {"inputs", "lacks"}:
        raise KernelFileError(f'{key}: a version has "inputs", "lacks" or neither')
    counts, lacks = entry.get("inputs", [0, None]), entry.get("lacks", [])
    if not isinstance(counts, list) or len(counts) != 2 or not isinstance(lacks, list):
        raise KernelFileError(f"{key}: inputs are two numbers, and lacks is a list of names")
    return Signature(Range(*counts), frozenset(lacks))
