"""A second opinion on the legality of models: what `onnx.defs` says of their nodes, written without the gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto
from onnx.defs import OpSchema

Single = OpSchema.FormalParameterOption.Single
Variadic = OpSchema.FormalParameterOption.Variadic

_SPELLING = {
    number: {"BOOL": "bool", "STRING": "string"}.get(name, name.lower())
    for name, number in onnx.TensorProto.DataType.items()
}


@cache
def schemas(domain: str, operator: str) -> Mapping[int, OpSchema]:
    """An operator's schemas by since-version, oldest first."""
    found = _all_schemas().get(("" if domain == "ai.onnx" else domain, operator), [])
    return {schema.since_version: schema for schema in sorted(found, key=lambda schema: schema.since_version)}


@cache
def _all_schemas() -> Mapping[tuple[str, str], list[OpSchema]]:
    """What onnx has, which takes long to ask for, by domain and operator."""
    found: dict[tuple[str, str], list[OpSchema]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    return found


@cache
def since_version(domain: str, operator: str, opset: int) -> int:
    """The since-version in force; 0 before the operator's introduction."""
    return max((version for version in schemas(domain, operator) if version <= opset), default=0)


def all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """The nodes of a graph and of its subgraphs."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def opset_of(model: ModelProto, domain: str) -> int:
    """The opset at which a model imports a domain."""
    return next(entry.version for entry in model.opset_import if entry.domain == domain)


def versions_at(model: ModelProto, opsets: Mapping[str, int]) -> tuple[int, ...]:
    """The since-versions of all nodes where the domains are imported at `opsets`."""
    return tuple(since_version(node.domain, node.op_type, opsets[node.domain]) for node in all_nodes(model.graph))


def inferred_types(model: ModelProto) -> dict[str, str]:
    """The types of all values as far as onnx's own inference tells them."""
    types: dict[str, str] = {}
    _collect_types(onnx.shape_inference.infer_shapes(model).graph, types)
    return types


def _collect_types(graph: GraphProto, types: dict[str, str]) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.WhichOneof("value") and (kind := spelled(info.type)):
            types[info.name] = kind
    types.update({tensor.name: f"tensor({_SPELLING[tensor.data_type]})" for tensor in graph.initializer})
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _collect_types(attribute.g, types)


def spelled(declared: onnx.TypeProto) -> str | None:
    """A type in the spelling of the schemas; None where it is not complete."""
    match declared.WhichOneof("value"):
        case "tensor_type":
            element_type = declared.tensor_type.elem_type
            return f"tensor({_SPELLING[element_type]})" if element_type else None
        case "sequence_type":
            inner = spelled(declared.sequence_type.elem_type)
            return inner and f"seq({inner})"
        case "optional_type":
            inner = spelled(declared.optional_type.elem_type)
            return inner and f"optional({inner})"
        case "map_type":
            key, value = declared.map_type.key_type, declared.map_type.value_type.tensor_type.elem_type
            return f"map({_SPELLING[key]}, {_SPELLING[value]})"
    return None


def objection(model: ModelProto, types: Mapping[str, str]) -> str | None:
    """Which schema in force at the model's opsets forbids which node; None where all allow theirs."""
    for node in all_nodes(model.graph):
        versions = schemas(node.domain, node.op_type)
        since = since_version(node.domain, node.op_type, opset_of(model, node.domain))
        found = _forbidden(node, versions[since], types) if since else "not introduced"
        if found:
            return f"{node.op_type}-{since}: {found}"
    return None


def _forbidden(node: NodeProto, schema: OpSchema, types: Mapping[str, str]) -> str | None:
    if schema.deprecated:
        return "deprecated"
    return _wrong_attribute(node, schema) or _wrong_count(node, schema) or _wrong_type(node, schema, types)


def _wrong_attribute(node: NodeProto, schema: OpSchema) -> str | None:
    for attribute in node.attribute:
        if attribute.name not in schema.attributes:
            return f"no attribute {attribute.name}"
        expected = str(schema.attributes[attribute.name].type).split(".")[-1]
        if AttributeProto.AttributeType.Name(attribute.type) != expected:
            return f"kind of {attribute.name}"
    given = {attribute.name for attribute in node.attribute}
    missing = [name for name, attribute in schema.attributes.items() if attribute.required and name not in given]
    return f"missing {missing}" if missing else None


def _wrong_count(node: NodeProto, schema: OpSchema) -> str | None:
    if not schema.min_input <= len(node.input) <= schema.max_input:
        return "number of inputs"
    if not schema.min_output <= len(node.output) <= schema.max_output:
        return "number of outputs"
    for names, formals in ((node.input, schema.inputs), (node.output, schema.outputs)):
        for name, formal in zip(names, formals, strict=False):
            if not name and formal.option == Single:
                return f"{formal.name} left out"
    return None


def _wrong_type(node: NodeProto, schema: OpSchema, types: Mapping[str, str]) -> str | None:
    allowed = {constraint.type_param_str: set(constraint.allowed_type_strs) for constraint in schema.type_constraints}
    bound: dict[str, str] = {}
    for names, formals in ((node.input, schema.inputs), (node.output, schema.outputs)):
        for position, name in enumerate(names):
            if name not in types:  # left out, or beyond onnx's inference
                continue
            formal = formals[min(position, len(formals) - 1)]
            if types[name] not in allowed.get(formal.type_str, {formal.type_str}):
                return f"type of {formal.name}"
            heterogeneous = formal.option == Variadic and not formal.is_homogeneous
            if not heterogeneous and bound.setdefault(formal.type_str, types[name]) != types[name]:
                return f"type of {formal.name} differs"
    return None
