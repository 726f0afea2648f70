"""Operators that had no version: onnx called them experimental, exporters wrote them, no schema has them today.

Their signatures are data, in experimental.toml: attributes with a default, or the name of their kind; inputs as
"name: type variable", with ? where optional and ... where variadic.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from onnx import helper
from onnx.defs import OpSchema

from opsetlift.specification.definition import AI_ONNX, Definition
from opsetlift.specification.dtypes import tensor_type

SINCE_VERSION = 1
"""What their definitions state; they never had another."""

_LAST = 10
"""The opset at which onnx had none of them any more."""

_OPTION = OpSchema.FormalParameterOption


@cache
def experimental_operators() -> Mapping[str, tuple[Definition, int]]:
    """Each operator of ai.onnx that was an experimental operator, with the opset from which on it was none."""
    content = tomllib.loads(files("opsetlift.specification").joinpath("experimental.toml").read_text(encoding="utf-8"))
    return {name: (Definition(_schema(name, entry)), entry.get("until", _LAST)) for name, entry in content.items()}


def experimental_definition(domain: str, operator: str, opset: int) -> Definition | None:
    """The definition of an experimental operator that was one at `opset`; None where it was not."""
    definition, until = experimental_operators().get(operator, (None, 0)) if domain == AI_ONNX else (None, 0)
    return definition if opset < until else None


def is_experimental(definition: Definition) -> bool:
    """Whether a definition is that of an experimental operator."""
    found = experimental_operators().get(definition.schema.name)
    return found is not None and found[0] is definition


def _schema(name: str, entry: Mapping[str, Any]) -> OpSchema:
    return OpSchema(
        name,
        AI_ONNX,
        SINCE_VERSION,
        entry["doc"],
        inputs=[_parameter(one, entry["types"]) for one in entry["inputs"]],
        outputs=[_parameter(one, entry["types"]) for one in entry["outputs"]],
        type_constraints=[
            (variable, [tensor_type(dtype) for dtype in dtypes], "") for variable, dtypes in entry["types"].items()
        ],
        attributes=[_attribute(*item) for item in entry.get("attributes", {}).items()],
    )


def _parameter(spelt: str, variables: Mapping[str, Any]) -> OpSchema.FormalParameter:
    name, kind = spelt.split(": ")
    option = _OPTION.Variadic if name.endswith("...") else _OPTION.Optional if name.endswith("?") else _OPTION.Single
    return OpSchema.FormalParameter(
        name.rstrip(".?"), kind if kind in variables else tensor_type(kind), param_option=option
    )


def _attribute(name: str, default: Any) -> OpSchema.Attribute:
    if isinstance(default, str):
        return OpSchema.Attribute(name, getattr(OpSchema.AttrType, default), required=False)
    return OpSchema.Attribute(name, helper.make_attribute(name, default))
