"""Which graphs, nodes and tensors a model consists of, and how they are linked; not what they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, compress, islice, repeat
from operator import attrgetter, is_, not_
from typing import Any

import onnx_graphsurgeon as gs

from opsetlift.normalizer.graphs.attached_metadata import metadata_of_graph, metadata_of_tensor
from opsetlift.normalizer.graphs.places import Place
from opsetlift.normalizer.graphs.traversal import distinct

_links_of = attrgetter("inputs", "outputs")
_name_of = attrgetter("name")


class Structure:
    """The lists of every graph of a model, the tensors of every node, their names, and which of them are constants.

    While it holds there is nothing to clean up. It keeps its objects alive, so that no identity is used twice.
    """

    def __init__(self, places: Sequence[Place], functions: Sequence[gs.Function]) -> None:
        self._graphs = [place.graph for place in places]
        self._lists = list(map(list, _lists(self._graphs, functions)))
        self.nodes: list[gs.Node] = list(chain.from_iterable(graph.nodes for graph in self._graphs))
        links = list(chain.from_iterable(map(_links_of, self.nodes)))
        self._counts = list(map(len, links))
        """Of what each node reads, and what it computes."""
        self._linked: list[gs.Tensor] = list(chain.from_iterable(links))
        self._listed = distinct(chain.from_iterable(chain.from_iterable(map(_lists_of_tensors, self._graphs))))
        self._tensors = distinct((*self._linked, *self._listed))
        self._names = list(map(_name_of, self._tensors))
        self._kinds = list(map(type, self._tensors))
        is_constant = list(map(isinstance, self._tensors, repeat(gs.Constant)))
        is_variable = list(map(not_, is_constant))
        self.constants: list[gs.Constant] = list(compress(self._tensors, is_constant))
        self.names_of_constants: list[str] = list(compress(self._names, is_constant))
        self.variables: list[gs.Variable] = list(compress(self._tensors, is_variable))
        self.names_of_variables: list[str] = list(compress(self._names, is_variable))
        defaults = (_default_bytes(one) for one in self._listed if not isinstance(one, gs.Constant))
        self.bytes_of_defaults: int = sum(filter(None, defaults))
        """The size of the default values of inputs, which a pass may take away from them."""
        main = next(place.graph for place in places if place.scope == "graph")
        required = [tensor.name for tensor in main.inputs if _default_bytes(tensor) is None]
        self.interface = (required, [tensor.name for tensor in main.outputs])

    def still_holds(self, places: Iterable[Place], functions: Sequence[gs.Function]) -> bool:
        """Whether it is as it was."""
        lists = _lists([place.graph for place in places], functions)
        return (
            len(lists) == len(self._lists)
            and all(map(are, self._lists, lists))
            and self._still_has_links()
            and list(map(type, self._tensors)) == self._kinds
            and list(map(_name_of, self._tensors)) == self._names
        )

    def _still_has_links(self) -> bool:
        links = list(chain.from_iterable(map(_links_of, self.nodes)))
        return list(map(len, links)) == self._counts and all(map(is_, chain.from_iterable(links), self._linked))

    def has_graphs_of(self, places: Iterable[Place]) -> bool:
        """Whether it has the graphs of these places, in this order."""
        return are([place.graph for place in places], self._graphs)

    def has_same_lists(self, before: Structure) -> bool:
        """Whether the graphs list the same nodes and tensors as before, in the same order."""
        return len(self._lists) == len(before._lists) and all(map(are, self._lists, before._lists))

    def is_same_but_for_names(self, before: Structure) -> bool:
        """Whether nothing but names is other than before."""
        return self is before or (
            self.has_same_lists(before)
            and self._counts == before._counts
            and are(self._linked, before._linked)
            and are(self.constants, before.constants)
        )

    @cached_property
    def links(self) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The identities of what each node reads, and of what it computes."""
        identities = map(tuple, map(islice, repeat(map(id, self._linked)), self._counts))
        return list(zip(identities, identities, strict=True))


def are(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two sequences hold the very same objects: graphsurgeon's are equal where their names are."""
    return some is others or (len(some) == len(others) and all(map(is_, some, others)))


def _lists(graphs: Sequence[gs.Graph], functions: Sequence[gs.Function]) -> list[Sequence[Any]]:
    """The graphs and the functions; the nodes, inputs, outputs and initializers of every graph."""
    return [graphs, functions, *chain.from_iterable((graph.nodes, *_lists_of_tensors(graph)) for graph in graphs)]


def _lists_of_tensors(graph: gs.Graph) -> tuple[Sequence[gs.Tensor], ...]:
    metadata = metadata_of_graph(graph)
    return graph.inputs, graph.outputs, metadata.initializers if metadata is not None else ()


def _default_bytes(tensor: gs.Tensor) -> int | None:
    metadata = metadata_of_tensor(tensor)
    return None if metadata is None or metadata.default is None else int(metadata.default.nbytes)
