"""Linear models of ai.onnx.ml, for runtimes that have none of its operators.

LinearClassifier, LinearRegressor  unchanged since 1
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, rounding
from opsetlift.rulebook.site import Operators, Site
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


def multiply_by_the_coefficients(site: Site) -> None:
    """Replace LinearRegressor with a product of matrices, a sum and the operator of its post transform."""
    transform = site.attribute("post_transform", "NONE")
    if transform not in TRANSFORMS:
        return
    op = site.op_at(opsets.AXES_AS_INPUTS, "")
    scores = _scores(site, op, site.attribute("targets", 1))
    site.replace(_in_float(site, op, transformed(op, transform, scores)))


def take_the_class_of_the_greatest_score(site: Site) -> None:
    """Replace LinearClassifier with a product of matrices, ArgMax, and a Gather among the labels.

    A runtime that has the operator gets intercepts of 0 instead, where it misses some. One set of coefficients for two
    classes gives the score of the second one; the first has its complement.
    """
    transform, dtypes = site.attribute("post_transform", "NONE"), {"T1": site.dtype(0)}
    texts, numbers = site.attribute("classlabels_strings", []), site.attribute("classlabels_ints", [])
    sets = _sets_of_a_classifier(site, len(texts or numbers))
    if not site.attribute("intercepts", []) and site.computes("LinearClassifier", **dtypes):
        site.set_attribute("intercepts", [0.0] * sets)
        return
    if transform not in TRANSFORMS:
        return
    site.rounds()
    op = site.op_at(opsets.AXES_AS_INPUTS, "")
    scores = _scores(site, op, sets)
    if sets == 1 and len(texts or numbers) == TWO:
        place = op.Squeeze(op.Greater(scores, _zero(site)), site.constant([1], "int64"))
        place = op.Cast(place, to="int64")
        other = (
            op.Sub(site.constant([1.0], stage_of(site.dtype(0)), "one"), scores)
            if transform == "NONE"
            else op.Neg(scores)
        )
        scores = op.Concat(other, scores, axis=1)
    else:
        # The class is decided by the scores as floats, which is what the node gives.
        place = op.ArgMax(_in_float(site, op, scores), axis=1, keepdims=0)
    labels = numpy.array(texts or numbers, object if texts else numpy.int64)
    label = label_at(site, op, labels, place) if site.is_read(0) else None
    site.replace(label, _in_float(site, op, transformed(op, transform, scores)) if site.is_read(1) else None)


def _sets_of_a_classifier(site: Site, labels: int) -> int:
    """How many sets of coefficients there are: as many as intercepts, or as classes, but one may do for two."""
    intercepts = site.attribute("intercepts", [])
    if intercepts:
        return len(intercepts)
    features = (site.shape(0) or [None])[-1]
    if isinstance(features, int) and features:
        return len(site.attribute("coefficients", [])) // features
    if labels == TWO:
        site.refuse(
            Why.SHAPE_UNKNOWN,
            "whether two classes have one set of coefficients or two depends on the number of features, "
            "which is not known",
        )
    return labels


def _zero(site: Site) -> str:
    return site.constant(0.0, stage_of(site.dtype(0)), "zero")


def _scores(site: Site, op: Operators, sets: int) -> str:
    """The scores of all rows, [N, sets], in the dtype of the stage."""
    coefficients = site.attribute("coefficients", [])
    intercepts = site.attribute("intercepts", [])
    if not sets or not coefficients or len(coefficients) % sets or len(intercepts) not in (0, sets):
        site.refuse(
            Why.INVALID_MODEL,
            f"{len(coefficients)} coefficients and {len(intercepts)} intercepts do not fit {sets} sets of them",
        )
    stage = stage_of(site.dtype(0))
    rows = rows_of(site, op, stage)
    matrix = numpy.array(coefficients, numpy.float32).reshape(sets, -1).T
    scores = str(op.MatMul(rows, site.constant(matrix.tolist(), stage, "coefficients")))
    return str(op.Add(scores, site.constant(intercepts, stage, "intercepts"))) if intercepts else scores


def _in_float(site: Site, op: Operators, scores: str) -> str:
    return cast(op, scores, stage_of(site.dtype(0)), "float")


_ONE_BY_ONE = "products, sums and transforms are rounded one after the other"
_REGRESSOR = rounding(multiply_by_the_coefficients, ulps=8, because=_ONE_BY_ONE)
_CLASSIFIER = rounding(
    take_the_class_of_the_greatest_score, ulps=8, when="the runtime has no LinearClassifier", because=_ONE_BY_ONE
)

FALLBACKS = [
    Fallback("LinearRegressor", _REGRESSOR, domain=DOMAIN),
    Fallback("LinearClassifier", _CLASSIFIER, domain=DOMAIN),
]
