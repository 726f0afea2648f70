"""RotaryEmbedding, LinearAttention and CausalConvWithState below their introductions."""

import pytest

from opsetlift import ConversionRefused, convert_version
from testing.conversion import check_converts, model

ROTARY = {
    "heads before the length": (
        "float[B, 2, S, 4] x, float[9, 2] c, float[9, 2] s, int64[B, S] p",
        "B, 2, S, 4",
        "{}",
        "x, c, s, p",
    ),
    "packed heads": ("float[B, S, 8] x, float[B, S, 2] c, float[B, S, 2] s", "B, S, 8", "{}, num_heads = 2", "x, c, s"),
    "unknown size": ("float[B, 2, S, D] x, float[B, S, E] c, float[B, S, E] s", "B, 2, S, D", "{}", "x, c, s"),
    "a part of each head": (
        "float[B, 2, S, 6] x, float[B, S, 2] c, float[B, S, 2] s",
        "B, 2, S, 6",
        "{}, rotary_embedding_dim = 4",
        "x, c, s",
    ),
}


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("case", ROTARY)
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("to", [22, 9])
def test_pairs_are_rotated_below_23(case, interleaved, to):
    inputs, shape, attributes, names = ROTARY[case]
    check_converts(
        f'<ir_version: 10, opset_import: ["": 23]> g ({inputs}) => (float[{shape}] y) '
        f"{{ y = RotaryEmbedding <{attributes.format(f'interleaved = {interleaved}')}> ({names}) }}",
        to,
    )


def linear(rule, inputs, names, *, q_heads=2, dtype="float"):
    width = 4 * q_heads
    return (
        f'<ir_version: 13, opset_import: ["": 27]> g ({dtype}[B, T, {width}] q, {dtype}[B, T, 8] k, {dtype}[B, T, 8] v'
        f"{inputs}) => ({dtype}[B, T, {width}] y, {dtype}[B, 2, 4, 4] st) {{ y, st = LinearAttention "
        f'<q_num_heads = {q_heads}, kv_num_heads = 2, update_rule = "{rule}"> (q, k, v{names}) }}'
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("to", [26, 9])
@pytest.mark.parametrize(
    ("rule", "inputs", "names"),
    [
        ("linear", "", ""),
        ("linear", ", float[B, 2, 4, 4] s", ", s"),
        ("gated", ", float[B, T, 8] d", ', "", d'),
        ("gated", ", float[B, T, 2] d", ', "", d'),
        ("delta", ", float[B, T, 1] r", ', "", "", r'),
        ("gated_delta", ", float[B, T, 2] d, float[B, T, 2] r", ', "", d, r'),
    ],
)
def test_states_are_passed_from_token_to_token_below_27(rule, inputs, names, to):
    check_converts(linear(rule, inputs, names), to)


def test_key_heads_are_shared_by_groups_of_query_heads():
    check_converts(linear("linear", "", "", q_heads=4), 26)


def test_narrow_floats_are_mixed_in_float():
    check_converts(linear("linear", "", "", dtype="float16"), 26)


@pytest.mark.parametrize("to", [26, 9])
@pytest.mark.parametrize("activation", ["none", "silu"])
def test_causal_convolutions_are_written_out_below_27(activation, to):
    check_converts(
        '<ir_version: 13, opset_import: ["": 27]> g (float[B, 2, T] x, float[2, 1, 3] w, float[2] b, float[B, 2, 2] s) '
        f'=> (float[B, 2, T] y, float[B, 2, 2] z) {{ y, z = CausalConvWithState <activation = "{activation}"> '
        "(x, w, b, s) }",
        to,
    )


def test_heads_that_cannot_be_shared_are_refused():
    text = """<ir_version: 13, opset_import: ["": 27]> g (float[1, 2, 4] q, float[1, 2, 4] k, float[1, 2, 4] v)
        => (float[A, B, C] y) { y = LinearAttention <q_num_heads = 2000000000, kv_num_heads = 3> (q, k, v) }"""
    with pytest.raises(ConversionRefused, match="2000000000 heads of queries cannot share 3 of keys"):
        convert_version(model(text), 26)
