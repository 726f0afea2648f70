"""Walks over gs.Graphs in which a tensor may belong to another scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import attrgetter

import onnx_graphsurgeon as gs

_attributes_of = attrgetter("attrs")
_links_of = attrgetter("inputs", "outputs")


def subgraphs_of(node: gs.Node) -> list[tuple[str, gs.Graph]]:
    """The subgraphs of a node by attribute name; those of a list are numbered ("name[0]")."""
    found: list[tuple[str, gs.Graph]] = []
    for name, value in node.attrs.items():
        if type(value) is list:
            if value and isinstance(value[0], gs.Graph):
                found += ((f"{name}[{number}]", graph) for number, graph in enumerate(value))
        elif isinstance(value, gs.Graph):
            found.append((name, value))
    return found


def holders_in(graph: gs.Graph) -> list[tuple[int, gs.Node]]:
    """The nodes of a graph itself that hold subgraphs, with their positions: none, in most graphs.

    So it first looks at what all attributes hold, and at a node only where there is a graph among it.
    """
    values = list(chain.from_iterable(map(dict.values, map(_attributes_of, graph.nodes))))
    first_ones = [value[0] for value in values if type(value) is list and value]
    if not any(issubclass(kind, gs.Graph) for kind in {*map(type, values), *map(type, first_ones)}):
        return []
    return [(index, node) for index, node in enumerate(graph.nodes) if subgraphs_of(node)]


def tensors_in(graph: gs.Graph) -> list[gs.Tensor]:
    """Every tensor that a graph itself names, each once, in the order of the graph; not those of its subgraphs."""
    named = distinct((*graph.inputs, *linked_to(graph.nodes), *graph.outputs))
    return [tensor for tensor in named if tensor.name]


def linked_to(nodes: Iterable[gs.Node]) -> list[gs.Tensor]:
    """What nodes read and compute themselves, in order and as often as they name it."""
    return list(chain.from_iterable(chain.from_iterable(map(_links_of, nodes))))


def distinct(tensors: Iterable[gs.Tensor]) -> list[gs.Tensor]:
    """Each tensor once, in order: graphsurgeon's are equal where their names are."""
    given = list(tensors)
    return list(dict(zip(map(id, given), given, strict=True)).values())


def constants_in(graph: gs.Graph) -> list[gs.Constant]:
    """The constants that a graph's nodes and outputs use, in order of first use."""
    return [tensor for tensor in tensors_in(graph) if isinstance(tensor, gs.Constant)]


def nodes_in(graph: gs.Graph) -> Iterator[gs.Node]:
    """The nodes of a graph and of its subgraphs."""
    for node in graph.nodes:
        yield node
        if node.attrs:
            for _, subgraph in subgraphs_of(node):
                yield from nodes_in(subgraph)


def read_by(node: gs.Node) -> list[gs.Tensor]:
    """What a node reads, its subgraphs included (which also name tensors of their own)."""
    read = list(node.inputs)
    if node.attrs:
        for _, subgraph in subgraphs_of(node):
            for inner in subgraph.nodes:
                read += read_by(inner)
            read += subgraph.outputs
    return read
