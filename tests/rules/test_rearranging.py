"""DepthToSpace, SpaceToDepth, ReverseSequence and Trilu across their versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite
from testing.pairs import every_pair

DTYPES = ["float", "int64", "string", "bool"]


@pytest.mark.parametrize(("operator", "since"), [("DepthToSpace", 11), ("SpaceToDepth", 28)])
def test_the_default_order_needs_no_mode(operator, since):
    check_rewrite(
        f'<ir_version: 13, opset_import: ["": {since}]> g (float[1, 4, 4, 4] x) => (float[] y) '
        f'{{ y = {operator} <blocksize = 2, mode = "DCR"> (x) }}',
        f'<ir_version: 13, opset_import: ["": {since - 1}]> g (float[1, 4, 4, 4] x) => (float[] y) '
        f"{{ y = {operator} <blocksize = 2> (x) }}",
    )


@pytest.mark.parametrize(("operator", "dims"), [("DepthToSpace", "2, 8, 1, 3"), ("SpaceToDepth", "2, 3, 4, 2")])
def test_the_other_order_of_known_shape_is_a_transposition(operator, dims):
    since = {"DepthToSpace": 11, "SpaceToDepth": 28}[operator]
    converted = check_converts(
        f'<ir_version: 13, opset_import: ["": {since}]> g (int8[{dims}] x) => (int8[] y) '
        f'{{ y = {operator} <blocksize = 2, mode = "CRD"> (x) }}',
        since - 1,
        exact=True,
    )
    assert [node.op_type for node in converted.graph.node] == ["Reshape", "Transpose", "Reshape"]


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("to", [10, 8, 7])
def test_the_other_order_of_open_depth_goes_below_11(dtype, to):
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g ({dtype}[N, 8, H, W] x) => ({dtype}[] y) '
        '{ y = DepthToSpace <blocksize = 2, mode = "CRD"> (x) }',
        to,
        exact=True,
    )


@pytest.mark.parametrize("to", [27, 12, 9, 7])
def test_the_other_order_of_open_space_goes_below_28(to):
    check_converts(
        '<ir_version: 13, opset_import: ["": 28]> g (float[N, C, 4, 6] x) => (float[] y) '
        '{ y = SpaceToDepth <blocksize = 2, mode = "CRD"> (x) }',
        to,
        exact=True,
    )


def test_sequences_of_bfloat16_travel_in_float_below_28():
    check_rewrite(
        '<ir_version: 13, opset_import: ["": 28]> g (bfloat16[T, B] x, int64[B] l) => (bfloat16[T, B] y) '
        "{ y = ReverseSequence (x, l) }",
        '<ir_version: 13, opset_import: ["": 27]> g (bfloat16[T, B] x, int64[B] l) => (bfloat16[T, B] y) '
        "{ y_Cast = Cast <to = 1> (x) y_ReverseSequence = ReverseSequence (y_Cast, l) "
        "y = Cast <to = 16> (y_ReverseSequence) }",
    )


@pytest.mark.quick_share(21)
@pytest.mark.parametrize(
    ("dtype", "dims", "to"),
    every_pair(DTYPES, ["T, B", "3, 2", "T, 2, C"], [9, 8, 7]),
)
def test_sequences_are_gathered_below_10(dtype, dims, to):
    batch = dims.split(", ")[1]
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g ({dtype}[{dims}] x, int64[{batch}] l) => ({dtype}[{dims}] y) '
        "{ y = ReverseSequence (x, l) }",
        to,
        exact=True,
    )


@pytest.mark.parametrize("to", [9, 7])
def test_sequences_in_rows_are_gathered_below_10(to):
    check_converts(
        '<ir_version: 5, opset_import: ["": 10]> g (float[B, T] x, int64[B] l) => (float[B, T] y) '
        "{ y = ReverseSequence <time_axis = 1, batch_axis = 0> (x, l) }",
        to,
        exact=True,
    )


def test_one_axis_for_both_breaks_the_model():
    check_refusal(
        '<ir_version: 5, opset_import: ["": 10]> g (float[B, T] x, int64[B] l) => (float[B, T] y) '
        "{ y = ReverseSequence <time_axis = 1> (x, l) }",
        9,
        Why.INVALID_MODEL,
        "time_axis is 1 and batch_axis is 1",
    )


def test_a_triangle_of_known_shape_is_selected_by_a_constant_below_14():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 14]> g (float[N, 2, 3] x) => (float[N, 2, 3] y) <int64 k = {1}> '
        "{ y = Trilu (x, k) }",
        '<ir_version: 7, opset_import: ["": 13]> g (float[N, 2, 3] x) => (float[N, 2, 3] y) '
        "<bool[2, 3] y_kept = {0, 1, 1, 0, 0, 1}, float y_zero = {0}> { y = Where (y_kept, x, y_zero) }",
    )


@pytest.mark.quick_share(9)
@pytest.mark.parametrize("dtype", ["float", "bfloat16", "int64", "string", "bool", "complex64"])
@pytest.mark.parametrize("attributes", ["upper = 1", "upper = 0"])
@pytest.mark.parametrize("dims", ["N, M", "B, 3, 2"])
def test_triangles_of_every_dtype_go_below_14(dtype, attributes, dims):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 14]> g ({dtype}[{dims}] x, int64 k) => ({dtype}[{dims}] y) '
        f"{{ y = Trilu <{attributes}> (x, k) }}",
        13,
        exact=True,
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("dtype", ["float", "int64", "string"])
@pytest.mark.parametrize("to", [10, 9, 8, 7])
def test_triangles_of_open_shape_go_far_below_14(dtype, to):
    check_converts(
        f'<ir_version: 7, opset_import: ["": 14]> g ({dtype}[N, M] x) => ({dtype}[N, M] y) {{ y = Trilu (x) }}',
        to,
        exact=True,
    )
