"""Operators that normalise along an axis.

Softmax, LogSoftmax, Hardmax  11: axis may be negative · 13: one axis, not all from it on; default 1 -> -1, +bfloat16
LpNormalization               22: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Step, rounding, unchanged
from opsetlift.rulebook.site import Dims, Site
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import counted_from_front, make_axis_non_negative
from opsetlift_rules.helpers.broadcasting import computes_a_vector_as_a_row
from opsetlift_rules.helpers.dtype_groups import COMPUTED_IN, FLOATING
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, cast_bfloat16_and_round


def flatten_trailing_dimensions(site: Site) -> None:
    """Flatten the dimensions from the axis on, over which versions below 13 normalize together.

    If the axis is the last one, or only dimensions of size 1 follow, nothing changes.
    """
    axis = site.attribute("axis", 1)
    shape = site.shape(0)
    if axis == -1 or (shape is not None and _is_last(site, axis, shape)):
        site.set_attribute("axis", axis)
        return
    rows = site.op.copy(site.op.Flatten(site.input(0), axis=axis), axis=-1)
    op = site.op_at(opsets.ALLOWZERO)
    # Where Reshape copies a dimension for a 0 just there where it is 0, it need not be told that 0 means 0.
    allows_zero = None if shape is not None and _copies_give_zeros(shape, axis) else 1
    site.replace(op.Reshape(rows, op.Shape(site.input(0)), allowzero=allows_zero))


def _is_last(site: Site, axis: int, shape: Dims) -> bool:
    """Whether only dimensions of 1 follow."""
    position = counted_from_front(site, [axis], len(shape), name="axis")[0]
    return all(dim == 1 for dim in shape[position + 1 :])


def _copies_give_zeros(shape: Dims, axis: int) -> bool:
    """Whether each dimension of 0 meets a size of 0 at its position in the flat matrix."""
    return all(
        (isinstance(dim, int) and dim != 0) or (position == 0 and axis >= 1) or (position == 1 and axis == 1)
        for position, dim in enumerate(shape)
    )


def transpose_axis_to_the_last(site: Site) -> None:
    """Transpose another axis than the last to the end: below 13 all later dimensions are normalized, too."""
    axis = site.attribute("axis", -1)
    if axis == -1:
        site.set_attribute("axis", -1)
        return
    rank = site.rank(0, because="below opset 13 all dimensions from the axis on are normalized together")
    if _is_last(site, axis, site.shape(0) or []):
        return
    position = counted_from_front(site, [axis], rank, name="axis")[0]
    order = [*(dimension for dimension in range(rank) if dimension != position), position]
    inverse = [order.index(dimension) for dimension in range(rank)]
    op = site.op
    site.replace(op.Transpose(site.op.copy(op.Transpose(site.input(0), perm=order), axis=-1), perm=inverse))


def normalize_rows_or_count_the_axis(site: Site) -> None:
    """Write the axis counted from the front; below 13, normalize rows of a matrix where dimensions follow the axis."""
    is_flat = site.opset < _ONE_AXIS
    axis, shape = site.attribute("axis", 1 if is_flat else -1), site.shape(0)
    if is_flat and not (axis == -1 or (shape is not None and _is_last(site, axis, shape))):
        op = site.op_at(opsets.BFLOAT16)
        sizes = site.folded(lambda: str(op.Shape(site.input(0))), "shape")
        site.replace(op.Reshape(site.op.copy(site.op.Flatten(site.input(0), axis=axis), axis=1), sizes))
        return
    rank = site.rank(0, because="the axis is counted from the front")
    site.set_attribute("axis", counted_from_front(site, [axis], rank, name="axis")[0])


_ONE_AXIS = 13
"""The first opset at which they normalize along one axis."""

_AXIS = "11 adds negative axes; the sentences on the 2D matrix are only reordered"


def normalize_a_vector_as_a_row(site: Site) -> None:
    """Normalize a vector as a matrix of one row, as some runtimes take it for a column."""
    computes_a_vector_as_a_row(site, axis=1)


def subtract_the_logarithm_of_the_sum(site: Site) -> None:
    """Write LogSoftmax as the distance from the largest number, minus the logarithm of the sum of its exponentials.

    For runtimes that take the logarithm of Softmax, whose small numbers are 0. A vector becomes a row before.
    """
    if computes_a_vector_as_a_row(site, axis=1):
        return
    is_one_axis = site.opset >= _ONE_AXIS
    rank = site.rank(0, because="the axis is counted from the front")
    axis = counted_from_front(site, [site.attribute("axis", -1 if is_one_axis else 1)], rank, name="axis")[0]
    axes = [axis] if is_one_axis else [*range(axis, rank)]
    if site.dtype(0) not in FLOATING:
        return
    site.rounds()
    op, value = site.op_at(opsets.AXES_OF_SUMS_AS_ATTRIBUTE), site.input(0)
    distance = op.Sub(value, op.ReduceMax(value, axes=axes, keepdims=1))
    site.replace(op.Sub(distance, op.Log(op.ReduceSum(op.Exp(distance), axes=axes, keepdims=1))))


def divide_by_the_norm(site: Site) -> None:
    """Write LpNormalization as the quotient by the norm, which is 0 where the norm is."""
    order = site.attribute("p", 2)
    if order not in (1, 2):
        return  # the text knows no other norm
    site.rounds()
    axis, dtype = site.attribute("axis", -1), site.dtype(0)
    op, value = site.op_at(opsets.BFLOAT16), site.input(0)
    wide = COMPUTED_IN.get(str(dtype), str(dtype))
    widened = op.Cast(value, to=wide) if wide != dtype else value
    if order == 2 and not site.computes("ReduceL2", T=wide):
        squares = op.Mul(widened, widened)
        norm = op.Sqrt(op.ReduceSum(squares, site.constant([axis], "int64", "axes"), keepdims=1))
    else:
        norm = op.emit(f"ReduceL{order}", widened, axes=[axis], keepdims=1)
    # No Where, which early opsets lack: 0 is divided by 1.
    is_zero = op.Cast(op.Equal(norm, site.constant(0, wide, "zero")), to=wide)
    kept = op.Mul(widened, op.Sub(site.constant(1, wide, "one"), is_zero))
    result = op.Div(kept, op.Add(norm, is_zero))
    site.replace(op.Cast(result, to=dtype) if wide != dtype else result)


STEPS = [
    Step("Softmax", 1, 11, up=unchanged, down=make_axis_non_negative, because=_AXIS),
    Step("Softmax", 11, 13, up=flatten_trailing_dimensions, down=transpose_axis_to_the_last),
    Step("LogSoftmax", 1, 11, up=unchanged, down=make_axis_non_negative, because=_AXIS),
    Step("LogSoftmax", 11, 13, up=flatten_trailing_dimensions, down=transpose_axis_to_the_last),
    Step("Hardmax", 1, 11, up=unchanged, down=make_axis_non_negative, because=_AXIS),
    Step("Hardmax", 11, 13, up=flatten_trailing_dimensions, down=transpose_axis_to_the_last),
    Step("LpNormalization", 1, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
]

_FROM_THE_LARGEST = rounding(
    subtract_the_logarithm_of_the_sum,
    ulps=4,
    when="it is written in steps",
    because="the exponentials, their sum and its logarithm are rounded one by one",
)

_BY_THE_NORM = rounding(
    divide_by_the_norm,
    ulps=4,
    when="it is written in steps",
    because="the norm and the quotient by it are rounded one by one",
)

FALLBACKS = [
    Fallback("Hardmax", normalize_rows_or_count_the_axis),
    Fallback("LogSoftmax", normalize_rows_or_count_the_axis, otherwise=_FROM_THE_LARGEST),
    Fallback("LpNormalization", make_axis_non_negative, otherwise=_BY_THE_NORM),
    Fallback("Softmax", normalize_rows_or_count_the_axis, otherwise=normalize_a_vector_as_a_row),
]
