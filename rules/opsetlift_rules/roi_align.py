"""Pooling over regions of interest.

RoiAlign  10: introduced · 16: +coordinate_transformation_mode, by default half a pixel from what it was · 22: +bfloat16

What the text leaves open is as in the original RoiAlign, in onnxruntime and in ONNX's tests: with output_half_pixel,
the only mode of 10, a region is at least one pixel large; points up to one pixel outside have the value of the border,
and those beyond have none; the mode max takes the greatest of the weighted neighbours, without adding them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, exact_cast, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.counting import LARGEST_TABLE
from opsetlift_rules.helpers.dimensions import Size, named, numbers_up_to
from opsetlift_rules.helpers.sampling import Neighbours, Rows

_ULPS = 16
_COORDINATE_MODE = 16
"""The version of RoiAlign that adds coordinate_transformation_mode."""
_BECAUSE = (
    "a kernel may add neighbours and samples in another order; the specification leaves open which of 0 "
    "and -0 is greater"
)


def add_the_coordinate_mode(site: Site) -> None:
    """Write output_half_pixel, the only coordinate mode of RoiAlign-10, for RoiAlign-16."""
    site.set_attribute("coordinate_transformation_mode", "output_half_pixel")


def decompose_half_pixel_mode(site: Site) -> None:
    """Decompose RoiAlign-16 in half_pixel mode, which RoiAlign-10 does not have."""
    if site.attribute("coordinate_transformation_mode", "half_pixel") == "output_half_pixel":
        site.remove_attribute("coordinate_transformation_mode")
    else:
        decompose_roi_align(site)


@dataclass(frozen=True)
class _Samples:
    """The sampled points on one axis of each region, in each bin: [regions, bins, samples]."""

    neighbours: Neighbours
    is_taken: str | None
    """Where their number differs from region to region, [regions, 1, samples]; None: all are."""
    count: str
    """How many they are, of the dtype of the data: a scalar, or [regions]."""


def decompose_roi_align(site: Site) -> None:
    """Replace RoiAlign-10: gather, weight and pool the neighbours of all samples.

    Floats X [N, C, H, W] and rois [regions, 4], int64 batch_indices [regions].
    The result is [regions, C, output_height, output_width].
    """
    op = site.op_at(opsets.ALLOWZERO)
    dtype = site.dtype(0)
    precision = "double" if dtype == "double" else "float"
    data, rois = (op.Cast(site.input(one), to=precision) if dtype != precision else site.input(one) for one in (0, 1))
    rows = Rows(site, op, data, precision)
    extents = [_extent(site, op, rois, column, precision) for column in (1, 0)]
    counts = _counts(site, op, [bin_size for _, bin_size, _ in extents], precision)
    height, width = (
        _samples(site, op, extent, count, length, precision)
        for extent, count, length in zip(extents, counts, rows.spatial, strict=True)
    )
    axes = [_spread(site, op, height, [3, 4]), _spread(site, op, width, [1, 2])]
    # [regions, height, samples, width, samples, neighbours, neighbours, channels]
    terms = rows.read(axes, 5, images=site.input(2))
    mode = site.attribute("mode", "avg")
    if mode == "avg":
        site.rounds()
        pooled = _average(site, op, terms, height, width, precision)
    elif mode == "max":
        site.rounds(1)
        pooled = _greatest(site, op, terms, height, width, precision)
    else:
        site.refuse(Why.INVALID_MODEL, f"the specification defines no mode {mode!r}")
    result = op.Transpose(pooled, perm=[0, 3, 1, 2])
    site.replace(op.Cast(result, to=dtype) if dtype != precision else result)


def _spread(site: Site, op: Operators, samples: _Samples, axes: list[int]) -> Neighbours:
    def spread(name: str | None) -> str:
        return str(op.Unsqueeze(name, site.constant(axes, "int64")))

    found = samples.neighbours
    return Neighbours(spread(found.places), spread(found.weights), spread(found.inside))


def _extent(site: Site, op: Operators, rois: str, column: int, dtype: str) -> tuple[str, str, int]:
    """Where each region starts on an axis and how large its bins are, both [regions, 1], and how many bins it has."""

    def number(value: float) -> str:
        return site.constant(value, dtype, "number")

    is_shifted = (
        site.transition.source_version >= _COORDINATE_MODE
        and site.attribute("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    )
    scale = number(site.attribute("spatial_scale", 1.0))
    start, end = (
        op.Mul(op.Gather(rois, site.constant([one], "int64", "column"), axis=1), scale) for one in (column, column + 2)
    )
    if is_shifted:
        start, end = op.Sub(start, number(0.5)), op.Sub(end, number(0.5))
    extent = op.Sub(end, start) if is_shifted else op.Max(op.Sub(end, start), number(1))
    bins = int(site.attribute("output_width" if column == 0 else "output_height", 1))
    return start, op.Div(extent, number(bins)), bins


def _counts(site: Site, op: Operators, bin_sizes: list[str], dtype: str) -> list[str]:
    """How many samples each bin has on each axis: a scalar, or [regions, 1]. Regions without any on one have none."""
    ratio = site.attribute("sampling_ratio", 0)
    if ratio:
        return [site.constant(ratio, dtype, "samples")] * 2
    zero = site.constant(0, dtype, "zero")
    counts = [op.Ceil(bin_size) for bin_size in bin_sizes]
    has_any = op.And(*(op.Greater(count, zero) for count in counts))
    return [op.Where(has_any, count, zero) for count in counts]


def _samples(site: Site, op: Operators, extent: tuple[str, str, int], count: str, length: Size, dtype: str) -> _Samples:
    start, bin_size, bin_count = extent
    one = site.constant(1, dtype, "one")
    taken: str | None = None
    samples: Size = int(site.attribute("sampling_ratio", 0))
    divisor = count
    if not samples:
        divisor = op.Max(count, one)
        unit = op.Reshape(one, site.constant([1, 1], "int64", "shape"))
        samples = op.Cast(op.ReduceMax(op.Concat(count, unit, axis=0), keepdims=0), to="int64")
        numbers = op.Cast(numbers_up_to(site, op, samples), to=dtype)
        taken = op.Unsqueeze(op.Less(numbers, count), site.constant([1], "int64"))
        count = op.Squeeze(count, site.constant([1], "int64"))
    half = site.constant(0.5, dtype, "half")
    sample_numbers = site.folded(lambda: op.Add(op.Cast(numbers_up_to(site, op, samples), to=dtype), half), "samples")
    if bin_count > LARGEST_TABLE:
        site.refuse(Why.NO_EQUIVALENT, f"{bin_count} bins would be listed, more than {LARGEST_TABLE}")
    bins = numpy.arange(bin_count).astype(numpy_dtype(dtype))
    bin_starts = op.Add(start, op.Mul(site.constant(bins, hint="bins"), bin_size))
    within = op.Div(op.Mul(sample_numbers, bin_size), divisor)
    places = op.Add(
        op.Unsqueeze(bin_starts, site.constant([2], "int64")), op.Unsqueeze(within, site.constant([1], "int64"))
    )
    return _Samples(_ends(site, op, places, length, taken, dtype), taken, count)


def _ends(site: Site, op: Operators, places: str, length: Size, taken: str | None, dtype: str) -> Neighbours:
    """The pixels before and after each place; those without weight do not count, be they infinite."""

    def number(value: float) -> str:
        return site.constant(value, dtype, "number")

    whole = site.folded(lambda: op.Cast(named(site, length), to=dtype))
    last = site.folded(lambda: op.Sub(whole, number(1)))
    clamped = op.Clip(places, number(0), last)
    before = op.Floor(clamped)
    after = op.Min(op.Add(before, number(1)), last)
    fraction = op.Sub(clamped, before)
    counts = op.Not(op.Or(op.Less(places, number(-1)), op.Greater(places, whole)))
    if taken is not None:
        counts = op.And(counts, taken)
    axis = site.constant([-1], "int64")
    pixels = op.Concat(*(op.Unsqueeze(one, axis) for one in (before, after)), axis=-1)
    weights = op.Concat(*(op.Unsqueeze(one, axis) for one in (op.Sub(number(1), fraction), fraction)), axis=-1)
    inside = op.And(op.Unsqueeze(counts, axis), op.Greater(weights, number(0)))
    return Neighbours(op.Cast(pixels, to="int64"), weights, inside)


def _average(site: Site, op: Operators, terms: str, height: _Samples, width: _Samples, dtype: str) -> str:
    total = op.ReduceSum(terms, site.constant([2, 4, 5, 6], "int64"), keepdims=0)
    one = site.constant(1, dtype, "one")
    count = site.folded(lambda: op.Max(op.Mul(height.count, width.count), one))
    if height.is_taken is not None:
        count = op.Unsqueeze(count, site.constant([1, 2, 3], "int64"))
    return str(op.Div(total, count))


def _greatest(site: Site, op: Operators, terms: str, height: _Samples, width: _Samples, dtype: str) -> str:
    axes = [2, 4, 5, 6]
    if height.is_taken is None or width.is_taken is None:
        return str(op.ReduceMax(terms, axes=axes, keepdims=0))
    taken = op.And(
        op.Unsqueeze(height.is_taken, site.constant([3, 4, 5, 6, 7], "int64")),
        op.Unsqueeze(width.is_taken, site.constant([1, 2, 5, 6, 7], "int64")),
    )
    greatest = op.ReduceMax(op.Where(taken, terms, site.constant(-numpy.inf, dtype, "lowest")), axes=axes, keepdims=0)
    zero = site.constant(0, dtype, "zero")
    has_any = op.Unsqueeze(op.Greater(height.count, zero), site.constant([1, 2, 3], "int64"))
    return str(op.Where(has_any, greatest, zero))


_DECOMPOSE_HALF_PIXEL_MODE = rounding(
    decompose_half_pixel_mode,
    ulps=_ULPS,
    when="coordinate_transformation_mode is half_pixel",
    because=_BECAUSE,
)

STEPS = [
    Step("RoiAlign", 10, 16, up=add_the_coordinate_mode, down=_DECOMPOSE_HALF_PIXEL_MODE),
    Step("RoiAlign", 16, 22, up=unchanged, down=exact_cast("bfloat16", through="float")),
]

_DECOMPOSE_ROI_ALIGN = rounding(decompose_roi_align, ulps=_ULPS, because=_BECAUSE)

INTRODUCTIONS = [
    Introduction("RoiAlign", 10, down=_DECOMPOSE_ROI_ALIGN),
]

FALLBACKS = [
    Fallback("RoiAlign", _DECOMPOSE_ROI_ALIGN),
]
