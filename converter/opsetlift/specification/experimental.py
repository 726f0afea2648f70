"""Operators that had no version: onnx called them experimental, exporters wrote them, no schema has them today.

Their signatures are data, in experimental.toml (schema_entries.py says how they are written).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from opsetlift.specification.definition import AI_ONNX, Definition
from opsetlift.specification.schema_entries import schema_of

SINCE_VERSION = 1
"""What their definitions state; they never had another."""

_LAST = 10
"""The opset at which onnx had none of them any more."""


@cache
def experimental_operators() -> Mapping[str, tuple[Definition, int]]:
    """Each operator of ai.onnx that was an experimental operator, with the opset from which on it was none."""
    content = tomllib.loads(files("opsetlift.specification").joinpath("experimental.toml").read_text(encoding="utf-8"))
    return {
        name: (Definition(schema_of(name, AI_ONNX, SINCE_VERSION, entry)), entry.get("until", _LAST))
        for name, entry in content.items()
    }


def experimental_definition(domain: str, operator: str, opset: int) -> Definition | None:
    """The definition of an experimental operator that was one at `opset`; None where it was not."""
    definition, until = experimental_operators().get(operator, (None, 0)) if domain == AI_ONNX else (None, 0)
    return definition if opset < until else None


def is_experimental(definition: Definition) -> bool:
    """Whether a definition is that of an experimental operator."""
    found = experimental_operators().get(definition.schema.name)
    return found is not None and found[0] is definition
