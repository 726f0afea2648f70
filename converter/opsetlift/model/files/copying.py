"""Copies of models with other tensors: without their weights for checking, with external ones for writing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from opsetlift.model.files.partial_copies import check_text, copy_without
from opsetlift.model.files.tensors import VALUE_FIELDS, Tensors, tensors_of

IsKept = Callable[[TensorProto], bool]
"""Whether a tensor is copied as it is."""

Fill = Callable[[TensorProto, TensorProto], None]
"""Fills in the data of the second tensor, which has everything else of the first."""

_KINDS_WITH_TENSORS = frozenset(
    (AttributeProto.TENSOR, AttributeProto.TENSORS, AttributeProto.GRAPH, AttributeProto.GRAPHS)
)
_DATA = (*VALUE_FIELDS, "external_data", "data_location")


def copy_with_tensors(model: ModelProto, is_kept: IsKept, fill: Fill, tensors: Tensors | None = None) -> ModelProto:
    """A copy of a model, with other data in each tensor that is not kept. Sparse ones are kept.

    What it leaves behind of a large model is never copied, not even for a while; training graphs are copied whole.
    `tensors` are those of the model, where somebody has them already.
    """
    tensors = tensors or tensors_of(model)
    if all(map(is_kept, tensors.all())):
        return copy_whole(model)
    copied = ModelProto()
    copy_without(model, copied, except_for=("graph", "functions"))
    is_in_nodes = len(tensors.dense) > len(model.graph.initializer)
    copier = _Copier(is_kept, fill, looks_into_nodes=is_in_nodes)
    copier.copy_graph(model.graph, copied.graph)
    for function in model.functions:
        target = copied.functions.add()
        copy_without(function, target, except_for=("node",))
        copier.copy_nodes(function.node, target.node)
    return copied


def copy_whole(model: ModelProto) -> ModelProto:
    """A copy of all of a model. Raises ModelFileError for text that is none, as copies of a part do."""
    check_texts(model)
    copied = ModelProto()
    copied.CopyFrom(model)
    return copied


def check_texts(model: ModelProto) -> None:
    """Raises ModelFileError where a field of the model, its graph or a function of it holds text that is none."""
    for one in (model, model.graph, *model.functions):
        check_text(one)


def _copy_head(tensor: TensorProto, target: TensorProto) -> None:
    """Copy everything that a tensor says but its data and where that lies."""
    name: object = tensor.name
    has_more = tensor.HasField("doc_string") or tensor.HasField("segment") or tensor.metadata_props
    if has_more or len(UnknownFieldSet(tensor)) or not isinstance(name, str):
        copy_without(tensor, target, except_for=_DATA)
        return
    # Most have no more than this, and to ask for a list of their fields would copy the data.
    target.dims.extend(tensor.dims)
    if tensor.HasField("data_type"):
        target.data_type = tensor.data_type
    if tensor.HasField("name"):
        target.name = name


class _Copier:
    def __init__(self, is_kept: IsKept, fill: Fill, *, looks_into_nodes: bool) -> None:
        self._is_kept = is_kept
        self._fill = fill
        self._looks_into_nodes = looks_into_nodes

    def _copy_new(self, tensor: TensorProto, target: TensorProto) -> None:
        _copy_head(tensor, target)
        self._fill(tensor, target)

    def copy_graph(self, graph: GraphProto, target: GraphProto) -> None:
        copy_without(graph, target, except_for=("node", "initializer"))
        copied, tensors = 0, graph.initializer
        for position, tensor in enumerate(tensors):
            if not self._is_kept(tensor):
                target.initializer.extend(tensors[copied:position])
                self._copy_new(tensor, target.initializer.add())
                copied = position + 1
        target.initializer.extend(tensors[copied:])
        self.copy_nodes(graph.node, target.node)

    def copy_nodes(self, nodes: Sequence[NodeProto], target: RepeatedCompositeFieldContainer[NodeProto]) -> None:
        """Copy nodes; those without tensors in runs, which protobuf does faster than one by one."""
        copied = 0
        for position, node in enumerate(nodes if self._looks_into_nodes else ()):
            for attribute in node.attribute[:]:
                if attribute.type in _KINDS_WITH_TENSORS and not self._is_copied_whole(attribute):
                    target.extend(nodes[copied:position])
                    self._copy_node(node, target.add())
                    copied = position + 1
                    break
        target.extend(nodes[copied:])

    def _is_copied_whole(self, attribute: AttributeProto) -> bool:
        """Whether an attribute that may hold tensors has one alone, and that one is kept."""
        return attribute.type == AttributeProto.TENSOR and attribute.HasField("t") and self._is_kept(attribute.t)

    def _copy_tensor(self, tensor: TensorProto, target: TensorProto) -> None:
        if self._is_kept(tensor):
            target.CopyFrom(tensor)
        else:
            self._copy_new(tensor, target)

    def _copy_node(self, node: NodeProto, target: NodeProto) -> None:
        copy_without(node, target, except_for=("attribute",))
        for attribute in node.attribute:
            copied = target.attribute.add()
            copy_without(attribute, copied, except_for=("t", "tensors", "g", "graphs"))
            if attribute.HasField("t"):
                self._copy_tensor(attribute.t, copied.t)
            for tensor in attribute.tensors:
                self._copy_tensor(tensor, copied.tensors.add())
            if attribute.HasField("g"):
                self.copy_graph(attribute.g, copied.g)
            for graph in attribute.graphs:
                self.copy_graph(graph, copied.graphs.add())
