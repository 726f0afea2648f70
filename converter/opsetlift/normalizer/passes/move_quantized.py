"""What is dequantized, moved and quantized again by the same scale and zero point is moved as it is.

QuantizeLinear(move(DequantizeLinear(x, s, z)), s, z) is move(x): a quotient of two floats is off by far less than the
half that would round an integer of up to 16 bits to another one. Both are per tensor, the scale is constant, positive,
and neither so small nor so large that a product leaves the normal floats. Moves are Reshape and its kind, Transpose,
Slice, Gather, Expand and DepthToSpace, Split where each part is quantized so, and Concat where each input was
dequantized so; or there is none. Exact by definition, and in onnxruntime without optimisations. Its optimisations
choose by these pairs what is computed in integers, with other rounding: of 113 quantized exports seven gave other
results then, in onnxruntime 1.32. So the pass runs on demand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import given, is_operator, nodes_of, producer
from opsetlift.normalizer.rewriting import Context, Pass

_MOVES = frozenset(
    (
        *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Gather", "Expand", "Split", "Concat"),
        *("DepthToSpace", "SpaceToDepth"),
    )
)
_OF_ANY_DTYPE = {"Flatten": 9, "Split": 2, "Concat": 4}
"""The first opset in which integers may be moved so, where there were none in an earlier one."""

_INTEGERS = frozenset(("int8", "uint8", "int16", "uint16"))
_WIDEST = 2.0**17
_MARGIN = 2.0**24
"""A scale times the widest difference, and a scale with some bits to spare, must be normal floats."""


def move_quantized(graph: gs.Graph, context: Context) -> bool:
    """Move the integers, and let what read the quantized result of the move read that."""
    is_done = False
    for node in nodes_of(graph, "QuantizeLinear"):
        dequantize = producer(node.inputs[0], context, "DequantizeLinear")
        if dequantize is not None and _are_inverse(dequantize, [node], context):
            is_done |= context.replace_uses(node.outputs[0], dequantize.inputs[0])
    for node in nodes_of(graph, *_MOVES):
        is_done |= context.opset() >= _OF_ANY_DTYPE.get(node.op, 1) and _moved(node, context)
    return is_done


def _moved(node: gs.Node, context: Context) -> bool:
    moved = list(node.inputs) if node.op == "Concat" else node.inputs[:1]
    dequantized = [producer(tensor, context, "DequantizeLinear") for tensor in moved]
    sources = [one for one in dequantized if one is not None]
    quantized: list[gs.Node] = []
    for output in node.outputs:
        readers = list(output.outputs)
        if output.is_empty() or not readers or context.uses(output) != len(readers):
            return False
        if any(not is_operator(one, "QuantizeLinear") or one.inputs[0] is not output for one in readers):
            return False
        quantized += readers
    if len(sources) < len(moved) or len(quantized) > len(node.outputs):
        return False
    if not all(_are_inverse(source, quantized, context) for source in sources):
        return False
    node.inputs = [source.inputs[0] for source in sources] + list(node.inputs)[len(moved) :]
    outputs = [one.outputs[0] for one in quantized]
    for one in quantized:
        one.outputs.clear()
    node.outputs = outputs
    context.inherit(node, *quantized)
    return True


def _are_inverse(dequantize: gs.Node, quantized: Sequence[gs.Node], context: Context) -> bool:
    """Whether each of `quantized` gives the integers that were dequantized."""
    dtype = context.dtype_of(dequantize.inputs[0])
    if dtype not in _INTEGERS or context.dtype_of(dequantize.outputs[0]) != "float":
        return False
    parameters = _parameters(dequantize, context)
    if parameters is None:
        return False
    return all(
        context.dtype_of(one.outputs[0]) == dtype and _parameters(one, context) == parameters for one in quantized
    )


def _parameters(node: gs.Node, context: Context) -> tuple[float, int] | None:
    """The scale and the zero point of a whole tensor; None where they are not constant, or the scale is extreme."""
    scale = context.constant(node.inputs[1])
    point = given(node, 2)
    zero = numpy.zeros((), dtype=numpy.int64) if point is None else context.constant(point)
    if scale is None or zero is None or scale.size != 1 or zero.size != 1 or scale.dtype != numpy.float32:
        return None
    factor, limits = float(scale.reshape(())), numpy.finfo(numpy.float32)
    if not float(limits.tiny) * _MARGIN <= factor <= float(limits.max) / _WIDEST:
        return None
    return factor, int(zero.reshape(()))


PASS = Pass(
    name="move-quantized",
    rewrite=move_quantized,
    summary="Move integers as they are where they were dequantized, moved and quantized again.",
    is_default=False,
    operators=frozenset(("QuantizeLinear",)),
)
