"""Walks over gs.Graphs in which a tensor may belong to another scope."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_graphsurgeon as gs


def subgraphs_of(node: gs.Node) -> Iterator[tuple[str, gs.Graph]]:
    """The subgraphs of a node by attribute name; those of a list are numbered ("name[0]")."""
    for name, value in node.attrs.items():
        if isinstance(value, gs.Graph):
            yield name, value
        elif isinstance(value, list) and value and isinstance(value[0], gs.Graph):
            for number, graph in enumerate(value):
                yield f"{name}[{number}]", graph


def tensors_in(graph: gs.Graph) -> Iterator[gs.Tensor]:
    """Every tensor that a graph itself names, each once, in the order of the graph; not those of its subgraphs."""
    seen: set[int] = set()
    for tensor in graph.inputs:
        if id(tensor) not in seen:
            seen.add(id(tensor))
            yield tensor
    for node in graph.nodes:
        for tensor in (*node.inputs, *node.outputs):
            if tensor.name and id(tensor) not in seen:
                seen.add(id(tensor))
                yield tensor
    for tensor in graph.outputs:
        if id(tensor) not in seen:
            seen.add(id(tensor))
            yield tensor


def constants_in(graph: gs.Graph) -> list[gs.Constant]:
    """The constants that a graph's nodes and outputs use, in order of first use."""
    return [tensor for tensor in tensors_in(graph) if isinstance(tensor, gs.Constant)]


def nodes_in(graph: gs.Graph) -> Iterator[gs.Node]:
    """The nodes of a graph and of its subgraphs."""
    for node in graph.nodes:
        yield node
        for _, subgraph in subgraphs_of(node):
            yield from nodes_in(subgraph)


def read_by(node: gs.Node) -> Iterator[gs.Tensor]:
    """What a node reads, its subgraphs included (which also name tensors of their own)."""
    for tensor in node.inputs:
        if tensor.name:
            yield tensor
    for _, subgraph in subgraphs_of(node):
        yield from read_in(subgraph)


def read_in(graph: gs.Graph) -> Iterator[gs.Tensor]:
    """What the nodes and the outputs of a graph read."""
    for node in graph.nodes:
        yield from read_by(node)
    yield from graph.outputs
