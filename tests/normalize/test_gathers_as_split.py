"""Every element of a dimension, each taken by a node of its own."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("gathers-as-split", "remove-unused")
_INDICES = "int64 first = {0}, int64 second = {1}, int64 third = {2}, int64 last = {-1}"
_CONSTANTS = f"<int64[3] parts = {{2, 2, 3}}, int64[3] others = {{2, 3, 2}}, int64[1] vector = {{1}}, {_INDICES}>"
_HEAD = "g (float[2, 6] x) => (float[] y, float[] z)"


@pytest.mark.parametrize("index", ["second", "last"])
def test_all_elements_become_the_parts_of_a_split(index: str) -> None:
    gathers = f"y = Gather<axis = 1>(a, {index}) z = Gather<axis = 1>(a, first)"
    before = f"{_HEAD} {_CONSTANTS} {{ a = Reshape(x, parts) {gathers} }}"
    check_rewrite(_PASSES, before, f"{_HEAD} <int64[2] x_sizes = {{3, 3}}> {{ z, y = Split<axis = 1>(x, x_sizes) }}")


def test_a_dimension_that_a_reshape_made_is_merged_with_the_next_one() -> None:
    gathers = "y = Gather<axis = 0>(a, first) z = Gather<axis = 0>(a, second)"
    before = f"{_HEAD} {_CONSTANTS} {{ a = Reshape(x, parts) {gathers} }}"
    constants = "<int64[2] a_merged_shape = {4, 3}, int64[2] a_merged_sizes = {2, 2}>"
    nodes = "a_merged = Reshape(x, a_merged_shape) y, z = Split<axis = 0>(a_merged, a_merged_sizes)"
    check_rewrite(_PASSES, before, f"{_HEAD} {constants} {{ {nodes} }}")


_PROJECTED = "g (float[N, L, 24] x) => (float[] q, float[] k, float[] v)"
_BY_INDEX = "q = Gather<axis = 0>(b, first) k = Gather<axis = 0>(b, second) v = Gather<axis = 0>(b, third)"


@pytest.mark.parametrize(("target", "merged"), [("0, 0, 3, 4, 2", "0, 0, 12, 2"), ("0, -1, 3, 4, 2", "0, -1, 12, 2")])
def test_projections_of_attention_are_split_behind_the_transpose(target: str, merged: str) -> None:
    before = f"""{_PROJECTED} <int64[5] parts = {{{target}}}, {_INDICES}> {{
        a = Reshape(x, parts) b = Transpose<perm = [2, 0, 3, 1, 4]>(a) {_BY_INDEX} }}"""
    after = f"""{_PROJECTED} <int64[4] a_merged_shape = {{{merged}}}, int64[3] b_merged_sizes = {{4, 4, 4}}> {{
        a_merged = Reshape(x, a_merged_shape) b_merged = Transpose<perm = [0, 2, 1, 3]>(a_merged)
        q, k, v = Split<axis = 1>(b_merged, b_merged_sizes) }}"""
    check_rewrite(_PASSES, before, after)


def test_a_slice_of_one_element_that_is_only_reshaped_is_a_part_as_well() -> None:
    constants = "int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[2] half = {4, 10}"
    before = f"""g (float[5, 24] x) => (float[] q, float[] k, float[] v) <int64[4] parts = {{5, 3, 4, 2}}, {_INDICES},
            {constants}> {{
        a = Reshape(x, parts) b = Transpose<perm = [1, 2, 0, 3]>(a) q = Gather<axis = 0>(b, first)
        s = Slice(b, one, two, zero) k = Reshape(s, half) v = Gather<axis = 0>(b, last) }}"""
    after = """g (float[5, 24] x) => (float[] q, float[] k, float[] v) <int64[2] half = {4, 10},
            int64[3] a_merged_shape = {5, 12, 2}, int64[3] b_merged_sizes = {4, 4, 4}> {
        a_merged = Reshape(x, a_merged_shape) b_merged = Transpose<perm = [1, 0, 2]>(a_merged)
        q, s_element, v = Split<axis = 0>(b_merged, b_merged_sizes) k = Reshape(s_element, half) }"""
    check_rewrite(_PASSES, before, after)


_STEPS = "g (float[N, 3, 4] x) => (float[] q, float[] k, float[] v, float[] w)"
_BY_STEP = "q = Gather<axis = 1>(x, first) k = Gather<axis = 1>(x, second) v = Gather<axis = 1>(x, third)"


def test_three_elements_are_worth_a_reshape_whatever_else_is_read() -> None:
    before = f"{_STEPS} <{_INDICES}> {{ {_BY_STEP} w = Neg(x) }}"
    after = f"""{_STEPS} <int64[2] x_merged_shape = {{-1, 12}}, int64[3] x_merged_sizes = {{4, 4, 4}},
            float[N, 12] x_merged> {{
        w = Neg(x) x_merged = Reshape(x, x_merged_shape) q, k, v = Split<axis = 1>(x_merged, x_merged_sizes) }}"""
    check_rewrite(_PASSES, before, after)


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ("a = Reshape(x, others) y = Gather<axis = 1>(a, first) z = Gather<axis = 1>(a, second)", "one is not read"),
        ("a = Reshape(x, parts) y = Gather<axis = 1>(a, second) z = Gather<axis = 1>(a, last)", "one is read twice"),
        ("a = Reshape(x, parts) y = Gather<axis = 1>(a, first) z = Gather<axis = 1>(a, vector)", "the dimension stays"),
        ("a = Reshape(x, parts) y = Gather<axis = 1>(a, first) z = Gather<axis = 0>(a, second)", "of two dimensions"),
        ("a = Reshape(x, others) y = Gather<axis = 2>(a, first) z = Gather<axis = 2>(a, second)", "nothing behind"),
        ("a = Reshape(x, parts) y = Gather<axis = 1>(a, first) z = Neg(a)", "the whole is read"),
        ("y = Gather<axis = 0>(x, first) z = Gather<axis = 0>(x, second)", "two are not worth a Reshape"),
    ],
)
def test_other_elements_stay(nodes: str, why: str) -> None:
    check_unchanged(_PASSES, f"{_HEAD} {_CONSTANTS} {{ {nodes} }}")


@pytest.mark.parametrize(
    ("head", "nodes", "why"),
    [
        ("float[N, 3, M] x", _BY_STEP, "the size behind is not known"),
        ("float[N, M, 3, 4] x", _BY_STEP.replace("axis = 1", "axis = 2"), "two sizes are not known"),
        ("float[0, 3, 4] x", _BY_STEP, "a Reshape to 0 copies a size"),
        ("uint8[2, 3, 4] i, float s", f"x = DequantizeLinear(i, s) {_BY_STEP}", "runtimes move what is quantized"),
    ],
)
def test_elements_stay_where_no_reshape_can_be_written(head: str, nodes: str, why: str) -> None:
    check_unchanged(_PASSES, f"g ({head}) => (float[] q, float[] k, float[] v) <{_INDICES}> {{ {nodes} }}")


def test_elements_that_subgraphs_take_are_no_parts() -> None:
    constants = f"<int64[3] parts = {{2, 2, 3}}, {_INDICES}>"
    branches = "then_branch = t () => (float[] y) { y = Gather<axis = 1>(a, second) }"
    other = "else_branch = e () => (float[] u) { u = Neg(z) }"
    check_unchanged(
        _PASSES,
        f"""g (float[2, 6] x, bool c) => (float[] w) {constants} {{
            a = Reshape(x, parts) z = Gather<axis = 1>(a, first) w = If<{branches}, {other}>(c) }}""",
    )


def test_before_opset_13_the_sizes_are_an_attribute() -> None:
    before = f"{_STEPS} <{_INDICES}> {{ {_BY_STEP} w = Neg(x) }}"
    after = f"""{_STEPS} <int64[2] x_merged_shape = {{-1, 12}}, float[N, 12] x_merged> {{
        w = Neg(x) x_merged = Reshape(x, x_merged_shape) q, k, v = Split<axis = 1, split = [4, 4, 4]>(x_merged) }}"""
    check_rewrite(_PASSES, before, after, opset=11)
