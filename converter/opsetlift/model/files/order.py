"""Why a value is not there when a node reads it: never computed, computed too late, or computed from itself."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

import onnx

Vertex = TypeVar("Vertex", bound=Hashable)


def explain_missing_value(reader: str, name: str, scopes: Sequence[tuple[str, Sequence[onnx.NodeProto]]]) -> str:
    """The sentence on a node that reads a value which does not exist yet.

    `scopes` are the paths and nodes of the scopes that the reader sees, the innermost first.
    """
    for path, nodes in scopes:
        if any(name in node.output for node in nodes):
            if cycle := find_cycle(_dependencies(nodes)):
                named = [nodes[index].name or nodes[index].op_type for index in cycle]
                return f"the nodes of {path} form a cycle: {_shortened(named)}"
            return f"{reader} reads {name!r} before it is computed: the nodes of {path} are not sorted"
    return f"{reader} reads {name!r}, which nothing computes"


def _shortened(names: Sequence[str]) -> str:
    shown = list(names) if len(names) <= 8 else [*names[:4], "...", *names[-3:]]
    return " -> ".join(shown)


def _dependencies(nodes: Sequence[onnx.NodeProto]) -> dict[int, list[int]]:
    """Node -> the nodes that compute what it reads, by position in one scope."""
    producer = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    return {
        index: sorted({producer[name] for name in _names_read(node) if name in producer})
        for index, node in enumerate(nodes)
    }


def _names_read(node: onnx.NodeProto) -> Iterable[str]:
    """What a node reads, the names that occur in its subgraphs included."""
    yield from node.input
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            own = {name for inner in graph.node for name in inner.output}
            for inner in graph.node:
                yield from (name for name in _names_read(inner) if name not in own)


def find_cycle(edges: Mapping[Vertex, Sequence[Vertex]]) -> list[Vertex]:
    """The vertices of one cycle, its start repeated at the end; empty where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        cycle: list[Vertex] = error.args[1]
        return cycle[::-1]  # graphlib's edges lead to what comes before
    return []
