"""The optimizers of ai.onnx.preview.training; its Gradient would need derivatives of every operator."""

from __future__ import annotations

import numpy

from opsetlift.evaluator.kernels.axes import scalar
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

_DOMAIN = "ai.onnx.preview.training"


@kernel("Adagrad", since=(1,), domain=_DOMAIN)
def adagrad(call: Call, r: Array, t: Array, *tensors: Array) -> tuple[Array, ...]:
    """Adagrad-1: One step of Adagrad.

    Args:
        call: decay_factor, epsilon, norm_coefficient.
        r: Float scalar, the learning rate.
        t: int64 scalar, the number of steps before.
        *tensors: All X, all gradients, all sums of squares, of one shape for each X.

    Returns:
        All X and all sums of squares, updated.
    """
    rate = float(scalar(call, r, "R")) / (1 + int(scalar(call, t, "T")) * call.attributes["decay_factor"])
    updated, histories = [], []
    for x, gradient, history in _optimized(call, tensors, 3):
        regularized = call.attributes["norm_coefficient"] * x + gradient
        history = history + regularized * regularized
        updated.append(x - rate * regularized / (numpy.sqrt(history) + call.attributes["epsilon"]))
        histories.append(history)
    return (*updated, *histories)


@kernel("Adam", since=(1,), domain=_DOMAIN)
def adam(call: Call, r: Array, t: Array, *tensors: Array) -> tuple[Array, ...]:
    """Adam-1: One step of Adam.

    Args:
        call: alpha, beta, epsilon, norm_coefficient, norm_coefficient_post.
        r: Float scalar, the learning rate.
        t: int64 scalar, the number of steps before.
        *tensors: All X, all gradients, all averages, all averages of squares, of one shape for each X.

    Returns:
        All X, all averages and all averages of squares, updated.
    """
    alpha, beta = call.attributes["alpha"], call.attributes["beta"]
    count = int(scalar(call, t, "T"))
    rate = float(scalar(call, r, "R"))
    if count > 0:
        rate = rate * float(numpy.sqrt(1 - beta**count)) / (1 - alpha**count)
    updated, averages, squares = [], [], []
    for x, gradient, average, square in _optimized(call, tensors, 4):
        regularized = call.attributes["norm_coefficient"] * x + gradient
        average = alpha * average + (1 - alpha) * regularized
        square = beta * square + (1 - beta) * (regularized * regularized)
        moved = x - rate * average / (numpy.sqrt(square) + call.attributes["epsilon"])
        updated.append((1 - call.attributes["norm_coefficient_post"]) * moved)
        averages.append(average)
        squares.append(square)
    return (*updated, *averages, *squares)


@kernel("Momentum", since=(1,), domain=_DOMAIN)
def momentum(call: Call, r: Array, t: Array, *tensors: Array) -> tuple[Array, ...]:
    """Momentum-1: One step of stochastic gradient descent with momentum.

    Args:
        call: alpha, beta, mode, norm_coefficient.
        r: Float scalar, the learning rate.
        t: int64 scalar, the number of steps before.
        *tensors: All X, all gradients, all momenta, of one shape for each X.

    Returns:
        All X and all momenta, updated.
    """
    mode = call.attributes["mode"]
    if mode not in ("nesterov", "standard"):
        call.fail(f"mode must be nesterov or standard, not {mode!r}")
    rate = float(scalar(call, r, "R"))
    alpha = call.attributes["alpha"]
    # "In the first training iteration, beta should always be 1."
    beta = call.attributes["beta"] if int(scalar(call, t, "T")) > 0 else 1.0
    updated, momenta = [], []
    for x, gradient, velocity in _optimized(call, tensors, 3):
        regularized = call.attributes["norm_coefficient"] * x + gradient
        velocity = alpha * velocity + beta * regularized
        updated.append(x - rate * (regularized + alpha * velocity if mode == "nesterov" else velocity))
        momenta.append(velocity)
    return (*updated, *momenta)


def _optimized(call: Call, tensors: tuple[Array, ...], parts: int) -> list[tuple[Array, ...]]:
    """One tuple per optimized tensor: its value, its gradient and the rest."""
    if not tensors or len(tensors) % parts:
        call.fail(f"the inputs after R and T must be {parts} per optimized tensor, not {len(tensors)} in all")
    count = len(tensors) // parts
    return [tensors[index::count] for index in range(count)]
