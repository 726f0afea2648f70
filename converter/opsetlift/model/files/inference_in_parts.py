"""onnx's shape inference of graphs with many subgraphs, in time that grows with the graph.

For each subgraph onnx copies the table of all values of the scope around it, so that its time grows with the number of
subgraphs times that of the values. Consecutive nodes get a model of their own here, which declares what they read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from onnx import GraphProto, ModelProto, NodeProto, TypeProto, shape_inference

from opsetlift.model.def_use import uses_of
from opsetlift.model.files.partial_copies import copy_without
from opsetlift.model.scopes import graphs_of

_MOST_COPIED = 1 << 18
"""So many entries of tables may onnx copy before a graph is inferred in parts."""

_NODES_PER_PART = 64


def needs_parts(model: ModelProto) -> bool:
    """Whether onnx's inference of the model as a whole would copy its tables too often."""
    given = filter(None, map(attrgetter("attribute"), model.graph.node))
    with_subgraphs = sum(1 for attributes in given if graphs_of(attributes[:]))
    return with_subgraphs * len(model.graph.node) > _MOST_COPIED and not model.functions


def infer_in_parts(model: ModelProto) -> None:
    """Infer all types and shapes as `onnx.checker` in full does, a part of the graph at a time.

    Args:
        model: A model without functions that the checker accepts without shape inference: its nodes are sorted.

    Raises:
        InferenceError: onnx's, where a node or a declaration is wrong.
    """
    for _ in _Parts(model, is_strict=True).inferred():
        pass


def inferred_in_parts(model: ModelProto) -> GraphProto:
    """The graph of such a model with what onnx infers of it, subgraphs included, without its propagation of data."""
    found = GraphProto(input=model.graph.input)
    for part in _Parts(model, is_strict=False).inferred():
        found.node.MergeFrom(part.node)
        found.value_info.MergeFrom(part.value_info)
        found.output.MergeFrom(part.output)
    return found


class _Parts:
    def __init__(self, model: ModelProto, *, is_strict: bool) -> None:
        self._is_strict = is_strict
        graph = model.graph
        self._model = model
        self._types: dict[str, TypeProto] = {info.name: info.type for info in graph.input}
        self._inputs = set(self._types)
        self._outputs = {info.name: info for info in graph.output}
        self._declared = {info.name: info for info in graph.value_info}
        self._dense = {tensor.name: tensor for tensor in graph.initializer}
        self._sparse = {tensor.values.name: tensor for tensor in graph.sparse_initializer}
        self._constants: dict[str, NodeProto] = {}

    def inferred(self) -> Iterator[GraphProto]:
        """The parts, with the types of what their nodes compute."""
        nodes = self._model.graph.node
        for start in range(0, len(nodes), _NODES_PER_PART):
            yield self._inferred(nodes[start : start + _NODES_PER_PART])

    def _inferred(self, nodes: Sequence[NodeProto]) -> GraphProto:
        """Infer the types of what some consecutive nodes compute, from those before them."""
        part = ModelProto()
        copy_without(self._model, part, except_for=("graph", "training_info"))
        part.graph.name = self._model.graph.name
        defined = {name: None for node in nodes for name in node.output if name}
        for name in dict.fromkeys(uses_of(nodes)):
            if name not in defined:
                self._declare(name, part.graph)
        part.graph.node.extend(nodes)
        for name in defined:
            if name in self._outputs:
                part.graph.output.append(self._outputs[name])
            elif name in self._declared:
                part.graph.value_info.append(self._declared[name])
        inferred = shape_inference.infer_shapes(part, check_type=self._is_strict, strict_mode=self._is_strict).graph
        self._types.update((info.name, info.type) for info in (*inferred.value_info, *inferred.output))
        for node in nodes:
            if node.op_type == "Constant":
                self._constants.update(dict.fromkeys(node.output, node))
        return inferred

    def _declare(self, name: str, graph: GraphProto) -> None:
        """Declare a value from before a part as the whole model has it: constants as such."""
        if name in self._constants:
            graph.node.append(self._constants[name])
            return
        if name in self._dense:
            graph.initializer.append(self._dense[name])
        if name in self._sparse:
            graph.sparse_initializer.append(self._sparse[name])
        is_initializer = name in self._dense or name in self._sparse
        if name in self._types and (name in self._inputs or not is_initializer):
            graph.input.add(name=name).type.CopyFrom(self._types[name])
