"""The dtypes of a node, by the type variables of its operator."""

from __future__ import annotations

from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.specification.history import Definition
from opsetlift.specification.operands import operands


def dtypes_of(node: NodeProto, definition: Definition, scope: ScopeFacts) -> dict[str, str]:
    """The dtypes that a node's type variables stand for; empty where one is not known, or is no tensor."""
    inputs, outputs = operands(node, definition)
    found: dict[str, str] = {}
    for one in (*inputs, *outputs):
        if one.variable not in definition.types_by_variable or one.variable in found:
            continue
        spelt = scope.type_string(one.name)
        dtype = dtype_of_type(spelt) if spelt else None
        if dtype is None:
            return {}
        found[one.variable] = dtype
    return found
