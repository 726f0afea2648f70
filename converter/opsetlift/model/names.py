"""Names that clash with nothing in the model."""

from __future__ import annotations

from copy import copy

from onnx import FunctionProto, ModelProto

from opsetlift.model.def_use import ModelIndex

NAMES_OF_RUNTIMES = frozenset({"squeeze_axes", "gemm_input_shape", "gemm_output_shape"})
"""Names that optimisers of onnxruntime give to initializers of theirs where no node has them, whatever initializers do.

A model that has such an initializer, and what they look for, does not load: of 1,482 exports, 17 did not once
normalising had called the axes of a Squeeze that computes "squeeze" so.
"""


class Names:
    """All value and node names of a model, collected when the first new one is needed.

    Args:
        model: The model, which must not change.
        index: Its definitions and uses, where there is an index already.
    """

    def __init__(self, model: ModelProto, index: ModelIndex | None = None) -> None:
        self._index = index or ModelIndex(model)
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
        return name in self._given or name in NAMES_OF_RUNTIMES or name in self._index.every_name

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
