"""Resize across its versions."""

import itertools

import numpy
import onnx
import pytest

from opsetlift import convert
from opsetlift.support.refusal import Why
from opsetlift_rules.resize import scales_to_reach
from testing.conversion import check_converts, check_refusal, check_rewrite
from testing.pairs import every_pair

_TRANSFORMATIONS = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")


def test_nearest_upwards_to_11_is_the_floor_of_coordinates_from_the_origin():
    check_rewrite(
        '<ir_version: 5, opset_import: ["": 10]> g (float[1, 2] x) => (float[1, 4] y) <float[2] s = {1, 2}> '
        "{ y = Resize (x, s) }",
        '<ir_version: 6, opset_import: ["": 11]> g (float[1, 2] x) => (float[1, 4] y) '
        "<float[2] s = {1, 2}, float[0] y_roi = {}> { y = Resize <coordinate_transformation_mode: string = "
        '"asymmetric", nearest_mode: string = "floor"> (x, y_roi, s) }',
    )


def test_nearest_upwards_to_11_is_the_ceiling_where_it_samples_down():
    after = check_converts(
        '<ir_version: 5, opset_import: ["": 10]> g (float[5, 4] x) => (float[M, N] y) <float[2] s = {0.6, 0.5}> '
        "{ y = Resize (x, s) }",
        11,
        exact=True,
    )
    assert [attribute.s for attribute in after.graph.node[0].attribute] == [b"asymmetric", b"ceil"]


@pytest.mark.parametrize("scales", ["<float[2] s = {0.6, 2.5}>", ""])
def test_nearest_both_up_and_down_takes_two_resizes_at_11(scales):
    declared = "" if scales else ", float[2] s"
    after = check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g (float[5, 4] x{declared}) => (float[M, N] y) {scales} '
        "{ y = Resize (x, s) }",
        11,
        exact=True,
    )
    assert [node.op_type for node in after.graph.node if node.op_type not in ("Max", "Min")] == ["Resize"] * 2


def test_linear_upwards_to_11_keeps_its_scales():
    check_converts(
        '<ir_version: 5, opset_import: ["": 10]> g (float[1, 4] x) => (float[M, N] y) <float[2] s = {1, 1.7}> '
        '{ y = Resize <mode = "linear"> (x, s) }',
        28,
        exact=True,
    )


def test_a_whole_factor_needs_no_half_pixels_below_11():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (string[N, 2] x) => (string[M, 6] y) '
        "<float[0] r = {}, float[2] s = {1, 3}> { y = Resize (x, r, s) }",
        '<ir_version: 5, opset_import: ["": 10]> g (string[N, 2] x) => (string[M, 6] y) <float[2] s = {1, 3}> '
        "{ y = Resize (x, s) }",
    )


def test_sizes_of_a_known_shape_become_scales_below_11():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (float[3, 2] x) => (float[3, 5] y) '
        "<float[0] r = {}, float[0] e = {}, int64[2] s = {3, 5}> "
        '{ y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, r, e, s) }',
        '<ir_version: 5, opset_import: ["": 10]> g (float[3, 2] x) => (float[3, 5] y) <float[2] y_scales = {1, 2.5}> '
        '{ y = Resize <mode: string = "linear"> (x, y_scales) }',
    )


def test_known_scales_take_one_gather_for_each_axis():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 13]> g (bool[N, 2] x) => (bool[M, 3] y) <float[2] s = {1, 1.5}> '
        "{ y = Resize (x, , s) }",
        '<ir_version: 5, opset_import: ["": 10]> g (bool[N, 2] x) => (bool[M, 3] y) <int64[3] y_indices = {0, 0, 1}> '
        "{ y = Gather <axis: int = 1> (x, y_indices) }",
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("transformation", _TRANSFORMATIONS)
def test_averages_by_known_scales_are_gathered_weighted_and_summed(mode, transformation):
    after = check_converts(
        f'<ir_version: 9, opset_import: ["": 19]> g (float[N, 4, 3] x) => (float[M, A, B] y) '
        f"<float[3] s = {{1, 1.7, 0.4}}> "
        f'{{ y = Resize <mode = "{mode}", coordinate_transformation_mode = "{transformation}"> (x, , s) }}',
        9,
    )
    if (mode, transformation) != ("linear", "asymmetric"):
        assert [node.op_type for node in after.graph.node] == ["Gather", "Mul", "ReduceSum"] * 2


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(
    ("transformation", "rounding"),
    list(itertools.product(_TRANSFORMATIONS, ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])),
)
@pytest.mark.parametrize("scale", ["2", "1.7", "0.4", "0.25"])
def test_nearest_moves_every_dtype_exactly(transformation, rounding, scale):
    check_converts(
        f'<ir_version: 9, opset_import: ["": 19]> g (int16[4] x) => (int16[M] y) <float[1] s = {{{scale}}}> '
        f'{{ y = Resize <coordinate_transformation_mode = "{transformation}", nearest_mode = "{rounding}"> (x, , s) }}',
        9,
        exact=True,
    )


@pytest.mark.quick_share(30)
@pytest.mark.parametrize(
    ("transformation", "mode", "inputs"),
    every_pair(_TRANSFORMATIONS, ["nearest", "linear", "cubic"], ["float[2] s", "int64[2] s"]),
)
def test_scales_and_sizes_computed_at_run_time_are_followed(transformation, mode, inputs):
    given = "x, , s" if inputs.startswith("float") else "x, , , s"
    check_converts(
        f'<ir_version: 9, opset_import: ["": 19]> g (float[A, B] x, {inputs}) => (float[M, N] y) '
        f'{{ y = Resize <mode = "{mode}", coordinate_transformation_mode = "{transformation}"> ({given}) }}',
        9,
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("outside", [0, 1])
@pytest.mark.parametrize("scales", ["<float[1] s = {0.3}>", "<float[1] s = {1.5}>", ""])
def test_antialiasing_is_a_longer_list_of_neighbours_below_18(mode, outside, scales):
    declared = "" if scales else ", float[1] s"
    check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g (double[9] x{declared}) => (double[M] y) {scales} '
        f'{{ y = Resize <mode = "{mode}", antialias = 1, exclude_outside = {outside}> (x, , s) }}',
        17,
    )


def test_antialiasing_does_nothing_where_no_axis_shrinks():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 18]> g (float[9] x) => (float[18] y) <float[1] s = {2}> '
        '{ y = Resize <mode = "linear", antialias = 1> (x, , s) }',
        '<ir_version: 8, opset_import: ["": 17]> g (float[9] x) => (float[18] y) <float[1] s = {2}> '
        '{ y = Resize <mode: string = "linear"> (x, , s) }',
    )


def test_scales_of_some_axes_become_scales_of_all_below_18():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 18]> g (float[A, B, C] x) => (float[D, E, F] y) '
        '<float[2] s = {2, 3}> { y = Resize <mode = "linear", axes = [-3, 2]> (x, , s) }',
        '<ir_version: 8, opset_import: ["": 17]> g (float[A, B, C] x) => (float[D, E, F] y) '
        '<float[3] y_spread = {2, 1, 3}> { y = Resize <mode: string = "linear"> (x, , y_spread) }',
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("inputs", ["x, , s", "x, , , z", "x, r, s", "x, r, , z"])
def test_axes_whose_scales_are_computed_at_run_time_are_spread_below_18(inputs):
    attributes = 'mode = "linear", axes = [-1], extrapolation_value = 9.0' + (
        ', coordinate_transformation_mode = "tf_crop_and_resize"' if "r" in inputs else ""
    )
    declared = {"s": "float[1] s", "z": "int64[1] z", "r": "float16[2] r"}
    given = ", ".join(declared[name] for name in inputs.split(", ") if name in declared)
    check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g (float[A, B] x, {given}) => (float[M, N] y) '
        f"{{ y = Resize <{attributes}> ({inputs}) }}",
        17,
        exact=True,
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("sizes", ["<int64[2] s = {7, 9}>", ""])
def test_aspect_ratios_give_the_lengths_below_18(policy, mode, sizes):
    declared = "" if sizes else ", int64[2] s"
    check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g (float[2, 4, 6] x{declared}) => (float[2, M, N] y) {sizes} '
        f'{{ y = Resize <mode = "{mode}", axes = [1, 2], keep_aspect_ratio_policy = "{policy}"> (x, , , s) }}',
        17,
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("roi", ["<float[2] r = {-0.4, 1.2}>", ""])
def test_crops_extrapolate_below_11(mode, roi):
    declared = "" if roi else ", float[2] r"
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g (float[5] x{declared}, int64[1] s) => (float[M] y) {roi} '
        f'{{ e = Constant <value = float[0] {{}}> () y = Resize <mode = "{mode}", extrapolation_value = 7.5, '
        'coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, e, s) }',
        10,
    )


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("to", [10, 13])
def test_the_mode_that_13_gave_up_is_written_otherwise(rounding, mode, to):
    after = check_converts(
        '<ir_version: 6, opset_import: ["": 11]> g (float[5] x) => (float[M] y) '
        f'<float[0] r = {{}}, float[1] s = {{1.7}}> {{ y = Resize <mode = "{mode}", nearest_mode = "{rounding}", '
        'coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, r, s) }',
        to,
        exact=mode == "nearest",
    )
    if (to, mode, rounding) == (13, "nearest", "floor"):
        assert [node.op_type for node in after.graph.node] == ["Resize"]


def test_empty_inputs_come_and_go_at_13():
    before = (
        '<ir_version: 6, opset_import: ["": 11]> g (float[N] x, int64[1] s) => (float[M] y) '
        "<float[0] y_empty = {}> { y = Resize (x, y_empty, y_empty, s) }"
    )
    after = (
        '<ir_version: 7, opset_import: ["": 13]> g (float[N] x, int64[1] s) => (float[M] y) { y = Resize (x, , , s) }'
    )
    check_rewrite(before, after)
    check_rewrite(after, before)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_bfloat16_is_computed_in_float_below_13(mode):
    check_refusal(
        '<ir_version: 8, opset_import: ["": 13]> g (bfloat16[4] x) => (bfloat16[M] y) <float[1] s = {1.5}> '
        f'{{ y = Resize <mode = "{mode}"> (x, , s) }}',
        12,
        Why.DTYPE_NOT_AVAILABLE,
        "bfloat16",
    )


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_averages_of_integers_by_halves_and_quarters_are_exact(dtype):
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g ({dtype}[3, 5] x) => ({dtype}[M, N] y) '
        '<float[0] r = {}, float[2] s = {2, 2}> { y = Resize <mode = "linear"> (x, r, s) }',
        9,
        exact=True,
    )


@pytest.mark.parametrize(
    ("dtype", "scale", "words"), [("int8", "1.7", "truncated"), ("int64", "2", "int64"), ("bool", "2", "bool")]
)
def test_averages_that_depend_on_the_order_of_addition_are_refused(dtype, scale, words):
    check_refusal(
        f'<ir_version: 6, opset_import: ["": 11]> g ({dtype}[5] x) => ({dtype}[N] y) '
        f'<float[0] r = {{}}, float[1] s = {{{scale}}}> {{ y = Resize <mode = "linear"> (x, r, s) }}',
        10,
        Why.NO_EQUIVALENT,
        words,
    )


def test_symmetric_pixels_of_whole_lengths_are_half_pixels_below_19():
    check_rewrite(
        '<ir_version: 9, opset_import: ["": 19]> g (float[4] x) => (float[6] y) <float[1] s = {1.5}> '
        '{ y = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric"> (x, , s) }',
        '<ir_version: 8, opset_import: ["": 18]> g (float[4] x) => (float[6] y) <float[1] s = {1.5}> '
        '{ y = Resize <mode: string = "linear", coordinate_transformation_mode: string = "half_pixel"> (x, , s) }',
    )


def test_scales_of_at_least_1_are_those_of_upsample_below_10():
    check_rewrite(
        '<ir_version: 5, opset_import: ["": 10]> g (float[N, 4] x) => (float[M, K] y) <float[2] s = {1, 1.6}> '
        '{ y = Resize <mode = "linear"> (x, s) }',
        '<ir_version: 4, opset_import: ["": 9]> g (float[N, 4] x) => (float[M, K] y) <float[2] s = {1, 1.6}> '
        '{ y = Upsample <mode: string = "linear"> (x, s) }',
    )


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("to", [9, 8, 7, 6, 1])
def test_scales_below_1_are_written_out_below_10(mode, to):
    check_converts(
        '<ir_version: 5, opset_import: ["": 10]> g (float[4, 5] x) => (float[M, K] y) <float[2] s = {1.5, 0.6}> '
        f'{{ y = Resize <mode = "{mode}"> (x, s) }}',
        to,
        exact=mode == "nearest",
    )


def test_an_empty_tensor_stays_empty():
    check_converts(
        '<ir_version: 6, opset_import: ["": 11]> g (float[0, 5] x) => (float[0, N] y) '
        '<float[0] r = {}, float[2] s = {1.5, 1.7}> { y = Resize <mode = "cubic"> (x, r, s) }',
        9,
    )


def test_an_unknown_rank_is_refused():
    check_refusal(
        '<ir_version: 6, opset_import: ["": 11]> g (float[] x, float[K] s) => (float[] y) '
        "<float[0] r = {}> { y = Resize (x, r, s) }",
        10,
        Why.RANK_UNKNOWN,
    )


def test_scales_give_the_sizes_to_every_reader():
    """onnxruntime multiplies in float32, onnx's inference in double; both take the floor."""
    sizes = numpy.arange(1, 513)
    for dim in range(1, 513):
        scales = scales_to_reach([dim] * 512, sizes.tolist())
        assert scales is not None
        assert scales.dtype == numpy.float32
        assert (numpy.floor(numpy.float32(dim) * scales) == sizes).all(), dim
        assert (numpy.floor(dim * scales.astype(numpy.float64)) == sizes).all(), dim
        quotients = sizes.astype(numpy.float32) / numpy.float32(dim)
        assert (scales <= numpy.nextafter(quotients, numpy.float32(numpy.inf))).all(), dim
        assert (scales >= quotients).all(), dim


def _pairs():
    random = numpy.random.default_rng(0)
    drawn = [tuple(random.integers(1, 200, 2).tolist()) for _ in range(12)]
    return [(6, 10), (6, 14), (3, 7), (7, 3), (10, 6), (49, 50), (1, 41), (93, 93), *drawn]


@pytest.mark.slow
@pytest.mark.parametrize("opset", [8, 10])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_sizes_below_11_give_onnxruntime_and_onnx_the_same_shape_and_elements(mode, opset):
    for size, length in _pairs():
        rounding = "floor" if length >= size else "ceil"
        before = onnx.parser.parse_model(
            f'<ir_version: 7, opset_import: ["": 13]> g (float[1, 1, {size}, 3] x) => (float[1, 1, {length}, 3] y) '
            f'<int64[4] s = {{1, 1, {length}, 3}}> {{ y = Resize <mode: string = "{mode}", nearest_mode: string = '
            f'"{rounding}", coordinate_transformation_mode: string = "asymmetric"> (x, , , s) }}'
        )
        after = convert(before, to=opset).model
        after.graph.output[0].type.tensor_type.ClearField("shape")
        inferred = onnx.shape_inference.infer_shapes(after, strict_mode=True, data_prop=True)
        dims = [dim.dim_value for dim in inferred.graph.output[0].type.tensor_type.shape.dim]
        assert dims in ([1, 1, length, 3], [0] * len(dims)), (size, length)
        x = numpy.random.default_rng(1).standard_normal((1, 1, size, 3)).astype(numpy.float32)
        expected, found = (_in_onnxruntime(one, x) for one in (before, after))
        assert found.shape == (1, 1, length, 3)
        if mode == "nearest":
            assert (found == expected).all(), (size, length)
        else:
            numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def _in_onnxruntime(model, x):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


@pytest.mark.parametrize("seed", [2, 7])
def test_long_axes_that_a_crop_leaves_alone_stay_as_they_are(seed):
    """Their products with a length of 65,536 are no floats, where 17 has to name them."""
    found = convert(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["": 18]> g (float[A, B] x, float16[2] r, float[1] s) => (float[M, N] y) '
            '{ y = Resize <mode = "linear", axes = [-1], extrapolation_value = 9.0, '
            'coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, s) }'
        ),
        to=17,
        seed=seed,
    )
    assert found.certificate.is_proven
