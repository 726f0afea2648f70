"""Inputs with a default value become constants, where the caller never gives another one.

Up to IR version 3 every initializer had to be listed as an input, and exporters went on to do so. As any of them may be
overridden they are no constants, and nothing can be computed from them ahead. Only who runs the model knows that nobody
does.
"""

from __future__ import annotations

from onnx import ModelProto

_FIRST_IR_VERSION_WITH_FIXED_INITIALIZERS = 4


def with_fixed_initializers(model: ModelProto) -> ModelProto:
    """A copy of a model without those of its inputs that have an initializer; its IR version is 4 or newer."""
    fixed = ModelProto()
    fixed.CopyFrom(model)
    graph = fixed.graph
    named = {tensor.name for tensor in graph.initializer} | {sparse.values.name for sparse in graph.sparse_initializer}
    kept = [info for info in graph.input if info.name not in named]
    if len(kept) < len(graph.input):
        del graph.input[:]
        graph.input.extend(kept)
        fixed.ir_version = max(fixed.ir_version, _FIRST_IR_VERSION_WITH_FIXED_INITIALIZERS)
    return fixed
