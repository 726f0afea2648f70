"""What the texts of single versions say of normalisation and dropout: one test per clause."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from onnx import TensorProto

from tests.evaluator.one_node import assert_gives, assert_rejected, floats, node, scalar
from tests.evaluator.onnxruntime_judge import OneNode, evaluate

EPSILON = 1e-5


def random(*shape: int, dtype: str = "float32") -> Any:
    return numpy.random.default_rng(0).standard_normal(shape).astype(dtype)


def normalized(x: Any, axes: Any, epsilon: float = EPSILON) -> Any:
    x = x.astype(float)
    return (x - x.mean(axes, keepdims=True)) / numpy.sqrt(x.var(axes, keepdims=True) + epsilon)


# BatchNormalization

X, SCALE, BIAS, MEAN, VARIANCE = random(4, 2, 3), floats(2, 3), floats(1, -1), floats(0.5, 0.25), floats(4, 9)
COLUMN = (2, 1)


def batch_normalization(opset: int, *, outputs: int = 1, **attributes: Any) -> OneNode:
    if opset < 6:
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    return node("BatchNormalization", opset, X, SCALE, BIAS, MEAN, VARIANCE, outputs=outputs, **attributes)


def by_given_statistics() -> Any:
    mean, variance = MEAN.reshape(COLUMN), VARIANCE.reshape(COLUMN)
    y = (X - mean) / numpy.sqrt(variance + EPSILON) * SCALE.reshape(COLUMN) + BIAS.reshape(COLUMN)
    return y.astype(numpy.float32)


def by_statistics_of_the_batch() -> Any:
    return (normalized(X, (0, 2)) * SCALE.reshape(COLUMN) + BIAS.reshape(COLUMN)).astype(numpy.float32)


@pytest.mark.parametrize(
    ("opset", "attributes", "outputs", "trains"),
    [
        (6, {"is_test": 1}, 1, False),
        (6, {}, 1, True),
        (7, {}, 1, False),
        (7, {}, 5, True),
        (9, {}, 1, False),
        (9, {}, 3, True),
        (14, {}, 1, False),
        (15, {"training_mode": 1}, 3, True),
    ],
)
def test_each_version_has_its_own_way_to_ask_for_training(
    opset: int, attributes: dict[str, int], outputs: int, trains: bool
) -> None:
    expected = by_statistics_of_the_batch() if trains else by_given_statistics()
    assert_gives(batch_normalization(opset, outputs=outputs, **attributes), expected, rtol=1e-5)


def test_running_statistics_move_by_momentum_towards_those_of_the_population() -> None:
    _, mean, variance, *saved = evaluate(batch_normalization(9, outputs=5, momentum=0.75))
    numpy.testing.assert_allclose(mean, 0.75 * MEAN + 0.25 * X.mean((0, 2)), rtol=1e-5)
    numpy.testing.assert_allclose(variance, 0.75 * VARIANCE + 0.25 * X.var((0, 2)), rtol=1e-5)
    numpy.testing.assert_allclose(saved, [X.mean((0, 2)), X.var((0, 2))], rtol=1e-5)


@pytest.mark.parametrize(("opset", "attributes"), [(6, {"is_test": 1}), (14, {}), (15, {})])
def test_statistics_are_no_outputs_of_inference(opset: int, attributes: dict[str, int]) -> None:
    assert_rejected(batch_normalization(opset, outputs=3, **attributes), "extra outputs are invalid")


def test_version_1_takes_images_only() -> None:
    assert_rejected(batch_normalization(1, is_test=1), "4-dimensional tensor of shape NCHW")
    assert_gives(batch_normalization(1, is_test=1), by_given_statistics(), strict=False, rtol=1e-5)


def test_without_spatial_version_7_has_parameters_per_activation() -> None:
    parameters = [random(2, 3), random(2, 3), random(2, 3), numpy.abs(random(2, 3))]
    scale, bias, mean, variance = parameters
    expected = (X - mean) / numpy.sqrt(variance + EPSILON) * scale + bias
    case = node("BatchNormalization", 7, X, *parameters, spatial=0)
    assert_gives(case, expected.astype(numpy.float32), rtol=1e-4)
    assert_rejected(batch_normalization(7, spatial=0), "must have the shape [2, 3]")
    assert_rejected(batch_normalization(6, spatial=0), "this version's mean is of size C")


def test_since_9_a_single_dimension_has_one_channel() -> None:
    one = floats(1)
    assert_gives(node("BatchNormalization", 9, floats(1, 3), one, one, one, floats(4 - EPSILON)), floats(1, 2))
    assert_rejected(node("BatchNormalization", 7, floats(1, 3), one, one, one, one), "must have the shape []")


def test_since_15_statistics_may_be_wider_than_the_data() -> None:
    x = X.astype(numpy.float16)
    parameters = SCALE.astype(numpy.float16), BIAS.astype(numpy.float16), MEAN, VARIANCE
    (y,) = evaluate(node("BatchNormalization", 15, x, *parameters))
    assert y.dtype == numpy.float16
    numpy.testing.assert_allclose(y, by_given_statistics(), rtol=1e-2, atol=1e-3)


# The other normalisations


def test_instance_normalization_is_per_instance_and_channel() -> None:
    expected = normalized(X, (2,)) * SCALE.reshape(COLUMN) + BIAS.reshape(COLUMN)
    assert_gives(node("InstanceNormalization", 6, X, SCALE, BIAS), expected.astype(numpy.float32), rtol=1e-4)
    assert_rejected(node("InstanceNormalization", 1, X, SCALE, BIAS), "4-dimensional tensor of shape NCHW")
    assert_rejected(node("InstanceNormalization", 6, X, SCALE, floats(1)), "must be of size C")
    flat = floats([1, 2], [3, 4])
    assert_rejected(node("InstanceNormalization", 6, flat, floats(1, 1), floats(0, 0)), "(N x C x D1 ... x Dn)")


def test_group_normalization_scales_per_group_in_18_and_per_channel_since_21() -> None:
    x, per_group, per_channel = random(2, 4, 3), floats(2, 3), floats(1, 2, 3, 4)
    grouped = normalized(x.reshape(2, 2, 6), (2,)).reshape(2, 4, 3)
    by_group = (grouped * numpy.repeat(per_group, 2).reshape(4, 1) + numpy.repeat(per_group, 2).reshape(4, 1)).astype(
        "f"
    )
    by_channel = (grouped * per_channel.reshape(4, 1) + per_channel.reshape(4, 1)).astype("f")
    # 18 is deprecated: strict models cannot use it.
    old = node("GroupNormalization", 18, x, per_group, per_group, num_groups=2)
    assert_gives(old, by_group, rtol=1e-4, strict=False)
    assert_gives(node("GroupNormalization", 21, x, per_channel, per_channel, num_groups=2), by_channel, rtol=1e-4)
    assert_rejected(node("GroupNormalization", 21, x, per_group, per_group, num_groups=2), "must have the shape (4)")
    assert_rejected(node("GroupNormalization", 21, x, per_group, per_group, num_groups=3), "must be a divisor")


def test_layer_normalization_computes_stage_one_in_the_stash_type() -> None:
    x = random(2, 8, dtype="float64") + 1000
    one = numpy.ones(8)
    (single,) = evaluate(node("LayerNormalization", 17, x, one))
    (double,) = evaluate(node("LayerNormalization", 17, x, one, stash_type=TensorProto.DOUBLE))
    numpy.testing.assert_allclose(double, normalized(x, (1,)), rtol=1e-12)
    assert single.dtype == numpy.float64
    assert (single == single.astype(numpy.float32)).all()
    assert not numpy.allclose(single, double, rtol=1e-9)
    assert_rejected(node("LayerNormalization", 17, x, one, stash_type=TensorProto.INT32), "stash_type")


def test_layer_normalization_gives_mean_and_inverse_deviation_in_the_stash_type() -> None:
    x = random(2, 3, 4, dtype="float16")
    y, mean, inverse = evaluate(node("LayerNormalization", 17, x, numpy.ones((3, 4), x.dtype), axis=1, outputs=3))
    assert (y.dtype, mean.dtype, inverse.dtype) == (numpy.float16, numpy.float32, numpy.float32)
    assert mean.shape == inverse.shape == (2, 1, 1)
    wide = x.astype(float)
    numpy.testing.assert_allclose(mean, wide.mean((1, 2), keepdims=True), rtol=1e-5)
    numpy.testing.assert_allclose(inverse, 1 / numpy.sqrt(wide.var((1, 2), keepdims=True) + EPSILON), rtol=1e-5)


def test_stage_two_of_layer_normalization_rounds_in_the_data_s_own_type() -> None:
    x = floats([0.0, 1.0, 2.0, 5.0]).astype(ml_dtypes.bfloat16)
    scale, bias = numpy.full(4, 1.1).astype(x.dtype), numpy.full(4, 0.3).astype(x.dtype)
    (standard,) = evaluate(node("LayerNormalization", 17, x, numpy.ones(4, x.dtype)))
    assert_gives(node("LayerNormalization", 17, x, scale, bias), standard * scale + bias)


def test_scale_must_be_broadcastable_to_x_and_not_beyond() -> None:
    for operator, opset in (("LayerNormalization", 17), ("RMSNormalization", 23)):
        assert_rejected(node(operator, opset, random(2, 3), random(4, 2, 3)), "unidirectional broadcastable")


def test_rms_normalization_divides_by_the_root_of_the_mean_square() -> None:
    x, scale = random(2, 3, 4), random(3, 1)
    root = numpy.sqrt(numpy.square(x.astype(float)).mean((1, 2), keepdims=True) + 0.5)
    case = node("RMSNormalization", 23, x, scale, axis=-2, epsilon=0.5)
    assert_gives(case, (x / root * scale).astype(numpy.float32), rtol=1e-6)
    mixed = node("RMSNormalization", 23, x.astype(numpy.float16), scale, axis=-2, epsilon=0.5)
    assert evaluate(mixed)[0].dtype == numpy.float32


def test_the_region_of_lrn_has_its_odd_channel_above() -> None:
    x = floats([[[1], [2], [3], [4]]]).reshape(1, 4, 1)
    sums = floats(1 + 4, 4 + 9, 9 + 16, 16).reshape(1, 4, 1)
    case = node("LRN", 13, x, size=2, alpha=2.0, beta=1.0, bias=0.0)
    assert_gives(case, (x / sums).astype(numpy.float32), rtol=1e-6)
    wider = node("LRN", 13, x, size=3, alpha=3.0, beta=0.75, bias=1.0)
    around = floats(1 + 4, 1 + 4 + 9, 4 + 9 + 16, 9 + 16).reshape(1, 4, 1)
    assert_gives(wider, (x / (1 + around) ** 0.75).astype(numpy.float32), rtol=1e-6)


def test_mean_variance_normalization_of_a_constant_is_zero() -> None:
    x = numpy.concatenate([numpy.full((1, 1, 2, 2), 7, numpy.float32), random(1, 1, 2, 2)], axis=1)
    case = node("MeanVarianceNormalization", 13, x)
    assert_gives(case, normalized(x, (0, 2, 3), 1e-30).astype(numpy.float32), rtol=1e-5)
    assert_rejected(node("MeanVarianceNormalization", 13, x, axes=[0, 0]), "no axis may be repeated")


# Dropout


def test_dropout_trains_by_default_before_7() -> None:
    x = numpy.ones(10_000, numpy.float32)
    dropped, mask = evaluate(node("Dropout", 6, x, ratio=0.25, outputs=2))
    assert mask.dtype == numpy.float32
    assert 0.2 < (dropped == 0).mean() < 0.3
    numpy.testing.assert_allclose(dropped, mask / numpy.float32(0.75))
    assert_gives(node("Dropout", 6, x, is_test=1), x)


def test_dropout_from_7_to_10_copies() -> None:
    x = random(2, 3)
    for opset, mask_dtype in ((7, numpy.float32), (10, bool)):
        copy, mask = evaluate(node("Dropout", opset, x, outputs=2))
        assert (copy == x).all()
        assert mask.dtype == mask_dtype
        assert mask.all()


def test_dropout_since_12_trains_where_told_and_its_seed_decides() -> None:
    x, ratio, training = numpy.ones(1000, numpy.float32), scalar(0.5), numpy.array(True)
    first, mask = evaluate(node("Dropout", 13, x, ratio, training, outputs=2, seed=3))
    assert set(numpy.unique(first)) == {0.0, 2.0}
    assert ((first > 0) == mask).all()
    assert (evaluate(node("Dropout", 13, x, ratio, training, seed=3))[0] == first).all()
    assert (evaluate(node("Dropout", 13, x, ratio, training, seed=4))[0] != first).any()
    assert_gives(node("Dropout", 13, x, ratio), x)
    assert_gives(node("Dropout", 13, x, scalar(0.0), training), x)


@pytest.mark.parametrize("ratio", [1.0, -0.5, numpy.nan])
@pytest.mark.parametrize("trains", [True, False])
def test_the_ratio_of_dropout_is_below_one(ratio: float, trains: bool) -> None:
    case = node("Dropout", 12, floats(1), scalar(ratio), numpy.array(trains))
    assert_rejected(case, "ratio must be in [0, 1)")
