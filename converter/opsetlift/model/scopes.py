"""Scopes of a model (its graph, the bodies of its functions, all subgraphs): where they are and what they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto

from opsetlift.specification.history import canonical_domain, history

Container = GraphProto | FunctionProto
"""What holds the nodes of a scope."""

FunctionKey = tuple[str, str, str]
"""Domain, name and overload of a function."""

GRAPH_PATH = "graph"

_GRAPH, _GRAPHS = AttributeProto.GRAPH, AttributeProto.GRAPHS


def function_path(function: FunctionProto) -> str:
    """The path of a function body's scope: "function:domain:name" (and ":overload").

    A "/" in these is written as "%2F", since it separates a scope's path from those inside: what stands before the
    first one is the graph or function that a scope is in (`root_path`).
    """
    parts = ["function", function.domain, function.name, function.overload]
    return ":".join(part.replace("%", "%25").replace("/", "%2F") for part in parts if part)


def root_path(path: str) -> str:
    """The path of the graph or function that a scope is in."""
    return path.partition("/")[0]


def subgraph_path(path: str, index: int, node: NodeProto, attribute: str) -> str:
    """The path of the scope in a node's attribute; `index` is the node's position in the original scope."""
    return f"{path}/{index}:{node.name or node.op_type}.{attribute}"


def subgraphs(node: NodeProto) -> list[tuple[str, GraphProto]]:
    """The subgraphs of a node by attribute name; those of a GRAPHS attribute are numbered ("name[0]")."""
    return graphs_of(node.attribute[:])


def graphs_of(attributes: Iterable[AttributeProto]) -> list[tuple[str, GraphProto]]:
    """The subgraphs in the attributes of a node, likewise."""
    found: list[tuple[str, GraphProto]] = []
    for attribute in attributes:
        kind = attribute.type
        if kind == _GRAPH:
            found.append((attribute.name, attribute.g))
        elif kind == _GRAPHS:
            found += ((f"{attribute.name}[{number}]", graph) for number, graph in enumerate(attribute.graphs))
    return found


def operators_of(nodes: Iterable[NodeProto]) -> set[tuple[str, str]]:
    """The operators of nodes: domain, as it is spelt, and name."""
    return set(map(attrgetter("domain", "op_type"), nodes))


def subgraphs_within(container: Container) -> Iterator[GraphProto]:
    """The subgraphs of the nodes of a graph or function, and those in them."""
    for node in container.node:
        for _, subgraph in subgraphs(node):
            yield subgraph
            yield from subgraphs_within(subgraph)


def referenced_names(graph: GraphProto) -> Iterator[str]:
    """Every name that a subgraph's nodes and outputs mention, its own included."""
    for node in graph.node:
        yield from node.input
        for _, subgraph in subgraphs(node):
            yield from referenced_names(subgraph)
    for output in graph.output:
        yield output.name


def captured_names(graph: GraphProto) -> set[str]:
    """The names that a subgraph, or one in it, mentions and does not define: values of the scopes around it."""
    mentioned = {output.name for output in graph.output}
    own = {one.name for one in (*graph.input, *graph.initializer)}
    own.update(one.values.name for one in graph.sparse_initializer)
    for node in graph.node:
        mentioned.update(node.input)
        own.update(node.output)
        for _, subgraph in subgraphs(node):
            mentioned |= captured_names(subgraph)
    return mentioned - own - {""}


def imported_opsets(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """opset_import as a mapping; of several entries for one domain the last counts, as in onnxruntime."""
    return {canonical_domain(entry.domain): entry.version for entry in imports}


def with_single_imports(model: ModelProto) -> ModelProto:
    """The model, or a copy in which the last import of each domain is the only one, which runtimes take."""
    imports = {canonical_domain(one.domain): one for one in model.opset_import}
    if len(imports) == len(model.opset_import):
        return model
    copied = ModelProto()
    copied.CopyFrom(model)
    del copied.opset_import[:]
    copied.opset_import.extend(imports.values())
    return copied


def function_key(function: FunctionProto) -> FunctionKey:
    """What a call names: domain, name, overload."""
    return (canonical_domain(function.domain), function.name, function.overload)


def called_function_key(node: NodeProto) -> FunctionKey:
    """The function that a node calls, if the model has one of that key."""
    return (canonical_domain(node.domain), node.op_type, node.overload)


def overrides_operator(function: FunctionProto) -> bool:
    """Whether a function takes the place of an operator, as it has its name."""
    return history(canonical_domain(function.domain), function.name) is not None


def omitted_inputs(function: FunctionProto, call: NodeProto) -> set[str]:
    """The inputs of a function that a call leaves out."""
    return {name for position, name in enumerate(function.input) if not any(call.input[position : position + 1])}
