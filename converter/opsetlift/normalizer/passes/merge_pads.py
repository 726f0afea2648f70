"""Merge consecutive pads with the same constant.

Pad(Pad(x, p, v), q, v) is Pad(x, p + q, v), where no pad is negative: cutting off what was padded is something else.
Exact: the same elements in the same places, the value the same bits.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.helpers.editing import become, given, integers, nodes_of, sole_producer, vector
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.specification.dtypes import numpy_dtype

_PADS_AS_INPUT = 11


def merge_pads(graph: gs.Graph, context: Context) -> None:
    """Let a pad of a pad that nothing else reads pad what that read."""
    for node in nodes_of(graph, "Pad"):
        while (first := sole_producer(node.inputs[0], context, "Pad")) is not None:
            before, after = _pads(first, context), _pads(node, context)
            if before is None or after is None or len(before) != len(after):
                break
            values = _value(first, context), _value(node, context)
            if values[0] is None or values[1] is None or values[0].tobytes() != values[1].tobytes():
                break
            _write(node, first.inputs[0], [one + other for one, other in zip(before, after, strict=True)], context)
            context.inherit(node, first)


def _pads(node: gs.Node, context: Context) -> list[int] | None:
    """The pads of every axis, where they are constant, not negative, and filled with a constant."""
    pads = node.attrs.get("pads") if context.opset() < _PADS_AS_INPUT else integers(given(node, 1), context)
    mode = node.attrs.get("mode", "constant")
    if pads is None or mode != "constant" or given(node, 3) is not None or any(pad < 0 for pad in pads):
        return None
    return list(pads)


def _value(node: gs.Node, context: Context) -> Array | None:
    """What is padded with; None where it is not constant."""
    if context.opset() < _PADS_AS_INPUT:
        return numpy.array(node.attrs.get("value", 0.0), dtype=numpy.float32)
    value = given(node, 2)
    if value is not None:
        found = context.constant(value)
        return None if found is None or found.dtype == object else found.reshape(())
    dtype = context.dtype_of(node.outputs[0])
    return None if dtype is None or dtype == "string" else numpy.zeros((), dtype=numpy_dtype(dtype))


def _write(node: gs.Node, data: gs.Tensor, pads: list[int], context: Context) -> None:
    if context.opset() < _PADS_AS_INPUT:
        become(node, "Pad", [data], {**node.attrs, "pads": pads})
    else:
        name = f"{node.outputs[0].name}_pads"
        become(node, "Pad", [data, vector(pads, name, context), *node.inputs[2:]], node.attrs)


PASS = Pass(
    name="merge-pads",
    rewrite=merge_pads,
    summary="Merge consecutive pads with the same constant.",
    operators=frozenset(("Pad",)),
)
