"""What the classifiers and regressors of ai.onnx.ml share: post transforms, labels, the two-class conventions.

The texts name the transforms and define none. Scores are computed in float64 and rounded to float once.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy

from opsetlift.evaluator.kernels.accumulation import total
from opsetlift.evaluator.kernels.registry import Call
from opsetlift.model.arrays import Array

_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def rows(call: Call, x: Array) -> Array:
    """Return the input [N, F] in float64; [F] is a single row."""
    if x.ndim not in (1, 2):
        call.fail(f"the input must have the shape [N, F], not {list(x.shape)}")
    return x.reshape(-1, x.shape[-1]).astype(numpy.float64)


def floats(call: Call, name: str) -> Array:
    """Return a list attribute of floats, or the tensor that may replace it, as float64 [n]; absent, [0]."""
    tensor = call.attributes.get(f"{name}_as_tensor")
    values = call.attributes.get(name) or () if tensor is None else tensor.reshape(-1)
    return numpy.asarray(values, numpy.float64)


def one_of(call: Call, *names: str) -> tuple[str, Any]:
    """Return the one attribute of several, of which "one and only one must be defined", with its name."""
    given = [name for name in names if name in call.attributes and len(call.attributes[name])]
    if len(given) != 1:
        call.fail(f"one and only one of {', '.join(names)} must be defined, not {len(given)}")
    return given[0], call.attributes[given[0]]


def labels_of(call: Call, *names: str) -> Array:
    """Return the class labels [classes] as int64 or strings."""
    _, labels = one_of(call, *names)
    return label_array(labels)


def label_array(labels: Sequence[Any]) -> Array:
    """Return labels as an array of int64 or strings."""
    return numpy.array(labels, dtype=object if isinstance(labels[0], str) else numpy.int64)


def post_transform(call: Call, scores: Array) -> Array:
    """Apply the attribute post_transform to each row of scores, float64 [N, classes]."""
    name = transform_name(call)
    if name == "LOGISTIC":
        return numpy.asarray(1 / (1 + numpy.exp(-scores)))
    if name == "SOFTMAX":
        return _softmax(scores, numpy.ones(scores.shape, bool))
    if name == "SOFTMAX_ZERO":
        # As in onnxruntime: a score of zero stays zero and takes no part.
        return _softmax(scores, numpy.abs(scores) > 1e-7)
    if name == "PROBIT":
        return numpy.vectorize(_probit, otypes=[numpy.float64])(scores) if scores.size else scores
    return scores


def top_classes(scores: Array) -> Array:
    """Return the place of the greatest of each row of scores, float64 [N, classes], as the floats that they become.

    Votes of a tenth each are a tie then, as in runtimes, which add floats; of equal ones the first counts.
    """
    return numpy.asarray(scores.astype(numpy.float32).argmax(axis=1))


def transform_name(call: Call) -> str:
    """Return the attribute post_transform by name; TreeEnsemble numbers what the others spell."""
    name = call.attributes["post_transform"]
    if name in range(len(_TRANSFORMS)):
        name = _TRANSFORMS[name]
    if name not in _TRANSFORMS:
        call.fail(f"post_transform must be one of {', '.join(_TRANSFORMS)}, not {name!r}")
    return str(name)


def _softmax(scores: Array, taking_part: Array) -> Array:
    shifted = scores - scores.max(axis=1, keepdims=True, initial=-numpy.inf)
    exponentials = numpy.where(taking_part, numpy.exp(shifted), 0)
    totals = total(exponentials, (1,), keepdims=True)
    return numpy.asarray(exponentials / numpy.where(totals == 0, 1, totals))


def _probit(probability: float) -> float:
    """The quantile of the standard normal distribution; NaN outside of [0, 1]."""
    if 0 < probability < 1:
        return NormalDist().inv_cdf(probability)
    return {0.0: -numpy.inf, 1.0: numpy.inf}.get(probability, numpy.nan)


def two_class_scores(call: Call, positive: Array, *, complementary: bool) -> Array:
    """Return both scores of two classes from the one of the positive class, transformed.

    Open in the texts. As in onnxruntime, the other one is 1 - s or -s, and -s under a transform; but all transforms are
    applied, of which onnxruntime leaves out some here.

    Args:
        call: post_transform.
        positive: float64 [N].
        complementary: Whether the other score is 1 - s where nothing is transformed.

    Returns:
        float64 [N, 2].
    """
    if complementary and transform_name(call) in ("NONE", "PROBIT"):
        return post_transform(call, numpy.stack([1 - positive, positive], axis=1))
    return post_transform(call, numpy.stack([-positive, positive], axis=1))
