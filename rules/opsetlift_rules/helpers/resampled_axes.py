"""The axes of a resampling: their lengths and scales, from the inputs of Upsample and Resize."""

from __future__ import annotations

from collections.abc import Sequence

from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.coordinates import Coordinates, ResampledAxis

Regions = Sequence[tuple[str, str] | None]
"""Start and end of the crop for each axis; None where nothing is cropped."""


def regions_of(coordinates: Coordinates, roi: str, count: int) -> Regions:
    """The crops that `roi` gives for `count` axes."""
    if not roi:
        coordinates.site.refuse(Why.INVALID_MODEL, "tf_crop_and_resize needs the input roi, which is absent")
    if coordinates.site.dtype(roi) != "float":
        narrow = roi
        roi = coordinates.folded(lambda op: op.Cast(narrow, to="float"))
    return [(_picked(coordinates, roi, one), _picked(coordinates, roi, one + count)) for one in range(count)]


def axes_by_scales(
    coordinates: Coordinates, axes: Sequence[int], scales: str, regions: Regions | None = None
) -> list[ResampledAxis]:
    """The axes by their scales; those that a known scale of 1 leaves as they are, are not among them."""
    known = coordinates.site.constant_value(scales)
    return [
        _by_scale(coordinates, axis, _picked(coordinates, scales, number), region)
        for number, (axis, region) in enumerate(zip(axes, regions or [None] * len(axes), strict=True))
        if known is None or region is not None or known[number] != 1
    ]


def _by_scale(coordinates: Coordinates, axis: int, scale: str, region: tuple[str, str] | None) -> ResampledAxis:
    size = coordinates.size(axis)
    extent = size
    if region is not None:
        start, end = region
        extent = coordinates.folded(lambda op: op.Mul(size, op.Sub(end, start)))
    length = coordinates.folded(lambda op: op.Cast(op.Floor(op.Mul(extent, scale)), to="int64"))
    return ResampledAxis(axis, size, length, scale, region=region)


def axes_by_sizes(coordinates: Coordinates, axes: Sequence[int], sizes: str, regions: Regions) -> list[ResampledAxis]:
    """The axes by their new lengths; those that have them already are not among them."""
    known, shape = coordinates.site.constant_value(sizes), coordinates.site.shape(0) or []
    return [
        _by_size(coordinates, axis, _picked(coordinates, sizes, number), region)
        for number, (axis, region) in enumerate(zip(axes, regions, strict=True))
        if known is None or region is not None or known[number] != shape[axis]
    ]


def _by_size(coordinates: Coordinates, axis: int, length: str, region: tuple[str, str] | None) -> ResampledAxis:
    size = coordinates.size(axis)
    scale = coordinates.folded(lambda op: op.Div(op.Cast(length, to="float"), op.Max(size, coordinates.number(1))))
    return ResampledAxis(axis, size, length, scale, is_cut=False, region=region)


def axes_by_ratio(
    coordinates: Coordinates, axes: Sequence[int], sizes: str, regions: Regions, policy: str
) -> list[ResampledAxis]:
    """The axes by one ratio, that of the axis where it is least or greatest.

    It gives the coordinates, too, as in ONNX's tests and onnxruntime, and not the rounded lengths.
    """
    if policy not in ("not_larger", "not_smaller"):
        coordinates.site.refuse(Why.INVALID_MODEL, f"the specification defines no keep_aspect_ratio_policy {policy!r}")
    numbers = coordinates.site.constant(axes, "int64", "axes")
    dims = coordinates.folded(lambda op: op.Gather(op.Shape(coordinates.site.input(0)), numbers))
    ratios = coordinates.folded(lambda op: op.Div(op.Cast(sizes, to="double"), op.Cast(dims, to="double")))
    extreme = "ArgMin" if policy == "not_larger" else "ArgMax"
    best = coordinates.folded(lambda op: getattr(op, extreme)(ratios, axis=0, keepdims=0))
    scale = coordinates.folded(lambda op: op.Cast(op.Gather(ratios, best), to="float"))
    numerator = coordinates.folded(lambda op: op.Gather(sizes, best))
    denominator = coordinates.folded(lambda op: op.Gather(dims, best))
    return [
        _by_fraction(coordinates, axis, (numerator, denominator), scale, region)
        for axis, region in zip(axes, regions, strict=True)
    ]


def _by_fraction(
    coordinates: Coordinates, axis: int, fraction: tuple[str, str], scale: str, region: tuple[str, str] | None
) -> ResampledAxis:
    """The length is rounded, halves up, which is counted in integers: floor((2 * own * n + d) / (2 * d))."""
    size, own = coordinates.size(axis), coordinates.dimension(axis)
    numerator, denominator = fraction
    two = coordinates.site.constant(2, "int64", "two")
    length = coordinates.folded(
        lambda op: op.Div(op.Add(op.Mul(two, op.Mul(numerator, own)), denominator), op.Mul(two, denominator))
    )
    return ResampledAxis(axis, size, length, scale, region=region)


def _picked(coordinates: Coordinates, vector: str, position: int) -> str:
    index = coordinates.site.constant(position, "int64", "position")
    return coordinates.folded(lambda op: op.Gather(vector, index))
