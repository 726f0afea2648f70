"""Nodes for initializers that only subgraphs read, as the first runtimes with subgraphs did not find those."""

from __future__ import annotations

from onnx import ModelProto, NodeProto, TensorProto, helper

from opsetlift.model.scopes import referenced_names, subgraphs_within


def write_captured_initializers_as_nodes(model: ModelProto) -> None:
    """Write each initializer that no node of the graph itself reads, but one of a subgraph, as a Constant.

    Inputs of the model with a default stay inputs, and data in other files stays there.
    """
    graph = model.graph
    captured = {name for inner in subgraphs_within(graph) for name in referenced_names(inner)}
    beside = {name for node in graph.node for name in node.input} | {info.name for info in graph.input}
    moved = [
        one for one in graph.initializer if one.name in captured - beside and one.data_location != TensorProto.EXTERNAL
    ]
    if not moved:
        return
    nodes = [_constant(one) for one in moved]
    for one in moved:
        graph.initializer.remove(one)
    kept = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *kept])


def _constant(tensor: TensorProto) -> NodeProto:
    value = TensorProto()
    value.CopyFrom(tensor)
    value.ClearField("name")
    return helper.make_node("Constant", [], [tensor.name], value=value)
