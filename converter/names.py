"""Names that clash with nothing in the model."""

from __future__ import annotations

from functools import cached_property

from onnx import FunctionProto, GraphProto, ModelProto

from converter.trace import subgraphs


class Names:
    """All value and node names of a model, collected when the first new one is needed."""

    def __init__(self, model: ModelProto) -> None:
        self._model = model

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
        taken = self._taken
        name, number = base, 0
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
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
