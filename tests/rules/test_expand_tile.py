"""Expand and Tile across their versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite


def test_expand_by_constants_is_tile_below_8():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 8]> g (int8[3, 1] x) => (int8[2, 3, 4] y) <int64[3] s = {2, 1, 4}> '
        "{ y = Expand (x, s) }",
        '<ir_version: 3, opset_import: ["": 7]> g (int8[3, 1] x) => (int8[2, 3, 4] y) <int64[3] y_repeats = {2, 1, 4}> '
        "{ y_Unsqueeze = Unsqueeze <axes = [0]> (x) y = Tile (y_Unsqueeze, y_repeats) }",
    )


def test_expand_that_repeats_nothing_is_an_identity_below_8():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 8]> g (float[N, 3] x) => (float[N, 3] y) <int64[2] s = {1, 1}> '
        "{ y = Expand (x, s) }",
        '<ir_version: 3, opset_import: ["": 7]> g (float[N, 3] x) => (float[N, 3] y) { y = Identity (x) }',
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("dtype", ["float", "int64", "string", "bool"])
@pytest.mark.parametrize("length", [0, 1, 2, 3])
@pytest.mark.parametrize("to", [7, 6])
def test_expand_to_a_shape_computed_at_run_time_goes_below_8(dtype, length, to):
    check_converts(
        f'<ir_version: 3, opset_import: ["": 8]> g ({dtype}[A, B] x, int64[{length}] s) => ({dtype}[] y) '
        "{ y = Expand (x, s) }",
        to,
        exact=True,
    )


@pytest.mark.parametrize("dims", ["", "A", "1", "1, 1", "A, 1"])
def test_expand_of_open_shapes_goes_to_6(dims):
    check_converts(
        f'<ir_version: 3, opset_import: ["": 8]> g (float[{dims}] x) => (float[] y) <int64[2] s = {{2, 3}}> '
        "{ y = Expand (x, s) }".replace("float[] x", "float x"),
        6,
        exact=True,
    )


def test_expand_of_unknown_rank_is_refused_below_8():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 8]> g (float[] x, int64[2] s) => (float[] y) { y = Expand (x, s) }',
        7,
        Why.RANK_UNKNOWN,
        "the rank of 'x' cannot be inferred",
    )


def test_expand_to_unknown_rank_is_refused_below_8():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 8]> g (float[2] x, int64[N] s) => (float[] y) { y = Expand (x, s) }',
        7,
        Why.SHAPE_UNKNOWN,
        "the shape of 's' is only known as [N]",
    )


def test_copies_along_one_axis_become_repeats_at_6():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 1]> g (float[N, 2] x) => (float[N, 6] y) <float t = {3}, float a = {1}> '
        "{ y = Tile (x, t, a) }",
        '<ir_version: 3, opset_import: ["": 6]> g (float[N, 2] x) => (float[N, 6] y) <int64[2] y_repeats = {1, 3}> '
        "{ y = Tile (x, y_repeats) }",
    )


def test_copies_counted_at_run_time_become_repeats_at_7():
    check_converts(
        '<ir_version: 3, opset_import: ["": 1]> g (float[2, 3] x, float t, float a) => (float[M, K] y) '
        "{ y = Tile (x, t, a) }",
        7,
        exact=True,
    )


def test_copies_need_the_rank_at_6():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 1]> g (float[] x, float t, float a) => (float[] y) { y = Tile (x, t, a) }',
        6,
        Why.RANK_UNKNOWN,
    )


@pytest.mark.parametrize("dtype", ["float", "int64", "string", "bool"])
def test_known_dimensions_are_gathered_again_and_again_below_6(dtype):
    check_rewrite(
        f'<ir_version: 3, opset_import: ["": 6]> g ({dtype}[2, N] x) => ({dtype}[6, N] y) <int64[2] r = {{3, 1}}> '
        "{ y = Tile (x, r) }",
        f'<ir_version: 3, opset_import: ["": 5]> g ({dtype}[2, N] x) => ({dtype}[6, N] y) '
        "<int64[6] y_indices = {0, 1, 0, 1, 0, 1}> { y = Gather <axis = 0> (x, y_indices) }",
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("dtype", ["float", "double", "float16", "int32", "bool"])
@pytest.mark.parametrize("repeats", ["int64[2] r) => ", "int64[2] q) => <int64[2] r = {2, 3}> "])
def test_open_dimensions_are_copied_one_by_one_below_6(dtype, repeats):
    inputs, rest = repeats.split(" => ")
    check_converts(
        f'<ir_version: 3, opset_import: ["": 6]> g ({dtype}[A, B] x, {inputs} => ({dtype}[M, K] y) {rest}'
        "{ y = Tile (x, r) }",
        5,
        exact=True,
    )


def test_64_bit_integers_of_open_dimensions_are_not_tiled_below_6():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 6]> g (int64[N] x) => (int64[M] y) <int64[1] r = {2}> { y = Tile (x, r) }',
        5,
        Why.DTYPE_NOT_AVAILABLE,
        "none represents every int64 ('x')",
    )
