"""What the texts of the operators that resample say, clause by clause and version by version."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy
import pytest
from hypothesis import given, settings

from tests.evaluator import resampling_strategies
from tests.evaluator.one_node import assert_gives, assert_rejected, floats, ints, node, strings
from tests.evaluator.onnxruntime_judge import OneNode, evaluate

IMAGE = numpy.arange(1, 9, dtype=numpy.float32).reshape(1, 1, 2, 4)

EXACT: dict[str, tuple[OneNode, Any]] = {
    "Upsample-1 scales height and width": (
        node("Upsample", 1, floats([[[1, 2]]]), height_scale=2.0, width_scale=1.5),
        floats([[[1, 1, 2], [1, 1, 2]]]),
    ),
    "Upsample-7 scales every axis": (node("Upsample", 7, floats([1, 2]), scales=[1.0, 2.0]), floats([1, 1, 2, 2])),
    "Upsample-9 interpolates from the first element on": (
        node("Upsample", 9, floats(1, 3), floats(2), mode="linear"),
        floats(1, 2, 3, 3),
    ),
    "Resize-10 takes the ceiling where it samples down": (
        node("Resize", 10, floats(1, 2, 3, 4), floats(0.6)),
        floats(1, 3),
    ),
    "strings can be repeated": (node("Resize", 11, strings("a", "b"), floats(), floats(2)), strings(*"aabb")),
    "Resize-11 puts the centers of both grids on each other": (
        node("Resize", 11, floats(1, 2), floats(), floats(2), mode="linear"),
        floats(1, 1.25, 1.75, 2),
    ),
    "asymmetric lets both grids begin at 0": (
        node("Resize", 13, floats(1, 3), None, floats(2), mode="linear", coordinate_transformation_mode="asymmetric"),
        floats(1, 2, 3, 3),
    ),
    "align_corners keeps first and last": (
        node(
            "Resize",
            13,
            floats(1, 4),
            None,
            None,
            ints(4),
            mode="linear",
            coordinate_transformation_mode="align_corners",
        ),
        floats(1, 2, 3, 4),
    ),
    "pytorch_half_pixel takes the first for one element": (
        node("Resize", 13, floats(1, 2, 3), None, None, ints(1), coordinate_transformation_mode="pytorch_half_pixel"),
        floats(1),
    ),
    "tf_half_pixel_for_nn lies half a pixel behind": (
        node(
            "Resize",
            11,
            floats(1, 2, 3),
            floats(),
            floats(1),
            nearest_mode="round_prefer_ceil",
            coordinate_transformation_mode="tf_half_pixel_for_nn",
        ),
        floats(2, 3, 3),
    ),
    "what lies outside a crop is extrapolated": (
        node(
            "Resize",
            13,
            floats(1, 2),
            floats(0, 2),
            None,
            ints(3),
            mode="linear",
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=7.0,
        ),
        floats(1, 2, 7),
    ),
    "the roi counts for the length": (
        node(
            "Resize",
            13,
            floats(1, 2, 3, 4),
            floats(0, 0.5),
            floats(1),
            coordinate_transformation_mode="tf_crop_and_resize",
        ),
        floats(1, 2),
    ),
    "round_prefer_floor rounds halves down": (
        node("Resize", 11, floats(1, 2, 3, 4), floats(), floats(0.5), nearest_mode="round_prefer_floor"),
        floats(1, 3),
    ),
    "round_prefer_ceil rounds halves up": (
        node("Resize", 11, floats(1, 2, 3, 4), floats(), floats(0.5), nearest_mode="round_prefer_ceil"),
        floats(2, 4),
    ),
    "axes that are not named stay": (
        node("Resize", 18, floats([1, 2], [3, 4]), None, floats(2), axes=[-1]),
        floats([1, 1, 2, 2], [3, 3, 4, 4]),
    ),
    "a kept ratio is not larger than any size": (
        node("Resize", 18, IMAGE, None, None, ints(2, 2), axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
        floats([[[1, 3]]]),
    ),
    "a kept ratio rounds halves up": (
        node("Resize", 18, IMAGE[..., :1], None, None, ints(5, 3), axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
        floats([[[1], [1], [1], [5], [5]]]).repeat(3, axis=3),
    ),
    "an antialiasing filter is as wide as the step": (
        node("Resize", 18, floats(0, 0, 8, 0), None, floats(0.5), mode="linear", antialias=1),
        floats(1, 3),
    ),
    "half_pixel_symmetric centers what a floor cut off": (
        node(
            "Resize",
            19,
            floats(1, 2, 3, 4, 5),
            None,
            floats(0.5),
            mode="linear",
            coordinate_transformation_mode="half_pixel_symmetric",
        ),
        floats(2, 4),
    ),
    "integers truncate": (
        node("Resize", 13, numpy.array([0, 255], "uint8"), None, floats(2), mode="linear"),
        numpy.array([0, 63, 191, 255], "uint8"),
    ),
    "GridSample rounds halves to even": (
        node(
            "GridSample",
            20,
            floats([[1, 2, 3]]),
            floats([[-0.5], [0.5]]).reshape(1, 2, 1),
            mode="nearest",
            align_corners=1,
        ),
        floats([[1, 3]]),
    ),
    "GridSample lists the innermost coordinate first": (
        node("GridSample", 16, floats([[[1, 2], [3, 4]]]).reshape(1, 1, 2, 2), floats([[[1, -1]]]), align_corners=1),
        floats([[[2]]]),
    ),
    "what lies outside the image counts as 0": (
        node("GridSample", 20, floats([[4, 8]]), floats([[-1], [3]]).reshape(1, 2, 1)),
        floats([[2, 0]]),
    ),
    "the border goes on outside": (
        node("GridSample", 20, floats([[4, 8]]), floats([[-1], [3]]).reshape(1, 2, 1), padding_mode="border"),
        floats([[4, 8]]),
    ),
    "far points are reflected until they are inside": (
        node(
            "GridSample",
            20,
            floats([[1, 2, 3]]),
            floats([[-2.5], [4]]).reshape(1, 2, 1),
            padding_mode="reflection",
            align_corners=1,
        ),
        floats([[2.5, 2]]),
    ),
    "strings are sampled in mode nearest": (
        node("GridSample", 20, strings([["a", "b"]]), floats([[0.5], [9]]).reshape(1, 2, 1), mode="nearest"),
        strings([["b", ""]]),
    ),
    "NaN has no neighbours": (
        node("GridSample", 20, floats([[1, 2]]), floats([[numpy.nan]]), mode="linear"),
        floats([[numpy.nan]]),
    ),
    "AffineGrid touches the outer edges": (
        node("AffineGrid", 20, floats([[1, 0, 0], [0, 1, 0]]), ints(1, 1, 1, 2)),
        floats([[[-0.5, 0], [0.5, 0]]]),
    ),
    "AffineGrid aligned puts the corners' centers on the edges": (
        node("AffineGrid", 20, floats([[1, 0, 0], [0, 1, 0]]), ints(1, 1, 2, 2), align_corners=1),
        floats([[[-1, -1], [1, -1]], [[-1, 1], [1, 1]]]),
    ),
    "RoiAlign-10 omits the shift by half a pixel": (
        node("RoiAlign", 10, IMAGE, floats([0, 0, 2, 1]), ints(0), sampling_ratio=1),
        floats([[[4]]]),
    ),
    "RoiAlign-16 shifts by half a pixel": (
        node("RoiAlign", 16, IMAGE, floats([0, 0, 2, 1]), ints(0), sampling_ratio=1),
        floats([[[1.5]]]),
    ),
    "Col2Im adds what overlaps": (
        node("Col2Im", 18, numpy.ones((1, 4, 4), "float32"), ints(3, 3), ints(2, 2)),
        floats([[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]),
    ),
}

REJECTED: dict[str, tuple[OneNode, str]] = {
    "Upsample below scale 1": (node("Upsample", 9, floats(1, 2), floats(0.5)), "greater than or equal to 1"),
    "Upsample-1 of a vector": (node("Upsample", 1, floats(1), height_scale=1.0, width_scale=1.0), "[N, C, H, W]"),
    "Upsample-7 bilinear": (node("Upsample", 7, floats(1), scales=[1.0], mode="bilinear"), "nearest and linear"),
    "Resize-10 cubic": (node("Resize", 10, floats(1), floats(1), mode="cubic"), "nearest and linear"),
    "Resize by a negative scale": (node("Resize", 10, floats(1), floats(-1)), "greater than 0"),
    "too few scales": (node("Resize", 13, floats([1]), None, floats(1)), "there must be 2"),
    "scales and sizes": (node("Resize", 13, floats(1), None, floats(1), ints(1)), "only one"),
    "neither scales nor sizes": (node("Resize", 11, floats(1), floats(), floats()), "only one"),
    "Resize-18 symmetric": (
        node("Resize", 18, floats(1), None, floats(1), coordinate_transformation_mode="half_pixel_symmetric"),
        "this version has half_pixel",
    ),
    "scales that are no list": (node("Resize", 10, floats(1), numpy.float32(2).reshape(())), "one value for each axis"),
    "a region without end": (
        node("RoiAlign", 16, IMAGE, floats([0, 0, numpy.inf, 1]), ints(0)),
        "infinite coordinates",
    ),
    "a crop without a roi": (
        node("Resize", 13, floats(1), None, floats(1), coordinate_transformation_mode="tf_crop_and_resize"),
        "needs roi",
    ),
    "one axis twice": (node("Resize", 18, floats(1), None, floats(1, 1), axes=[0, -1]), "repeated"),
    "an average of strings": (
        node("Resize", 11, strings("a"), floats(), floats(2), mode="linear"),
        "no weighted average",
    ),
    "GridSample-16 of volumes": (
        node("GridSample", 16, numpy.ones((1, 1, 1, 1, 1), "float32"), numpy.ones((1, 1, 1, 1, 3), "float32")),
        "spatial axes",
    ),
    "GridSample-16 by a mode of version 20": (
        node("GridSample", 16, IMAGE, numpy.zeros((1, 1, 1, 2), "float32"), mode="linear"),
        "this version has bilinear",
    ),
    "GridSample-20 by a mode of version 16": (
        node("GridSample", 20, IMAGE, numpy.zeros((1, 1, 1, 2), "float32"), mode="bicubic"),
        "this version has linear",
    ),
    "a grid of another batch": (node("GridSample", 20, IMAGE, numpy.zeros((2, 1, 1, 2), "float32")), "it must be"),
    "AffineGrid with a matrix of another rank": (
        node("AffineGrid", 20, floats([[1, 0], [0, 1]]), ints(1, 1, 2, 2)),
        "size asks for [1, 2, 3]",
    ),
    "AffineGrid of a negative size": (
        node("AffineGrid", 20, floats([[1, 0, 0], [0, 1, 0]]), ints(1, 1, 2, -2)),
        "cannot be negative",
    ),
    "RoiAlign of an image that is not there": (
        node("RoiAlign", 16, IMAGE, floats([0, 0, 1, 1]), ints(1)),
        "not in [0, 0]",
    ),
    "Col2Im with blocks of another number": (
        node("Col2Im", 18, numpy.ones((1, 4, 3), "float32"), ints(3, 3), ints(2, 2)),
        "it must be [N, C * 4, 4]",
    ),
    "DeformConv with an offset of another shape": (
        node("DeformConv", 19, IMAGE, IMAGE[..., :2, :2], numpy.zeros((1, 8, 1, 1), "float32")),
        "offset has the shape",
    ),
}


@pytest.mark.parametrize("clause", EXACT)
def test_result_by_the_text(clause: str) -> None:
    case, expected = EXACT[clause]
    assert_gives(case, expected, rtol=1e-6)


@pytest.mark.parametrize("what", REJECTED)
def test_rejected_by_the_text(what: str) -> None:
    case, clause = REJECTED[what]
    assert_rejected(case, clause)
    assert_rejected(case, clause, strict=False)


@pytest.mark.parametrize("version", [13, 18, 19])
def test_the_mode_that_13_gave_up_is_executed_where_not_strict(version: int) -> None:
    case = node(
        "Resize",
        version,
        floats(1, 2, 3),
        None,
        floats(1),
        nearest_mode="round_prefer_ceil",
        coordinate_transformation_mode="tf_half_pixel_for_nn",
    )
    assert_rejected(case, "given up with version 13")
    assert_gives(case, floats(2, 3, 3), strict=False)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("antialias", [0, 1])
@pytest.mark.parametrize("exclude_outside", [0, 1])
def test_averages_of_a_constant_are_the_constant(mode: str, antialias: int, exclude_outside: int) -> None:
    data = numpy.full((1, 1, 5, 7), 3, numpy.float32)
    case = node(
        "Resize",
        19,
        data,
        None,
        None,
        ints(1, 1, 3, 11),
        mode=mode,
        antialias=antialias,
        exclude_outside=exclude_outside,
    )
    assert_gives(case, numpy.full((1, 1, 3, 11), 3, numpy.float32), rtol=1e-6)


def test_cubic_reproduces_a_line_between_its_ends() -> None:
    line = numpy.arange(8, dtype=numpy.float32)
    case = node("Resize", 13, line, None, None, ints(16), mode="cubic", cubic_coeff_a=-0.5)
    inner = evaluate(case)[0][4:-4]
    numpy.testing.assert_allclose(inner, (numpy.arange(16)[4:-4] + 0.5) / 2 - 0.5, rtol=1e-6)


def test_grid_sample_at_the_centers_reproduces_the_image() -> None:
    data = numpy.arange(24, dtype=numpy.float32).reshape(1, 1, 2, 3, 4)
    theta = numpy.eye(3, 4, dtype=numpy.float32)[None]
    (grid,) = evaluate(node("AffineGrid", 20, theta, ints(1, 1, 2, 3, 4)))
    for mode in ("linear", "nearest", "cubic"):
        assert_gives(node("GridSample", 20, data, grid, mode=mode), data, rtol=1e-5)


def test_deformable_convolution_without_offsets_is_a_convolution() -> None:
    generator = numpy.random.default_rng(0)
    data = generator.standard_normal((2, 4, 5, 6)).astype(numpy.float32)
    weight = generator.standard_normal((6, 2, 3, 2)).astype(numpy.float32)
    geometry: dict[str, Any] = {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 1, 2], "group": 2}
    (expected,) = evaluate(node("Conv", 11, data, weight, **geometry))
    offset = numpy.zeros((2, 2 * 6, *expected.shape[2:]), numpy.float32)
    assert_gives(node("DeformConv", 19, data, weight, offset, **geometry), expected, rtol=1e-5)


@settings(max_examples=40, derandomize=True, database=None, deadline=None)
@given(resampling_strategies.col2im(18))
def test_col2im_adds_every_element_to_its_pixel(case: OneNode) -> None:
    data, image, block = case.inputs
    strides, dilations, pads = (case.attributes[name] for name in ("strides", "dilations", "pads"))
    rank, taps = len(image), math.prod(block)
    counts = [
        (image[a] + pads[a] + pads[a + rank] - dilations[a] * (block[a] - 1) - 1) // strides[a] + 1 for a in range(rank)
    ]
    expected = numpy.zeros((data.shape[0], data.shape[1] // taps, *image), numpy.float32)
    for tap, within in enumerate(itertools.product(*map(range, block))):
        for number, at in enumerate(itertools.product(*map(range, counts))):
            pixel = [at[a] * strides[a] + within[a] * dilations[a] - pads[a] for a in range(rank)]
            if all(0 <= place < size for place, size in zip(pixel, image, strict=True)):
                expected[(slice(None), slice(None), *pixel)] += data[:, tap::taps, number]
    numpy.testing.assert_array_equal(evaluate(case)[0], expected)


@pytest.mark.parametrize(("mode", "expected"), [("avg", -9 / 2.0**32), ("max", 0)])
def test_a_region_costs_what_it_has_of_the_image(mode: str, expected: float) -> None:
    """Three of 65,536 places on each axis are in the image, or at most one pixel outside."""
    region = floats([-32768, -32768, 32768, 32768])
    case = node("RoiAlign", 10, numpy.full((1, 1, 2, 2), -1, numpy.float32), region, ints(0), mode=mode)
    assert_gives(case, numpy.full((1, 1, 1, 1), expected, numpy.float32))


def test_a_region_without_end_is_not_sampled() -> None:
    assert_rejected(node("RoiAlign", 10, numpy.ones((1, 1, 2, 2), numpy.float32), floats([0, 0, 1e9, 1]), ints(0)), "")


@pytest.mark.parametrize("mode", ["align_corners", "tf_crop_and_resize"])
def test_an_axis_that_keeps_its_length_keeps_its_elements(mode: str) -> None:
    """Along 65,536 elements the products of the formulas are no floats. onnxruntime leaves such an axis alone, too."""
    image = numpy.random.default_rng(0).integers(-5, 5, (65536, 1)).astype(numpy.float32)
    region = None if mode == "align_corners" else floats(0, 0, 1, 1)
    attributes = {"mode": "linear", "coordinate_transformation_mode": mode}
    assert_gives(node("Resize", 13, image, region, floats(1, 2), **attributes), numpy.repeat(image, 2, axis=1))
