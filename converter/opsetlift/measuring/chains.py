"""Nodes before and behind others that optimisers of runtimes merge with them, for all that is said there of the two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from opsetlift.measuring.examples import Example
from opsetlift.specification.history import AI_ONNX

_MERGED = frozenset(
    [
        *("Add", "Sub", "Mul", "Div", "MatMul", "Gemm", "Conv", "ConvTranspose", "BatchNormalization", "Pad"),
        *("Relu", "Clip", "LeakyRelu", "Sigmoid", "Softmax", "HardSigmoid", "AveragePool", "MaxPool", "Dropout"),
        *("Identity", "Cast", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Slice", "ReduceMean", "ReduceSum"),
    ]
)
"""Operators that the optimisers of runtimes merge with the one before."""

_FACTORS = 2


@dataclass(frozen=True)
class Producer:
    """A node that keeps shape and dtype, but for the order of the dimensions, with its constants."""

    operator: str
    attributes: dict[str, Any] = field(default_factory=dict)
    constants: tuple[TensorProto, ...] = ()

    def given(self, wanted: NDArray[Any]) -> NDArray[Any]:
        """What it is given for some of what it computes; only the shape matters."""
        return numpy.ascontiguousarray(wanted.T) if self.operator == "Transpose" else wanted

    def node(self, given: str, wanted: str) -> NodeProto:
        """The node from one value to another."""
        names = [one.name for one in self.constants]
        return helper.make_node(self.operator, [given, *names], [wanted], **self.attributes)


def producers_of(example: Example) -> Iterator[Producer]:
    """What can stand before the first input of an example, where it is a float of some rank."""
    first = example.values[0] if example.values else None
    if example.node.op_type not in _MERGED or example.domain != AI_ONNX or first is None or not first.ndim:
        return
    if first.dtype != numpy.float32 or not first.size:
        return
    rank, last = first.ndim, first.shape[-1]
    yield from (Producer(one) for one in ("Relu", "Identity", "Sigmoid", "Dropout"))
    yield Producer("Cast", {"to": 1})
    yield Producer("Transpose", {"perm": list(range(rank))[::-1]})
    yield Producer("Add", constants=(_constant(numpy.linspace(-1, 1, last)),))
    yield Producer("Mul", constants=(_constant(numpy.linspace(0.5, 2, last)),))
    if rank >= 2:
        yield Producer("MatMul", constants=(_constant(numpy.eye(last) * 2),))
    if rank >= 3:
        channels = first.shape[1]
        kernel = numpy.linspace(0.5, 2, channels).reshape(channels, *(1,) * (rank - 1))
        yield Producer("Conv", {"group": channels, "kernel_shape": [1] * (rank - 2)}, (_constant(kernel),))
        per_channel = [numpy.linspace(low, 2, channels) for low in (0.5, -1, -2, 1)]
        constants = tuple(_constant(value, f"c{place}") for place, value in enumerate(per_channel))
        yield Producer("BatchNormalization", constants=constants)


def put_activation_behind(node: NodeProto, values: Sequence[NDArray[Any] | None]) -> NodeProto | None:
    """A Relu that now gives the output of a Gemm of floats without C; None behind other nodes.

    Where both are merged, some runtimes miss the third input. One with C computes alone, so that no sign is lost.
    """
    if node.op_type != "Gemm" or len(list(filter(None, node.input))) > _FACTORS or not node.output:
        return None
    if values[0] is None or values[0].dtype != numpy.float32:
        return None
    result = node.output[0]
    node.output[0] = f"{result}_before"
    return helper.make_node("Relu", [node.output[0]], [result])


def _constant(value: NDArray[numpy.float64], name: str = "c") -> TensorProto:
    return numpy_helper.from_array(value.astype(numpy.float32), name)
