"""Constant nodes become initializers.

One policy: a constant is an initializer wherever initializers exist. Function bodies have none, and up to IR version 3
each of them is an input that callers may override; there Constant nodes stay. So do those that compute an output.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.graphs.attached_metadata import TensorMetadata, attach
from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.graphs.stored import StoredTensor
from opsetlift.normalizer.helpers.editing import nodes_of
from opsetlift.normalizer.rewriting import Context, Pass

_PLAIN = {
    "value_float": numpy.float32,
    "value_floats": numpy.float32,
    "value_int": numpy.int64,
    "value_ints": numpy.int64,
}


def constants_as_initializers(graph: gs.Graph, context: Context) -> None:
    """Turn the outputs of Constant nodes into constants of the graph."""
    if not context.has_initializers:
        return
    for node in nodes_of(graph, "Constant"):
        output = node.outputs[0]
        values = _stored(node)
        if values is None or context.is_output(output):
            continue
        node.outputs.clear()
        output.to_constant(values)
        if isinstance(values, StoredTensor):
            attach(output, TensorMetadata(stored=values))


def _stored(node: gs.Node) -> object:
    """The values of a Constant node as an initializer would hold them; None for strings and sparse tensors."""
    if len(node.attrs) != 1 or len(node.outputs) != 1:
        return None
    ((name, value),) = node.attrs.items()
    if name == "value" and isinstance(value, gs.Constant):
        return held_values(value)
    if name in _PLAIN:
        return numpy.array(value, dtype=_PLAIN[name])
    return None


PASS = Pass(
    name="constants-as-initializers",
    rewrite=constants_as_initializers,
    summary="Replace Constant nodes by initializers, in graphs that can have them.",
    operators=frozenset(("Constant",)),
)
