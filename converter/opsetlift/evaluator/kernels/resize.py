"""Upsample and Resize.

Upsample  7: one scale for each axis, mode bilinear renamed linear · 9: scales attribute -> input · 10: deprecated
Resize    10: introduced, scales below 1 · 11: +coordinate_transformation_mode, cubic, nearest_mode, roi, sizes ·
          13: scales or sizes by omission, no tf_half_pixel_for_nn · 18: +antialias, axes, keep_aspect_ratio_policy ·
          19: +half_pixel_symmetric
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy

from opsetlift.evaluator.kernels.axes import distinct_axes, int_list
from opsetlift.evaluator.kernels.interpolation import apply_taps, cast_back, taps, working_copy
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@dataclass(frozen=True)
class ResizedAxis:
    """One axis on its way: `points` are the coordinates, on the input's axis, of the output's elements."""

    axis: int
    size: int
    scale: numpy.float32
    points: Array

    @property
    def is_identity(self) -> bool:
        """Whether each point is the element of the same number."""
        return self.points.size == self.size and bool((self.points == numpy.arange(self.size)).all())

    @property
    def outside(self) -> Array:
        """The numbers of the points beyond the first or last element."""
        return numpy.flatnonzero(~((self.points >= 0) & (self.points <= self.size - 1)))


_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda points: numpy.ceil(points - numpy.float32(0.5)),
    "round_prefer_ceil": lambda points: numpy.floor(points + numpy.float32(0.5)),
    "floor": numpy.floor,
    "ceil": numpy.ceil,
}

# The text gives no precision for coordinates. float32, the dtype of scales, is what onnxruntime and ONNX's own tests
# compute in; ties of the nearest modes depend on it, and so do the lengths, floor(dimension * scale).


def _scaled_length(size: int, scale: float) -> int:
    return math.floor(numpy.float32(size) * numpy.float32(scale))


@kernel("Upsample", since=(1,))
def upsample_image(call: Call, data: Array) -> Array:
    """Upsample-1: data [N, C, H, W] at height_scale and width_scale."""
    if data.ndim != 4:
        call.fail(f"the input must be [N, C, H, W], its rank is {data.ndim}")
    scales = [1.0, 1.0, call.attributes["height_scale"], call.attributes["width_scale"]]
    return _resize_from_origin(call, data, scales, least=1, linear="bilinear")


@kernel("Upsample", since=(7,))
def upsample_by_attribute(call: Call, data: Array) -> Array:
    """Upsample-7: data [*shape], resized by the attribute scales, >= 1."""
    return _resize_from_origin(call, data, call.attributes["scales"], least=1)


@kernel("Upsample", since=(9, 10))
def upsample_by_input(call: Call, data: Array, scales: Array) -> Array:
    """Upsample-9, 10: data [*shape], resized by float32 scales [rank], >= 1."""
    return _resize_from_origin(call, data, _float_list(call, scales), least=1)


@kernel("Resize", since=(10,))
def resize_by_scales(call: Call, data: Array, scales: Array) -> Array:
    """Resize-10: data [*shape], resized by float32 scales [rank]."""
    return _resize_from_origin(call, data, _float_list(call, scales), least=0)


def _resize_from_origin(
    call: Call, data: Array, scales: Sequence[float], *, least: int, linear: str = "linear"
) -> Array:
    mode = call.attributes["mode"]
    if mode not in ("nearest", linear):
        call.fail(f"mode is {mode!r}; this version has nearest and {linear}")
    _check_scales(call, scales, data.ndim)
    if min(scales, default=1) < least:
        call.fail(f"scales are {list(scales)}; they must be greater than or equal to {least}")
    resized: list[ResizedAxis] = []
    for axis, (size, scale) in enumerate(zip(data.shape, numpy.asarray(scales, numpy.float32), strict=True)):
        length = _scaled_length(size, scale)
        call.reserve(length)
        resized.append(ResizedAxis(axis, size, scale, numpy.arange(length, dtype=numpy.float32) / scale))
    # Before Resize-11 the texts give no coordinates. ONNX's tests of those versions, and onnxruntime, let both grids
    # begin at 0; nearest is the floor, but the ceiling where Resize-10 samples down.
    if mode != "nearest":
        return _interpolate(call, data, resized)
    for resized_axis in resized:
        data = _nearest(call, data, resized_axis, numpy.ceil if resized_axis.scale < 1 else numpy.floor)
    return data


def _float_list(call: Call, scales: Array) -> list[float]:
    if scales.ndim != 1:
        call.fail(f"scales must have one value for each axis, its shape is {list(scales.shape)}")
    return [float(scale) for scale in scales]


def _check_scales(call: Call, scales: Sequence[float], expected: int) -> None:
    if len(scales) != expected:
        call.fail(f"scales has {len(scales)} values; there must be {expected}")
    if not all(scale > 0 and math.isfinite(scale) for scale in scales):
        call.fail(f"scales are {list(scales)}; they must be greater than 0")


@kernel("Resize", since=(11, 13, 18, 19))
def resize(
    call: Call, data: Array, roi: Array | None = None, scales: Array | None = None, sizes: Array | None = None
) -> Array:
    """Resize-11, 13, 18, 19: data interpolated at other sizes.

    Args:
        call: mode, coordinate_transformation_mode, nearest_mode, axes, antialias and more.
        data: [*shape], any dtype of the version.
        roi: Floats [2 * axes], for tf_crop_and_resize.
        scales: float32 [axes], or sizes.
        sizes: int64 [axes], or scales.

    Returns:
        The resized tensor, of the dtype of data.
    """
    attributes = call.attributes
    axes = distinct_axes(call, attributes.get("axes", range(data.ndim)), data.ndim)
    transformation = _transformation(call)
    mode = _one_of(call, "mode", ("nearest", "linear", "cubic"))
    crop = transformation == "tf_crop_and_resize"
    regions = _regions(call, roi, len(axes)) if crop else [(numpy.float32(0), numpy.float32(1))] * len(axes)
    dimensions = [data.shape[axis] for axis in axes]

    # An empty tensor gives no scales (by the text of Resize-11) and no sizes; exporters kept writing it after 11.
    scales = None if scales is None or scales.size == 0 else scales
    sizes = None if sizes is None or (sizes.size == 0 and axes) else sizes
    if (scales is None) == (sizes is None):
        call.fail("one of scales and sizes must be specified, and only one")
    if scales is not None:
        _check_scales(call, _float_list(call, scales), len(axes))
        factors = list(scales)
        lengths = [
            math.floor(numpy.float32(size) * (end - start) * factor)
            for size, (start, end), factor in zip(dimensions, regions, factors, strict=True)
        ]
    else:
        assert sizes is not None
        factors, lengths = _from_sizes(call, int_list(call, sizes, "sizes"), dimensions)

    stretched = sizes is not None and attributes.get("keep_aspect_ratio_policy", "stretch") == "stretch"
    resized = []
    call.reserve(data.size // max(math.prod(dimensions), 1) * math.prod(lengths))
    call.reserve(max(lengths, default=0))
    for axis, size, factor, length, region in zip(axes, dimensions, factors, lengths, regions, strict=True):
        if length < 0 or (length and not size):
            call.fail(f"axis {axis} has {size} elements, which cannot be resized to {length}")
        # "The target length, which can be a fractional number when it is calculated out of a scale factor."
        target = numpy.float32(length) if stretched else factor * numpy.float32(size)
        points = _original_points(transformation, length, size, factor, target, region)
        if crop and numpy.isnan(points).any():
            call.fail(f"the region from {region[0]} to {region[1]} is larger than float32 can measure")
        resized.append(ResizedAxis(axis, size, factor, points))

    if mode == "nearest":
        rounding = _ROUNDINGS[_one_of(call, "nearest_mode", tuple(_ROUNDINGS))]
        result = data
        for resized_axis in reversed(resized):
            result = _nearest(call, result, resized_axis, rounding)
    else:
        result = _interpolate(call, data, resized)
    return _extrapolated(result, resized, attributes["extrapolation_value"]) if crop else result


def _one_of(call: Call, attribute: str, values: Sequence[str]) -> str:
    value: str = call.attributes[attribute]
    if value not in values:
        call.fail(f"{attribute} is {value!r}; this version has {', '.join(values)}")
    return value


def _transformation(call: Call) -> str:
    names = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    if call.since_version >= 19:
        names.append("half_pixel_symmetric")
    if call.attributes["coordinate_transformation_mode"] == "tf_half_pixel_for_nn":
        if call.since_version > 11:
            # ONNX released a test of it with opset 13, exporters went on writing it, and runtimes take it.
            call.fail_if_strict("tf_half_pixel_for_nn was given up with version 13")
        names.append("tf_half_pixel_for_nn")
    return _one_of(call, "coordinate_transformation_mode", names)


def _regions(call: Call, roi: Array | None, count: int) -> list[tuple[numpy.float32, numpy.float32]]:
    if roi is None or roi.shape != (2 * count,):
        call.fail(f"tf_crop_and_resize needs roi with the starts and the ends of {count} axes")
    bounds = roi.astype(numpy.float32)
    if not numpy.isfinite(bounds).all():
        call.fail(f"roi is {bounds.tolist()}; a region has finite bounds")
    return list(zip(bounds[:count], bounds[count:], strict=True))


def _from_sizes(call: Call, sizes: Sequence[int], dimensions: Sequence[int]) -> tuple[list[numpy.float32], list[int]]:
    if len(sizes) != len(dimensions):
        call.fail(f"sizes has {len(sizes)} values; there must be {len(dimensions)}")
    policy = "stretch"
    if call.since_version >= 18:
        policy = _one_of(call, "keep_aspect_ratio_policy", ("stretch", "not_larger", "not_smaller"))
    if policy == "stretch":
        pairs = zip(sizes, dimensions, strict=True)
        return [numpy.float32(length) / numpy.float32(size or 1) for length, size in pairs], list(sizes)
    if 0 in dimensions:
        call.fail(f"keep_aspect_ratio_policy is {policy}, but a dimension of 0 has no aspect ratio")
    ratios = [Fraction(length, size) for length, size in zip(sizes, dimensions, strict=True)]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    lengths = [math.floor(ratio * size + Fraction(1, 2)) for size in dimensions]
    # The one scale also gives the coordinates, as in ONNX's reference and onnxruntime, not each rounded length's own.
    return [numpy.float32(ratio)] * len(dimensions), lengths


def _original_points(
    transformation: str,
    length: int,
    size: int,
    scale: numpy.float32,
    target: numpy.float32,
    region: tuple[numpy.float32, numpy.float32],
) -> Array:
    """x_original for each x_resized in [0, length)."""
    resized = numpy.arange(length, dtype=numpy.float32)
    half = numpy.float32(0.5)
    last = numpy.float32(size - 1)
    if transformation == "asymmetric":
        return resized / scale
    if transformation == "tf_half_pixel_for_nn":
        return (resized + half) / scale
    if transformation == "align_corners":
        # ONNX's tests take the fractional target for length_resized here, which issue 2462 calls intended; onnxruntime
        # takes the length.
        # Where lengths are equal, each point is the element of the same number, also beyond 4,096 of them, where the
        # product is no float; so it is in onnxruntime.
        return resized if length == 1 or target - 1 == last else resized * last / (target - 1)
    if transformation == "tf_crop_and_resize":
        start, end = region
        if length == size and start == 0 and end == 1:
            return resized
        if length > 1:
            return start * last + resized * (end - start) * last / numpy.float32(length - 1)
        return numpy.full(length, half * (start + end) * last)
    if transformation == "pytorch_half_pixel" and length == 1:
        return resized
    offset = numpy.float32(0)
    if transformation == "half_pixel_symmetric":
        offset = numpy.float32(size) / 2 * (1 - numpy.float32(length) / target)
    return offset + (resized + half) / scale - half


def _reserve(call: Call, data: Array, resized: ResizedAxis) -> None:
    """Announce what `data` becomes along one axis: more than the result where others shrink later."""
    call.reserve(max(data.size // max(resized.size, 1), 1) * resized.points.size)


def _nearest(call: Call, data: Array, resized: ResizedAxis, rounding: Callable[[Array], Array]) -> Array:
    if resized.is_identity:
        return data
    _reserve(call, data, resized)
    indices = rounding(resized.points).clip(0, max(resized.size - 1, 0))
    return data.take(indices.astype(numpy.int64), resized.axis)


def _interpolate(call: Call, data: Array, resized: Sequence[ResizedAxis]) -> Array:
    attributes = call.attributes
    result = working_copy(call, data)
    for axis in resized:
        if axis.is_identity:
            continue
        _reserve(call, result, axis)
        neighbours = taps(
            axis.points,
            axis.size,
            cubic_coefficient=attributes["cubic_coeff_a"] if attributes["mode"] == "cubic" else None,
            stretch=max(1.0, 1 / float(axis.scale)) if attributes.get("antialias", 0) else 1.0,
            exclude_outside=bool(attributes.get("exclude_outside", 0)),
        )
        result = apply_taps(result, axis.axis, neighbours)
    return cast_back(result, data.dtype)


def _extrapolated(data: Array, resized: Sequence[ResizedAxis], value: float) -> Array:
    result = data.copy()
    for axis in resized:
        result[(slice(None),) * axis.axis + (axis.outside,)] = numpy.asarray(value).astype(data.dtype)
    return result
