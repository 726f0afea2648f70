"""Legal nodes of convolution and pooling, drawn at random: the operator's version decides attributes and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from hypothesis import strategies as st

from tests.evaluator.onnxruntime_judge import OneNode
from tests.evaluator.tensor_strategies import Draw, ints, numbers

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def per_axis(draw: Draw, rank: int, least: int, greatest: int) -> list[int]:
    return draw(st.lists(st.integers(least, greatest), min_size=rank, max_size=rank))


def maybe(draw: Draw, attributes: dict[str, Any], **values: Any) -> None:
    """Set each attribute, or leave it out."""
    for name, value in values.items():
        if draw(st.booleans()):
            attributes[name] = value


def window_attributes(draw: Draw, kernel: list[int], *, dilated: bool, ceil_mode: bool) -> dict[str, Any]:
    """Strides, pads, auto_pad, and where the version has them dilations and ceil_mode. Pads stay below the kernel."""
    rank = len(kernel)
    attributes: dict[str, Any] = {}
    maybe(draw, attributes, strides=per_axis(draw, rank, 1, 3))
    if dilated:
        maybe(draw, attributes, dilations=per_axis(draw, rank, 1, 2))
    auto_pad = draw(st.sampled_from(AUTO_PADS))
    if auto_pad != "NOTSET":
        attributes["auto_pad"] = auto_pad
    elif draw(st.booleans()):
        attributes["pads"] = [draw(st.integers(0, size - 1)) for size in [*kernel, *kernel]]
    if ceil_mode:
        maybe(draw, attributes, ceil_mode=1)
    return attributes


def spans(kernel: list[int], attributes: dict[str, Any]) -> list[int]:
    dilations = attributes.get("dilations", [1] * len(kernel))
    return [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]


def image(draw: Draw, kernel: list[int], attributes: dict[str, Any], channels: int, dtype: str, **more: Any) -> Any:
    """A batch that the kernel fits into without padding."""
    extra = per_axis(draw, len(kernel), 0, 5)
    spatial = [span + more_room for span, more_room in zip(spans(kernel, attributes), extra, strict=True)]
    return numbers(draw, [draw(st.integers(1, 2)), channels, *spatial], dtype, **more)


@st.composite
def conv(draw: Draw, opset: int) -> OneNode:
    kernel = per_axis(draw, draw(st.integers(1, 3)), 1, 3)
    group, inputs, outputs = (draw(st.integers(1, 3)) for _ in range(3))
    attributes = window_attributes(draw, kernel, dilated=True, ceil_mode=False)
    x = image(draw, kernel, attributes, group * inputs, "float32")
    w = numbers(draw, [group * outputs, inputs, *kernel])
    maybe(draw, attributes, kernel_shape=kernel)
    if group > 1 or draw(st.booleans()):
        attributes["group"] = group
    bias = [numbers(draw, [group * outputs])] if draw(st.booleans()) else []
    return OneNode("Conv", opset, [x, w, *bias], attributes)


@st.composite
def conv_transpose(draw: Draw, opset: int) -> OneNode:
    kernel = per_axis(draw, draw(st.integers(1, 3)), 1, 3)
    group, inputs, outputs = (draw(st.integers(1, 3)) for _ in range(3))
    attributes = window_attributes(draw, kernel, dilated=True, ceil_mode=False)
    strides = attributes.get("strides", [1] * len(kernel))
    maybe(draw, attributes, output_padding=[draw(st.integers(0, stride - 1)) for stride in strides])
    x = image(draw, kernel, attributes, group * inputs, "float32")
    w = numbers(draw, [group * inputs, outputs, *kernel])
    maybe(draw, attributes, kernel_shape=kernel)
    if group > 1:
        attributes["group"] = group
    if "pads" not in attributes and "auto_pad" not in attributes and draw(st.booleans()):
        extra = attributes.get("output_padding", [0] * len(kernel))
        full = [
            (size - 1) * stride + span + more
            for size, stride, span, more in zip(x.shape[2:], strides, spans(kernel, attributes), extra, strict=True)
        ]
        attributes["output_shape"] = [max(1, size - draw(st.integers(0, 3))) for size in full]
    bias = [numbers(draw, [group * outputs])] if draw(st.booleans()) else []
    return OneNode("ConvTranspose", opset, [x, w, *bias], attributes)


def _bytes(draw: Draw, shape: list[int], dtype: str) -> Any:
    limits = numpy.iinfo(dtype)
    generator = numpy.random.default_rng(draw(st.integers(0, 2**16)))
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@st.composite
def conv_integer(draw: Draw, opset: int) -> OneNode:
    kernel = per_axis(draw, 2, 1, 3)
    inputs, outputs = (draw(st.integers(1, 3)) for _ in range(2))
    attributes = window_attributes(draw, kernel, dilated=True, ceil_mode=False)
    x = image(draw, kernel, attributes, inputs, "uint8")
    x, w = _bytes(draw, list(x.shape), "uint8"), _bytes(draw, [outputs, inputs, *kernel], "uint8")
    zero_points = [_bytes(draw, [], "uint8") for _ in range(draw(st.integers(0, 2)))]
    return OneNode("ConvInteger", opset, [x, w, *zero_points], attributes)


@st.composite
def qlinear_conv(draw: Draw, opset: int) -> OneNode:
    kernel = per_axis(draw, 2, 1, 3)
    inputs, outputs = (draw(st.integers(1, 3)) for _ in range(2))
    attributes = window_attributes(draw, kernel, dilated=True, ceil_mode=False)
    x_dtype, w_dtype = draw(st.sampled_from([("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")]))
    x = image(draw, kernel, attributes, inputs, x_dtype)
    x, w = _bytes(draw, list(x.shape), x_dtype), _bytes(draw, [outputs, inputs, *kernel], w_dtype)
    if w_dtype == "int8":
        # Without VNNI, onnxruntime adds products of bytes and int8 in pairs of 16 bits, which do not hold larger ones.
        w = w // numpy.int8(2)
    scale = st.sampled_from([0.25, 0.5, 1.5, 10.0])
    per_channel = [outputs] if draw(st.booleans()) else []
    x_scale, y_scale = (numpy.array(draw(scale), numpy.float32) for _ in range(2))
    w_scale = numpy.full(per_channel, draw(scale), numpy.float32)
    # onnxruntime takes one zero point for all channels only.
    w_zero = numpy.full(per_channel, _bytes(draw, [], w_dtype), w_dtype)
    bias = [numbers(draw, [outputs], "int32")] if draw(st.booleans()) else []
    zeros = _bytes(draw, [], x_dtype), _bytes(draw, [], x_dtype)
    return OneNode(
        "QLinearConv", opset, [x, x_scale, zeros[0], w, w_scale, w_zero, y_scale, zeros[1], *bias], attributes
    )


@st.composite
def max_pool(draw: Draw, opset: int) -> OneNode:
    kernel = per_axis(draw, draw(st.integers(1, 3)), 1, 3)
    attributes = window_attributes(draw, kernel, dilated=opset >= 10, ceil_mode=opset >= 10)
    attributes["kernel_shape"] = kernel
    dtypes = ["float32", *(["float64"] if opset >= 8 else []), *(["int8", "uint8"] if opset >= 12 else [])]
    dtype = draw(st.sampled_from(dtypes))
    x = image(draw, kernel, attributes, draw(st.integers(1, 3)), dtype)
    if opset < 8:
        return OneNode("MaxPool", opset, [x], attributes)
    maybe(draw, attributes, storage_order=1)
    return OneNode("MaxPool", opset, [x], attributes, draw(st.integers(1, 2)))


@st.composite
def average_pool(draw: Draw, opset: int) -> OneNode:
    kernel = per_axis(draw, draw(st.integers(1, 3)), 1, 3)
    attributes = window_attributes(draw, kernel, dilated=opset >= 19, ceil_mode=opset >= 10)
    attributes["kernel_shape"] = kernel
    maybe(draw, attributes, count_include_pad=1)
    x = image(draw, kernel, attributes, draw(st.integers(1, 3)), "float32")
    return OneNode("AveragePool", opset, [x], attributes)


@st.composite
def lp_pool(draw: Draw, opset: int) -> OneNode:
    kernel = per_axis(draw, draw(st.integers(1, 3)), 1, 3)
    attributes = window_attributes(draw, kernel, dilated=opset >= 18, ceil_mode=opset >= 18)
    attributes["kernel_shape"] = kernel
    maybe(draw, attributes, p=draw(st.integers(1, 3)))
    x = image(draw, kernel, attributes, draw(st.integers(1, 3)), "float32")
    return OneNode("LpPool", opset, [x], attributes)


def global_pool(operator: str) -> Callable[[int], Any]:
    @st.composite
    def strategy(draw: Draw, opset: int) -> OneNode:
        shape = draw(st.lists(st.integers(1, 4), min_size=3, max_size=5))
        attributes: dict[str, Any] = {}
        if operator == "GlobalLpPool":
            maybe(draw, attributes, p=draw(st.integers(1, 3)))
        return OneNode(operator, opset, [numbers(draw, shape)], attributes)

    return strategy


@st.composite
def max_unpool(draw: Draw, opset: int) -> OneNode:
    """Distinct indices, as MaxPool gives them for windows that do not overlap."""
    kernel = per_axis(draw, draw(st.integers(1, 3)), 1, 3)
    strides = per_axis(draw, len(kernel), 1, 3)
    x = numbers(draw, [draw(st.integers(1, 2)), draw(st.integers(1, 2)), *per_axis(draw, len(kernel), 2, 3)])
    shape = [
        *x.shape[:2],
        *((size - 1) * stride + taps for size, stride, taps in zip(x.shape[2:], strides, kernel, strict=True)),
    ]
    generator = numpy.random.default_rng(draw(st.integers(0, 2**16)))
    indices = generator.permutation(int(numpy.prod(shape)))[: x.size].reshape(x.shape)
    return OneNode("MaxUnpool", opset, [x, ints(indices)], {"kernel_shape": kernel, "strides": strides})


@st.composite
def max_roi_pool(draw: Draw, opset: int) -> OneNode:
    x = numbers(draw, [2, draw(st.integers(1, 2)), *per_axis(draw, 2, 2, 7)])
    generator = numpy.random.default_rng(draw(st.integers(0, 2**16)))
    corners = generator.integers(0, 9, (draw(st.integers(1, 3)), 2, 2))
    corners = numpy.sort(corners, axis=1).reshape(-1, 4)
    images = generator.integers(0, 2, (len(corners), 1))
    rois = numpy.concatenate([images, corners], axis=1).astype(numpy.float32)
    attributes: dict[str, Any] = {"pooled_shape": per_axis(draw, 2, 1, 3)}
    maybe(draw, attributes, spatial_scale=draw(st.sampled_from([0.5, 0.75, 2.0])))
    return OneNode("MaxRoiPool", opset, [x, rois], attributes)
