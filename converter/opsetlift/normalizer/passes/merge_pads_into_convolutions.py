"""Fold a pad with zeros into the convolutions and average pools that read it.

Conv computes on its input padded with zeros, as its own `pads` say, so zeros around the spatial axes may be left to it,
and so does AveragePool where it counts the padding, and no window is nothing else.
The pads are constant and not negative, the weights constant and finite (a zero times an infinity would be a NaN, which
runtimes that skip the padding do not see), and where the convolution pads by itself it says by how much.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import given, integers, is_operator, nodes_of, rank_of
from opsetlift.normalizer.rewriting import Context, Pass

_PADS_AS_INPUT = 11


def merge_pads_into_convolutions(graph: gs.Graph, context: Context) -> bool:
    """Add the pads of a Pad that nothing else reads to those of its readers."""
    is_done = False
    for pad in nodes_of(graph, "Pad"):
        output = pad.outputs[0]
        readers = list(output.outputs)
        if not readers or context.uses(output) != len(readers):
            continue
        rank = rank_of(pad.inputs[0], context)
        pads = _zeros_around(pad, rank, context) if rank is not None else None
        if pads is None or not all(_takes(reader, output, pads, context) for reader in readers):
            continue
        for reader in readers:
            own = reader.attrs.get("pads", [0] * len(pads))
            reader.attrs["pads"] = [one + other for one, other in zip(own, pads, strict=True)]
            reader.inputs[0] = pad.inputs[0]
        context.inherit(readers[0], pad)
        is_done = True
    return is_done


def _takes(node: gs.Node, padded: gs.Tensor, pads: list[int], context: Context) -> bool:
    """Whether a reader may pad its first input by zeros itself."""
    if not is_operator(node, "Conv", "AveragePool") or node.inputs[0] is not padded:
        return False
    if node.attrs.get("auto_pad", "NOTSET") != "NOTSET":
        return False
    if node.op == "Conv":
        return _has_finite_weights(node, context)
    if not node.attrs.get("count_include_pad", 0) or node.attrs.get("ceil_mode", 0):
        return False
    own, kernel = node.attrs.get("pads", [0] * len(pads)), node.attrs.get("kernel_shape", [])
    return len(own) == len(pads) == 2 * len(kernel) and all(
        one + other < size for one, other, size in zip(own, pads, [*kernel, *kernel], strict=True)
    )


def _has_finite_weights(node: gs.Node, context: Context) -> bool:
    weights = context.constant(node.inputs[1])
    return weights is not None and weights.dtype.kind == "f" and bool(numpy.isfinite(weights).all())


def _zeros_around(pad: gs.Node, rank: int, context: Context) -> list[int] | None:
    """The pads of the spatial axes; None where others are padded, or not with zeros."""
    if context.opset() < _PADS_AS_INPUT:
        pads, value = pad.attrs.get("pads"), pad.attrs.get("value", 0.0)
    else:
        pads, value = integers(given(pad, 1), context), 0.0
        if given(pad, 3) is not None:
            return None
        if (padding := given(pad, 2)) is not None:
            found = context.constant(padding)
            if found is None or found.size != 1:
                return None
            value = float(found.reshape(-1)[0])
    is_zero = value == 0 and not numpy.signbit(value)
    if pads is None or not is_zero or pad.attrs.get("mode", "constant") != "constant" or len(pads) != 2 * rank:
        return None
    if any(size < 0 for size in pads) or any((*pads[:2], *pads[rank : rank + 2])):
        return None
    return [*pads[2:rank], *pads[rank + 2 :]]


PASS = Pass(
    name="merge-pads-into-convolutions",
    rewrite=merge_pads_into_convolutions,
    summary="Fold a pad with zeros into the convolutions and average pools that read it.",
    operators=frozenset(("Pad",)),
)
