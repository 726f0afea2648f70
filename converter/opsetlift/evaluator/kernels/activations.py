"""Activations with attributes or several inputs; those without are in elementwise.py.

Where a definition has a function body, the formula follows its steps, except that no step overflows or cancels.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy

from opsetlift.evaluator.kernels.axes import scalar
from opsetlift.evaluator.kernels.broadcasting import check_equal_shapes
from opsetlift.evaluator.kernels.elementwise import apply, sigmoid, softplus
from opsetlift.evaluator.kernels.error_function import erf
from opsetlift.evaluator.kernels.numeric import (
    float_to_integer,
    is_float,
    is_within,
    maximum,
    minimum,
    narrowed_as,
    select,
    widened,
)
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.open_results import open_values
from opsetlift.model.arrays import Array


@kernel("Relu", since=(1, 6, 13, 14), changes=())
def relu(call: Call, x: Array) -> Array:
    """Relu-1, 6, 13, 14: max(0, x), for x [*shape] of any numeric dtype of the version; NaN stays NaN."""
    if not is_float(x.dtype):
        return numpy.asarray(numpy.maximum(x, 0))
    return apply(lambda wide: _without_negative_zero(numpy.maximum(wide, 0)), x)


@kernel("LeakyRelu", since=(1, 6, 16), changes=())
def leaky_relu(call: Call, x: Array) -> Array:
    """LeakyRelu-1, 6, 16: alpha * x below 0, else x; float x [*shape]."""
    alpha = call.attributes["alpha"]
    return apply(lambda wide: select(wide < 0, alpha * wide, wide), x)


@kernel("ThresholdedRelu", since=(10, 22), changes=())
def thresholded_relu(call: Call, x: Array) -> Array:
    """ThresholdedRelu-10, 22: x above alpha, else 0; float x [*shape]."""
    alpha = call.attributes["alpha"]
    return apply(lambda wide: select(wide > alpha, wide, numpy.zeros_like(wide)), x)


@kernel("PRelu", since=(1, 6, 7, 9, 16), changes=(7,))
def prelu(call: Call, x: Array, slope: Array) -> Array:
    """PRelu-1, 6, 7, 9, 16: slope * x below 0, else x.

    Args:
        call: The version decides how the slope is broadcast.
        x: [N, C, *spatial], any numeric dtype of the version.
        slope: Of one shape with x or broadcast to it in one direction; before 7 [C] or [1].

    Returns:
        The shape and dtype of x.
    """
    slope = _slope_by_channel(call, x, slope) if call.since_version < 7 else slope
    if not _broadcasts_to(slope.shape, x.shape):
        call.fail(f"the slope's shape {list(slope.shape)} cannot be broadcast to the input's, {list(x.shape)}")
    wide = widened(x)
    return narrowed_as(select(wide < 0, widened(slope) * wide, wide), x.dtype)


def _slope_by_channel(call: Call, x: Array, slope: Array) -> Array:
    """Before broadcasting existed: one slope, one per channel (axis 1), or, as in the node tests, one per element."""
    if slope.size == 1:
        return slope.reshape(())
    if slope.ndim == 1 and x.ndim > 1 and slope.shape[0] == x.shape[1]:
        return slope.reshape((-1,) + (1,) * (x.ndim - 2))
    if slope.shape != x.shape:
        call.fail_if_strict(f"the slope's shape {list(slope.shape)} is neither [1] nor the channels of {list(x.shape)}")
    return slope


def _broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Unidirectional broadcasting."""
    return len(shape) <= len(target) and all(
        have in (1, want) for have, want in zip(reversed(shape), reversed(target), strict=False)
    )


@kernel("Elu", since=(1, 6, 22), changes=())
def elu(call: Call, x: Array) -> Array:
    """Elu-1, 6, 22: alpha * (exp(x) - 1) below 0, else x; float x [*shape]."""
    alpha = call.attributes["alpha"]
    return apply(lambda wide: select(wide < 0, alpha * _expm1_below_zero(wide), wide), x)


@kernel("Celu", since=(12, 28), changes=())
def celu(call: Call, x: Array) -> Array:
    """Celu-12, 28: max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    float x [*shape]. The function bodies' alpha * (x / alpha) would round positive x, the formula of the text does not.
    """
    alpha = call.attributes["alpha"]
    return apply(lambda wide: select(wide > 0, wide, alpha * numpy.expm1(wide / alpha)), x)


@kernel("Selu", since=(1, 6, 22), changes=())
def selu(call: Call, x: Array) -> Array:
    """Selu-1, 6, 22: gamma * x above 0, else gamma * alpha * (exp(x) - 1); float x [*shape]."""
    alpha, gamma = call.attributes["alpha"], call.attributes["gamma"]
    return apply(lambda wide: gamma * select(wide > 0, wide, alpha * _expm1_below_zero(wide)), x)


def _expm1_below_zero(x: Array) -> Array:
    return numpy.asarray(numpy.expm1(select(x > 0, numpy.zeros_like(x), x)))


@kernel("HardSigmoid", since=(1, 6, 22), changes=())
def hard_sigmoid(call: Call, x: Array) -> Array:
    """HardSigmoid-1, 6, 22: max(0, min(1, alpha * x + beta)); float x [*shape]."""
    alpha, beta = call.attributes["alpha"], call.attributes["beta"]
    return apply(lambda wide: _hard_sigmoid(wide, alpha, beta), x)


@kernel("HardSwish", since=(14, 22), changes=())
def hard_swish(call: Call, x: Array) -> Array:
    """HardSwish-14, 22: x * max(0, min(1, x / 6 + 0.5)); float x [*shape]."""
    return apply(lambda wide: wide * _hard_sigmoid(wide, 1 / 6, 0.5), x)


def _hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    y = numpy.asarray(alpha * x)
    y += y.dtype.type(beta)
    numpy.minimum(y, 1, out=y)
    numpy.maximum(y, 0, out=y)
    y += y.dtype.type(0)  # +0 for -0, as in `_without_negative_zero`
    return y


def _without_negative_zero(x: Array) -> Array:
    """+0 for -0, as Max(x, 0) has it: numpy's maximum of zeros hangs on the memory layout."""
    return numpy.asarray(x + x.dtype.type(0))


@kernel("Mish", since=(18, 22), changes=())
def mish(call: Call, x: Array) -> Array:
    """Mish-18, 22: x * tanh(softplus(x)); float x [*shape]."""
    return apply(lambda wide: wide * numpy.tanh(softplus(wide)), x)


@kernel("Swish", since=(24,))
def swish(call: Call, x: Array) -> Array:
    """Swish-24: x * sigmoid(alpha * x); float x [*shape]."""
    alpha = call.attributes["alpha"]
    return apply(lambda wide: wide * sigmoid(alpha * wide), x)


@kernel("SwiGLU", since=(28,))
def swiglu(call: Call, gate: Array, value: Array) -> Array:
    """SwiGLU-28: swish(gate) * value; float gate and value of one shape."""
    check_equal_shapes(call, gate, value)
    alpha = call.attributes["alpha"]
    wide_value = widened(value)
    return apply(lambda wide: wide * sigmoid(alpha * wide) * wide_value, gate)


@kernel("Gelu", since=(20,))
def gelu(call: Call, x: Array) -> Array:
    """Gelu-20: x * Phi(x), or its approximation by tanh; float x [*shape]."""
    approximation = call.attributes["approximate"]
    if approximation not in ("none", "tanh"):
        call.fail(f'approximate must be "none" or "tanh", not {approximation!r}')
    return apply(_gelu if approximation == "none" else _gelu_by_tanh, x)


def _gelu(x: Array) -> Array:
    return numpy.asarray(0.5 * x * (1 + erf(numpy.asarray(x / x.dtype.type(math.sqrt(2))))))


def _gelu_by_tanh(x: Array) -> Array:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return numpy.asarray(0.5 * x * (1 + numpy.tanh(inner)))


@kernel("Shrink", since=(9,))
def shrink(call: Call, x: Array) -> Array:
    """Shrink-9: x + bias below -lambd, x - bias above lambd, else 0.

    x [*shape] of any numeric dtype. The text leaves integers with a fractional bias open: they are computed in reals,
    then truncated. Integers that do not fit are left open, too.
    """
    limit, bias = call.attributes["lambd"], call.attributes["bias"]
    if is_float(x.dtype):
        return apply(lambda wide: _shrunk(wide, limit, bias), x)
    wide: Array = x.astype(numpy.float64)
    if not float(bias).is_integer():
        return float_to_integer(_shrunk(wide, limit, bias), x.dtype)
    offset = numpy.array(int(bias)).astype(x.dtype)
    zero = x.dtype.type(0)
    result = numpy.where(wide < -limit, x + offset, numpy.where(wide > limit, x - offset, zero))
    is_open = ~is_within(_shrunk(wide, limit, bias), x.dtype)
    return open_values(result, is_open, "adds a bias to an integer that has no room for it")


def _shrunk(x: Array, limit: float, bias: float) -> Array:
    return numpy.where(x < -limit, x + bias, numpy.where(x > limit, x - bias, x.dtype.type(0)))


@kernel("Clip", since=(1, 6))
def clip_by_attributes(call: Call, x: Array) -> Array:
    """Clip-1, 6: x between the attributes min and max; float x [*shape]."""
    # Version 6's prose says numeric_limits of the dtype, its attributes' defaults those of float32; the latter hold.
    extremes = ml_dtypes.finfo(x.dtype)  # type: ignore[no-untyped-call]
    low = call.attributes.get("min", float(extremes.min))
    high = call.attributes.get("max", float(extremes.max))
    wide = widened(x)
    return narrowed_as(_clipped(wide, wide.dtype.type(low), wide.dtype.type(high)), x.dtype)


@kernel("Clip", since=(11, 12, 13), changes=())
def clip(call: Call, x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    """Clip-11, 12, 13: min(max, max(x, min)).

    Args:
        call: No attributes.
        x: [*shape], any numeric dtype of the version.
        low: Scalar of the dtype of x; absent, its least finite number, which binds infinities.
        high: The same at the other end.

    Returns:
        The shape and dtype of x.
    """
    limits: Any = ml_dtypes.finfo if is_float(x.dtype) else ml_dtypes.iinfo
    extremes = limits(x.dtype)
    lower = x.dtype.type(extremes.min) if low is None else scalar(call, low, "min")
    upper = x.dtype.type(extremes.max) if high is None else scalar(call, high, "max")
    return _clipped(x, lower, upper)


def _clipped(x: Array, low: Any, high: Any) -> Array:
    return minimum(maximum(x, numpy.asarray(low)), numpy.asarray(high))
