"""Keeping graphs in order: dead nodes, what nothing uses, the order of nodes, links between nodes and tensors.

graphsurgeon's own `cleanup` and `toposort` forget unused default values, sort by depth where the order was right
already, recurse as deep as the graph is long, and unlink the wrong node where two are equal, as those of two branches
may be. These do not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain, count, repeat
from operator import attrgetter, lt

import onnx_graphsurgeon as gs

from opsetlift.normalizer.carried import carried_graph, carried_node
from opsetlift.normalizer.traversal import holders_in, linked_to, nodes_in, read_by, subgraphs_of, tensors_in

_inputs_of = attrgetter("inputs")


class CyclicGraph(Exception):
    """A rewrite has let a node read what is computed from its own outputs."""


def sweep(graph: gs.Graph, pinned: Collection[str] = ()) -> None:
    """Remove the nodes of a graph whose outputs nothing uses, initializers likewise, and declarations of what is gone.

    Inputs stay. So do nodes that never had an output: what they are for cannot be told. `pinned` names are in use.
    """
    _sweep(graph, pinned, _Reading(graph))


def sweep_and_sort(graph: gs.Graph, pinned: Collection[str] = ()) -> None:
    """`sweep`, and put the nodes into an order in which each comes after what it reads, and otherwise as they were.

    Raises CyclicGraph where there is none.
    """
    reading = _Reading(graph)
    _sweep(graph, pinned, reading)
    if not reading.is_in_order:
        graph.nodes = _Reading(graph).ordered()


def nodes_in_order(graph: gs.Graph) -> Sequence[gs.Node]:
    """The nodes of a graph, each after what it reads, and otherwise as they are; as they are where there is no such
    order. The graph stays as it is."""
    nodes: Sequence[gs.Node] = graph.nodes
    reading = _Reading(graph)
    try:
        return nodes if reading.is_in_order else reading.ordered()
    except CyclicGraph:
        return nodes


class _Reading:
    """What each node of a graph reads, its subgraphs included, and which node computes what, by position."""

    def __init__(self, graph: gs.Graph) -> None:
        self._nodes = graph.nodes
        self._reads: list[Sequence[gs.Tensor]] = list(map(_inputs_of, graph.nodes))
        for index, node in holders_in(graph):
            self._reads[index] = read_by(node)
        self._producers = {
            id(tensor): index for index, node in enumerate(graph.nodes) for tensor in node.outputs if tensor.name
        }

    @cached_property
    def is_in_order(self) -> bool:
        """Whether each node comes after what it reads."""
        readers = chain.from_iterable(map(repeat, count(), map(len, self._reads)))
        return all(map(lt, map(self._producers.get, self._read, repeat(-1)), readers))

    @cached_property
    def _read(self) -> Sequence[int]:
        return list(map(id, chain.from_iterable(self._reads)))

    def read_by(self, nodes: Collection[int]) -> Iterable[int]:
        """The identities of what nodes read."""
        if len(nodes) == len(self._nodes):
            return self._read
        return map(id, chain.from_iterable(self._reads[index] for index in nodes))

    def live(self, wanted: Iterable[gs.Tensor], pinned: Collection[str]) -> Collection[int]:
        """The nodes that what is wanted is computed by, directly or through others."""
        left = list(wanted)
        if self.is_in_order and self._computes_what_is_read(left):
            return range(len(self._nodes))
        live: set[int] = set()
        for index, node in enumerate(self._nodes):
            if not node.outputs and _never_had_outputs(node):
                live.add(index)
                left.extend(self._reads[index])
        if pinned:
            left.extend(tensor for node in self._nodes for tensor in node.outputs if tensor.name in pinned)
        while left:
            index = self._producers.get(id(left.pop()), -1)
            if index >= 0 and index not in live:
                live.add(index)
                left.extend(self._reads[index])
        return live

    def _computes_what_is_read(self, wanted: Iterable[gs.Tensor]) -> bool:
        """Whether every node computes what is wanted, or what another reads."""
        read = self._producers.keys() & chain(map(id, wanted), self._read)
        return len(set(map(self._producers.get, read))) == len(self._nodes)

    def ordered(self) -> list[gs.Node]:
        """The nodes, each after what it reads, and otherwise as they are. Raises CyclicGraph."""
        needs = [{self._producers[one] for one in map(id, read) if one in self._producers} for read in self._reads]
        readers: dict[int, list[int]] = {}
        for index, needed in enumerate(needs):
            for one in needed:
                readers.setdefault(one, []).append(index)
        waiting = [len(needed) for needed in needs]
        ready = [index for index, missing in enumerate(waiting) if not missing]
        heapify(ready)
        order: list[int] = []
        while ready:
            order.append(heappop(ready))
            for reader in readers.get(order[-1], ()):
                waiting[reader] -= 1
                if not waiting[reader]:
                    heappush(ready, reader)
        if len(order) < len(needs):
            stuck = next(node for index, node in enumerate(self._nodes) if waiting[index])
            raise CyclicGraph(f"{stuck.op} {stuck.name!r} reads what is computed from its own output")
        return [self._nodes[index] for index in order]


def _sweep(graph: gs.Graph, pinned: Collection[str], reading: _Reading) -> None:
    carried = carried_graph(graph)
    if carried is not None and carried.annotations:
        own = {id(tensor) for tensor in tensors_in(graph)}
        carried.annotations = [one for one in carried.annotations if id(one.tensor) in own]
    annotations = carried.annotations if carried is not None else ()
    wanted = [*graph.outputs, *chain.from_iterable(one.parameters.values() for one in annotations)]
    live = reading.live(wanted, pinned)
    if len(live) < len(graph.nodes):
        for index, node in enumerate(graph.nodes):
            if index not in live:
                unlink(node)
        graph.nodes = [node for index, node in enumerate(graph.nodes) if index in live]
    if carried is None:
        return
    used = {*map(id, graph.inputs), *map(id, wanted), *reading.read_by(live)}
    carried.initializers = [one for one in carried.initializers if id(one) in used or one.name in pinned]
    if carried.value_info:
        named = set(map(id, chain(graph.inputs, linked_to(graph.nodes), graph.outputs)))
        carried.value_info = [(tensor, info) for tensor, info in carried.value_info if id(tensor) in named]


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
    listed = chain(graph.inputs, graph.outputs, carried.initializers if carried is not None else ())
    clear, append = list.clear, list.append
    for tensor in chain(linked_to(nodes), listed):
        clear(tensor.outputs)
        clear(tensor.inputs)
    for node in nodes:
        for tensor in node.inputs:
            append(tensor.outputs, node)
        for tensor in node.outputs:
            append(tensor.inputs, node)
