"""The three ways in which elementwise operators of different versions bring their inputs to one shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from opsetlift.evaluator.kernels.registry import Call

Shape = tuple[int, ...]

_MOST_AT_ONCE = 32
"""So many arrays `numpy.broadcast` takes, which is a tenth of the work of `numpy.broadcast_shapes`."""


def check_numpy_broadcast(call: Call, *inputs: NDArray[Any]) -> None:
    """Refuse shapes that multidirectional broadcasting (Broadcasting.md) does not take; numpy does it itself."""
    first = inputs[0].shape
    for value in inputs:  # all() of a generator takes several times as long
        if value.shape != first:
            break
    else:
        return
    try:
        if len(inputs) <= _MOST_AT_ONCE:
            size = numpy.broadcast(*inputs).size
        else:
            size = math.prod(numpy.broadcast_shapes(*(value.shape for value in inputs)))
    except ValueError:
        call.fail(f"the shapes {_shapes(inputs)} cannot be broadcast to one shape")
    call.reserve(size)


def check_equal_shapes(call: Call, *inputs: NDArray[Any]) -> None:
    """Refuse inputs of different shapes, as the variadic operators do before version 8."""
    if any(value.shape != inputs[0].shape for value in inputs):
        call.fail(f"all inputs must have the same shape before version 8, not {_shapes(inputs)}")


def legacy_broadcast(call: Call, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Bring `b` to a shape that numpy broadcasts to `a`'s, by the attributes broadcast and axis of opsets 1 to 6.

    Args:
        call: The binary operator.
        a: [*shape].
        b: A single element, or a contiguous part of a's shape that starts at `axis` (a suffix without it).

    Returns:
        `b`, with as many trailing axes of size 1 as needed.
    """
    if not call.attributes.get("broadcast", 0):
        if a.shape != b.shape:
            call.fail(f"without broadcast=1 both shapes must be equal, not {_shapes([a, b])}")
        return b
    if b.ndim > a.ndim:
        call.fail(f"the second input's rank {b.ndim} is greater than the first one's, {a.ndim}")
    if b.size == 1:
        return b.reshape(())
    axis = call.attributes.get("axis")
    start = a.ndim - b.ndim if axis is None else _start(call, axis, a.ndim)
    if a.shape[start : start + b.ndim] == b.shape:
        return b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim))
    call.fail_if_strict(f"{list(b.shape)} is not the part of {list(a.shape)} that starts at axis {start}")
    return _expanded(call, a.shape, b, start)


def _start(call: Call, axis: int, rank: int) -> int:
    if axis < 0:
        # The text speaks of "the starting" only; CNTK's exporter counted from the end.
        call.fail_if_strict(f"axis {axis} is negative")
        axis += rank
    if not 0 <= axis <= rank:
        call.fail(f"axis {axis} is outside a tensor of rank {rank}")
    return axis


def _expanded(call: Call, shape: Shape, b: NDArray[Any], start: int) -> NDArray[Any]:
    """1-dimension expansion, which "doesn't work yet" by the text but which exporters relied on."""
    part = shape[start : start + b.ndim]
    if len(part) != b.ndim or any(have not in (1, want) for have, want in zip(b.shape, part, strict=True)):
        call.fail(f"{list(b.shape)} is not the part of {list(shape)} that starts at axis {start}")
    return b.reshape(b.shape + (1,) * (len(shape) - start - b.ndim))


def _shapes(inputs: Sequence[NDArray[Any]]) -> str:
    return ", ".join(str(list(value.shape)) for value in inputs)


def operands(call: Call, a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the operands of a binary operator for numpy to broadcast, by the attributes of opsets 1 to 6 before 7."""
    if call.since_version < 7:
        return a, legacy_broadcast(call, a, b)
    if a.shape != b.shape:
        check_numpy_broadcast(call, a, b)
    return a, b


def check_variadic(call: Call, *inputs: NDArray[Any]) -> None:
    """Refuse shapes that Min, Max, Mean and Sum do not take: different ones before 8, others than numpy's since."""
    (check_equal_shapes if call.since_version < 8 else check_numpy_broadcast)(call, *inputs)
