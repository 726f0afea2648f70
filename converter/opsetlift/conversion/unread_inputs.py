"""Nodes that read the inputs that no others read, for runtimes that fail where such an input is given."""

from __future__ import annotations

from onnx import helper

from opsetlift.conversion.walked import Walked
from opsetlift.model.scopes import GRAPH_PATH, referenced_names


def read_all_inputs(walked: Walked) -> list[str]:
    """Put an Identity before the first node for each input of the graph that nothing reads, in place.

    Args:
        walked: The model at its opsets; its trace takes note of these nodes.

    Returns:
        The names of these inputs.
    """
    graph = walked.model.graph
    known = {tensor.name for tensor in graph.initializer} | set(referenced_names(graph))
    unread = [info.name for info in graph.input if info.name not in known]
    if not unread or not graph.node:
        return []
    nodes = [helper.make_node("Identity", [name], [walked.names.fresh(name)]) for name in unread]
    trace = walked.trace.scope(GRAPH_PATH)
    trace.leading_copies = len(nodes)
    for site in trace.sites:
        site.start += len(nodes)
        site.stop += len(nodes)
    nodes += graph.node
    del graph.node[:]
    graph.node.extend(nodes)
    return unread
