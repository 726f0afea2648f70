"""What the texts of single versions say of convolution, pooling and normalisation: one test per clause."""

from __future__ import annotations

import itertools
import math
from typing import Any

import ml_dtypes
import numpy
import pytest

from opsetlift.evaluator.kernels import convolution
from tests.evaluator.one_node import assert_gives, assert_rejected, floats, ints, node, scalar
from tests.evaluator.onnxruntime_judge import evaluate

NAN, INF = math.nan, math.inf


def random(*shape: int, dtype: str = "float32") -> Any:
    return numpy.random.default_rng(0).standard_normal(shape).astype(dtype)


def ramp(*shape: int) -> Any:
    return numpy.arange(1, math.prod(shape) + 1, dtype=numpy.float32).reshape(shape)


def convolution_by_definition(x: Any, w: Any, strides: Any, dilations: Any, pads: Any, group: int) -> Any:
    """One sum of products per output element, in float64."""
    rank = x.ndim - 2
    x = numpy.pad(x.astype(float), [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
    sizes = [
        (size - (taps - 1) * dilation - 1) // stride + 1
        for size, taps, stride, dilation in zip(x.shape[2:], w.shape[2:], strides, dilations, strict=True)
    ]
    y = numpy.zeros((x.shape[0], w.shape[0], *sizes))
    for image, feature_map, *place in itertools.product(*map(range, y.shape)):
        start = feature_map // (w.shape[0] // group) * w.shape[1]
        window = tuple(
            slice(at * stride, at * stride + (taps - 1) * dilation + 1, dilation)
            for at, stride, dilation, taps in zip(place, strides, dilations, w.shape[2:], strict=True)
        )
        patch = x[(image, slice(start, start + w.shape[1]), *window)]
        y[(image, feature_map, *place)] = (patch * w[feature_map]).sum()
    return y


# Conv


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("group", [1, 2])
def test_convolution_is_the_sum_of_products_over_any_number_of_axes(rank: int, group: int) -> None:
    x, w = random(2, 2 * group, *range(5, 5 + rank)), random(3 * group, 2, *[2, 3, 1, 2][:rank])
    strides, dilations, pads = [1, 2, 1, 2][:rank], [2, 1, 3, 1][:rank], [1, 0, 2, 1][:rank] + [0, 2, 1, 1][:rank]
    expected = convolution_by_definition(x, w, strides, dilations, pads, group).astype(numpy.float32)
    case = node("Conv", 11, x, w, strides=strides, dilations=dilations, pads=pads, group=group)
    assert_gives(case, expected, rtol=1e-5)


def test_convolution_in_blocks_of_rows_and_images_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w, b = random(5, 4, 9, 7), random(6, 2, 3, 3), random(6)
    case = node("Conv", 11, x, w, b, pads=[1, 1, 1, 1], group=2)
    (whole,) = evaluate(case)
    for budget in (1, 4 * 18 * 7 * 3, 4 * 36 * 63 * 2):
        monkeypatch.setattr(convolution, "_COLUMN_BYTES", budget)
        assert_gives(case, whole, rtol=1e-6)


@pytest.mark.parametrize("dtype", [numpy.float16, ml_dtypes.bfloat16])
def test_narrow_convolution_is_rounded_once(dtype: Any) -> None:
    x, w = random(1, 64, 3, 3).astype(dtype), random(2, 64, 3, 3).astype(dtype)
    exact = numpy.einsum("nchw,mchw->nm", x.astype(float), w.astype(float))
    (result,) = evaluate(node("Conv", 22, x, w))
    assert result.dtype == dtype
    assert (result.reshape(1, 2) == exact.astype(numpy.float32).astype(dtype)).all()


def test_the_odd_element_of_same_padding_is_at_the_end_for_upper_only() -> None:
    x, w = floats([[1, 2, 3]]), floats([[1, 10]])
    assert_gives(node("Conv", 11, x, w, auto_pad="SAME_UPPER"), floats([[21, 32, 3]]))
    assert_gives(node("Conv", 11, x, w, auto_pad="SAME_LOWER"), floats([[10, 21, 32]]))
    assert_gives(node("Conv", 11, x, w, auto_pad="VALID"), floats([[21, 32]]))


@pytest.mark.parametrize(
    ("inputs", "attributes", "clause"),
    [
        ((ramp(1, 3, 4), ramp(2, 2, 2)), {}, "it must be W.shape[1] * group"),
        ((ramp(1, 2, 4), ramp(3, 1, 2)), {"group": 2}, "must be a multiple of group 2"),
        ((ramp(1, 1, 4), ramp(1, 1, 2)), {"kernel_shape": [3]}, "differs from W's"),
        ((ramp(1, 1, 4), ramp(1, 1, 2)), {"pads": [0, -1]}, "no value may be less than 0"),
        ((ramp(1, 1, 4), ramp(1, 1, 2)), {"strides": [1, 1]}, "strides needs 1 values"),
        ((ramp(1, 1, 4), ramp(1, 1, 2), ramp(2)), {}, "B must have the shape (1)"),
        ((ramp(1, 4), ramp(1, 4)), {}, "(N x C x D1 x ... x Dn)"),
        ((ramp(1, 1, 1), ramp(1, 1, 4)), {}, "larger than the padded input"),
    ],
)
def test_conv_rejects_what_does_not_fit_together(inputs: Any, attributes: Any, clause: str) -> None:
    assert_rejected(node("Conv", 11, *inputs, **attributes), clause)


def test_pads_together_with_auto_pad_are_ignored_where_not_strict() -> None:
    case = node("Conv", 7, ramp(1, 1, 4), ramp(1, 1, 2), pads=[1, 1], auto_pad="VALID")
    assert_rejected(case, "cannot be used simultaneously")
    assert_gives(case, floats([[5, 8, 11]]), strict=False)


def test_convolution_of_nothing_is_nothing() -> None:
    assert_gives(node("Conv", 11, ramp(0, 2, 4), ramp(3, 2, 2)), numpy.zeros((0, 3, 3), numpy.float32))
    assert_gives(node("Conv", 11, ramp(1, 2, 1), ramp(3, 2, 2)), numpy.zeros((1, 3, 0), numpy.float32))


# Integers


def test_integer_convolution_pads_with_the_zero_point() -> None:
    x, w = numpy.array([[[5, 6]]], numpy.uint8), numpy.array([[[1, 2]]], numpy.uint8)
    case = node("ConvInteger", 10, x, w, scalar(5, "uint8"), pads=[1, 1])
    assert_gives(case, numpy.array([[[0, 2, 1]]], numpy.int32))


def test_zero_points_are_of_the_shape_that_the_text_gives_them() -> None:
    x, w = numpy.array([[[5, 6]]], numpy.uint8), numpy.array([[[1, 2]], [[1, 2]]], numpy.uint8)
    two, three = numpy.zeros(2, numpy.uint8), numpy.zeros(3, numpy.uint8)
    assert_rejected(node("ConvInteger", 10, x, w, two), "x_zero_point must be a scalar")
    assert_gives(node("ConvInteger", 10, x, w, None, two), numpy.array([[[17], [17]]], numpy.int32))
    assert_rejected(node("ConvInteger", 10, x, w, None, three), "w_zero_point")


def test_integer_convolution_is_exact_beyond_the_precision_of_float32() -> None:
    x = numpy.full((1, 300, 5, 5), 255, numpy.uint8)
    x[0, 0, 0, 0] = 254
    case = node("ConvInteger", 10, x, numpy.full((1, 300, 5, 5), 255, numpy.uint8))
    assert_gives(case, numpy.array([[[[7500 * 255 * 255 - 255]]]], numpy.int32))


def test_quantized_convolution_rounds_half_to_even_and_saturates() -> None:
    one, zero = scalar(1.0), scalar(0, "uint8")
    x, w = numpy.array([[[1, 3, 200, 5]]], numpy.uint8), numpy.array([[[2]]], numpy.uint8)
    case = node("QLinearConv", 10, x, one, zero, w, one, zero, scalar(4.0), scalar(100, "uint8"))
    assert_gives(case, numpy.array([[[100, 102, 200, 102]]], numpy.uint8))
    saturated = node("QLinearConv", 10, x, one, zero, w, one, zero, scalar(0.5), scalar(100, "uint8"))
    assert_gives(saturated, numpy.array([[[104, 112, 255, 120]]], numpy.uint8))


# ConvTranspose


@pytest.mark.parametrize("attributes", [{}, {"strides": [2, 3]}, {"dilations": [2, 1], "pads": [1, 0, 1, 2]}])
def test_transposed_convolution_is_the_transpose_of_convolution(attributes: dict[str, Any]) -> None:
    x, w = random(2, 2, 8, 9), random(4, 1, 2, 3)
    (there,) = evaluate(node("Conv", 11, x, w, group=2, **attributes))
    y = random(*there.shape)
    sizes = list(x.shape[2:])
    if "strides" in attributes:
        # What the strides leave out at the end of an axis is not reached from the other side.
        attributes = {**attributes, "output_padding": [(8 - 2) % 2, (9 - 3) % 3]}
    (back,) = evaluate(node("ConvTranspose", 11, y, w, group=2, **attributes))
    assert back.shape[2:] == tuple(sizes)
    numpy.testing.assert_allclose((there * y).sum(), (x * back).sum(), rtol=1e-4)


def test_output_shape_cuts_the_odd_element_off_at_the_end_before_11_and_at_the_beginning_since() -> None:
    x, w = floats([[1, 2]]), floats([[1, 10]])
    assert_gives(node("ConvTranspose", 1, x, w, output_shape=[2]), floats([[1, 12]]))
    assert_gives(node("ConvTranspose", 11, x, w, output_shape=[2]), floats([[12, 20]]))
    upper = {"output_shape": [2], "auto_pad": "SAME_UPPER"}
    assert_gives(node("ConvTranspose", 1, x, w, **upper), floats([[12, 20]]))
    assert_gives(node("ConvTranspose", 11, x, w, **upper), floats([[1, 12]]))


def test_output_padding_adds_computed_elements_at_the_end() -> None:
    x, w = floats([[1, 2]]), floats([[1, 10, 100]])
    case = node("ConvTranspose", 11, x, w, strides=[2], pads=[0, 1], output_padding=[1])
    assert_gives(case, floats([[1, 10, 102, 20, 200]]))
    too_much = node("ConvTranspose", 11, x, w, strides=[2], output_padding=[2])
    assert_rejected(too_much, "must be less than the stride or dilation")
    assert evaluate(too_much, strict=False)[0].shape == (1, 1, 7)


def test_an_output_shape_beyond_the_windows_is_filled_with_zeros() -> None:
    case = node("ConvTranspose", 11, floats([[1, 2]]), floats([[1, 10]]), output_shape=[5])
    assert_gives(case, floats([[1, 12, 20, 0, 0]]))


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_same_pads_add_nothing_where_the_windows_leave_gaps(mode: str) -> None:
    case = node("ConvTranspose", 11, floats([[1, 2, 3]]), floats([[1, 10]]), strides=[3], auto_pad=mode)
    assert_gives(case, floats([[1, 10, 0, 2, 20, 0, 3, 30]]))


# CausalConvWithState


def test_causal_convolution_in_chunks_is_that_of_the_whole() -> None:
    x, w, b = random(2, 3, 7), random(3, 1, 4), random(3)
    whole, state = evaluate(node("CausalConvWithState", 27, x, w, b, outputs=2, activation="silu"))
    before, parts = None, []
    for start, end in ((0, 1), (1, 5), (5, 7)):
        chunk = node("CausalConvWithState", 27, x[:, :, start:end], w, b, before, outputs=2, activation="silu")
        part, before = evaluate(chunk)
        parts.append(part)
    numpy.testing.assert_allclose(numpy.concatenate(parts, axis=2), whole, rtol=1e-6)
    numpy.testing.assert_array_equal(before, state)
    numpy.testing.assert_array_equal(state, x[:, :, -3:])


# Pooling


def test_maximum_ignores_padding_and_takes_nan() -> None:
    x = floats([[-5, -4, NAN, -2]])
    assert_gives(node("MaxPool", 12, x, kernel_shape=[2], pads=[1, 1]), floats([[-5, -4, NAN, NAN, -2]]))


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_greatest_of_zeros_is_positive_whatever_their_order(outputs: int) -> None:
    x = floats([[[0.0, -0.0, -0.0, 0.0, -1.0]]]).reshape(1, 1, 5)
    result = evaluate(node("MaxPool", 12, x, kernel_shape=[2], outputs=outputs))[0]
    assert numpy.signbit(result).tolist() == [[[False, True, False, False]]]
    assert not numpy.signbit(evaluate(node("GlobalMaxPool", 1, x[:, :, 1:]))[0]).any()


def test_indices_are_of_the_first_maximum_in_the_tensor_without_padding() -> None:
    x = floats([[[7, 7], [1, 8]], [[0, 0], [0, 9]]])
    case = node("MaxPool", 8, x, kernel_shape=[2, 2], pads=[1, 1, 0, 0], strides=[1, 2], outputs=2)
    _, indices = evaluate(case)
    assert indices.tolist() == [[[[0], [0]], [[4], [4]]]]
    wider = node("MaxPool", 8, x, kernel_shape=[2, 2], outputs=2)
    assert evaluate(wider)[1].tolist() == [[[[3]], [[7]]]]
    columns = node("MaxPool", 8, x.transpose(0, 1, 3, 2) * [[1, 1], [1, 0]], kernel_shape=[2, 2], outputs=2)
    assert evaluate(columns)[1].tolist() == [[[[0]], [[4]]]]


def test_column_major_storage_counts_indices_down_the_columns() -> None:
    x = ramp(1, 1, 2, 3)
    assert evaluate(node("MaxPool", 12, x, kernel_shape=[1, 2], outputs=2))[1].tolist() == [[[[1, 2], [4, 5]]]]
    case = node("MaxPool", 12, x, kernel_shape=[1, 2], outputs=2, storage_order=1)
    assert evaluate(case)[1].tolist() == [[[[2, 4], [3, 5]]]]


@pytest.mark.parametrize(
    ("operator", "opset"),
    [("MaxPool", 10), ("MaxPool", 12), ("MaxPool", 22), ("AveragePool", 10), ("AveragePool", 19), ("AveragePool", 22),
     ("LpPool", 18), ("LpPool", 22)],
)  # fmt: skip
def test_windows_that_start_in_the_right_padding_are_ignored_at_every_version(operator: str, opset: int) -> None:
    attributes = {"kernel_shape": [1], "strides": [3], "ceil_mode": 1}
    assert_gives(node(operator, opset, ramp(1, 1, 2), **attributes), floats([[1]]))
    assert_gives(node(operator, opset, ramp(1, 1, 2), **attributes, auto_pad="VALID"), floats([[1]]))
    assert evaluate(node(operator, opset, ramp(1, 1, 2), kernel_shape=[1], ceil_mode=1, pads=[0, 2]))[0].size == 2


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_valid_padding_rounds_up_where_ceil_mode_says_so(operator: str) -> None:
    case = node(operator, 12, ramp(1, 1, 6), kernel_shape=[3], strides=[2], auto_pad="VALID", ceil_mode=1)
    assert evaluate(case)[0].shape == (1, 1, 3)


def test_average_counts_pads_only_where_asked_and_nothing_beyond_them() -> None:
    attributes = {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}
    assert_gives(node("AveragePool", 7, floats([[6, 3, 9]]), **attributes), floats([[4.5, 6]]))
    assert_gives(node("AveragePool", 7, floats([[6, 3, 9]]), **attributes, count_include_pad=1), floats([[3, 4]]))
    beyond = node("AveragePool", 19, floats([[6, 3, 9, 8]]), **attributes, count_include_pad=1, ceil_mode=1)
    assert_gives(beyond, floats([[3, 20 / 3, 4]]), rtol=1e-7)


def test_pooling_needs_one_kernel_size_per_spatial_axis() -> None:
    assert_rejected(node("LpPool", 1, ramp(1, 1, 4)), "kernel_shape needs one value for each")
    assert_rejected(node("MaxPool", 12, ramp(1, 1, 4), kernel_shape=[2, 2]), "kernel_shape needs one value for each")
    assert_rejected(node("GlobalAveragePool", 1, ramp(2, 3)), "(N x C x D1 x ... x Dn)")


def test_lp_pooling_takes_a_fractional_p_before_2_and_whole_ones_since() -> None:
    x = floats([[-1, 4]])
    assert_gives(node("LpPool", 1, x, kernel_shape=[2], p=0.5), floats([[9]]), rtol=1e-6)
    assert_gives(node("LpPool", 2, x, kernel_shape=[2], p=1), floats([[5]]))
    assert_gives(node("GlobalLpPool", 2, floats([[-3, 4]])), floats([[5]]))
    assert_rejected(node("GlobalLpPool", 2, x, p=0), "no Lp norm with p = 0")


def test_unpooling_puts_maxima_back_where_they_were() -> None:
    x = numpy.random.default_rng(0).permutation(32).reshape(1, 2, 4, 4).astype(numpy.float32) + 1
    pooled, indices = evaluate(node("MaxPool", 12, x, kernel_shape=[2, 2], strides=[2, 2], outputs=2))
    (restored,) = evaluate(node("MaxUnpool", 11, pooled, indices, kernel_shape=[2, 2], strides=[2, 2]))
    assert restored.shape == x.shape
    assert ((restored == x) | (restored == 0)).all()
    assert (restored != 0).sum() == pooled.size


@pytest.mark.parametrize(
    ("output_shape", "clause"),
    [
        (numpy.array(4), "output_shape must have rank 1, not 0"),
        (numpy.array([[1, 1, 4]]), "output_shape must have rank 1, not 2"),
        (ints(4), "output_shape [4] must be at least [1, 1, 2]"),
    ],
)
def test_unpooling_rejects_an_output_shape_of_another_rank_or_length(output_shape: Any, clause: str) -> None:
    case = node("MaxUnpool", 11, floats([[1]]), ints([[1]]), output_shape, kernel_shape=[2])
    assert_rejected(case, clause)


def test_unpooling_rejects_indices_outside_of_its_output() -> None:
    case = node("MaxUnpool", 11, floats([[1]]), ints([[2]]), kernel_shape=[2])
    assert_rejected(case, "the indices must be in [0, 2)")


def test_regions_without_elements_pool_to_zero() -> None:
    x = -ramp(1, 1, 2, 2)
    case = node("MaxRoiPool", 1, x, floats(0, 5, 5, 6, 6).reshape(1, 5), pooled_shape=[1, 1])
    assert_gives(case, numpy.zeros((1, 1, 1, 1), numpy.float32))
    inside = node("MaxRoiPool", 1, x, floats(0, 0, 1, 1, 1).reshape(1, 5), pooled_shape=[1, 2])
    assert_gives(inside, floats([[-3, -4]]).reshape(1, 1, 1, 2))
