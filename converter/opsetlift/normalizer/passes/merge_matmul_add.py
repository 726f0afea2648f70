"""Replace MatMul of matrices and Add of a bias by Gemm.

The same mathematics: alpha and beta are 1. Where the bias comes in is the runtime's choice, and so is the last bit, so
the pass rounds and runs only when it is asked for. The bias must not widen the product.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import become, nodes_of, rank_of, sole_producer
from opsetlift.normalizer.rewriting import Context, Pass

_GEMM_BROADCASTS_ONE_WAY = 7
_FLOATS = frozenset(("float16", "float", "double"))


def merge_matmul_add(graph: gs.Graph, context: Context) -> None:
    """Write a product of two matrices plus something that broadcasts to it as Gemm."""
    if context.opset() < _GEMM_BROADCASTS_ONE_WAY:
        return
    for node in nodes_of(graph, "Add"):
        for position in (0, 1):
            product = sole_producer(node.inputs[position], context, "MatMul")
            if product is not None and _fits(product, node.inputs[1 - position], context):
                bias = node.inputs[1 - position]
                become(node, "Gemm", [*product.inputs, bias])
                context.inherit(node, product)
                break


def _fits(product: gs.Node, bias: gs.Tensor, context: Context) -> bool:
    ranks = [rank_of(tensor, context) for tensor in product.inputs]
    shape, known = context.shape_of(product.outputs[0]), context.shape_of(bias)
    if ranks != [2, 2] or context.dtype_of(bias) not in _FLOATS or shape is None or known is None or len(known) > 2:
        return False
    widths = shape[len(shape) - len(known) :]
    return all(size == 1 or (size is not None and size == wide) for size, wide in zip(known, widths, strict=True))


PASS = Pass(
    name="merge-matmul-add",
    rewrite=merge_matmul_add,
    summary="Replace MatMul of matrices and Add of a bias by Gemm.",
    is_default=False,
    ulps=4,
    operators=frozenset(("Add",)),
)
