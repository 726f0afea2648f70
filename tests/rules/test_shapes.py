"""Reshape, Squeeze, Unsqueeze, Flatten and Transpose across their versions."""

import pytest

from opsetlift import ConversionRefused, convert_version
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model


def test_the_shape_becomes_an_input_at_5():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 1]> g (float[2, 3] x) => (float[3, 2] y) '
        "{ y = Reshape <shape = [3, -1], consumed_inputs = [0]> (x) }",
        '<ir_version: 3, opset_import: ["": 5]> g (float[2, 3] x) => (float[3, 2] y) <int64[2] y_shape = {3, -1}> '
        "{ y = Reshape (x, y_shape) }",
    )


def test_a_constant_shape_becomes_an_attribute_below_5():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 5]> g (float[N, 3] x) '
        "=> (float[M] y) <int64[1] s = {-1}> { y = Reshape (x, s) }",
        '<ir_version: 3, opset_import: ["": 4]> g (float[N, 3] x) => (float[M] y) { y = Reshape <shape = [-1]> (x) }',
    )


def test_narrow_integers_are_reshaped_as_floats_below_5():
    check_converts(
        '<ir_version: 3, opset_import: ["": 5]> g (int32[N, 3] x) '
        "=> (int32[M] y) <int64[1] s = {-1}> { y = Reshape (x, s) }",
        1,
        exact=True,
    )


def test_strings_gain_and_lose_dimensions_of_1_below_5():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 5]> g (string[1, 3] x) => (string[3, 1] y) <int64[2] s = {-1, 1}> '
        "{ y = Reshape (x, s) }",
        '<ir_version: 3, opset_import: ["": 4]> g (string[1, 3] x) => (string[3, 1] y) '
        "{ y_Squeeze = Squeeze <axes = [0]> (x) y = Unsqueeze <axes = [1]> (y_Squeeze) }",
    )


def test_64_bit_integers_are_not_reshaped_below_5():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 5]> g (int64[2, 3] x) '
        "=> (int64[6] y) <int64[1] s = {-1}> { y = Reshape (x, s) }",
        4,
        Why.DTYPE_NOT_AVAILABLE,
        "accepts int64 only from",
    )


def test_a_shape_computed_at_run_time_is_taken_from_the_output_below_5():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 5]> g (float[N, 2, 3] x, int64[2] s) '
        "=> (float[M, 6] y) { y = Reshape (x, s) }",
        '<ir_version: 3, opset_import: ["": 4]> g (float[N, 2, 3] x, int64[2] s) => (float[M, 6] y) '
        "{ y = Reshape <shape = [-1, 6]> (x) }",
    )


def test_a_shape_computed_at_run_time_is_refused_below_5_with_what_is_missing():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 5]> g (float[2, 3] x, int64[2] s) '
        "=> (float[M, K] y) { y = Reshape (x, s) }",
        4,
        Why.INPUT_NOT_CONSTANT,
        "only known as [M, K]",
    )


def test_allowzero_without_a_zero_disappears_below_14():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 14]> g (float[N, 3] x) => (float[3, M] y) <int64[2] s = {3, -1}> '
        "{ y = Reshape <allowzero = 1> (x, s) }",
        '<ir_version: 7, opset_import: ["": 13]> g (float[N, 3] x) => (float[3, M] y) <int64[2] s = {3, -1}> '
        "{ y = Reshape (x, s) }",
    )


def test_a_zero_that_copies_a_zero_needs_nothing_below_14():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 14]> g (float[0, 3] x) => (float[0, 5] y) <int64[2] s = {0, 5}> '
        "{ y = Reshape <allowzero = 1> (x, s) }",
        '<ir_version: 7, opset_import: ["": 13]> g (float[0, 3] x) => (float[0, 5] y) <int64[2] s = {0, 5}> '
        "{ y = Reshape (x, s) }",
    )


def test_an_empty_result_is_expanded_below_14():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 14]> g (string[0, 3] x) => (string[3, 0] y) <int64[2] s = {3, 0}> '
        "{ y = Reshape <allowzero = 1> (x, s) }",
        '<ir_version: 7, opset_import: ["": 13]> g (string[0, 3] x) => (string[3, 0] y) '
        '<int64[2] s = {3, 0}, string y_zero = {""}> { y = Expand (y_zero, s) }',
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("to", [13, 11, 10, 8, 7])
@pytest.mark.parametrize("dtype", ["float", "int64", "string"])
def test_allowzero_with_a_shape_computed_at_run_time_goes_below_14(to, dtype):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 14]> g ({dtype}[A, B] x, int64[3] s) => ({dtype}[] y) '
        "{ y = Reshape <allowzero = 1> (x, s) }",
        to,
        exact=True,
    )


@pytest.mark.parametrize(("operator", "before", "after"), [("Squeeze", "N, 1", "N"), ("Unsqueeze", "N", "N, 1")])
def test_axes_become_an_input_at_13(operator, before, after):
    check_rewrite(
        f'<ir_version: 6, opset_import: ["": 11]> g (float[{before}] x) => (float[{after}] y) '
        f"{{ y = {operator} <axes = [-1]> (x) }}",
        f'<ir_version: 7, opset_import: ["": 13]> g (float[{before}] x) '
        f"=> (float[{after}] y) <int64[1] y_axes = {{-1}}> "
        f"{{ y = {operator} (x, y_axes) }}",
    )


@pytest.mark.parametrize(("operator", "before", "after"), [("Squeeze", "N, 1", "N"), ("Unsqueeze", "N", "N, 1")])
def test_constant_axes_become_an_attribute_and_count_from_the_front(operator, before, after):
    check_rewrite(
        f'<ir_version: 7, opset_import: ["": 13]> g (float[{before}] x) => (float[{after}] y) '
        f"{{ a = Constant <value_ints = [-1]> () y = {operator} (x, a) }}",
        f'<ir_version: 5, opset_import: ["": 10]> g (float[{before}] x) => (float[{after}] y) '
        f"{{ y = {operator} <axes = [1]> (x) }}",
    )


def test_squeeze_without_axes_stays_without():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 13]> g (float[1, N] x) => (float[] y) { y = Squeeze (x) }',
        '<ir_version: 3, opset_import: ["": 8]> g (float[1, N] x) => (float[] y) { y = Squeeze (x) }',
    )


def test_negative_axes_below_11_need_the_rank():
    check_refusal(
        '<ir_version: 6, opset_import: ["": 11]> g (float[] x) => (float[] y) { y = Squeeze <axes = [-1]> (x) }',
        10,
        Why.RANK_UNKNOWN,
    )


def test_axes_beyond_the_rank_break_the_model():
    check_refusal(
        '<ir_version: 6, opset_import: ["": 11]> g (float[A, B] x) => (float[] y) { y = Squeeze <axes = [-3, 1]> (x) }',
        10,
        Why.INVALID_MODEL,
        "out of range for rank 2",
    )


@pytest.mark.quick_share(4)
@pytest.mark.parametrize(("to", "count"), [(12, 0), (12, 1), (12, 2), (9, 1), (9, 2), (8, 0), (8, 1), (7, 1)])
def test_axes_to_squeeze_computed_at_run_time_go_below_13(to, count):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 13]> g (float[A, 1, B, 1] x, int64[{count}] a) => (float[] y) '
        "{ y = Squeeze (x, a) }",
        to,
        exact=True,
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("to", [12, 9, 8, 7])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_axes_to_unsqueeze_computed_at_run_time_go_below_13(to, count):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 13]> g (int8[A, B] x, int64[{count}] a) '
        f"=> (int8[] y) {{ y = Unsqueeze (x, a) }}",
        to,
        exact=True,
    )


def test_axes_in_an_outer_scope_become_an_attribute():
    converted = check_converts(
        '<ir_version: 7, opset_import: ["": 13]> g (bool c, float[N, 1] x) '
        "=> (float[] y) <int64[1] a = {1}> { y = If (c) "
        "<then_branch = t () => (float[] u) { u = Squeeze (x, a) }, "
        "else_branch = e () => (float[] v) { v = Squeeze (x, a) }> }",
        11,
        exact=True,
    )
    assert not converted.graph.initializer


def test_an_axis_that_a_caller_may_override_is_no_constant():
    converted = check_converts(
        '<ir_version: 7, opset_import: ["": 13]> g (float[A, 1, 1] x, int64[1] a = {1}) '
        "=> (float[] y) { y = Squeeze (x, a) }",
        12,
        exact=True,
    )
    assert [info.name for info in converted.graph.input] == ["x", "a"]
    assert "Squeeze" not in [node.op_type for node in converted.graph.node]


def test_flatten_counts_its_axis_from_the_front_below_11():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (float[A, B, C] x) '
        "=> (float[M, N] y) { y = Flatten <axis = -1> (x) }",
        '<ir_version: 5, opset_import: ["": 10]> g (float[A, B, C] x) '
        "=> (float[M, N] y) { y = Flatten <axis = 2> (x) }",
    )


def test_flatten_of_known_shape_is_a_reshape_below_9():
    check_rewrite(
        '<ir_version: 4, opset_import: ["": 9]> g (int64[2, 3, 4] x) => (int64[2, 12] y) { y = Flatten (x) }',
        '<ir_version: 3, opset_import: ["": 8]> g (int64[2, 3, 4] x) => (int64[2, 12] y) <int64[2] y_shape = {2, 12}> '
        "{ y = Reshape (x, y_shape) }",
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("axis", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", ["int64", "string", "bool"])
def test_flatten_of_other_dtypes_and_open_shapes_goes_below_9(axis, dtype):
    check_converts(
        f'<ir_version: 4, opset_import: ["": 9]> g ({dtype}[A, B, C] x) => ({dtype}[M, N] y) '
        f"{{ y = Flatten <axis = {axis}> (x) }}",
        8,
        exact=True,
    )


@pytest.mark.parametrize("node", ["Flatten (x)", "Transpose (x)", "Squeeze (x)"])
@pytest.mark.parametrize("dtype", ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"])
def test_float8_travels_in_float16_where_only_cast_takes_it(node, dtype):
    converted = check_converts(
        f'<ir_version: 10, opset_import: ["": 21]> g ({dtype}[A, B] x) => ({dtype}[] y) {{ y = {node} }}',
        20,
        exact=True,
    )
    assert [one.op_type for one in converted.graph.node] == ["Cast", node.split(" ")[0], "Cast"]


def test_int4_is_refused_below_21():
    check_refusal(
        '<ir_version: 10, opset_import: ["": 21]> g (int4[A, B] x) => (int4[B, A] y) { y = Transpose (x) }',
        20,
        Why.DTYPE_NOT_AVAILABLE,
        "no operator of opset 20 accepts int4",
    )


def test_scalar_axes_of_unsqueeze_become_a_vector_at_23():
    check_rewrite(
        '<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2, 1] y) <int64 axis = {1}> '
        "{ y = Unsqueeze (x, axis) }",
        '<ir_version: 11, opset_import: ["": 23]> g (float[2] x) => (float[2, 1] y) <int64[1] y_axes = {1}> '
        "{ y = Unsqueeze (x, y_axes) }",
    )


def test_a_computed_scalar_axis_of_unsqueeze_becomes_a_vector_at_23():
    before, after = (
        f'<ir_version: 10, opset_import: ["": {opset}]> g (float[3] x, int64 a) => (float[A, B] y) {nodes}'
        for opset, nodes in (
            (21, "{ y = Unsqueeze (x, a) }"),
            (23, "<int64[1] y_length = {1}> { y_Reshape = Reshape (a, y_length) y = Unsqueeze (x, y_Reshape) }"),
        )
    )
    check_rewrite(before, after)


def test_axes_that_are_a_parameter_of_a_function_become_an_attribute_at_each_call():
    converted = check_converts(
        '<ir_version: 10, opset_import: ["": 18, "f": 1]> g (float[A, 1, 3] x, float[1, B] z) '
        "=> (float[P, Q] y, float[B] w) { y = f.squeezed <axes = [1]> (x) w = f.squeezed <axes = [0]> (z) } "
        '<domain: "f", opset_import: ["": 18]> squeezed <axes> (x) => (y) '
        "{ a = Constant <value_ints: ints = @axes> () y = Squeeze (x, a) }",
        9,
        exact=True,
    )
    assert [[node.op_type for node in function.node] for function in converted.functions] == [["Squeeze"], ["Squeeze"]]


@pytest.mark.parametrize(
    ("node", "source", "target"),
    [
        ("Unsqueeze (x, k)", 13, 11),
        ("Squeeze (x, k)", 13, 11),
        ("Slice (x, k, k)", 13, 9),
        ("Pad (x, q, , k)", 18, 10),
        ("Col2Im (x, k, k)", 18, 17),
        ("Expand (x, k)", 8, 7),
    ],
)
def test_a_computed_number_is_no_list(node, source, target):
    text = f'<ir_version: 8, opset_import: ["": {source}]> g (float[2,3,4] x, int64 k, int64[2] q) => (float[A] y)'
    with pytest.raises(ConversionRefused, match="'k' must be a list, but it is of rank 0"):
        convert_version(model(f"{text} {{ y = {node} }}"), target)
