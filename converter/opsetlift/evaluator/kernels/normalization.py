"""InstanceNormalization, GroupNormalization, LayerNormalization, RMSNormalization, LRN, MeanVarianceNormalization.

BatchNormalization has a module of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from opsetlift.evaluator.kernels.accumulation import mean
from opsetlift.evaluator.kernels.axes import distinct_axes, nonnegative_axis
from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import numpy_dtype

_STAGE_DTYPES = {1: "float", 10: "float16", 11: "double", 16: "bfloat16"}


@kernel("InstanceNormalization", since=(1, 6, 22), changes=(6,))
def instance_normalization(call: Call, x: Array, scale: Array, b: Array) -> Array:
    """InstanceNormalization-1, 6, 22: Each channel of each instance standardized.

    Args:
        call: epsilon.
        x: [N, C, *spatial], any float dtype.
        scale: [C], of the dtype of x.
        b: [C], of the dtype of x.

    Returns:
        The shape and dtype of x.
    """
    if call.since_version == 1 and x.ndim != 4:
        call.fail_if_strict(f"the input must be a 4-dimensional tensor of shape NCHW, not {list(x.shape)}")
    if x.ndim < 3 or scale.shape != x.shape[1:2] or b.shape != x.shape[1:2]:
        call.fail(f"input {list(x.shape)} must be (N x C x D1 ... x Dn), scale and B must be of size C")
    shape = (-1, *(1,) * (x.ndim - 2))
    normalized = _standardized(widened(x), tuple(range(2, x.ndim)), call.attributes["epsilon"])[0]
    normalized *= widened(scale).reshape(shape)
    normalized += widened(b).reshape(shape)
    return as_dtype(normalized, x.dtype)


@kernel("GroupNormalization", since=(18, 21))
def group_normalization(call: Call, x: Array, scale: Array, bias: Array) -> Array:
    """GroupNormalization-18, 21: Each group of channels standardized.

    Version 18 scales per group and says nothing of precision; 21 per channel, in two stages.

    Args:
        call: num_groups, epsilon and, in 21, stash_type.
        x: [N, C, *spatial], any float dtype.
        scale: [num_groups] in 18, [C] in 21.
        bias: Like scale.

    Returns:
        The shape and dtype of x.
    """
    groups = call.attributes["num_groups"]
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        call.fail(f"num_groups {groups} must be a divisor of the number of channels in {list(x.shape)}")
    expected = groups if call.since_version == 18 else x.shape[1]
    if scale.shape != (expected,) or bias.shape != (expected,):
        call.fail(f"scale and bias must have the shape ({expected}), not {list(scale.shape)} and {list(bias.shape)}")
    stage = widened(x) if call.since_version == 18 else x.astype(_stage_dtype(call))
    grouped = stage.reshape(x.shape[0], groups, x.shape[1] // groups, math.prod(x.shape[2:]))
    normalized = _standardized(grouped, (2, 3), call.attributes["epsilon"])[0]
    if call.since_version == 18:
        scale, bias = (widened(values).reshape(-1, 1, 1) for values in (scale, bias))
        return as_dtype((normalized * scale + bias).reshape(x.shape), x.dtype)
    shape = (-1, *(1,) * (x.ndim - 2))
    return as_dtype(normalized.reshape(x.shape), x.dtype) * scale.reshape(shape) + bias.reshape(shape)


@kernel("LayerNormalization", since=(17,))
def layer_normalization(
    call: Call, x: Array, scale: Array, b: Array | None = None
) -> Array | tuple[Array | None, Array | None, Array | None]:
    """LayerNormalization-17: The axes from `axis` on standardized, in two stages.

    Args:
        call: axis, epsilon, stash_type.
        x: [*outer, *normalized], any float dtype.
        scale: Broadcast to x, of its dtype.
        b: Broadcast to x, of its dtype.

    Returns:
        Y like x; where asked for also the mean and the reciprocal deviation, [*outer, 1...] in the dtype of stash_type.
    """
    axes = _trailing_axes(call, x)
    _check_broadcast_to_x(call, x, scale, b)
    normalized, average, deviation = _standardized(x.astype(_stage_dtype(call)), axes, call.attributes["epsilon"])
    y = as_dtype(normalized, x.dtype) * scale
    if b is not None:
        y = y + b
    if call.output_count == 1:
        return y
    return y, average, numpy.reciprocal(deviation)


@kernel("RMSNormalization", since=(23,))
def rms_normalization(call: Call, x: Array, scale: Array) -> Array:
    """RMSNormalization-23: The axes from `axis` on divided by their root mean square.

    Args:
        call: axis, epsilon, stash_type.
        x: [*outer, *normalized], any float dtype.
        scale: Broadcast to x, any float dtype.

    Returns:
        The shape of x, the dtype of scale.
    """
    axes = _trailing_axes(call, x)
    _check_broadcast_to_x(call, x, scale, None)
    stage = x.astype(_stage_dtype(call))
    root = numpy.sqrt(_mean(stage * stage, axes) + stage.dtype.type(call.attributes["epsilon"]))
    # Stage one ends in X's dtype, the product has scale's, which the schema lets differ.
    return as_dtype(as_dtype(stage / root, x.dtype), scale.dtype) * scale


@kernel("LRN", since=(1, 13), changes=())
def local_response_normalization(call: Call, x: Array) -> Array:
    """LRN-1, 13: x over a power of the squares in channels nearby.

    Float x [N, C, *spatial]: x / (bias + alpha / size * sum of squares) ** beta.
    """
    size = call.attributes["size"]
    if x.ndim < 2:
        call.fail(f"X must have the shape (N x C x D1 ... x Dn), not {list(x.shape)}")
    if size < 1:
        call.fail(f"size must be positive, not {size}")
    wide = widened(x)
    squares = numpy.square(wide)
    sums = squares.copy()
    channels = x.shape[1]
    for distance in range(1, min(channels, size // 2 + 1)):
        sums[:, :-distance] += squares[:, distance:]
        if distance <= (size - 1) // 2:
            sums[:, distance:] += squares[:, :-distance]
    sums *= wide.dtype.type(call.attributes["alpha"] / size)
    sums += wide.dtype.type(call.attributes["bias"])
    return as_dtype(wide / _power(sums, call.attributes["beta"]), x.dtype)


def _power(x: Array, exponent: float) -> Array:
    if exponent == 0.75:  # AlexNet's: two square roots are exact to the same few ULPs and ten times faster
        root = numpy.sqrt(x)
        return root * numpy.sqrt(root)
    return numpy.asarray(numpy.power(x, x.dtype.type(exponent)))


@kernel("MeanVarianceNormalization", since=(9, 13), changes=())
def mean_variance_normalization(call: Call, x: Array) -> Array:
    """MeanVarianceNormalization-9, 13: (x - mean) / deviation over axes.

    Float x [*shape]. The formula of the text, with the 1e-9 that the function body adds to the deviation.
    """
    axes = tuple(distinct_axes(call, call.attributes["axes"], x.ndim))
    wide = widened(x)
    centred = wide - _mean(wide, axes)
    deviation = numpy.sqrt(_mean(numpy.square(centred), axes)) + wide.dtype.type(1e-9)
    return as_dtype(centred / deviation, x.dtype)


def _stage_dtype(call: Call) -> numpy.dtype[Any]:
    """The precision of stage one."""
    stash_type = call.attributes["stash_type"]
    if stash_type not in _STAGE_DTYPES:
        call.fail(f"stash_type must be the number of a floating-point dtype, not {stash_type}")
    return numpy_dtype(_STAGE_DTYPES[stash_type])


def _trailing_axes(call: Call, x: Array) -> tuple[int, ...]:
    return tuple(range(nonnegative_axis(call, call.attributes["axis"], x.ndim), x.ndim))


def _check_broadcast_to_x(call: Call, x: Array, scale: Array, b: Array | None) -> None:
    for name, values in (("Scale", scale), ("B", b)):
        if values is None:
            continue
        aligned = (1,) * (x.ndim - values.ndim) + values.shape
        if len(aligned) != x.ndim or any(have not in (1, want) for have, want in zip(aligned, x.shape, strict=True)):
            call.fail(f"{name} {list(values.shape)} must be unidirectional broadcastable to X, {list(x.shape)}")


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    return as_dtype(mean(widened(x), axes, keepdims=True), x.dtype)


def _standardized(x: Array, axes: tuple[int, ...], epsilon: float) -> tuple[Array, Array, Array]:
    """Zero mean and unit variance along `axes`; also the mean and the standard deviation, all in x's dtype."""
    average = _mean(x, axes)
    centred = numpy.asarray(x - average)
    deviation = numpy.asarray(numpy.sqrt(_mean(numpy.square(centred), axes) + x.dtype.type(epsilon)))
    centred /= deviation
    return centred, average, deviation
