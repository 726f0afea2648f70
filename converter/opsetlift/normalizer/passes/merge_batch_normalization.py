"""BatchNormalization becomes part of the Conv, ConvTranspose or Gemm before it.

Outside training it scales and shifts each channel by constants, as weights and bias do: W·s and (b - mean)·s + B, with
s = scale / sqrt(variance + epsilon), computed in double. The same mathematics, other rounding, and so only on demand.
Where the weights or the bias would not be finite in their dtype both nodes stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy
import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.helpers.editing import given, new_constant, nodes_of, sole_producer, take_over
from opsetlift.normalizer.rewriting import Context, Pass

_EPSILON = 1e-5
_IS_TEST_WAS_ASKED_FOR = 7


@dataclass(frozen=True)
class _Channels:
    """What is done to each channel: multiply, then add."""

    factor: Array
    shift: Array


def merge_batch_normalization(graph: gs.Graph, context: Context) -> None:
    """Let the weights and the bias of what computes a normalisation's input scale and shift its channels."""
    for node in nodes_of(graph, "BatchNormalization"):
        first = sole_producer(node.inputs[0], context, "Conv", "ConvTranspose", "Gemm")
        channels = _channels(node, context)
        if first is None or channels is None:
            continue
        weights = context.constant(first.inputs[1])
        if weights is None or weights.dtype.kind != "f":
            continue
        scaled = _scaled(first, weights, channels.factor)
        bias = _bias(first, channels, context)
        if scaled is None or bias is None:
            continue
        with numpy.errstate(over="ignore"):
            scaled, bias = scaled.astype(weights.dtype), bias.astype(weights.dtype)
        if numpy.isfinite(scaled).all() and numpy.isfinite(bias).all():
            _write(first, node, scaled, bias, context)


def _channels(node: gs.Node, context: Context) -> _Channels | None:
    opset = context.opset()
    if opset < _IS_TEST_WAS_ASKED_FOR and not node.attrs.get("is_test", 0):
        return None
    if node.attrs.get("training_mode", 0) or not node.attrs.get("spatial", 1):
        return None
    if any(not output.is_empty() for output in node.outputs[1:]):
        return None  # of old, to ask for them was to train
    values = [context.constant(tensor) for tensor in node.inputs[1:5]]
    if len(values) != 4 or any(value is None or value.dtype.kind != "f" for value in values):
        return None
    scale, shift, mean, variance = (numpy.asarray(value, dtype=numpy.float64) for value in values)
    factor = scale / numpy.sqrt(variance + numpy.float64(numpy.float32(node.attrs.get("epsilon", _EPSILON))))
    result = _Channels(factor, shift - mean * factor)
    return result if numpy.isfinite(result.factor).all() and numpy.isfinite(result.shift).all() else None


def _scaled(first: gs.Node, weights: Array, factor: Array) -> Array | None:
    """The weights with each output channel scaled; None where their shape is not that of the channels."""
    wide = numpy.asarray(weights, dtype=numpy.float64)
    if first.op == "Conv":
        return wide * _along(factor, 0, wide.ndim) if wide.shape[0] == factor.size else None
    if first.op == "Gemm":
        axis = 0 if first.attrs.get("transB", 0) else 1
        return wide * _along(factor, axis, wide.ndim) if wide.shape[axis] == factor.size else None
    groups = first.attrs.get("group", 1)
    if wide.shape[0] % groups or wide.shape[1] * groups != factor.size:
        return None
    grouped = wide.reshape(groups, wide.shape[0] // groups, *wide.shape[1:])
    per_group = factor.reshape(groups, 1, wide.shape[1], *[1] * (wide.ndim - 2))
    return (grouped * per_group).reshape(wide.shape)


def _along(values: Array, axis: int, rank: int) -> Array:
    return values.reshape([-1 if one == axis else 1 for one in range(rank)])


def _bias(first: gs.Node, channels: _Channels, context: Context) -> Array | None:
    """The bias of the merged node; None where the one it has is not constant, or not one number per channel."""
    if given(first, 2) is None:
        return channels.shift
    value = context.constant(first.inputs[2])
    if value is None:
        return None
    wide = numpy.asarray(value, dtype=numpy.float64)
    if first.op == "Gemm":
        if wide.ndim == 2 and wide.shape[0] != 1:
            return None
        wide = numpy.broadcast_to(wide.reshape(-1), channels.factor.shape) * first.attrs.get("beta", 1.0)
    return wide * channels.factor + channels.shift if wide.shape == channels.factor.shape else None


def _write(first: gs.Node, node: gs.Node, weights: Array, bias: Array, context: Context) -> None:
    name = node.outputs[0].name
    constants = [new_constant(weights, f"{name}_weight", context), new_constant(bias, f"{name}_bias", context)]
    first.attrs.pop("beta", None)
    take_over(first, node, [first.inputs[0], *constants], context)


PASS = Pass(
    name="merge-batch-normalization",
    rewrite=merge_batch_normalization,
    summary="Fold BatchNormalization outside training into the Conv, ConvTranspose or Gemm before it.",
    is_default=False,
    ulps=64,
    operators=frozenset(("BatchNormalization",)),
)
