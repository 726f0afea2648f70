"""What can be known of the dtypes and shapes of values is written down.

A dimension is written as a number or as the symbol that the model's inputs give it. The declarations of inputs and
outputs are the caller's, and stay. Function bodies are called with any types, so nothing is written there.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from converter import dtypes
from converter.normalize.rewriting import Context, Pass


def infer_shapes(graph: gs.Graph, context: Context) -> None:
    """Declare the values that the graph's nodes compute."""
    if context.scope == "function":
        return
    for node in graph.nodes:
        for output in node.outputs:
            if output.is_empty() or context.is_output(output) or output.type != "tensor_type":
                continue
            dtype, shape = context.dtype_of(output), context.shape_of(output)
            if dtype is None:
                continue
            numpy_dtype = dtypes.numpy_dtype(dtype)
            if output.dtype != numpy_dtype:
                output.dtype = numpy_dtype
            if shape is not None and (output.shape is None or tuple(output.shape) != shape):
                output.shape = list(shape)


PASS = Pass(
    name="infer-shapes",
    rewrite=infer_shapes,
    summary="The dtypes and shapes that can be known of values are written down.",
)
