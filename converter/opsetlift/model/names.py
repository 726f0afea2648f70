"""Names that clash with nothing in the model."""

from __future__ import annotations

from copy import copy
from functools import cached_property

from onnx import FunctionProto, GraphProto, ModelProto

from opsetlift.model.scopes import subgraphs

_SEARCHED_NAMES = 8
_SEARCHED_BYTES = 1 << 24


class Names:
    """All value and node names of a model, collected when new ones are needed.

    A conversion that needs a few only searches the model's bytes for them, which is faster than collecting all names; a
    name that stands there by accident counts as taken.
    """

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._given: set[str] = set()
        self._numbers: dict[str, int] = {}

    def renewed(self) -> Names:
        """The names for another walk of the same model: those that this one has given are free again."""
        other = copy(self)
        other._given = set()
        other._numbers = {}
        return other

    @cached_property
    def _bytes(self) -> bytes | None:
        return self._model.SerializeToString() if self._model.ByteSize() <= _SEARCHED_BYTES else None

    def _is_taken(self, name: str) -> bool:
        if len(self._given) < _SEARCHED_NAMES and self._bytes is not None:
            return name in self._given or name.encode() in self._bytes
        return name in self._given or name in self._taken

    @cached_property
    def _taken(self) -> set[str]:
        taken: set[str] = set()

        def visit(graph: GraphProto) -> None:
            taken.update(info.name for info in (*graph.input, *graph.output, *graph.value_info))
            taken.update(tensor.name for tensor in graph.initializer)
            taken.update(sparse.values.name for sparse in graph.sparse_initializer)
            visit_nodes(graph.node)

        def visit_nodes(nodes: object) -> None:
            for node in nodes:  # type: ignore[attr-defined]
                taken.update(node.input)
                taken.update(node.output)
                taken.add(node.name)
                if node.attribute:
                    for _, graph in subgraphs(node):
                        visit(graph)

        visit(self._model.graph)
        for function in self._model.functions:
            taken.update(function.input)
            visit_nodes(function.node)
        return taken

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
