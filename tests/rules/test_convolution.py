"""Conv and ConvTranspose across their versions."""

import pytest

from testing.conversion import check_converts, check_rewrite


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
def test_a_convolution_stays_what_it_is(auto_pad):
    text = (
        '<ir_version: 3, opset_import: ["": {}]> g (float[1, 2, N, 5] x, float[4, 1, 3, 3] w, float[4] b) '
        f'=> (float[1, 4, M, K] y) {{{{ y = Conv <group = 2, strides = [2, 1], auto_pad = "{auto_pad}"> (x, w, b) }}}}'
    )
    check_rewrite(text.format(1), text.format(11))
    check_rewrite(text.format(11), text.format(1))


def test_convolutions_of_bfloat16_are_computed_in_float_below_22():
    check_converts(
        '<ir_version: 10, opset_import: ["": 22]> g (bfloat16[1, 1, 5] x, bfloat16[1, 1, 3] w) '
        "=> (bfloat16[1, 1, 3] y) { y = Conv (x, w) }",
        13,
    )


TRANSPOSED = (
    '<ir_version: 3, opset_import: ["": {opset}]> g (float[1, 1, {size}] x, float[1, 1, 3] w) '
    "=> (float[1, 1, {out}] y) {{ y = ConvTranspose <{attributes}> (x, w) }}"
)


def transposed(opset, attributes, size=3, out=4):
    return TRANSPOSED.format(opset=opset, attributes=attributes, size=size, out=out)


@pytest.mark.parametrize(
    ("source", "target", "auto_pad", "pads"),
    [
        (1, 11, "NOTSET", "1, 2"),
        (1, 11, "SAME_UPPER", "2, 1"),
        (11, 1, "NOTSET", "2, 1"),
        (11, 1, "SAME_LOWER", "2, 1"),
        (11, 1, "SAME_UPPER", "1, 2"),
    ],
)
def test_an_odd_total_of_pads_is_written_down(source, target, auto_pad, pads):
    check_rewrite(
        transposed(source, f'strides = [2], output_shape = [4], auto_pad = "{auto_pad}"'),
        transposed(target, f"strides = [2], pads = [{pads}]"),
    )


@pytest.mark.parametrize(("source", "target"), [(1, 11), (11, 1)])
def test_an_even_total_of_pads_has_no_side(source, target):
    attributes = "strides = [2], output_shape = [5]"
    check_rewrite(transposed(source, attributes, out=5), transposed(target, attributes, out=5))


@pytest.mark.parametrize(
    ("source", "target", "before", "after"),
    [(1, 11, "NOTSET", "SAME_UPPER"), (11, 1, "SAME_UPPER", "SAME_LOWER"), (11, 1, "SAME_LOWER", "SAME_UPPER")],
)
def test_unknown_sizes_let_auto_pad_name_the_side(source, target, before, after):
    check_rewrite(
        transposed(source, f'strides = [2], output_shape = [4], auto_pad = "{before}"', size="N"),
        transposed(target, f'strides = [2], output_shape = [4], auto_pad = "{after}"', size="N"),
    )


def test_batch_and_channels_go_from_an_output_shape_of_1():
    check_rewrite(
        transposed(1, "strides = [2], output_shape = [1, 1, 5]", out=5),
        transposed(11, "strides = [2], output_shape = [5]", out=5),
    )


def test_output_shapes_beyond_what_the_windows_cover_are_kept():
    check_converts(transposed(1, "strides = [2], output_shape = [9]", out=9), 11, exact=True)
    check_converts(transposed(11, "strides = [2], output_shape = [9]", out=9), 1, exact=True)
