"""Outputs of a model of which a runtime loses the name, or the value, where their node has more to give."""

from __future__ import annotations

from onnx import ModelProto, NodeProto, helper

from opsetlift.conversion.traced_edit import TracedEdit
from opsetlift.conversion.walked import Walked
from opsetlift.model.scopes import GRAPH_PATH
from opsetlift.rulebook.trace import AppliedRules
from opsetlift.targets import Target

_SEVERAL = 2


def keep_outputs_apart(source: ModelProto, walked: Walked, runtime: Target) -> list[str]:
    """Let an Identity give outputs of nodes with several, and nodes read others through a Max of a value and itself.

    The model is changed in place. No optimiser takes such a Max away, or merges it with what is before; some runtimes
    leave the copies of another operator alone, too.

    Args:
        source: The model before the walk.
        walked: The model at its opsets, without functions; its trace goes on to relate it to `source`.
        runtime: The runtime that the result is for.

    Returns:
        The outputs that the runtime would have lost.
    """
    graph = walked.model.graph
    outputs = {info.name for info in graph.output}
    makers = {name: node.op_type for node in graph.node for name in node.output}
    lost_where_read = {name for name in outputs if makers.get(name) in runtime.outputs_lost_where_read}
    kept: dict[str, None] = {}

    def keep(node: NodeProto, applied: AppliedRules) -> list[NodeProto] | None:
        before, after = [], []
        for name in dict.fromkeys(one for one in node.input if one in lost_where_read):
            kept[name] = None
            read = walked.names.fresh(name)
            keeper = runtime.outputs_kept_by
            before.append(helper.make_node(keeper, [name, name] if keeper == "Max" else [name], [read]))
            node.input[:] = [read if one == name else one for one in node.input]
        is_one_of_several = len(node.output) >= _SEVERAL and not runtime.takes_outputs_beside_others
        for place, name in enumerate(node.output):
            if is_one_of_several and name in outputs:
                kept[name] = None
                node.output[place] = walked.names.fresh(name)
                after.append(helper.make_node("Identity", [node.output[place]], [name]))
        return [*before, node, *after] if before or after else None

    TracedEdit(walked.trace, keep).run(GRAPH_PATH, source.graph, graph)
    return list(kept)
