"""Reductions across their versions: axes, the operators' single values, and dtypes that come and go."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite
from testing.pairs import every_pair

KEEPING = ["ReduceMin", "ReduceMax", "ReduceMean", "ReduceProd"]
COMPOSED = ["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]


@pytest.mark.parametrize("operator", [*KEEPING, *COMPOSED])
def test_axes_become_an_input_at_18_and_an_attribute_again_below(operator):
    attribute = (
        '<ir_version: 7, opset_import: ["": 13]> g (float[N, 3] x) => (float[N] y) '
        f"{{ y = {operator} <keepdims: int = 0, axes: ints = [1]> (x) }}"
    )
    as_input = (
        '<ir_version: 7, opset_import: ["": 18]> g (float[N, 3] x) => (float[N] y) <int64[1] y_axes = {1}> '
        f"{{ y = {operator} <keepdims: int = 0> (x, y_axes) }}"
    )
    check_rewrite(attribute, as_input)
    check_rewrite(as_input, attribute)


def test_sums_take_their_axes_as_an_input_from_13_on():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 11]> g (float[N, 3] x) => (float[N, 1] y) '
        "{ y = ReduceSum <axes = [-1]> (x) }",
        '<ir_version: 7, opset_import: ["": 13]> g (float[N, 3] x) => (float[N, 1] y) <int64[1] y_axes = {-1}> '
        "{ y = ReduceSum (x, y_axes) }",
    )


@pytest.mark.parametrize("operator", KEEPING)
def test_a_reduction_over_no_axes_that_keeps_a_value_is_an_identity(operator):
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 18]> g (float[N, 3] x) => (float[N, 3] y) '
        f"{{ y = {operator} <noop_with_empty_axes = 1> (x) }}",
        '<ir_version: 8, opset_import: ["": 13]> g (float[N, 3] x) => (float[N, 3] y) { y = Identity (x) }',
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("operator", COMPOSED)
@pytest.mark.parametrize("dtype", ["float", "double", "float16", "int32", "uint64"])
def test_a_composed_reduction_over_no_axes_does_the_rest_to_each_element(operator, dtype):
    check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g ({dtype}[N, 3] x) => ({dtype}[N, 3] y) '
        f"{{ y = {operator} <noop_with_empty_axes = 1> (x) }}",
        13,
        exact=True,
    )


def test_a_flag_that_is_neither_0_nor_1_is_an_error_of_the_model_where_a_rule_reads_it():
    text = (
        '<ir_version: 8, opset_import: ["": 18]> g (float[2, 3] x) => (float[M, N] y) { y = ReduceMax <%s = -1> (x) }'
    )
    words = "the attribute 'noop_with_empty_axes' of ReduceMax-18 is 0 or 1, not -1: runtimes differ about that"
    check_refusal(text % "noop_with_empty_axes", 13, Why.INVALID_MODEL, words)
    check_converts(text % "keepdims", 13)


def test_noop_disappears_beside_axes():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 18]> g (float[N, 3] x) => (float[N, 1] y) <int64[1] a = {1}> '
        "{ y = ReduceL2 <noop_with_empty_axes = 1> (x, a) }",
        '<ir_version: 8, opset_import: ["": 13]> g (float[N, 3] x) => (float[N, 1] y) '
        "{ y = ReduceL2 <axes: ints = [1]> (x) }",
    )


@pytest.mark.quick_share(17)
@pytest.mark.parametrize(
    ("operator", "keepdims", "noop", "shape", "to"),
    every_pair(
        ["ReduceMin", "ReduceMean", "ReduceSum", "ReduceL2", "ReduceLogSum"],
        [0, 1],
        [0, 1],
        ["2, 3, 4", "2, 0, 4", "A, B, C"],
        [17, 12],
    ),
)
def test_axes_of_the_run_reduce_exactly(operator, keepdims, noop, shape, to):
    reduction = f"{operator} <keepdims = {keepdims}, noop_with_empty_axes = {noop}> (x, a)"
    # Without keepdims the rank is not known: the result is taken apart by a Flatten, which does not need it.
    body = f"y = {reduction}" if keepdims else f"z = {reduction} y = Flatten <axis = 0> (z)"
    result = "[U, V, W]" if keepdims else "[U, V]"
    check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g (float[{shape}] x, int64[K] a) => (float{result} y) {{ {body} }}',
        to,
        exact=True,
    )


def test_axes_of_the_run_of_an_empty_bfloat16_tensor_which_13_does_not_fill():
    check_converts(
        '<ir_version: 9, opset_import: ["": 20]> g (bfloat16[2, 0, 4] x, int64[1] a) => (bfloat16[U, V, W] y) '
        "{ y = ReduceMax (x, a) }",
        13,
    )


def test_axes_of_the_run_and_an_unknown_rank_are_refused():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 18]> g (float[] x, int64[1] a) => (float[] y) { y = ReduceMin (x, a) }',
        13,
        Why.RANK_UNKNOWN,
        "'x'",
        "at run time",
    )


def test_axes_that_a_caller_may_override_are_axes_of_the_run():
    check_converts(
        '<ir_version: 8, opset_import: ["": 18]> g (float[2, 3] x, int64[1] a) => (float[U, V] y) <int64[1] a = {1}> '
        "{ y = ReduceMean (x, a) }",
        13,
        exact=True,
    )


def test_negative_axes_are_counted_from_the_front_below_11():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (float[N, 3] x) => (float[N, 1] y) '
        "{ y = ReduceProd <axes = [-1]> (x) }",
        '<ir_version: 6, opset_import: ["": 10]> g (float[N, 3] x) => (float[N, 1] y) '
        "{ y = ReduceProd <axes: ints = [1]> (x) }",
    )


def test_axes_beyond_the_rank_and_repeated_ones_are_errors_of_the_model():
    for axes, word in (("[-3]", "out of range"), ("[1, -1]", "twice")):
        check_refusal(
            '<ir_version: 6, opset_import: ["": 11]> g (float[N, 3] x) => (float[U, V] y) '
            f"{{ y = ReduceSum <axes = {axes}> (x) }}",
            10,
            Why.INVALID_MODEL,
            word,
        )


@pytest.mark.parametrize("operator", ["ReduceMin", "ReduceMax"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("shape", ["2, 3", "N, 3", "N, 0"])
def test_8_bits_travel_wider_below_12_and_keep_the_value_of_nothing(operator, dtype, shape):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 12]> g ({dtype}[{shape}] x) => ({dtype}[1, 1] y) {{ y = {operator} (x) }}',
        11,
        exact=True,
    )


@pytest.mark.parametrize("operator", ["ReduceMin", "ReduceMax"])
def test_booleans_travel_in_uint8_below_20(operator):
    check_rewrite(
        f'<ir_version: 9, opset_import: ["": 20]> g (bool[N, 3] x) => (bool[1, 1] y) {{ y = {operator} (x) }}',
        '<ir_version: 8, opset_import: ["": 18]> g (bool[N, 3] x) => (bool[1, 1] y) '
        f"{{ y_Cast = Cast <to: int = 2> (x) y_{operator} = {operator} (y_Cast) "
        f"y = Cast <to: int = 9> (y_{operator}) }}",
    )


@pytest.mark.parametrize("operator", ["ReduceLogSum", "ReduceLogSumExp"])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_logarithms_of_integers_go_through_double_from_28_on(operator, dtype):
    text = f'<ir_version: 8, opset_import: ["": 18]> g ({dtype}[2, 3] x) => ({dtype}[1, 1] y) {{ y = {operator} (x) }}'
    check_converts(text, 28)
    check_refusal(text, 28, Why.ROUNDING, "truncated", exact=True)


def test_axes_of_the_run_are_refused_below_5_where_no_shape_can_be_computed():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 18]> g (float[2, 3] x, int64[1] a) => (float[A, B] y) '
        "{ y = ReduceMin (x, a) }",
        4,
        Why.INPUT_NOT_CONSTANT,
        "below opset 5 no operator accepts a computed shape",
    )


@pytest.mark.parametrize(("noop", "node"), [("", "ReduceMin (x)"), ("<noop_with_empty_axes = 1>", "Identity (x)")])
def test_computed_axes_that_can_only_be_empty_are_none(noop, node):
    shape = "[2, 3]" if noop else "[1, 1]"
    inputs = "float[2, 3] x, int64[0] a"
    check_rewrite(
        f'<ir_version: 8, opset_import: ["": 18]> g ({inputs}) => (float{shape} y) {{ y = ReduceMin {noop} (x, a) }}',
        f'<ir_version: 7, opset_import: ["": 13]> g ({inputs}) => (float{shape} y) {{ y = {node} }}',
    )
