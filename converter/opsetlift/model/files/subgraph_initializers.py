"""Initializers of subgraphs that are listed among the inputs of the subgraph, where no node feeds them."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import GraphProto, ModelProto

from opsetlift.model.scopes import subgraphs_within

_FIRST_IR_VERSION_WITH_FIXED_INITIALIZERS = 4


def without_initializer_inputs(model: ModelProto, inner: Iterable[GraphProto]) -> tuple[ModelProto, list[str]]:
    """The model, or a copy whose subgraphs take what their nodes feed them, and a sentence on the change.

    `inner` are the subgraphs of the model.

    IR version 3 wants initializers among the inputs of their graph. tf2onnx lists those of subgraphs, too, behind the
    inputs that the node feeds, and in later IR versions as well. Runtimes pass over them; onnx's inference misses them
    among the inputs of the node.
    """
    if not any(map(_unfed_inputs, inner)):
        return model, []
    copied = ModelProto()
    copied.CopyFrom(model)
    copied.ir_version = max(model.ir_version, _FIRST_IR_VERSION_WITH_FIXED_INITIALIZERS)
    for graph in subgraphs_within(copied.graph):
        if unfed := _unfed_inputs(graph):
            del graph.input[-unfed:]
    return copied, [
        "inputs of subgraphs that are also initializers were treated as constants, as no node passes values to them"
    ]


def _unfed_inputs(graph: GraphProto) -> int:
    """How many inputs at the end are initializers."""
    if not graph.input:
        return 0
    initialized = {tensor.name for tensor in graph.initializer}
    count = 0
    for info in reversed(graph.input):
        if info.name not in initialized:
            break
        count += 1
    return count
