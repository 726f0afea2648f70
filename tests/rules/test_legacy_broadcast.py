"""`broadcast` and `axis` before opset 7, numpy's broadcasting since."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite


def test_a_suffix_is_broadcast_by_numpy_too():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 6]> g (float[2, 3] a, float[3] b) => (float[2, 3] y) '
        "{ y = Sub <broadcast = 1> (a, b) }",
        '<ir_version: 3, opset_import: ["": 7]> g (float[2, 3] a, float[3] b) => (float[2, 3] y) { y = Sub (a, b) }',
    )


def test_a_part_in_the_middle_gets_dimensions_behind_it():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 6]> g (float[2, 3, N, 5] a, float[3, N] b) => (float[2, 3, N, 5] y) '
        "{ y = Add <broadcast = 1, axis = 1> (a, b) }",
        '<ir_version: 3, opset_import: ["": 7]> g (float[2, 3, N, 5] a, float[3, N] b) => (float[2, 3, N, 5] y) '
        "{ y_Unsqueeze = Unsqueeze <axes: ints = [2]> (b) y = Add (a, y_Unsqueeze) }",
    )


def test_a_single_element_needs_no_dimensions_whatever_the_axis():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 6]> g (float[2, 3] a, float[1] b) => (float[2, 3] y) '
        "{ y = Div <broadcast = 1, axis = 0> (a, b) }",
        '<ir_version: 3, opset_import: ["": 7]> g (float[2, 3] a, float[1] b) => (float[2, 3] y) { y = Div (a, b) }',
    )


def test_an_axis_without_broadcast_says_nothing():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 1]> g (bool[2] a, bool[2] b) => (bool[2] y) { y = And <axis = 0> (a, b) }',
        '<ir_version: 3, opset_import: ["": 7]> g (bool[2] a, bool[2] b) => (bool[2] y) { y = And (a, b) }',
    )


def test_an_axis_in_unknown_ranks_is_refused():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 6]> g (float[] a, float[3] b) => (float[] y) '
        "{ y = Add <broadcast = 1, axis = 1> (a, b) }",
        7,
        Why.RANK_UNKNOWN,
        "'a'",
        "axis counts",
    )


def test_an_axis_beyond_the_rank_is_an_error_of_the_model():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 6]> g (float[2, 3] a, float[3] b) => (float[2, 3] y) '
        "{ y = Add <broadcast = 1, axis = 2> (a, b) }",
        7,
        Why.INVALID_MODEL,
        "axis 2",
    )


def test_equal_shapes_need_no_attributes_below_7():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 7]> g (float[N, 2] a, float[N, 2] b) => (float[N, 2] y) { y = Pow (a, b) }',
        '<ir_version: 3, opset_import: ["": 6]> g (float[N, 2] a, float[N, 2] b) => (float[N, 2] y) { y = Pow (a, b) }',
    )


def test_a_value_with_itself_needs_no_attributes_whatever_its_shape():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 7]> g (float[] a) => (float[] y) { y = Mul (a, a) }',
        '<ir_version: 3, opset_import: ["": 6]> g (float[] a) => (float[] y) { y = Mul (a, a) }',
    )


def test_a_scalar_is_broadcast_whatever_the_first_rank():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 7]> g (float[] a, float b) => (float[] y) { y = Div (a, b) }',
        '<ir_version: 3, opset_import: ["": 6]> g (float[] a, float b) => (float[] y) '
        "{ y = Div <broadcast: int = 1> (a, b) }",
    )


def test_a_part_loses_its_dimensions_of_1_and_gets_an_axis():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 7]> g (float[N, C, H] a, float[C, 1] b) => (float[N, C, H] y) '
        "{ y = Sub (a, b) }",
        '<ir_version: 3, opset_import: ["": 6]> g (float[N, C, H] a, float[C, 1] b) => (float[N, C, H] y) '
        "{ y_Squeeze = Squeeze <axes: ints = [1]> (b) y = Sub <broadcast: int = 1, axis: int = 1> (a, y_Squeeze) }",
    )


@pytest.mark.parametrize(
    ("operator", "mirrored"), [("Add", "Add"), ("Mul", "Mul"), ("Less", "Greater"), ("Greater", "Less")]
)
def test_the_larger_input_comes_first_where_an_operator_mirrors_another(operator, mirrored):
    result = "bool" if operator in ("Less", "Greater") else "float"
    check_rewrite(
        f'<ir_version: 3, opset_import: ["": 7]> g (float[3] a, float[N, 3] b) => ({result}[N, 3] y) '
        f"{{ y = {operator} (a, b) }}",
        f'<ir_version: 3, opset_import: ["": 6]> g (float[3] a, float[N, 3] b) => ({result}[N, 3] y) '
        f"{{ y = {mirrored} <broadcast: int = 1> (b, a) }}",
    )


def test_the_first_input_is_tiled_where_no_operator_mirrors():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 7]> g (float[2, 1] a, float[3] b) => (float[2, 3] y) { y = Sub (a, b) }',
        '<ir_version: 3, opset_import: ["": 6]> g (float[2, 1] a, float[3] b) => (float[2, 3] y) '
        "<int64[2] y_repeats = {1, 3}> "
        "{ y_Tile = Tile (a, y_repeats) y = Sub <broadcast: int = 1> (y_Tile, b) }",
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("operator", ["Sub", "Div", "Pow"])
@pytest.mark.parametrize(
    ("first", "second"), [("[]", "[N, M]"), ("[N, 1]", "[M]"), ("[A, B]", "[C]"), ("[2, 0]", "[1]")]
)
def test_unknown_dimensions_are_repeated_at_run_time(operator, first, second):
    first = "" if first == "[]" else first
    check_converts(
        f'<ir_version: 3, opset_import: ["": 7]> g (float{first} a, float{second} b) => (float[X, Y] y) '
        f"{{ y = {operator} (a, b) }}",
        6,
        exact=True,
    )


def test_unknown_ranks_are_refused_below_7():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 7]> g (float[] a, float[3] b) => (float[] y) { y = Add (a, b) }',
        6,
        Why.RANK_UNKNOWN,
        "'a'",
        "below opset 7",
    )


@pytest.mark.parametrize("operator", ["And", "Or", "Xor"])
def test_booleans_are_tiled_too(operator):
    check_converts(
        f'<ir_version: 3, opset_import: ["": 7]> g (bool[2, 1, 3] a, bool[4, 1] b) => (bool[2, 4, 3] y) '
        f"{{ y = {operator} (a, b) }}",
        6,
        exact=True,
    )
