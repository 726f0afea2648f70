"""Nodes that are alike have outputs of the same types: onnx infers them once.

What onnx's inference says of a node follows from its operator and attributes, the types of its inputs, and the values
of those that may be sizes. Models repeat the same blocks, so most nodes are like one before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import TypeProto

from opsetlift.facts.value_types import may_be_sizes

Key = tuple[Any, ...]
"""Everything that the types of a node's outputs follow from."""


class LikeNodes:
    """The types that were found for the outputs of nodes, by what they follow from; of all scopes of one model."""

    def __init__(self) -> None:
        self._found: dict[Key, tuple[int, Sequence[TypeProto | None]]] = {}
        self._parts: dict[Key, int] = {}
        self._numbers: dict[bytes, int] = {}
        self.has_sizes: list[bool] = []
        """Whether sizes may follow from the values of a tensor, by the number of its type."""
        self._shared: dict[int, tuple[int, TypeProto]] = {}
        """The numbers of types that outputs share, by identity."""

    def outputs_of(self, key: Key | None) -> tuple[int, Sequence[TypeProto | None]] | None:
        """The kind and the types of the outputs of a node that is like one before; None where none has been."""
        return None if key is None else self._found.get(key)

    def learn(self, key: Key | None, types: Sequence[TypeProto | None], *, is_typed: bool) -> int:
        """Keep the types of the outputs of a node. They are shared from now on, and must not be changed.

        Args:
            key: What they follow from.
            types: The types.
            is_typed: Whether the types of all its inputs are known.

        Returns:
            The node's kind: a number that other nodes have only with the same operator and attributes, and the same
            types of inputs and outputs; 0 where that cannot be said.
        """
        if key is None:
            return 0
        kind = len(self._found) + 1 if is_typed else 0
        self._found[key] = kind, types
        for one in types:
            if one is not None and id(one) not in self._shared:
                self._shared[id(one)] = self.number(one), one
        return kind

    def part(self, key: Key) -> int:
        """The number of a part of keys, 1 or more, which is hashed once instead of with each."""
        return self._parts.setdefault(key, len(self._parts) + 1)

    def number(self, known: TypeProto) -> int:
        """The number of a type, the same for equal ones."""
        shared = self._shared.get(id(known))
        if shared is not None:
            return shared[0]
        content = known.SerializeToString(deterministic=True)
        if content not in self._numbers:
            self._numbers[content] = len(self._numbers)
            self.has_sizes.append(may_be_sizes(known))
        return self._numbers[content]
