"""Whether the types of a graph follow from its nodes one by one, so that inference of the whole model adds nothing.

Inference of the whole model knows more of open sizes: it names them, and takes them through nodes that compute with
them. Where inference node by node finds each size as a number or under a name, there is nothing left to know.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import GraphProto, TensorProto, TypeProto

from opsetlift.facts.environment import Environment
from opsetlift.facts.value_types import is_static
from opsetlift.facts.whole_model import declared_types
from opsetlift.model.scopes import GRAPH_PATH
from opsetlift.specification import history
from opsetlift.specification.dtypes import shape_of_type

_READERS_OF_SIZES = frozenset(("Shape", "Size"))
"""Of open sizes they make values; what is computed from these has sizes that only data propagation knows."""


def may_suffice(scope: Environment) -> bool:
    """Whether it is worth trying, as far as inputs and operators tell."""
    graph, model = scope.container, scope.model
    if scope.path != GRAPH_PATH or not isinstance(graph, GraphProto) or model.is_undeclared or model.functions:
        return False
    given = [scope.given_types.get(info.name) for info in graph.input]
    if not all(map(has_known_sizes, given)):
        return False
    operators = {(domain, operator) for domain, operator, _ in scope.index.operators}
    are_static = all(one is not None and is_static(one) for one in given)
    if not are_static and any(operator in _READERS_OF_SIZES for _, operator in operators):
        return False
    domains = [(history.canonical_domain(domain), operator) for domain, operator in operators]
    definitions = [history.definition(*one, scope.imports.get(one[0], 0)) for one in domains]
    return all(one is not None and not one.takes_subgraphs for one in definitions)


def has_known_sizes(known: TypeProto | None) -> bool:
    """Whether a type is that of a tensor each of whose sizes is a number or has a name."""
    shape = None if known is None else shape_of_type(known)
    if known is None or shape is None or known.tensor_type.elem_type == TensorProto.UNDEFINED:
        return False
    return all(size is not None and size != "" for size in shape)


def declared_in(scope: Environment) -> Mapping[str, TypeProto]:
    """The types that the graph declares of what its nodes compute; those that are equal are one object."""
    graph = scope.container
    return declared_types((*graph.value_info, *graph.output)) if isinstance(graph, GraphProto) else {}
