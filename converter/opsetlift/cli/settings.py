"""Settings of a project: defaults of options, from `opsetlift.toml` or `[tool.opsetlift]` of `pyproject.toml`.

The file is the nearest one from the working directory upwards. What it says becomes options of the command line, unless
they, or options that exclude them, are there already. Options that name files to write, or allow to replace them, are
no settings: a folder that somebody else made must not decide about that.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from opsetlift.cli.errors import UsageFault
from opsetlift.cli.output import complain
from opsetlift.support.text import printable

NO_CONFIG = "--no-config"
_OWN_FILE = "opsetlift.toml"
_MOST_BYTES = 2**22
"""Far more than people write: whatever lies in a folder above is read by each command."""


class _Kind(Enum):
    """What a setting may be, for people."""

    FLAG = "true or false"
    INTEGER = "an integer"
    NUMBER = "a number"
    TEXT = "text"
    OPSETS = "an opset, or a list of opsets"
    TEXTS = "text, or a list of texts"
    NAMES = "a name, or a list of names"


_CONVERSION = {
    "to": _Kind.OPSETS,
    "for": _Kind.TEXT,
    "ir": _Kind.INTEGER,
    "dtype": _Kind.TEXTS,
    "dtype-interface": _Kind.TEXT,
    "fix-shapes": _Kind.TEXT,
    "passes": _Kind.NAMES,
    "exact": _Kind.FLAG,
    "require-proof": _Kind.FLAG,
    "seed": _Kind.INTEGER,
    "no-cache": _Kind.FLAG,
    "jobs": _Kind.INTEGER,
    "quiet": _Kind.FLAG,
    "verbose": _Kind.FLAG,
}
_SETTINGS: Mapping[str, Mapping[str, _Kind]] = {
    "convert": {**_CONVERSION, "normalize": _Kind.FLAG},
    "normalize": _CONVERSION,
    "prove": {
        "runs": _Kind.INTEGER,
        "seed": _Kind.INTEGER,
        "ulps": _Kind.INTEGER,
        "rtol": _Kind.NUMBER,
        "atol": _Kind.NUMBER,
        "judge": _Kind.TEXT,
        "quiet": _Kind.FLAG,
    },
    "reach": {"for": _Kind.TEXTS, "exact": _Kind.FLAG, "jobs": _Kind.INTEGER, "quiet": _Kind.FLAG},
    "check": {"for": _Kind.TEXTS, "max-opset": _Kind.INTEGER, "quiet": _Kind.FLAG},
    "diagnose": {"for": _Kind.TEXT},
}
"""What each command takes."""
_ONLY_BY_COMMAND = {("reach", "for")}
"""What the table of a command alone says: `reach` shows all runtimes where none is asked for."""

_GIVEN_INSTEAD = (
    ({"to", "for", "ir"}, {"to", "for", "ir"}),
    ({"normalize", "passes"}, {"normalize", "passes"}),
    ({"no-prove", "dry-run"}, {"require-proof"}),
    ({"quiet", "verbose"}, {"quiet", "verbose"}),
    ({"certificate"}, {"judge", "rtol", "atol"}),
)
"""Where the command line has one of the first, none of the second is taken from the settings."""
_SHORT = {"q": "quiet", "v": "verbose"}


def with_settings(arguments: Sequence[str]) -> list[str]:
    """The arguments of the command line, with the options that the settings add.

    Raises:
        UsageFault: There is a file of settings that cannot be used.
    """
    own, rest = _split(arguments)
    if NO_CONFIG in own:
        return [*(one for one in own if one != NO_CONFIG), *rest]
    command = next((one for one in own if not one.startswith("-")), "")
    if command not in _SETTINGS or {"--help", "-h", "--list"} & set(own):
        return list(arguments)
    place = own.index(command) + 1
    try:
        found = _found(Path.cwd())
    except FileNotFoundError:  # the working directory has been removed
        found = None
    if found is None:
        return list(arguments)
    added = found.options(command, _given(own[place:]))
    made = [*own[:place], *added, *own[place:], *rest]
    if _given([*added, *own[place:]]) & {"verbose"}:
        complain(f"settings from {found.path}: {' '.join(added) or 'none that this command line leaves open'}")
    return made


def settings_files() -> list[Path]:
    """The file that commands in this folder take options from, if there is one: no target of any of them."""
    try:
        found = _found(Path.cwd())
    except (UsageFault, FileNotFoundError):
        return []
    return [found.path] if found is not None else []


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments up to `--`, after which nothing is an option, and the others."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    return list(arguments[:end]), list(arguments[end:])


def _given(arguments: Sequence[str]) -> set[str]:
    """The names of the options on a command line."""
    names = {one[2:].partition("=")[0] for one in arguments if one.startswith("--")}
    letters = {letter for one in arguments if one.startswith("-") and not one.startswith("--") for letter in one[1:]}
    return names | {_SHORT[letter] for letter in letters & _SHORT.keys()}


@dataclass(frozen=True)
class _Settings:
    path: Path
    content: Mapping[str, Any]

    def options(self, command: str, given: set[str]) -> list[str]:
        """The options that a command gets. Raises UsageFault for what is no setting, wherever it is."""
        self._check()
        common = {key: value for key, value in self.content.items() if (command, key) not in _ONLY_BY_COMMAND}
        wanted = {**common, **self.content.get(command, {})}
        left_out = given.union(*(second for first, second in _GIVEN_INSTEAD if first & given))
        return [
            option
            for key, kind in _SETTINGS[command].items()
            if key in wanted and key not in left_out and not isinstance(wanted[key], Mapping)
            for option in self._spelt(command, key, kind, wanted[key])
        ]

    def _check(self) -> None:
        for key, value in self.content.items():
            if isinstance(value, Mapping):
                self._check_key(key, _SETTINGS, "command")
                for inner in value:
                    self._check_key(inner, _SETTINGS[key], f"setting of {key}")
            elif key in _SETTINGS and not any(key in one for one in _SETTINGS.values()):
                raise UsageFault(f"{self.path}: {key!r} must be a table of settings of `opsetlift {key}`")
            else:
                self._check_key(key, {name: None for one in _SETTINGS.values() for name in one}, "setting")

    def _check_key(self, key: str, known: Mapping[str, object], what: str) -> None:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise UsageFault(f"{self.path}: {printable(repr(key))} is not a {what}; {hint}")

    def _spelt(self, command: str, key: str, kind: _Kind, value: Any) -> Iterator[str]:
        values = value if isinstance(value, list) and kind in (_Kind.OPSETS, _Kind.TEXTS, _Kind.NAMES) else [value]
        if not values or not all(_is_of(kind, one) for one in values):
            raise UsageFault(f"{self.path}: {key!r} of {command} must be {kind.value}, not {_shown(value)}")
        if kind is _Kind.FLAG:
            if value:
                yield f"--{key}"
            return
        if kind is _Kind.NAMES:
            values = [",".join(values)]
        for one in values:
            yield f"--{key}={self._beside(one) if key == 'for' else one}"

    def _beside(self, runtime: str) -> str:
        """A target file lies beside the settings, wherever the command runs."""
        name, separator, version = runtime.partition("==")
        return f"{self.path.parent / name}{separator}{version}" if name.endswith(".toml") else runtime


def _shown(value: Any) -> str:
    try:
        return printable(repr(value))[:60]
    except ValueError:  # Python writes no integer of more than 4300 digits
        return "an integer of thousands of digits"


def _is_of(kind: _Kind, value: Any) -> bool:
    if isinstance(value, bool):
        return kind is _Kind.FLAG
    if isinstance(value, int) and value.bit_length() > 63:  # TOML's integers have 64 bits
        return False
    match kind:
        case _Kind.INTEGER:
            return isinstance(value, int)
        case _Kind.NUMBER:
            return isinstance(value, (int, float))
        case _Kind.OPSETS:
            return isinstance(value, (int, str))
    return kind is not _Kind.FLAG and isinstance(value, str)


def _found(folder: Path) -> _Settings | None:
    """The nearest settings. Raises UsageFault."""
    for one in (folder, *folder.parents):
        own, project = one / _OWN_FILE, one / "pyproject.toml"
        if own.is_file():
            return _Settings(own, _read(own))
        if os.path.lexists(own):
            # Passed over, it could have been what asks for `exact`.
            raise UsageFault(f"{own}: the settings cannot be read: this is not a regular file")
        if project.is_file() and b"opsetlift" in _bytes(project):
            content = _read(project).get("tool", {})
            if isinstance(content, Mapping) and "opsetlift" in content:
                table = content["opsetlift"]
                if not isinstance(table, Mapping):
                    raise UsageFault(f"{project}: tool.opsetlift must be a table")
                return _Settings(project, table)
    return None


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageFault(f"{path}: the settings cannot be read: {(error.strerror or str(error)).lower()}") from error
    if len(content) > _MOST_BYTES:
        raise UsageFault(f"{path}: the settings cannot be read: the file is larger than {_MOST_BYTES >> 20} MiB")
    return content


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError alone: an integer of more than 4300 digits
        raise UsageFault(f"{path}: this is not TOML: {printable(' '.join(str(error).split()))}") from error
