"""Expands whose readers broadcast by themselves."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("remove-expands", "remove-unused")


@pytest.mark.parametrize(
    ("operation", "result"),
    [("Mul(e, x)", "Mul(s, x)"), ("Div(x, e)", "Div(x, s)"), ("Max(x, e, x)", "Max(x, s, x)")],
)
def test_an_expand_to_the_shape_of_another_operand_goes(operation: str, result: str) -> None:
    head = "g (float[n, 3] x, float[1, 3] s) => (float[n, 3] y)"
    before = f"{head} {{ t = Shape(x) e = Expand(s, t) y = {operation} }}"
    check_rewrite(_PASSES, before, f"{head} {{ y = {result} }}")


def test_the_shape_of_the_operand_need_not_be_known() -> None:
    head = "g (float x, float[1] s) => (float y)"
    before = f"{head} {{ t = Shape(x) e = Expand(s, t) y = Add(x, e) }}"
    check_rewrite(_PASSES, before, f"{head} {{ y = Add(x, s) }}")


def test_a_target_with_ones_and_equal_sizes_asks_for_no_more_than_the_operand_has() -> None:
    head = "g (float[5, 2, 3] x, float[3] s) => (float[5, 2, 3] y)"
    before = f"{head} <int64[3] t = {{1, 2, 3}}> {{ e = Expand(s, t) y = Sub(e, x) }}"
    check_rewrite(_PASSES, before, f"{head} {{ y = Sub(s, x) }}")


def test_all_readers_have_to_broadcast() -> None:
    head = "g (float[n, 3] x, float[1, 3] s) => (float[n, 3] y, float[n, 3] z)"
    before = f"{head} {{ t = Shape(x) e = Expand(s, t) y = Mul(e, x) z = Add(x, e) }}"
    check_rewrite(_PASSES, before, f"{head} {{ y = Mul(s, x) z = Add(x, s) }}")
    check_unchanged(_PASSES, f"{head} {{ t = Shape(x) e = Expand(s, t) y = Mul(e, x) z = Neg(e) }}")


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ("t = Shape(x) e = Expand(s, t) y = Mul(e, s)", "the other operand is smaller"),
        ("t = Shape(x) e = Expand(s, t) y = Mul(e, e)", "there is no other operand"),
        ("t = Shape(v) e = Expand(s, t) y = Mul(e, x)", "another size"),
        ("t = Shape<start = 0, end = 1>(v) e = Expand(s, t) y = Mul(e, x)", "a part of a shape"),
        ("t = Shape(x) e = Expand(s, t) y = MatMul(e, w)", "no broadcasting by element"),
    ],
)
def test_other_expands_stay(nodes: str, why: str) -> None:
    head = "g (float[n, 3] x, float[m, 3] v, float[1, 3] s, float[3, 3] w) => (float[i, 3] y)"
    check_unchanged(_PASSES, f"{head} {{ {nodes} }}")


def test_an_expand_that_is_an_output_stays() -> None:
    head = "g (float[n, 3] x, float[1, 3] s) => (float[n, 3] y, float[n, 3] e)"
    check_unchanged(_PASSES, f"{head} {{ t = Shape(x) e = Expand(s, t) y = Mul(e, x) }}")


def test_an_expand_before_operators_broadcast_stays() -> None:
    head = "g (float[4, 3] x, float[1, 3] s) => (float[4, 3] y)"
    graph = f"{head} <int64[2] t = {{4, 3}}> {{ e = Expand(s, t) y = PRelu(x, e) }}"
    check_unchanged(_PASSES, graph)
