"""The dtypes of a node, by the type variables of its operator."""

from __future__ import annotations

from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.specification.history import Definition
from opsetlift.specification.operands import operands


def dtypes_of(node: NodeProto, definition: Definition, scope: ScopeFacts) -> dict[str, str]:
    """The dtypes that a node's type variables stand for, without those of sequences; empty where one is not known."""
    inputs, outputs = operands(node, definition)
    found: dict[str, str] = {}
    for one in (*inputs, *outputs):
        if one.variable not in definition.types_by_variable or one.variable in found:
            continue
        spelt = scope.type_string(one.name)
        if not spelt:
            return {}
        dtype = dtype_of_type(spelt)
        if dtype is not None:
            found[one.variable] = dtype
    return found
