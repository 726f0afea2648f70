"""Repairs what existing files leave out or write in an old form, before anything else reads the model."""

from __future__ import annotations

from onnx import GraphProto, ModelProto

from opsetlift.model.def_use import ModelIndex
from opsetlift.model.files.missing_imports import with_missing_imports
from opsetlift.model.files.negative_sizes import with_open_dimensions
from opsetlift.model.files.order import NodesNotSorted, with_sorted_nodes
from opsetlift.model.files.subgraph_initializers import without_initializer_inputs
from opsetlift.model.files.validation import validate_model


def repaired(model: ModelProto, index: ModelIndex | None = None) -> tuple[ModelProto, list[str]]:
    """The model, or a copy that states what every runtime reads in it; and a sentence on each change.

    `index` has its definitions and uses, where they are known.
    """
    graph = (index or ModelIndex(model)).graph
    inner = list(graph.within())
    graphs = [one.container for one in inner if isinstance(one.container, GraphProto)]
    imported, notes = with_missing_imports(model, [graph, *inner])
    opened, more = with_open_dimensions(imported, graphs)
    result, others = without_initializer_inputs(opened, graphs)
    return result, notes + more + others


def validated(model: ModelProto, index: ModelIndex | None = None) -> tuple[ModelProto, list[str]]:
    """The model, or a copy whose nodes are sorted, checked to be sound.

    IR.md wants each node after those whose values it reads. onnxruntime sorts nodes itself: its quantizer, and tools
    that edit graphs, leave models behind that run there and that onnx's checker rejects.

    Args:
        model: The model.
        index: Its definitions and uses, where they are known.

    Returns:
        The model, and a sentence on what was changed and on each thing that is unusual, but accepted.

    Raises:
        ModelFileError: The model is not sound; with the first fault.
    """
    try:
        return model, validate_model(model, index)
    except NodesNotSorted as error:
        result = with_sorted_nodes(model)
        note = f"the nodes of {error.path} were sorted: some came before those whose values they read"
        return result, [note, *validate_model(result)]
