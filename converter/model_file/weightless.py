"""Copies of models with other tensors: without their weights for checking, with external ones for writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from converter.model_file.shells import copy_shell

CopyTensor = Callable[[TensorProto, TensorProto], None]
"""Fills the second tensor, an empty one, with what shall stand for the first."""

_GRAPH_KINDS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
_TENSOR_KINDS = (AttributeProto.TENSOR, AttributeProto.TENSORS)


def copy_with_tensors(model: ModelProto, copy_tensor: CopyTensor) -> ModelProto:
    """A copy of a model, `copy_tensor` having been asked for each tensor. Sparse ones are copied as they are.

    What it leaves behind is never copied, not even for a while; training graphs are copied whole.
    """
    copied = ModelProto()
    copy_shell(model, copied, except_for=("graph", "functions"))
    _copy_graph(model.graph, copied.graph, copy_tensor)
    for function in model.functions:
        target = copied.functions.add()
        copy_shell(function, target, except_for=("node",))
        _copy_nodes(function.node, target.node.add, copy_tensor)
    return copied


def copy_head(tensor: TensorProto, target: TensorProto) -> None:
    """Copy everything that a tensor says but its data and where that lies."""
    data = ("float_data", "int32_data", "string_data", "int64_data", "raw_data", "double_data", "uint64_data")
    copy_shell(tensor, target, except_for=(*data, "external_data", "data_location"))


def _copy_graph(graph: GraphProto, target: GraphProto, copy_tensor: CopyTensor) -> None:
    copy_shell(graph, target, except_for=("node", "initializer"))
    for tensor in graph.initializer:
        copy_tensor(tensor, target.initializer.add())
    _copy_nodes(graph.node, target.node.add, copy_tensor)


def _copy_nodes(nodes: Iterable[NodeProto], add: Callable[[], NodeProto], copy_tensor: CopyTensor) -> None:
    for node in nodes:
        if any(attribute.type in _GRAPH_KINDS or attribute.type in _TENSOR_KINDS for attribute in node.attribute):
            _copy_node(node, add(), copy_tensor)
        else:
            add().CopyFrom(node)


def _copy_node(node: NodeProto, target: NodeProto, copy_tensor: CopyTensor) -> None:
    copy_shell(node, target, except_for=("attribute",))
    for attribute in node.attribute:
        copied = target.attribute.add()
        copy_shell(attribute, copied, except_for=("t", "tensors", "g", "graphs"))
        if attribute.HasField("t"):
            copy_tensor(attribute.t, copied.t)
        for tensor in attribute.tensors:
            copy_tensor(tensor, copied.tensors.add())
        if attribute.HasField("g"):
            _copy_graph(attribute.g, copied.g, copy_tensor)
        for graph in attribute.graphs:
            _copy_graph(graph, copied.graphs.add(), copy_tensor)
