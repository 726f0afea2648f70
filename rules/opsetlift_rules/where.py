"""Elements selected by a condition.

Where  9: introduced · 16: +bfloat16
"""

from __future__ import annotations

import math
from functools import reduce

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged, widen_values
from opsetlift.rulebook.site import Operators, Site, is_constant
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import gather_within
from opsetlift_rules.helpers.broadcasting import common_shape, computes_vectors_as_rows, tile_onto
from opsetlift_rules.helpers.counting import LARGEST_TABLE, iota
from opsetlift_rules.helpers.dimensions import reshape_exactly
from opsetlift_rules.helpers.dtype_groups import FLOATING, NARROW_INTEGERS
from opsetlift_rules.helpers.truth_values import computed_if_constant

_MOST_AXES = 5
"""What OpenVINO's releases up to 2022 take in Where; none that takes fewer was seen."""

_WIDE = frozenset(["int32", "uint32", "int64", "uint64"])


def compute_integers_or_gather(site: Site) -> None:
    """Replace Where-9: booleans by logic, integers by arithmetic, other types by Gather.

    Floats have NaN and infinities, which multiplication by 0 does not remove.
    """
    dtype = site.dtype(1)
    if dtype == "bool":
        op = site.op
        condition, first, second = site.inputs
        site.replace(op.Or(op.And(condition, first), op.And(op.Not(condition), second)))
    elif dtype in NARROW_INTEGERS | _WIDE and site.target >= opsets.INTEGERS_IN_ARITHMETIC:
        _compute(site, dtype)
    else:
        _gather(site)


def compute_the_condition_or_replace(site: Site) -> None:
    """Compute a constant condition where the runtime has the kernel, but no such constants; else replace Where.

    A constant condition that is the same for all elements leaves one input. What is broadcast goes first, with the
    opposite condition, where the other is not. Vectors become rows of a matrix.
    """
    if _keeps_one_input(site):
        return
    has_kernel = site.computes("Where", T=site.dtype(1))
    if has_kernel and _chooses_in_a_row(site):
        return
    if has_kernel and not is_constant(site, 0) and computes_vectors_as_rows(site):
        return
    if has_kernel and is_constant(site, 0):
        site.set_input(0, computed_if_constant(site, site.op, site.input(0)))
    elif has_kernel and _is_only_last_broadcast(site):
        condition, first, second = site.inputs
        site.replace(site.op.Where(site.op.Not(condition), second, first))
    else:
        compute_integers_or_gather(site)


def _keeps_one_input(site: Site) -> bool:
    condition = site.constant_value(0)
    target = common_shape([site.shape(value) for value in site.inputs])
    sizes = [dim for dim in target or () if isinstance(dim, int)]
    if condition is None or condition.all() != condition.any() or target is None or len(sizes) < len(target):
        return False
    op, kept = site.op_at(opsets.BFLOAT16), site.input(1 if condition.all() else 2)
    is_whole = site.shape(kept) == sizes
    site.replace(op.Identity(kept) if is_whole else op.Expand(kept, site.constant(sizes, "int64", "shape")))
    return True


def _chooses_in_a_row(site: Site) -> bool:
    """Whether the elements are chosen from vectors now, for a runtime that fails on more axes."""
    target = common_shape([site.shape(value) for value in site.inputs])
    sizes = [dim for dim in target or () if isinstance(dim, int)]
    if target is None or len(sizes) < len(target) or len(target) <= _MOST_AXES:
        return False
    op = site.op
    shape, row = site.constant(sizes, "int64", "shape"), site.constant([-1], "int64", "row")
    rows = [op.Reshape(value if site.shape(value) == sizes else op.Expand(value, shape), row) for value in site.inputs]
    site.replace(op.Reshape(op.Where(*rows), shape))
    return True


def _is_only_last_broadcast(site: Site) -> bool:
    shapes = [site.shape(value) for value in site.inputs]
    target = common_shape(shapes)
    return target is not None and shapes[1] == target != shapes[2]


def _compute(site: Site, dtype: str) -> None:
    condition, first, second = site.inputs
    op = site.op
    wide = dtype if dtype in _WIDE else "int32"
    if wide != dtype:
        first, second = op.Cast(first, to=wide), op.Cast(second, to=wide)
    kept = op.Mul(op.Cast(condition, to=wide), first)
    result = op.Add(kept, op.Mul(op.Cast(op.Not(condition), to=wide), second))
    site.replace(op.Cast(result, to=dtype) if wide != dtype else result)


def _gather(site: Site) -> None:
    """Gather each element from both tensors, flattened and concatenated."""
    op = site.op_at(opsets.ALLOWZERO)
    shapes = [site.shape(value) for value in site.inputs]
    target = common_shape(shapes)
    tiled = None if target is None else [tile_onto(site, op, value, target) for value in site.inputs]
    if target is None or tiled is None or None in tiled:
        shape = _shape_at_run_time(site, op)
        condition, first, second = (op.Expand(value, shape) for value in site.inputs)
    else:
        condition, first, second = tiled
    # Below opset 6 there is no integer arithmetic; double holds every position.
    number = "int64" if site.target >= opsets.INTEGERS_IN_ARITHMETIC else "double"
    sizes = [dim for dim in target or () if isinstance(dim, int)]
    count = math.prod(sizes)
    is_known = target is not None and len(sizes) == len(target) and count <= LARGEST_TABLE
    if is_known and number == "int64" and not site.computes("Where", T=number):
        # Such runtimes may keep computed integers as floats, and join them with no constant ones.
        number = "float"
    if is_known:
        size = site.constant(count, number, "size")
        numbers = site.constant(numpy.arange(count, 2 * count).reshape(sizes).astype(_NUMPY[number]), hint="numbers")
    else:
        elements = op.Size(condition)
        shaped = reshape_exactly(op, iota(site, op, elements), op.Shape(condition))
        numbers, size = op.Add(shaped, elements), elements
        if number != "int64":
            numbers, size = op.Cast(numbers, to=number), op.Cast(size, to=number)
    indices = op.Sub(numbers, op.Mul(op.Cast(condition, to=number), size))
    if number != "int64":
        indices = op.Cast(op.Floor(indices) if number == "float" else indices, to="int64")
    rows = [first, second]
    if target is None or len(target) != 1:
        rows = [op.Reshape(value, site.constant([-1], "int64", "row")) for value in rows]
    site.replace(gather_within(site, op.Concat(*rows, axis=0), indices))


_NUMPY = {"int64": numpy.int64, "float": numpy.float32, "double": numpy.float64}


def _shape_at_run_time(site: Site, op: Operators) -> str:
    """The common shape of the inputs. Where their ranks are known, from their shapes; else by broadcasting False."""
    shapes = [site.shape(value) for value in site.inputs]
    if None in shapes and site.dtype(1) in FLOATING:
        condition, first, second = site.inputs
        return str(op.Shape(op.Or(op.Or(condition, op.Less(first, first)), op.Less(second, second))))
    because = "below opset 9 the inputs must be broadcast to one shape first"
    ranks = [site.rank(value, because=because) for value in site.inputs]
    rank = max(ranks)
    ones = site.constant([1] * rank, "int64", "ones")
    padded = []
    for value, own in zip(site.inputs, ranks, strict=True):
        shape = op.Shape(value)
        if own < rank:
            shape = op.Concat(site.constant([1] * (rank - own), "int64", "ones"), shape, axis=0)
        padded.append(shape)

    def wider(one: str, other: str) -> str:
        # The other's dimension where this one's is 1.
        is_one = op.Cast(op.Equal(one, ones), to="int64")
        return str(op.Add(op.Mul(is_one, op.Sub(other, ones)), one))

    return str(reduce(wider, padded))


STEPS = [
    Step("Where", 9, 16, up=unchanged, down=widen_values(like=1)),
]

INTRODUCTIONS = [
    Introduction("Where", 9, down=compute_integers_or_gather),
]

FALLBACKS = [
    Fallback("Where", compute_the_condition_or_replace),
]
