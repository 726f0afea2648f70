"""Every element of a dimension that a Reshape made."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("gathers-as-split", "remove-unused")
_CONSTANTS = """<int64[3] parts = {2, 2, 3}, int64[3] others = {2, 3, 2}, int64 first = {0}, int64 second = {1},
    int64 last = {-1}, int64[1] vector = {1}>"""
_HEAD = "g (float[2, 6] x) => (float[] y, float[] z)"


@pytest.mark.parametrize("index", ["second", "last"])
def test_all_elements_become_the_parts_of_a_split(index: str) -> None:
    gathers = f"y = Gather<axis = 1>(a, {index}) z = Gather<axis = 1>(a, first)"
    before = f"{_HEAD} {_CONSTANTS} {{ a = Reshape(x, parts) {gathers} }}"
    check_rewrite(_PASSES, before, f"{_HEAD} <int64[2] x_sizes = {{3, 3}}> {{ z, y = Split<axis = 1>(x, x_sizes) }}")


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ("a = Reshape(x, others) y = Gather<axis = 1>(a, first) z = Gather<axis = 1>(a, second)", "one is not read"),
        ("a = Reshape(x, parts) y = Gather<axis = 1>(a, second) z = Gather<axis = 1>(a, last)", "one is read twice"),
        ("a = Reshape(x, parts) y = Gather<axis = 1>(a, first) z = Gather<axis = 1>(a, vector)", "the dimension stays"),
        ("a = Reshape(x, parts) y = Gather<axis = 1>(a, first) z = Gather<axis = 0>(a, second)", "of two dimensions"),
        ("a = Reshape(x, parts) y = Gather<axis = 0>(a, first) z = Gather<axis = 0>(a, second)", "another shape"),
        ("a = Reshape(x, parts) y = Gather<axis = 1>(a, first) z = Neg(a)", "the whole is read"),
    ],
)
def test_other_elements_stay(nodes: str, why: str) -> None:
    check_unchanged(_PASSES, f"{_HEAD} {_CONSTANTS} {{ {nodes} }}")
