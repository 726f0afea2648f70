"""Adding a constant to each channel becomes the bias of the Conv or ConvTranspose before it.

The same mathematics; where the bias comes into the sum is the runtime's choice, and so is the last bit, so the pass
rounds and runs only when it is asked for. A bias that is there already is added to, where it is constant.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.helpers.editing import given, new_constant, nodes_of, sole_producer, take_over
from opsetlift.normalizer.rewriting import Context, Pass

_BROADCASTS_BY_SHAPE = 7


def merge_biases(graph: gs.Graph, context: Context) -> None:
    """Let a convolution add what a following Add of a constant adds."""
    if context.opset() < _BROADCASTS_BY_SHAPE:
        return
    for node in nodes_of(graph, "Add"):
        for position in (0, 1):
            first = sole_producer(node.inputs[position], context, "Conv", "ConvTranspose")
            added = context.constant(node.inputs[1 - position])
            if first is None or added is None:
                continue
            bias = _bias(first, added, context)
            if bias is not None:
                constant = new_constant(bias, f"{node.outputs[0].name}_bias", context)
                take_over(first, node, [*first.inputs[:2], constant], context)
                break


def _bias(first: gs.Node, added: Array, context: Context) -> Array | None:
    """One number per channel; None where the constant is something else."""
    shape = context.shape_of(first.outputs[0])
    if shape is None or not isinstance(shape[1], int) or added.dtype.kind != "f" or added.ndim > len(shape):
        return None
    aligned = added.reshape([1] * (len(shape) - added.ndim) + list(added.shape))
    if any(size != 1 for axis, size in enumerate(aligned.shape) if axis != 1) or aligned.shape[1] not in (1, shape[1]):
        return None
    per_channel = numpy.broadcast_to(aligned.reshape(-1), (shape[1],)).astype(numpy.float64)
    if given(first, 2) is None:
        return per_channel.astype(added.dtype)
    own = context.constant(first.inputs[2])
    if own is None:
        return None
    with numpy.errstate(over="ignore"):
        both = (own.astype(numpy.float64) + per_channel).astype(added.dtype)
    return both if numpy.isfinite(both).all() else None


PASS = Pass(
    name="merge-biases",
    rewrite=merge_biases,
    summary="Fold the addition of a constant per channel into the bias of the convolution before it.",
    is_default=False,
    ulps=4,
    operators=frozenset(("Add",)),
)
