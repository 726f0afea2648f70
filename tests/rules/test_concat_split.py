"""Concat and Split across their versions."""

import numpy
import pytest

from opsetlift import convert
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model
from testing.onnxruntime_judge import run_in_onnxruntime


def test_the_default_axis_of_concat_is_written_at_4():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 1]> g (float[N, 1] a, float[N, 2] b) '
        "=> (float[N, 3] y) { y = Concat (a, b) }",
        '<ir_version: 3, opset_import: ["": 4]> g (float[N, 1] a, float[N, 2] b) => (float[N, 3] y) '
        "{ y = Concat <axis = 1> (a, b) }",
    )


def test_a_negative_axis_of_concat_counts_from_the_front_below_11():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (int64[] a, int64[N, 2] b) => (int64[N, M] y) '
        "{ y = Concat <axis = -1> (a, b) }",
        '<ir_version: 5, opset_import: ["": 10]> g (int64[] a, int64[N, 2] b) => (int64[N, M] y) '
        "{ y = Concat <axis = 1> (a, b) }",
    )


def test_a_negative_axis_of_unknown_rank_is_refused_below_11():
    check_refusal(
        '<ir_version: 6, opset_import: ["": 11]> g (float[] a, float[] b) '
        "=> (float[] y) { y = Concat <axis = -1> (a, b) }",
        10,
        Why.RANK_UNKNOWN,
    )


def test_integers_are_joined_as_floats_below_4():
    converted = check_converts(
        '<ir_version: 3, opset_import: ["": 4]> g (int32[N] a, int32[M] b) '
        "=> (int32[K] y) { y = Concat <axis = 0> (a, b) }",
        3,
        exact=True,
    )
    assert [node.op_type for node in converted.graph.node] == ["Cast", "Cast", "Concat", "Cast"]


def test_64_bit_integers_are_not_joined_below_4():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 4]> g (int64[N] a) => (int64[N] y) { y = Concat <axis = 0> (a) }',
        3,
        Why.DTYPE_NOT_AVAILABLE,
        "accepts int64 only from",
    )


def test_lengths_given_as_floats_become_an_attribute_at_2():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 1]> g (float[5] x) => (float[2] a, float[3] b) <float[2] s = {2, 3}> '
        "{ a, b = Split <axis = 0> (x, s) }",
        '<ir_version: 3, opset_import: ["": 2]> g (float[5] x) => (float[2] a, float[3] b) '
        "{ a, b = Split <axis = 0, split = [2, 3]> (x) }",
    )


def test_lengths_computed_at_run_time_are_refused_at_2():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 1]> g (float[5] x, float[2] s) => (float[] a, float[] b) '
        "{ a, b = Split <axis = 0> (x, s) }",
        2,
        Why.INPUT_NOT_CONSTANT,
    )


def test_the_axis_is_written_below_2():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 2]> g (float[4] x) => (float[2] a, float[2] b) { a, b = Split (x) }',
        '<ir_version: 3, opset_import: ["": 1]> g (float[4] x) '
        "=> (float[2] a, float[2] b) { a, b = Split <axis = 0> (x) }",
    )


def test_other_dtypes_are_sliced_below_2():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 2]> g (string[N, 5] x) => (string[N, 2] a, string[N, 3] b) '
        "{ a, b = Split <axis = 1, split = [2, 3]> (x) }",
        '<ir_version: 3, opset_import: ["": 1]> g (string[N, 5] x) => (string[N, 2] a, string[N, 3] b) '
        "{ a = Slice <axes = [1], starts = [0], ends = [2]> (x) b = Slice <axes = [1], starts = [2], ends = [5]> (x) }",
    )


def test_equal_parts_of_integers_travel_as_floats_below_2():
    check_converts(
        '<ir_version: 3, opset_import: ["": 2]> g (int16[N] x) => (int16[M] a, int16[M] b) { a, b = Split (x) }',
        1,
        exact=True,
    )


def test_constant_lengths_become_an_attribute_below_13():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 13]> g (float[N, 5] x) => (float[N, 2] a, float[N, 3] b) '
        "{ s = Constant <value_ints = [2, 3]> () a, b = Split <axis = -1> (x, s) }",
        '<ir_version: 5, opset_import: ["": 10]> g (float[N, 5] x) => (float[N, 2] a, float[N, 3] b) '
        "{ a, b = Split <split = [2, 3], axis = 1> (x) }",
    )


def test_constant_lengths_become_an_input_at_13():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (float[5] x) => (float[2] a, float[3] b) '
        "{ a, b = Split <split = [2, 3]> (x) }",
        '<ir_version: 7, opset_import: ["": 13]> g (float[5] x) => (float[2] a, float[3] b) '
        "<int64[2] a_split = {2, 3}> { a, b = Split (x, a_split) }",
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("to", [12, 10, 9, 8, 7])
def test_lengths_computed_at_run_time_are_slices_below_13(to):
    check_converts(
        '<ir_version: 7, opset_import: ["": 13]> g (int64[2, A] x, int64[2] s) => (int64[2, M] a, int64[2, K] b) '
        "{ a, b = Split <axis = -1> (x, s) }",
        to,
        exact=True,
    )


def test_the_number_of_parts_is_written_at_18():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 13]> g (float[4] x) => (float[2] a, float[2] b) { a, b = Split (x) }',
        '<ir_version: 8, opset_import: ["": 18]> g (float[4] x) => (float[2] a, float[2] b) '
        "{ a, b = Split <num_outputs = 2> (x) }",
    )


def test_lengths_stay_lengths_at_18():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 13]> g (float[4] x, int64[2] s) => (float[M] a, float[K] b) '
        "{ a, b = Split (x, s) }",
        '<ir_version: 8, opset_import: ["": 18]> g (float[4] x, int64[2] s) => (float[M] a, float[K] b) '
        "{ a, b = Split (x, s) }",
    )


def test_equal_parts_need_nothing_below_18():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 18]> g (float[N, 4] x) => (float[N, 2] a, float[N, 2] b) '
        "{ a, b = Split <axis = 1, num_outputs = 2> (x) }",
        '<ir_version: 8, opset_import: ["": 17]> g (float[N, 4] x) => (float[N, 2] a, float[N, 2] b) '
        "{ a, b = Split <axis = 1> (x) }",
    )


def test_a_smaller_last_part_becomes_lengths_below_18():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 18]> g (float[7] x) => (float[3] a, float[3] b, float[1] c) '
        "{ a, b, c = Split <num_outputs = 3> (x) }",
        '<ir_version: 8, opset_import: ["": 17]> g (float[7] x) => (float[3] a, float[3] b, float[1] c) '
        "<int64[3] a_split = {3, 3, 1}> { a, b, c = Split (x, a_split) }",
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("to", [17, 11, 9, 7])
@pytest.mark.parametrize("outputs", ["a", "a, b", "a, b, c"])
def test_parts_of_an_open_dimension_are_counted_below_18(to, outputs):
    names = outputs.split(", ")
    declared = ", ".join(f"float[2, M] {name}" for name in names)
    check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g (float[2, N] x) => ({declared}) '
        f"{{ {outputs} = Split <axis = 1, num_outputs = {len(names)}> (x) }}",
        to,
        exact=True,
    )


def test_more_parts_than_the_dimension_has_break_the_model():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 18]> g (float[5] x) => (float[] a, float[] b, float[] c, float[] d) '
        "{ a, b, c, d = Split <num_outputs = 4> (x) }",
        17,
        Why.INVALID_MODEL,
        "a dimension of size 5 cannot be split into 4 parts",
    )


def test_no_elements_are_taken_apart_by_lengths_at_18():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 13]> g (float[2, 0] x) => (float[2, 0] a, float[2, 0] b) '
        "{ a, b = Split <axis = 1> (x) }",
        '<ir_version: 8, opset_import: ["": 18]> g (float[2, 0] x) => (float[2, 0] a, float[2, 0] b) '
        "<int64[2] a_split = {0, 0}> { a, b = Split <axis = 1> (x, a_split) }",
    )


@pytest.mark.parametrize("to", [17, 13, 12, 11])
def test_a_split_that_always_fails_is_converted_in_a_branch_that_may_never_run(to):
    """As in ONNX's expansion of AffineGrid. Runtimes refuse negative lengths of an attribute when they load a model."""
    text = """<ir_version: 8, opset_import: ["": 18]> g (int64[5] x, bool c) => (int64[M] y) { y = If (c) <
        then_branch = t () => (int64[A] a) { a, b, d, e = Split <num_outputs = 4> (x) },
        else_branch = f () => (int64[5] z) { z = Neg (x) }
    > }"""
    converted = convert(model(text), to=to).model
    data = {"x": numpy.arange(5), "c": numpy.array(False)}
    for one in (model(text), converted):
        assert run_in_onnxruntime(one, data)[0].tolist() == [0, -1, -2, -3, -4]


def test_negative_lengths_break_the_model():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 13]> g (float[1] x) => (float[A] a, float[B] b) '
        "<int64[2] l = {2, -1}> { a, b = Split (x, l) }",
        12,
        Why.INVALID_MODEL,
        "none can be negative",
    )
