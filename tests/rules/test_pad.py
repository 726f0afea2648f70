"""Pad and CenterCropPad across their versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite
from testing.pairs import every_pair

DTYPES = ["float", "double", "float16", "int8", "uint16", "int32", "int64", "uint64", "bool", "string", "complex64"]


def test_paddings_become_pads_at_2():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 1]> g (float[A, B] x) => (float[M, N] y) '
        "{ y = Pad <paddings = [0, 1, 2, 0], value = 1.5> (x) }",
        '<ir_version: 3, opset_import: ["": 2]> g (float[A, B] x) => (float[M, N] y) '
        "{ y = Pad <value = 1.5, pads = [0, 1, 2, 0]> (x) }",
    )


def test_negative_pads_are_sliced_off_below_2():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 2]> g (float[A, B] x) => (float[M, N] y) '
        '{ y = Pad <pads = [-1, 1, -2, 0], mode = "edge"> (x) }',
        '<ir_version: 3, opset_import: ["": 1]> g (float[A, B] x) => (float[M, N] y) '
        "{ y_Slice = Slice <axes = [0], starts = [1], ends = [-2]> (x) "
        'y = Pad <mode = "edge", paddings = [0, 1, 0, 0]> (y_Slice) }',
    )


@pytest.mark.parametrize(
    ("value", "name", "declared"),
    [("", "", ""), ("value = 0.0,", "", ""), ("value = 2.5,", ", y_value", ", float y_value = {2.5}")],
)
def test_attributes_become_inputs_at_11(value, name, declared):
    check_rewrite(
        f'<ir_version: 3, opset_import: ["": 2]> g (float[N] x) '
        f"=> (float[M] y) {{ y = Pad <{value} pads = [1, 2]> (x) }}",
        f'<ir_version: 6, opset_import: ["": 11]> g (float[N] x) '
        f"=> (float[M] y) <int64[2] y_pads = {{1, 2}}{declared}> "
        f"{{ y = Pad (x, y_pads{name}) }}",
    )


@pytest.mark.parametrize("value", ["-0.0", "nan", "inf", "65504.0"])
def test_special_values_stay_what_they_are_across_11(value):
    check_converts(
        f'<ir_version: 3, opset_import: ["": 2]> g (float16[N] x) => (float16[M] y) '
        f"{{ y = Pad <value = {value}, pads = [1, 2]> (x) }}",
        13,
        exact=True,
    )


def test_constant_inputs_become_attributes_below_11():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (double[N] x) => (double[M] y) '
        "<int64[2] p = {1, -2}, double v = {0.5}> { y = Pad (x, p, v) }",
        '<ir_version: 5, opset_import: ["": 10]> g (double[N] x) => (double[M] y) '
        "{ y = Pad <pads = [1, -2], value = 0.5> (x) }",
    )


def test_a_double_that_no_float_holds_is_gathered_below_11():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (double[2] x) => (double[3] y) '
        "<int64[2] p = {0, 1}, double v = {0.1}> { y = Pad (x, p, v) }",
        '<ir_version: 5, opset_import: ["": 10]> g (double[2] x) => (double[3] y) '
        "<double v = {0.1}, int64[3] y_indices = {0, 1, 2}, int64[1] y_shape = {1}> "
        "{ y_Expand = Expand (v, y_shape) y_Concat = Concat <axis = 0> (x, y_Expand) "
        "y = Gather <axis = 0> (y_Concat, y_indices) }",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "mode", "to"),
    every_pair(DTYPES, ["constant", "reflect", "edge"], [12, 10, 9, 8, 7]),
)
def test_constant_pads_go_below_13_in_every_dtype(dtype, mode, to):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 13]> g ({dtype}[N, 3] x) => ({dtype}[M, K] y) '
        f'<int64[4] p = {{1, -1, 4, 2}}> {{ y = Pad <mode = "{mode}"> (x, p) }}',
        to,
        exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "mode", "to"),
    every_pair(["float", "int64", "string"], ["constant", "reflect", "edge", "wrap"], [18, 12, 9, 8, 7]),
)
def test_pads_computed_at_run_time_go_below_19(dtype, mode, to):
    check_converts(
        f'<ir_version: 9, opset_import: ["": 19]> g ({dtype}[A, B] x, int64[4] p) => ({dtype}[M, K] y) '
        f'{{ y = Pad <mode = "{mode}"> (x, p) }}',
        to,
        exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float", "int32", "uint64", "string"])
@pytest.mark.parametrize("to", [10, 8, 7])
def test_a_value_computed_at_run_time_goes_below_11(dtype, to):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 13]> g ({dtype}[A, B] x, {dtype} v) => ({dtype}[M, K] y) '
        "<int64[4] p = {1, 0, 2, 1}> { y = Pad (x, p, v) }",
        to,
        exact=True,
    )


def test_pads_of_some_axes_become_those_of_all_below_18():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 18]> g (float[A, B, C] x) => (float[] y) '
        "<int64[4] p = {1, 2, 3, 4}, int32[2] a = {-1, 0}> { y = Pad (x, p, , a) }",
        '<ir_version: 8, opset_import: ["": 17]> g (float[A, B, C] x) '
        "=> (float[] y) <int64[6] y_pads = {2, 0, 1, 4, 0, 3}> "
        "{ y = Pad (x, y_pads) }",
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("to", [17, 12, 9])
def test_axes_computed_at_run_time_go_below_18(dtype, to):
    check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g (float[A, B] x, {dtype}[1] a, float v) => (float[M, N] y) '
        "<int64[2] p = {1, 2}> { y = Pad (x, p, v, a) }",
        to,
        exact=True,
    )


def test_axes_need_the_rank_below_18():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 18]> g (float[] x) => (float[] y) '
        "<int64[2] p = {1, 2}, int64[1] a = {0}> { y = Pad (x, p, , a) }",
        17,
        Why.RANK_UNKNOWN,
    )


def test_a_known_dimension_is_wrapped_by_gather_below_19():
    check_rewrite(
        '<ir_version: 9, opset_import: ["": 19]> g (int8[3, N] x) => (int8[6, N] y) <int64[4] p = {2, 0, 1, 0}> '
        '{ y = Pad <mode = "wrap"> (x, p) }',
        '<ir_version: 8, opset_import: ["": 18]> g (int8[3, N] x) => (int8[6, N] y) '
        "<int64[6] y_indices = {1, 2, 0, 1, 2, 0}> { y = Gather <axis = 0> (x, y_indices) }",
    )


def test_float8_travels_in_float16_below_21():
    converted = check_converts(
        '<ir_version: 10, opset_import: ["": 21]> g (float8e5m2[N] x, float8e5m2 v) => (float8e5m2[M] y) '
        "<int64[2] p = {1, 2}> { y = Pad (x, p, v) }",
        20,
        exact=True,
    )
    assert [node.op_type for node in converted.graph.node] == ["Cast", "Cast", "Pad", "Cast"]


def test_a_known_centre_is_sliced_and_padded_below_18():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 18]> g (float[6, 3] x) => (float[3, 6] y) <int64[2] s = {3, 6}> '
        "{ y = CenterCropPad (x, s) }",
        '<ir_version: 8, opset_import: ["": 17]> g (float[6, 3] x) => (float[3, 6] y) '
        "<int64[1] y_axes = {0}, int64[1] y_starts = {1}, int64[1] y_ends = {4}, int64[4] y_pads = {0, 1, 0, 2}> "
        "{ y_Slice = Slice (x, y_starts, y_ends, y_axes) y = Pad (y_Slice, y_pads) }",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attributes", "dtype", "to"),
    every_pair(["axes = [1]", "axes = [-2]", "axes = [1, 0]"], ["int32", "int64"], [17, 12, 9, 7]),
)
def test_an_open_centre_goes_below_18(attributes, dtype, to):
    count = attributes.count(",") + 1
    check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g (int64[A, B] x, {dtype}[{count}] s) => (int64[M, N] y) '
        f"{{ y = CenterCropPad <{attributes}> (x, s) }}",
        to,
        exact=True,
    )


def test_a_centre_of_all_axes_goes_below_18():
    check_converts(
        '<ir_version: 8, opset_import: ["": 18]> g (bfloat16[A, B] x, int64[2] s) => (bfloat16[M, N] y) '
        "{ y = CenterCropPad (x, s) }",
        17,
        exact=True,
    )


def test_pads_that_are_sliced_out_of_constants_become_an_attribute():
    converted = check_converts(
        """
        <ir_version: 7, opset_import: ["": 13]> g (float[2,3] x) => (float[2,5] y) {
            table = Constant <value_ints: ints = [9, 0, 1, 0, 1]>()
            start = Constant <value_ints: ints = [1]>()
            end = Constant <value_ints: ints = [5]>()
            axis = Constant <value_ints: ints = [0]>()
            pads = Slice(table, start, end, axis)
            y = Pad(x, pads)
        }
        """,
        10,
    )
    pad = next(node for node in converted.graph.node if node.op_type == "Pad")
    assert list(next(one for one in pad.attribute if one.name == "pads").ints) == [0, 1, 0, 1]
