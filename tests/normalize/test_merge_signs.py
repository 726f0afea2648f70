"""Changes of sign around sums, products and selections."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("merge-signs", "remove-unused")
_CONSTANTS = "<float[2] c = {2, 3}, float[1] m = {-1}, float[1, 1] wide = {-1}, float h = {0.5}, float[2] k = {4, 5}>"
_HEAD = "g (float[2] x, float[2] v, bool[2] b) => (float[2] y)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = Neg(v) y = Add(x, a)", "y = Sub(x, v)"),
        ("a = Neg(x) y = Add(a, v)", "y = Sub(v, x)"),
        ("a = Neg(v) y = Sub(x, a)", "y = Add(x, v)"),
        ("a = Not(b) y = Where(a, x, v)", "y = Where(b, v, x)"),
        ("a = Neg(x) y = Mul(a, c)", "y = Mul(x, y_factor)"),
        ("a = Mul(c, x) y = Neg(a)", "y = Mul(x, y_factor)"),
        ("a = Div(x, c) y = Mul(m, a)", "y = Div(x, y_factor)"),
        ("a = Mul(x, m) y = Div(a, c)", "y = Div(x, y_factor)"),
    ],
)
def test_the_sign_becomes_part_of_the_other_node(before: str, after: str) -> None:
    constants = "<float[2] y_factor = {-2, -3}>" if "y_factor" in after else ""
    check_rewrite(_PASSES, f"{_HEAD} {_CONSTANTS} {{ {before} }}", f"{_HEAD} {constants} {{ {after} }}")


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ("a = Neg(x) y = Sub(a, v)", "it would take two nodes, too"),
        ("a = Mul(x, h) y = Mul(a, c)", "two products round twice"),
        ("a = Neg(x) y = Div(c, a)", "the constant is divided"),
        ("a = Neg(v) b1 = Add(x, a) y = Mul(b1, a)", "the other sign is read, too"),
        ("a = Not(b) d = Where(a, x, v) e = Cast<to = 1>(a) y = Mul(d, e)", "the condition is read, too"),
    ],
)
def test_other_signs_stay(nodes: str, why: str) -> None:
    check_unchanged(_PASSES, f"{_HEAD} {_CONSTANTS} {{ {nodes} }}")


def test_a_factor_that_widens_the_result_stays() -> None:
    head = "g (float[2] x) => (float[1, 2] y)"
    check_unchanged(_PASSES, f"{head} {_CONSTANTS} {{ a = Mul(x, wide) y = Mul(a, c) }}")


def test_integers_stay() -> None:
    check_unchanged(_PASSES, "g (int32[2] x) => (int32[2] y) <int32[2] c = {2, 3}> { a = Neg(x) y = Mul(a, c) }")
