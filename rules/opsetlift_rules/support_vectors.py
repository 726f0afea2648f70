"""Support vector machines of ai.onnx.ml, for runtimes that have none of its operators.

SVMClassifier, SVMRegressor  unchanged since 1
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy

from opsetlift.rulebook.rule import Fallback, rounding
from opsetlift.rulebook.site import Array, Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.learnt_models import (
    DOMAIN,
    TRANSFORMS,
    TWO,
    cast,
    label_at,
    rows_of,
    stage_of,
    transformed,
)


def add_kernels_of_support_vectors(site: Site) -> None:
    """Replace SVMRegressor with the kernels of its support vectors, a product of matrices and a sum."""
    transform, supports = site.attribute("post_transform", "NONE"), site.attribute("n_supports", 0)
    if transform not in TRANSFORMS:
        return
    op, dtype = site.op_at(opsets.AXES_AS_INPUTS, ""), stage_of(site.dtype(0))
    rows = rows_of(site, op, dtype)
    kernels = _kernels(site, op, rows, supports, dtype) if supports > 0 else rows
    coefficients = numpy.array(site.attribute("coefficients", []), numpy.float32)[:, None]
    scores = _decisions(site, op, kernels, coefficients, dtype)
    if site.attribute("one_class", 0):
        is_inside = op.Cast(op.Greater(scores, site.constant(0.0, dtype, "zero")), to=dtype)
        two, one = (site.constant(number, dtype, "number") for number in (2.0, 1.0))
        scores = str(op.Sub(op.Mul(is_inside, two), one))
    site.replace(cast(op, transformed(op, transform, scores), dtype, "float"))


def vote_by_pairs(site: Site) -> None:
    """Replace SVMClassifier with the decision between each two classes, and the class with most of them.

    Without support vectors the scores are linear. Probabilities come of an iteration, and such nodes stay.
    """
    transform, per_class = site.attribute("post_transform", "NONE"), site.attribute("vectors_per_class", [])
    if transform not in TRANSFORMS or site.attribute("prob_a", []):
        return
    texts = [one.decode("utf-8") for one in site.attribute("classlabels_strings", [])]
    labels = numpy.array(texts or site.attribute("classlabels_ints", []), object if texts else numpy.int64)
    op, dtype = site.op_at(opsets.AXES_AS_INPUTS, ""), stage_of(site.dtype(0))
    rows, count = rows_of(site, op, dtype), sum(per_class)
    coefficients = numpy.array(site.attribute("coefficients", []), numpy.float32)
    if not count:
        if not len(labels) or len(coefficients) % len(labels):
            site.refuse(Why.INVALID_MODEL, f"{len(coefficients)} coefficients do not fit {len(labels)} classes")
        matrix = coefficients.reshape(len(labels), -1).T
        scores = _decisions(site, op, rows, matrix, dtype)
        # The class is decided by the scores as floats, which is what the node gives.
        place = op.ArgMax(cast(op, scores, dtype, "float"), axis=1, keepdims=0)
    else:
        if len(per_class) != len(labels) or len(coefficients) != (len(labels) - 1) * count or len(labels) < TWO:
            site.refuse(Why.INVALID_MODEL, f"{len(coefficients)} coefficients do not fit {len(labels)} classes")
        kernels, pairs = _kernels(site, op, rows, count, dtype), list(combinations(range(len(labels)), 2))
        scores = _decisions_of_pairs(site, op, kernels, coefficients.reshape(-1, count), per_class, dtype)
        place = op.ArgMax(_votes(site, op, scores, pairs, len(labels), dtype), axis=1, keepdims=0)
        if len(labels) == TWO:
            scores = str(op.Concat(op.Neg(scores), scores, axis=1))
    label = label_at(site, op, labels, place) if site.is_read(0) else None
    site.replace(label, cast(op, transformed(op, transform, scores), dtype, "float") if site.is_read(1) else None)


def _decisions_of_pairs(
    site: Site, op: Operators, kernels: str, dual: Array, per_class: Sequence[int], dtype: str
) -> str:
    """[N, pairs of classes]: above 0 where the first wins. A pair reads the vectors of its own two classes alone."""
    ends, pairs = numpy.cumsum([0, *per_class]), list(combinations(range(len(per_class)), 2))
    found = []
    for one, other in pairs:
        own, others = range(ends[one], ends[one + 1]), range(ends[other], ends[other + 1])
        columns = [*own, *others]
        read = kernels
        if len(columns) < dual.shape[1]:
            read = op.Gather(kernels, site.constant([int(column) for column in columns], "int64", "vectors"), axis=1)
        weights = [*dual[other - 1, list(own)].tolist(), *dual[one, list(others)].tolist()]
        found.append(op.MatMul(read, site.constant([[weight] for weight in weights], dtype, "coefficients")))
    decisions = op.Concat(*found, axis=1) if len(found) > 1 else found[0]
    return str(op.Add(decisions, site.constant(_rho(site, len(pairs)), dtype, "rho")))


def _votes(
    site: Site, op: Operators, decisions: str, pairs: Sequence[tuple[int, int]], classes: int, dtype: str
) -> str:
    """How many decisions each class wins: the first of a pair where the decision is above 0, else the second."""
    wins, offset = numpy.zeros((len(pairs), classes)), numpy.zeros(classes)
    for pair, (one, other) in enumerate(pairs):
        wins[pair, one], wins[pair, other] = 1, -1
        offset[other] += 1
    is_won = op.Cast(op.Greater(decisions, site.constant(0.0, dtype, "zero")), to=dtype)
    won = op.MatMul(is_won, site.constant(wins.tolist(), dtype, "wins"))
    return str(op.Add(won, site.constant(offset.tolist(), dtype, "losses")))


def _kernels(site: Site, op: Operators, rows: str, count: int, dtype: str) -> str:
    """The kernel of each row with each support vector, [N, vectors]."""
    numbers, parameters = site.attribute("support_vectors", []), site.attribute("kernel_params", [])
    name = site.attribute("kernel_type", "LINEAR")
    if (
        not numbers
        or len(numbers) % count
        or (name != "LINEAR" and len(parameters) != len(("gamma", "coef0", "degree")))
    ):
        site.refuse(Why.INVALID_MODEL, f"{len(numbers)} values do not fit {count} support vectors")
    vectors = numpy.array(numbers, numpy.float32).reshape(count, -1)

    def number(value: float) -> str:
        return site.constant(float(value), dtype, "parameter")

    if name == "RBF":
        row = op.Unsqueeze(rows, site.constant([1], "int64"))
        distance = op.Sub(row, site.constant(vectors.tolist(), dtype, "support_vectors"))
        squares = op.ReduceSum(op.Mul(distance, distance), site.constant([2], "int64"), keepdims=0)
        return str(op.Exp(op.Mul(squares, number(-parameters[0]))))
    products = op.MatMul(rows, site.constant(vectors.T.tolist(), dtype, "support_vectors"))
    if name == "LINEAR":
        return str(products)
    affine = op.Add(op.Mul(products, number(parameters[0])), number(parameters[1]))
    return str(op.Tanh(affine) if name == "SIGMOID" else op.Pow(affine, number(parameters[2])))


def _decisions(site: Site, op: Operators, kernels: str, matrix: Array, dtype: str) -> str:
    products = op.MatMul(kernels, site.constant(matrix.tolist(), dtype, "coefficients"))
    return str(op.Add(products, site.constant(_rho(site, 1), dtype, "rho")))


def _rho(site: Site, count: int) -> list[float]:
    values: list[float] = site.attribute("rho", [])
    if len(values) < count:
        site.refuse(Why.INVALID_MODEL, f"rho must have {count} elements, not {len(values)}")
    return [float(one) for one in values[:count]]


_ULPS = 1024
"""Coefficients of some tens cancel to a decision below 1, of which some hundred last places are rounded then."""

_ONE_BY_ONE = "kernels, products, sums and transforms are rounded one after the other, and coefficients cancel"
_REGRESSOR = rounding(add_kernels_of_support_vectors, ulps=_ULPS, because=_ONE_BY_ONE)
_CLASSIFIER = rounding(vote_by_pairs, ulps=_ULPS, because=_ONE_BY_ONE)

FALLBACKS = [
    Fallback("SVMRegressor", _REGRESSOR, domain=DOMAIN),
    Fallback("SVMClassifier", _CLASSIFIER, domain=DOMAIN),
]
