"""LinearClassifier and LinearRegressor."""

from __future__ import annotations

import numpy

from opsetlift.evaluator.kernels.accumulation import RowProduct
from opsetlift.evaluator.kernels.ml_scores import floats, labels_of, post_transform, rows, top_classes, two_class_scores
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

_DOMAIN = "ai.onnx.ml"


@kernel("LinearClassifier", since=(1,), domain=_DOMAIN)
def linear_classifier(call: Call, x: Array) -> tuple[Array, Array]:
    """LinearClassifier-1: Classes by the greatest of linear scores.

    The attribute multi_class changes nothing in any implementation known, and the text gives it no meaning here.

    Args:
        call: coefficients, intercepts, the labels, post_transform.
        x: Numbers [N, features] or [features].

    Returns:
        Labels [N], int64 or strings, and scores, float32 [N, classes].
    """
    labels = labels_of(call, "classlabels_ints", "classlabels_strings")
    features = rows(call, x)
    coefficients = _coefficients(call, features.shape[1])
    scores = RowProduct(coefficients.T)(features) + _intercepts(call, len(coefficients))
    if len(coefficients) == 1 and labels.size == 2:
        positive = scores[:, 0]
        transformed = two_class_scores(call, positive, complementary=True)
        return labels[(positive > 0).astype(int)], transformed.astype(numpy.float32)
    if len(coefficients) != labels.size:
        call.fail(f"there are {len(coefficients)} sets of coefficients for {labels.size} class labels")
    return labels[top_classes(scores)], post_transform(call, scores).astype(numpy.float32)


@kernel("LinearRegressor", since=(1,), domain=_DOMAIN)
def linear_regressor(call: Call, x: Array) -> Array:
    """LinearRegressor-1: Linear scores of rows.

    Numbers [N, features] or [features]. The output is float32 [N, targets].
    """
    features = rows(call, x)
    coefficients = _coefficients(call, features.shape[1])
    if len(coefficients) != call.attributes["targets"]:
        call.fail(f"there are {len(coefficients)} sets of coefficients for {call.attributes['targets']} targets")
    scores = RowProduct(coefficients.T)(features) + _intercepts(call, len(coefficients))
    return post_transform(call, scores).astype(numpy.float32)


def _coefficients(call: Call, features: int) -> Array:
    values = floats(call, "coefficients")
    if features == 0 or values.size == 0 or values.size % features:
        call.fail(f"{values.size} coefficients do not fit {features} features")
    return values.reshape(-1, features)


def _intercepts(call: Call, count: int) -> Array:
    values = floats(call, "intercepts")
    if values.size not in (0, count):
        call.fail(f"intercepts must have {count} elements, not {values.size}")
    return values if values.size else numpy.zeros(count)
