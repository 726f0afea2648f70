"""Types of what unknown operators compute, as far as those who read it show them.

A schema lets inputs and outputs share a type variable, so the dtype of one that is declared is that of the others.
Where readers disagree nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import NodeProto, TypeProto
from onnx.defs import OpSchema

from opsetlift.facts.environment import Environment
from opsetlift.model.scopes import called_function_key
from opsetlift.specification import history
from opsetlift.specification.dtypes import type_of_spelling, type_string
from opsetlift.specification.history import Definition


def implied_types(scope: Environment, declared: Mapping[str, TypeProto]) -> Mapping[str, TypeProto]:
    """The types, without shapes, of values that nodes without a definition compute and nothing declares."""
    asked = {
        name
        for node in scope.container.node
        if _definition(scope, node) is None and called_function_key(node) not in scope.model.functions
        for name in node.output
        if name and name not in declared
    }
    if not asked:
        return {}
    known: dict[str, str | None] = {}

    def type_of(name: str) -> str | None:
        if name in known:
            return known[name]
        found = declared.get(name) or scope.given_types.get(name)
        return type_string(found) if found is not None else None

    for node in reversed(scope.container.node[:]):
        definition = _definition(scope, node)
        for names in _alike(node, definition) if definition is not None else ():
            types = {found for name in names if (found := type_of(name)) is not None}
            for name in names:
                if name in known and (len(types) > 1 or known[name] is None):
                    known[name] = None
                elif len(types) == 1 and type_of(name) is None:
                    known[name] = next(iter(types))
    spelt = {name: type_of_spelling(one) for name in asked if (one := known.get(name)) is not None}
    return {name: one for name, one in spelt.items() if one is not None}


def _definition(scope: Environment, node: NodeProto) -> Definition | None:
    domain = history.canonical_domain(node.domain)
    if domain not in scope.imports or called_function_key(node) in scope.model.functions:
        return None
    return history.definition(domain, node.op_type, scope.imports[domain])


def _alike(node: NodeProto, definition: Definition) -> Iterator[list[str]]:
    """The values of a node that have one type, by the type variables of its schema."""
    found: dict[str, list[str]] = {}
    for names, formals in ((node.input, definition.schema.inputs), (node.output, definition.schema.outputs)):
        for position, name in enumerate(names):
            formal = formals[min(position, len(formals) - 1)] if formals else None
            if formal is None or not name or formal.type_str not in definition.types_by_variable:
                continue
            if formal.option != OpSchema.FormalParameterOption.Variadic or formal.is_homogeneous:
                found.setdefault(formal.type_str, []).append(name)
    yield from found.values()
