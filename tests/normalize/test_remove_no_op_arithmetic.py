"""Arithmetic that gives its operand back, bit for bit."""

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

PASS = "remove-no-op-arithmetic"


def between(node: str, constants: str = "", dtype: str = "float") -> str:
    """A graph with the node between two others."""
    return f"g ({dtype}[2,3] x) => ({dtype}[2,3] y) {constants} {{ a = Neg(x)  b = {node}  y = Abs(b) }}"


def without(dtype: str = "float") -> str:
    """The graph without the node."""
    return f"g ({dtype}[2,3] x) => ({dtype}[2,3] y) {{ a = Neg(x)  y = Abs(a) }}"


@pytest.mark.parametrize(
    ("node", "constants"),
    [
        ("Add(a, c)", "<float c = {-0.0}>"),
        ("Div(a, c)", "<float[1] c = {1}>"),
        ("Max(a)", ""),
        ("Mean(a)", ""),
        ("Min(a)", ""),
        ("Mul(c, a)", "<float[2,1] c = {1, 1}>"),
        ("Sub(a, c)", "<float[3] c = {0, 0, 0}>"),
        ("Sum(a)", ""),
        ("Where(c, a, x)", "<bool[3] c = {1, 1, 1}>"),
        ("Where(c, x, a)", "<bool c = {0}>"),
    ],
)
def test_the_operand_of_what_changes_nothing_is_read(node: str, constants: str) -> None:
    check_rewrite(PASS, between(node, constants), without())


def test_integers_know_one_zero() -> None:
    check_rewrite(PASS, between("Add(c, a)", "<int32 c = {0}>", "int32"), without("int32"))


@pytest.mark.parametrize(
    ("node", "constants"),
    [
        ("Add(a, c)", "<float c = {0}>"),  # -0 + 0 is 0
        ("Add(a, c)", "<float[3] c = {-0.0, 1, 1}>"),
        ("Div(c, a)", "<float c = {1}>"),
        ("Mul(a, c)", "<float[1,1,1] c = {1}>"),  # a rank more
        ("Sub(a, c)", "<float c = {-0.0}>"),  # -0 - -0 is 0
        ("Sub(c, a)", "<float c = {0}>"),
        ("Where(c, a, x)", "<bool[1,2,3] c = {1, 1, 1, 1, 1, 1}>"),
    ],
)
def test_what_changes_some_operand_stays(node: str, constants: str) -> None:
    check_unchanged(PASS, between(node, constants).replace("float[2,3] y", "float[] y"))


def test_absent_bounds_are_the_largest_finite_numbers() -> None:
    check_unchanged(PASS, between("Clip(a)"), opset=10)
    check_unchanged(PASS, between("Clip(a)"))
    check_rewrite(PASS, between("Clip(a)", dtype="int32"), without("int32"))


def test_an_operand_of_unknown_shape_may_be_widened() -> None:
    check_unchanged(
        PASS, "g (float[N] x) => (float[M] y) <float[3] c = {1, 1, 1}> { a = Neg(x) b = Mul(a, c) y = Abs(b) }"
    )


def test_pairs_that_undo_each_other_go() -> None:
    before = "g (float[2] x) => (float[2] y) { a = Abs(x) b = Neg(a) c = Neg(b) y = Exp(c) }"
    check_rewrite(PASS, before, "g (float[2] x) => (float[2] y) { a = Abs(x) y = Exp(a) }")
    head = "g (bool[2] x, bool[2] z) => (bool[2] y)"
    before = f"{head} {{ b = Not(x) c = Not(b) d = And(b, z) e = Xor(c, d) y = Not(e) }}"
    check_rewrite(PASS, before, f"{head} {{ b = Not(x) d = And(b, z) e = Xor(x, d) y = Not(e) }}")


def test_what_is_done_already_is_not_done_again() -> None:
    before = "g (float[2] x) => (float[2] y) { a = Relu(x) b = Relu(a) c = Floor(b) d = Round(c) y = Exp(d) }"
    check_rewrite(PASS, before, "g (float[2] x) => (float[2] y) { a = Relu(x) c = Floor(a) y = Exp(c) }")


def test_logic_with_a_neutral_constant() -> None:
    before = """g (bool[2] x) => (bool[2] y) <bool t = {1}, bool[1] f = {0}> {
        a = Not(x) b = And(a, t) c = Or(f, b) d = Xor(c, f) y = Not(d)
    }"""
    check_rewrite(
        PASS, before, "g (bool[2] x) => (bool[2] y) { a = Not(x) y = Not(a) }".replace("y = Not(a)", "y = Not(a)")
    )


def test_broadcasting_by_attribute_goes_one_way() -> None:
    before = (
        "g (float[2,3] x) => (float[2,3] y) <float[2] c = {1, 1}> { b = Mul<broadcast = 1, axis = 0>(x, c) y = Exp(b) }"
    )
    check_rewrite(PASS, before, "g (float[2,3] x) => (float[2,3] y) { y = Exp(x) }", opset=6)
