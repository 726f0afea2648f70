"""Features of ai.onnx.ml for runtimes that have none of its operators.

ArrayFeatureExtractor, Binarizer  unchanged since 1
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback
from opsetlift.rulebook.site import Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dtype_groups import FLOATING

_DOMAIN = "ai.onnx.ml"


def gather_columns(site: Site) -> None:
    """Replace ArrayFeatureExtractor with a Gather along the last axis; a vector counts as one row."""
    op = site.op_at(opsets.AXES_AS_INPUTS, "")
    data, rank = site.input(0), site.rank(0, because="the last axis is counted from the front")
    if rank == 0:
        site.refuse(Why.INVALID_MODEL, "the input must have at least one axis")
    if rank == 1:
        data = op.Unsqueeze(data, site.constant([0], "int64", "axes"))
    columns = op.Reshape(site.input(1), site.constant([-1], "int64", "row"))
    site.replace(op.Gather(data, columns, axis=max(rank - 1, 1)))


def compare_with_the_threshold(site: Site) -> None:
    """Replace Binarizer of floats with a comparison: 1 above the threshold, else 0."""
    dtype = site.dtype(0)
    if dtype not in FLOATING:
        return
    op = site.op_at(opsets.AXES_AS_INPUTS, "")
    threshold = site.constant(site.attribute("threshold", 0.0), dtype, "threshold")
    site.replace(op.Cast(op.Greater(site.input(0), threshold), to=dtype))


FALLBACKS = [
    Fallback("ArrayFeatureExtractor", gather_columns, domain=_DOMAIN),
    Fallback("Binarizer", compare_with_the_threshold, domain=_DOMAIN),
]
