"""Keeping graphs in order: dead nodes, what nothing uses, the order of nodes, links between nodes and tensors.

graphsurgeon's own `cleanup` and `toposort` forget unused default values, sort by depth where the order was right
already, recurse as deep as the graph is long, and unlink the wrong node where two are equal, as those of two branches
may be. These do not.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heapify, heappop, heappush

import onnx_graphsurgeon as gs

from converter.normalize.carried import carried_graph, carried_node
from converter.normalize.traversal import nodes_in, read_by, subgraphs_of, tensors_in


class CyclicGraph(Exception):
    """A rewrite has let a node read what is computed from its own outputs."""


def sweep(graph: gs.Graph, pinned: Collection[str] = ()) -> None:
    """Remove the nodes of a graph whose outputs nothing uses, initializers likewise, and declarations of what is gone.

    Inputs stay. So do nodes that never had an output: what they are for cannot be told. `pinned` names are in use.
    """
    carried = carried_graph(graph)
    if carried is not None:
        own = {id(tensor) for tensor in tensors_in(graph)}
        carried.annotations = [one for one in carried.annotations if id(one.tensor) in own]
    live = _live(graph, pinned)
    if len(live) < len(graph.nodes):
        for node in graph.nodes:
            if id(node) not in live:
                unlink(node)
        graph.nodes = [node for node in graph.nodes if id(node) in live]
    if carried is None:
        return
    used = {id(tensor) for node in graph.nodes for tensor in read_by(node)} | set(map(id, graph.outputs))
    used.update(id(tensor) for one in carried.annotations for tensor in one.parameters.values())
    used.update(map(id, graph.inputs))
    carried.initializers = [one for one in carried.initializers if id(one) in used or one.name in pinned]
    known = {id(tensor) for tensor in tensors_in(graph)}
    carried.value_info = [(tensor, info) for tensor, info in carried.value_info if id(tensor) in known]


def _live(graph: gs.Graph, pinned: Collection[str]) -> set[int]:
    producers: dict[int, gs.Node] = {}
    wanted: list[gs.Tensor] = list(graph.outputs)
    live: set[int] = set()
    for node in graph.nodes:
        for tensor in node.outputs:
            if tensor.name:
                producers[id(tensor)] = node
                if tensor.name in pinned:
                    wanted.append(tensor)
        if not node.outputs and _never_had_outputs(node):
            live.add(id(node))
            wanted.extend(read_by(node))
    carried = carried_graph(graph)
    for annotation in carried.annotations if carried is not None else ():
        wanted.extend(annotation.parameters.values())
    while wanted:
        found = producers.get(id(wanted.pop()))
        if found is not None and id(found) not in live:
            live.add(id(found))
            wanted.extend(read_by(found))
    return live


def _never_had_outputs(node: gs.Node) -> bool:
    carried = carried_node(node)
    return carried is not None and bool(carried.proto.op_type) and not carried.proto.output


def unlink(node: gs.Node) -> None:
    """Take a node away from its tensors, and the nodes of its subgraphs from theirs."""
    for one in (node, *(inner for _, subgraph in subgraphs_of(node) for inner in nodes_in(subgraph))):
        for tensor in one.inputs:
            _remove(tensor.outputs, one)
        for tensor in one.outputs:
            _remove(tensor.inputs, one)
        list.clear(one.inputs)
        list.clear(one.outputs)


def _remove(nodes: list[gs.Node], node: gs.Node) -> None:
    """Take out this very node, once: graphsurgeon's lists would take the first that is equal."""
    for index, one in enumerate(nodes):
        if one is node:
            list.__delitem__(nodes, index)
            return


def relink(graph: gs.Graph) -> None:
    """Make each tensor's lists of nodes what the nodes say: in their order, without those that are gone."""
    nodes = list(nodes_in(graph))
    carried = carried_graph(graph)
    lists = [*graph.inputs, *graph.outputs, *(carried.initializers if carried is not None else ())]
    for tensor in (*lists, *(tensor for node in nodes for tensor in (*node.inputs, *node.outputs))):
        list.clear(tensor.outputs)
        list.clear(tensor.inputs)
    for node in nodes:
        for tensor in node.inputs:
            list.append(tensor.outputs, node)
        for tensor in node.outputs:
            list.append(tensor.inputs, node)


def sort(graph: gs.Graph) -> None:
    """Put the nodes into an order in which each comes after what it reads, and otherwise as they were.

    Raises CyclicGraph where there is none.
    """
    position = {id(tensor): index for index, node in enumerate(graph.nodes) for tensor in node.outputs if tensor.name}
    needs = [_needs(node, position) for node in graph.nodes]
    if all(max(needed, default=-1) < index for index, needed in enumerate(needs)):
        return
    readers: dict[int, list[int]] = {}
    for index, needed in enumerate(needs):
        for one in needed:
            readers.setdefault(one, []).append(index)
    waiting = [len(needed) for needed in needs]
    ready = [index for index, count in enumerate(waiting) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        order.append(heappop(ready))
        for reader in readers.get(order[-1], ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                heappush(ready, reader)
    if len(order) < len(needs):
        stuck = next(node for index, node in enumerate(graph.nodes) if waiting[index])
        raise CyclicGraph(f"{stuck.op} {stuck.name!r} reads what is computed from its own output")
    graph.nodes = [graph.nodes[index] for index in order]


def _needs(node: gs.Node, position: dict[int, int]) -> set[int]:
    return {position[id(tensor)] for tensor in read_by(node) if id(tensor) in position}
