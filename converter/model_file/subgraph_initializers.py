"""Initializers of subgraphs that are listed among the inputs of the subgraph, where no node feeds them."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, ModelProto

from converter.scopes import subgraphs

_FIRST_IR_VERSION_WITH_FIXED_INITIALIZERS = 4


def without_initializer_inputs(model: ModelProto) -> tuple[ModelProto, list[str]]:
    """The model, or a copy whose subgraphs take what their nodes feed them, and a sentence that says so.

    IR version 3 wants initializers among the inputs of their graph. tf2onnx lists those of subgraphs, too, behind the
    inputs that the node feeds, and in later IR versions as well. Runtimes pass over them; onnx's inference misses them
    among the inputs of the node.
    """
    if not any(_unfed_inputs(graph) for graph in _subgraphs_of(model.graph)):
        return model, []
    copied = ModelProto()
    copied.CopyFrom(model)
    copied.ir_version = max(model.ir_version, _FIRST_IR_VERSION_WITH_FIXED_INITIALIZERS)
    for graph in _subgraphs_of(copied.graph):
        if unfed := _unfed_inputs(graph):
            del graph.input[-unfed:]
    return copied, [
        "subgraphs list initializers among their inputs, where no node feeds them; they were taken for constants"
    ]


def _unfed_inputs(graph: GraphProto) -> int:
    """How many inputs at the end are initializers."""
    initialized = {tensor.name for tensor in graph.initializer}
    count = 0
    for info in reversed(graph.input):
        if info.name not in initialized:
            break
        count += 1
    return count


def _subgraphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    for node in graph.node:
        for _, subgraph in subgraphs(node):
            yield subgraph
            yield from _subgraphs_of(subgraph)
