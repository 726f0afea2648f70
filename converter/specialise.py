"""One copy of a model-local function per call, its parameters bound to that call's values.

A function's body serves callers of several dtypes and attribute values at once. Where a rule has to know them, the body
cannot be converted for all callers alike, but each copy can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

from converter.facts import FunctionKey, called_function_key, function_key
from converter.names import FunctionNames
from converter.trace import GRAPH_PATH, function_path, subgraph_path, subgraphs

CallSite = tuple[str, int, str]
"""The path of a scope, the position of the calling node in it, and the path of the function that it calls."""


def specialisable(model: ModelProto, keys: set[FunctionKey]) -> set[FunctionKey]:
    """Those of `keys` that copies would tell more of: with parameters or several calls, called by no other of them."""
    calls = dict.fromkeys(keys, 0)
    called_by_others: set[FunctionKey] = set()
    callers: list[tuple[FunctionKey | None, GraphProto | FunctionProto]] = [(None, model.graph)]
    callers += [(function_key(function), function) for function in model.functions]
    for caller, container in callers:
        for _, _, node in _nodes("", container):
            key = called_function_key(node)
            if key in calls:
                calls[key] += 1
                if caller in keys:
                    called_by_others.add(key)
    with_parameters = {
        function_key(function) for function in model.functions if function.attribute or function.attribute_proto
    }
    return {key for key in keys if key not in called_by_others and (calls[key] > 1 or key in with_parameters)}


def specialise(model: ModelProto, keys: set[FunctionKey]) -> tuple[ModelProto, list[CallSite]]:
    """A copy of `model` in which each call of the functions `keys` has one of its own; and where those calls are."""
    result = ModelProto()
    result.CopyFrom(model)
    functions = {function_key(function): function for function in model.functions}
    names = FunctionNames(model)
    sites: list[CallSite] = []
    copies: list[FunctionProto] = []
    containers: list[tuple[str, GraphProto | FunctionProto]] = [(GRAPH_PATH, result.graph)]
    containers += [(function_path(function), function) for function in result.functions]
    for path, container in containers:
        for scope_path, index, node in _nodes(path, container):
            key = called_function_key(node)
            if key in keys:
                copies.append(_bound_copy(functions[key], node, names.fresh(functions[key])))
                sites.append((scope_path, index, function_path(copies[-1])))
    kept = [function for function in result.functions if function_key(function) not in keys]
    del result.functions[:]
    result.functions.extend([*kept, *copies])
    return result, sites


def _nodes(path: str, container: GraphProto | FunctionProto) -> Iterator[tuple[str, int, NodeProto]]:
    for index, node in enumerate(container.node):
        yield path, index, node
        for attribute, graph in subgraphs(node):
            yield from _nodes(subgraph_path(path, index, node, attribute), graph)


def _bound_copy(function: FunctionProto, call: NodeProto, name: str) -> FunctionProto:
    copy = FunctionProto()
    copy.CopyFrom(function)
    copy.name = name
    copy.ClearField("overload")
    values = {attribute.name: attribute for attribute in function.attribute_proto}
    values.update({attribute.name: attribute for attribute in call.attribute})
    # A value that is itself a parameter, of the function that calls, stays one.
    open_parameters = [value.name for value in values.values() if value.ref_attr_name]
    bound = {name: value for name, value in values.items() if not value.ref_attr_name}
    bind(copy.node, bound, set(open_parameters))
    del copy.attribute[:]
    del copy.attribute_proto[:]
    copy.attribute.extend(open_parameters)
    kept = [attribute for attribute in call.attribute if attribute.name in open_parameters]
    del call.attribute[:]
    call.attribute.extend(kept)
    call.op_type = name
    call.ClearField("overload")
    return copy


def bind(nodes: Iterable[NodeProto], values: Mapping[str, AttributeProto], open_parameters: set[str]) -> None:
    """Put `values` into the attributes that refer to parameters; those of `open_parameters` go on referring to them."""
    for node in nodes:
        for position in reversed(range(len(node.attribute))):
            attribute = node.attribute[position]
            parameter = attribute.ref_attr_name
            if parameter in values:
                name = attribute.name
                attribute.CopyFrom(values[parameter])
                attribute.name = name
            elif parameter and parameter not in open_parameters:
                # A parameter that the call leaves out, without a default, leaves its attribute out.
                del node.attribute[position]
        for _, graph in subgraphs(node):
            bind(graph.node, values, open_parameters)
