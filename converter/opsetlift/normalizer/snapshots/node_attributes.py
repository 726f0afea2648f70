"""The attributes of nodes, to be compared with those of an earlier snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, count, repeat
from operator import attrgetter, ne
from typing import Any

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values

_PLAIN = frozenset((int, float, str, bytes))
_PLAIN_OR_LIST = _PLAIN | {list}

_attributes_of = attrgetter("attrs")

Shown = dict[str, Any]
"""The attributes of a node: plain values and lists as they are, everything else by identity or as text."""


class NodeAttributes:
    """The attributes of nodes. What is the same as in `before` is shared with it."""

    def __init__(self, nodes: Sequence[gs.Node], before: NodeAttributes | None = None) -> None:
        self._nodes = nodes
        attributes = list(map(_attributes_of, nodes))
        known = before._plain_ones() if before is not None else {}
        self.shown: list[Shown] = list(map(known.get, map(id, nodes), repeat({})))
        """By node, in order."""
        others = _others(attributes, self.shown)
        for index in others:
            self.shown[index] = _shown(attributes[index])
        self._special = [index for index in others if not _compares_as_it_is(self.shown[index])]
        """The nodes that hold more than plain values, and lists of such."""

    def renewed(self) -> NodeAttributes:
        """The attributes as they are now; this very object where they are as they were."""
        attributes = list(map(_attributes_of, self._nodes))
        for index in self._special:
            attributes[index] = _shown(attributes[index])
        return NodeAttributes(self._nodes, self) if _others(attributes, self.shown) else self

    def _plain_ones(self) -> dict[int, Shown]:
        shown = dict(zip(map(id, self._nodes), self.shown, strict=True))
        for index in self._special:
            shown.pop(id(self._nodes[index]), None)
        return shown


def _others(attributes: Sequence[Mapping[str, Any]], shown: Sequence[Shown]) -> Sequence[int]:
    """Where attributes are others than shown."""
    try:
        return list(compress(count(), map(ne, attributes, shown)))
    except (AttributeError, TypeError, ValueError):  # tensors and arrays are not to be compared with plain values
        return range(len(attributes))


class _Identity:
    """An object that is equal to itself only; it is kept alive."""

    def __init__(self, one: Any) -> None:
        self._one = one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other._one is self._one

    __hash__ = None  # type: ignore[assignment]


def _shown(attributes: Mapping[str, Any]) -> Shown:
    return {name: value if type(value) in _PLAIN else _shown_value(value) for name, value in attributes.items()}


def _shown_value(value: Any) -> Any:
    if type(value) is list:
        return [one if type(one) in _PLAIN else _shown_value(one) for one in value]
    if isinstance(value, gs.Constant):
        return _Identity(held_values(value))
    if isinstance(value, (numpy.ndarray, gs.Graph)):
        return _Identity(value)
    if isinstance(value, gs.Node.AttributeRef):
        return ("reference", value.name)
    return ("text", repr(value))


def _compares_as_it_is(shown: Shown) -> bool:
    """Whether attributes that are still the same are equal to what has been shown of them."""
    kinds = set(map(type, shown.values()))
    if kinds <= _PLAIN:
        return True
    lists = (value for value in shown.values() if type(value) is list)
    return kinds <= _PLAIN_OR_LIST and all(_PLAIN.issuperset(map(type, value)) for value in lists)
