"""What a node's inputs and outputs are bound to by the schema of its operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from onnx import NodeProto

from opsetlift.specification.definition import Formal
from opsetlift.specification.history import Definition


class Operand(NamedTuple):
    """An input or output of a node, and the type variable that it is bound to."""

    position: int
    name: str
    variable: str
    """Operands of one variable have one type."""
    formal: str
    allowed: frozenset[str]


def operands(node: NodeProto, definition: Definition) -> tuple[list[Operand], list[Operand]]:
    """The inputs and the outputs that the node has."""
    return input_operands(node, definition), _operands(node.output, definition.formals[1], "output")


def input_operands(node: NodeProto, definition: Definition) -> list[Operand]:
    """The inputs that the node has."""
    return _operands(node.input, definition.formals[0], "input")


def _operands(names: Sequence[str], formals: Sequence[Formal], kind: str) -> list[Operand]:
    found, last = [], len(formals) - 1
    for position, name in enumerate(names if formals else ()):
        if name:
            formal = formals[position if position < last else last]
            variable = f"{kind} {position}" if formal.takes_any_types else formal.variable
            found.append(Operand(position, name, variable, formal.name, formal.allowed))
    return found
