"""The activation functions that RNN, GRU and LSTM name in their attribute activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy

from opsetlift.evaluator.kernels.registry import Call
from opsetlift.model.arrays import Array

Activation = Callable[[Array], Array]


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), for float32 or float64 [*shape]."""
    return numpy.asarray(1 / (1 + numpy.exp(-x)))


def _relu(x: Array) -> Array:
    return numpy.asarray(numpy.maximum(x, 0))


def _softsign(x: Array) -> Array:
    return numpy.asarray(x / (1 + numpy.abs(x)))


def _softplus(x: Array) -> Array:
    return numpy.asarray(numpy.logaddexp(x, x.dtype.type(0)))


def _affine(x: Array, alpha: float, beta: float) -> Array:
    return numpy.asarray(x.dtype.type(alpha) * x + x.dtype.type(beta))


def _leaky_relu(x: Array, alpha: float, _: float) -> Array:
    return numpy.where(x >= 0, x, x.dtype.type(alpha) * x)


def _thresholded_relu(x: Array, alpha: float, _: float) -> Array:
    return numpy.where(x >= x.dtype.type(alpha), x, x.dtype.type(0))


def _scaled_tanh(x: Array, alpha: float, beta: float) -> Array:
    return numpy.asarray(x.dtype.type(alpha) * numpy.tanh(x.dtype.type(beta) * x))


def _hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    return numpy.asarray(numpy.clip(x.dtype.type(alpha) * x + x.dtype.type(beta), 0, 1))


def _elu(x: Array, alpha: float, _: float) -> Array:
    return numpy.where(x >= 0, x, x.dtype.type(alpha) * (numpy.exp(x) - 1))


_PLAIN: dict[str, Activation] = {
    "Relu": _relu,
    "Tanh": lambda x: numpy.asarray(numpy.tanh(x)),
    "Sigmoid": sigmoid,
    "Softsign": _softsign,
    "Softplus": _softplus,
}

# Function and the defaults of alpha and beta, None where it has no such parameter. "Default values are the same as of
# corresponding ONNX operators", whose attributes have 32 bits; Affine and ScaledTanh have none, 1 and 0 (or 1) keep
# their argument as it is.
_SCALED: dict[str, tuple[Callable[[Array, float, float], Array], float, float | None]] = {
    "Affine": (_affine, 1.0, 0.0),
    "LeakyRelu": (_leaky_relu, float(numpy.float32(0.01)), None),
    "ThresholdedRelu": (_thresholded_relu, 1.0, None),
    "ScaledTanh": (_scaled_tanh, 1.0, 1.0),
    "HardSigmoid": (_hard_sigmoid, float(numpy.float32(0.2)), 0.5),
    "Elu": (_elu, 1.0, None),
}


def activations(call: Call, names: Sequence[str], directions: int) -> list[list[Activation]]:
    """Return per direction the functions that the attribute names, or those called `names` where it is absent.

    "The values are consumed in the order of activation functions": each function takes the next alpha (beta) if it has
    one, its default once they are used up.
    """
    given = call.attributes.get("activations") or [*names] * directions
    if len(given) < len(names) * directions:
        call.fail(f"{len(names) * directions} activations are needed, {len(given)} are given")
    alphas = list(call.attributes.get("activation_alpha") or ())
    betas = list(call.attributes.get("activation_beta") or ())
    functions = [_activation(call, name, alphas, betas) for name in given[: len(names) * directions]]
    return [functions[start : start + len(names)] for start in range(0, len(functions), len(names))]


def _activation(call: Call, name: str, alphas: list[float], betas: list[float]) -> Activation:
    if name in _PLAIN:
        return _PLAIN[name]
    if name not in _SCALED:
        call.fail(f"activations must be among {', '.join([*_PLAIN, *_SCALED])}, not {name!r}")
    function, alpha, beta = _SCALED[name]
    alpha = alphas.pop(0) if alphas else alpha
    if beta is not None and betas:
        beta = betas.pop(0)
    return lambda x: function(x, alpha, beta or 0.0)


def clipped(call: Call, functions: list[Activation]) -> list[Activation]:
    """Return the functions with the attribute clip "applied to the input of activations"."""
    threshold = call.attributes.get("clip")
    if threshold is None:
        return functions

    def with_clip(function: Activation) -> Activation:
        return lambda x: function(numpy.asarray(numpy.clip(x, x.dtype.type(-threshold), x.dtype.type(threshold))))

    return [with_clip(function) for function in functions]
