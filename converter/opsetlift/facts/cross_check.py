"""Cross-checks onnx's inference of a whole model with its inference node by node, to use the first where both agree.

Without its propagation of data the first gives the same. With it, it takes sizes through nodes as well as types, by
rules of its own for each operator, where inference of one node reads the values that were computed. So nodes that may
read a computed value are inferred one by one. What others give follows from the types that they read: where those are
the same by both ways, so is the result.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import NodeProto, TensorProto, TypeProto

from opsetlift.facts.environment import Environment
from opsetlift.facts.value_types import MOST_ELEMENTS, is_static
from opsetlift.model.scopes import called_function_key
from opsetlift.specification import history
from opsetlift.specification.dtypes import shape_of_type

_INTEGERS = frozenset((TensorProto.INT64, TensorProto.INT32))


class CrossCheck:
    """That of the main graph of a model that declares no types of what it computes; of others it uses nothing."""

    def __init__(self, scope: Environment, given: Mapping[str, TypeProto]) -> None:
        self._scope = scope
        inferred = self._inferred = scope.model.hints[scope.path]
        self._certain = scope.model.certain_types[scope.path]
        self._is_static: dict[int, bool] = {}
        """By the identity of a type, whether nothing more can become known of it."""
        self._computed: set[str] = set()
        """Integers that a node has computed, and few enough to be sizes."""
        self._agreed = {name for name, known in given.items() if name not in inferred or inferred[name] == known}
        """The values whose types are the same by both ways."""

    def types_of(self, node: NodeProto) -> Mapping[str, TypeProto] | None:
        """The types of a node's outputs by name; None where the node has to be inferred by itself."""
        known = self._all_static(node, self._certain)
        if known is not None or not self._inferred:
            return known
        if not self._agreed.issuperset(filter(None, node.input)) or not self._computed.isdisjoint(node.input):
            return None
        return self._all_static(node, self._inferred) if self._is_plain_operator(node) else None

    def _all_static(self, node: NodeProto, types: Mapping[str, TypeProto]) -> Mapping[str, TypeProto] | None:
        """The types of the outputs, if nothing more can become known of any."""
        found = {}
        for name in filter(None, node.output[:]):
            one = types.get(name)
            if one is None:
                return None
            # Both inferences share the types that are equal.
            is_known = self._is_static.get(id(one))
            if is_known is None:
                is_known = self._is_static[id(one)] = is_static(one)
            if not is_known:
                return None
            found[name] = one
        return found

    def _is_plain_operator(self, node: NodeProto) -> bool:
        """Whether it is an operator without a body that sizes could be propagated through."""
        domain = history.canonical_domain(node.domain)
        definition = history.definition(domain, node.op_type, self._scope.imports.get(domain, 0))
        if definition is None or definition.takes_subgraphs:
            return False
        return not self._scope.model.functions or called_function_key(node) not in self._scope.model.functions

    def learn(self, node: NodeProto, known: Mapping[str, TypeProto]) -> None:
        """Take note of the types that a node's outputs have."""
        for name in filter(None, node.output):
            one = known.get(name)
            if one is None or not self._inferred:
                continue
            if one is self._inferred.get(name) or one == self._inferred.get(name):
                self._agreed.add(name)
            if one.tensor_type.elem_type in _INTEGERS and _may_be_sizes(one):
                self._computed.add(name)


def _may_be_sizes(one: TypeProto) -> bool:
    shape = shape_of_type(one)
    return shape is None or (
        len(shape) < 2 and all(not isinstance(size, int) or size <= MOST_ELEMENTS for size in shape)
    )
