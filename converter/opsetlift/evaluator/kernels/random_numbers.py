"""The operators that draw random numbers.

No text specifies the stream, "even if a seed is specified". Ours is that of numpy's MT19937, seeded with the bits of
the attribute seed as a float, or with 0 where it is absent: both sides of a proof then draw the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy

from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import dtype_name, numpy_dtype


@kernel("RandomNormal", since=(1, 22))
def random_normal(call: Call) -> Array:
    """RandomNormal-1, 22: Normal numbers of the attributes shape and dtype."""
    return _normal(call, _dtype(call, None), call.attributes["shape"])


@kernel("RandomNormalLike", since=(1, 22))
def random_normal_like(call: Call, x: Array) -> Array:
    """RandomNormalLike-1, 22: Normal numbers in the shape of x, and its dtype."""
    return _normal(call, _dtype(call, x), x.shape)


@kernel("RandomUniform", since=(1, 22))
def random_uniform(call: Call) -> Array:
    """RandomUniform-1, 22: Uniform numbers of the attributes shape and dtype."""
    return _uniform(call, _dtype(call, None), call.attributes["shape"])


@kernel("RandomUniformLike", since=(1, 22))
def random_uniform_like(call: Call, x: Array) -> Array:
    """RandomUniformLike-1, 22: Uniform numbers in the shape of x, and its dtype."""
    return _uniform(call, _dtype(call, x), x.shape)


@kernel("Bernoulli", since=(15, 22))
def bernoulli(call: Call, x: Array) -> Array:
    """Bernoulli-15, 22: 1 with the probability x, else 0.

    Float x [*shape] in [0, 1]. The output has its shape, and its dtype or that of the attribute dtype.
    """
    probabilities = widened(x)
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        call.fail("all values in the input have to be in the range [0, 1]")
    return as_dtype(seeded_generator(call).uniform(size=x.shape) < probabilities, _dtype(call, x))


@kernel("Multinomial", since=(7, 22))
def multinomial(call: Call, x: Array) -> Array:
    """Multinomial-7, 22: Classes drawn by unnormalized logarithms of probabilities.

    Float x [batch, classes]. The output is [batch, sample_size], int32 or int64.
    """
    if x.ndim != 2 or x.shape[1] == 0:
        call.fail(f"the input must have the shape [batch_size, class_size], not {list(x.shape)}")
    logits = widened(x).astype(numpy.float64)
    weights = numpy.exp(logits - logits.max(axis=1, keepdims=True))
    limits = numpy.cumsum(weights, axis=1)
    draws = seeded_generator(call).uniform(size=(x.shape[0], call.attributes["sample_size"])) * limits[:, -1:]
    samples = [numpy.searchsorted(row, values, side="right") for row, values in zip(limits, draws, strict=True)]
    return as_dtype(numpy.reshape(numpy.asarray(samples, numpy.int64), draws.shape), _dtype(call, None))


def seeded_generator(call: Call) -> numpy.random.RandomState:
    """The stream of the attribute seed."""
    seed = numpy.float32(call.attributes.get("seed") or 0)
    return numpy.random.RandomState(int(seed.view(numpy.uint32)))


def _dtype(call: Call, like: Array | None) -> numpy.dtype[Any]:
    """The attribute dtype, or that of the input to copy it from."""
    number = call.attributes.get("dtype")
    if number is None and like is not None:
        return like.dtype
    try:
        return numpy_dtype(dtype_name(int(number or 0)))
    except ValueError:
        call.fail(f"dtype must be one of the data types of TensorProto, not {number}")


def _normal(call: Call, dtype: numpy.dtype[Any], shape: Any) -> Array:
    values = seeded_generator(call).normal(call.attributes["mean"], call.attributes["scale"], tuple(shape))
    return as_dtype(numpy.asarray(values), dtype)


def _uniform(call: Call, dtype: numpy.dtype[Any], shape: Any) -> Array:
    values = seeded_generator(call).uniform(call.attributes["low"], call.attributes["high"], tuple(shape))
    return as_dtype(numpy.asarray(values), dtype)
