"""Keeping graphs in order: dead nodes, what nothing uses, the order of nodes, links between nodes and tensors.

graphsurgeon's own `cleanup` and `toposort` forget unused default values, sort by depth where the order was right
already, recurse as deep as the graph is long, and unlink the wrong node where two are equal, as those of two branches
may be. These do not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain

import onnx_graphsurgeon as gs

from converter.normalize.carried import carried_graph, carried_node
from converter.normalize.traversal import nodes_in, read_by, subgraphs_of, tensors_in


class CyclicGraph(Exception):
    """A rewrite has let a node read what is computed from its own outputs."""


def sweep(graph: gs.Graph, pinned: Collection[str] = ()) -> None:
    """Remove the nodes of a graph whose outputs nothing uses, initializers likewise, and declarations of what is gone.

    Inputs stay. So do nodes that never had an output: what they are for cannot be told. `pinned` names are in use.
    """
    _sweep(graph, pinned, _reads_in(graph))


def sweep_and_sort(graph: gs.Graph, pinned: Collection[str] = ()) -> None:
    """`sweep`, and put the nodes into an order in which each comes after what it reads, and otherwise as they were.

    Raises CyclicGraph where there is none.
    """
    reads = _reads_in(graph)
    _sweep(graph, pinned, reads)
    _sort(graph, reads)


Reads = Mapping[int, Sequence[gs.Tensor]]
"""What each node reads, by the node's identity."""


def _reads_in(graph: gs.Graph) -> Reads:
    return {id(node): read_by(node) for node in graph.nodes}


def _sweep(graph: gs.Graph, pinned: Collection[str], reads: Reads) -> None:
    carried = carried_graph(graph)
    if carried is not None and carried.annotations:
        own = {id(tensor) for tensor in tensors_in(graph)}
        carried.annotations = [one for one in carried.annotations if id(one.tensor) in own]
    live = _live(graph, pinned, reads)
    if len(live) < len(graph.nodes):
        for node in graph.nodes:
            if id(node) not in live:
                unlink(node)
        graph.nodes = [node for node in graph.nodes if id(node) in live]
    if carried is None:
        return
    used = set(map(id, chain(graph.outputs, chain.from_iterable(reads[id(node)] for node in graph.nodes))))
    used.update(id(tensor) for one in carried.annotations for tensor in one.parameters.values())
    used.update(map(id, graph.inputs))
    carried.initializers = [one for one in carried.initializers if id(one) in used or one.name in pinned]
    if not carried.value_info:
        return
    known = set(map(id, tensors_in(graph)))
    carried.value_info = [(tensor, info) for tensor, info in carried.value_info if id(tensor) in known]


def _live(graph: gs.Graph, pinned: Collection[str], reads: Reads) -> set[int]:
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
            wanted.extend(reads[id(node)])
    carried = carried_graph(graph)
    for annotation in carried.annotations if carried is not None else ():
        wanted.extend(annotation.parameters.values())
    while wanted:
        found = producers.get(id(wanted.pop()))
        if found is not None and id(found) not in live:
            live.add(id(found))
            wanted.extend(reads[id(found)])
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
    linked = chain.from_iterable(tensors for node in nodes for tensors in (node.inputs, node.outputs))
    listed = chain(graph.inputs, graph.outputs, carried.initializers if carried is not None else ())
    for tensor in {id(tensor): tensor for tensor in chain(linked, listed)}.values():
        list.clear(tensor.outputs)
        list.clear(tensor.inputs)
    append = list.append
    for node in nodes:
        for tensor in node.inputs:
            append(tensor.outputs, node)
        for tensor in node.outputs:
            append(tensor.inputs, node)


def _sort(graph: gs.Graph, reads: Reads) -> None:
    position = {id(tensor): index for index, node in enumerate(graph.nodes) for tensor in node.outputs if tensor.name}
    needs = [{position[one] for one in map(id, reads[id(node)]) if one in position} for node in graph.nodes]
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
