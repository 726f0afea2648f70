"""Upsample.

Upsample  7: height_scale and width_scale become a scale for every axis, bilinear is called linear · 9: scales attribute
          -> input · 10: deprecated; Resize does the same

The texts give no coordinates. ONNX's tests and onnxruntime let both grids begin at 0; nearest is the floor.
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Step, in_turn, unchanged
from opsetlift.rulebook.site import Site, pop_attribute
from opsetlift.specification.dtypes import tensor_type
from opsetlift.specification.wider_dtypes import exact_wider_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.attributes import write_the_mode
from opsetlift_rules.helpers.coordinates import Interpolation
from opsetlift_rules.helpers.interpolation import Resampler, resampling
from opsetlift_rules.helpers.resampled_axes import axes_by_scales

_FIRST_TAKES = ("bool", "int32", "int64", "float16", "float", "double")
_MODES = {"bilinear": "linear", "linear": "bilinear"}


def write_scales_for_every_axis(site: Site) -> None:
    """Write height_scale and width_scale of Upsample-1 as the scales [1, 1, height, width] of Upsample-7."""
    height, width = (pop_attribute(site, f"{side}_scale") for side in ("height", "width"))
    site.set_attribute("scales", [1.0, 1.0, height, width])
    _rename_mode(site)


def _rename_mode(site: Site) -> None:
    mode = site.attribute("mode", "nearest")
    if mode in _MODES:
        site.set_attribute("mode", _MODES[mode])


def write_height_and_width_scale(site: Site) -> None:
    """Write the scales of Upsample-7 as height_scale and width_scale of Upsample-1, which takes images only.

    Other scales and types are decomposed.
    """
    scales = site.attribute("scales")
    is_image = len(scales) == 4 and list(scales[:2]) == [1.0, 1.0]
    if is_image and site.dtype(0) in _FIRST_TAKES:
        site.remove_attribute("scales")
        site.set_attribute("height_scale", scales[2])
        site.set_attribute("width_scale", scales[3])
        _rename_mode(site)
        return
    if is_image and site.attribute("mode", "nearest") == "nearest":
        compute_dtype = exact_wider_dtype(site.dtype(0), [tensor_type(dtype) for dtype in _FIRST_TAKES], site.opset)
        if compute_dtype is not None:
            op = site.op
            wide = op.Upsample(
                op.Cast(site.input(0), to=compute_dtype), height_scale=scales[2], width_scale=scales[3], mode="nearest"
            )
            site.replace(op.Cast(wide, to=site.dtype(0)))
            return
    _resample(site, site.constant(numpy.array(scales, numpy.float32), hint="scales"))


def move_scales_to_an_input(site: Site) -> None:
    """Move the scales of Upsample-7 to an input of Upsample-9."""
    site.set_input(
        len(site.inputs), site.constant(numpy.array(pop_attribute(site, "scales"), numpy.float32), hint="scales")
    )


def move_scales_to_an_attribute(site: Site) -> None:
    """Move the scales of Upsample-9 to the attribute of Upsample-7; decompose scales computed at run time."""
    scales = site.constant_value(1)
    if scales is None:
        _resample(site, site.input(1))
        return
    site.remove_input(1)
    site.set_attribute("scales", [float(scale) for scale in scales])


def _resample(site: Site, scales: str) -> None:
    mode = site.attribute("mode", "nearest")
    if mode not in ("nearest", "linear"):
        site.refuse(Why.INVALID_MODEL, f"the specification defines no mode {mode!r}")
    resampler = Resampler(site, Interpolation(mode, "asymmetric", rounding="floor"))
    rank = site.rank(0, because="each axis is resized separately")
    resampler.run(axes_by_scales(resampler, range(rank), scales))


def replace_with_resize(site: Site) -> None:
    """Replace Upsample-9, deprecated at 10, with Resize-10."""
    site.become("Resize")


def decompose_or_pass_scales_through_a_node(site: Site) -> None:
    """Decompose what interpolates, or whose scales are no whole numbers; else compute the scales by an Identity.

    For runtimes that interpolate otherwise, take whole numbers only, or cannot read the scales of an initializer.
    """
    is_input = site.target >= _SCALES_AS_INPUT
    scales = site.constant_value(1) if is_input else numpy.array(site.attribute("scales"), numpy.float32)
    if scales is not None and (site.attribute("mode", "nearest") != "nearest" or (scales % 1 != 0).any()):
        site.rounds()
        _resample(site, site.constant(scales, hint="scales"))
    elif is_input:
        site.set_input(1, site.op.Identity(site.input(1)))


_SCALES_AS_INPUT = 9
_WRITTEN_OUT = "floats are interpolated, other than in images of a dtype of opset 1"

_WRITE_HEIGHT_AND_WIDTH_SCALE = resampling(write_height_and_width_scale, when=_WRITTEN_OUT, divides=False)
_MOVE_SCALES_TO_AN_ATTRIBUTE = resampling(
    move_scales_to_an_attribute, when="floats are interpolated by scales computed at run time", divides=False
)
_DECOMPOSE_OR_PASS_SCALES = resampling(
    decompose_or_pass_scales_through_a_node, when="floats are interpolated", divides=False
)
_DEPRECATED = "10 deprecates the operator; a remaining node means the same"

STEPS = [
    Step("Upsample", 1, 7, up=write_scales_for_every_axis, down=_WRITE_HEIGHT_AND_WIDTH_SCALE),
    Step("Upsample", 7, 9, up=move_scales_to_an_input, down=_MOVE_SCALES_TO_AN_ATTRIBUTE),
    Step("Upsample", 9, 10, up=replace_with_resize, down=unchanged, because=_DEPRECATED),
]

FALLBACKS = [
    Fallback("Upsample", in_turn(write_the_mode, _DECOMPOSE_OR_PASS_SCALES)),
]
