"""Operators that never had a version, by what onnx wrote of them; they run where the evaluator is not strict."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from tests.evaluator.one_node import assert_gives, assert_rejected, floats, ints, node
from tests.evaluator.onnxruntime_judge import OneNode

IMAGE = numpy.arange(24, dtype=numpy.float32).reshape(1, 2, 3, 4)
X = floats(-2, 0, 3)

RESULTS: dict[str, tuple[OneNode, Any]] = {
    "Affine": (node("Affine", 7, X, alpha=2.0, beta=-1.0), floats(-5, -1, 5)),
    "Scale": (node("Scale", 7, X, scale=3.0), floats(-6, 0, 9)),
    "ScaledTanh": (node("ScaledTanh", 7, X, alpha=2.0, beta=0.5), 2 * numpy.tanh(X / 2)),
    "ParametricSoftplus": (node("ParametricSoftplus", 7, X, alpha=2.0, beta=0.5), 2 * numpy.log1p(numpy.exp(X / 2))),
    "ThresholdedRelu": (node("ThresholdedRelu", 7, floats(0.25, 0.5, 0.75), alpha=0.5), floats(0, 0, 0.75)),
    "ImageScaler": (
        node("ImageScaler", 7, IMAGE, scale=2.0, bias=[1.0, -1.0]),
        2 * IMAGE + floats(1, -1)[:, None, None],
    ),
    "Crop by its border": (node("Crop", 7, IMAGE, border=[1, 0, 0, 2]), IMAGE[:, :, :1, 1:]),
    "Crop to a size": (node("Crop", 7, IMAGE, border=[1, 1, 0, 0], scale=[2, 1]), IMAGE[:, :, 1:, 1:2]),
    "DynamicSlice": (node("DynamicSlice", 7, IMAGE[0, 0], ints(0, 1), ints(2, -1)), IMAGE[0, 0, :2, 1:-1]),
    "DynamicSlice of named axes": (
        node("DynamicSlice", 7, IMAGE[0, 0], ints(1, 0), ints(3, 2), ints(-1, 0)),
        IMAGE[0, 0, :2, 1:3],
    ),
    "ConstantFill": (node("ConstantFill", 7, value=2.5, dtype=7, shape=[2]), ints(2, 2)),
    "ConstantFill by an input": (
        node("ConstantFill", 7, ints(2), value=2.5, input_as_shape=1, extra_shape=[1]),
        floats([2.5], [2.5]),
    ),
    "GivenTensorFill": (node("GivenTensorFill", 7, values=[1.0, 2.0], shape=[2, 1]), floats([1], [2])),
}


@pytest.mark.parametrize("name", RESULTS)
def test_they_compute_what_onnx_wrote_of_them(name: str) -> None:
    case, expected = RESULTS[name]
    assert_gives(case, expected, strict=False, rtol=1e-6)


ILLEGAL = {
    "one of 1 values": node("ImageScaler", 7, IMAGE, bias=[1.0]),
    "scale two sizes": node("Crop", 7, IMAGE, scale=[1]),
    "does not lie within": node("Crop", 7, IMAGE, border=[3, 0, 2, 0]),
    "of one length, and each": node("DynamicSlice", 7, IMAGE[0, 0], ints(0, 0), ints(1, 1), ints(1, -1)),
    "beyond the rank 2": node("DynamicSlice", 7, IMAGE[0, 0], ints(0), ints(1), ints(2)),
    "NaN is no integer": node("ConstantFill", 7, value=float("nan"), dtype=6, shape=[1]),
    "do not fill the shape": node("GivenTensorFill", 7, values=[1.0], shape=[2]),
}


@pytest.mark.parametrize("clause", ILLEGAL)
def test_what_onnx_ruled_out_is_rejected(clause: str) -> None:
    assert_rejected(ILLEGAL[clause], clause, strict=False)


def test_strictly_they_are_in_no_opset() -> None:
    assert_rejected(RESULTS["Affine"][0], "which no opset has")
