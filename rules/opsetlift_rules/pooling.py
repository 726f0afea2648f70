"""Poolings.

AveragePool        7: +count_include_pad · 10: +ceil_mode · 19: +dilations · 22: +bfloat16
MaxPool            8: +Indices, storage_order · 10: +ceil_mode, dilations · 12: +int8 +uint8 · 22: +bfloat16
LpPool             2: p is an integer, kernel_shape required · 18: +ceil_mode, dilations · 22: +bfloat16
GlobalLpPool       2: p is an integer · 22: +bfloat16
GlobalAveragePool, GlobalMaxPool, MaxRoiPool  22: +bfloat16
"""

from __future__ import annotations

import math

import numpy

from opsetlift.rulebook.rule import Fallback, Step, in_turn, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site, has_attribute, pop_attribute, widen
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dimensions import product, reshaped, size
from opsetlift_rules.helpers.max_pool_indices import compute_indices_of_maxima, indices_of_maxima
from opsetlift_rules.helpers.narrow_floats import (
    BFLOAT16_IS_ADDED,
    cast_bfloat16,
    cast_bfloat16_and_round,
    in_float,
)
from opsetlift_rules.helpers.separating import put_maxima_before
from opsetlift_rules.helpers.windows import (
    added,
    combined,
    element_counts,
    padded,
    set_pads,
    windows_of,
    writes_same_as_pads,
)

# ceil_mode


def replace_ceil_mode_with_pads(site: Site) -> None:
    """Replace ceil_mode with the pads that the last windows lack.

    With count_include_pad, which must not count these, the pads of the node become zeros in the input.
    """
    windows = windows_of(site)
    if windows.filled_pads == windows.pads:
        site.remove_attribute("ceil_mode")
        return
    begin, end = list(windows.begin), windows.filled_ends
    if pop_attribute(site, "count_include_pad", 0) and any(windows.pads):
        pads = [*windows.begin, *windows.own_ends]
        site.set_input(0, padded(site, site.op_at(opsets.BFLOAT16), site.input(0), site.dtype(0), pads))
        begin, end = [0] * len(end), windows.missing
    set_pads(site, begin, end)


def write_out_how_pads_count(site: Site) -> None:
    """Replace ceil_mode with pads, write count_include_pad, and pad before the node where pads count.

    Where that changes nothing, keep it apart from a Pad before it, which some optimisers merge into the pads.
    """
    if writes_same_as_pads(site):
        return
    read = site.input(0)
    if site.attribute("ceil_mode", 0):
        replace_ceil_mode_with_pads(site)
        if site.input(0) != read:
            # A node of its own, so that it is looked at behind its Pad.
            site.replace(site.op.copy(site.input(0), count_include_pad=0))
            return
    elif not any(site.attribute("pads") or ()) or site.attribute("count_include_pad") == 0:
        put_maxima_before(site)
    if not any(site.attribute("pads") or ()):
        return
    if site.attribute("count_include_pad", 0):
        value = padded(site, site.op_at(opsets.BFLOAT16), site.input(0), site.dtype(0), windows_of(site).pads)
        site.replace(site.op.copy(value, pads=None, auto_pad=None, count_include_pad=None))
    else:
        site.set_attribute("count_include_pad", 0)


def exclude_windows_that_start_in_the_padding(site: Site) -> None:
    """Write pads in place of ceil_mode where a window starts in the end padding.

    Such windows count at no version, but only 22 says so: onnx's inference and onnxruntime up to 1.20 count them.
    """
    if site.attribute("ceil_mode", 0) and windows_of(site).may_start_late():
        replace_ceil_mode_with_pads(site)


# Averages


def pad_before_averaging(site: Site) -> None:
    """Pad the input of AveragePool-7 with count_include_pad=1: AveragePool-1 does not count pads."""
    if not pop_attribute(site, "count_include_pad", 0):
        return
    windows = windows_of(site)
    if any(windows.pads):
        site.set_input(0, padded(site, site.op_at(opsets.BFLOAT16), site.input(0), site.dtype(0), windows.pads))
    site.remove_attribute("auto_pad")
    site.remove_attribute("pads")


def average_dilated_windows_over_slices(site: Site) -> None:
    """Replace dilated AveragePool-19 with a sum of Slices and a quotient: AveragePool-11 has no dilations."""
    windows = windows_of(site)
    if not windows.is_dilated:
        site.remove_attribute("dilations")
        return
    site.rounds()
    op = site.op_at(opsets.BFLOAT16)
    dtype, (value,), result = in_float(site, op)
    sums = combined(site, op, padded(site, op, value, dtype, windows.filled_pads), windows, added(op))
    counts_pads = bool(site.attribute("count_include_pad", 0))
    site.replace(result(op.Div(sums, element_counts(site, op, windows, dtype, counts_pads))))


# Maxima


def maximize_dilated_windows_over_slices(site: Site) -> None:
    """Replace dilated MaxPool-10 with the Max of Slices: MaxPool-8 has no dilations."""
    windows = windows_of(site)
    if not windows.is_dilated:
        site.remove_attribute("dilations")
        return
    op = site.op_at(opsets.BFLOAT16)
    value = padded(site, op, site.input(0), site.dtype(0), windows.filled_pads, with_=-math.inf)
    maxima = combined(site, op, value, windows, lambda values: str(op.Max(*values)))
    site.replace(maxima, indices_of_maxima(site, op, value, windows) if site.is_read(1) else None)


def write_dilations_and_ceil_mode_out(site: Site) -> None:
    """Replace a dilated MaxPool with the Max of Slices, and ceil_mode of others with pads.

    Others are kept apart from the node before: some optimisers merge a Pad, whose zeros count, into pads that do not.
    """
    if writes_same_as_pads(site):
        return
    if windows_of(site).is_dilated:
        maximize_dilated_windows_over_slices(site)
    elif site.attribute("ceil_mode", 0):
        replace_ceil_mode_with_pads(site)
    else:
        put_maxima_before(site)


def compute_8_bit_integers_in_float(site: Site) -> None:
    """Compute MaxPool-12 of int8 and uint8, which MaxPool-11 does not take, in float, which runtimes compute.

    A window without elements gives the least value of the dtype, which is -inf in float.
    """
    dtype = site.dtype(0)
    if dtype not in ("int8", "uint8"):
        return
    if not windows_of(site).may_cover_pads_only():
        widen(site, "float")
        return
    op = site.op
    results = site.op.copy(op.Cast(site.input(0), to="float"))
    maxima, *indices = [results] if isinstance(results, str) else results
    least = site.constant(numpy.iinfo(numpy_dtype(dtype)).min, "float", "least")
    site.replace(op.Cast(op.Max(maxima, least), to=dtype), *indices)


def pool_more_axes_as_one(site: Site) -> None:
    """Pool all of a volume as an image of one column: some runtimes pool no more than two axes."""
    rank = site.rank(0, because="the axes behind those of an image become one")
    if rank <= _RANK_OF_IMAGES:
        return
    op = site.op_at(opsets.ALLOWZERO)
    value = site.input(0)
    elements = product(site, op, [size(site, op, value, axis) for axis in range(2, rank)])
    if isinstance(elements, int) and elements:
        image = op.Reshape(value, site.constant([0, 0, elements, 1], "int64", "shape"))
    else:
        image = reshaped(site, op, value, [size(site, op, value, 0), size(site, op, value, 1), elements, 1])
    pooled = op.emit(site.node.op_type, image)
    site.replace(op.Unsqueeze(pooled, site.constant(range(_RANK_OF_IMAGES, rank), "int64")))


def average_more_axes_as_one(site: Site) -> None:
    """Average all of a volume as an image of one column: some runtimes average no more than two axes."""
    if site.rank(0, because="the axes behind those of an image become one") > _RANK_OF_IMAGES:
        site.rounds()
        pool_more_axes_as_one(site)


_RANK_OF_IMAGES = 4

# Norms


def convert_p_to_an_integer(site: Site) -> None:
    """Write p of LpPool-1 or GlobalLpPool-1, a float, as an integer; decompose the norm for other powers."""
    if site.node.op_type == "LpPool" and not site.attribute("kernel_shape"):
        site.refuse(Why.INVALID_MODEL, "the attribute kernel_shape is missing, which every later version requires")
    p = site.attribute("p", 2.0)
    if float(p).is_integer():
        if has_attribute(site, "p"):
            site.set_attribute("p", int(p))
        return
    if not math.isfinite(p):
        site.refuse(Why.NO_EQUIVALENT, f"p is {p}, and the specification defines the norm only for finite p")
    _write_norm_out(site, p)


def convert_p_to_a_float(site: Site) -> None:
    """Write p of LpPool-2 or GlobalLpPool-2 as a float, as version 1 has it."""
    p = site.attribute("p", 2)
    if float(numpy.float32(p)) != p:
        site.refuse(Why.NO_EQUIVALENT, f"p is {p}, which the float attribute of opset 1 cannot represent")
    if has_attribute(site, "p"):
        site.set_attribute("p", float(p))


def sum_dilated_windows_over_slices(site: Site) -> None:
    """Replace dilated LpPool-18 with the root of a sum of Slices: LpPool-11 has no dilations."""
    if windows_of(site).is_dilated:
        _write_norm_out(site, site.attribute("p", 2))
    else:
        site.remove_attribute("dilations")


def _write_norm_out(site: Site, p: float) -> None:
    site.rounds()
    op = site.op_at(opsets.AXES_AS_INPUTS)
    dtype, (value,), result = in_float(site, op)
    powers = op.Mul(value, value) if p == 2 else op.Pow(op.Abs(value), site.constant(p, dtype, "p"))
    if site.node.op_type == "GlobalLpPool":
        rank = site.rank(0, because="the number of spatial axes must be known")
        sums = op.ReduceSum(powers, site.constant(range(2, rank), "int64"))
    else:
        windows = windows_of(site)
        sums = combined(site, op, padded(site, op, powers, dtype, windows.filled_pads), windows, added(op))
    site.replace(result(_root(site, op, sums, p, dtype)))


def _root(site: Site, op: Operators, sums: str, p: float, dtype: str) -> str:
    return str(op.Sqrt(sums) if p == 2 else op.Pow(sums, site.constant(1 / p, dtype, "root")))


_EXCLUDE_WINDOWS_THAT_START_IN_THE_PADDING = in_turn(exclude_windows_that_start_in_the_padding, cast_bfloat16_and_round)
_DILATED_AVERAGES = rounding(
    average_dilated_windows_over_slices,
    ulps=4,
    when="windows are dilated",
    because="a kernel may add the elements of a window in another order",
)
_POWERS = "powers, sums and the root round one by one"
_DILATED_NORMS = rounding(sum_dilated_windows_over_slices, ulps=8, when="windows are dilated", because=_POWERS)
_INTEGRAL_P = rounding(convert_p_to_an_integer, ulps=8, when="p is not an integer", because=_POWERS)

_AUTO_PAD = "11 gives the output size in another formula; its floor without ceil_mode is a mistake "
_DEFAULTS = "11 states the defaults of strides and dilations"
_LATE = (
    "22 ignores windows that start in the end padding; ONNX's test of MaxPool-12 and onnxruntime from "
    "1.21 do so at every version"
)

_SECOND_OUTPUT = "8 adds an optional output"
_MAXIMA_OF_SLICES = in_turn(maximize_dilated_windows_over_slices, replace_ceil_mode_with_pads)
_ROUNDED_DOWN = "by default 10 rounds down and does not dilate"
_SLIPS = "12 corrects mistakes in the formulas of 11"
_EXCLUDE_WINDOWS_AND_CAST_BFLOAT16 = in_turn(exclude_windows_that_start_in_the_padding, cast_bfloat16)
_NORMS_OF_SLICES = in_turn(_DILATED_NORMS, replace_ceil_mode_with_pads)
_LP_ROUNDED_DOWN = "by default 18 rounds down and does not dilate"

_MEANS_OF_IMAGES = rounding(
    average_more_axes_as_one, ulps=4, when="there are more than two spatial axes", because="sums go in another order"
)

STEPS = [
    Step("AveragePool", 1, 7, up=unchanged, down=pad_before_averaging, because="by default 7 does not count pads"),
    Step("AveragePool", 7, 10, up=unchanged, down=replace_ceil_mode_with_pads, because="by default 10 rounds down"),
    Step("AveragePool", 10, 11, up=unchanged, down=unchanged, because=_AUTO_PAD + "that 19 corrects"),
    Step("AveragePool", 11, 19, up=unchanged, down=_DILATED_AVERAGES, because="19 adds dilations"),
    Step("AveragePool", 19, 22, up=unchanged, down=_EXCLUDE_WINDOWS_THAT_START_IN_THE_PADDING, because=_LATE),
    Step("MaxPool", 1, 8, up=unchanged, down=compute_indices_of_maxima, because=_SECOND_OUTPUT),
    Step("MaxPool", 8, 10, up=unchanged, down=_MAXIMA_OF_SLICES, because=_ROUNDED_DOWN),
    Step("MaxPool", 10, 11, up=unchanged, down=unchanged, because=_DEFAULTS),
    Step("MaxPool", 11, 12, up=unchanged, down=compute_8_bit_integers_in_float, because=_SLIPS),
    Step("MaxPool", 12, 22, up=unchanged, down=_EXCLUDE_WINDOWS_AND_CAST_BFLOAT16, because=_LATE),
    Step("LpPool", 1, 2, up=_INTEGRAL_P, down=convert_p_to_a_float),
    Step("LpPool", 2, 11, up=unchanged, down=unchanged, because=_DEFAULTS),
    Step("LpPool", 11, 18, up=unchanged, down=_NORMS_OF_SLICES, because=_LP_ROUNDED_DOWN),
    Step("LpPool", 18, 22, up=unchanged, down=_EXCLUDE_WINDOWS_THAT_START_IN_THE_PADDING, because=_LATE),
    Step("GlobalLpPool", 1, 2, up=_INTEGRAL_P, down=convert_p_to_a_float),
    Step("GlobalLpPool", 2, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("GlobalAveragePool", 1, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("GlobalMaxPool", 1, 22, up=unchanged, down=cast_bfloat16),
    Step("MaxRoiPool", 1, 22, up=unchanged, down=cast_bfloat16),
]

FALLBACKS = [
    Fallback("AveragePool", write_out_how_pads_count),
    Fallback("GlobalAveragePool", _MEANS_OF_IMAGES),
    Fallback("GlobalMaxPool", pool_more_axes_as_one),
    Fallback("LpPool", replace_ceil_mode_with_pads),
    Fallback("MaxPool", write_dilations_and_ceil_mode_out),
]
