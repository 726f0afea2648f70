"""Gather, GatherElements and GatherND below the opsets at which they were introduced or widened."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

_13 = '<ir_version: 7, opset_import: ["": 13]>'


def test_constant_negative_indices_are_counted_from_the_front():
    check_rewrite(
        f"{_13} g (float[N, 3] x) => (float[N, 2] y) <int64[2] i = {{-1, 0}}> {{ y = Gather <axis = 1> (x, i) }}",
        '<ir_version: 5, opset_import: ["": 10]> g (float[N, 3] x) => (float[N, 2] y) '
        "<int64[2] y_indices = {2, 0}> { y = Gather <axis = 1> (x, y_indices) }",
    )


def test_elements_are_gathered_from_a_row_of_all():
    check_rewrite(
        f"{_13} g (float[2, 3] x, int64[1, 3] i) => (float[1, 3] y) {{ y = GatherElements <axis = -2> (x, i) }}",
        '<ir_version: 5, opset_import: ["": 10]> g (float[2, 3] x, int64[1, 3] i) => (float[1, 3] y) '
        "<float y_zero = {0}, int64 y_positions = {2}, int64 y_positions_1 = {3}, int64[3] y_positions_2 = {0, 1, 2}, "
        "int64[1] y_row = {-1}> "
        "{ y_Cast = Cast <to = 1> (i) y_Less = Less (y_Cast, y_zero) y_Cast_1 = Cast <to = 7> (y_Less) "
        "y_Mul = Mul (y_Cast_1, y_positions) "
        "y_Add = Add (i, y_Mul) y_Mul_1 = Mul (y_Add, y_positions_1) y_Add_1 = Add (y_Mul_1, y_positions_2) "
        "y_Reshape = Reshape (x, y_row) y = Gather <axis = 0> (y_Reshape, y_Add_1) }",
    )


def test_constant_indices_become_constant_positions():
    check_rewrite(
        f"{_13} g (string[2, 2] x) => (string[2, 1] y) <int32[2, 1] i = {{-1, 0}}> "
        "{ y = GatherElements <axis = 1> (x, i) }",
        '<ir_version: 5, opset_import: ["": 10]> g (string[2, 2] x) => (string[2, 1] y) '
        "<int64[1] y_row = {-1}, int64[2, 1] y_positions = {1, 2}> "
        "{ y_Reshape = Reshape (x, y_row) y = Gather <axis = 0> (y_Reshape, y_positions) }",
    )


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("target", [10, 8, 5])
@pytest.mark.parametrize(
    ("signature", "attributes"),
    [
        pytest.param("float[N, M] x, int64[K, L] i) => (float[K, L] y", "axis = -1", id="run-time sizes"),
        pytest.param("int8[3] x, int32[5] i) => (int8[5] y", "axis = 0", id="one dimension"),
        pytest.param("string[3, 0] x, int64[3, 0] i) => (string[3, 0] y", "axis = 1", id="empty"),
        pytest.param("bool[4, 3, 2] x, int64[2, 3, 1] i) => (bool[2, 3, 1] y", "axis = 1", id="fewer than the data"),
    ],
)
def test_elements_are_gathered_at_every_older_opset(target, signature, attributes):
    check_converts(f"{_13} g ({signature}) {{ y = GatherElements <{attributes}> (x, i) }}", target, exact=True)


def test_elements_of_unknown_rank_are_refused():
    check_refusal(
        f"{_13} g (float[] x, int64[] i) => (float[] y) {{ y = GatherElements (x, i) }}",
        10,
        Why.RANK_UNKNOWN,
        "the flat positions of the elements",
    )


def test_single_indices_of_slices_are_gathered_along_the_first_dimension():
    converted = check_converts(
        f"{_13} g (float[N, 3] x, int64[K, 1] i) => (float[K, 3] y) {{ y = GatherND (x, i) }}", 10, exact=True
    )
    assert [node.op_type for node in converted.graph.node][-1] == "Gather"
    assert "Reshape" not in {node.op_type for node in converted.graph.node}


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("target", [11, 10, 8])
@pytest.mark.parametrize(
    ("signature", "attributes"),
    [
        pytest.param("float[N, M, 2] x, int64[K, 2] i) => (float[K, 2] y", "batch_dims = 0", id="slices"),
        pytest.param("float[2, 3] x, int64[2] i) => (float y", "batch_dims = 0", id="one tuple"),
        pytest.param("string[N, M, 3] x, int64[N, M, 4, 1] i) => (string[N, M, 4] y", "batch_dims = 2", id="batches"),
        pytest.param("float[2, 3, 4] x, int64[2, 1] i) => (float[2, 4] y", "batch_dims = 1", id="one index per batch"),
        pytest.param("int64[2, 0, 3] x, int64[0, 2] i) => (int64[0, 3] y", "batch_dims = 0", id="empty"),
    ],
)
def test_tuples_are_gathered_at_every_older_opset(target, signature, attributes):
    check_converts(f"{_13} g ({signature}) {{ y = GatherND <{attributes}> (x, i) }}", target, exact=True)


def test_tuples_of_unknown_length_are_refused():
    check_refusal(
        f"{_13} g (float[2, 3] x, int64[K, L] i) => (float[] y) {{ y = GatherND (x, i) }}",
        10,
        Why.SHAPE_UNKNOWN,
        "the number of indexed dimensions",
    )
