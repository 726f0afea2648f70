"""Repairs what existing files leave out or write in an old form, before anything else reads the model."""

from __future__ import annotations

from onnx import ModelProto

from opsetlift.model.files.missing_imports import with_missing_imports
from opsetlift.model.files.subgraph_initializers import without_initializer_inputs
from opsetlift.model.scopes import subgraphs_within


def repaired(model: ModelProto) -> tuple[ModelProto, list[str]]:
    """The model, or a copy that states what every runtime reads in it; and a sentence on each change."""
    inner = list(subgraphs_within(model.graph))
    imported, notes = with_missing_imports(model, [model.graph, *inner])
    result, more = without_initializer_inputs(imported, inner)
    return result, notes + more
