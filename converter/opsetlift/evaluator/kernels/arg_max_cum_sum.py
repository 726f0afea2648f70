"""Operators along one axis whose result is an index or runs along: ArgMax, ArgMin, CumSum, CumProd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opsetlift.evaluator.kernels.axes import nonnegative_axis, scalar
from opsetlift.evaluator.kernels.numeric import narrowed_as, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@kernel("ArgMax", since=(1, 11, 12, 13), changes=(11, 12))
def arg_max(call: Call, data: Array) -> Array:
    """ArgMax-1, 11, 12, 13: The index of the greatest element along an axis, int64."""
    return _arg(call, data, numpy.argmax)


@kernel("ArgMin", since=(1, 11, 12, 13), changes=(11, 12))
def arg_min(call: Call, data: Array) -> Array:
    """ArgMin-1, 11, 12, 13: The index of the least element along an axis, int64."""
    return _arg(call, data, numpy.argmin)


def _arg(call: Call, data: Array, find: Callable[..., Any]) -> Array:
    """The first extreme; which one it is of several, versions 1 and 11 leave open. A NaN counts as the extreme.

    Where the axis has no elements, there is nothing to find, unless another axis has none, either.
    """
    axis = nonnegative_axis(call, call.attributes["axis"], data.ndim)
    if data.size == 0 and call.since_version == 11:
        call.fail_if_strict("the input tensor must not be empty")
    keepdims = bool(call.attributes["keepdims"])
    if data.shape[axis] == 0:
        others = (*data.shape[:axis], *data.shape[axis + 1 :])
        if 0 not in others:
            call.fail(f"axis {axis} has no elements, hence no extreme")
        return numpy.zeros((*others[:axis], 1, *others[axis:]) if keepdims else others, numpy.int64)
    values = widened(data)
    indices: Array
    if call.attributes.get("select_last_index", 0):
        indices = data.shape[axis] - 1 - numpy.asarray(find(numpy.flip(values, axis), axis=axis, keepdims=keepdims))
    else:
        indices = numpy.asarray(find(values, axis=axis, keepdims=keepdims))
    return indices.astype(numpy.int64, copy=False)


@kernel("CumSum", since=(11, 14), changes=())
def cumulative_sum(call: Call, x: Array, axis: Array) -> Array:
    """CumSum-11, 14: Sums up to each element along an axis.

    Numbers [*shape], int32 or int64 axis, one element; the attributes are exclusive and reverse.
    """
    return _accumulated(call, x, axis, numpy.add, start=0)


@kernel("CumProd", since=(26,))
def cumulative_product(call: Call, x: Array, axis: Array) -> Array:
    """CumProd-26: Products up to each element along an axis.

    Numbers [*shape], int32 or int64 axis, one element; the attributes are exclusive and reverse.
    """
    return _accumulated(call, x, axis, numpy.multiply, start=1)


def _accumulated(call: Call, x: Array, axis: Array, combine: numpy.ufunc, start: int) -> Array:
    """Accumulates element by element in the dtype itself, as onnxruntime does, or for narrower floats in float32."""
    position = nonnegative_axis(call, int(scalar(call, axis, "axis")), x.ndim)
    values = numpy.moveaxis(widened(x), position, -1)
    if call.attributes["reverse"]:
        values = values[..., ::-1]
    result = combine.accumulate(values, axis=-1, dtype=values.dtype)
    if call.attributes["exclusive"] and values.shape[-1]:
        first = numpy.full((*values.shape[:-1], 1), start, dtype=values.dtype)
        result = numpy.concatenate([first, result[..., :-1]], axis=-1)
    if call.attributes["reverse"]:
        result = result[..., ::-1]
    return narrowed_as(numpy.moveaxis(result, -1, position), x.dtype)
