"""NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss."""

from __future__ import annotations

import numpy

from opsetlift.evaluator.kernels.accumulation import total
from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.kernels.softmax import logarithms_of_shares
from opsetlift.model.arrays import Array


@kernel("NegativeLogLikelihoodLoss", since=(12, 13, 22), changes=())
def negative_log_likelihood_loss(call: Call, x: Array, target: Array, weight: Array | None = None) -> Array:
    """NegativeLogLikelihoodLoss-12, 13, 22: The negated input at each target, weighted.

    Args:
        call: ignore_index, and reduction: none, sum or mean.
        x: [N, C, *spatial], any float dtype: logarithms of probabilities.
        target: int32 or int64 [N, *spatial], classes.
        weight: [C], of the dtype of x; absent, ones.

    Returns:
        [N, *spatial], or a scalar where it is reduced, of the dtype of x.
    """
    return as_dtype(_loss(call, widened(x), target, weight), x.dtype)


@kernel("SoftmaxCrossEntropyLoss", since=(12, 13), changes=())
def softmax_cross_entropy_loss(
    call: Call, scores: Array, labels: Array, weights: Array | None = None
) -> tuple[Array, Array]:
    """SoftmaxCrossEntropyLoss-12, 13: NegativeLogLikelihoodLoss of LogSoftmax.

    Args:
        call: ignore_index, and reduction: none, sum or mean.
        scores: [N, C, *spatial], any float dtype.
        labels: int32 or int64 [N, *spatial], classes.
        weights: [C], of the dtype of scores; absent, ones.

    Returns:
        The loss, [N, *spatial] or a scalar where it is reduced, and the logarithms of probabilities like scores.
    """
    if scores.ndim < 2:
        call.fail(f"scores must have the shape (N, C, D1, ..., Dk), not {list(scores.shape)}")
    classes_last = numpy.asarray(numpy.moveaxis(widened(scores), 1, -1), order="C")
    log_probabilities = numpy.moveaxis(logarithms_of_shares(classes_last), -1, 1)
    loss = _loss(call, log_probabilities, labels, weights)
    return as_dtype(loss, scores.dtype), as_dtype(log_probabilities, scores.dtype)


def _loss(call: Call, log_probabilities: Array, target: Array, weight: Array | None) -> Array:
    shape = log_probabilities.shape
    if len(shape) < 2 or target.shape != (shape[0], *shape[2:]):
        call.fail(f"the target {list(target.shape)} must have the shape of the input {list(shape)} without its classes")
    if weight is not None and weight.shape != shape[1:2]:
        call.fail(f"weight must be a tensor of size C = {shape[1]}, not {list(weight.shape)}")
    reduction = call.attributes["reduction"]
    if reduction not in ("none", "sum", "mean"):
        call.fail(f"reduction must be none, sum or mean, not {reduction!r}")
    ignored = numpy.zeros(target.shape, bool)
    if call.attributes.get("ignore_index") is not None:
        ignored = target == call.attributes["ignore_index"]
    counted = target[~ignored]
    if counted.size and not (counted.min() >= 0 and counted.max() < shape[1]):
        call.fail(f"the target values must be in [0, {shape[1]}) or ignore_index")
    classes = numpy.where(ignored, 0, target)
    weights = numpy.ones(shape[1], log_probabilities.dtype) if weight is None else widened(weight)
    applied = weights[classes]
    picked = numpy.take_along_axis(log_probabilities, classes[:, None], axis=1)[:, 0]
    losses = numpy.where(ignored, log_probabilities.dtype.type(0), -picked * applied)
    if reduction == "none":
        return numpy.asarray(losses)
    summed = _sum(losses)
    if reduction == "sum":
        return summed
    # "Divided by the sum of applied weights": ONNX's node tests count ignored samples as 0 also without weights, where
    # the text has a plain mean.
    counted_weights = _sum(numpy.where(ignored, applied.dtype.type(0), applied)).astype(summed.dtype)
    return numpy.asarray(summed / counted_weights)


def _sum(values: Array) -> Array:
    return total(values, tuple(range(values.ndim))).astype(values.dtype)
