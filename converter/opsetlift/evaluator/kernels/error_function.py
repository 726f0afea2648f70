"""erf for arrays, which numpy lacks: Taylor series around nodes that are close together."""

from __future__ import annotations

import math
from functools import cache

import numpy

from opsetlift.model.arrays import Array

_NODES_PER_UNIT = 32
_LAST_NODE = 6.0
"""From here on erf is 1 in float64."""

_TERMS = 9
_TERMS_FOR_FLOAT32 = 5
_BLOCK = 1 << 14
"""Elements per pass, so that the temporaries stay in the processor's cache."""


def erf(values: Array) -> Array:
    """The error function of float32 or float64 [*shape], computed in float64 and rounded to their dtype."""
    flat = values.reshape(-1)
    result = numpy.empty_like(flat)
    coefficients = _coefficients()[: _TERMS_FOR_FLOAT32 + 1 if values.dtype == numpy.float32 else _TERMS + 1]
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK].astype(numpy.float64)
        result[start : start + _BLOCK] = _erf_of_block(block, coefficients)
    return result.reshape(values.shape)


def _erf_of_block(x: Array, coefficients: Array) -> Array:
    # NaN makes no node, hence the clipping; the distance passes it on.
    magnitude = numpy.minimum(numpy.abs(x), _LAST_NODE)
    node = numpy.rint(magnitude * _NODES_PER_UNIT).astype(numpy.intp)
    distance = magnitude - node / _NODES_PER_UNIT
    total = coefficients[-1].take(node, mode="clip")
    for row in coefficients[-2::-1]:
        total *= distance
        total += row.take(node, mode="clip")
    return numpy.asarray(numpy.copysign(numpy.minimum(total, 1.0), x))


@cache
def _coefficients() -> Array:
    """The Taylor coefficients: a row per power, a column per node.

    The derivative g of erf satisfies g' = -2xg, whence (n+1)g[n+1] = -2·node·g[n] - 2·g[n-1].
    """
    columns = []
    for index in range(round(_LAST_NODE * _NODES_PER_UNIT) + 1):
        node = index / _NODES_PER_UNIT
        derivative = [2.0 / math.sqrt(math.pi) * math.exp(-node * node)]
        derivative.append(-2.0 * node * derivative[0])
        for n in range(1, _TERMS):
            derivative.append((-2.0 * node * derivative[n] - 2.0 * derivative[n - 1]) / (n + 1))
        columns.append([math.erf(node), *(value / (n + 1) for n, value in enumerate(derivative))])
    return numpy.array(columns).T.copy()
