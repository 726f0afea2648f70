"""Sums and products that run along an axis.

CumSum   11: introduced · 14: +float16 +bfloat16
CumProd  26: introduced
"""

from __future__ import annotations

from itertools import accumulate

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, rounded_cast, unchanged
from opsetlift.rulebook.site import Dims, Operators, Site
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import END, counted_from_front
from opsetlift_rules.helpers.scalars import make_scalar

# -0 added to any first element leaves it as it is.
_START = {"CumSum": -0.0, "CumProd": 1.0}
_BEFORE_THE_FIRST = {"CumSum": 0.0, "CumProd": 1.0}
_COMBINE = {"CumSum": "Add", "CumProd": "Mul"}
_NARROW = ("float16", "bfloat16")


def accumulate_with_a_scan(site: Site) -> None:
    """Replace CumSum-11 or CumProd-26 with a Scan along the axis, or with its parts where they are few.

    It computes element by element in the same dtype, as kernels do: so floats round and integers wrap around alike.
    Floats narrower than float accumulate in float, and each element rounds once. An axis that is computed at run time
    selects the Scan by nested Ifs.
    """
    if _has_parts(site, _FEW_PARTS):
        _accumulate_parts(site)
        return
    rank = site.rank(0, because="the scan needs the number of dimensions beside the axis")
    axis = site.constant_value(1)
    if axis is not None:
        position = counted_from_front(site, [int(axis.reshape(()))], rank, name="axis")[0]
        site.replace(_scan(site, site.op, position, rank))
    else:
        site.replace(_choose(site, site.op, list(range(rank)), rank))


def _choose(site: Site, op: Operators, positions: list[int], rank: int) -> str:
    """Select the scan along the axis, computed at run time, among those along `positions`."""
    position, *others = positions
    if not others:
        return _scan(site, op, position, rank)
    axis, dtype = site.input(1), site.dtype(1)
    numbers = [site.constant(number, dtype, "number") for number in (position, position - rank)]
    is_named = op.Or(*(op.Equal(axis, number) for number in numbers))

    def along_this(inner: Operators) -> list[str]:
        return [_scan(site, inner, position, rank)]

    def along_another(inner: Operators) -> list[str]:
        return [_choose(site, inner, others, rank)]

    branches = {"then_branch": site.op.subgraph(along_this), "else_branch": site.op.subgraph(along_another)}
    return str(op.If(is_named, **branches))


def _scan(site: Site, op: Operators, axis: int, rank: int) -> str:
    operator, dtype = site.node.op_type, site.dtype(0)
    compute_dtype = "float" if dtype in _NARROW else dtype
    value = site.input(0) if compute_dtype == dtype else op.Cast(site.input(0), to=compute_dtype)
    dims = site.shape(0) or []
    others = [position for position in range(rank) if position != axis]
    shape = op.Shape(value)
    is_exclusive, is_reverse = (bool(site.attribute(name, 0)) for name in ("exclusive", "reverse"))
    numbers = [number[operator] for number in (_START, _BEFORE_THE_FIRST)]
    if others:
        slice_shape = op.Gather(shape, site.constant(others, "int64"), axis=0)
        states = [_filled(op, slice_shape, number, compute_dtype) for number in numbers]
    else:
        states = [site.constant(number, compute_dtype, "start") for number in numbers]
    may_be_empty = not isinstance(dims[axis], int) or dims[axis] == 0
    if may_be_empty:
        # Without iterations a Scan does not know the shape of its outputs: one on an extra last value is added.
        sizes = op.Concat(shape, site.constant([1], "int64", "one"), axis=0)
        order = [rank if position == axis else position for position in range(rank)]
        last = _filled(op, op.Gather(sizes, site.constant(order, "int64"), axis=0), _START[operator], compute_dtype)
        value = op.Concat(*([last, value] if is_reverse else [value, last]), axis=axis)

    def inclusive(inner: Operators, total: str, element: str) -> list[str]:
        total = getattr(inner, _COMBINE[operator])(total, element)
        return [total, total]

    def exclusive(inner: Operators, total: str, previous: str, element: str) -> list[str]:
        total = getattr(inner, _COMBINE[operator])(total, element)
        return [total, total, previous]

    takes: list[tuple[str, Dims]] = [(compute_dtype, [dims[other] for other in others])] * (3 if is_exclusive else 2)
    directions = [1] if is_reverse else None
    _, *_, result = op.Scan(
        *(states if is_exclusive else states[:1]),
        value,
        outputs=len(takes),
        body=site.op.subgraph(exclusive if is_exclusive else inclusive, takes=takes),
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_output_axes=[axis],
        scan_input_directions=directions,
        scan_output_directions=directions,
    )
    if may_be_empty:
        bounds = [1, END] if is_reverse else [0, -1]
        result = op.Slice(result, *(site.constant([bound], "int64", "bound") for bound in [*bounds, axis]))
    return str(result) if compute_dtype == dtype else str(op.Cast(result, to=dtype))


def write_axis_as_an_int32_scalar_or_shift_sums(site: Site) -> None:
    """Write the axis of CumSum as a scalar of int32, as which the first runtimes with CumSum read it, from the front.

    Sums without the own element are those with it, behind a 0 and without the last one: some runtimes read beyond a
    single element.
    """
    named = site.constant_value(1)
    if site.attribute("exclusive", 0) and named is not None:
        op, axis, is_reverse = site.op, site.constant(named.reshape(1), hint="axis"), site.attribute("reverse", 0)
        first, one, end, last = (site.constant([bound], str(site.dtype(1)), "bound") for bound in (0, 1, _END, -1))
        row = op.Shape(op.Slice(site.input(0), first, one, axis))
        zeros = op.ConstantOfShape(row, value=numpy.zeros(1, numpy_dtype(site.dtype(0))))
        sums = op.copy(*site.inputs, exclusive=None)
        parts = [op.Slice(sums, one, end, axis), zeros] if is_reverse else [zeros, op.Slice(sums, first, last, axis)]
        site.replace(op.Concat(*parts, axis=int(named.reshape(()))))
        return
    if named is not None and named.size and named.min() < 0 and site.shape(0):
        site.set_input(1, site.constant(named % len(site.shape(0) or ()), hint="axis"))
    make_scalar(site, 1)
    if site.dtype(1) == "int64":
        axis = site.input(1)
        site.set_input(1, site.folded(lambda: str(site.op.Cast(axis, to="int32")), "axis"))


def accumulate_part_by_part(site: Site) -> None:
    """Write the sums or products along an axis of known size as those of its parts, in the same order.

    As with a Scan, floats round and integers wrap around alike.
    """
    if _has_parts(site, _MOST_PARTS):
        _accumulate_parts(site)


def _has_parts(site: Site, most: int) -> bool:
    """Whether the axis is known, and has from one to so many elements; for a result that begins with 0, all sizes."""
    axis, dims = site.constant_value(1), site.shape(0)
    if axis is None or not dims:
        return False
    size = dims[int(axis.reshape(()))]
    is_fixed = all(isinstance(one, int) for one in dims)
    return isinstance(size, int) and 0 < size <= most and (is_fixed or not site.attribute("exclusive", 0))


def _accumulate_parts(site: Site) -> None:
    axis, dims, dtype, operator = site.constant_value(1), site.shape(0), site.dtype(0), site.node.op_type
    assert axis is not None
    assert dims is not None
    position = counted_from_front(site, [int(axis.reshape(()))], len(dims), name="axis")[0]
    op, compute_dtype = site.op_at(opsets.BROADCASTING), "float" if dtype in _NARROW else dtype
    value = site.input(0) if compute_dtype == dtype else site.op.Cast(site.input(0), to=compute_dtype)
    size = int(dims[position] or 0)
    parts = op.Split(value, axis=position, split=[1] * size, outputs=size) if size > 1 else [value]
    order = -1 if site.attribute("reverse", 0) else 1
    totals = list(accumulate(parts[::order], getattr(op, _COMBINE[operator])))
    if site.attribute("exclusive", 0):
        row = [1 if place == position else int(dim or 0) for place, dim in enumerate(dims)]
        before = numpy.full(row, _BEFORE_THE_FIRST[operator]).astype(numpy_dtype(compute_dtype))
        totals = [site.constant(before, hint="before"), *totals[:-1]]
    result = op.Concat(*totals[::order], axis=position) if size > 1 else totals[0]
    site.replace(result if compute_dtype == dtype else site.op.Cast(result, to=dtype))


_FEW_PARTS, _MOST_PARTS = 16, 64
"""Few are written as they are, more only for runtimes that take no other form."""


def _filled(op: Operators, shape: str, number: float, dtype: str) -> str:
    return str(op.ConstantOfShape(shape, value=numpy.array([number]).astype(numpy_dtype(dtype))))


_IN_FLOAT = rounded_cast(
    *_NARROW,
    through="float",
    because="accumulated in float, and each element rounded once",
)

_END = 2**31 - 1
"""The end of a slice that reaches to the last element, in each dtype that the axis may have."""

STEPS = [Step("CumSum", 11, 14, up=unchanged, down=_IN_FLOAT)]

INTRODUCTIONS = [
    Introduction("CumSum", 11, down=accumulate_with_a_scan),
    Introduction("CumProd", 26, down=accumulate_with_a_scan),
]

FALLBACKS = [
    Fallback("CumSum", write_axis_as_an_int32_scalar_or_shift_sums, otherwise=accumulate_part_by_part),
    Fallback("CumProd", accumulate_part_by_part),
]
