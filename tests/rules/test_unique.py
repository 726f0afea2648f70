"""Unique below the opset at which it was introduced."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal

_13 = '<ir_version: 7, opset_import: ["": 13]>'


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("target", [10, 9])
@pytest.mark.parametrize("order", [0, 1], ids=["by occurrence", "ascending"])
@pytest.mark.parametrize(
    ("shapes", "axis"),
    [
        pytest.param("float[2, 5] x) => (float[U] y", "", id="all elements"),
        pytest.param("int64[6] x) => (int64[U] y", "axis = 0,", id="one dimension"),
        pytest.param("bool[4] x) => (bool[U] y", "", id="booleans"),
        pytest.param("float[0] x) => (float[U] y", "", id="empty"),
        pytest.param("float16[3, 4, 2] x) => (float16[3, U, 2] y", "axis = -2,", id="slices"),
    ],
)
def test_groups_of_equal_elements_are_found(target, order, shapes, axis):
    check_converts(
        f"{_13} g ({shapes}, int64[U] i, int64[N] j, int64[U] c) "
        f"{{ y, i, j, c = Unique <{axis} sorted = {order}> (x) }}",
        target,
        exact=True,
    )


def test_sizes_of_the_run_are_sorted_from_10_on():
    graph = "g (float[N, M] x) => (float[U] y, int64[K] j) { y, , j = Unique (x) }"
    check_converts(f"{_13} {graph}", 10, exact=True)
    check_refusal(f"{_13} {graph}", 9, Why.INPUT_NOT_CONSTANT, "TopK")


def test_slices_of_run_time_sizes_are_sorted_key_by_key():
    check_converts(
        f"{_13} g (int32[2, N] x) => (int32[2, U] y, int64[U] c) {{ y, , , c = Unique <axis = 1> (x) }}", 10, exact=True
    )


def test_strings_are_refused():
    check_refusal(f"{_13} g (string[3] x) => (string[U] y) {{ y = Unique (x) }}", 10, Why.NO_EQUIVALENT, "string")
