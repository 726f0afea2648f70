"""MaxUnpool across its versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal

TEXT = (
    '<ir_version: 4, opset_import: ["": 9]> g ({signature}) => (float[{out}] y) '
    "{{ y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> ({inputs}) }}"
)


def test_values_are_scattered_below_9():
    text = TEXT.format(signature="float[1, 1, 2, 2] x", out="1, 1, 4, 4", inputs="x, i").replace(
        "{ y =", "{ i = Constant <value = int64[1, 1, 2, 2] {5, 7, 13, 15}> () y ="
    )
    check_converts(text, 8, exact=True)


@pytest.mark.parametrize("to", [8, 7, 4])
def test_a_larger_output_has_zeros_behind_the_values(to):
    text = TEXT.format(signature="float[1, 1, 2, 2] x", out="1, 1, 5, 5", inputs="x, i, s").replace(
        "{ y =",
        "{ i = Constant <value = int64[1, 1, 2, 2] {5, 6, 13, 14}> () "
        "s = Constant <value = int64[4] {1, 1, 5, 5}> () y =",
    )
    check_converts(text, to, exact=True)


def test_an_unknown_rank_is_refused():
    check_refusal(TEXT.format(signature="float[] x, int64[] i", out="", inputs="x, i"), 8, Why.RANK_UNKNOWN, "'x'")
