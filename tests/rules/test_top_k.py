"""TopK across its versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

_11 = '<ir_version: 6, opset_import: ["": 11]>'


def test_k_becomes_an_input_and_back():
    graph = "g (float[N, 5] x) => (float[N, 2] v, int64[N, 2] i)"
    older = f'<ir_version: 3, opset_import: ["": 9]> {graph} {{ v, i = TopK <k = 2> (x) }}'
    newer = f'<ir_version: 5, opset_import: ["": 10]> {graph} <int64[1] v_k = {{2}}> {{ v, i = TopK (x, v_k) }}'
    check_rewrite(older, newer)
    check_rewrite(newer, older)


def test_the_whole_axis_is_sorted_where_k_is_computed_at_run_time():
    converted = check_converts(
        '<ir_version: 5, opset_import: ["": 10]> g (float[N, 5] x, int64[1] k) => (float[N, K] v, int64[N, K] i) '
        "{ v, i = TopK (x, k) }",
        9,
        exact=True,
    )
    assert [node.op_type for node in converted.graph.node][-3:] == ["TopK", "Gather", "Gather"]


def test_k_and_size_of_the_run_are_refused_below_10():
    check_refusal(
        '<ir_version: 5, opset_import: ["": 10]> g (float[3, N] x, int64[1] k) => (float[3, K] v, int64[3, K] i) '
        "{ v, i = TopK (x, k) }",
        9,
        Why.INPUT_NOT_CONSTANT,
        "the size of the axis",
    )


def test_no_element_at_all_is_refused_below_10():
    check_refusal(
        '<ir_version: 5, opset_import: ["": 10]> g (float[3] x) => (float[0] v, int64[0] i) <int64[1] k = {0}> '
        "{ v, i = TopK (x, k) }",
        9,
        Why.INVALID_MODEL,
        "positive",
    )


def test_the_defaults_of_11_are_what_10_does():
    graph = "g (float[5, N] x) => (float[2, N] v, int64[2, N] i) <int64[1] k = {2}>"
    check_rewrite(
        f"{_11} {graph} {{ v, i = TopK <axis = -2, largest = 1, sorted = 0> (x, k) }}",
        f'<ir_version: 5, opset_import: ["": 10]> {graph} {{ v, i = TopK <axis = 0> (x, k) }}',
    )


def test_the_least_of_known_sizes_are_read_from_the_end_of_the_greatest():
    graph = "g (float[N, 4] x) => (float[N, 2] v, int64[N, 2] i)"
    check_rewrite(
        f"{_11} {graph} <int64[1] k = {{2}}> {{ v, i = TopK <largest = 0> (x, k) }}",
        f"""<ir_version: 5, opset_import: ["": 10]> {graph}
            <int64[4] v_backwards = {{3, 2, 1, 0}}, int64[2] v_last = {{3, 2}},
            int64[1] v_size = {{4}}, int64 v_end = {{3}}> {{
            v_Gather = Gather <axis = -1> (x, v_backwards)
            v_TopK, v_TopK_1 = TopK <axis = -1> (v_Gather, v_size)
            v = Gather <axis = -1> (v_TopK, v_last)
            v_Gather_2 = Gather <axis = -1> (v_TopK_1, v_last)
            i = Sub (v_end, v_Gather_2)
        }}""",
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("target", [10, 9, 7])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", ["float", "float16", "int8", "uint16", "int32", "uint32", "int64", "uint64"])
def test_every_dtype_is_sorted_both_ways(target, largest, dtype):
    check_converts(
        f"{_11} g ({dtype}[2, 7, 2] x) => ({dtype}[2, 5, 2] v, int64[2, 5, 2] i) <int64[1] k = {{5}}> "
        f"{{ v, i = TopK <axis = 1, largest = {largest}> (x, k) }}",
        target,
        exact=True,
    )


@pytest.mark.parametrize("dtype", ["float", "int64"])
def test_least_elements_of_run_time_sizes(dtype):
    check_converts(
        f"{_11} g ({dtype}[N, M] x, int64[1] k) => ({dtype}[N, K] v, int64[N, K] i) "
        "{ v, i = TopK <largest = 0> (x, k) }",
        10,
        exact=True,
    )


def test_bfloat16_is_sorted_as_float_below_24():
    converted = check_converts(
        '<ir_version: 11, opset_import: ["": 24]> g (bfloat16[4] x) => (bfloat16[2] v, int64[2] i) '
        "<int64[1] k = {2}> { v, i = TopK (x, k) }",
        21,
        exact=True,
    )
    assert [node.op_type for node in converted.graph.node] == ["Cast", "TopK", "Cast"]
