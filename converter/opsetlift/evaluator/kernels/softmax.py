"""Softmax, LogSoftmax, Hardmax and LpNormalization: each normalises along an axis and keeps the shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy

from opsetlift.evaluator.kernels.accumulation import total
from opsetlift.evaluator.kernels.axes import nonnegative_axis
from opsetlift.evaluator.kernels.numeric import narrowed_as, widened
from opsetlift.evaluator.kernels.registry import Call, every_node, kernel, negative_axes
from opsetlift.model.arrays import Array


def _along_axis(call: Call, x: Array, function: Callable[[Array], Array]) -> Array:
    """`function` of the last axis, which before version 13 stood for `axis` and all axes after it."""
    axis = nonnegative_axis(call, call.attributes["axis"], x.ndim)
    wide = widened(x)
    if call.since_version >= 13:
        result = numpy.moveaxis(function(numpy.asarray(numpy.moveaxis(wide, axis, -1), order="C")), -1, axis)
    else:
        rows = int(numpy.prod(x.shape[:axis], dtype=numpy.int64))
        columns = int(numpy.prod(x.shape[axis:], dtype=numpy.int64))
        result = function(wide.reshape(rows, columns)).reshape(x.shape)
    return narrowed_as(result, x.dtype)


def _total(x: Array) -> Array:
    """The sums of the last axis, accumulated in float64."""
    return total(x, (x.ndim - 1,), keepdims=True).astype(x.dtype)


def _shifted(x: Array) -> Array:
    """Shifted so that the greatest is 0, which the quotient does not notice."""
    return numpy.asarray(x - numpy.maximum.reduce(x, axis=-1, keepdims=True, initial=-numpy.inf))


def shares(x: Array) -> Array:
    """Return the softmax of float32 or float64 [*, n] along the last axis."""
    exponentials = numpy.exp(_shifted(x))
    return numpy.asarray(exponentials / _total(exponentials))


def logarithms_of_shares(x: Array) -> Array:
    """Return the logarithm of the softmax of float32 or float64 [*, n] along the last axis."""
    shifted = _shifted(x)
    return numpy.asarray(shifted - numpy.log(_total(numpy.exp(shifted))))


@kernel("Softmax", since=(1, 11, 13), changes={13: every_node, 11: negative_axes})
def softmax(call: Call, x: Array) -> Array:
    """Softmax-1, 11, 13: exp(x) over its sum along the axis; float x [*shape].

    Before 13 the axes from `axis` on count as one.
    """
    return _along_axis(call, x, shares)


@kernel("LogSoftmax", since=(1, 11, 13), changes={13: every_node, 11: negative_axes})
def log_softmax(call: Call, x: Array) -> Array:
    """LogSoftmax-1, 11, 13: The logarithm of Softmax; float x [*shape].

    Before 13 the axes from `axis` on count as one.
    """
    return _along_axis(call, x, logarithms_of_shares)


@kernel("Hardmax", since=(1, 11, 13), changes={13: every_node, 11: negative_axes})
def hardmax(call: Call, x: Array) -> Array:
    """Hardmax-1, 11, 13: 1 at the first maximum along the axis, else 0; float x [*shape].

    Before 13 the axes from `axis` on count as one.
    """

    def first_maximum(values: Array) -> Array:
        result = numpy.zeros_like(values)
        if values.size:
            numpy.put_along_axis(result, numpy.argmax(values, axis=-1, keepdims=True), 1, axis=-1)
        return result

    return _along_axis(call, x, first_maximum)


@kernel("LpNormalization", since=(1, 22), changes=())
def lp_normalization(call: Call, x: Array) -> Array:
    """LpNormalization-1, 22: x over its 1- or 2-norm along the axis; float x [*shape]."""
    order = call.attributes["p"]
    if order not in (1, 2):
        call.fail(f"only p=1 and p=2 are supported, not {order}")
    axis = nonnegative_axis(call, call.attributes["axis"], x.ndim, negative_since=1)
    values = numpy.asarray(numpy.moveaxis(widened(x), axis, -1), order="C")
    norm = _total(numpy.abs(values)) if order == 1 else numpy.sqrt(_total(values * values))
    # A norm of zero gives zeros, by the text.
    result = numpy.where(norm == 0, values.dtype.type(0), values / norm)
    return narrowed_as(numpy.moveaxis(result, -1, axis), x.dtype)
