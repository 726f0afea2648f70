"""Names that clash with nothing in the model."""

from __future__ import annotations

from copy import copy

from onnx import FunctionProto, ModelProto

from opsetlift.model.def_use import ModelIndex
from opsetlift.model.files.tensors import are_at_most

NAMES_OF_RUNTIMES = frozenset({"squeeze_axes", "gemm_input_shape", "gemm_output_shape"})
"""Names that optimisers of onnxruntime give to initializers of theirs where no node has them, whatever initializers do.

A model that has such an initializer, and what they look for, does not load: of 1,482 exports, 17 did not once
normalising had called the axes of a Squeeze that computes "squeeze" so.
"""

_SEARCHED_NAMES = 8
_SEARCHED_BYTES = 1 << 24


class Names:
    """All value and node names of a model, collected when new ones are needed.

    A conversion that needs only a few searches the model's bytes for them, which is faster than collecting all names; a
    name that is part of something else there counts as taken.

    Args:
        model: The model, which must not change.
        index: Its definitions and uses, where there is an index already.
    """

    def __init__(self, model: ModelProto, index: ModelIndex | None = None) -> None:
        self._original = _OriginalNames(model, index or ModelIndex(model))
        self._given: set[str] = set()
        self._numbers: dict[str, int] = {}

    def renewed(self) -> Names:
        """The names for another walk of the same model: those that this one has given are free again.

        What either of them finds out about the model serves both.
        """
        other = copy(self)
        other._given, other._numbers = set(), {}
        return other

    def _is_taken(self, name: str) -> bool:
        if name in self._given or name in NAMES_OF_RUNTIMES:
            return True
        return self._original.has(name, are_few=len(self._given) < _SEARCHED_NAMES)

    def is_free(self, name: str) -> bool:
        """Whether nothing has a name."""
        return not self._is_taken(name)

    def fresh(self, base: str) -> str:
        """`base`, or `base_1`, `base_2`... whichever is free; it is taken from then on."""
        # No name becomes free again, so that the search goes on where the last one for this base ended.
        number = self._numbers.get(base, 0)
        name = f"{base}_{number}" if number else base
        while self._is_taken(name):
            number += 1
            name = f"{base}_{number}"
        self._numbers[base] = number
        self._given.add(name)
        return name


class _OriginalNames:
    """The names of a model, searched for in its bytes or collected; never both ways for long."""

    def __init__(self, model: ModelProto, index: ModelIndex) -> None:
        self._model = model
        self._index = index
        self._bytes: bytes | None = None
        self._collected: frozenset[str] | None = None

    def has(self, name: str, *, are_few: bool) -> bool:
        """Whether a name is taken; `are_few`: it is one of a few, for which collecting all does not pay."""
        if self._collected is None and are_few:
            if self._bytes is None and are_at_most(self._model.graph.initializer, _SEARCHED_BYTES):
                content = self._model.SerializeToString()
                self._bytes = content if len(content) <= _SEARCHED_BYTES else None
            if self._bytes is not None:
                return name.encode() in self._bytes
        if self._collected is None:
            self._collected = frozenset(self._index.names() | self._index.node_names())
            self._bytes = None
        return name in self._collected


class FunctionNames:
    """Names for copies of functions."""

    def __init__(self, model: ModelProto) -> None:
        self._taken = {(function.domain, function.name) for function in model.functions}

    def fresh(self, function: FunctionProto) -> str:
        """`name_1`, `name_2`... whichever no function of its domain has; it is taken from then on."""
        number = 1
        while (function.domain, f"{function.name}_{number}") in self._taken:
            number += 1
        self._taken.add((function.domain, f"{function.name}_{number}"))
        return f"{function.name}_{number}"
