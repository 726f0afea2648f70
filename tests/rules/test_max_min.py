"""Min across its versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite


def test_consumed_inputs_disappear_upwards():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 1]> g (float[2] a, float[2] b) => (float[2] y) '
        "{ y = Min <consumed_inputs = [0, 0]> (a, b) }",
        '<ir_version: 3, opset_import: ["": 6]> g (float[2] a, float[2] b) => (float[2] y) { y = Min (a, b) }',
    )


def test_equal_symbolic_shapes_need_nothing_below_8():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 8]> g (float[N, 2] a, float[N, 2] b) => (float[N, 2] y) { y = Min (a, b) }',
        '<ir_version: 3, opset_import: ["": 7]> g (float[N, 2] a, float[N, 2] b) => (float[N, 2] y) { y = Min (a, b) }',
    )


def test_one_input_of_unknown_shape_needs_nothing_below_8():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 8]> g (float[] a) => (float[] y) { y = Min (a) }',
        '<ir_version: 3, opset_import: ["": 7]> g (float[] a) => (float[] y) { y = Min (a) }',
    )


def test_32_bit_integers_travel_in_double_below_12():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 12]> g (int32[3] a, int32[3] b) => (int32[3] y) { y = Min (a, b) }',
        '<ir_version: 6, opset_import: ["": 11]> g (int32[3] a, int32[3] b) => (int32[3] y) '
        "{ y_Cast = Cast <to = 11> (a) y_Cast_1 = Cast <to = 11> (b) "
        "y_Min = Min (y_Cast, y_Cast_1) y = Cast <to = 6> (y_Min) }",
    )


def test_64_bit_integers_are_compared_below_12():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 12]> g (int64[2, 1] a, int64[3] b) => (int64[2, 3] y) { y = Min (a, b) }',
        '<ir_version: 6, opset_import: ["": 11]> g (int64[2, 1] a, int64[3] b) => (int64[2, 3] y) '
        "{ y_Less = Less (a, b) y = Where (y_Less, a, b) }",
    )


@pytest.mark.parametrize("to", [8, 7, 6])
def test_64_bit_integers_are_stacked_and_reduced_below_9(to):
    check_converts(
        '<ir_version: 7, opset_import: ["": 12]> g (uint64[2, 1] a, uint64[3] b) => (uint64[2, 3] y) '
        "{ y = Min (a, b) }",
        to,
        exact=True,
    )


@pytest.mark.parametrize("to", [7, 6, 1])
def test_static_shapes_are_tiled_below_8(to):
    check_converts(
        '<ir_version: 3, opset_import: ["": 8]> g (float[2, 1] a, float[3] b) => (float[2, 3] y) { y = Min (a, b) }',
        to,
        exact=True,
    )


def test_dynamic_shapes_are_broadcast_by_subtracting_zeros_at_7():
    check_converts(
        '<ir_version: 3, opset_import: ["": 8]> g (float[A, B] a, float[C] b) => (float[D, E] y) { y = Min (a, b) }',
        7,
        exact=True,
    )


def test_dynamic_shapes_of_known_rank_are_tiled_at_6():
    check_converts(
        '<ir_version: 3, opset_import: ["": 8]> g (float[A, B] a, float[C] b) => (float[D, E] y) { y = Min (a, b) }',
        6,
        exact=True,
    )


def test_unknown_ranks_below_7_are_refused_with_the_value_whose_rank_is_missing():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 8]> g (float[] a, float[C] b) => (float[] y) { y = Min (a, b) }',
        6,
        Why.RANK_UNKNOWN,
        "'a'",
    )


def test_bfloat16_is_refused_below_13_since_nothing_there_takes_it():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 13]> g (bfloat16[2] a) => (bfloat16[2] y) { y = Min (a) }',
        12,
        Why.DTYPE_NOT_AVAILABLE,
        "no operator of opset 12 accepts bfloat16",
    )
