"""Legal nodes of the operators that resample, drawn at random."""

from __future__ import annotations

import math
from typing import Any

import numpy
from hypothesis import strategies as st

from tests.evaluator.onnxruntime_judge import OneNode
from tests.evaluator.tensor_strategies import Draw, ints, numbers, shapes

SCALES = (0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 2.3, 3.0)


@st.composite
def upsample(draw: Draw, opset: int) -> OneNode:
    mode = draw(st.sampled_from(["nearest", "linear"]))
    data = numbers(draw, shapes(draw, 4, 4, least=1))
    height, width = (draw(st.sampled_from([scale for scale in SCALES if scale >= 1])) for _ in range(2))
    case = OneNode("Upsample", opset, [data], {"mode": mode})
    scales = [1.0, 1.0, height, width]
    if opset >= 9:
        return OneNode("Upsample", opset, [data, numpy.array(scales, numpy.float32)], case.attributes)
    return OneNode("Upsample", opset, [data], {"mode": mode, "scales": scales})


@st.composite
def resize(draw: Draw, opset: int) -> OneNode:
    modes = ["nearest", "linear", "cubic"] if opset >= 11 else ["nearest", "linear"]
    mode = draw(st.sampled_from(modes))
    shape = shapes(draw, 4, 4, least=1, greatest=6)
    dtype = draw(st.sampled_from(["float32", "int32", "uint8"])) if mode == "nearest" else "float32"
    data = numpy.abs(numbers(draw, shape, "int64")).astype(dtype)
    axes = [2, 3]
    attributes: dict[str, Any] = {"mode": mode}
    scales = [draw(st.sampled_from(SCALES)) for _ in axes]
    if opset < 11:
        return OneNode("Resize", opset, [data, numpy.array([1, 1, *scales], numpy.float32)], attributes)

    transformations = ["half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners", "tf_crop_and_resize"]
    if opset == 11 and mode == "nearest":
        transformations.append("tf_half_pixel_for_nn")
    if opset >= 19:
        transformations.append("half_pixel_symmetric")
    transformation = draw(st.sampled_from(transformations))
    attributes["coordinate_transformation_mode"] = transformation
    by_sizes = draw(st.booleans())
    if mode == "nearest":
        attributes["nearest_mode"] = draw(st.sampled_from(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    if mode == "cubic":
        attributes["cubic_coeff_a"] = draw(st.sampled_from([-0.5, -0.75]))
        attributes["exclude_outside"] = draw(st.integers(0, 1))
    if opset >= 18 and mode != "nearest":
        attributes["antialias"] = draw(st.integers(0, 1))
    crop = transformation == "tf_crop_and_resize"
    roi = [0.2, 0.1, 0.9, 1.2] if crop and draw(st.booleans()) else [0.0, 0.0, 1.0, 1.0]
    if crop:
        attributes["extrapolation_value"] = 7.0
    sizes = [draw(st.integers(1, 9)) for _ in axes]
    if opset >= 18 and draw(st.booleans()):
        attributes["axes"] = axes
        if by_sizes:
            policies = ["stretch", "not_larger", "not_smaller"]
            attributes["keep_aspect_ratio_policy"] = draw(st.sampled_from(policies))
    else:
        scales, sizes, roi = [1, 1, *scales], [*shape[:2], *sizes], [0, 0, *roi[:2], 1, 1, *roi[2:]]
    region = numpy.array(roi, numpy.float32) if crop or opset < 13 else None
    if by_sizes:
        return OneNode(
            "Resize",
            opset,
            [data, region, numpy.zeros(0, numpy.float32) if opset < 13 else None, ints(sizes)],
            attributes,
        )
    return OneNode("Resize", opset, [data, region, numpy.array(scales, numpy.float32)], attributes)


@st.composite
def grid_sample(draw: Draw, opset: int) -> OneNode:
    linear, cubic = ("linear", "cubic") if opset >= 20 else ("bilinear", "bicubic")
    rank = draw(st.integers(2, 3)) if opset >= 20 else 2
    shape = shapes(draw, rank + 2, rank + 2, least=1)
    modes = [linear, "nearest", *([cubic] if rank == 2 else [])]
    attributes = {
        "mode": draw(st.sampled_from(modes)),
        "padding_mode": draw(st.sampled_from(["zeros", "border", "reflection"])),
        "align_corners": draw(st.integers(0, 1)),
    }
    # Not in eighths, so that no point lies half-way between two elements.
    grid = numbers(draw, [shape[0], *shapes(draw, rank, rank, least=1), rank]) / 3.01
    return OneNode("GridSample", opset, [numbers(draw, shape), grid.astype(numpy.float32)], attributes)


@st.composite
def affine_grid(draw: Draw, opset: int) -> OneNode:
    rank = draw(st.integers(2, 3))
    size = shapes(draw, rank + 2, rank + 2, least=1)
    align_corners = draw(st.integers(0, 1))
    if align_corners:
        size[2:] = [max(extent, 2) for extent in size[2:]]
    theta = numbers(draw, [size[0], rank, rank + 1])
    return OneNode("AffineGrid", opset, [theta, ints(size)], {"align_corners": align_corners})


@st.composite
def roi_align(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 4, 4, least=1, greatest=6)
    count = draw(st.integers(1, 3))
    corners = numpy.sort(abs(numbers(draw, [count, 2, 2])) * 1.3, axis=1).reshape(count, 4)
    attributes: dict[str, Any] = {
        "mode": draw(st.sampled_from(["avg", "max"])),
        "output_height": draw(st.integers(1, 3)),
        "output_width": draw(st.integers(1, 3)),
        "sampling_ratio": draw(st.integers(0, 3)),
        "spatial_scale": draw(st.sampled_from([1.0, 0.5])),
    }
    if opset >= 16:
        attributes["coordinate_transformation_mode"] = draw(st.sampled_from(["half_pixel", "output_half_pixel"]))
    images = numbers(draw, [count], "int64") % shape[0]
    return OneNode("RoiAlign", opset, [numbers(draw, shape), corners.astype(numpy.float32), images], attributes)


@st.composite
def deform_conv(draw: Draw, opset: int) -> OneNode:
    group, offset_group = draw(st.sampled_from([(1, 1), (2, 1), (1, 2), (2, 2)]))
    batch, taps, image = draw(st.integers(1, 2)), shapes(draw, 2, 2, least=1, greatest=3), [5, 6]
    strides, dilations = ([draw(st.integers(1, 2)) for _ in range(2)] for _ in range(2))
    pads = [draw(st.integers(0, 2)) for _ in range(4)]
    output = [
        (image[axis] + pads[axis] + pads[axis + 2] - dilations[axis] * (taps[axis] - 1) - 1) // strides[axis] + 1
        for axis in range(2)
    ]
    inputs = [
        numbers(draw, [batch, 4, *image]),
        numbers(draw, [2, 4 // group, *taps]),
        (numbers(draw, [batch, offset_group * math.prod(taps) * 2, *output]) / 3.01).astype(numpy.float32),
        numbers(draw, [2]) if draw(st.booleans()) else None,
        numbers(draw, [batch, offset_group * math.prod(taps), *output]) if draw(st.booleans()) else None,
    ]
    while inputs[-1] is None:
        inputs.pop()
    attributes = {
        "group": group,
        "offset_group": offset_group,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
        "kernel_shape": taps,
    }
    return OneNode("DeformConv", opset, inputs, attributes)


@st.composite
def col2im(draw: Draw, opset: int) -> OneNode:
    rank = draw(st.integers(2, 3))
    block, strides, dilations = ([draw(st.integers(1, 2)) for _ in range(rank)] for _ in range(3))
    pads = [draw(st.integers(0, 1)) for _ in range(2 * rank)]
    image = [draw(st.integers(3, 5)) for _ in range(rank)]
    counts = [
        (image[a] + pads[a] + pads[a + rank] - dilations[a] * (block[a] - 1) - 1) // strides[a] + 1 for a in range(rank)
    ]
    shape = [draw(st.integers(1, 2)), draw(st.integers(1, 2)) * math.prod(block), math.prod(counts)]
    attributes = {"strides": strides, "dilations": dilations, "pads": pads}
    return OneNode("Col2Im", opset, [numbers(draw, shape), ints(image), ints(block)], attributes)
