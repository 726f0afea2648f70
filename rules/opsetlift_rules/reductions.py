"""Reductions.

Since 11 axes may be negative, 13 adds bfloat16, and since 18 (ReduceSum: 13) the axes are an input, no attribute.

ReduceMin, ReduceMax           12: +int8 +uint8 · 20: +bool
ReduceSum, ReduceProd, ReduceMean, ReduceL1, ReduceL2, ReduceSumSquare
ReduceLogSum, ReduceLogSumExp  28: -integers
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy

from opsetlift.rulebook.rule import Apply, Fallback, Rule, Step, exact_cast, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site, known_shape, widen, widen_to_kernel
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import counted_from_front
from opsetlift_rules.helpers.broadcasting import computes_a_vector_as_a_row
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS, FLOATING
from opsetlift_rules.helpers.reduction_axes import (
    make_axes_non_negative,
    move_axes_to_an_attribute,
    move_axes_to_an_input,
)
from opsetlift_rules.helpers.separating import put_maxima_before
from opsetlift_rules.helpers.signs import is_negative

# What the reduction of no elements gives.
_OF_NOTHING = {
    "ReduceMin": {"int8": 127, "uint8": 255},
    "ReduceMax": {"int8": -128, "uint8": 0},
}


def compute_8_bit_min_max_in_a_wider_type(site: Site) -> None:
    """Compute ReduceMin-12 or ReduceMax-12 of int8 and uint8, which version 11 does not take, in a wider type.

    The minimum over no elements is the largest value of the dtype, which int32 would not give. Where a reduced
    dimension may be 0, the type is float: there the minimum is +inf, which Clip turns into the largest value. The
    maximum mirrors this.
    """
    dtype, operator = site.dtype(0), site.node.op_type
    if dtype not in ("int8", "uint8"):
        return
    if _is_never_empty(site):
        widen(site, "int32")
        return
    op = site.op
    wide = site.op.copy(op.Cast(site.input(0), to="float"))
    bound = site.constant(_OF_NOTHING[operator][dtype], "float", "bound")
    clipped = op.Clip(wide, None, bound) if operator == "ReduceMin" else op.Clip(wide, bound)
    site.replace(op.Cast(clipped, to=dtype))


def _is_never_empty(site: Site) -> bool:
    shape = site.shape(0)
    if shape is None:
        return False
    axes = site.attribute("axes") or range(len(shape))
    return all(isinstance(shape[axis], int) and shape[axis] != 0 for axis in axes if -len(shape) <= axis < len(shape))


def compute_integers_in_double(site: Site) -> None:
    """Compute ReduceLogSum-18 or ReduceLogSumExp-18 of integers, which version 28 does not take, in double, truncated.

    The sum of ReduceLogSum wraps around first, as in runtimes that take integers.
    """
    dtype = site.dtype(0)
    if dtype in FLOATING:
        return
    site.rounds()
    if site.node.op_type == "ReduceLogSumExp":
        widen(site, "double")
        return
    op = site.op
    attributes = {name: site.attribute(name) for name in ("keepdims", "noop_with_empty_axes")}
    total = op.ReduceSum(*site.inputs, **attributes)
    site.replace(op.Cast(op.Log(op.Cast(total, to="double")), to=dtype))


# Fallbacks for runtimes that lack a dtype or fail on a form


def or_reduce_all_axes_otherwise(otherwise: Apply) -> Rule:
    """Leave the axes out where they are all of the input's, which is what none mean; else do something else.

    Without axes, a scalar is what Squeeze makes of a single element whose axes are kept.
    """

    def apply(site: Site) -> None:
        shape, given = site.shape(0), site.attribute("axes")
        if given is None and site.input(1) and (known := site.constant_value(1)) is not None:
            given = known.reshape(-1).tolist()
        if (computed := _computed_of_single_elements(site)) is not None:
            site.replace(computed)
        elif given and shape is not None and len(set(given)) == len(shape):
            site.replace(site.op.copy(site.input(0), axes=None, noop_with_empty_axes=None))
        elif given and shape is not None and len(given) >= _MANY and site.dtype(0) == "float":
            site.rounds()
            _reduce_two_axes_first(site, counted_from_front(site, given, len(shape)))
        elif not given and not site.input(1) and _gives_a_scalar(site) and _is_of_one_element(site):
            site.replace(site.op.copy(_twice(site)))
        elif not given and not site.input(1) and _gives_a_scalar(site):
            axes = site.constant(range(len(shape or [])), "int64", "axes")
            site.replace(site.op_at(opsets.AXES_AS_INPUTS).Squeeze(site.op.copy(*site.inputs, keepdims=1), axes))
        else:
            otherwise(site)

    apply.__name__ = f"{otherwise.__name__}_or_reduce_all_axes_otherwise"
    apply.__doc__ = (
        f"{otherwise.__doc__}\n    Axes that are all of the input's are left out, or kept and then removed; of three "
        "or more, floats are reduced along the last two first. What becomes of a single element is written out; the "
        "largest or least of one is that of two."
    )
    return rounding(
        apply,
        ulps=16,
        when="floats are reduced along three axes or more",
        because="the numbers are added up in another order",
    )


_MATRIX = 2

_MANY = 3
"""How many axes runtimes may reduce wrongly at once."""


def _computed_of_single_elements(site: Site) -> str | None:
    """What a reduction of floats computes along axes of one element each, where that is more than the element."""
    known = _known_reduction(site) if site.node.op_type in _OF_A_SINGLE_ELEMENT else None
    if known is None:
        return None
    shape, result, axes = known
    if any(shape[axis] != 1 for axis in axes):
        return None
    op, value = site.op_at(opsets.BFLOAT16), site.input(0)
    computed = _OF_A_SINGLE_ELEMENT[site.node.op_type](op, value)
    if not result:
        return str(op.Squeeze(computed, site.constant([*range(len(shape))], "int64", "axes")))
    return str(op.Reshape(computed, site.constant(result, "int64", "shape")))


_OF_A_SINGLE_ELEMENT: Mapping[str, Callable[[Operators, str], str]] = {
    "ReduceL1": lambda op, value: str(op.Abs(value)),
    "ReduceL2": lambda op, value: str(op.Sqrt(op.Mul(value, value))),
    "ReduceLogSum": lambda op, value: str(op.Log(value)),
    "ReduceSumSquare": lambda op, value: str(op.Mul(value, value)),
}

_FIRST_OF = {"ReduceLogSum": "ReduceSum"}
_SECOND_OF = {"ReduceSumSquare": "ReduceSum"}
"""What a reduction is along some of its axes, and then along the others; most are the same each time."""


def _reduce_two_axes_first(site: Site, axes: Sequence[int]) -> None:
    """Reduce along the last two axes, and what that gives along the others."""
    ordered, name = sorted(axes), site.node.op_type
    op, keepdims = site.op_at(opsets.AXES_AS_INPUTS), site.attribute("keepdims", 1)

    def reduced(operator: str, value: str, along: Sequence[int]) -> str:
        if operator == "ReduceSum":
            return str(op.ReduceSum(value, site.constant([*along], "int64", "axes"), keepdims=keepdims))
        return str(getattr(op, operator)(value, axes=[*along], keepdims=keepdims))

    inner = reduced(_FIRST_OF.get(name, name), site.input(0), ordered[-2:])
    site.replace(reduced(_SECOND_OF.get(name, name), inner, ordered[:-2]))


def _gives_a_scalar(site: Site) -> bool:
    """Whether a reduction without axes removes those of its input, whose rank and dtype are no reason to refuse it."""
    removes = not site.attribute("keepdims", 1) and not site.attribute("noop_with_empty_axes", 0)
    return removes and bool(site.shape(0)) and site.computes(site.node.op_type, T=site.dtype(0))


def _is_of_one_element(site: Site) -> bool:
    shape = known_shape(site, 0)
    return site.node.op_type in ("ReduceMax", "ReduceMin") and shape is not None and math.prod(shape) == 1


def _twice(site: Site) -> str:
    """A single element and its copy, along the last of two axes or more."""
    element, rank = site.input(0), len(site.shape(0) or [])
    if rank < _MATRIX:
        element, rank = site.op.Reshape(element, site.constant([1, 1], "int64", "element")), _MATRIX
    return str(site.op.Concat(element, element, axis=rank - 1))


def sort_axes(site: Site) -> None:
    """Write the axes non-negative and in order, for runtimes that read no others.

    Where they are so, floats are kept apart from what is before.
    """
    if not _sorts_axes(site):
        _keeps_apart(site)


def _keeps_apart(site: Site) -> bool:
    """Whether the runtime computes the dtype: then the input is the Max of itself, so that nothing is merged."""
    dtype = site.dtype(0)
    if dtype not in _MAXIMA or not all(site.computes(one, T=dtype) for one in (site.node.op_type, "Max")):
        return False
    put_maxima_before(site, dtypes=_MAXIMA)
    return True


_MAXIMA = (*FIRST_FLOATS, "int32", "int64")


def _sorts_axes(site: Site) -> bool:
    """Whether the axes were others, and are so now."""
    axes = site.attribute("axes")
    if axes is None:
        return False
    ordered = sorted(counted_from_front(site, axes, site.rank(0, because="axes are counted from the front")))
    if ordered == axes:
        return False
    site.set_attribute("axes", ordered)
    return True


def sort_axes_or_negate_twice(site: Site) -> None:
    """Write keepdims out, and the axes in order.

    Where they are so, negate the input twice, so that no optimiser merges what computes it. The average of integers
    becomes their sum, divided by how many they are.
    """
    has_no_keepdims = site.attribute("keepdims") is None
    if has_no_keepdims:
        site.set_attribute("keepdims", 1)
    if _sorts_axes(site) or has_no_keepdims:
        # A new node, which is negated in its turn where that was not enough.
        site.replace(site.op.copy(*site.inputs))
    elif site.dtype(0) in FLOATING:
        site.set_input(0, site.op.Neg(site.op.Neg(site.input(0))))
    elif (sizes := known_shape(site, 0)) is not None and (axes := _known_axes(site)):
        op, count = site.op_at(opsets.AXES_AS_INPUTS), math.prod(sizes[axis] for axis in axes)
        total = op.ReduceSum(site.input(0), site.constant(axes, "int64"), keepdims=site.attribute("keepdims"))
        site.replace(op.Div(total, site.constant(count, str(site.dtype(0)), "count")))


def sum_integers_in_parts(site: Site) -> None:
    """Sum in a type that the runtime supports; int64 in parts of so few bits that no sum exceeds double or int32.

    The parts are put together in int64, which wraps around as the sum does. What the runtime computes is kept apart
    from what is before.
    """
    if _keeps_apart(site):
        return
    dtype = next((one for one in ("double", "int32") if site.computes("ReduceSum", T=one)), None)
    if widen_to_kernel(site) or site.dtype(0) != "int64" or dtype is None:
        return
    op = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC)
    dims = site.shape(0) or [None]
    sizes = [dim for dim in dims if isinstance(dim, int)]
    are_few = len(sizes) == len(dims) and math.prod(sizes) <= 2**21
    bits = _BITS[dtype, are_few]
    units = [2 ** (bits * place) for place in reversed(range(1, -(-64 // bits)))]
    sums = []
    rest = site.input(0)
    for unit in units:
        size = site.constant(unit, "int64", "unit")
        part = op.Div(rest, size)
        rest = op.Sub(rest, op.Mul(part, size))
        sums.append(op.Mul(_summed(site, op, part, dtype), size))
    sums.append(_summed(site, op, rest, dtype))
    site.replace(reduce(lambda total, one: op.Add(total, one), sums))


_BITS = {("double", True): 32, ("double", False): 22, ("int32", True): 10, ("int32", False): 8}
"""Bits in a part, for at most 2**21 elements or any number up to 2**23; no sum of them exceeds 53 or 31."""


def _summed(site: Site, op: Operators, value: str, dtype: str) -> str:
    return str(op.Cast(site.op.copy(op.Cast(value, to=dtype), *site.inputs[1:]), to="int64"))


_MOST_FACTORS = 64


def multiply_vector_elements(site: Site) -> None:
    """Replace ReduceProd of a short vector, mostly a shape, with Mul, for runtimes without the dtype.

    A dtype that it has is kept apart from what is before.
    """
    if _keeps_apart(site) or widen_to_kernel(site):
        return
    dims = known_shape(site, 0)
    if dims is None or len(dims) != 1 or not 0 < dims[0] <= _MOST_FACTORS or site.input(1):
        return
    op = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC)
    keeps = site.attribute("keepdims", 1)
    indices = [
        site.constant([place], "int64", "place") if keeps else site.constant(place, "int64") for place in range(*dims)
    ]
    factors = [op.Gather(site.input(0), index) for index in indices]
    site.replace(reduce(lambda product, factor: op.Mul(product, factor), factors))


def compute_int64_min_max_by_halves(site: Site) -> None:
    """Compute ReduceMin or ReduceMax in a type that the runtime supports; of int64 by its halves.

    The extreme of the upper halves comes first, then that of the lower halves beside it. Over no elements both halves
    are those of the end of the range. What the runtime computes is kept apart from what is before.
    """
    if _keeps_apart(site):
        return
    if site.dtype(0) != "int64":
        if _is_never_empty(site):
            widen_to_kernel(site)
        return
    op = site.op_at(opsets.ALL_INTEGERS_IN_ARITHMETIC)
    value, unit, middle = site.input(0), site.constant(2**32, "int64", "unit"), site.constant(2**31, "int64", "middle")
    quotient = op.Div(value, unit)
    rest = op.Sub(value, op.Mul(quotient, unit))
    borrowed = op.Cast(is_negative(site, op, rest), to="int64")
    upper = op.Cast(op.Sub(quotient, borrowed), to="int32")
    lower = op.Cast(op.Sub(op.Add(rest, op.Mul(borrowed, unit)), middle), to="int32")
    best = site.op.copy(upper, *site.inputs[1:], keepdims=1)
    worst = -(2**31) if site.node.op_type == "ReduceMax" else 2**31 - 1
    candidates = op.Where(op.Equal(upper, best), lower, site.constant(worst, "int32", "worst"))
    best_of_lower = site.op.copy(candidates, *site.inputs[1:], keepdims=1)
    whole = op.Mul(op.Cast(best, to="int64"), unit)
    result = op.Add(op.Add(whole, middle), op.Cast(best_of_lower, to="int64"))
    if not site.attribute("keepdims", 1):
        axes = site.attribute("axes")
        result = (
            op.Squeeze(result, site.constant(axes, "int64")) if axes else op.Reshape(result, site.constant([], "int64"))
        )
    site.replace(result)


def reduce_rows(site: Site) -> None:
    """Write a reduction of floats that the runtime has along the last of three axes; another one by those.

    The minimum is the negative of the largest negative.
    """
    known = _known_reduction(site)
    if known is None:
        return
    shape, result, axes = known
    op, value = site.op_at(opsets.AXES_OF_SUMS_AS_ATTRIBUTE), site.input(0)
    if not site.computes(site.node.op_type, T=site.dtype(0)):
        by_others = _reduced_by_others(site, op, None if len(axes) == len(shape) else axes)
        if by_others is not None:
            site.replace(by_others)
        return
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    if [*kept, *axes] != sorted([*kept, *axes]):
        value = op.Transpose(value, perm=[*kept, *axes])
    rows, length = (math.prod(shape[axis] for axis in some) for some in (kept, axes))
    stacked = op.Reshape(value, site.constant([1, rows, length], "int64", "stacked"))
    reduced = op.emit(site.node.op_type, stacked, axes=[2], keepdims=1)
    site.replace(op.Reshape(reduced, site.constant(result, "int64", "shape")))


def _reduced_by_others(site: Site, op: Operators, axes: list[int] | None) -> str | None:
    keepdims, value = site.attribute("keepdims", 1), site.input(0)
    match site.node.op_type:
        case "ReduceMin":
            return str(op.Neg(op.ReduceMax(op.Neg(value), axes=axes, keepdims=keepdims)))
        case "ReduceL1":
            return str(op.ReduceSum(op.Abs(value), axes=axes, keepdims=keepdims))
        case "ReduceSumSquare":
            return str(op.ReduceSum(op.Mul(value, value), axes=axes, keepdims=keepdims))
        case "ReduceL2":
            return str(op.Sqrt(op.ReduceSum(op.Mul(value, value), axes=axes, keepdims=keepdims)))
        case "ReduceLogSum":
            return str(op.Log(op.ReduceSum(value, axes=axes, keepdims=keepdims)))
    return None


def add_exponentials_of_rows(site: Site) -> None:
    """Write the logarithm of a sum of exponentials by other reductions.

    The largest number is taken off the others, and added to the logarithm: the sum does not overflow. It is finite
    there, so that infinities stay. A vector becomes a row before.
    """
    axes, dtype = _known_axes(site), site.dtype(0)
    if not axes or dtype not in FLOATING:
        return
    is_named_by_attribute = site.opset < opsets.REDUCTION_AXES_AS_INPUTS
    if is_named_by_attribute and site.attribute("keepdims", 1) and computes_a_vector_as_a_row(site, axes=[1]):
        return
    site.rounds()
    named = None if len(axes) == len(site.shape(0) or ()) else axes
    op, value = site.op_at(opsets.AXES_OF_SUMS_AS_ATTRIBUTE), site.input(0)
    end = float(numpy.finfo(numpy_dtype(dtype)).max)
    largest = op.ReduceMax(value, axes=named, keepdims=1)
    if dtype == "double":  # of which the attributes of Clip, which are floats, do not hold the ends
        least, most = (site.constant(number, dtype, "end") for number in (-end, end))
        largest = op.Min(op.Max(largest, least), most)
    else:
        largest = op.Clip(largest, min=-end, max=end)
    logarithm = op.Log(op.ReduceSum(op.Exp(op.Sub(value, largest)), axes=named, keepdims=1))
    result = op.Add(logarithm, largest)
    site.replace(result if site.attribute("keepdims", 1) else op.Squeeze(result, axes=axes))


def _known_reduction(site: Site) -> tuple[list[int], list[int], list[int]] | None:
    """The shapes of a reduction of floats and of its result, and the axes; None where something is not known."""
    shape, axes = known_shape(site, 0), _known_axes(site)
    if site.dtype(0) not in FLOATING or shape is None or not axes or not math.prod(shape):
        return None
    one = [1] if site.attribute("keepdims", 1) else []
    result = [size for axis, length in enumerate(shape) for size in (one if axis in axes else [length])]
    return shape, result, axes


def _known_axes(site: Site) -> list[int] | None:
    """The axes that are reduced, from the front and in order; None where that is not known."""
    rank = site.rank(0, because="axes are counted from the front")
    axes = site.attribute("axes")
    if site.input(1):
        value = site.constant_value(1)
        if value is None:
            return None
        axes = value.reshape(-1).tolist()
    if axes:
        return sorted(counted_from_front(site, axes, rank))
    return [] if site.attribute("noop_with_empty_axes", 0) else list(range(rank))


_AXES = "11 states the range of axes, [-r, r-1], which 1 leaves open; non-negative axes mean the same"
_EDITORIAL = "wording only: 11 and 12 dropped the note on rank 0 and on the empty set, 13 restored it"


_LOGARITHMS = rounding(
    compute_integers_in_double,
    ulps=1,
    when="the values are integers",
    because="the specification leaves the logarithm of integers open; it is computed in double and truncated",
)


STEPS = [
    Step("ReduceMin", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES),
    Step("ReduceMin", 11, 12, up=unchanged, down=compute_8_bit_min_max_in_a_wider_type, because=_EDITORIAL),
    Step("ReduceMin", 12, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceMin", 13, 18, up=move_axes_to_an_input, down=move_axes_to_an_attribute),
    Step("ReduceMin", 18, 20, up=unchanged, down=exact_cast("bool", through="uint8"), because="20 adds bool"),
    Step("ReduceMax", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES),
    Step("ReduceMax", 11, 12, up=unchanged, down=compute_8_bit_min_max_in_a_wider_type, because=_EDITORIAL),
    Step("ReduceMax", 12, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceMax", 13, 18, up=move_axes_to_an_input, down=move_axes_to_an_attribute),
    Step("ReduceMax", 18, 20, up=unchanged, down=exact_cast("bool", through="uint8"), because="20 adds bool"),
    Step("ReduceSum", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES),
    Step("ReduceSum", 11, 13, up=move_axes_to_an_input, down=move_axes_to_an_attribute),
    Step("ReduceMean", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES),
    Step("ReduceMean", 11, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceMean", 13, 18, up=move_axes_to_an_input, down=move_axes_to_an_attribute),
    Step("ReduceProd", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES),
    Step("ReduceProd", 11, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceProd", 13, 18, up=move_axes_to_an_input, down=move_axes_to_an_attribute),
    Step("ReduceL1", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES),
    Step("ReduceL1", 11, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceL1", 13, 18, up=move_axes_to_an_input, down=move_axes_to_an_attribute),
    Step("ReduceL2", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES),
    Step("ReduceL2", 11, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceL2", 13, 18, up=move_axes_to_an_input, down=move_axes_to_an_attribute),
    Step("ReduceSumSquare", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES),
    Step("ReduceSumSquare", 11, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceSumSquare", 13, 18, up=move_axes_to_an_input, down=move_axes_to_an_attribute),
    Step("ReduceLogSum", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES),
    Step("ReduceLogSum", 11, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceLogSum", 13, 18, up=move_axes_to_an_input, down=move_axes_to_an_attribute),
    Step("ReduceLogSum", 18, 28, up=_LOGARITHMS, down=unchanged),
    Step("ReduceLogSumExp", 1, 11, up=unchanged, down=make_axes_non_negative, because=_AXES),
    Step("ReduceLogSumExp", 11, 13, up=unchanged, down=unchanged, because=_EDITORIAL),
    Step("ReduceLogSumExp", 13, 18, up=move_axes_to_an_input, down=move_axes_to_an_attribute),
    Step("ReduceLogSumExp", 18, 28, up=_LOGARITHMS, down=unchanged),
]


_EXPONENTIALS = rounding(
    add_exponentials_of_rows,
    ulps=4,
    when="other reductions compute it",
    because="the exponentials, their sum and its logarithm are rounded one by one",
)

FALLBACKS = [
    Fallback("ReduceSum", or_reduce_all_axes_otherwise(sum_integers_in_parts), otherwise=reduce_rows),
    Fallback("ReduceMax", or_reduce_all_axes_otherwise(compute_int64_min_max_by_halves), otherwise=reduce_rows),
    Fallback("ReduceMin", or_reduce_all_axes_otherwise(compute_int64_min_max_by_halves), otherwise=reduce_rows),
    Fallback("ReduceProd", or_reduce_all_axes_otherwise(multiply_vector_elements), otherwise=reduce_rows),
    Fallback("ReduceMean", or_reduce_all_axes_otherwise(sort_axes_or_negate_twice), otherwise=reduce_rows),
    Fallback("ReduceL1", or_reduce_all_axes_otherwise(sort_axes), otherwise=reduce_rows),
    Fallback("ReduceL2", or_reduce_all_axes_otherwise(sort_axes), otherwise=reduce_rows),
    Fallback("ReduceLogSum", or_reduce_all_axes_otherwise(sort_axes), otherwise=reduce_rows),
    Fallback("ReduceLogSumExp", or_reduce_all_axes_otherwise(sort_axes), otherwise=_EXPONENTIALS),
    Fallback("ReduceSumSquare", or_reduce_all_axes_otherwise(sort_axes), otherwise=reduce_rows),
]
