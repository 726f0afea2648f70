"""What can be known of the dtypes and shapes of values is written down.

A dimension is written as a number or as the symbol that the model's inputs give it. What the file declares beyond that
stays where it does not contradict. The declarations of inputs and outputs are the caller's. Function bodies are called
with any types, so nothing is written there. What Normalizer gives stays undeclared: where onnxruntime (up to 1.32)
knows that it is as large as the input, it computes in the memory of the input, and loses signs.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_graphsurgeon as gs

from opsetlift.facts import MADE_UP
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.specification import dtypes

_UNDECLARED = frozenset([("ai.onnx.ml", "Normalizer")])


def infer_shapes(graph: gs.Graph, context: Context) -> bool:
    """Declare the values that the graph's nodes compute."""
    is_done = False
    if context.scope == "function":
        return is_done
    for node in graph.nodes:
        for output in node.outputs if (node.domain, node.op) not in _UNDECLARED else ():
            if not output.is_empty() and output.type == "tensor_type" and not context.is_output(output):
                is_done |= _declare(output, context)
    return is_done


def _declare(output: gs.Variable, context: Context) -> bool:
    dtype = context.dtype_of(output)
    if dtype is None:
        return False
    numpy_dtype, shape = dtypes.numpy_dtype(dtype), _shape(output, context)
    has_dtype = output.dtype is not None and output.dtype == numpy_dtype  # None is equal to numpy's float64
    if has_dtype and output.shape is shape:
        return False
    if not has_dtype:
        output.dtype = numpy_dtype
    output.shape = shape
    return True


def _shape(output: gs.Variable, context: Context) -> Sequence[int | str | None] | None:
    """The shape to declare: the one that is known, and what the file says beyond it."""
    declared: Sequence[int | str | None] | None = output.shape
    found = context.shape_of(output)
    if found is None or (declared is not None and tuple(declared) == found):
        return declared
    known = [None if isinstance(size, str) and size.startswith(MADE_UP) else size for size in found]
    if declared is None or _contradicts(declared, known):
        return known
    both = [
        of if size is None or (isinstance(of, int) and not isinstance(size, int)) else size
        for size, of in zip(known, declared, strict=True)
    ]
    return declared if list(declared) == both else both


def _contradicts(declared: Sequence[int | str | None], known: Sequence[int | str | None]) -> bool:
    return len(declared) != len(known) or any(
        isinstance(of, int) and isinstance(size, int) and of != size for of, size in zip(declared, known, strict=True)
    )


PASS = Pass(
    name="infer-shapes",
    rewrite=infer_shapes,
    summary="Record the dtypes and shapes of values, as far as they can be inferred.",
)
