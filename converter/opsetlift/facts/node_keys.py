"""What the types of a node's outputs follow from, as one key: nodes with equal keys are inferred once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import AttributeProto, TypeProto

from opsetlift.facts.environment import Environment
from opsetlift.facts.like_nodes import Key
from opsetlift.model.arrays import Array
from opsetlift.model.def_use import Operator
from opsetlift.specification.history import canonical_domain

_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
_UNKNOWN, _OMITTED = -1, -2
"""In place of the number of a type."""


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
        like_nodes = self._like_nodes = scope.model.like_nodes
        self._imports = tuple(scope.imports.items())
        self._operators: dict[Operator, int] = {}
        self._by_name: dict[str, int] = {"": _OMITTED}
        self._values: dict[str, object] = {}
        # Hints share the types that are equal, so each is read once.
        numbers = {id(hint): like_nodes.number(hint) for hint in {id(hint): hint for hint in hints.values()}.values()}
        self._hinted = {name: numbers[id(hint)] for name, hint in hints.items()}
        self._hinted[""] = _OMITTED

    def key(
        self, operator: Operator, attributes: Sequence[AttributeProto], inputs: Sequence[str], outputs: Sequence[str]
    ) -> Key | None:
        """What the types of a node's outputs follow from; None where it has subgraphs.

        Args:
            operator: The operator of the node.
            attributes: Its attributes.
            inputs: The names of its inputs.
            outputs: The names of its outputs.
        """
        contents = []
        for attribute in attributes:
            if attribute.type in _GRAPHS:
                return None
            contents.append(attribute.SerializeToString(deterministic=True))
        types: list[int] = []
        values: list[object] = []
        by_name, has_sizes = self._by_name, self._like_nodes.has_sizes
        for name in inputs:
            number = by_name.get(name)
            if number is None:
                number = self._number(name)
            types.append(number)
            if number >= 0 and has_sizes[number]:
                values.append(self._value(name))
        hinted = self._hinted
        return (
            self._operators.get(operator) or self._operator(operator),
            *contents,
            tuple(types),
            tuple(values),
            tuple([hinted.get(name, _UNKNOWN) for name in outputs]),
        )

    def _operator(self, operator: Operator) -> int:
        domain, *others = operator
        number = self._like_nodes.part((canonical_domain(domain), *others, self._imports))
        self._operators[operator] = number
        return number

    def _number(self, name: str) -> int:
        """The number of a value's type, _UNKNOWN where it is not known so far."""
        known = self._known.get(name) or self._scope.type_of(name)
        if known is None:
            return _UNKNOWN
        number = self._by_name[name] = self._like_nodes.number(known)
        return number

    def _value(self, name: str) -> object:
        """What a value holds that may be sizes; None where it is no constant."""
        if name not in self._values:
            value = self._scope.constant(name)
            self._values[name] = None if value is None else content_of(value)
        return self._values[name]


def content_of(value: Array) -> tuple[str, tuple[int, ...], object]:
    """What an array holds, to be compared."""
    content = repr(value.tolist()) if value.dtype.kind in "OV" else value.tobytes()
    return value.dtype.str, value.shape, content
