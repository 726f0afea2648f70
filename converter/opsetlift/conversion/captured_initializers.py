"""Initializers that only subgraphs read, for runtimes that do not find these there."""

from __future__ import annotations

from onnx import GraphProto, ModelProto, NodeProto

from opsetlift.conversion.traced_edit import TracedEdit
from opsetlift.conversion.walked import Walked
from opsetlift.model.scopes import GRAPH_PATH, captured_names, subgraphs, subgraphs_within
from opsetlift.rulebook.trace import AppliedRules


def read_captured_initializers(source: ModelProto, walked: Walked) -> list[str]:
    """Let a Shape, whose result nothing uses, read each initializer that only graphs inside its own read, in place.

    Args:
        source: The model before the walk.
        walked: The model at its opsets, without functions; its trace goes on to relate it to `source`.

    Returns:
        The names of the initializers.
    """
    graph = walked.model.graph
    unread = {name for one in (graph, *subgraphs_within(graph)) for name in _unread(one)}
    found: list[str] = []

    def read_first(node: NodeProto, applied: AppliedRules) -> list[NodeProto] | None:
        captured = {name for _, inner in subgraphs(node) for name in captured_names(inner)}
        names = sorted(captured & unread)
        if not names:
            return None
        # What is from further out was found there: its name is left in the set no more.
        unread.difference_update(names)
        found.extend(names)
        for _, inner in subgraphs(node):
            edit.run_untraced(inner)
        shapes = [NodeProto(op_type="Shape", input=[name], output=[walked.names.fresh(name)]) for name in names]
        return [*shapes, node]

    edit = TracedEdit(walked.trace, read_first)
    if unread:
        edit.run(GRAPH_PATH, source.graph, graph)
    return found


def _unread(graph: GraphProto) -> set[str]:
    """The initializers of a graph that none of its own nodes reads."""
    read = {name for node in graph.node for name in node.input} | {info.name for info in graph.input}
    return {tensor.name for tensor in graph.initializer} - read
