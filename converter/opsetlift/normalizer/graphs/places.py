"""Where the graphs of a model are: the main graph, subgraphs and function bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import onnx_graphsurgeon as gs
from onnx import FunctionProto, NodeProto

from opsetlift.model.scopes import GRAPH_PATH, FunctionKey, function_key, function_path, imported_opsets, subgraph_path
from opsetlift.normalizer.graphs.attached_metadata import metadata_of_graph
from opsetlift.normalizer.graphs.traversal import constants_in, holders_in, subgraphs_of
from opsetlift.specification.history import AI_ONNX

Scope = Literal["graph", "subgraph", "function"]


@dataclass(frozen=True)
class Place:
    """One graph of a model, and the path of its scope."""

    graph: gs.Graph
    scope: Scope
    path: str


def places_in(graph: gs.Graph) -> Iterator[Place]:
    """Every graph of a model: subgraphs before what holds them, the main graph, then the functions."""
    yield from _places(graph, "graph", GRAPH_PATH)
    for function in graph.functions:
        # A body has no initializers: its constants are written as nodes before the others.
        yield from _places(function, "function", function_path(_head_of(function)), len(constants_in(function)))


def _places(graph: gs.Graph, scope: Scope, path: str, first: int = 0) -> Iterator[Place]:
    for index, node in holders_in(graph):
        for name, subgraph in subgraphs_of(node):
            inner = subgraph_path(path, first + index, NodeProto(name=node.name or "", op_type=node.op), name)
            yield from _places(subgraph, "subgraph", inner)
    yield Place(graph, scope, path)


def opsets_of(graph: gs.Graph) -> Mapping[str, int]:
    """The opsets that a graph imports."""
    if graph.import_domains is None:
        return {AI_ONNX: graph.opset}
    return imported_opsets(graph.import_domains)


def key_of(function: gs.Function) -> FunctionKey:
    """What a call of the function names."""
    return function_key(_head_of(function))


def _head_of(function: gs.Function) -> FunctionProto:
    metadata = metadata_of_graph(function)
    overload = metadata.proto.overload if metadata and isinstance(metadata.proto, FunctionProto) else ""
    return FunctionProto(domain=function.domain, name=function.name, overload=overload)
