"""A model as it stands, to be compared with how it stood: whether a pass did something, and how much.

It is taken and compared after every pass. So everything is put into lists of plain values and identities, which Python
compares without a step of its own per node. A picture keeps its objects alive, so that no identity is used twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from operator import attrgetter, is_
from typing import Any

import numpy
import onnx_graphsurgeon as gs

from converter.normalize.carried import carried_graph, carried_tensor
from converter.normalize.places import Place

_PLAIN = frozenset((int, float, str, bytes))

_head_of = attrgetter("op", "name", "domain")
_inputs_of = attrgetter("inputs")
_outputs_of = attrgetter("outputs")
_attributes_of = attrgetter("attrs")
_declaration_of = attrgetter("name", "dtype", "shape")
_name_of = attrgetter("name")
_values_of = attrgetter("_values")


class Picture:
    """The nodes, the tensors and the lists of every graph of a model."""

    def __init__(self, places: Sequence[Place], functions: Sequence[gs.Function]) -> None:
        self._lists = list(map(list, _lists(places, functions)))
        nodes = self._nodes = list(chain.from_iterable(place.graph.nodes for place in places))
        self._heads = list(map(_head_of, nodes))
        self._inputs, self._outputs = _Links(nodes, _inputs_of), _Links(nodes, _outputs_of)
        self._attributes = [_shown(attributes) if attributes else {} for attributes in map(_attributes_of, nodes)]
        self._by_identity = [index for index, shown in enumerate(self._attributes) if not _is_plain(shown)]
        listed = [tensor for place in places for tensor in _tensors_listed(place.graph)]
        tensors = {id(tensor): tensor for tensor in chain(self._inputs.tensors, self._outputs.tensors, listed)}
        self._constants = [tensor for tensor in tensors.values() if isinstance(tensor, gs.Constant)]
        self._constant_names = list(map(_name_of, self._constants))
        self._values = list(map(_values_of, self._constants))
        self._variables = [tensor for tensor in tensors.values() if not isinstance(tensor, gs.Constant)]
        self._declarations = [
            (name, dtype, None if shape is None else list(shape))
            for name, dtype, shape in map(_declaration_of, self._variables)
        ]
        for place in places:
            if place.scope == "graph":
                required = [tensor.name for tensor in place.graph.inputs if _default_bytes(tensor) is None]
                self.interface = (required, [tensor.name for tensor in place.graph.outputs])

    def still_holds(self, places: Sequence[Place], functions: Sequence[gs.Function]) -> bool:
        """Whether the model is as it was: the same as a new picture without changes, and much faster."""
        lists = _lists(places, functions)
        return (
            len(lists) == len(self._lists)
            and all(map(_are, self._lists, lists))
            and list(map(_head_of, self._nodes)) == self._heads
            and self._inputs.still_hold()
            and self._outputs.still_hold()
            and self._has_same_attributes()
            and not any(isinstance(tensor, gs.Constant) for tensor in self._variables)
            and list(map(_declaration_of, self._variables)) == self._declarations
            and all(isinstance(tensor, gs.Constant) for tensor in self._constants)
            and list(map(_name_of, self._constants)) == self._constant_names
            and self._has_same_values()
        )

    def _has_same_attributes(self) -> bool:
        attributes = list(map(_attributes_of, self._nodes))
        for index in self._by_identity:
            attributes[index] = _shown(attributes[index])
        return attributes == self._attributes

    def _has_same_values(self) -> bool:
        values = list(map(_values_of, self._constants))
        return _are(values, self._values) or _are(list(map(_as_stored, self._constants, values)), self._stored)

    @property
    def node_count(self) -> int:
        """The nodes, those of subgraphs and functions included."""
        return len(self._nodes)

    @cached_property
    def bytes(self) -> int:
        """The bytes of constants and of the defaults of inputs."""
        defaults = sum(_default_bytes(tensor) or 0 for tensor in self._variables)
        return defaults + sum(int(values.nbytes) for values in self._values)

    @cached_property
    def operators(self) -> set[str]:
        """The names of the operators."""
        return {operator for operator, _, _ in self._heads}

    def differs_in_names_only(self, before: Picture) -> bool:
        """Whether nothing but names and declared types are others than before."""
        return (
            self._has_same_lists(before)
            and all(now[::2] == then[::2] for now, then in zip(self._heads, before._heads, strict=True))
            and self._inputs.are(before._inputs)
            and self._outputs.are(before._outputs)
            and self._attributes == before._attributes
            and _are(self._constants, before._constants)
            and _are(self._stored, before._stored)
        )

    def changes_since(self, before: Picture) -> int:
        """How many nodes and constants are new, gone, or others than before; 1 where nothing but an order is."""
        nodes = _changed(self._rows_of_nodes, before._rows_of_nodes)
        variables = _changed(self._rows_of_variables, before._rows_of_variables)
        constants = _changed(self._rows_of_constants, before._rows_of_constants)
        if nodes or variables or constants:
            return len(nodes) + len(constants) or 1
        return int(not self._has_same_lists(before))

    def _has_same_lists(self, before: Picture) -> bool:
        return len(self._lists) == len(before._lists) and all(map(_are, self._lists, before._lists))

    @property
    def _stored(self) -> list[Any]:
        return list(map(_as_stored, self._constants, self._values))

    @cached_property
    def _rows_of_nodes(self) -> Mapping[int, Any]:
        rows = zip(self._heads, self._inputs.identities(), self._outputs.identities(), self._attributes, strict=True)
        return dict(zip(map(id, self._nodes), rows, strict=True))

    @cached_property
    def _rows_of_variables(self) -> Mapping[int, Any]:
        return dict(zip(map(id, self._variables), self._declarations, strict=True))

    @cached_property
    def _rows_of_constants(self) -> Mapping[int, Any]:
        rows = zip(self._constant_names, map(id, self._stored), strict=True)
        return dict(zip(map(id, self._constants), rows, strict=True))


class _Links:
    """The tensors that nodes read, or compute."""

    def __init__(self, nodes: Sequence[gs.Node], links_of: Callable[[gs.Node], Sequence[gs.Tensor]]) -> None:
        self._nodes = nodes
        self._links_of = links_of
        self._counts = list(map(len, map(links_of, nodes)))
        self.tensors = list(chain.from_iterable(map(links_of, nodes)))

    def still_hold(self) -> bool:
        """Whether the nodes have the same tensors as they had."""
        links = list(map(self._links_of, self._nodes))
        return list(map(len, links)) == self._counts and _are(list(chain.from_iterable(links)), self.tensors)

    def are(self, others: _Links) -> bool:
        """Whether these are the very tensors of others."""
        return self._counts == others._counts and _are(self.tensors, others.tensors)

    def identities(self) -> Iterator[tuple[int, ...]]:
        """For each node those of its tensors."""
        left = map(id, self.tensors)
        return (tuple(islice(left, count)) for count in self._counts)


def _are(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two sequences hold the very same objects: graphsurgeon's are equal where their names are."""
    return len(some) == len(others) and all(map(is_, some, others))


def _changed(now: Mapping[int, Any], before: Mapping[int, Any]) -> list[int]:
    return [*(now.keys() ^ before.keys()), *(key for key in now.keys() & before.keys() if now[key] != before[key])]


def _lists(places: Iterable[Place], functions: Sequence[gs.Function]) -> list[Sequence[Any]]:
    """The graphs and the functions; the nodes, inputs, outputs and initializers of every graph."""
    graphs = [place.graph for place in places]
    listed = ((graph.nodes, *_lists_of_tensors(graph)) for graph in graphs)
    return [graphs, functions, *chain.from_iterable(listed)]


def _lists_of_tensors(graph: gs.Graph) -> tuple[Sequence[gs.Tensor], ...]:
    carried = carried_graph(graph)
    return graph.inputs, graph.outputs, carried.initializers if carried is not None else ()


def _tensors_listed(graph: gs.Graph) -> Iterable[gs.Tensor]:
    return chain.from_iterable(_lists_of_tensors(graph))


def _as_stored(tensor: gs.Constant, values: Any) -> Any:
    """What holds a constant's values; values that have only been read are the same."""
    carried = carried_tensor(tensor)
    stored = carried.stored if carried is not None else None
    return stored if stored is not None and values is stored.loaded else values


def _default_bytes(tensor: gs.Tensor) -> int | None:
    carried = carried_tensor(tensor)
    return None if carried is None or carried.default is None else int(carried.default.nbytes)


class _Identity:
    """An object that is equal to itself only; it is kept alive."""

    def __init__(self, one: Any) -> None:
        self._one = one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other._one is self._one

    __hash__ = None  # type: ignore[assignment]


def _shown(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes with lists as they stand, and everything that is no plain value by what it is."""
    return {name: value if type(value) in _PLAIN else _shown_value(value) for name, value in attributes.items()}


def _shown_value(value: Any) -> Any:
    if type(value) is list:
        return [one if type(one) in _PLAIN else _shown_value(one) for one in value]
    if isinstance(value, gs.Constant):
        return _Identity(value._values)
    if isinstance(value, (numpy.ndarray, gs.Graph)):
        return _Identity(value)
    if isinstance(value, gs.Node.AttributeRef):
        return ("reference", value.name)
    return ("text", repr(value))


def _is_plain(shown: Mapping[str, Any]) -> bool:
    return all(
        type(value) in _PLAIN or (type(value) is list and _PLAIN.issuperset(map(type, value)))
        for value in shown.values()
    )
