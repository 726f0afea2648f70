"""What the texts say of axes and of tensors that hold lists, checked once for every tensor kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy

from opsetlift.evaluator.kernels.registry import Call
from opsetlift.model.arrays import Array


def nonnegative_axis(call: Call, axis: int, rank: int, *, negative_since: int = 11, name: str = "axis") -> int:
    """Count `axis` from the front; `negative_since` is the since-version whose text first allows negative values."""
    axis = int(axis)
    if not -rank <= axis < rank:
        call.fail(f"{name} is {axis}; for rank {rank} the accepted range is [{-rank}, {rank - 1}]")
    if axis < 0 and call.since_version < negative_since:
        call.fail_if_strict(f"{name} is {axis}; this version defines no meaning for negative values")
    return axis % rank


def distinct_axes(
    call: Call, axes: Iterable[int], rank: int, *, negative_since: int = 11, name: str = "axes"
) -> list[int]:
    """Count `axes` from the front and keep their order; no axis may occur twice."""
    result = [nonnegative_axis(call, axis, rank, negative_since=negative_since, name=name) for axis in axes]
    if len(set(result)) != len(result):
        call.fail(f"{name} are {result}; no axis may be repeated")
    return result


def int_list(call: Call, tensor: Array, name: str) -> list[int]:
    """Return the values of integers [N]."""
    if tensor.ndim != 1:
        call.fail(f"{name} must be a 1-D tensor, its shape is {list(tensor.shape)}")
    return list(map(int, tensor.tolist()))


def lenient_int_list(call: Call, tensor: Array, name: str) -> list[int]:
    """Return the values of integers [N]; a scalar, which exporters commonly write, is one value unless strict."""
    if tensor.ndim == 0:
        call.fail_if_strict(f"{name} must be a 1-D tensor, it is a scalar")
        return [int(tensor)]
    return int_list(call, tensor, name)


def scalar(call: Call, tensor: Array, name: str) -> Array:
    """Return the scalar that the text asks for; one element in a tensor of higher rank passes unless strict."""
    if tensor.size != 1:
        call.fail(f"{name} must be a scalar, its shape is {list(tensor.shape)}")
    if tensor.ndim:
        call.fail_if_strict(f"{name} must be a scalar, its shape is {list(tensor.shape)}")
    return tensor.reshape(())


def one_element(call: Call, tensor: Array, name: str) -> Array:
    """Return a single element as a scalar, where the text wants a scalar and ONNX's own tests or functions pass [1]."""
    clause = f"{name} must be a scalar, its shape is {list(tensor.shape)}"
    if tensor.size != 1:
        call.fail(clause)
    if tensor.ndim > 1:
        # onnxruntime takes no more dimensions either.
        call.fail_if_strict(clause)
    return tensor.reshape(())


def zero(dtype: numpy.dtype[Any]) -> Array:
    """Return the zero, False or empty string of a dtype as a scalar."""
    return numpy.asarray("" if dtype.kind == "O" else 0).astype(dtype)
