"""Which tensors depend on the inputs of a run: they are not constant, which is much cheaper to find than values."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_graphsurgeon as gs

from opsetlift.evaluator import may_read_only_shapes
from opsetlift.normalizer.graphs.places import Place
from opsetlift.specification import history


class Dependence:
    """The tensors of some graphs that certainly depend on the inputs of their graph.

    Nodes that read only the shape of such a tensor may give a constant. What a subgraph computes from outer tensors is
    not followed.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        self._tensors: dict[int, gs.Tensor] = {}
        """By identity; a tensor that is kept alive keeps its own."""
        for place in reversed(list(places)):  # what holds a subgraph comes before it
            self._tensors.update((id(tensor), tensor) for tensor in place.graph.inputs)
            for node in place.graph.nodes:
                if self._is_followed(node):
                    self._tensors.update((id(tensor), tensor) for tensor in node.outputs)

    def holds(self, tensor: gs.Tensor) -> bool:
        """Whether a tensor depends on the run; one that was made since then is known by the node that computes it."""
        if id(tensor) not in self._tensors:
            if len(tensor.inputs) != 1 or not self._is_followed(tensor.inputs[0]):
                return False
            self._tensors[id(tensor)] = tensor
        return True

    def _is_followed(self, node: gs.Node) -> bool:
        return any(id(tensor) in self._tensors for tensor in node.inputs) and not may_read_only_shapes(
            history.canonical_domain(node.domain or ""), node.op
        )
