"""Conv and ConvTranspose across their versions."""

import numpy
import pytest
from onnx.numpy_helper import to_array

from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import Evaluator
from testing.conversion import check_converts, check_rewrite, model


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


VOLUME = (
    '<ir_version: 4, opset_import: ["": {opset}]> g (float[{shape}] x) => (float[1, 1, D, H, W] y) '
    "<float[1, 1, 1, 1, 2] w = {{2, 5}}, float[1] b = {{1}}> {{ y = ConvTranspose <{attributes}> (x, w, b) }}"
)


def volume(attributes, shape="1, 1, 1, 2, 3", opset=9):
    return model(VOLUME.format(opset=opset, shape=shape, attributes=attributes))


def as_volume_convolution(source):
    result = convert(source, target="onnxruntime==0.3")
    assert result.certificate.is_proven
    return result.model


def test_a_transposed_convolution_of_volumes_is_a_convolution_between_zeros_where_runtimes_lack_it():
    found = as_volume_convolution(volume("strides = [1, 1, 2]"))
    assert [node.op_type for node in found.graph.node] == ["Unsqueeze", "Pad", "Reshape", "Conv"]
    unsqueeze, pad, reshape, conv = found.graph.node
    # [1, 1, 1, 2, 3] to [1, 1, 1, 1, 2, 1, 3, 1]: a zero goes behind each element of the last axis.
    assert list(unsqueeze.attribute[0].ints) == [3, 5, 7]
    pads = next(list(one.ints) for one in pad.attribute if one.name == "pads")
    assert pads == [0] * 8 + [0, 0, 0, 0, 0, 0, 0, 1]
    constants = {one.name: to_array(one) for one in found.graph.initializer}
    assert constants[reshape.input[1]].tolist() == [0, 0, 1, 2, 6]
    # The weights [2, 5] are turned round. The first window begins one element before the input.
    assert constants[conv.input[1]].reshape(-1).tolist() == [5, 2]
    assert next(list(one.ints) for one in conv.attribute if one.name == "pads") == [0, 0, 1, 0, 0, 0]
    values = numpy.arange(6, dtype=numpy.float32).reshape(1, 1, 1, 2, 3)
    computed = Evaluator(found).run({"x": values})["y"]
    assert computed.reshape(2, 6).tolist() == [[1, 1, 3, 6, 5, 11], [7, 16, 9, 21, 11, 26]]


@pytest.mark.parametrize(
    ("attributes", "opset"),
    [
        ("pads = [0, 0, 1, 0, 0, 0]", 9),
        ("strides = [1, 2, 3], pads = [0, 1, 2, 0, 0, 1], output_padding = [0, 1, 1]", 9),
        ("strides = [2, 1, 1], dilations = [1, 1, 2]", 9),
        ('strides = [1, 1, 2], auto_pad = "SAME_UPPER"', 9),
        ('strides = [1, 1, 3], auto_pad = "SAME_LOWER"', 11),
        ("strides = [1, 1, 2], output_shape = [1, 2, 5]", 9),
        ("strides = [1, 1, 2], output_shape = [1, 2, 5]", 11),
        ("strides = [1, 1, 2], output_shape = [2, 3, 9]", 11),
    ],
)
def test_pads_of_transposed_convolutions_of_volumes_are_kept(attributes, opset):
    found = as_volume_convolution(volume(attributes, opset=opset))
    assert "ConvTranspose" not in [node.op_type for node in found.graph.node]


def test_zeros_go_between_elements_of_open_sizes():
    found = convert(volume("strides = [1, 1, 2]", "1, 1, 1, 2, N"), target="onnxruntime==0.3")
    assert [node.op_type for node in found.model.graph.node][-1] == "Conv"
    assert found.certificate.is_proven, found.certificate.summary()


def test_groups_of_transposed_convolutions_of_volumes_are_kept():
    text = (
        '<ir_version: 4, opset_import: ["": 9]> g (float[N, 4, 1, 2, 2] x) => (float[N, 6, 1, 2, 3] y) '
        f"<float[4, 3, 1, 1, 2] w = {{{', '.join(str(number) for number in range(24))}}}> "
        "{ y = ConvTranspose <group = 2> (x, w) }"
    )
    (conv,) = as_volume_convolution(model(text)).graph.node
    assert conv.op_type == "Conv"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (volume("output_shape = [1, 2, 5]", "1, 1, 1, 2, N"), "pads of ConvTranspose depend on spatial sizes"),
        (
            model(
                '<ir_version: 4, opset_import: ["": 9]> g (float[1, 1, 1, 2, 3] x, float[1, 1, 1, 1, 2] w) '
                "=> (float[1, 1, D, H, W] y) { y = ConvTranspose (x, w) }"
            ),
            "only where its weights are constant and finite",
        ),
    ],
)
def test_transposed_convolutions_of_volumes_without_known_sizes_or_weights_are_refused(source, reason):
    with pytest.raises(ConversionRefused, match=reason):
        convert(source, target="onnxruntime==0.3")
