"""Views on both sides of a Transpose."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("lift-views", "remove-unused", "merge-reshapes")
_CONSTANTS = """<int64[1] zero = {0}, int64[1] one = {1}, int64[4] with_one = {4, 1, 2, 3}, int64[2] flat = {12, 2},
    int64[3] parts = {4, 2, 3}, int64[3] others = {4, 3, 2}>"""


def test_a_dimension_that_goes_after_the_transpose_is_not_made_before() -> None:
    head = "g (float[4, 6] x) => (float[2, 4, 3] y)"
    before = f"""{head} {_CONSTANTS} {{
        a = Reshape(x, with_one) b = Transpose<perm = [2, 0, 1, 3]>(a) y = Squeeze(b, one)
    }}""".replace("Squeeze(b, one)", "Squeeze(b, axis)").replace(
        "<int64[1] zero", "<int64[1] axis = {2}, int64[1] zero"
    )
    after = f"""{head} <int64[3] a_1_shape = {{4, 2, 3}}> {{
        a_1 = Reshape(x, a_1_shape) y = Transpose<perm = [1, 0, 2]>(a_1)
    }}"""
    check_rewrite(_PASSES, before, after)


def test_a_dimension_that_is_reshaped_away_is_not_transposed() -> None:
    head = "g (float[4, 6] x) => (float[12, 2] y)"
    before = f"{head} {_CONSTANTS} {{ a = Unsqueeze(x, zero) b = Transpose<perm = [2, 0, 1]>(a) y = Reshape(b, flat) }}"
    after = f"""{head} <int64[2] y_shape = {{12, 2}}> {{
        b_1 = Transpose<perm = [1, 0]>(x) y = Reshape(b_1, y_shape)
    }}"""
    check_rewrite(_PASSES, before, after)


@pytest.mark.parametrize(
    ("shape", "nodes", "why"),
    [
        ("4, 6", "a = Reshape(x, with_one) y = Transpose<perm = [2, 0, 1, 3]>(a)", "no view after it"),
        ("4, 6", "a = Transpose(x) y = Unsqueeze(a, zero)", "no view before it"),
        ("4, 6", "a = Reshape(x, parts) b = Transpose<perm = [1, 0, 2]>(a) y = Reshape(b, others)", "other sizes"),
        ("n, 6", "a = Unsqueeze(x, zero) b = Transpose<perm = [2, 0, 1]>(a) y = Reshape(b, flat)", "unknown sizes"),
        (
            "4, 6",
            "a = Unsqueeze(x, zero) b = Transpose<perm = [2, 0, 1]>(a) y = Reshape(b, flat) z = Neg(b)",
            "read twice",
        ),
    ],
)
def test_other_views_stay(shape: str, nodes: str, why: str) -> None:
    outputs = "float[] y, float[] z" if "z =" in nodes else "float[] y"
    check_unchanged("lift-views", f"g (float[{shape}] x) => ({outputs}) {_CONSTANTS} {{ {nodes} }}")
