"""Resize.

Resize  10: introduced, scales below 1 · 11: +coordinate_transformation_mode (which was asymmetric), cubic,
        nearest_mode, roi, sizes, crops · 13: scales or sizes by omission, -tf_half_pixel_for_nn, +bfloat16 ·
        18: +antialias, axes, keep_aspect_ratio_policy · 19: +half_pixel_symmetric
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, in_turn, unchanged
from opsetlift.rulebook.site import Array, Operators, Site, has_attribute, known_shape, pop_attribute
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.attributes import write_the_mode
from opsetlift_rules.helpers.axes import counted_from_front
from opsetlift_rules.helpers.coordinates import Interpolation
from opsetlift_rules.helpers.interpolation import ULPS, Resampler, resampling
from opsetlift_rules.helpers.resampled_axes import axes_by_ratio, axes_by_scales, axes_by_sizes, regions_of

ASYMMETRIC = "asymmetric"
CROP = "tf_crop_and_resize"

_SCALES_ONLY = 10
"""The version of Resize whose inputs are the data and the scales."""


def add_the_coordinate_mode(site: Site) -> None:
    """Write asymmetric, the only coordinate mode of Resize-10, for Resize-11.

    Where 10 samples down, nearest is the ceiling, else the floor, as in onnxruntime and ONNX's tests. A node that does
    both gets a Resize for each.
    """
    scales = site.input(1)
    site.set_attribute("coordinate_transformation_mode", ASYMMETRIC)
    no_region = site.constant(numpy.zeros(0, numpy.float32), hint="roi")
    if site.attribute("mode", "nearest") != "nearest":
        site.set_input(1, no_region)
        site.set_input(len(site.inputs), scales)
        return
    known = site.constant_value(scales)
    if known is not None and ((known >= 1).all() or (known <= 1).all()):
        site.set_attribute("nearest_mode", "floor" if (known >= 1).all() else "ceil")
        site.set_input(1, no_region)
        site.set_input(len(site.inputs), scales)
        return
    one = site.constant(1, "float", "one")
    op = site.op_at(opsets.BFLOAT16)
    up, down = site.folded(lambda: op.Max(scales, one)), site.folded(lambda: op.Min(scales, one))
    enlarged = site.op.copy(site.input(0), no_region, up, nearest_mode="floor")
    site.replace(site.op.copy(enlarged, no_region, down, nearest_mode="ceil"))


def convert_the_coordinate_mode(site: Site) -> None:
    """Write Resize-11 for Resize-10, whose only coordinate mode is asymmetric; decompose other interpolation."""
    _leave_out_empty_inputs(site)
    scales = _scales_from_origin(site)
    if scales is None:
        resample(site)
        return
    for name in ("coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a", "exclude_outside"):
        site.remove_attribute(name)
    site.remove_attribute("extrapolation_value")
    for position in (3, 2):
        site.remove_input(position)
    site.set_input(1, scales)


def _scales_from_origin(site: Site) -> str | None:
    """The scales by which Resize-10 does the same; None where it has no such."""
    interpolation = _interpolation(site)
    scales = _constant_scales(site, interpolation)
    if (
        interpolation.transformation == ASYMMETRIC
        and interpolation.mode == "linear"
        and not interpolation.excludes_outside
    ):
        return site.input(2) or (None if scales is None else site.constant(scales, hint="scales"))
    if scales is None or interpolation.mode != "nearest":
        return None
    if interpolation.transformation == ASYMMETRIC:
        fits = bool((scales >= 1).all()) if interpolation.rounding == "floor" else bool((scales <= 1).all())
        fits &= interpolation.rounding in ("floor", "ceil")
    else:
        # Whole factors: each element's copies have their centers in it, so that it is the nearest of all of them.
        fits = (
            interpolation.transformation in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")
            and interpolation.rounding.startswith("round_prefer")
            and bool((scales == numpy.rint(scales)).all())
        )
    if not fits:
        return None
    return site.input(2) or site.constant(scales, hint="scales")


def _constant_scales(site: Site, interpolation: Interpolation) -> Array | None:
    """The scales, or those by which known dimensions reach known sizes, in every reader, from the same places."""
    if site.input(2):
        scales = site.constant_value(2)
        return None if scales is None else scales.astype(numpy.float32)
    sizes, shape = site.constant_value(3), known_shape(site, 0)
    if sizes is None or shape is None or 0 in shape or sizes.size != len(shape):
        return None
    scales = scales_to_reach(shape, sizes.tolist())
    if scales is None:
        return None
    quotients = sizes.astype(numpy.float32) / numpy.array(shape, numpy.float32)
    for length, quotient, scale in zip(sizes.tolist(), quotients, scales, strict=True):
        if quotient != scale and not (
            interpolation.mode == "nearest" and _picks_alike(length, quotient, scale, interpolation.rounding)
        ):
            return None
    return scales


def scales_to_reach(dims: Sequence[int], sizes: Sequence[int]) -> Array | None:
    """Find the float32 scales nearest to sizes / dims that give the sizes in every implementation.

    The length is floor(dimension * scale), which onnxruntime computes in float32 and onnx's inference in double.
    """
    before, after = numpy.array(dims, numpy.int64), numpy.array(sizes, numpy.int64)
    scales = after.astype(numpy.float32) / before.astype(numpy.float32)
    is_short = numpy.floor(before * scales.astype(numpy.float64)) < after
    scales = numpy.where(is_short, numpy.nextafter(scales, numpy.float32(numpy.inf)), scales)
    single = numpy.floor(before.astype(numpy.float32) * scales)
    double = numpy.floor(before * scales.astype(numpy.float64))
    return scales if bool(((single == after) & (double == after) & (after > 0)).all()) else None


def _picks_alike(length: int, one: numpy.float32, other: numpy.float32, rounding: str) -> bool:
    """Whether two scales lead each element of the result to the same element of the input."""
    if rounding not in ("floor", "ceil"):
        return False
    places = numpy.arange(length, dtype=numpy.float32)
    round_off = numpy.floor if rounding == "floor" else numpy.ceil
    return bool((round_off(places / one) == round_off(places / other)).all())


def _leave_out_empty_inputs(site: Site) -> None:
    """At 11 one of scales and sizes is empty; some exporters kept writing that."""
    for position in (3, 2):
        value = site.constant_value(position) if site.input(position) else None
        if value is not None and value.size == 0:
            site.set_input(position, "")
    if site.input(2) and site.input(3):
        # Text of 11: sizes "may only be set if 'scales' is set to an empty tensor".
        site.set_input(2, "")


def omit_empty_inputs(site: Site) -> None:
    """Omit empty roi, scales or sizes of Resize-11; replace tf_half_pixel_for_nn, which Resize-13 lacks."""
    transformation = site.attribute("coordinate_transformation_mode", "half_pixel")
    _leave_out_empty_inputs(site)
    roi = site.constant_value(1) if site.input(1) else None
    if roi is not None and roi.size == 0:
        site.set_input(1, "")
    if transformation != "tf_half_pixel_for_nn":
        return
    # Its points are half a pixel beyond those of half_pixel, so that rounding replaces truncation.
    same = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}
    rounding = site.attribute("nearest_mode", "round_prefer_floor")
    if site.attribute("mode", "nearest") == "nearest" and rounding in same:
        site.set_attribute("coordinate_transformation_mode", "half_pixel")
        site.set_attribute("nearest_mode", same[rounding])
        return
    resample(site)


def write_absent_inputs_as_empty(site: Site) -> None:
    """Write absent roi and scales of Resize-13 as empty tensors, as Resize-11 requires."""
    empty = site.constant(numpy.zeros(0, numpy.float32), hint="empty")
    _leave_out_empty_inputs(site)
    names = [site.input(1) or empty, site.input(2) or empty, *filter(None, [site.input(3)])]
    for position, name in enumerate(names, start=1):
        if site.input(position) != name:
            site.set_input(position, name)


def expand_axes(site: Site) -> None:
    """Write scales, sizes and roi of Resize-18 for all axes: Resize-13 has no axes.

    A node with antialias or keep_aspect_ratio_policy is decomposed.
    """
    _leave_out_empty_inputs(site)
    policy = site.attribute("keep_aspect_ratio_policy", "stretch")
    scales = site.constant_value(2) if site.input(2) else None
    if (policy != "stretch" and site.input(3)) or (
        _interpolation(site).antialiases and (scales is None or not (scales >= 1).all())
    ):
        resample(site)
        return
    site.remove_attribute("keep_aspect_ratio_policy")
    site.remove_attribute("antialias")
    if not has_attribute(site, "axes"):
        return
    rank = site.rank(0, because="below opset 18 scales and sizes cover every axis")
    axes = counted_from_front(site, pop_attribute(site, "axes"), rank)
    places = [axes.index(axis) if axis in axes else len(axes) for axis in range(rank)]
    if axes != sorted(axes) and site.attribute("mode", "nearest") != "nearest":
        # The axes are averaged in another order.
        site.rounds(ULPS)
    op = site.op_at(opsets.BFLOAT16)
    if site.input(1):
        dtype = site.dtype(1)
        whole = site.constant(
            numpy.array([0, 1]).astype({"double": "f8", "float16": "f2"}.get(dtype, "f4")), hint="whole"
        )
        starts = [place if place < len(axes) else 2 * len(axes) for place in places]
        ends = [place + len(axes) if place < len(axes) else 2 * len(axes) + 1 for place in places]
        _spread(site, op, 1, whole, starts + ends)
    if site.input(2):
        _spread(site, op, 2, site.constant(numpy.ones(1, numpy.float32), hint="one"), places)
    if site.input(3):
        own = [len(axes) + axis if place == len(axes) else place for axis, place in enumerate(places)]
        _spread(site, op, 3, site.folded(lambda: op.Shape(site.input(0))), own)


def _spread(site: Site, op: Operators, position: int, others: str, places: Sequence[int]) -> None:
    values, indices = site.input(position), site.constant(places, "int64", "places")
    site.set_input(position, site.folded(lambda: op.Gather(op.Concat(values, others, axis=0), indices), "spread"))


def replace_half_pixel_symmetric(site: Site) -> None:
    """Replace half_pixel_symmetric of Resize-19, which 18 lacks, with half_pixel if no length is fractional."""
    if site.attribute("coordinate_transformation_mode", "half_pixel") != "half_pixel_symmetric":
        return
    _leave_out_empty_inputs(site)
    if not _cuts_off(site):
        site.set_attribute("coordinate_transformation_mode", "half_pixel")
        return
    resample(site)


def _cuts_off(site: Site) -> bool:
    if not site.input(2):
        return bool(site.attribute("keep_aspect_ratio_policy", "stretch") != "stretch")
    scales, shape = site.constant_value(2), site.shape(0)
    if scales is None or shape is None:
        return True
    axes = counted_from_front(site, site.attribute("axes", list(range(len(shape)))), len(shape))
    for axis, scale in zip(axes, scales.astype(numpy.float32).tolist(), strict=True):
        dim = shape[axis]
        if scale != int(scale) and not (isinstance(dim, int) and (numpy.float32(dim) * numpy.float32(scale)) % 1 == 0):
            return True
    return False


def replace_with_upsample_or_decompose(site: Site) -> None:
    """Replace Resize-10 with Upsample if all scales are at least 1; decompose it otherwise."""
    scales = site.constant_value(1)
    if scales is not None and (scales >= 1).all():
        site.become("Upsample")
        return
    resample(site)


def _interpolation(site: Site) -> Interpolation:
    if site.transition.source_version == _SCALES_ONLY:
        return Interpolation(site.attribute("mode", "nearest"), ASYMMETRIC, rounding="by direction")
    return Interpolation(
        mode=site.attribute("mode", "nearest"),
        transformation=site.attribute("coordinate_transformation_mode", "half_pixel"),
        rounding=site.attribute("nearest_mode", "round_prefer_floor"),
        cubic_coefficient=site.attribute("cubic_coeff_a", -0.75),
        excludes_outside=bool(site.attribute("exclude_outside", 0)),
        antialiases=bool(site.attribute("antialias", 0)),
        extrapolation_value=site.attribute("extrapolation_value", 0.0),
    )


def resample(site: Site) -> None:
    """Decompose a Resize of any version into Gather and weighted sums.

    X [*shape] of any dtype where the mode is nearest, else of numbers; roi, scales and sizes as in the node's version.
    """
    _leave_out_empty_inputs(site)
    interpolation = _interpolation(site)
    resampler = Resampler(site, interpolation)
    rank = site.rank(0, because="each axis is resized separately")
    axes = counted_from_front(site, site.attribute("axes", list(range(rank))), rank)
    regions = (
        regions_of(resampler, site.input(1), len(axes)) if interpolation.transformation == CROP else [None] * len(axes)
    )
    scales = site.input(1) if site.transition.source_version == _SCALES_ONLY else site.input(2)
    policy = site.attribute("keep_aspect_ratio_policy", "stretch")
    if scales:
        resampler.run(axes_by_scales(resampler, axes, scales, regions))
    elif policy == "stretch":
        resampler.run(axes_by_sizes(resampler, axes, site.input(3), regions))
    else:
        resampler.run(axes_by_ratio(resampler, axes, site.input(3), regions, policy))


def place_whole_scales_at_corners(site: Site) -> None:
    """Write the nearest element by half pixels as the one before by corners, the same where scales are whole numbers.

    Element i of the result has the centre (i + 1/2) / k, which is within element floor(i / k), and never between two.
    """
    if site.transition.source_version == _SCALES_ONLY or site.attribute("mode", "nearest") != "nearest":
        return
    scales = site.constant_value(2) if site.input(2) else None
    is_half_pixel = site.attribute("coordinate_transformation_mode", "half_pixel") in _HALF_PIXELS
    is_rounded = site.attribute("nearest_mode", "round_prefer_floor").startswith("round_prefer")
    if scales is None or not scales.size or not is_half_pixel or not is_rounded:
        return
    if ((scales >= 1) & (scales == scales.round())).all():
        kept = [name or None for name in site.inputs]
        site.replace(site.op.copy(*kept, coordinate_transformation_mode=ASYMMETRIC, nearest_mode="floor"))


_HALF_PIXELS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")

_CONVERT_THE_COORDINATE_MODE = resampling(
    convert_the_coordinate_mode, when="floats are interpolated, other than by asymmetric scales"
)
_OMIT_EMPTY_INPUTS = resampling(omit_empty_inputs, when="floats are interpolated by tf_half_pixel_for_nn")
_EXPAND_AXES = resampling(
    expand_axes,
    when="floats are interpolated with antialiasing, with a kept aspect ratio, or along axes in another order",
)
_OFF_BY_DEFAULT = "what 18 adds is off by default: no antialiasing, all axes, sizes as given"
_PIXELS_ARE_HALF_PIXELS = resampling(
    replace_half_pixel_symmetric, when="floats are interpolated by half_pixel_symmetric to fractional lengths"
)
_ADDED_MODE = "19 adds a mode; the rest differs in markup only"

STEPS = [
    Step("Resize", 10, 11, up=add_the_coordinate_mode, down=_CONVERT_THE_COORDINATE_MODE),
    Step("Resize", 11, 13, up=_OMIT_EMPTY_INPUTS, down=write_absent_inputs_as_empty),
    Step("Resize", 13, 18, up=unchanged, down=_EXPAND_AXES, because=_OFF_BY_DEFAULT),
    Step("Resize", 18, 19, up=unchanged, down=_PIXELS_ARE_HALF_PIXELS, because=_ADDED_MODE),
]

_REPLACE_WITH_UPSAMPLE_OR_DECOMPOSE = resampling(
    replace_with_upsample_or_decompose,
    when="floats are interpolated, other than by constant scales of at least 1",
    divides=False,
)

INTRODUCTIONS = [
    Introduction("Resize", 10, down=_REPLACE_WITH_UPSAMPLE_OR_DECOMPOSE),
]

FALLBACKS = [
    Fallback("Resize", in_turn(write_the_mode, place_whole_scales_at_corners, resampling(resample))),
]
