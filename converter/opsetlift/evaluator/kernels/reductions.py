"""The Reduce* operators.

Sums and products of float32 accumulate in float64 and round once; narrower floats are computed as float32 is and
rounded at the end, so that widening an operand around a reduction never changes its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opsetlift.evaluator.kernels.accumulation import mean, total
from opsetlift.evaluator.kernels.axes import lenient_int_list, nonnegative_axis
from opsetlift.evaluator.kernels.numeric import (
    float_to_integer,
    is_float,
    is_integer,
    largest,
    narrowed_as,
    smallest,
    widened,
)
from opsetlift.evaluator.kernels.registry import Call, every_node, kernel, negative_axes
from opsetlift.model.arrays import Array

Axes = tuple[int, ...]
Reduction = Callable[[Array, Axes, bool], Array]


def reduced_axes(call: Call, data: Array, axes: Array | None, input_since: int) -> Axes:
    """Return the axes to reduce over, none negative; they are an input from version `input_since` on."""
    if call.since_version >= input_since:
        listed = [] if axes is None else lenient_int_list(call, axes, "axes")
        if not listed and call.attributes["noop_with_empty_axes"]:
            return ()
    else:
        listed = call.attributes.get("axes") or []
    if not listed:
        return tuple(range(data.ndim))
    # An axis named twice is not forbidden; the axes are taken as a set, like onnxruntime does.
    return tuple(sorted({nonnegative_axis(call, axis, data.ndim, name="axes") for axis in listed}))


def _reduce(call: Call, data: Array, axes: Array | None, reduction: Reduction, input_since: int = 18) -> Array:
    selected = reduced_axes(call, data, axes, input_since)
    result = numpy.asarray(reduction(widened(data), selected, bool(call.attributes["keepdims"])))
    if is_integer(data.dtype) and is_float(result.dtype):
        return float_to_integer(result, data.dtype)
    return narrowed_as(result, data.dtype)


def _over(operation: Any, values: Array, axes: Axes, keepdims: bool, **options: Any) -> Array:
    """A binary ufunc's reduction, as an array also where it is a scalar.

    Over no axes it does nothing by the text; numpy's adds its 0 to -0.
    """
    if not axes:
        return values.astype(options.get("dtype", values.dtype))
    return numpy.asarray(operation.reduce(values, axis=axes, keepdims=keepdims, **options))


def _accumulated(combine: numpy.ufunc, values: Array, axes: Axes, keepdims: bool) -> Array:
    if values.dtype.kind != "f":
        return _over(combine, values, axes, keepdims, dtype=values.dtype)
    result = total(values, axes, keepdims=keepdims, combine=combine)
    return result.astype(values.dtype, copy=False)


def _sum(values: Array, axes: Axes, keepdims: bool) -> Array:
    return _accumulated(numpy.add, values, axes, keepdims)


def _product(values: Array, axes: Axes, keepdims: bool) -> Array:
    return _accumulated(numpy.multiply, values, axes, keepdims)


def _mean(values: Array, axes: Axes, keepdims: bool) -> Array:
    count = int(numpy.prod([values.shape[axis] for axis in axes], dtype=numpy.int64))
    if values.dtype.kind == "f":
        return mean(values, axes, keepdims=keepdims)
    # The quotient is truncated as Div's is; of nothing, which the text leaves undefined, it is 0.
    wide = numpy.dtype(numpy.int64 if values.dtype.kind == "i" else numpy.uint64)
    summed = _over(numpy.add, values, axes, keepdims, dtype=wide)
    divisor = wide.type(max(count, 1))
    return numpy.asarray((summed - numpy.fmod(summed, divisor)) // divisor)


def _minimum(values: Array, axes: Axes, keepdims: bool) -> Array:
    result = _over(numpy.minimum, values, axes, keepdims, initial=largest(values.dtype))
    return _with_zeros_signed(result, values, axes, keepdims, negative_wins=True)


def _maximum(values: Array, axes: Axes, keepdims: bool) -> Array:
    result = _over(numpy.maximum, values, axes, keepdims, initial=smallest(values.dtype))
    return _with_zeros_signed(result, values, axes, keepdims, negative_wins=False)


def _with_zeros_signed(result: Array, values: Array, axes: Axes, keepdims: bool, negative_wins: bool) -> Array:
    """-0 counts as less than +0, as in `minimum` and `maximum`."""
    if values.dtype.kind != "f" or not (result == 0).any():
        return result
    winners = (values == 0) & (numpy.signbit(values) == negative_wins)
    negative = _over(numpy.logical_or, winners, axes, keepdims) == negative_wins
    zeros = numpy.where(negative, values.dtype.type(-0.0), values.dtype.type(0.0))
    return numpy.where(result == 0, zeros, result)


def _sum_of_squares(values: Array, axes: Axes, keepdims: bool) -> Array:
    return _sum(values * values, axes, keepdims)


def _l1(values: Array, axes: Axes, keepdims: bool) -> Array:
    return _sum(numpy.abs(values), axes, keepdims)


def _l2(values: Array, axes: Axes, keepdims: bool) -> Array:
    return numpy.asarray(numpy.sqrt(_for_function(_sum_of_squares(values, axes, keepdims))))


def _log_sum(values: Array, axes: Axes, keepdims: bool) -> Array:
    return numpy.asarray(numpy.log(_for_function(_sum(values, axes, keepdims))))


def _log_sum_exp(values: Array, axes: Axes, keepdims: bool) -> Array:
    # In double, as the function body of version 18; shifted, so that exp overflows only where the result does.
    double = values.astype(numpy.float64)
    peak = _over(numpy.maximum, double, axes, True, initial=-numpy.inf)
    shift = numpy.where(numpy.isfinite(peak), peak, 0.0)
    exponentials = numpy.exp(double - shift)
    summed = total(exponentials, axes, keepdims=keepdims)
    return numpy.asarray(numpy.log(summed) + shift.reshape(summed.shape)).astype(_for_function(values).dtype)


def _for_function(values: Array) -> Array:
    """Integers as float64, for the functions that integers lack."""
    return values if values.dtype.kind == "f" else values.astype(numpy.float64)


@kernel("ReduceSum", since=(1, 11, 13), changes={13: every_node, 11: negative_axes})
def reduce_sum(call: Call, data: Array, axes: Array | None = None) -> Array:
    """ReduceSum-1, 11, 13: The sum over axes, in the dtype of data."""
    return _reduce(call, data, axes, _sum, input_since=13)


@kernel("ReduceProd", since=(1, 11, 13, 18), changes={18: every_node, 11: negative_axes})
def reduce_prod(call: Call, data: Array, axes: Array | None = None) -> Array:
    """ReduceProd-1, 11, 13, 18: The product over axes, in the dtype of data."""
    return _reduce(call, data, axes, _product)


@kernel("ReduceMean", since=(1, 11, 13, 18), changes={18: every_node, 11: negative_axes})
def reduce_mean(call: Call, data: Array, axes: Array | None = None) -> Array:
    """ReduceMean-1, 11, 13, 18: The average over axes, in the dtype of data."""
    return _reduce(call, data, axes, _mean)


@kernel("ReduceMin", since=(1, 11, 12, 13, 18, 20), changes={18: every_node, 11: negative_axes})
def reduce_min(call: Call, data: Array, axes: Array | None = None) -> Array:
    """ReduceMin-1, 11, 12, 13, 18, 20: The least element over axes, NaN where one is NaN."""
    return _reduce(call, data, axes, _minimum)


@kernel("ReduceMax", since=(1, 11, 12, 13, 18, 20), changes={18: every_node, 11: negative_axes})
def reduce_max(call: Call, data: Array, axes: Array | None = None) -> Array:
    """ReduceMax-1, 11, 12, 13, 18, 20: The greatest element over axes, NaN where one is NaN."""
    return _reduce(call, data, axes, _maximum)


@kernel("ReduceSumSquare", since=(1, 11, 13, 18), changes={18: every_node, 11: negative_axes})
def reduce_sum_square(call: Call, data: Array, axes: Array | None = None) -> Array:
    """ReduceSumSquare-1, 11, 13, 18: The sum of squares over axes."""
    return _reduce(call, data, axes, _sum_of_squares)


@kernel("ReduceL1", since=(1, 11, 13, 18), changes={18: every_node, 11: negative_axes})
def reduce_l1(call: Call, data: Array, axes: Array | None = None) -> Array:
    """ReduceL1-1, 11, 13, 18: The sum of magnitudes over axes."""
    return _reduce(call, data, axes, _l1)


@kernel("ReduceL2", since=(1, 11, 13, 18), changes={18: every_node, 11: negative_axes})
def reduce_l2(call: Call, data: Array, axes: Array | None = None) -> Array:
    """ReduceL2-1, 11, 13, 18: The root of the sum of squares over axes."""
    return _reduce(call, data, axes, _l2)


@kernel("ReduceLogSum", since=(1, 11, 13, 18, 28), changes={18: every_node, 11: negative_axes})
def reduce_log_sum(call: Call, data: Array, axes: Array | None = None) -> Array:
    """ReduceLogSum-1, 11, 13, 18, 28: The logarithm of the sum over axes."""
    return _reduce(call, data, axes, _log_sum)


@kernel("ReduceLogSumExp", since=(1, 11, 13, 18, 28), changes={18: every_node, 11: negative_axes})
def reduce_log_sum_exp(call: Call, data: Array, axes: Array | None = None) -> Array:
    """ReduceLogSumExp-1, 11, 13, 18, 28: The logarithm of the sum of exp over axes, without overflow."""
    return _reduce(call, data, axes, _log_sum_exp)
