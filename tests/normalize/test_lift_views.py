"""Views and transposes in turn."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("lift-views", "remove-unused", "merge-reshapes")
_CONSTANTS = """<int64[1] zero = {0}, int64[1] two = {2}, int64[4] with_one = {4, 1, 2, 3}, int64[2] pairs = {-1, 2},
    int64[3] parts = {4, 2, 3}, int64[3] others = {4, 3, 2}, int64[3] joined = {3, -1, 8}, int64[3] split = {5, -1, 3},
    int64[4] heads = {-1, 2, 5, 3}, int64[4] apart = {-1, 3, 2, 4}>"""


@pytest.mark.parametrize(
    ("head", "before", "after"),
    [
        pytest.param(
            "g (float[4, 6] x) => (float[2, 4, 3] y)",
            "a = Reshape(x, with_one) b = Transpose<perm = [2, 0, 1, 3]>(a) y = Squeeze(b, two)",
            "<int64[3] b_1_shape = {4, 2, 3}> { b_1 = Reshape(x, b_1_shape) y = Transpose<perm = [1, 0, 2]>(b_1) }",
            id="a dimension that goes after the Transpose is not made before",
        ),
        pytest.param(
            "g (float[5, n, 6] x) => (float[l, 2, 5, 3] y)",
            "a = Reshape(x, split) b = Transpose<perm = [1, 0, 2]>(a) y = Reshape(b, heads)",
            """<int64[4] b_1_shape = {5, -1, 2, 3}> {
                b_1 = Reshape(x, b_1_shape) y = Transpose<perm = [1, 2, 0, 3]>(b_1)
            }""",
            id="what is taken apart after the Transpose is taken apart before",
        ),
        pytest.param(
            "g (float[n, 6] x) => (float[m, 2] y)",
            "a = Unsqueeze(x, zero) b = Transpose<perm = [2, 0, 1]>(a) y = Reshape(b, pairs)",
            "<int64[2] y_shape = {-1, 2}> { b_1 = Transpose<perm = [1, 0]>(x) y = Reshape(b_1, y_shape) }",
            id="a dimension that is reshaped away is not transposed",
        ),
        pytest.param(
            "g (float[3, 2, n, 4] x) => (float[n, 3, 8] y)",
            "a = Transpose<perm = [0, 2, 1, 3]>(x) b = Reshape(a, joined) y = Transpose<perm = [1, 0, 2]>(b)",
            """<int64[3] y_shape = {-1, 3, 8}> {
                b_1 = Transpose<perm = [2, 0, 1, 3]>(x) y = Reshape(b_1, y_shape)
            }""",
            id="dimensions are joined after both transposes",
        ),
        pytest.param(
            "g (float[3, n, 8] x) => (float[n, 2, 3, 4] y)",
            "a = Transpose<perm = [1, 0, 2]>(x) b = Reshape(a, apart) y = Transpose<perm = [0, 2, 1, 3]>(b)",
            """<int64[4] b_1_shape = {3, -1, 2, 4}> {
                b_1 = Reshape(x, b_1_shape) y = Transpose<perm = [1, 2, 0, 3]>(b_1)
            }""",
            id="dimensions are taken apart before both transposes",
        ),
        pytest.param(
            "g (float[n, m, k] x) => (float[m, n, k] y)",
            "a = Unsqueeze(x, zero) b = Transpose<perm = [2, 1, 0, 3]>(a) y = Squeeze(b, two)",
            "{ y = Transpose<perm = [1, 0, 2]>(x) }",
            id="no size is known",
        ),
    ],
)
def test_three_become_two(head: str, before: str, after: str) -> None:
    check_rewrite(_PASSES, f"{head} {_CONSTANTS} {{ {before} }}", f"{head} {after}")


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("shape", "nodes", "why"),
    [
        ("4, 6", "a = Reshape(x, with_one) y = Transpose<perm = [2, 0, 1, 3]>(a)", "no view after it"),
        ("4, 6", "a = Transpose(x) y = Unsqueeze(a, zero)", "no view before it"),
        ("4, 6", "a = Reshape(x, parts) b = Transpose<perm = [1, 0, 2]>(a) y = Reshape(b, others)", "joins and splits"),
        ("n, m, 6", "a = Reshape(x, pairs) b = Transpose(a) y = Reshape(b, pairs)", "two unknown sizes"),
        (
            "4, 6",
            "a = Unsqueeze(x, zero) b = Transpose<perm = [2, 0, 1]>(a) y = Reshape(b, pairs) z = Neg(b)",
            "two readers",
        ),
        ("4, 6", "a = Transpose(x) b = Reshape(a, others) y = Transpose(b)", "neither joined nor taken apart"),
        ("4, 6", "a = Transpose(x) b = Unsqueeze(a, zero) y = Transpose(b) z = Neg(b)", "the view is read by others"),
    ],
)
def test_other_views_stay(shape: str, nodes: str, why: str) -> None:
    outputs = "float[] y, float[] z" if "z =" in nodes else "float[] y"
    check_unchanged("lift-views", f"g (float[{shape}] x) => ({outputs}) {_CONSTANTS} {{ {nodes} }}")
