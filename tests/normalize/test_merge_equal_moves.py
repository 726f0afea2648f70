"""Moves of each part of a Split, and of each input of a Concat."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged, rewritten, text_model

_PASSES = ("merge-equal-moves", "remove-unused")
_CONSTANTS = """<int64[1] one = {1}, int64[1] two = {2}, int64[1] last = {3}, int64[4] heads = {-1, 2, 2, 3},
    int64[4] others = {-1, 2, 3, 2}, int64[2] rows = {-1, 12}>"""


def test_parts_are_transposed_before_they_are_split() -> None:
    head = "g (float[n, 2, 6] x) => (float[2, n, 3] y, float[2, n, 3] z)"
    before = f"""{head} {{
        a, b = Split<axis = 2>(x) y = Transpose<perm = [1, 0, 2]>(a) z = Transpose<perm = [1, 0, 2]>(b)
    }}"""
    after = f"{head} {{ x_transposed = Transpose<perm = [1, 0, 2]>(x) y, z = Split<axis = 2>(x_transposed) }}"
    check_rewrite(_PASSES, before, after)


def test_a_part_with_another_permutation_gets_what_is_left() -> None:
    head = "g (float[n, 2, 9] x) => (float[2, n, 3] y, float[2, n, 3] z, float[2, 3, n] w)"
    before = f"""{head} {{
        a, b, c = Split<axis = -1>(x) y = Transpose<perm = [1, 0, 2]>(a)
        z = Transpose<perm = [1, 0, 2]>(b) w = Transpose<perm = [1, 2, 0]>(c)
    }}"""
    after = f"""{head} {{
        x_transposed = Transpose<perm = [1, 0, 2]>(x) y, z, c_1 = Split<axis = 2>(x_transposed)
        w = Transpose<perm = [0, 2, 1]>(c_1)
    }}"""
    check_rewrite(_PASSES, before, after)


def test_parts_are_reshaped_before_they_are_split() -> None:
    head = "g (float[n, 2, 12] x) => (float[n, 2, 2, 3] y, float[n, 2, 2, 3] z)"
    before = f"{head} {_CONSTANTS} {{ a, b = Split<axis = 2>(x) y = Reshape(a, heads) z = Reshape(b, heads) }}"
    after = f"""{head} <int64[4] x_reshaped_shape = {{-1, 2, 4, 3}}, int64[2] x_reshaped_sizes = {{2, 2}}> {{
        x_reshaped = Reshape(x, x_reshaped_shape) y, z = Split<axis = 2>(x_reshaped, x_reshaped_sizes)
    }}"""
    check_rewrite(_PASSES, before, after)


def test_sizes_of_parts_are_an_attribute_up_to_opset_12() -> None:
    head = "g (float[4, 9] x) => (float[4, 1, 3] y, float[4, 2, 3] z)"
    before = f"""{head} <int64[3] s = {{4, 1, 3}}, int64[3] t = {{4, 2, 3}}> {{
        a, b = Split<axis = 1, split = [3, 6]>(x) y = Reshape(a, s) z = Reshape(b, t)
    }}"""
    after = f"""{head} <int64[3] x_reshaped_shape = {{4, 3, 3}}> {{
        x_reshaped = Reshape(x, x_reshaped_shape) y, z = Split<axis = 1, split = [1, 2]>(x_reshaped)
    }}"""
    check_rewrite(_PASSES, before, after, opset=11)


def test_what_is_transposed_alike_is_transposed_after_a_concat() -> None:
    graph = """g (float[n, 2] x, float[m, 2] v) => (float[2, k] y) {
        a = Transpose(x) b = Transpose(v) y = Concat<axis = 1>(a, b)
    }"""
    (first, second) = rewritten(_PASSES, text_model(graph)).model.graph.node
    assert (first.op_type, first.attribute[0].i, second.op_type) == ("Concat", 0, "Transpose")


def test_a_stack_is_a_concat_and_a_reshape() -> None:
    graph = f"""g (float[n, 2, 3] x, float[n, 2, 3] v, float[n, 2, 3] w) => (float[n, 3, 2, 3] y) {_CONSTANTS} {{
        a = Unsqueeze(x, one) b = Unsqueeze(v, one) c = Unsqueeze(w, one) y = Concat<axis = 1>(a, b, c)
    }}"""
    (first, second) = rewritten(_PASSES, text_model(graph)).model.graph.node
    assert (first.op_type, first.attribute[0].i, second.op_type) == ("Concat", 1, "Reshape")


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        (
            "a, b = Split<axis = 2>(x) y = Transpose<perm = [1, 0, 2]>(a) z = Transpose<perm = [2, 1, 0]>(b)",
            "no two permutations are the same",
        ),
        (
            "a, b = Split<axis = 2>(x) y = Transpose<perm = [1, 0, 2]>(a) z = Neg(b)",
            "one part is not moved",
        ),
        (
            "a, b = Split<axis = 2>(x) y = Transpose(a) z = Transpose(b) w = Neg(a)",
            "one part is read by others",
        ),
        (
            "a, b = Split<axis = 2>(x) y = Reshape(a, heads) z = Reshape(b, others)",
            "the shapes differ after the axis",
        ),
        (
            "a, b = Split<axis = 2>(x) y = Reshape(a, rows) z = Reshape(b, rows)",
            "the dimension before the axis becomes part of it",
        ),
        (
            "a, b = Split<axis = 2>(x) c = Transpose<perm = [1, 0, 2]>(a) d = Transpose<perm = [2, 0, 1]>(b) "
            "y = Identity(c) z = Concat<axis = 0>(d)",
            "a concat of one",
        ),
        (
            "a = Unsqueeze(x, last) b = Unsqueeze(x, last) y = Concat<axis = 3>(a, b) z = Neg(x)",
            "a stack behind the last dimension",
        ),
        (
            "a = Transpose<perm = [0, 2, 1]>(x) b = Transpose<perm = [2, 0, 1]>(x) c = Neg(b) "
            "y = Concat<axis = 0>(a, a) z = Neg(c)",
            "one input, twice",
        ),
    ],
)
def test_other_moves_stay(nodes: str, why: str) -> None:
    outputs = "float[] y, float[] z, float[] w" if "w =" in nodes else "float[] y, float[] z"
    check_unchanged(_PASSES, f"g (float[n, 2, 12] x) => ({outputs}) {_CONSTANTS} {{ {nodes} }}")
