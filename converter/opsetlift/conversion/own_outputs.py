"""Outputs of a model that nodes compute beside others, for runtimes that give these names of their own."""

from __future__ import annotations

from onnx import ModelProto, NodeProto, helper

from opsetlift.conversion.traced_edit import TracedEdit
from opsetlift.conversion.walked import Walked
from opsetlift.model.scopes import GRAPH_PATH
from opsetlift.rulebook.trace import AppliedRules


def give_own_nodes(source: ModelProto, walked: Walked) -> list[str]:
    """Let an Identity give each output of the graph that its node computes beside others, in place.

    Args:
        source: The model before the walk.
        walked: The model at its opsets, without functions; its trace goes on to relate it to `source`.

    Returns:
        The outputs that were given a node.
    """
    graph = walked.model.graph
    outputs = {info.name for info in graph.output}
    given: list[str] = []

    def separate(node: NodeProto, applied: AppliedRules) -> list[NodeProto] | None:
        beside = [place for place, name in enumerate(node.output) if name in outputs]
        if len(node.output) < _SEVERAL or not beside:
            return None
        copies = []
        for place in beside:
            name = node.output[place]
            node.output[place] = walked.names.fresh(name)
            copies.append(helper.make_node("Identity", [node.output[place]], [name]))
            given.append(name)
        return [node, *copies]

    TracedEdit(walked.trace, separate).run(GRAPH_PATH, source.graph, graph)
    return given


_SEVERAL = 2
