"""How the inputs of subgraphs are typed by the inputs of the node that holds them."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import NodeProto, TensorProto, TypeProto

from opsetlift.evaluator.kernels.registry import body_inputs


def _scalar(element_type: int) -> TypeProto:
    return onnx.helper.make_tensor_type_proto(element_type, [])


def _without_shape(known: TypeProto) -> TypeProto:
    result = TypeProto()
    result.CopyFrom(known)
    if result.HasField("tensor_type"):
        result.tensor_type.ClearField("shape")
    return result


@body_inputs("Loop", since=(1, 11, 13, 16, 19, 21, 23, 24, 25))
def loop_body(node: NodeProto, types: Sequence[TypeProto]) -> list[TypeProto]:
    """Loop: the iteration number, the condition, the loop-carried values, whose shapes may change."""
    return [_scalar(TensorProto.INT64), _scalar(TensorProto.BOOL), *map(_without_shape, types[2:])]


@body_inputs("Scan", since=(9, 11, 16, 19, 21, 23, 24, 25))
def scan_body(node: NodeProto, types: Sequence[TypeProto]) -> list[TypeProto]:
    """Scan from 9 on: the states, then one element of each scanned input, without its scanned axis."""
    attributes = {attribute.name: attribute for attribute in node.attribute}
    scanned = attributes["num_scan_inputs"].i
    states = len(types) - scanned
    axes = list(attributes["scan_input_axes"].ints) if "scan_input_axes" in attributes else [0] * scanned
    elements = [_without_axis(known, axis) for known, axis in zip(types[states:], axes, strict=True)]
    return [*types[:states], *elements]


def _without_axis(known: TypeProto, axis: int) -> TypeProto:
    result = TypeProto()
    result.CopyFrom(known)
    if result.tensor_type.HasField("shape"):
        dims = result.tensor_type.shape.dim
        if -len(dims) <= axis < len(dims):
            del dims[axis % len(dims)]
        else:
            result.tensor_type.ClearField("shape")
    return result


@body_inputs("Scan", since=(8,))
def batched_scan_body(node: NodeProto, types: Sequence[TypeProto]) -> list[TypeProto]:
    """Scan-8: states and scanned inputs, each without the batch axis; only their dtypes are known."""
    return [_without_shape(known) for known in types[1:]]


@body_inputs("SequenceMap", since=(17,))
def mapped_body(node: NodeProto, types: Sequence[TypeProto]) -> list[TypeProto]:
    """SequenceMap: an element of each sequence, and tensors as they are."""
    return [known.sequence_type.elem_type if known.HasField("sequence_type") else known for known in types]
