"""Upsample across its versions."""

import numpy
import pytest

from opsetlift.evaluator import Evaluator
from testing.conversion import check_converts, check_rewrite, model
from testing.onnxruntime_judge import OLDEST_OPSET, run_in_onnxruntime


def test_image_scales_become_scales_for_every_axis_and_back():
    before = (
        '<ir_version: 3, opset_import: ["": 1]> g (float[1, 2, 3, 4] x) => (float[1, 2, 6, 6] y) '
        '{{ y = Upsample <{}mode: string = "bilinear"{}> (x) }}'
    )
    scales = "height_scale: float = 2, width_scale: float = 1.5"
    after = (
        '<ir_version: 3, opset_import: ["": 7]> g (float[1, 2, 3, 4] x) => (float[1, 2, 6, 6] y) '
        '{{ y = Upsample <{}mode: string = "linear"{}> (x) }}'
    )
    all_scales = "scales: floats = [1, 1, 2, 1.5]"
    check_rewrite(before.format(f"{scales}, ", ""), after.format("", "").replace("<mode", f"<{all_scales}, mode"))
    check_rewrite(after.format("", "").replace("<mode", f"<{all_scales}, mode"), before.format(f"{scales}, ", ""))


def test_scales_move_between_attribute_and_input_at_9():
    before = (
        '<ir_version: 3, opset_import: ["": 8]> g (string[A, B] x) => (string[M, N] y) '
        "{ y = Upsample <scales: floats = [1, 2.5]> (x) }"
    )
    after = (
        '<ir_version: 4, opset_import: ["": 9]> g (string[A, B] x) => (string[M, N] y) <float[2] y_scales = {1, 2.5}> '
        "{ y = Upsample (x, y_scales) }"
    )
    check_rewrite(before, after)
    check_rewrite(after, before)


def test_upsample_becomes_resize_at_10():
    check_rewrite(
        '<ir_version: 4, opset_import: ["": 9]> g (float[A, B] x, float[2] s) => (float[M, N] y) '
        "{ y = Upsample (x, s) }",
        '<ir_version: 5, opset_import: ["": 10]> g (float[A, B] x, float[2] s) => (float[M, N] y) '
        "{ y = Resize (x, s) }",
    )


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample_keeps_its_coordinates_on_the_whole_way_up(mode):
    check_converts(
        '<ir_version: 3, opset_import: ["": 7]> g (float[3, 4] x) => (float[M, N] y) '
        f'{{ y = Upsample <mode = "{mode}", scales: floats = [1.4, 2]> (x) }}',
        28,
        exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "to"), [("nearest", 7), ("nearest", 6), ("linear", 8)])
def test_scales_computed_at_run_time_are_followed_below_9(mode, to):
    check_converts(
        '<ir_version: 4, opset_import: ["": 9]> g (float[A, B] x, float[2] s) => (float[M, N] y) '
        f'{{ y = Upsample <mode = "{mode}"> (x, s) }}',
        to,
        exact=mode == "nearest",
    )


@pytest.mark.parametrize("dtype", ["uint8", "int64", "string"])
@pytest.mark.parametrize("scales", ["[1, 1, 2, 1.5]", "[2, 1, 1, 3]"])
def test_other_dtypes_and_other_axes_travel_or_are_gathered_below_7(dtype, scales):
    check_converts(
        f'<ir_version: 3, opset_import: ["": 7]> g ({dtype}[2, 2, 3, 4] x) => ({dtype}[A, B, C, D] y) '
        f"{{ y = Upsample <scales: floats = {scales}> (x) }}",
        6,
        exact=True,
    )


def test_other_ranks_are_averaged_axis_by_axis_below_7():
    check_converts(
        '<ir_version: 3, opset_import: ["": 7]> g (double[3, 4] x) => (double[A, B] y) '
        '{ y = Upsample <mode = "linear", scales: floats = [2, 1.5]> (x) }',
        1,
    )


@pytest.mark.parametrize("to", [8, 6, 13])
@pytest.mark.parametrize("shape", ["1, 1", "1, 3"])
def test_an_infinity_at_the_edge_is_repeated_as_runtimes_do(to, shape):
    """Beyond the last element both neighbours are that element, whatever their weights."""
    text = (
        f'<ir_version: 4, opset_import: ["": 9]> g (float[{shape}] x) => (float[A, B] y) <float[2] s = {{1, 3}}> '
        '{ y = Upsample <mode = "linear"> (x, s) }'
    )
    data = numpy.ones([int(size) for size in shape.split(", ")], numpy.float32)
    data[:, -1] = numpy.inf
    expected = Evaluator(model(text)).run({"x": data})["y"]
    assert numpy.isinf(expected[:, -3:]).all()
    for one in (model(text), check_converts(text, to)):
        numpy.testing.assert_array_equal(Evaluator(one).run({"x": data})["y"], expected)
        if one.opset_import[0].version >= OLDEST_OPSET:
            numpy.testing.assert_array_equal(run_in_onnxruntime(one, {"x": data})[0][:, -3:], expected[:, -3:])
