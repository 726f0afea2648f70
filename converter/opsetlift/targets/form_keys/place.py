"""A node where it stands: what the keys of forms ask about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from onnx import NodeProto, helper

from opsetlift.facts import ScopeFacts
from opsetlift.specification.history import Definition
from opsetlift.specification.operands import Operand, input_operands
from opsetlift.targets.node_dtypes import dtypes_of

Shape = Sequence[int | str | None]


@dataclass(frozen=True)
class Place:
    """A node with its surroundings."""

    node: NodeProto
    definition: Definition
    scope: ScopeFacts
    takes_defaults_for_constants: bool = False
    """Whether an input that is an initializer is a constant to the runtime also where callers may override it."""

    @cached_property
    def inputs(self) -> Sequence[Operand]:
        """The inputs that are given, with their names in the schema; several of them may have the same."""
        return list(input_operands(self.node, self.definition))

    @property
    def shapes(self) -> Mapping[str, Shape | None]:
        """The shape of each input, by its name in the schema; None where it is unknown."""
        return {one.formal: self.scope.shape(one.name) for one in self.inputs}

    @property
    def dtypes(self) -> Mapping[str, str]:
        """The dtypes that type variables stand for; empty where one is not known."""
        return dtypes_of(self.node, self.definition, self.scope)

    def attribute(self, name: str) -> object:
        """The value of an attribute, or its default; None where it has none."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                return None if attribute.ref_attr_name else _plain(helper.get_attribute_value(attribute))
        declared = self.definition.schema.attributes.get(name)
        if declared is None or not declared.default_value.name:
            return None
        return _plain(helper.get_attribute_value(declared.default_value))

    def listed(self, name: str) -> list[Any]:
        """The elements of an attribute that is a list; none where it is left out."""
        return next(([*one.ints, *one.floats, *one.strings] for one in self.node.attribute if one.name == name), [])

    def is_known(self, name: str) -> bool:
        """Whether a value is a constant to the runtime."""
        return self.scope.is_constant(name) or (self.takes_defaults_for_constants and self.scope.is_initializer(name))

    def reads_each(self, formals: Set[str], test: Callable[[str, ScopeFacts], bool]) -> bool:
        """Whether each of some inputs is given and passes a test."""
        present = {one.formal: one.name for one in self.inputs}
        return all(formal in present and test(present[formal], self.scope) for formal in formals)


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
