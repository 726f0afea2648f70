"""Softmax, LogSoftmax, Hardmax: one axis from 13 on, all from it on below."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

OPERATORS = ["Softmax", "LogSoftmax", "Hardmax"]


def along(operator, opset, shape, attributes="", dtype="float"):
    return (
        f'<ir_version: 10, opset_import: ["": {opset}]> g ({dtype}[{shape}] x) => ({dtype}[{shape}] y) '
        f"{{ y = {operator} {attributes} (x) }}"
    )


def test_the_default_axis_is_written_down_at_13():
    check_rewrite(along("Softmax", 11, "N, 3"), along("Softmax", 13, "N, 3", "<axis: int = 1>"))


def test_trailing_dimensions_are_flattened_at_13():
    check_rewrite(
        along("Softmax", 11, "N, 3, 4"),
        '<ir_version: 7, opset_import: ["": 13]> g (float[N, 3, 4] x) => (float[N, 3, 4] y) '
        "{ y_Flatten = Flatten <axis: int = 1> (x) y_Softmax = Softmax <axis: int = -1> (y_Flatten) "
        "y_Shape = Shape (x) y = Reshape (y_Softmax, y_Shape) }",
    )


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("shape", ["2, 3, 4", "A, B, C", "2, 1, 1", "2, 3, 0"])
@pytest.mark.parametrize("to", [13, 14, 28])
def test_all_dimensions_from_the_axis_on_count_as_one_upwards(operator, axis, shape, to):
    check_converts(along(operator, 11, shape, f"<axis = {axis}>"), to, exact=True)


def test_an_unknown_rank_is_no_obstacle_upwards():
    check_converts(
        '<ir_version: 6, opset_import: ["": 11]> g (float[N, 3, 4] x, int64[K] s) => (float[A, B] z) '
        "{ r = Reshape (x, s) y = Softmax (r) z = Flatten (y) }",
        14,
        exact=True,
    )


def test_another_axis_is_moved_behind_the_others_below_13():
    check_rewrite(
        along("Hardmax", 13, "N, 3, 4", "<axis = 1>"),
        '<ir_version: 6, opset_import: ["": 11]> g (float[N, 3, 4] x) => (float[N, 3, 4] y) '
        "{ y_Transpose = Transpose <perm: ints = [0, 2, 1]> (x) y_Hardmax = Hardmax <axis: int = -1> (y_Transpose) "
        "y = Transpose <perm: ints = [0, 2, 1]> (y_Hardmax) }",
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("attributes", ["", "<axis = 0>", "<axis = 1>", "<axis = 2>", "<axis = -2>"])
@pytest.mark.parametrize("shape", ["2, 3, 4", "A, B, C", "2, 3, 1", "0, 3, 2"])
@pytest.mark.parametrize("to", [11, 1])
def test_one_axis_stays_one_axis_downwards(operator, attributes, shape, to):
    check_converts(along(operator, 13, shape, attributes), to, exact=True)


def test_an_axis_that_may_not_be_the_last_one_needs_a_rank_downwards():
    check_refusal(
        '<ir_version: 7, opset_import: ["": 13]> g (float[] x) => (float[] y) { y = Softmax <axis = 1> (x) }',
        12,
        Why.RANK_UNKNOWN,
        "'x'",
    )


def test_an_axis_beyond_the_rank_is_an_error_of_the_model():
    check_refusal(
        '<ir_version: 7, opset_import: ["": 11]> g (float[N] x) => (float[N] y) { y = Softmax <axis = 3> (x) }',
        13,
        Why.INVALID_MODEL,
        "axis [3]",
    )


@pytest.mark.parametrize("order", [1, 2])
def test_lp_normalization_of_bfloat16_is_computed_in_float_below_22(order):
    check_converts(along("LpNormalization", 22, "N, 3", f"<p = {order}>", "bfloat16"), 21)
