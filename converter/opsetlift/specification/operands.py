"""What a node's inputs and outputs are bound to by the schema of its operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onnx import NodeProto
from onnx.defs import OpSchema

from opsetlift.specification.history import Definition


@dataclass(frozen=True)
class Operand:
    """An input or output of a node, and the type variable that it is bound to."""

    position: int
    name: str
    variable: str
    """Operands of one variable have one type."""
    formal: str
    allowed: frozenset[str]


def operands(node: NodeProto, definition: Definition) -> tuple[list[Operand], list[Operand]]:
    """The inputs and the outputs that the node has."""
    schema = definition.schema
    return (
        list(_operands(node.input, schema.inputs, definition, "input")),
        list(_operands(node.output, schema.outputs, definition, "output")),
    )


def _operands(
    names: Sequence[str], formals: Sequence[OpSchema.FormalParameter], definition: Definition, kind: str
) -> Iterator[Operand]:
    for position, name in enumerate(names):
        if not name or not formals:
            continue
        formal = formals[min(position, len(formals) - 1)]
        is_variadic = formal.option == OpSchema.FormalParameterOption.Variadic
        variable = formal.type_str
        if is_variadic and not formal.is_homogeneous:
            variable = f"{kind} {position}"
        yield Operand(position, name, variable, formal.name, definition.allowed_types(formal.type_str))
