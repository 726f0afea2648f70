"""Slices that take a tensor apart, and those that do not."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("slices-as-split", "remove-unused")
_BOUNDS = """<int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] four = {4}, int64[1] back = {-2},
    int64[1] beyond = {9223372036854775807}, int64[1] minus = {-1}>"""


@pytest.mark.parametrize(("cut", "end", "axis"), [("two", "four", "one"), ("back", "beyond", "minus")])
def test_slices_from_the_start_to_the_end_become_one_split(cut: str, end: str, axis: str) -> None:
    head = "g (float[n, 4] x) => (float[n, 2] y, float[n, 2] z)"
    before = f"""{head} {_BOUNDS} {{
        a = Slice(x, {cut}, {end}, {axis}) b = Slice(x, zero, {cut}, {axis}) y = Neg(a) z = Abs(b)
    }}"""
    after = f"""{head} <int64[2] x_sizes = {{2, 2}}> {{ b, a = Split<axis = 1>(x, x_sizes) y = Neg(a) z = Abs(b) }}"""
    check_rewrite(_PASSES, before, after)


def test_outputs_of_the_graph_keep_their_names() -> None:
    head = "g (float[2, 3, 4] x) => (float[2, 1, 4] y, float[2, 2, 4] z)"
    slices = "y = Slice<axes = [1], starts = [0], ends = [1]>(x) z = Slice<axes = [1], starts = [1], ends = [9]>(x)"
    check_rewrite(_PASSES, f"{head} {{ {slices} }}", f"{head} {{ y, z = Split<axis = 1, split = [1, 2]>(x) }}", opset=9)


def test_slices_that_overlap_beside_a_chain_stay() -> None:
    head = "g (float[4, 4] x) => (float[2, 4] y, float[2, 4] z, float[3, 4] w)"
    slices = "y = Slice(x, zero, two, zero) z = Slice(x, two, four, zero) w = Slice(x, one, four, zero)"
    bounds = "int64[1] zero = {0}, int64[1] one = {1}, int64[1] four = {4}"
    after = f"""{head} <{bounds}, int64[2] x_sizes = {{2, 2}}> {{
        y, z = Split<axis = 0>(x, x_sizes) w = Slice(x, one, four, zero)
    }}"""
    check_rewrite(_PASSES, f"{head} {_BOUNDS} {{ {slices} }}", after)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("slices", "why"),
    [
        ("a = Slice(x, zero, one, one) b = Slice(x, two, four, one)", "a gap"),
        ("a = Slice(x, one, two, one) b = Slice(x, two, four, one)", "not from the start"),
        ("a = Slice(x, zero, two, one) b = Slice(x, one, four, one)", "an overlap"),
        ("a = Slice(x, zero, two, zero) b = Slice(x, two, beyond, zero)", "the size of the axis is not known"),
        ("a = Slice(x, zero, two, one) b = Slice(v, two, four, one)", "of other tensors"),
        ("a = Slice(x, zero, four, one, two) b = Slice(x, one, four, one, two)", "steps"),
        ("a = Slice(x, zero, four, one) b = Neg(x)", "one slice"),
    ],
)
def test_other_slices_stay(slices: str, why: str) -> None:
    head = "g (float[n, 4] x, float[n, 4] v) => (float[m, i] y, float[k, j] z)"
    check_unchanged(_PASSES, f"{head} {_BOUNDS} {{ {slices} y = Neg(a) z = Abs(b) }}")


def test_slices_of_a_vector_stay() -> None:
    graph = "g (float[4] x) => (float[2] y, float[2] z)"
    check_unchanged(_PASSES, f"{graph} {_BOUNDS} {{ y = Slice(x, zero, two) z = Slice(x, two, four) }}")


def test_slices_in_a_branch_are_split_there() -> None:
    head = "g (bool c, float[2, 4] x) => (float[2, 4] y)"
    other = "else_branch = e () => (float[2, 4] q) { q = Neg(x) }"
    before = f"""{head} {{ y = If (c) <then_branch = t () => (float[2, 4] p) {_BOUNDS} {{
        a = Slice(x, zero, two, one) b = Slice(x, two, four, one) p = Concat<axis = 1>(b, a)
    }}, {other}> }}"""
    after = f"""{head} {{ y = If (c) <then_branch = t () => (float[2, 4] p) <int64[2] x_sizes = {{2, 2}}> {{
        a, b = Split<axis = 1>(x, x_sizes) p = Concat<axis = 1>(b, a)
    }}, {other}> }}"""
    check_rewrite(_PASSES, before, after)


def test_slices_of_what_was_dequantized_stay() -> None:
    graph = """g (uint8[n, 4] q, float s) => (float[n, 2] y, float[n, 2] z) BOUNDS {
        x = DequantizeLinear(q, s) y = Slice(x, zero, two, one) z = Slice(x, two, four, one)
    }""".replace("BOUNDS", _BOUNDS)
    check_unchanged(_PASSES, graph)
