"""Slice across its versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite
from testing.pairs import every_pair


def test_attributes_become_inputs_at_10():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 1]> g (float[A, B] x) => (float[M, N] y) '
        "{ y = Slice <axes = [1], starts = [1], ends = [-1]> (x) }",
        '<ir_version: 5, opset_import: ["": 10]> g (float[A, B] x) => (float[M, N] y) '
        "<int64[1] y_starts = {1}, int64[1] y_ends = {-1}> { y = Slice (x, y_starts, y_ends, y_starts) }",
    )


def test_constant_inputs_become_attributes_below_10():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 13]> g (string[A, B] x) => (string[M, N] y) '
        "<int32[1] s = {1}, int32[1] e = {9}, int32[1] a = {-1}, int32[1] t = {1}> { y = Slice (x, s, e, a, t) }",
        '<ir_version: 4, opset_import: ["": 9]> g (string[A, B] x) => (string[M, N] y) '
        "{ y = Slice <starts = [1], ends = [9], axes = [1]> (x) }",
    )


def test_constant_negative_axes_count_from_the_front_below_11():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (float[A, B] x, int64[1] s, int64[1] e) => (float[M, N] y) '
        "<int64[1] a = {-1}> { y = Slice (x, s, e, a) }",
        '<ir_version: 5, opset_import: ["": 10]> g (float[A, B] x, int64[1] s, int64[1] e) => (float[M, N] y) '
        "<int64[1] y_axes = {1}> { y = Slice (x, s, e, y_axes) }",
    )


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_axes_computed_at_run_time_are_counted_from_the_front_below_11(dtype):
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g (float[A, B] x, {dtype}[1] s, {dtype}[1] e, {dtype}[1] a) '
        "=> (float[M, N] y) { y = Slice (x, s, e, a) }",
        10,
        exact=True,
    )


def test_steps_over_a_known_dimension_are_gathered_below_10():
    check_rewrite(
        '<ir_version: 5, opset_import: ["": 10]> g (bool[N, 5] x) => (bool[M, 3] y) '
        "<int64[2] s = {1, -1}, int64[2] e = {9, -9}, int64[2] a = {0, 1}, int64[2] t = {1, -2}> "
        "{ y = Slice (x, s, e, a, t) }",
        '<ir_version: 4, opset_import: ["": 9]> g (bool[N, 5] x) => (bool[M, 3] y) <int64[3] y_indices = {4, 2, 0}> '
        "{ y_Slice = Slice <axes = [0], starts = [1], ends = [9]> (x) y = Gather <axis = 1> (y_Slice, y_indices) }",
    )


@pytest.mark.quick_share(12)
@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(0, 9, 2), (-1, -(2**63), -1), (2**63 - 1, -(2**31), -3), (1, -1, 2), (-3, 2**31, 2), (3, 0, -1), (0, 3, 2**62)],
)
@pytest.mark.parametrize("dim", ["N", "4", "0"])
@pytest.mark.parametrize("to", [9, 8, 7])
def test_constant_steps_keep_their_clamps_below_10(start, end, step, dim, to):
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g (int64[{dim}, 2] x) => (int64[M, 2] y) <int64[1] s = {{{start}}}, '
        f"int64[1] e = {{{end}}}, int64[1] a = {{0}}, int64[1] t = {{{step}}}> {{ y = Slice (x, s, e, a, t) }}",
        to,
        exact=True,
    )


@pytest.mark.quick_share(9)
@pytest.mark.parametrize(
    ("inputs", "dtype", "to"),
    every_pair(["s, e", "s, e, a", "s, e, a, t", "s, e, , t"], ["int32", "int64"], [9, 8, 7]),
)
def test_bounds_computed_at_run_time_are_gathered_below_10(inputs, dtype, to):
    declared = ", ".join(f"{dtype}[1] {name}" for name in inputs.replace(", ,", ",").split(", ") if name != "e")
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g (float[A, B] x, {declared}) => (float[M, N] y) '
        f"<{dtype}[1] e = {{9}}> {{ y = Slice (x, {inputs}) }}",
        to,
        exact=True,
    )


def test_an_end_computed_at_run_time_is_clamped_in_integers_below_10():
    check_rewrite(
        '<ir_version: 5, opset_import: ["": 10]> g (float[A, B] x, int64[1] e) => (float[M, N] y) '
        "<int64[1] s = {0}, int64[1] a = {1}> { y = Slice (x, s, e, a) }",
        """<ir_version: 4, opset_import: ["": 9]> g (float[A, B] x, int64[1] e) => (float[M, N] y)
        <int64[1] y_axes = {1}, float y_zero = {0}, int64 y_position = {0}> {
            y_Shape = Shape (x)
            y_Gather = Gather <axis = 0> (y_Shape, y_axes)
            y_Cast = Cast <to = 1> (e)
            y_Less = Less (y_Cast, y_zero)
            y_Cast_1 = Cast <to = 7> (y_Less)
            y_Mul = Mul (y_Cast_1, y_Gather)
            y_Add = Add (e, y_Mul)
            y_Cast_2 = Cast <to = 1> (y_Add)
            y_Less_1 = Less (y_Cast_2, y_zero)
            y_Not = Not (y_Less_1)
            y_Cast_3 = Cast <to = 7> (y_Not)
            y_Mul_1 = Mul (y_Add, y_Cast_3)
            y_Sub = Sub (y_Mul_1, y_Gather)
            y_Cast_4 = Cast <to = 1> (y_Sub)
            y_Less_2 = Less (y_Cast_4, y_zero)
            y_Cast_5 = Cast <to = 7> (y_Less_2)
            y_Mul_2 = Mul (y_Cast_5, y_Sub)
            y_Add_1 = Add (y_Gather, y_Mul_2)
            y_Gather_1 = Gather (y_Add_1, y_position)
            y_Cast_6 = Cast <to = 1> (y_Gather_1)
            y_Greater = Greater (y_Cast_6, y_zero)
            y_Cast_7 = Cast <to = 7> (y_Greater)
            y_Mul_3 = Mul (y_Gather_1, y_Cast_7)
            y_Unsqueeze = Unsqueeze <axes = [0]> (y_Mul_3)
            y_ConstantOfShape = ConstantOfShape <value = bool[1] {1}> (y_Unsqueeze)
            y_NonZero = NonZero (y_ConstantOfShape)
            y_Range = Squeeze <axes = [0]> (y_NonZero)
            y = Gather <axis = 1> (x, y_Range)
        }""",
    )


@pytest.mark.parametrize("start", [0, 2, -3, -(2**63)])
def test_a_constant_start_beside_a_computed_end_below_10(start):
    check_converts(
        '<ir_version: 5, opset_import: ["": 10]> g (float[A, B] x, int64[1] e) => (float[M, N] y) '
        f"<int64[1] s = {{{start}}}, int64[1] a = {{-1}}> {{ y = Slice (x, s, e, a) }}",
        9,
        exact=True,
    )


def test_starts_and_ends_computed_at_run_time_are_gathered_below_10():
    check_converts(
        '<ir_version: 5, opset_import: ["": 10]> g (string[A, B] x, int64[2] s, int64[2] e) => (string[M, N] y) '
        "{ y = Slice (x, s, e) }",
        9,
        exact=True,
    )


def test_bounds_of_unknown_number_are_refused_below_10():
    check_refusal(
        '<ir_version: 5, opset_import: ["": 10]> g (float[A, B] x, int64[K] s, int64[K] e) => (float[M, N] y) '
        "{ y = Slice (x, s, e) }",
        9,
        Why.SHAPE_UNKNOWN,
        "the shape of 's' is only known as [K]",
    )


def test_bounds_computed_at_run_time_need_the_rank_below_10():
    check_refusal(
        '<ir_version: 5, opset_import: ["": 10]> g (float[] x, int64[1] s, int64[1] e) => (float[] y) '
        "{ y = Slice (x, s, e) }",
        9,
        Why.RANK_UNKNOWN,
    )


def test_a_step_of_0_breaks_the_model():
    check_refusal(
        '<ir_version: 5, opset_import: ["": 10]> g (float[4] x) => (float[M] y) '
        "<int64[1] s = {0}, int64[1] e = {3}, int64[1] a = {0}, int64[1] t = {0}> { y = Slice (x, s, e, a, t) }",
        9,
        Why.INVALID_MODEL,
        "a step of the slice is 0",
    )
