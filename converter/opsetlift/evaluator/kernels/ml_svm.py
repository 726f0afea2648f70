"""SVMClassifier and SVMRegressor.

The texts give names of attributes only; their meaning is that of LIBSVM's models, which the exporters convert: pairwise
decisions with dual coefficients, votes, Platt's sigmoids and coupled probabilities.
"""

from __future__ import annotations

from itertools import combinations

import numpy

from opsetlift.evaluator.kernels.accumulation import RowProduct, product, total
from opsetlift.evaluator.kernels.ml_scores import floats, labels_of, post_transform, rows, top_classes, two_class_scores
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

_DOMAIN = "ai.onnx.ml"


@kernel("SVMRegressor", since=(1,), domain=_DOMAIN)
def svm_regressor(call: Call, x: Array) -> Array:
    """SVMRegressor-1: Sums of kernels with support vectors.

    Numbers [N, features] or [features]. The output is float32 [N, 1].
    """
    features = rows(call, x)
    coefficients = floats(call, "coefficients")
    supports = call.attributes["n_supports"]
    products = features
    if supports > 0:
        products = _kernel(call, features, _vectors(call, supports, features.shape[1]))
    if coefficients.size != products.shape[1]:
        call.fail(f"there are {coefficients.size} coefficients for {products.shape[1]} terms")
    scores = RowProduct(coefficients[:, None])(products)[:, 0] + _rho(call, 1)[0]
    if call.attributes["one_class"]:
        scores = numpy.where(scores > 0, 1.0, -1.0)
    return post_transform(call, scores[:, None]).astype(numpy.float32)


@kernel("SVMClassifier", since=(1,), domain=_DOMAIN)
def svm_classifier(call: Call, x: Array) -> tuple[Array, Array]:
    """SVMClassifier-1: Classes by votes of pairs of classes, or by linear scores.

    Args:
        call: The support vectors, coefficients, rho, the kernel, the labels, prob_a and prob_b, post_transform.
        x: Numbers [N, features] or [features].

    Returns:
        Labels [N], int64 or strings, and scores, float32 [N, classes or pairs].
    """
    labels = labels_of(call, "classlabels_ints", "classlabels_strings")
    features = rows(call, x)
    per_class = call.attributes.get("vectors_per_class") or []
    if not sum(per_class):
        coefficients = floats(call, "coefficients")
        if coefficients.size != labels.size * features.shape[1]:
            call.fail(
                f"{coefficients.size} coefficients do not fit {labels.size} classes of {features.shape[1]} features"
            )
        scores = RowProduct(coefficients.reshape(labels.size, -1).T)(features) + _rho(call, 1)[0]
        return labels[top_classes(scores)], post_transform(call, scores).astype(numpy.float32)
    if len(per_class) != labels.size:
        call.fail(f"vectors_per_class has {len(per_class)} elements for {labels.size} classes")
    decisions = _pairwise_decisions(call, features, per_class)
    chosen = labels[_votes(decisions, labels.size).argmax(axis=1)]
    prob_a, prob_b = floats(call, "prob_a"), floats(call, "prob_b")
    if prob_a.size:
        if prob_a.size != decisions.shape[1] or prob_b.size != prob_a.size:
            call.fail(f"prob_a and prob_b must have {decisions.shape[1]} elements, one per pair of classes")
        scores = post_transform(call, _probabilities(decisions, prob_a, prob_b, labels.size))
    elif labels.size == 2:
        scores = two_class_scores(call, decisions[:, 0], complementary=False)
    else:
        scores = post_transform(call, decisions)
    return chosen, scores.astype(numpy.float32)


def _rho(call: Call, count: int) -> Array:
    values = floats(call, "rho")
    if values.size < count:
        call.fail(f"rho must have {count} elements, not {values.size}")
    return values


def _vectors(call: Call, count: int, features: int) -> Array:
    vectors = floats(call, "support_vectors")
    if vectors.size != count * features:
        call.fail(f"{vectors.size} values of support_vectors do not fit {count} vectors of {features} features")
    return vectors.reshape(count, features)


def _kernel(call: Call, x: Array, vectors: Array) -> Array:
    """The kernel of each row with each support vector."""
    name = call.attributes["kernel_type"]
    if name not in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        call.fail(f"kernel_type must be LINEAR, POLY, RBF or SIGMOID, not {name!r}")
    parameters = floats(call, "kernel_params")
    if name != "LINEAR" and parameters.size != 3:
        call.fail(f"kernel_params must have 3 elements, not {parameters.size}")
    gamma, coef0, degree = parameters if parameters.size == 3 else (0.0, 0.0, 0.0)
    if name == "RBF":
        distances = total(numpy.square(x[:, None, :] - vectors), (2,))
        return numpy.asarray(numpy.exp(-gamma * distances))
    products = RowProduct(vectors.T)(x)
    if name == "LINEAR":
        return products
    affine = gamma * products + coef0
    return numpy.asarray(numpy.tanh(affine) if name == "SIGMOID" else affine**degree)


def _pairwise_decisions(call: Call, x: Array, per_class: list[int]) -> Array:
    """[rows, pairs of classes]: positive where the pair's first class wins."""
    total, classes = sum(per_class), len(per_class)
    coefficients = floats(call, "coefficients")
    if coefficients.size != (classes - 1) * total:
        call.fail(f"there must be {classes - 1} coefficients per support vector, not {coefficients.size} in all")
    dual = coefficients.reshape(classes - 1, total)
    products = _kernel(call, x, _vectors(call, total, x.shape[1]))
    ends = numpy.cumsum([0, *per_class])
    rho = _rho(call, classes * (classes - 1) // 2)
    decisions = []
    for pair, (one, other) in enumerate(combinations(range(classes), 2)):
        own, others = slice(ends[one], ends[one + 1]), slice(ends[other], ends[other + 1])
        weights = numpy.concatenate([dual[other - 1, own], dual[one, others]])
        terms = numpy.concatenate([products[:, own], products[:, others]], axis=1)
        decisions.append(RowProduct(weights[:, None])(terms)[:, 0] + rho[pair])
    return numpy.stack(decisions, axis=1) if decisions else numpy.zeros((len(x), 0))


def _votes(decisions: Array, classes: int) -> Array:
    votes = numpy.zeros((len(decisions), classes))
    for pair, (one, other) in enumerate(combinations(range(classes), 2)):
        wins = decisions[:, pair] > 0
        votes[:, one] += wins
        votes[:, other] += ~wins
    return votes


def _probabilities(decisions: Array, prob_a: Array, prob_b: Array, classes: int) -> Array:
    """Class probabilities coupled from the pairwise ones (Wu, Lin and Weng 2004, their second method).

    p minimises p^T Q p over the simplex; LIBSVM's iteration for it, with its tolerance 0.005 / classes, since its
    results, not the minimum itself, are what the models were trained with.
    """
    pairwise = numpy.zeros((len(decisions), classes, classes))
    for pair, (one, other) in enumerate(combinations(range(classes), 2)):
        probability = 1 / (1 + numpy.exp(decisions[:, pair] * prob_a[pair] + prob_b[pair]))
        probability = numpy.clip(probability, 1e-7, 1 - 1e-7)
        pairwise[:, one, other], pairwise[:, other, one] = probability, 1 - probability
    q = -pairwise * pairwise.transpose(0, 2, 1)
    diagonal = total(numpy.square(pairwise), (1,))
    q[:, range(classes), range(classes)] = diagonal
    p = numpy.full((len(decisions), classes), 1 / classes)
    for _ in range(max(100, classes)):
        gradient = product(q, p[:, :, None])[:, :, 0]
        value = total(p * gradient, (1,))
        active = numpy.abs(gradient - value[:, None]).max(axis=1) >= 0.005 / classes
        if not active.any():
            break
        for index in range(classes):
            step = numpy.where(active, (value - gradient[:, index]) / diagonal[:, index], 0.0)
            shrink = (1 + step)[:, None]
            value = (value + step * (step * diagonal[:, index] + 2 * gradient[:, index])) / shrink[:, 0] ** 2
            gradient = (gradient + step[:, None] * q[:, index]) / shrink
            p[:, index] += step
            p /= shrink
    return p
