"""Element-wise extremes.

Min, Max  6: -consumed_inputs · 8: +broadcasting · 12: +the eight integer dtypes · 13: +bfloat16
"""

from __future__ import annotations

import math
from functools import reduce

import numpy

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift.rulebook.site import Site, is_constant, widen, widen_to_kernel
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import (
    EQUAL_SHAPES,
    broadcast_inputs,
    compute_side_by_side,
    copies_repeated_channels,
    onto_one_shape,
)
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs
from opsetlift_rules.helpers.dtype_groups import COMPARED_IN, FIRST_FLOATS

_COMPARISONS = {"Min": "Less", "Max": "Greater"}


def select_integers_by_comparison(site: Site) -> None:
    """Compute Min-12 or Max-12 of integers, which version 8 does not take, in floats or by comparison.

    A float type holds every integer of up to 32 bits; those of 64 bits are compared as they are.
    """
    dtype = site.dtype(0)
    if dtype in COMPARED_IN:
        widen(site, COMPARED_IN[dtype])
    elif dtype in ("int64", "uint64"):
        _extreme_of_64_bits(site, dtype)


def _extreme_of_64_bits(site: Site, dtype: str) -> None:
    op = site.op
    operator, inputs = site.node.op_type, site.inputs
    if len(inputs) == 1:
        site.replace(op.Identity(inputs[0]))
    elif site.target >= opsets.WHERE:
        compare = getattr(op, _COMPARISONS[operator])
        site.replace(reduce(lambda left, right: op.Where(compare(left, right), left, right), inputs))
    elif site.target < opsets.CONCAT_OF_ALL_TYPES:
        site.refuse(
            Why.DTYPE_NOT_AVAILABLE,
            (
                f"no operator of opset {site.target} combines two {dtype} tensors elementwise: Concat accepts "
                f"{dtype} only from opset 4, arithmetic from 6, comparisons from 9; and no float holds 64 bits"
            ),
        )
    else:
        # Below 9 neither Where nor comparisons of integers exist, but reductions take integers at every version.
        op = site.op_at(opsets.AXES_AS_INPUTS)
        stacked = [
            op.Unsqueeze(value, site.constant([0], "int64")) for value in onto_one_shape(site, op, inputs, dtype)
        ]
        site.replace(getattr(op, f"Reduce{operator}")(op.Concat(*stacked, axis=0), axes=[0], keepdims=0))


def cast_or_compare_integers(site: Site) -> None:
    """Compute Min or Max in a type that the runtime supports; compare 64-bit integers where there is none.

    That of one value is the value.
    """
    if site.computes(site.node.op_type, T=site.dtype(0)):
        if len(site.inputs) == 1:
            site.replace(site.op.Identity(site.input(0)))
            return
        if copies_repeated_channels(site):
            return
    if not widen_to_kernel(site) and site.dtype(0) in ("int64", "uint64"):
        _extreme_of_64_bits(site, site.dtype(0))


def clip_or_compute_side_by_side(site: Site) -> None:
    """Write a bound that is one number as Clip; else compute with inputs of one shape."""
    bounds = [value for name in site.inputs if (value := site.content(name)) is not None]
    others = [name for name in site.inputs if not is_constant(site, name)]
    if len(bounds) != 1 or len(others) != 1 or site.dtype(0) not in FIRST_FLOATS or not bounds[0].size:
        compute_side_by_side(site)
        return
    bound = float(bounds[0].reshape(-1)[0])
    with numpy.errstate(over="ignore"):
        is_float = float(numpy.float32(bound)) == bound  # which the attributes of Clip are
    if is_float and (bounds[0] == bound).all() and site.shape(others[0]) == site.shape(site.output(0)) is not None:
        least, most = (bound, math.inf) if site.node.op_type == "Max" else (-math.inf, bound)
        site.replace(site.op_at(opsets.AXES_OF_SUMS_AS_ATTRIBUTE).Clip(others[0], min=least, max=most))


STEPS = [
    Step("Min", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Min", 6, 8, up=unchanged, down=broadcast_inputs, because=EQUAL_SHAPES),
    Step("Min", 8, 12, up=unchanged, down=select_integers_by_comparison),
    Step("Min", 12, 13, up=unchanged, down=unchanged),
    Step("Max", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Max", 6, 8, up=unchanged, down=broadcast_inputs, because=EQUAL_SHAPES),
    Step("Max", 8, 12, up=unchanged, down=select_integers_by_comparison),
    Step("Max", 12, 13, up=unchanged, down=unchanged),
]

FALLBACKS = [
    Fallback("Min", cast_or_compare_integers, otherwise=clip_or_compute_side_by_side),
    Fallback("Max", cast_or_compare_integers, otherwise=clip_or_compute_side_by_side),
]
