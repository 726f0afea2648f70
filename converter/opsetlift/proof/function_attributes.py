"""Attributes of nodes in functions that stand for an attribute of the call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto

from opsetlift.model.scopes import FunctionKey, called_function_key, function_key, subgraphs

Binding = Mapping[str, AttributeProto]
"""The attributes of one call, the function's defaults filled in."""


def refers(node: NodeProto) -> bool:
    """Whether an attribute of the node, or of one inside it, refers to the function's."""
    if any(attribute.ref_attr_name for attribute in node.attribute):
        return True
    return any(refers(inner) for _, graph in subgraphs(node) for inner in graph.node)


def resolved(node: NodeProto, binding: Binding) -> NodeProto:
    """The node with the attributes that the call gives it; those that it does not give are left out."""
    if not refers(node):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            copy.attribute.append(attribute)
        elif attribute.ref_attr_name in binding:
            given = copy.attribute.add()
            given.CopyFrom(binding[attribute.ref_attr_name])
            given.name = attribute.name
    for _, graph in subgraphs(copy):
        inner = [resolved(one, binding) for one in graph.node]
        del graph.node[:]
        graph.node.extend(inner)
    return copy


def attribute_bindings(model: ModelProto) -> dict[FunctionKey, list[Binding]]:
    """The different attributes with which each function is called from the graph, at first hand or not."""
    functions = {function_key(function): function for function in model.functions}
    found: dict[FunctionKey, dict[bytes, Binding]] = {key: {} for key in functions}
    pending: list[tuple[NodeProto, Binding]] = [(node, {}) for node in _calls(model.graph.node)] if functions else []
    while pending:
        node, outer = pending.pop()
        key = called_function_key(node)
        if key not in functions:
            continue
        binding = _binding(functions[key], resolved(node, outer))
        identity = repr(sorted((name, one.SerializeToString()) for name, one in binding.items())).encode()
        if identity not in found[key]:
            found[key][identity] = binding
            pending += [(inner, binding) for inner in _calls(functions[key].node)]
    return {key: list(bindings.values()) for key, bindings in found.items()}


def defaults(function: FunctionProto) -> Binding:
    """The defaults of a function's attributes."""
    return {attribute.name: attribute for attribute in function.attribute_proto}


def _binding(function: FunctionProto, call: NodeProto) -> Binding:
    named = {*function.attribute, *(attribute.name for attribute in function.attribute_proto)}
    given = {attribute.name: attribute for attribute in call.attribute if attribute.name in named}
    return {**defaults(function), **given}


def _calls(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for _, graph in subgraphs(node):
            yield from _calls(graph.node)
