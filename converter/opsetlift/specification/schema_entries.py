"""Schemas of operators that onnx has none of, from entries of TOML files.

Attributes have a default, or the name of their kind; inputs and outputs are "name: type variable", with ? where
optional and ... where variadic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnx import helper
from onnx.defs import OpSchema

from opsetlift.specification.dtypes import tensor_type

_OPTION = OpSchema.FormalParameterOption


def schema_of(name: str, domain: str, since_version: int, entry: Mapping[str, Any]) -> OpSchema:
    """The schema of an operator that an entry describes."""
    return OpSchema(
        name,
        domain,
        since_version,
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
        name.rstrip(".?"),
        kind if kind in variables else tensor_type(kind),
        param_option=option,
        is_homogeneous=not kind.endswith("V"),
    )


def _attribute(name: str, default: Any) -> OpSchema.Attribute:
    if isinstance(default, str):
        return OpSchema.Attribute(name, getattr(OpSchema.AttrType, default), required=False)
    return OpSchema.Attribute(name, helper.make_attribute(name, default))
