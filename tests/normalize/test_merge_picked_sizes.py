"""Sizes that are picked one by one."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("merge-picked-sizes", "merge-duplicate-initializers", "remove-unused")
_INDICES = "<int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, int64 i3 = {3}, int64[1] zero = {0}, int64[1] two = {2}>"
_HEAD = "g (float[a, 4, b, c] x) => (float[p, q, r, s] y)"


def _pick(index: int) -> str:
    return f"k{index} = Gather(s, i{index}) u{index} = Unsqueeze(k{index}, zero)"


def test_neighbours_become_one_shape() -> None:
    after = f"""{_HEAD} <int64[2] t_sizes = {{4, 1}}> {{
        t_picked = Shape<start = 2, end = 4>(x) t = Concat<axis = 0>(t_picked, t_sizes) y = Reshape(x, t)
    }}"""
    before = f"""{_HEAD} <int64 i2 = {{2}}, int64 i3 = {{3}}, int64[1] zero = {{0}}, int64[2] rest = {{4, 1}}> {{
        s = Shape(x) {_pick(2)} {_pick(3)} t = Concat<axis = 0>(u2, u3, rest) y = Reshape(x, t)
    }}"""
    check_rewrite(_PASSES, before, after)


def test_before_shape_takes_a_part_neighbours_become_one_gather() -> None:
    picks = "k2 = Gather(s, i2) u2 = Unsqueeze<axes = [0]>(k2) k3 = Gather(s, i3) u3 = Unsqueeze<axes = [0]>(k3)"
    before = f"""{_HEAD} <int64 i2 = {{2}}, int64 i3 = {{3}}, int64[1] rest = {{-1}}> {{
        s = Shape(x) {picks} t = Concat<axis = 0>(u3, u2, rest) y = Reshape(x, t)
    }}"""
    after = f"""{_HEAD} <int64[2] t_indices = {{3, 2}}, int64[1] t_sizes = {{-1}}> {{
        s = Shape(x) t_picked = Gather(s, t_indices) t = Concat<axis = 0>(t_picked, t_sizes) y = Reshape(x, t)
    }}"""
    check_rewrite(_PASSES, before, after, opset=12)


def test_all_sizes_in_order_are_the_shape() -> None:
    head = "g (float[a, b] x, float z) => (float[a, b] y)"
    before = f"{head} {_INDICES} {{ s = Shape(x) {_pick(0)} {_pick(1)} t = Concat<axis = 0>(u0, u1) y = Expand(z, t) }}"
    check_rewrite(_PASSES, before, f"{head} {{ s = Shape(x) y = Expand(z, s) }}")


def test_known_sizes_become_numbers() -> None:
    head = "g (float[a, 4, b] x, float z) => (float[p, q] y)"
    before = f"{head} {_INDICES} {{ s = Shape(x) {_pick(1)} {_pick(2)} t = Concat<axis = 0>(u2, u1) y = Expand(z, t) }}"
    after = f"""{head} <int64[1] t_sizes = {{4}}> {{
        t_picked = Shape<start = 2, end = 3>(x) t = Concat<axis = 0>(t_picked, t_sizes) y = Expand(z, t)
    }}"""
    check_rewrite(_PASSES, before, after)


@pytest.mark.parametrize(("cut", "branch"), [("-1", "{1, 1, 1}"), ("-7", "{5, 6, 7}")])
def test_a_comparison_of_sizes_with_a_negative_number_is_false(cut: str, branch: str) -> None:
    """As exporters write the target of expand."""
    head = f"g (float[a, b, 3] x, float[1, 3] z) => (float[a, b, 3] y) <int64[3] minus = {{{cut}, {cut}, {cut}}}"
    before = f"""{head}, int64[3] other = {branch}> {{
        s = Shape(x) e = Equal(s, minus) t = Where(e, other, s) y = Expand(z, t)
    }}"""
    interface = head.split(" <")[0]
    check_rewrite(_PASSES, before, f"{interface} {{ s = Shape(x) y = Expand(z, s) }}")


def test_a_comparison_of_sizes_with_another_number_is_left_to_the_run() -> None:
    graph = """g (float[a, b] x, float[1, 1] z) => (float[p, q] y) <int64[2] two = {2, 2}, int64[2] other = {1, 1}> {
        s = Shape(x) e = Equal(s, two) t = Where(e, other, s) y = Expand(z, t)
    }"""
    check_unchanged(_PASSES, graph)


def test_sizes_computed_otherwise_stay_and_those_around_them_merge() -> None:
    head = "g (float[a, b, c] x, float z) => (float[p, q, r] y)"
    before = f"""{head} {_INDICES} {{
        s = Shape(x) {_pick(0)} {_pick(1)} k2 = Gather(s, i2) d = Mul(k2, i3) e = Unsqueeze(d, zero)
        t = Concat<axis = 0>(u0, u1, e) y = Expand(z, t)
    }}"""
    after = f"""{head} <int64 i2 = {{2}}, int64 i3 = {{3}}, int64[1] zero = {{0}}> {{
        s = Shape(x) k2 = Gather(s, i2) d = Mul(k2, i3) e = Unsqueeze(d, zero) t_picked = Shape<start = 0, end = 2>(x)
        t = Concat<axis = 0>(t_picked, e) y = Expand(z, t)
    }}"""
    check_rewrite(_PASSES, before, after)


def test_what_takes_no_fewer_nodes_stays() -> None:
    head = "g (float[a, b] x, float z) => (float[p, q] y, int64 k0)"
    nodes = f"s = Shape(x) {_pick(0)} t = Concat<axis = 0>(u0, four) y = Expand(z, t)"
    check_unchanged(_PASSES, f"{head} <int64[1] four = {{4}}, int64[1] zero = {{0}}, int64 i0 = {{0}}> {{ {nodes} }}")


def test_vectors_of_another_dtype_stay() -> None:
    graph = f"""g (float[a, b] x) => (int32[2] t) {_INDICES} {{
        s = Shape(x) v = Cast<to = 6>(s) k0 = Gather(v, i0) u0 = Unsqueeze(k0, zero) t = Concat<axis = 0>(u0, u0)
    }}"""
    check_unchanged(_PASSES, graph)
