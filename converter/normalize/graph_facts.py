"""What is known of the tensors of gs.Graphs: the facts of the model as it stood, and constants made since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy
import onnx
import onnx_graphsurgeon as gs
from onnx import TypeProto

from converter import dtypes
from converter.arrays import Array
from converter.evaluator import EvaluationError, run_node
from converter.facts import ModelFacts, ScopeFacts
from converter.facts.value_types import elements_of
from converter.normalize.declarations import forget_declarations
from converter.normalize.exporting import to_model, write_node
from converter.normalize.infos import element_type_of
from converter.normalize.places import Place
from converter.normalize.traversal import subgraphs_of, tensors_in

_LARGEST_READ = 1 << 23
"""Bytes. Constants up to this are read when a pass asks; larger ones are weights, read where a node is evaluated."""

_LARGEST_COPIED = 1 << 14
"""Bytes. Constants up to this are copied for facts; larger ones hold neither shapes nor axes."""

_LARGEST_EVALUATED = 1 << 28
"""Bytes of inputs, and elements of an output, up to which a node of weights is evaluated."""


Standing = tuple[int, int]
"""The number of the state that the graphs are in, names and declared types aside, and of the one the facts are from."""


class GraphFacts:
    """Types, shapes and constants by tensor.

    They are worked out on a copy of the model, when somebody asks. In our own passes a tensor stands for the same value
    as long as it exists (what gets another shape gets another tensor), so what was known of it stays true while they
    edit the graphs around it.
    """

    def __init__(self, graph: gs.Graph, places: Callable[[], Iterable[Place]], base_dir: str) -> None:
        self._graph = graph
        self._places = places
        self._base_dir = base_dir
        self._snapshot: dict[int, tuple[gs.Tensor, str, ScopeFacts]] | None = None
        self._static: dict[int, tuple[gs.Tensor, TypeProto]] = {}
        """Types of which nothing more can become known."""
        self._evaluated: dict[int, tuple[gs.Node, list[Array] | None]] = {}
        self._state = 0
        self._state_of_snapshot = 0

    @property
    def standing(self) -> Standing:
        """Where it is the same as before, the same question about the same tensor has the same answer."""
        return self._state, self._state if self._snapshot is None else self._state_of_snapshot

    def graph_has_changed(self) -> None:
        """More than names and declared types are others than before."""
        self._state += 1

    def renew(self) -> None:
        """Work out anew what may not hold any more when it is asked for next, but for types of which all is known."""
        if self._state == self._state_of_snapshot:
            return
        for tensor, name, scope in (self._snapshot or {}).values():
            found = scope.type_of(name) if id(tensor) not in self._static else None
            if found is not None and _is_static(found):
                self._static[id(tensor)] = (tensor, found)
        self._snapshot = None

    def distrust(self) -> None:
        """Work everything out anew: tensors may stand for other values than before."""
        self._snapshot = None
        self._static.clear()

    def forget_nodes(self) -> None:
        """Nodes have changed."""
        self._evaluated.clear()

    def _found(self, tensor: gs.Tensor) -> tuple[str, ScopeFacts] | None:
        if self._snapshot is None:
            self._snapshot = {}
            self._state_of_snapshot = self._state
            model = to_model(self._graph, largest=_LARGEST_COPIED)
            forget_declarations(model)
            facts = ModelFacts(model, self._base_dir)
            for place in self._places():
                scope = facts.scope(place.path)
                tensors = list(tensors_in(place.graph))
                self._snapshot.update({id(one): (one, one.name, scope) for one in tensors})
                scope.presume({one.name: self._static[id(one)][1] for one in tensors if id(one) in self._static})
        found = self._snapshot.get(id(tensor))
        return found and (found[1], found[2])

    def type_of(self, tensor: gs.Tensor) -> TypeProto | None:
        """The type with as much of the shape as is known."""
        if not isinstance(tensor, gs.Constant):
            found = self._found(tensor)
            if found is not None:
                return found[1].type_of(found[0])
            if tensor.dtype is None or getattr(tensor, "type", "tensor_type") != "tensor_type":
                return None
        return onnx.helper.make_tensor_type_proto(element_type_of(tensor.dtype), tensor.shape)

    def dtype_of(self, tensor: gs.Tensor) -> str | None:
        """The dtype of a tensor; None for what is none, or is not known."""
        found = self.type_of(tensor)
        spelt = found and dtypes.type_string(found)
        return dtypes.dtype_of_type(spelt) if spelt else None

    def shape_of(self, tensor: gs.Tensor) -> tuple[int | str | None, ...] | None:
        """The shape of a tensor, as far as it is known."""
        found = self.type_of(tensor)
        if found is None or not found.HasField("tensor_type") or not found.tensor_type.HasField("shape"):
            return None
        return tuple(
            dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or None)
            for dim in found.tensor_type.shape.dim
        )

    def constant(
        self, tensor: gs.Tensor, opsets: Mapping[str, int], may_evaluate: Callable[[gs.Node], bool]
    ) -> Array | None:
        """The value of a tensor, where it is the same in every run."""
        if isinstance(tensor, gs.Constant):
            return tensor.values if tensor._values.nbytes <= _LARGEST_READ else None
        found = self._found(tensor)
        value = found[1].constant(found[0]) if found is not None else None
        if value is not None or len(tensor.inputs) != 1:
            return value
        node = tensor.inputs[0]
        if not _reads_constants_only(node) or not may_evaluate(node):
            return None
        values = self.evaluate(node, opsets) or ()
        return next((one for output, one in zip(node.outputs, values, strict=False) if output is tensor), None)

    def evaluate(self, node: gs.Node, opsets: Mapping[str, int]) -> list[Array] | None:
        """The outputs of a deterministic operator whose inputs are constants; None where it cannot be run."""
        if id(node) not in self._evaluated:
            self._evaluated[id(node)] = (node, self._evaluate(node, opsets))
        return self._evaluated[id(node)][1]

    def _evaluate(self, node: gs.Node, opsets: Mapping[str, int]) -> list[Array] | None:
        if not _reads_constants_only(node):
            return None
        if sum(tensor._values.nbytes for tensor in node.inputs if tensor.name) > _LARGEST_EVALUATED:
            return None
        if any(isinstance(value, gs.Node.AttributeRef) for value in node.attrs.values()) or subgraphs_of(node):
            return None
        if any(elements_of(self.type_of(tensor)) > _LARGEST_EVALUATED for tensor in node.outputs if tensor.name):
            return None
        try:
            inputs = [tensor.values if tensor.name else None for tensor in node.inputs]
            results = run_node(write_node(node), inputs, opsets, strict=False)
        except (EvaluationError, ValueError, MemoryError, OSError):
            return None
        return results if all(isinstance(value, numpy.ndarray) for value in results) else None


def _reads_constants_only(node: gs.Node) -> bool:
    return all(isinstance(tensor, gs.Constant) or not tensor.name for tensor in node.inputs)


def _is_static(kind: TypeProto) -> bool:
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return False
    return all(dim.HasField("dim_value") for dim in kind.tensor_type.shape.dim)
