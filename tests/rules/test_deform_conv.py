"""DeformConv and Col2Im below their introductions."""

import numpy
import pytest

from opsetlift import convert
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, model


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(
    ("attributes", "offset"),
    [
        ("", "1, 8, 2, 3"),
        ("<pads = [1, 0, 1, 2], strides = [2, 1]>", "1, 8, 2, 5"),
        ("<dilations = [2, 1]>", "1, 8, 1, 3"),
        ("<offset_group = 2>", "1, 16, 2, 3"),
    ],
)
@pytest.mark.parametrize("more", ["", ", b", ", , m", ", b, m"])
def test_displaced_points_are_gathered_below_19(attributes, offset, more):
    mask = offset.split(", ")
    mask[1] = str(int(mask[1]) // 2)
    declared = {"b": "float[2] b", "m": f"float[{', '.join(mask)}] m"}
    given = ", ".join([""] + [declared[name] for name in more.split(", ") if name])
    check_converts(
        '<ir_version: 9, opset_import: ["": 19]> g (float[1, 2, 3, 4] x, float[2, 2, 2, 2] w, '
        f"float[{offset}] o{given}) => (float[1, 2, A, B] y) {{ y = DeformConv {attributes} (x, w, o{more}) }}",
        13,
    )


@pytest.mark.slow
def test_groups_have_weights_of_their_own():
    check_converts(
        '<ir_version: 9, opset_import: ["": 19]> g (double[N, 4, 3, 3] x, double[6, 2, 2, 2] w, double[N, 8, 2, 2] o) '
        "=> (double[N, 6, 2, 2] y) { y = DeformConv <group = 2> (x, w, o) }",
        16,
    )


@pytest.mark.slow
def test_sizes_may_be_unknown():
    check_converts(
        '<ir_version: 9, opset_import: ["": 19]> g (float[N, 2, H, W] x, float[2, 2, 2, 1] w, float[N, 4, P, Q] o) '
        "=> (float[N, 2, P, Q] y) { y = DeformConv (x, w, o) }",
        13,
    )


def test_bfloat16_travels_in_float_below_22():
    after = check_converts(
        '<ir_version: 10, opset_import: ["": 22]> g (bfloat16[1, 1, 3, 3] x, bfloat16[1, 1, 2, 2] w, '
        "bfloat16[1, 8, 2, 2] o) => (bfloat16[1, 1, 2, 2] y) { y = DeformConv (x, w, o) }",
        19,
    )
    assert [node.op_type for node in after.graph.node] == ["Cast"] * 3 + ["DeformConv", "Cast"]


def test_unknown_weights_are_refused():
    check_refusal(
        '<ir_version: 9, opset_import: ["": 19]> g (float[N, 2, H, W] x, float[2, 2, A, B] w, float[N, K, P, Q] o) '
        "=> (float[N, 2, P, Q] y) { y = DeformConv (x, w, o) }",
        18,
        Why.SHAPE_UNKNOWN,
        "'w'",
    )


@pytest.mark.quick_share(7)
@pytest.mark.parametrize(
    ("attributes", "blocks"),
    [
        ("", 12),
        ("<strides = [2, 3]>", 4),
        ("<pads = [1, 0, 2, 1]>", 30),
        ("<dilations = [2, 1], strides = [1, 2]>", 4),
    ],
)
@pytest.mark.parametrize("are_constant", [True, False])
@pytest.mark.parametrize("dtype", ["float", "int8", "uint64"])
def test_blocks_are_summed_below_18(attributes, blocks, are_constant, dtype):
    sizes = "int64[2] i = {4, 5}, int64[2] b = {2, 2}"
    inputs, initializers = ("", f"<{sizes}>") if are_constant else (f", {sizes}", "")
    check_converts(
        f'<ir_version: 8, opset_import: ["": 18]> g ({dtype}[2, 8, {blocks}] x{inputs}) => ({dtype}[N, C, H, W] y) '
        f"{initializers} {{ y = Col2Im {attributes} (x, i, b) }}",
        17,
        exact=dtype != "float",
    )


def test_without_any_block_the_image_is_0():
    check_converts(
        '<ir_version: 8, opset_import: ["": 18]> g (float[2, 8, 0] x) => (float[2, 2, 4, 1] y) '
        "<int64[2] i = {4, 1}, int64[2] b = {2, 2}> { y = Col2Im (x, i, b) }",
        17,
    )


def test_blocks_that_do_not_overlap_are_only_moved():
    after = check_converts(
        '<ir_version: 8, opset_import: ["": 18]> g (float[2, 12, 4] x) => (float[2, 3, 4, 4] y) '
        "<int64[2] i = {4, 4}, int64[2] b = {2, 2}> { y = Col2Im <strides = [2, 2]> (x, i, b) }",
        13,
    )
    assert "Where" not in [node.op_type for node in after.graph.node]


@pytest.mark.parametrize("dtype", ["string", "bool"])
def test_what_cannot_be_added_is_refused(dtype):
    check_refusal(
        f'<ir_version: 8, opset_import: ["": 18]> g ({dtype}[2, 4, 12] x) => ({dtype}[2, 1, 4, 5] y) '
        "<int64[2] i = {4, 5}, int64[2] b = {2, 2}> { y = Col2Im (x, i, b) }",
        17,
        Why.NO_EQUIVALENT,
        dtype,
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("channels", ["8, 0, 2", "8, P, Q"])
def test_no_points_are_divided_by_no_columns(channels):
    onnxruntime = pytest.importorskip("onnxruntime")
    source = model(
        '<ir_version: 9, opset_import: ["": 19]> g (float[1, 1, A, B] x, float[1, 1, 2, 2] w, '
        f"float[1, {channels}] o) => (float[1, 1, C, D] y) "
        "{ y = DeformConv (x, w, o) }"
    )
    converted = convert(source, to=18).model
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {"x": (1, 1, 1, 3), "w": (1, 1, 2, 2), "o": (1, 8, 0, 2)}
    found = session.run(None, {name: numpy.zeros(shape, numpy.float32) for name, shape in feeds.items()})[0]
    assert found.shape == (1, 1, 0, 2)
