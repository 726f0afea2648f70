"""Clip across its versions: where the bounds stand, and what an absent one means."""

import numpy
import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite


def test_bounds_become_inputs_and_absent_ones_stay_absent():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 6]> g (float[3] x) => (float[3] y) { y = Clip <max = 6.0> (x) }',
        '<ir_version: 6, opset_import: ["": 11]> g (float[3] x) => (float[3] y) <float y_max = {6.0}> '
        "{ y = Clip (x, , y_max) }",
    )


def test_no_bounds_at_all_need_no_dtype():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 6]> g (float[3] x) => (float[3] y) { y = Clip (x) }',
        '<ir_version: 6, opset_import: ["": 11]> g (float[3] x) => (float[3] y) { y = Clip (x) }',
    )


def test_doubles_were_clipped_to_the_limits_of_float_at_6():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 6]> g (double[3] x) => (double[3] y) { y = Clip <min = 0.0> (x) }',
        '<ir_version: 6, opset_import: ["": 11]> g (double[3] x) => (double[3] y) '
        "<double y_min = {0.0}, double y_max = {3.4028234663852886e+38}> { y = Clip (x, y_min, y_max) }",
    )


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.quick_share(2)
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
@pytest.mark.parametrize("attributes", ["", "<min = -0.1>", "<min = 0.1, max = 1e30>"])
@pytest.mark.parametrize(("source", "to"), [(1, 6), (1, 13), (6, 1), (6, 11), (6, 13)])
def test_attributes_mean_the_same_at_every_version(dtype, attributes, source, to):
    check_converts(
        f'<ir_version: 3, opset_import: ["": {source}]> g ({dtype}[N, 3] x) => ({dtype}[N, 3] y) '
        f"{{ y = Clip {attributes} (x) }}",
        to,
        exact=True,
    )


def test_constant_bounds_become_attributes():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (float[3] x) => (float[3] y) <float low = {0}, float high = {6}> '
        "{ y = Clip (x, low, high) }",
        '<ir_version: 3, opset_import: ["": 6]> g (float[3] x) => (float[3] y) '
        "{ y = Clip <min: float = 0.0, max: float = 6.0> (x) }",
    )


def test_bounds_of_the_run_go_to_max_and_min():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (float[3] x, float low, float high) => (float[3] y) '
        "{ y = Clip (x, low, high) }",
        '<ir_version: 5, opset_import: ["": 10]> g (float[3] x, float low, float high) => (float[3] y) '
        "{ y_Max = Max (x, low) y = Min (y_Max, high) }",
    )


def test_bounds_that_a_float_does_not_hold_go_to_max_and_min():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (double[3] x) => (double[3] y) '
        "<double low = {0.1}, double high = {1}> { y = Clip (x, low, high) }",
        '<ir_version: 5, opset_import: ["": 10]> g (double[3] x) => (double[3] y) '
        "<double low = {0.1}, double high = {1}> { y_Max = Max (x, low) y = Min (y_Max, high) }",
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
@pytest.mark.parametrize("inputs", ["x", "x, low", "x, , high", "x, low, high"])
@pytest.mark.parametrize("to", [10, 7, 6, 1])
def test_inputs_mean_the_same_below_11(dtype, inputs, to):
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g ({dtype}[2, 3] x, {dtype} low, {dtype} high) => ({dtype}[2, 3] y) '
        f"{{ y = Clip ({inputs}) }}",
        to,
        exact=True,
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("to", [11, 7])
def test_integers_are_clipped_by_extremes_below_12(dtype, to):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 12]> g ({dtype}[N, 3] x, {dtype} low) => ({dtype}[N, 3] y) '
        f"<{dtype} high = {{5}}> {{ y = Clip (x, low, high) }}",
        to,
        exact=True,
    )


def test_integers_without_bounds_are_not_clipped():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 12]> g (int32[3] x) => (int32[3] y) { y = Clip (x) }',
        '<ir_version: 6, opset_import: ["": 11]> g (int32[3] x) => (int32[3] y) { y = Identity (x) }',
    )


def test_bfloat16_is_refused_below_13():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 13]> g (bfloat16[3] x) => (bfloat16[3] y) { y = Clip (x) }',
        12,
        Why.DTYPE_NOT_AVAILABLE,
        "bfloat16",
    )


@pytest.mark.parametrize("to", [10, 6])
def test_a_min_above_max_goes_to_extremes_below_11(to):
    onnxruntime = pytest.importorskip("onnxruntime")
    converted = check_converts(
        '<ir_version: 7, opset_import: ["": 13]> g (float[4] x) => (float[4] y) <float low = {2}, float high = {-1}> '
        "{ y = Clip (x, low, high) }",
        to,
        exact=True,
    )
    if to >= 7:
        session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
        assert session.run(None, {"x": numpy.array([-3, 0, 3, 9], numpy.float32)})[0].tolist() == [-1] * 4
