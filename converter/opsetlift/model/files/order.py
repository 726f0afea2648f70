"""The order of nodes: each after those whose values it reads, or why it is not so."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

import onnx

from opsetlift.model.files.errors import ModelFileError
from opsetlift.model.scopes import Container, subgraphs, subgraphs_within

Vertex = TypeVar("Vertex", bound=Hashable)


class NodesNotSorted(ModelFileError):
    """A node comes before one whose value it reads, and there is an order in which none does.

    Args:
        sentence: The sentence on the node.
        path: The scope whose nodes are not sorted.
    """

    def __init__(self, sentence: str, path: str) -> None:
        super().__init__(sentence)
        self.path = path


def missing_value(reader: str, name: str, scopes: Sequence[tuple[str, Sequence[onnx.NodeProto]]]) -> ModelFileError:
    """The error for a node that reads a value which does not exist yet; `NodesNotSorted` where sorting helps.

    `scopes` are the paths and nodes of the scopes that the reader sees, the innermost first.
    """
    for path, nodes in scopes:
        if any(name in node.output for node in nodes):
            if cycle := find_cycle(_dependencies(nodes)):
                named = [nodes[index].name or nodes[index].op_type for index in cycle]
                return ModelFileError(f"the nodes of {path} form a cycle: {_shortened(named)}")
            sentence = f"{reader} reads {name!r} before it is computed: the nodes of {path} are not sorted"
            return NodesNotSorted(sentence, path)
    return ModelFileError(f"{reader} reads {name!r}, which nothing computes")


def with_sorted_nodes(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which each node comes after those whose values it reads, wherever there is such an order."""
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    for body in (copied.graph, *copied.functions):
        _sort(body)
        for graph in subgraphs_within(body):
            _sort(graph)
    return copied


def _sort(container: Container) -> None:
    """Sort nodes, the first of those that can come next before the others; where they form a cycle, none is moved."""
    nodes = list(container.node)
    needed = _dependencies(nodes)
    readers: dict[int, list[int]] = {index: [] for index in needed}
    for reader, producers in needed.items():
        for producer in producers:
            readers[producer].append(reader)
    missing = {index: len(producers) for index, producers in needed.items()}
    ready = [index for index, count in missing.items() if not count]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for reader in readers[order[-1]]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, reader)
    if len(order) < len(nodes) or order == sorted(order):
        return
    copies = [onnx.NodeProto() for _ in nodes]
    for copied, index in zip(copies, order, strict=True):
        copied.CopyFrom(nodes[index])
    del container.node[:]
    container.node.extend(copies)


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
    for _, graph in subgraphs(node):
        own = {info.name for info in (*graph.input, *graph.initializer)}
        own.update(name for inner in graph.node for name in inner.output)
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
