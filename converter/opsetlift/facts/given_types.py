"""Types of what no node of a scope computes: its inputs and initializers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import FunctionProto, TypeProto

from opsetlift.evaluator import find_body_inputs
from opsetlift.facts.environment import Environment
from opsetlift.facts.value_types import common_type, type_of_tensor
from opsetlift.model.scopes import function_key
from opsetlift.specification import history
from opsetlift.specification.dtypes import type_string


def given_types(scope: Environment) -> Mapping[str, TypeProto]:
    """The types of a scope's inputs and initializers by name, as far as they are known. Equal ones may be one."""
    given: dict[str, TypeProto] = {}
    if isinstance(scope.container, FunctionProto):
        for position, name in enumerate(scope.container.input):
            calls = scope.model.call_sites[function_key(scope.container)]
            given_in = [(caller, node.input[position]) for caller, node in calls if any(node.input[position:][:1])]
            common = common_type([caller.type_of(argument) for caller, argument in given_in])
            if common is not None:
                given[name] = common
        return given
    shared: dict[tuple[int, ...], TypeProto] = {}
    for tensor in scope.container.initializer:
        alike = (tensor.data_type, *tensor.dims[:])
        if alike not in shared:
            shared[alike] = type_of_tensor(tensor.data_type, tensor.dims)
        given[tensor.name] = shared[alike]
    for sparse in scope.container.sparse_initializer:
        given[sparse.values.name] = type_of_tensor(sparse.values.data_type, sparse.dims)
    by_owner = _types_by_owner(scope) if any(type_string(info.type) is None for info in scope.container.input) else ()
    for position, info in enumerate(scope.container.input):
        if type_string(info.type) is not None:
            given[info.name] = info.type
        elif position < len(by_owner) and type_string(by_owner[position]) is not None:
            given[info.name] = by_owner[position]
    return given


def _types_by_owner(scope: Environment) -> Sequence[TypeProto]:
    """The types that the node which holds this subgraph gives its inputs; empty where nothing is known."""
    if scope.owner is None or scope.parent is None:
        return ()
    domain = history.canonical_domain(scope.owner.domain)
    definition = history.definition(domain, scope.owner.op_type, scope.imports.get(domain, 0))
    found = definition and find_body_inputs(domain, scope.owner.op_type, definition.since_version)
    if not found:
        return ()
    types = [scope.parent.type_of(name) or TypeProto() if name else TypeProto() for name in scope.owner.input]
    return found(scope.owner, types)
