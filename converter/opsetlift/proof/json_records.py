"""Reads JSON into dataclasses, and refuses whatever their annotations do not allow: the text may be anybody's."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from enum import Enum
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


def parsed(text: str) -> Any:
    """The content of a JSON text.

    Raises:
        ValueError: It is not JSON, names an entry twice, or holds a number that JSON does not have.
    """
    return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_number)


def record(kind: type[Record], content: Any) -> Record:
    """A dataclass from the JSON of its fields.

    Raises:
        KeyError: A field is missing.
        TypeError: A field is unknown, or holds a value of another type than its annotation. Numbers have to be finite
            and not negative.
    """
    if not isinstance(content, dict):
        raise TypeError(f"{str(content)[:40]!r} is not an object")
    hints = get_type_hints(kind)
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    if unknown := content.keys() - known.keys():
        raise TypeError(f"{min(unknown)!r} is unknown")
    for name, one in known.items():
        if name not in content and one.default is MISSING and one.default_factory is MISSING:
            raise KeyError(name)
    return kind(**{name: value(hints[name], found) for name, found in content.items()})


def value(kind: Any, content: Any) -> Any:
    """A value of the type of an annotation. Raises KeyError and TypeError like `record`."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if content is None and type(None) in arguments else value(arguments[0], content)
    if origin in (list, Sequence) and isinstance(content, list):
        return [value(arguments[0], one) for one in content]
    if origin in (dict, Mapping) and isinstance(content, dict):
        return {name: value(arguments[1], one) for name, one in content.items()}
    if is_dataclass(kind):
        return record(kind, content)  # type: ignore[arg-type]
    if isinstance(kind, type) and issubclass(kind, Enum) and content in kind.__members__:
        return kind[content]
    if kind is float and type(content) in (int, float) and math.isfinite(content) and content >= 0:
        return content
    if kind in (str, bool, int) and type(content) is kind and (kind is not int or content >= 0):
        return content
    raise TypeError(f"{str(content)[:40]!r} is not a {kind}")


def as_json(kept: Any) -> Any:
    """A dataclass as `record` reads it."""
    return _named(asdict(kept))


def _named(content: Any) -> Any:
    if isinstance(content, Enum):
        return content.name
    if isinstance(content, Mapping):
        return {name: _named(one) for name, one in content.items()}
    if isinstance(content, list | tuple):
        return [_named(one) for one in content]
    return content


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def _refuse_number(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")
