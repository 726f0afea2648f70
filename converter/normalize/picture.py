"""A model as it stands, to be compared with how it stood: whether a pass did something, and how much."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy
import onnx_graphsurgeon as gs

from converter.normalize.carried import carried_graph, carried_tensor
from converter.normalize.places import Place

_PLAIN = frozenset((int, float, str, bytes))


class Picture:
    """The nodes, the tensors and the lists of every graph of a model."""

    def __init__(self, places: Iterable[Place], functions: Iterable[gs.Function]) -> None:
        self._nodes: dict[int, Any] = {}
        tensors: dict[int, gs.Tensor] = {}
        lists: list[Any] = [[id(function) for function in functions]]
        for place in places:
            graph = place.graph
            for node in graph.nodes:
                self._nodes[id(node)] = (
                    node,
                    node.op,
                    node.name,
                    node.domain,
                    list(map(id, node.inputs)),
                    list(map(id, node.outputs)),
                    [(name, _attribute(value)) for name, value in node.attrs.items()],
                )
                tensors.update(zip(map(id, node.inputs), node.inputs, strict=True))
                tensors.update(zip(map(id, node.outputs), node.outputs, strict=True))
            carried = carried_graph(graph)
            listed = (*graph.inputs, *graph.outputs, *(carried.initializers if carried is not None else ()))
            tensors.update(zip(map(id, listed), listed, strict=True))
            lists.append((list(map(id, graph.nodes)), list(map(id, graph.inputs)), list(map(id, graph.outputs))))
            if place.scope == "graph":
                required = [tensor.name for tensor in graph.inputs if _default_bytes(tensor) is None]
                self.interface = (required, [tensor.name for tensor in graph.outputs])
        self._lists = lists
        self._tensors = {key: _tensor(tensor) for key, tensor in tensors.items()}

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
            return int(self._lists != before._lists)
        constants = sum(isinstance((self._tensors.get(key) or before._tensors[key])[0], gs.Constant) for key in tensors)
        return len(nodes) + constants or 1


def _changed(now: dict[int, Any], before: dict[int, Any]) -> list[int]:
    if now == before:
        return []
    return [*(now.keys() ^ before.keys()), *(key for key in now.keys() & before.keys() if now[key] != before[key])]


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
