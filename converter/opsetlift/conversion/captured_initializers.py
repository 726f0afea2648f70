"""Initializers that only subgraphs read, for runtimes that do not find these there."""

from __future__ import annotations

from onnx import ModelProto, NodeProto

from opsetlift.conversion.traced_edit import TracedEdit
from opsetlift.conversion.walked import Walked
from opsetlift.model.scopes import GRAPH_PATH, captured_names, subgraphs
from opsetlift.rulebook.trace import AppliedRules


def read_captured_initializers(source: ModelProto, walked: Walked) -> list[str]:
    """Let a Shape, whose result nothing uses, read each initializer of the graph that only subgraphs read, in place.

    Args:
        source: The model before the walk.
        walked: The model at its opsets, without functions; its trace goes on to relate it to `source`.

    Returns:
        The names of the initializers.
    """
    graph = walked.model.graph
    read = {name for node in graph.node for name in node.input} | {info.name for info in graph.input}
    unread = {tensor.name for tensor in graph.initializer} - read
    found: list[str] = []

    def read_first(node: NodeProto, applied: AppliedRules) -> list[NodeProto] | None:
        captured = {name for _, inner in subgraphs(node) for name in captured_names(inner)}
        names = sorted(captured & unread)
        if not names:
            return None
        unread.difference_update(names)
        found.extend(names)
        shapes = [NodeProto(op_type="Shape", input=[name], output=[walked.names.fresh(name)]) for name in names]
        return [*shapes, node]

    if unread:
        TracedEdit(walked.trace, read_first).run(GRAPH_PATH, source.graph, graph)
    return found
