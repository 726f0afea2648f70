"""Integers that are dequantized, moved and quantized again."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import check_rewrite, check_unchanged

_PASSES = ("move-quantized", "remove-unused")
_CONSTANTS = """<float s = {0.5}, uint8 z = {3}, float t = {0.25}, uint8 o = {4}, float tiny = {1e-38},
    float[4] each = {1, 2, 3, 4}, uint8[4] points = {0, 0, 0, 0}, int8 signed = {3}>"""


@pytest.mark.parametrize(
    ("head", "before", "after"),
    [
        (
            "g (uint8[n, 4] x) => (uint8[4, n] y)",
            "a = DequantizeLinear(x, s, z) b = Transpose(a) y = QuantizeLinear(b, s, z)",
            "y = Transpose(x)",
        ),
        (
            "g (uint8[n, 4] x) => (uint8[n, 2] y, uint8[n, 2] w)",
            "a = DequantizeLinear(x, s) b, c = Split<axis = 1>(a) y = QuantizeLinear(b, s) w = QuantizeLinear(c, s)",
            "y, w = Split<axis = 1>(x)",
        ),
        (
            "g (uint8[n, 4] x, uint8[n, 3] v) => (uint8[n, 7] y)",
            "a = DequantizeLinear(x, s, z) b = DequantizeLinear(v, s, z) c = Concat<axis = 1>(a, b) "
            "y = QuantizeLinear(c, s, z)",
            "y = Concat<axis = 1>(x, v)",
        ),
        (
            "g (uint8[n, 4] x) => (uint8[n, 4] y)",
            "a = DequantizeLinear(x, s, z) b = QuantizeLinear(a, s, z) y = Identity(b)",
            "y = Identity(x)",
        ),
    ],
)
def test_the_integers_are_moved(head: str, before: str, after: str) -> None:
    check_rewrite(_PASSES, f"{head} {_CONSTANTS} {{ {before} }}", f"{head} {{ {after} }}")


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ("a = DequantizeLinear(x, s, z) b = Transpose(a) y = QuantizeLinear(b, t, z)", "another scale"),
        ("a = DequantizeLinear(x, s, z) b = Transpose(a) y = QuantizeLinear(b, s, o)", "another zero point"),
        ("a = DequantizeLinear(x, s, z) b = Transpose(a) y = QuantizeLinear(b, s, signed)", "another dtype"),
        ("a = DequantizeLinear(x, tiny, z) b = Transpose(a) y = QuantizeLinear(b, tiny, z)", "products are subnormal"),
        (
            "a = DequantizeLinear<axis = 1>(x, each, points) y = QuantizeLinear<axis = 1>(a, each, points)",
            "a scale for each channel",
        ),
        ("a = DequantizeLinear(x, scale, z) b = Transpose(a) y = QuantizeLinear(b, scale, z)", "the scale is an input"),
        ("a = DequantizeLinear(x, s, z) b = Relu(a) y = QuantizeLinear(b, s, z)", "no move"),
        (
            "a = DequantizeLinear(x, s, z) b = Transpose(a) y = QuantizeLinear(b, s, z) w = Neg(b)",
            "the floats are read",
        ),
        (
            "a = DequantizeLinear(x, s, z) b, c = Split<axis = 1>(a) y = QuantizeLinear(b, s, z) w = Neg(c)",
            "one part is not quantized",
        ),
    ],
)
def test_other_floats_stay(nodes: str, why: str) -> None:
    outputs = "int8[] y" if "signed" in nodes else "uint8[] y, float[] w" if "w =" in nodes else "uint8[] y"
    check_unchanged(_PASSES, f"g (uint8[n, 4] x, float scale) => ({outputs}) {_CONSTANTS} {{ {nodes} }}")
