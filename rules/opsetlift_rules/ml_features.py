"""Features of ai.onnx.ml for runtimes that have none of its operators.

ArrayFeatureExtractor, Binarizer, Imputer, Normalizer, OneHotEncoder, Scaler  unchanged since 1
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, rounding
from opsetlift.rulebook.site import Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dtype_groups import FLOATING
from opsetlift_rules.helpers.learnt_models import DOMAIN, cast, stage_of


def gather_columns(site: Site) -> None:
    """Replace ArrayFeatureExtractor with a Gather along the last axis; a vector counts as one row."""
    op = site.op_at(opsets.AXES_AS_INPUTS, "")
    data, rank = site.input(0), site.rank(0, because="the last axis is counted from the front")
    if rank == 0:
        site.refuse(Why.INVALID_MODEL, "the input must have at least one axis")
    columns = op.Reshape(site.input(1), site.constant([1, -1] if rank == 1 else [-1], "int64", "row"))
    site.replace(op.Gather(data, columns, axis=rank - 1))


def compare_with_the_threshold(site: Site) -> None:
    """Replace Binarizer of floats with a comparison: 1 above the threshold, else 0."""
    dtype = site.dtype(0)
    if dtype not in FLOATING:
        return
    op = site.op_at(opsets.AXES_AS_INPUTS, "")
    threshold = site.constant(site.attribute("threshold", 0.0), dtype, "threshold")
    site.replace(op.Cast(op.Greater(site.input(0), threshold), to=dtype))


def select_what_replaces(site: Site) -> None:
    """Replace Imputer with a Where: one value, or NaN, is replaced by others."""
    dtype, op = site.dtype(0), site.op_at(opsets.AXES_AS_INPUTS, "")
    imputed, replaced = _IMPUTED[dtype in FLOATING]
    values, number = site.attribute(imputed, []), site.attribute(replaced, 0)
    if not values:
        site.refuse(Why.INVALID_MODEL, f"{imputed} should be defined for {dtype}")
    is_missing = op.IsNaN(site.input(0)) if number != number else None
    if is_missing is None:
        is_missing = op.Equal(site.input(0), site.constant(number, dtype, "replaced"))
    site.replace(op.Where(is_missing, site.constant(values, dtype, "imputed"), site.input(0)))


_IMPUTED = {
    True: ("imputed_value_floats", "replaced_value_float"),
    False: ("imputed_value_int64s", "replaced_value_int64"),
}
"""The attributes of Imputer, for floats and for integers."""


def compare_with_the_categories(site: Site) -> None:
    """Replace OneHotEncoder of numbers with a comparison; where a category is missing, there is no 1.

    The fraction of floats counts for nothing: it is taken off towards 0, and what no int64 holds is no category.
    """
    categories, dtype = site.attribute("cats_int64s", []), str(site.dtype(0))
    if not categories or max(map(abs, categories)) > _MOST_IN_FLOAT:
        return
    op, wanted, value = site.op_at(opsets.AXES_AS_INPUTS, ""), "int64", site.input(0)
    if dtype in FLOATING:
        wanted, value = dtype, op.Mul(op.Sign(value), op.Floor(op.Abs(value)))
    value = op.Unsqueeze(cast(op, value, dtype, wanted), site.constant([-1], "int64", "last"))
    site.replace(op.Cast(op.Equal(value, site.constant(categories, wanted, "categories")), to="float"))


_MOST_IN_FLOAT = 1 << 24
"""Floats hold all integers up to this one."""


def divide_by_the_norm(site: Site) -> None:
    """Replace Normalizer with the division of each row by its norm; rows whose norm is 0 are divided by 1."""
    norm, dtype = site.attribute("norm", "MAX"), site.dtype(0)
    if norm not in _NORMS:
        return
    op, stage = site.op_at(opsets.REDUCTION_AXES_AS_INPUTS, ""), stage_of(dtype)
    rows = _in_stage(op, site.input(0), dtype)
    divisor = op.emit(_NORMS[norm], rows, site.constant([-1], "int64"))
    is_zero = op.Cast(op.Equal(divisor, site.constant(0.0, stage, "zero")), to=stage)
    site.replace(_in_float(op, op.Div(rows, op.Add(divisor, is_zero)), stage))


def subtract_and_multiply(site: Site) -> None:
    """Replace Scaler with Sub and Mul; a runtime that has the operator gets the list that it misses."""
    dtype = site.dtype(0)
    missing = [name for name in _NEUTRAL if not site.attribute(name, [])]
    if missing and site.computes("Scaler", T=dtype):
        other = next((site.attribute(name) for name in _NEUTRAL if name not in missing), [0.0])
        for name in missing:
            site.set_attribute(name, [_NEUTRAL[name]] * len(other))
        return
    site.rounds()
    op, stage = site.op_at(opsets.AXES_AS_INPUTS, ""), stage_of(dtype)
    value = _in_stage(op, site.input(0), dtype)
    for operator, name in (("Sub", "offset"), ("Mul", "scale")):
        numbers = site.attribute(name, [])
        if numbers:
            value = op.emit(operator, value, site.constant(numbers, stage, name))
    site.replace(_in_float(op, value, stage))


_NEUTRAL = {"offset": 0.0, "scale": 1.0}
"""What the lists of a Scaler are where they are left out."""

_NORMS = {"MAX": "ReduceMax", "L1": "ReduceL1", "L2": "ReduceL2"}


def _in_stage(op: Operators, value: str, dtype: str) -> str:
    return cast(op, value, dtype, stage_of(dtype))


def _in_float(op: Operators, value: str, stage: str) -> str:
    return cast(op, value, stage, "float")


_ONE_BY_ONE = "the specification rounds the result alone; here each operator rounds"

_SUBTRACT_AND_MULTIPLY = rounding(subtract_and_multiply, ulps=2, when="the runtime has no Scaler", because=_ONE_BY_ONE)

FALLBACKS = [
    Fallback("ArrayFeatureExtractor", gather_columns, domain=DOMAIN),
    Fallback("Binarizer", compare_with_the_threshold, domain=DOMAIN),
    Fallback("Imputer", select_what_replaces, domain=DOMAIN),
    Fallback("OneHotEncoder", compare_with_the_categories, domain=DOMAIN),
    Fallback("Normalizer", rounding(divide_by_the_norm, ulps=4, because=_ONE_BY_ONE), domain=DOMAIN),
    Fallback("Scaler", _SUBTRACT_AND_MULTIPLY, domain=DOMAIN),
]
