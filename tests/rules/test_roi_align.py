"""RoiAlign across its versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite
from testing.pairs import every_pair


@pytest.mark.slow
def test_the_shift_of_16_is_none_of_10():
    older = (
        '<ir_version: 5, opset_import: ["": 10]> g (float[N, C, H, W] x, float[R, 4] r, int64[R] b) '
        "=> (float[R, C, 1, 1] y) { y = RoiAlign (x, r, b) }"
    )
    newer = (
        '<ir_version: 8, opset_import: ["": 16]> g (float[N, C, H, W] x, float[R, 4] r, int64[R] b) '
        "=> (float[R, C, 1, 1] y) "
        '{ y = RoiAlign <coordinate_transformation_mode: string = "output_half_pixel"> (x, r, b) }'
    )
    check_rewrite(older, newer)
    check_rewrite(newer, older)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "ratio", "transformation", "shapes"),
    every_pair(["avg", "max"], [0, 2], ["half_pixel", "output_half_pixel"], [("2, 3, 4, 5", "2"), ("N, C, H, W", "R")]),
)
def test_regions_are_sampled_below_10(mode, ratio, transformation, shapes):
    data, count = shapes
    check_converts(
        f'<ir_version: 8, opset_import: ["": 16]> g (float[{data}] x, float[{count}, 4] r, int64[{count}] b) '
        f'=> (float[{count}, C, 2, 3] y) {{ y = RoiAlign <coordinate_transformation_mode = "{transformation}", '
        f'mode = "{mode}", output_height = 2, output_width = 3, sampling_ratio = {ratio}, spatial_scale = 0.75> '
        "(x, r, b) }",
        9,
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["double", "float16"])
def test_other_floats_are_sampled_wide(dtype):
    check_converts(
        f'<ir_version: 8, opset_import: ["": 16]> g ({dtype}[2, 3, 4, 5] x, {dtype}[2, 4] r, int64[2] b) '
        f"=> ({dtype}[2, 3, 2, 2] y) {{ y = RoiAlign <output_height = 2, output_width = 2> (x, r, b) }}",
        15,
    )


def test_bfloat16_travels_in_float_below_22():
    after = check_converts(
        '<ir_version: 10, opset_import: ["": 22]> g (bfloat16[1, 3, 4, 5] x, bfloat16[2, 4] r, int64[2] b) '
        "=> (bfloat16[2, 3, 2, 2] y) { y = RoiAlign <output_height = 2, output_width = 2> (x, r, b) }",
        16,
    )
    assert [node.op_type for node in after.graph.node] == ["Cast", "Cast", "RoiAlign", "Cast"]


def test_more_bins_than_can_be_listed_are_refused():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 16]> g (float[1, 1, 4, 5] x, float[1, 4] r, int64[1] b) '
        "=> (float[1, 1, h, 2] y) { y = RoiAlign <output_height = 2147483648, output_width = 2> (x, r, b) }",
        9,
        Why.NO_EQUIVALENT,
        "2147483648 bins would be listed",
    )
