"""DFT, STFT, windows and the mel scale across their versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite


def test_the_axis_moves_between_attribute_and_input_at_20():
    older = (
        '<ir_version: 8, opset_import: ["": 17]> g (float[1, 4, 1] x) => (float[1, 4, 2] y) '
        "{ y = DFT <axis: int = 1> (x) }"
    )
    newer = (
        '<ir_version: 9, opset_import: ["": 20]> g (float[1, 4, 1] x) => (float[1, 4, 2] y) '
        "<int64 y_axis = {1}> { y = DFT (x, , y_axis) }"
    )
    check_rewrite(older, newer)
    check_rewrite(newer, older)


def test_without_an_axis_the_default_is_written_down():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1, 4, 3, 1] x) => (float[1, 4, 3, 2] y) { y = DFT (x) }',
        '<ir_version: 9, opset_import: ["": 20]> g (float[1, 4, 3, 1] x) => (float[1, 4, 3, 2] y) '
        "<int64 y_axis = {1}> { y = DFT (x, , y_axis) }",
    )
    check_rewrite(
        '<ir_version: 9, opset_import: ["": 20]> g (float[1, 4, 3, 1] x) => (float[1, 4, 3, 2] y) { y = DFT (x) }',
        '<ir_version: 8, opset_import: ["": 17]> g (float[1, 4, 3, 1] x) => (float[1, 4, 3, 2] y) '
        "{ y = DFT <axis: int = -2> (x) }",
    )


def test_an_axis_computed_at_run_time_chooses_among_transforms():
    after = check_converts(
        '<ir_version: 9, opset_import: ["": 20]> g (float[2, 4, 3, 2] x, int64 a) => (float[A, B, C, 2] y) '
        "{ y = DFT <inverse = 1> (x, , a) }",
        17,
    )
    assert [node.op_type for node in after.graph.node] == ["Equal", "Equal", "Or", "If"]


@pytest.mark.quick_share(6)
@pytest.mark.parametrize(
    ("inverse", "onesided", "parts"), [(0, 0, 1), (0, 0, 2), (1, 0, 2), (1, 0, 1), (0, 1, 1), (1, 1, 2)]
)
@pytest.mark.parametrize("length", ["", "<int64 n = {5}>", "<int64 n = {3}>", "<int64 n = {12}>"])
@pytest.mark.parametrize("axis", [0, 1])
def test_transforms_are_products_below_17(inverse, onesided, parts, length, axis):
    check_converts(
        f'<ir_version: 8, opset_import: ["": 17]> g (float[6, 7, {parts}] x) => (float[A, B, C] y) {length} '
        f"{{ y = DFT <axis = {axis}, inverse = {inverse}, onesided = {onesided}> (x{', n' if length else ''}) }}",
        13,
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize(("inverse", "onesided", "parts"), [(0, 0, 2), (0, 1, 1), (1, 1, 2)])
@pytest.mark.parametrize("dtype", ["double", "float16"])
def test_lengths_may_be_unknown(inverse, onesided, parts, dtype):
    check_converts(
        f'<ir_version: 8, opset_import: ["": 17]> g ({dtype}[M, N, {parts}] x, int64 n) => ({dtype}[A, B, C] y) '
        f"{{ y = DFT <inverse = {inverse}, onesided = {onesided}> (x, n) }}",
        13,
    )


def test_a_known_transform_is_one_product():
    after = check_converts(
        '<ir_version: 8, opset_import: ["": 17]> g (double[N, 8, 1] x) => (double[N, 5, 2] y) '
        "{ y = DFT <onesided = 1> (x) }",
        9,
    )
    operators = [node.op_type for node in after.graph.node]
    assert operators.count("MatMul") == 1
    assert "Cos" not in operators


def test_real_and_complex_numbers_have_to_be_told_apart():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 17]> g (float[M, N, K] x) => (float[M, N, 2] y) { y = DFT (x) }',
        16,
        Why.SHAPE_UNKNOWN,
        "real (1) from complex (2)",
    )


@pytest.mark.parametrize(
    ("inputs", "given"), [("window = {1, 2, 3, 2}", "s, step, window"), ("", "s, step, , length"), ("", "s, step")]
)
@pytest.mark.parametrize(("onesided", "parts"), [(1, 1), (0, 1), (0, 2)])
def test_frames_are_transformed_below_17(inputs, given, onesided, parts):
    window = f", float[4] {inputs}" if inputs else ""
    check_converts(
        f'<ir_version: 8, opset_import: ["": 17]> g (float[2, 9, {parts}] s) => (float[A, B, C, 2] y) '
        f"<int64 step = {{2}}, int64 length = {{4}}{window}> {{ y = STFT <onesided = {onesided}> ({given}) }}",
        13,
    )


@pytest.mark.slow
def test_frames_may_be_unknown():
    check_converts(
        '<ir_version: 8, opset_import: ["": 17]> g (float[B, N, 1] s, int64 step, float[L] window) '
        "=> (float[B, F, C, 2] y) { y = STFT (s, step, window) }",
        13,
    )


@pytest.mark.parametrize("operator", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_windows_are_sums_of_cosines_below_17(operator, periodic, dtype):
    check_converts(
        f'<ir_version: 8, opset_import: ["": 17]> g ({dtype} n) => (float[N] y) '
        f"{{ y = {operator} <periodic = {periodic}> (n) }}",
        9,
        exact=True,
    )


def test_windows_of_a_known_size_are_constants():
    after = check_converts(
        '<ir_version: 8, opset_import: ["": 17]> g () => (double[4] y) <int64 n = {4}> '
        "{ y = HannWindow <output_datatype = 11> (n) }",
        7,
        exact=True,
    )
    assert [node.op_type for node in after.graph.node] == ["Identity"]


def test_known_mel_weights_are_constants():
    check_converts(
        '<ir_version: 8, opset_import: ["": 17]> g () => (float[A, B] y) '
        "<int64 n = {4}, int64 length = {16}, int64 rate = {8192}, float low = {0}, float high = {4096}> "
        "{ y = MelWeightMatrix (n, length, rate, low, high) }",
        13,
        exact=True,
    )


def test_mel_weights_computed_at_run_time_are_refused():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 17]> g (int64 n, int64 length, int64 rate, float low, float high) '
        "=> (float[A, B] y) { y = MelWeightMatrix (n, length, rate, low, high) }",
        16,
        Why.NO_EQUIVALENT,
        "edges",
    )


def test_image_files_are_refused_below_20():
    check_refusal(
        '<ir_version: 9, opset_import: ["": 20]> g (uint8[N] x) => (uint8[H, W, 3] y) { y = ImageDecoder (x) }',
        19,
        Why.NO_EQUIVALENT,
        "decode the image before the model",
    )
