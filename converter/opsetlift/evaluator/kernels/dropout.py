"""Dropout. Its random stream is unspecified: ours is that of the operators that draw random numbers."""

from __future__ import annotations

from typing import Any

import numpy

from opsetlift.evaluator.kernels.axes import scalar
from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.random_numbers import seeded_generator
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.open_results import open_values
from opsetlift.model.arrays import Array


@kernel("Dropout", since=(1, 6))
def dropout_by_is_test(call: Call, data: Array) -> tuple[Array, Array]:
    """Dropout-1, 6: data [*shape] where is_test is set, else with parts zeroed.

    Returns:
        The output and the mask, both float like data.
    """
    if call.attributes["is_test"]:
        return _everything_below_12(data, data.dtype)
    return _dropped(call, data, call.attributes["ratio"], data.dtype)


@kernel("Dropout", since=(7, 10))
def dropout_for_inference(call: Call, data: Array) -> tuple[Array, Array]:
    """Dropout-7, 10: data [*shape] itself: these versions cannot be told to train.

    Returns:
        The output, and a mask of ones, float like data (7) or bool (10).
    """
    return _everything_below_12(data, data.dtype if call.since_version == 7 else numpy.dtype(bool))


@kernel("Dropout", since=(12, 13, 22))
def dropout_by_training_mode(
    call: Call, data: Array, ratio: Array | None = None, training_mode: Array | None = None
) -> tuple[Array, Array]:
    """Dropout-12, 13, 22: data with parts zeroed where training_mode is true.

    Args:
        call: seed.
        data: [*shape], any float dtype.
        ratio: float scalar, the share of zeros; absent, 0.5.
        training_mode: bool scalar; absent, false.

    Returns:
        The output like data, and the mask, bool.
    """
    training = training_mode is not None and bool(scalar(call, training_mode, "training_mode"))
    share = 0.5 if ratio is None else float(scalar(call, ratio, "ratio"))
    _check_ratio(call, share)
    if not training or share == 0:
        return _everything(data, numpy.dtype(bool))
    return _dropped(call, data, share, numpy.dtype(bool))


def _everything(data: Array, mask_dtype: numpy.dtype[Any]) -> tuple[Array, Array]:
    return data, numpy.ones(data.shape, mask_dtype)


def _everything_below_12(data: Array, mask_dtype: numpy.dtype[Any]) -> tuple[Array, Array]:
    """The texts below 12 do not say what the mask is where nothing is dropped, and onnxruntime gives zeros there."""
    output, mask = _everything(data, mask_dtype)
    return output, open_values(mask, numpy.ones(mask.shape, bool), "gives the mask of a Dropout that drops nothing")


def _check_ratio(call: Call, ratio: float) -> None:
    if not 0 <= ratio < 1:
        call.fail(f"ratio must be in [0, 1), not {ratio}")


def _dropped(call: Call, data: Array, ratio: float, mask_dtype: numpy.dtype[Any]) -> tuple[Array, Array]:
    _check_ratio(call, ratio)
    mask = seeded_generator(call).uniform(0, 1, data.shape) >= ratio
    wide = widened(data)
    return as_dtype(wide * mask * wide.dtype.type(1 / (1 - ratio)), data.dtype), mask.astype(mask_dtype)
