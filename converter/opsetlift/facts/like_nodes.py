"""Nodes that are alike have outputs of the same types: onnx infers them once.

What onnx's inference says of a node follows from its operator and attributes, the types of its inputs, and the values
of those that may be sizes. Models repeat the same blocks, so most nodes are like one before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnx import AttributeProto, NodeProto, TypeProto

from opsetlift.facts.inference import may_be_sizes
from opsetlift.model.arrays import Array
from opsetlift.specification.history import canonical_domain

if TYPE_CHECKING:
    from opsetlift.facts.scope import ScopeFacts

Key = tuple[Any, ...]
"""Everything that the types of a node's outputs follow from."""

_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


class LikeNodes:
    """The types that were found for the outputs of nodes, by what they follow from; of all scopes of one model."""

    def __init__(self) -> None:
        self._found: dict[Key, Sequence[TypeProto | None]] = {}
        self._numbers: dict[bytes, int] = {}
        self._may_be_sizes: list[bool] = []
        self._shared: dict[int, tuple[int, TypeProto]] = {}
        """The numbers of types that outputs share, by identity."""

    def outputs_of(self, key: Key | None) -> Sequence[TypeProto | None] | None:
        """The types of the outputs of a node that is like one before; None where none has been."""
        return None if key is None else self._found.get(key)

    def learn(self, key: Key | None, types: Sequence[TypeProto | None]) -> None:
        """Keep the types of the outputs of a node. They are shared from now on, and must not be changed."""
        if key is not None:
            self._found[key] = types
            self._shared.update((id(one), (self.number(one), one)) for one in types if one is not None)

    def number(self, known: TypeProto) -> int:
        """The number of a type, the same for equal ones."""
        shared = self._shared.get(id(known))
        if shared is not None:
            return shared[0]
        content = known.SerializeToString(deterministic=True)
        if content not in self._numbers:
            self._numbers[content] = len(self._numbers)
            self._may_be_sizes.append(may_be_sizes(known))
        return self._numbers[content]

    def has_sizes(self, number: int) -> bool:
        """Whether sizes may follow from the values of a tensor of the type with this number."""
        return self._may_be_sizes[number]


class ScopeKeys:
    """The keys of the nodes of one scope, whose types are worked out in order."""

    def __init__(self, scope: ScopeFacts, hints: Mapping[str, TypeProto]) -> None:
        self._scope = scope
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
            known = self._scope.type_of(name)
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
