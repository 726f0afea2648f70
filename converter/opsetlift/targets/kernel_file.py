"""Reads the files that say in which dtypes a runtime computes operators.

    [Less-9]
    "0.1" = ["T: float int32"]
    "1.0" = ["T: float int32 double int64"]

    ["ai.onnx.ml.LabelEncoder-2"]
    "1.0" = ["T1: string; T2: float", "T1: float; T2: string"]

A key names an operator with its since-version. Under it stands for which dtypes the runtime has kernels from one of its
versions on, until the next that is named: by type variable of the schema, each dtype with each of the other variables'.
A variable that is left out may be anything; "any" stands for all dtypes that the operator has, an empty list for none.
A list in place of the table holds for all versions. Operators that are not in the file are computed in all dtypes, as
far as is known.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from opsetlift.specification.history import CONVERTED_DOMAINS, history, is_behind
from opsetlift.targets.forms import Grid, Kernels
from opsetlift.targets.known_names import unknown_dtypes
from opsetlift.targets.target import version_key


class KernelFileError(ValueError):
    """A file that does not say what a runtime computes; the message is the end of a sentence."""


class KernelFile:
    """What a file says, for every version. Raises KernelFileError."""

    def __init__(self, content: Mapping[str, Any] | str) -> None:
        content = parsed(content) if isinstance(content, str) else content
        self._grids = {
            operator: dict(_grids(key, releases))
            for key, releases in content.items()
            if (operator := _operator(key)) is not None
        }

    def at(self, version: str) -> Kernels:
        """What a version of the runtime has kernels for."""
        asked = version_key(version)
        found = {}
        for key, grids in self._grids.items():
            named = max((release for release in grids if release <= asked), default=None)
            found[key] = () if named is None else grids[named]
        return found


def parsed(text: str) -> Mapping[str, Any]:
    """The content of a file. Raises KernelFileError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise KernelFileError(f"not valid TOML: {error}") from error


def _operator(key: str) -> tuple[str, str, int] | None:
    """Split "ai.onnx.ml.LabelEncoder-2" into its parts; None for a version that the onnx installed is too old for."""
    path, _, version = key.rpartition("-")
    domain, _, operator = path.rpartition(".")
    found = history(domain, operator) if domain in CONVERTED_DOMAINS else None
    if found is None or not version.isdigit() or int(version) not in found.since_versions:
        if is_behind(domain):
            return None
        raise KernelFileError(f"there is no operator {key!r}")
    return domain, operator, int(version)


def _grids(key: str, releases: Any) -> Iterator[tuple[tuple[int, ...], tuple[Grid, ...]]]:
    if isinstance(releases, list):
        releases = {"0": releases}
    if not isinstance(releases, Mapping):
        raise KernelFileError(f"{key} lists no versions")
    operator = _operator(key)
    found = history(*operator[:2]) if operator else None
    known = found.definitions[operator[2]].types_by_variable if operator and found else {}
    for release, grids in releases.items():
        if not isinstance(grids, list) or not all(isinstance(one, str) for one in grids):
            raise KernelFileError(f"{key}: dtypes are a list of texts")
        yield version_key(release), tuple(_grid(key, spelt, known) for spelt in grids)


def _grid(key: str, spelt: str, known: Mapping[str, object]) -> Grid:
    grid = {}
    for part in spelt.split(";") if spelt != "any" else ():
        variable, _, dtypes = part.partition(":")
        if variable.strip() not in known or not dtypes.strip():
            raise KernelFileError(f"{key}: {part.strip()!r} names no type variable with dtypes")
        grid[variable.strip()] = frozenset(dtypes.split())
        for unknown in unknown_dtypes(grid[variable.strip()]):
            raise KernelFileError(f"{key}: {unknown!r} is not a dtype")
    return grid
