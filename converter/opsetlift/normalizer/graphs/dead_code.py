"""Dead-code elimination, topological order, and links between nodes and tensors.

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

from opsetlift.normalizer.graphs.attached_metadata import metadata_of_graph, metadata_of_node
from opsetlift.normalizer.graphs.graphsurgeon_internals import rebuild_links, remove_links
from opsetlift.normalizer.graphs.traversal import holders_in, linked_to, nodes_in, read_by, subgraphs_of, tensors_in

_inputs_of = attrgetter("inputs")


class CyclicGraph(Exception):
    """A rewrite has let a node read what is computed from its own outputs."""


def remove_dead_nodes(graph: gs.Graph, pinned: Collection[str] = ()) -> None:
    """Remove the nodes of a graph whose outputs nothing uses, initializers likewise, and declarations of what is gone.

    Inputs stay. So do nodes that never had an output: what they are for cannot be told. `pinned` names are in use.
    """
    _remove_dead_nodes(graph, pinned, _Reading(graph))


def remove_dead_nodes_and_sort(graph: gs.Graph, pinned: Collection[str] = ()) -> None:
    """`remove_dead_nodes`, and put each node after what it reads, in an otherwise unchanged order.

    Raises CyclicGraph where there is none.
    """
    reading = _Reading(graph)
    _remove_dead_nodes(graph, pinned, reading)
    if not reading.is_in_order:
        graph.nodes = _Reading(graph).ordered()


def nodes_in_order(graph: gs.Graph) -> Sequence[gs.Node]:
    """The nodes of a graph, each after what it reads, in an otherwise unchanged order; unchanged if there are cycles.

    The graph stays as it is.
    """
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
            raise CyclicGraph(f"{stuck.op} {stuck.name!r} depends on its own output")
        return [self._nodes[index] for index in order]


def _remove_dead_nodes(graph: gs.Graph, pinned: Collection[str], reading: _Reading) -> None:
    metadata = metadata_of_graph(graph)
    if metadata is not None and metadata.annotations:
        own = {id(tensor) for tensor in tensors_in(graph)}
        metadata.annotations = [one for one in metadata.annotations if id(one.tensor) in own]
    annotations = metadata.annotations if metadata is not None else ()
    wanted = [*graph.outputs, *chain.from_iterable(one.parameters.values() for one in annotations)]
    live = reading.live(wanted, pinned)
    if len(live) < len(graph.nodes):
        for index, node in enumerate(graph.nodes):
            if index not in live:
                unlink(node)
        graph.nodes = [node for index, node in enumerate(graph.nodes) if index in live]
    if metadata is None:
        return
    used = {*map(id, graph.inputs), *map(id, wanted), *reading.read_by(live)}
    metadata.initializers = [one for one in metadata.initializers if id(one) in used or one.name in pinned]
    if metadata.value_info:
        named = set(map(id, chain(graph.inputs, linked_to(graph.nodes), graph.outputs)))
        metadata.value_info = [(tensor, info) for tensor, info in metadata.value_info if id(tensor) in named]


def _never_had_outputs(node: gs.Node) -> bool:
    metadata = metadata_of_node(node)
    return metadata is not None and bool(metadata.proto.op_type) and not metadata.proto.output


def unlink(node: gs.Node) -> None:
    """Remove a node from the lists of its tensors, and the nodes of its subgraphs from those of theirs."""
    for one in (node, *(inner for _, subgraph in subgraphs_of(node) for inner in nodes_in(subgraph))):
        remove_links(one)


def relink(graph: gs.Graph) -> None:
    """Rebuild each tensor's lists of nodes from the nodes: in their order, without those that are gone."""
    nodes = list(nodes_in(graph))
    metadata = metadata_of_graph(graph)
    listed = chain(graph.inputs, graph.outputs, metadata.initializers if metadata is not None else ())
    rebuild_links(chain(linked_to(nodes), listed), nodes)
