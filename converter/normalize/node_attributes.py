"""The attributes of nodes as they stand, to be compared with how they stood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy
import onnx_graphsurgeon as gs

_PLAIN = frozenset((int, float, str, bytes))
_PLAIN_OR_LIST = _PLAIN | {list}

_attributes_of = attrgetter("attrs")

Shown = dict[str, Any]
"""The attributes of a node: plain values, lists as they stood, and everything else by what it is."""


class NodeAttributes:
    """The attributes of nodes."""

    def __init__(self, nodes: Sequence[gs.Node]) -> None:
        self._nodes = nodes
        self.shown: list[Shown] = [_shown(given) if given else {} for given in map(_attributes_of, nodes)]
        """By node, in order."""
        self._others = [index for index, shown in enumerate(self.shown) if shown and not _compares_as_it_is(shown)]
        """The nodes that hold more than plain values, and lists of such."""

    def renewed(self) -> NodeAttributes:
        """The attributes as they are now; this very object where they are as they were."""
        attributes = list(map(_attributes_of, self._nodes))
        for index in self._others:
            attributes[index] = _shown(attributes[index])
        return self if attributes == self.shown else NodeAttributes(self._nodes)


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
        return _Identity(value._values)
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
