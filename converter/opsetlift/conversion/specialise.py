"""One copy of a model-local function per call, its parameters bound to that call's values.

A function's body serves callers of several dtypes and attribute values at once. Where a rule has to know them, the body
cannot be converted for all callers alike, but each copy can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto

from opsetlift.model.names import FunctionNames
from opsetlift.model.scopes import (
    GRAPH_PATH,
    Container,
    FunctionKey,
    called_function_key,
    function_key,
    function_path,
    omitted_inputs,
    subgraph_path,
    subgraphs,
)

CallSite = tuple[str, int, str]
"""The path of a scope, the position of the calling node in it, and the path of the function that it calls."""


def specialisable(model: ModelProto, keys: set[FunctionKey]) -> set[FunctionKey]:
    """Those of `keys` that copies would tell more of, outer ones first; where there are none, such callers."""
    above = _callers_above(model)
    telling = _telling(model)
    with_callers = keys.union(*(above[key] for key in keys))
    for candidates in (keys, with_callers):
        found = telling & candidates
        if outermost := {key for key in found if found.isdisjoint(above[key])}:
            return outermost
    return set()


def final_functions(model: ModelProto) -> set[FunctionKey]:
    """The functions of which no copies would tell more, neither of themselves nor of what calls them."""
    telling = _telling(model)
    return {key for key, above in _callers_above(model).items() if key not in telling and above.isdisjoint(telling)}


def _telling(model: ModelProto) -> set[FunctionKey]:
    """The functions of which copies would tell more than they do."""
    functions = {function_key(function): function for function in model.functions}
    calls: dict[FunctionKey, list[NodeProto]] = {key: [] for key in functions}
    for container in (model.graph, *model.functions):
        for _, _, node in _nodes("", container):
            if (key := called_function_key(node)) in calls:
                calls[key].append(node)
    return {
        key for key, nodes in calls.items() if len(nodes) != 1 or any(_tells_more(functions[key], one) for one in nodes)
    }


def _callers_above(model: ModelProto) -> Mapping[FunctionKey, set[FunctionKey]]:
    """For each function those that call it, and those that call these."""
    callers: dict[FunctionKey, set[FunctionKey]] = {function_key(function): set() for function in model.functions}
    for function in model.functions:
        for _, _, node in _nodes("", function):
            if (key := called_function_key(node)) in callers:
                callers[key].add(function_key(function))
    return {key: _all_above(key, callers) for key in callers}


def uncalled(model: ModelProto) -> list[FunctionProto]:
    """The functions that no run of the model calls."""
    left = {function_key(function): function for function in model.functions}
    pending: list[Container] = [model.graph] if left else []
    while pending:
        for _, _, node in _nodes("", pending.pop()):
            if (function := left.pop(called_function_key(node), None)) is not None:
                pending.append(function)
    return list(left.values())


def _all_above(key: FunctionKey, callers: Mapping[FunctionKey, set[FunctionKey]]) -> set[FunctionKey]:
    found: set[FunctionKey] = set()
    open_ends = [key]
    while open_ends:
        more = callers[open_ends.pop()] - found
        found |= more
        open_ends += more
    return found


def _tells_more(function: FunctionProto, call: NodeProto) -> bool:
    """Whether a copy for its only call leaves fewer questions open than the function does."""
    parameters = {*function.attribute, *(value.name for value in function.attribute_proto)}
    handed_on = {attribute.name for attribute in call.attribute if attribute.ref_attr_name}
    return not parameters <= handed_on or not omitted_inputs(function, call).isdisjoint(_names_read(function.node))


def _names_read(nodes: Iterable[NodeProto]) -> set[str]:
    read: set[str] = set()
    for node in nodes:
        read.update(node.input)
        for _, graph in subgraphs(node):
            read |= _names_read(graph.node)
    return read


def specialise(model: ModelProto, keys: set[FunctionKey]) -> tuple[ModelProto, list[CallSite]]:
    """A copy of `model` in which each call of the functions `keys` has one of its own; and where those calls are."""
    result = ModelProto()
    result.CopyFrom(model)
    functions = {function_key(function): function for function in model.functions}
    names = FunctionNames(model)
    sites: list[CallSite] = []
    copies: list[FunctionProto] = []
    containers: list[tuple[str, Container]] = [(GRAPH_PATH, result.graph)]
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


def _nodes(path: str, container: Container) -> Iterator[tuple[str, int, NodeProto]]:
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
    open_parameters = {value.name for value in values.values() if value.ref_attr_name}
    bound = {name: value for name, value in values.items() if not value.ref_attr_name}
    bind(copy.node, bound, open_parameters)
    _leave_out(copy.node, omitted_inputs(function, call))
    # Where the parameter of the function that calls is not given, the default holds.
    defaults = [value for value in function.attribute_proto if value.name in open_parameters]
    del copy.attribute[:]
    del copy.attribute_proto[:]
    copy.attribute_proto.extend(defaults)
    copy.attribute.extend(sorted(open_parameters.difference(value.name for value in defaults)))
    kept = [attribute for attribute in call.attribute if attribute.name in open_parameters]
    del call.attribute[:]
    call.attribute.extend(kept)
    call.op_type = name
    call.ClearField("overload")
    return copy


def _leave_out(nodes: Iterable[NodeProto], names: set[str]) -> None:
    """Let the nodes not have the inputs `names`, which have no value."""
    for node in nodes:
        if not names.isdisjoint(node.input):
            kept = ["" if name in names else name for name in node.input]
            while kept and not kept[-1]:
                kept.pop()
            del node.input[:]
            node.input.extend(kept)
        for _, graph in subgraphs(node):
            _leave_out(graph.node, names)


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
