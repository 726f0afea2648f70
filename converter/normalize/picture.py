"""A model as it stands, to be compared with how it stood: whether a pass did something, and how much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_
from typing import Any

import numpy
import onnx_graphsurgeon as gs

from converter.normalize.carried import carried_graph, carried_tensor
from converter.normalize.places import Place

_PLAIN = frozenset((int, float, str, bytes))


class Picture:
    """The nodes, the tensors and the lists of every graph of a model."""

    def __init__(self, places: Iterable[Place], functions: Sequence[gs.Function]) -> None:
        self._nodes: dict[int, tuple[Any, ...]] = {}
        tensors: dict[int, gs.Tensor] = {}
        self._functions = list(functions)
        self._graphs: list[tuple[Place, list[gs.Node], list[gs.Tensor], list[gs.Tensor], list[gs.Tensor]]] = []
        for place in places:
            graph = place.graph
            for node in graph.nodes:
                inputs, outputs = list(node.inputs), list(node.outputs)
                attributes = _attributes(node) if node.attrs else None
                self._nodes[id(node)] = (node, node.op, node.name, node.domain, attributes, inputs, outputs)
                for tensor in inputs:
                    tensors[id(tensor)] = tensor
                for tensor in outputs:
                    tensors[id(tensor)] = tensor
            listed = _initializers(graph)
            tensors.update((id(tensor), tensor) for tensor in (*graph.inputs, *graph.outputs, *listed))
            self._graphs.append((place, list(graph.nodes), list(graph.inputs), list(graph.outputs), list(listed)))
            if place.scope == "graph":
                required = [tensor.name for tensor in graph.inputs if _default_bytes(tensor) is None]
                self.interface = (required, [tensor.name for tensor in graph.outputs])
        self._tensors = {key: _tensor(tensor) for key, tensor in tensors.items()}

    def still_holds(self, places: Sequence[Place], functions: Sequence[gs.Function]) -> bool:
        """Whether the model is as it was: the same as a new picture without changes, and much faster."""
        if len(places) != len(self._graphs) or not _are(self._functions, functions):
            return False
        for place, (_, nodes, *lists) in zip(places, self._graphs, strict=True):
            graph = place.graph
            if not _are(nodes, graph.nodes):
                return False
            if not all(map(_are, lists, (graph.inputs, graph.outputs, _initializers(graph)))):
                return False
        for node, op, name, domain, attributes, inputs, outputs in self._nodes.values():
            if node.op != op or node.name != name or node.domain != domain:
                return False
            if not (_are(inputs, node.inputs) and _are(outputs, node.outputs)):
                return False
            if attributes != (_attributes(node) if node.attrs else None):
                return False
        return all(known == _tensor(known[0]) for known in self._tensors.values())

    @property
    def node_count(self) -> int:
        """The nodes, those of subgraphs and functions included."""
        return len(self._nodes)

    @property
    def bytes(self) -> int:
        """The bytes of constants and of the defaults of inputs."""
        found = 0
        for tensor, *_ in self._tensors.values():
            found += tensor._values.nbytes if isinstance(tensor, gs.Constant) else _default_bytes(tensor) or 0
        return found

    @property
    def operators(self) -> set[str]:
        """The names of the operators."""
        return {node[1] for node in self._nodes.values()}

    def changes_since(self, before: Picture) -> int:
        """How many nodes and constants are new, gone, or others than before; 1 where nothing but an order is."""
        nodes, tensors = _changed(self._nodes, before._nodes), _changed(self._tensors, before._tensors)
        if not nodes and not tensors:
            return int(not self._has_same_lists(before))
        constants = sum(isinstance((self._tensors.get(key) or before._tensors[key])[0], gs.Constant) for key in tensors)
        return len(nodes) + constants or 1

    def _has_same_lists(self, before: Picture) -> bool:
        return (
            _are(self._functions, before._functions)
            and len(self._graphs) == len(before._graphs)
            and all(
                all(map(_are, lists, others))
                for (_, *lists), (_, *others) in zip(self._graphs, before._graphs, strict=True)
            )
        )


def _are(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two sequences hold the very same objects: graphsurgeon's are equal where their names are."""
    return len(some) == len(others) and all(map(is_, some, others))


def _initializers(graph: gs.Graph) -> Sequence[gs.Tensor]:
    carried = carried_graph(graph)
    return carried.initializers if carried is not None else ()


def _attributes(node: gs.Node) -> list[tuple[str, Any]]:
    return [(name, _attribute(value)) for name, value in node.attrs.items()]


def _changed(now: dict[int, tuple[Any, ...]], before: dict[int, tuple[Any, ...]]) -> list[int]:
    both = now.keys() & before.keys()
    return [*(now.keys() ^ before.keys()), *(key for key in both if not _are_equal(now[key], before[key]))]


def _are_equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether nodes (whose tensors are compared one by one) or tensors are as they were."""
    return all(
        _are(here, there) if type(here) is list and here and isinstance(here[0], gs.Tensor) else here == there
        for here, there in zip(one[1:], other[1:], strict=True)
    )


def _tensor(tensor: gs.Tensor) -> tuple[Any, ...]:
    if isinstance(tensor, gs.Constant):
        values = tensor._values
        carried = carried_tensor(tensor)
        stored = carried.stored if carried is not None else None
        # Values that have only been read are the same.
        is_stored = stored is not None and values is stored.loaded
        return (tensor, tensor.name, id(stored) if is_stored else id(values))
    shape = tensor.shape
    return (tensor, tensor.name, tensor.dtype, None if shape is None else list(shape))


def _default_bytes(tensor: gs.Tensor) -> int | None:
    carried = carried_tensor(tensor)
    return None if carried is None or carried.default is None else int(carried.default.nbytes)


def _attribute(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return list(map(_attribute, value)) if value and type(value[0]) not in _PLAIN else list(value)
    if isinstance(value, gs.Constant):
        return id(value._values)
    if isinstance(value, (numpy.ndarray, gs.Graph)):
        return id(value)
    if isinstance(value, gs.Node.AttributeRef):
        return value.name
    return repr(value)
