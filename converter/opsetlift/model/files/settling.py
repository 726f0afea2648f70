"""What files in the wild leave out or write in an old manner, settled before anything else reads the model."""

from __future__ import annotations

from onnx import ModelProto

from opsetlift.model.files.missing_imports import with_missing_imports
from opsetlift.model.files.subgraph_initializers import without_initializer_inputs
from opsetlift.model.scopes import subgraphs_within


def settled(model: ModelProto) -> tuple[ModelProto, list[str]]:
    """The model, or a copy that says what every runtime reads in it, and a sentence for each thing that was changed."""
    inner = list(subgraphs_within(model.graph))
    imported, notes = with_missing_imports(model, [model.graph, *inner])
    found, more = without_initializer_inputs(imported, inner)
    return found, notes + more
