"""The axes of a resampling: their lengths and scales, from the inputs of Upsample and Resize."""

from __future__ import annotations

from collections.abc import Sequence

from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.interpolation import ResampledAxis, Resampler

Regions = Sequence[tuple[str, str] | None]
"""Start and end of the crop for each axis; None where nothing is cropped."""


def regions_of(resampler: Resampler, roi: str, count: int) -> Regions:
    """The crops that `roi` gives for `count` axes."""
    if not roi:
        resampler.site.refuse(Why.INVALID_MODEL, "tf_crop_and_resize needs the input roi, which is absent")
    if resampler.site.dtype(roi) != "float":
        narrow = roi
        roi = resampler.folded(lambda op: op.Cast(narrow, to="float"))
    return [(_picked(resampler, roi, one), _picked(resampler, roi, one + count)) for one in range(count)]


def axes_by_scales(
    resampler: Resampler, axes: Sequence[int], scales: str, regions: Regions | None = None
) -> list[ResampledAxis]:
    """The axes by their scales; those that a known scale of 1 leaves as they are, are not among them."""
    known = resampler.site.constant_value(scales)
    return [
        _by_scale(resampler, axis, _picked(resampler, scales, number), region)
        for number, (axis, region) in enumerate(zip(axes, regions or [None] * len(axes), strict=True))
        if known is None or region is not None or known[number] != 1
    ]


def _by_scale(resampler: Resampler, axis: int, scale: str, region: tuple[str, str] | None) -> ResampledAxis:
    size = resampler.size(axis)
    extent = size
    if region is not None:
        start, end = region
        extent = resampler.folded(lambda op: op.Mul(size, op.Sub(end, start)))
    length = resampler.folded(lambda op: op.Cast(op.Floor(op.Mul(extent, scale)), to="int64"))
    return ResampledAxis(axis, size, length, scale, region=region)


def axes_by_sizes(resampler: Resampler, axes: Sequence[int], sizes: str, regions: Regions) -> list[ResampledAxis]:
    """The axes by their new lengths; those that have them already are not among them."""
    known, shape = resampler.site.constant_value(sizes), resampler.site.shape(0) or []
    return [
        _by_size(resampler, axis, _picked(resampler, sizes, number), region)
        for number, (axis, region) in enumerate(zip(axes, regions, strict=True))
        if known is None or region is not None or known[number] != shape[axis]
    ]


def _by_size(resampler: Resampler, axis: int, length: str, region: tuple[str, str] | None) -> ResampledAxis:
    size = resampler.size(axis)
    scale = resampler.folded(lambda op: op.Div(op.Cast(length, to="float"), op.Max(size, resampler.number(1))))
    return ResampledAxis(axis, size, length, scale, is_cut=False, region=region)


def axes_by_ratio(
    resampler: Resampler, axes: Sequence[int], sizes: str, regions: Regions, policy: str
) -> list[ResampledAxis]:
    """The axes by one ratio, that of the axis where it is least or greatest.

    It gives the coordinates, too, as in ONNX's tests and onnxruntime, and not the rounded lengths.
    """
    if policy not in ("not_larger", "not_smaller"):
        resampler.site.refuse(Why.INVALID_MODEL, f"the specification defines no keep_aspect_ratio_policy {policy!r}")
    numbers = resampler.site.constant_int64(axes, "axes")
    dims = resampler.folded(lambda op: op.Gather(op.Shape(resampler.site.input(0)), numbers))
    ratios = resampler.folded(lambda op: op.Div(op.Cast(sizes, to="double"), op.Cast(dims, to="double")))
    extreme = "ArgMin" if policy == "not_larger" else "ArgMax"
    best = resampler.folded(lambda op: getattr(op, extreme)(ratios, axis=0, keepdims=0))
    scale = resampler.folded(lambda op: op.Cast(op.Gather(ratios, best), to="float"))
    numerator = resampler.folded(lambda op: op.Gather(sizes, best))
    denominator = resampler.folded(lambda op: op.Gather(dims, best))
    return [
        _by_fraction(resampler, axis, (numerator, denominator), scale, region)
        for axis, region in zip(axes, regions, strict=True)
    ]


def _by_fraction(
    resampler: Resampler, axis: int, fraction: tuple[str, str], scale: str, region: tuple[str, str] | None
) -> ResampledAxis:
    """The length is rounded, halves up, which is counted in integers: floor((2 * own * n + d) / (2 * d))."""
    size, own = resampler.size(axis), resampler.dimension(axis)
    numerator, denominator = fraction
    two = resampler.site.scalar(2, "int64", "two")
    length = resampler.folded(
        lambda op: op.Div(op.Add(op.Mul(two, op.Mul(numerator, own)), denominator), op.Mul(two, denominator))
    )
    return ResampledAxis(axis, size, length, scale, region=region)


def _picked(resampler: Resampler, vector: str, position: int) -> str:
    index = resampler.site.scalar(position, "int64", "position")
    return resampler.folded(lambda op: op.Gather(vector, index))
