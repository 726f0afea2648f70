"""Reductions, and views that add or remove what they reduced."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("merge-kept-dimensions", "remove-unused")
_CONSTANTS = """<int64[1] one = {1}, int64[1] two = {2}, int64[1] all = {-1}, int64[2] column = {-1, 1},
    int64[2] row = {1, -1}>"""


@pytest.mark.parametrize(
    ("outputs", "before", "after"),
    [
        (
            "float[n, 3] y",
            "a = ReduceMean<axes = [-1]>(x) y = Squeeze(a, two)",
            "y = ReduceMean<axes = [-1], keepdims = 0>(x)",
        ),
        (
            "float[n, 3, 1] y",
            "a = ReduceMax<axes = [2], keepdims = 0>(x) y = Unsqueeze(a, two)",
            "y = ReduceMax<axes = [2], keepdims = 1>(x)",
        ),
        (
            "float[n, 1] y",
            "b = Flatten(x) a = ReduceL2<axes = [1], keepdims = 0>(b) y = Reshape(a, column)",
            "b = Flatten(x) y = ReduceL2<axes = [1], keepdims = 1>(b)",
        ),
        (
            "int64[n] y",
            "b = Flatten(x) a = ArgMin<axis = 1>(b) y = Reshape(a, all)",
            "b = Flatten(x) y = ArgMin<axis = 1, keepdims = 0>(b)",
        ),
    ],
)
def test_the_reduction_gives_the_shape_of_the_view(outputs: str, before: str, after: str) -> None:
    head = f"g (float[n, 3, 4] x) => ({outputs})"
    check_rewrite(_PASSES, f"{head} {_CONSTANTS} {{ {before} }}", f"{head} {{ {after} }}")


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ("a = ReduceMean<axes = [2], keepdims = 0>(x) y = Unsqueeze(a, one)", "in another place"),
        ("a = ReduceMean<axes = [2]>(x) y = Unsqueeze(a, one)", "what it keeps, and another one"),
        ("a = ReduceMean<axes = [1, 2]>(x) y = Squeeze(a, two)", "one of two"),
        ("a = ReduceMean<axes = [1, 2], keepdims = 0>(x) y = Reshape(a, row)", "another shape"),
        ("a = ReduceMean<axes = [2]>(x) y = Reshape(a, all)", "two sizes in one"),
        ("a = ReduceMean<axes = [2]>(x) y = Squeeze(a, two) z = Neg(a)", "read twice"),
    ],
)
def test_other_views_stay(nodes: str, why: str) -> None:
    outputs = "float[] y, float[] z" if "z =" in nodes else "float[] y"
    check_unchanged(_PASSES, f"g (float[n, 3, 4] x) => ({outputs}) {_CONSTANTS} {{ {nodes} }}")
