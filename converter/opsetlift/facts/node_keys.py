"""What the types of a node's outputs follow from, as one key: nodes with equal keys are inferred once."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import AttributeProto, NodeProto, TypeProto

from opsetlift.facts.environment import Environment
from opsetlift.facts.like_nodes import Key
from opsetlift.model.arrays import Array
from opsetlift.specification.history import canonical_domain

_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


class ScopeKeys:
    """The keys of the nodes of one scope, whose types are worked out in order.

    Args:
        scope: The scope.
        hints: Types of its values as the inference of the whole model gives them.
        known: Types of its values as they become known.
    """

    def __init__(self, scope: Environment, hints: Mapping[str, TypeProto], known: Mapping[str, TypeProto]) -> None:
        self._scope = scope
        self._known = known
        self._like_nodes = scope.model.like_nodes
        self._hints = hints
        self._imports = tuple(scope.imports.items())
        self._by_name: dict[str, int] = {}
        self._values: dict[str, object] = {}

    def key(self, node: NodeProto) -> Key | None:
        """What the types of a node's outputs follow from; None where it has subgraphs."""
        attributes = []
        for attribute in node.attribute[:]:
            if attribute.type in _GRAPHS:
                return None
            attributes.append(attribute.SerializeToString(deterministic=True))
        types: list[int] = []
        values: list[object] = []
        for name in node.input[:]:
            number = self._number(name) if name else -2
            types.append(number)
            if number >= 0 and self._like_nodes.has_sizes(number):
                values.append(self._value(name))
        hints = [-2 if not name else self._hinted(name) for name in node.output[:]]
        operator = (canonical_domain(node.domain), node.op_type, node.overload, self._imports)
        return (*operator, *attributes, tuple(types), tuple(values), tuple(hints))

    def _number(self, name: str) -> int:
        """The number of a value's type, -1 where it is not known so far."""
        number = self._by_name.get(name)
        if number is None:
            known = self._known.get(name) or self._scope.type_of(name)
            if known is None:
                return -1
            number = self._by_name[name] = self._like_nodes.number(known)
        return number

    def _value(self, name: str) -> object:
        """What a value holds that may be sizes; None where it is no constant."""
        if name not in self._values:
            value = self._scope.constant(name)
            self._values[name] = None if value is None else content_of(value)
        return self._values[name]

    def _hinted(self, name: str) -> int:
        hint = self._hints.get(name)
        return -1 if hint is None else self._like_nodes.number(hint)


def content_of(value: Array) -> tuple[str, tuple[int, ...], object]:
    """What an array holds, to be compared."""
    content = repr(value.tolist()) if value.dtype.kind in "OV" else value.tobytes()
    return value.dtype.str, value.shape, content
