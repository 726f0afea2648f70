"""BatchNormalization: what tells training from inference differs from version to version."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy

from opsetlift.evaluator.kernels import accumulation
from opsetlift.evaluator.kernels.numeric import as_dtype, is_narrow_float, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@kernel("BatchNormalization", since=(1, 6))
def batch_normalization_by_is_test(
    call: Call, x: Array, scale: Array, b: Array, mean: Array, variance: Array
) -> Array | tuple[Array, ...]:
    """BatchNormalization-1, 6: Training unless is_test is set.

    Args:
        call: is_test, epsilon, momentum, spatial.
        x: [N, C, *spatial], any float dtype.
        scale: [C]; as b, mean and variance, per activation where spatial is 0.
        b: [C].
        mean: [C], the running mean.
        variance: [C], the running variance.

    Returns:
        Y like x; when training also the running mean and variance, and the saved ones.
    """
    if call.since_version == 1 and x.ndim != 4:
        call.fail_if_strict(f"X must be a 4-dimensional tensor of shape NCHW, not {list(x.shape)}")
    _check_parameters(call, x.shape[1:2], scale, b, mean, variance)
    if call.attributes["is_test"]:
        _check_no_statistics(call, "is_test")
        return _inference(call, x, scale, b, mean, variance)
    axes = _all_but_channels(x)
    if not call.attributes["spatial"]:
        # "per feature": over the batch only; the statistics of size C leave room for no other spatial axes.
        if x.ndim > 2:
            call.fail("without spatial there is a mean per feature, but this version's mean is of size C")
        axes = (0,)
    return _training(call, x, scale, b, mean, variance, axes)


@kernel("BatchNormalization", since=(7,))
def batch_normalization_by_spatial(
    call: Call, x: Array, scale: Array, b: Array, mean: Array, variance: Array
) -> Array | tuple[Array, ...]:
    """BatchNormalization-7: Training where more outputs than Y are asked for.

    Args:
        call: epsilon, momentum, spatial.
        x: [N, C, *spatial], any float dtype.
        scale: [C]; as b, mean and variance, per activation where spatial is 0.
        b: [C].
        mean: [C], the running mean.
        variance: [C], the running variance.

    Returns:
        Y like x; when training also the running mean and variance, and the saved ones.
    """
    per_activation = not call.attributes["spatial"]
    _check_parameters(call, x.shape[1:] if per_activation else x.shape[1:2], scale, b, mean, variance)
    if call.output_count == 1:
        return _inference(call, x, scale, b, mean, variance)
    axes = (0,) if per_activation else _all_but_channels(x)
    return _training(call, x, scale, b, mean, variance, axes)


def _trains(attributes: Mapping[str, Any], output_count: int) -> bool:
    """Nodes that train before 14 or since."""
    return output_count > 1 or bool(attributes.get("training_mode"))


@kernel("BatchNormalization", since=(9, 14, 15), changes={14: _trains})
def batch_normalization(
    call: Call, x: Array, scale: Array, b: Array, mean: Array, variance: Array
) -> Array | tuple[Array, ...]:
    """BatchNormalization-9, 14, 15: Training where more outputs than Y are asked for (9) or training_mode is set.

    Args:
        call: training_mode (14), epsilon, momentum.
        x: [N, C, *spatial], any float dtype.
        scale: [C], as b, mean and variance since 14 any float dtype.
        b: [C].
        mean: [C], the running mean.
        variance: [C], the running variance.

    Returns:
        Y like x; when training also the running mean and variance, and in 9 the saved ones.
    """
    _check_parameters(call, _channels(x), scale, b, mean, variance)
    if call.since_version < 14:
        is_training = call.output_count > 1
    else:
        is_training = bool(call.attributes["training_mode"])
        if not is_training:
            _check_no_statistics(call, "training_mode=False")
    if not is_training:
        return _inference(call, x, scale, b, mean, variance)
    return _training(call, x, scale, b, mean, variance, _all_but_channels(x))


def _channels(x: Array) -> tuple[int, ...]:
    """Since 9, a "single dimension input of size N" has one channel."""
    return (1,) if x.ndim == 1 else x.shape[1:2]


def _all_but_channels(x: Array) -> tuple[int, ...]:
    return tuple(axis for axis in range(x.ndim) if axis != 1)


def _check_parameters(call: Call, shape: tuple[int, ...], scale: Array, b: Array, mean: Array, variance: Array) -> None:
    if not scale.shape == b.shape == mean.shape == variance.shape == shape:
        shapes = ", ".join(str(list(values.shape)) for values in (scale, b, mean, variance))
        call.fail(f"scale, B, mean and var must have the shape {list(shape)}, not {shapes}")


def _check_no_statistics(call: Call, mode: str) -> None:
    if call.output_count > 1:
        call.fail(f"extra outputs are invalid with {mode}")


def _per_channel(x: Array, values: Array) -> Array:
    """Parameters of shape (C), or (C x D1 ... x Dn), in the shape that broadcasts over `x`."""
    return values.reshape((*values.shape, *(1,) * (x.ndim - 1 - values.ndim)))


def _inference(call: Call, x: Array, scale: Array, b: Array, mean: Array, variance: Array) -> Array:
    dtype = x.dtype
    if not scale.dtype == b.dtype == mean.dtype == variance.dtype == dtype or is_narrow_float(dtype):
        # The dtypes of X, the parameters and the statistics may differ since 14; the widest holds them all.
        values = [widened(value) for value in (x, scale, b, mean, variance)]
        widest = reduce(numpy.promote_types, [value.dtype for value in values])
        x, scale, b, mean, variance = (value.astype(widest, copy=False) for value in values)
    return as_dtype(_normalized(call, x, scale, b, mean, variance), dtype)


def _normalized(call: Call, x: Array, scale: Array, b: Array, mean: Array, variance: Array) -> Array:
    """Compute (X - mean) / sqrt(var + epsilon) * scale + B."""
    factor = scale / numpy.sqrt(variance + variance.dtype.type(call.attributes["epsilon"]))
    y = numpy.asarray(x - _per_channel(x, mean))
    y *= _per_channel(x, factor)
    y += _per_channel(x, b)
    return y


def _training(
    call: Call, x: Array, scale: Array, b: Array, mean: Array, variance: Array, axes: tuple[int, ...]
) -> tuple[Array, ...]:
    """Y, the running mean and variance, and (before 14) the batch's own.

    Only 14 and 15 say that the variance is that of the population, and 15 that float holds the statistics of float16.
    """
    wide = widened(x)
    current_mean = accumulation.mean(wide, axes)
    centred = wide - _per_channel(x, current_mean)
    current_variance = accumulation.mean(numpy.square(centred), axes)
    y = _normalized(call, wide, widened(scale), widened(b), current_mean, current_variance)
    momentum = wide.dtype.type(call.attributes["momentum"])
    running = (
        as_dtype(widened(old) * momentum + new.reshape(old.shape) * (1 - momentum), old.dtype)
        for old, new in ((mean, current_mean), (variance, current_variance))
    )
    saved = (as_dtype(values.reshape(mean.shape), mean.dtype) for values in (current_mean, current_variance))
    return (as_dtype(y, x.dtype), *running, *saved)[: max(1, call.output_count)]
