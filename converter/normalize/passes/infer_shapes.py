"""What can be known of the dtypes and shapes of values is written down.

A dimension is written as a number or as the symbol that the model's inputs give it. What the file declares beyond that
stays where it does not contradict. The declarations of inputs and outputs are the caller's. Function bodies are called
with any types, so nothing is written there.
"""

from __future__ import annotations

from collections.abc import Sequence

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
            if shape is not None:
                _declare(output, shape)


_MADE_UP = "unk__"
"""How the names begin that onnx's inference gives to sizes that it does not know."""


def _declare(output: gs.Variable, shape: tuple[int | str | None, ...]) -> None:
    known = [None if isinstance(size, str) and size.startswith(_MADE_UP) else size for size in shape]
    declared = output.shape
    if declared is not None and not _contradicts(declared, known):
        known = [
            of if size is None or (isinstance(of, int) and not isinstance(size, int)) else size
            for size, of in zip(known, declared, strict=True)
        ]
    if declared is None or list(declared) != known:
        output.shape = known


def _contradicts(declared: Sequence[int | str | None], known: Sequence[int | str | None]) -> bool:
    return len(declared) != len(known) or any(
        isinstance(of, int) and isinstance(size, int) and of != size for of, size in zip(declared, known, strict=True)
    )


PASS = Pass(
    name="infer-shapes",
    rewrite=infer_shapes,
    summary="The dtypes and shapes that can be known of values are written down.",
)
