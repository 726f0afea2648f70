"""Types without shapes, in one pass over the nodes of a scope: most outputs have the type of an input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from onnx import FunctionProto, NodeProto, TypeProto
from onnx.defs import OpSchema

from opsetlift.facts.environment import Environment
from opsetlift.facts.inference import inferred_types
from opsetlift.model.scopes import called_function_key
from opsetlift.specification import history
from opsetlift.specification.dtypes import dtype_name, tensor_type, type_of_spelling, type_string


def type_strings(scope: Environment) -> Mapping[str, str]:
    """The types of the values of a scope, as the schemas spell them, by name; shapes are not looked at."""
    known = {name: found for name, value in scope.given_types.items() if (found := type_string(value))}
    sources_of: dict[tuple[str, str], tuple[int | str | None, ...] | None] = {}
    for node in scope.container.node:
        key = (node.domain, node.op_type)
        if key not in sources_of:
            sources_of[key] = _sources_unless_function(scope, node)
        sources = sources_of[key]
        for position, output in enumerate(node.output):
            source = sources[min(position, len(sources) - 1)] if sources else None
            if isinstance(source, str):
                known[output] = source
                continue
            found = None
            if source is not None and source < len(node.input):
                name = node.input[source]
                found = known.get(name) or (scope.parent.type_string(name) if scope.parent else None)
            if found is None and source is None:
                found = _type_string_by_inference(scope, node, output, known)
            if found is not None:
                known[output] = found
    return known


def types_from_nothing(scope: Environment) -> Iterator[str | None]:
    """The types that enter a scope other than through a node's input: None for one that is not known."""
    if not isinstance(scope.container, FunctionProto):  # whose inputs are values of the callers' scopes
        yield from (tensor_type(dtype_name(kind)) for kind in {one.data_type for one in scope.container.initializer})
        for sparse in scope.container.sparse_initializer:
            yield tensor_type(dtype_name(sparse.values.data_type))
        initialized = scope.index.initializers
        yield from (type_string(info.type) for info in scope.container.input if info.name not in initialized)
    passed_on: dict[tuple[str, str], bool] = {}
    for node in scope.container.node:
        key = (node.domain, node.op_type)
        if key not in passed_on:
            sources = _sources_unless_function(scope, node)
            passed_on[key] = sources is not None and None not in sources
            if sources is not None:
                yield from (source for source in sources if isinstance(source, str))
        if not passed_on[key] and called_function_key(node) not in scope.model.functions:
            yield from map(scope.type_strings.get, filter(None, node.output))


def _sources_unless_function(scope: Environment, node: NodeProto) -> tuple[int | str | None, ...] | None:
    domain = history.canonical_domain(node.domain)
    if called_function_key(node) in scope.model.functions or domain not in scope.imports:
        return None
    return _output_sources(domain, node.op_type, scope.imports[domain])


@lru_cache(maxsize=1 << 14)
def _output_sources(domain: str, operator: str, opset: int) -> tuple[int | str | None, ...] | None:
    """For each formal output where its type comes from: an input's position, a type, or None for neither.

    The last entry also stands for all further outputs of a variadic one. None for an unknown operator.
    """
    definition = history.definition(domain, operator, opset)
    if definition is None:
        return None
    schema = definition.schema
    position_of_variable = {}
    for position, formal in reversed(list(enumerate(schema.inputs))):
        if formal.option == OpSchema.FormalParameterOption.Single or (
            formal.option == OpSchema.FormalParameterOption.Variadic and formal.is_homogeneous
        ):
            position_of_variable[formal.type_str] = position
    sources: list[int | str | None] = []
    for formal in schema.outputs:
        if formal.option == OpSchema.FormalParameterOption.Variadic and not formal.is_homogeneous:
            sources.append(None)
        elif formal.type_str in definition.types_by_variable:
            allowed = definition.types_by_variable[formal.type_str]
            only = next(iter(allowed)) if len(allowed) == 1 else None
            sources.append(position_of_variable.get(formal.type_str, only))
        else:
            sources.append(formal.type_str)
    return tuple(sources)


def _type_string_by_inference(scope: Environment, node: NodeProto, output: str, known: Mapping[str, str]) -> str | None:
    def lookup(name: str) -> TypeProto | None:
        given = scope.given_types.get(name)
        if given is not None:
            return given
        found = known.get(name)
        if found is not None:
            return type_of_spelling(found)
        return scope.parent.type_of(name) if scope.parent else None

    inferred = inferred_types(scope.model, node, scope.imports, lookup).get(output)
    found = type_string(inferred) if inferred is not None else None
    if found is None:
        hint = scope.hints.get(output)
        found = type_string(hint) if hint is not None else None
    return found
