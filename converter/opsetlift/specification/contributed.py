"""Operators of onnxruntime's own domain of which OpsetLift knows what they compute. onnx has no definitions of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from opsetlift.specification.definition import Definition
from opsetlift.specification.schema_entries import schema_of

DOMAIN = "com.microsoft"
SINCE_VERSION = 1


@cache
def contributed_operators() -> Mapping[str, Definition]:
    """Each operator of com.microsoft with a definition, by its name."""
    content = tomllib.loads(files("opsetlift.specification").joinpath("contributed.toml").read_text(encoding="utf-8"))
    return {name: Definition(schema_of(name, DOMAIN, SINCE_VERSION, entry)) for name, entry in content.items()}


def contributed_definition(domain: str, operator: str) -> Definition | None:
    """The definition of an operator; None where there is none."""
    return contributed_operators().get(operator) if domain == DOMAIN else None
