"""Single elements of an axis: one Gather takes them, or the nodes stay."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("merge-selections", "remove-unused")
_CONSTANTS = """<int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3},
    int64[1] minus = {-1}, int64[1] beyond = {9223372036854775807}, int64 first = {0}, int64 second = {1},
    int64[2] both = {0, 2}>"""


@pytest.mark.parametrize(("start", "end", "index"), [("one", "two", 1), ("minus", "beyond", 3)])
def test_a_slice_of_one_element_without_its_axis_is_a_gather(start: str, end: str, index: int) -> None:
    head = "g (float[n, 4] x) => (float[n] y)"
    before = f"{head} {_CONSTANTS} {{ a = Slice(x, {start}, {end}, one) y = Squeeze(a, one) }}"
    check_rewrite(_PASSES, before, f"{head} <int64 y_index = {{{index}}}> {{ y = Gather<axis = 1>(x, y_index) }}")


def test_a_split_into_single_elements_without_their_axis_is_gathers() -> None:
    head = "g (float[n, 2] x) => (float[n] y, float[n] z)"
    before = f"{head} {_CONSTANTS} {{ a, b = Split<axis = -1>(x) y = Squeeze(a, one) z = Squeeze(b, minus) }}"
    after = f"""{head} <int64 y_index = {{0}}, int64 z_index = {{1}}> {{
        y = Gather<axis = 1>(x, y_index) z = Gather<axis = 1>(x, z_index)
    }}"""
    check_rewrite(_PASSES, before, after)


def test_the_shape_of_indices_says_what_a_view_adds_or_removes() -> None:
    head = "g (float[3, 2] x) => (float[1, 2] y)"
    before = f"{head} {_CONSTANTS} {{ a = Gather(x, second) y = Unsqueeze(a, zero) }}"
    check_rewrite(_PASSES, before, f"{head} <int64[1] y_index = {{1}}> {{ y = Gather<axis = 0>(x, y_index) }}")
    head = "g (float[3, 2] x) => (float[3] y)"
    before = f"{head} {_CONSTANTS} {{ a = Gather<axis = 1>(x, one) y = Squeeze(a, one) }}"
    check_rewrite(_PASSES, before, f"{head} <int64 y_index = {{1}}> {{ y = Gather<axis = 1>(x, y_index) }}")


def test_elements_of_a_transposed_tensor_are_those_of_the_tensor() -> None:
    head = "g (float[n, 3, 2] x) => (float[n, 2] y, float[n, 2] z)"
    before = f"""{head} {_CONSTANTS} {{
        a = Transpose<perm = [1, 0, 2]>(x) y = Gather(a, first) z = Gather(a, second)
    }}"""
    after = f"""{head} <int64 first = {{0}}, int64 second = {{1}}> {{
        y = Gather<axis = 1>(x, first) z = Gather<axis = 1>(x, second)
    }}"""
    check_rewrite(_PASSES, before, after)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ("a = Slice(x, one, three, two) y = Neg(a)", "no Squeeze"),
        ("a = Slice(x, one, two, one) y = Squeeze(a, three)", "another axis"),
        ("a = Slice(x, one, two, zero) y = Squeeze(a, zero)", "the size of the axis is not known"),
        ("a = Slice(x, one, two, one) y = Squeeze(a, one) z = Neg(a)", "the slice is read by others"),
        ("a, b, c = Split<axis = 1>(x) y = Squeeze(a, one) z = Squeeze(b, one) w = Neg(c)", "a part that stays"),
        (
            "a, b, c = Split<axis = 1>(x) y = Squeeze(a, one) z = Squeeze(b, one) w = Squeeze(c, three)",
            "of another axis",
        ),
        ("a = Gather<axis = 1>(x, first) y = Unsqueeze(a, zero)", "the new axis is not where the indices are"),
        ("a = Shape(x) b = Gather(a, first) y = Unsqueeze(b, zero)", "sizes are merged elsewhere"),
        ("a = Transpose<perm = [1, 2, 0, 3]>(x) y = Gather(a, first)", "the others change places"),
        ("a = Transpose<perm = [1, 0, 2, 3]>(x) y = Gather(a, first) z = Neg(a)", "the whole is read, too"),
        ("a = Transpose<perm = [1, 0, 2, 3]>(x) y = Gather(a, first) z = Gather<axis = 1>(a, first)", "two axes"),
        ("a = Transpose<perm = [1, 0, 2, 3]>(x) y = Gather(a, both)", "several elements"),
    ],
)
def test_other_selections_stay(nodes: str, why: str) -> None:
    outputs = ["float[] y", *(f"float[] {name}" for name in "zw" if f"{name} =" in nodes)]
    outputs = ["int64[] y"] if "Shape" in nodes else outputs
    check_unchanged(_PASSES, f"g (float[n, 3, 2, 1] x) => ({', '.join(outputs)}) {_CONSTANTS} {{ {nodes} }}")
