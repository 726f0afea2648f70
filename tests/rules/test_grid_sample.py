"""GridSample and AffineGrid across their versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite


@pytest.mark.parametrize(("old", "new"), [("bilinear", "linear"), ("bicubic", "cubic"), ("nearest", "nearest")])
def test_modes_are_renamed_at_20(old, new):
    older = (
        '<ir_version: 8, opset_import: ["": 16]> g (float[1, 2, 3, 4] x, float[1, 5, 6, 2] grid) '
        "=> (float[1, 2, 5, 6] y) {{ y = GridSample {} (x, grid) }}"
    )
    newer = older.replace('"": 16', '"": 20').replace("ir_version: 8", "ir_version: 9")
    attributes = ["" if mode in ("bilinear", "linear") else f'<mode: string = "{mode}">' for mode in (old, new)]
    check_rewrite(older.format(attributes[0]), newer.format(attributes[1]))
    check_rewrite(newer.format(attributes[1]), older.format(attributes[0]))


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_points_are_gathered_below_16(padding, align, mode):
    check_converts(
        '<ir_version: 9, opset_import: ["": 20]> g (float[2, 3, 4, 3] x, float[2, 2, 3, 2] grid) '
        f'=> (float[2, 3, 2, 3] y) {{ y = GridSample <mode = "{mode}", padding_mode = "{padding}", '
        f"align_corners = {align}> (x, grid) }}",
        13,
        exact=mode == "nearest",
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("shape", ["2, 3, 4", "1, 2, 3, 2, 2", "N, C, A, B, D", "N, C, A"])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_other_numbers_of_spatial_axes_are_gathered_below_20(shape, mode):
    rank = shape.count(",") - 1
    batch = shape.split(",")[0]
    grid = ", ".join([batch, *["P", "Q", "R"][:rank], str(rank)])
    result = ", ".join([batch, "K", *["P", "Q", "R"][:rank]])
    check_converts(
        f'<ir_version: 9, opset_import: ["": 20]> g (double[{shape}] x, float[{grid}] grid) => (double[{result}] y) '
        f'{{ y = GridSample <mode = "{mode}", padding_mode = "reflection"> (x, grid) }}',
        19,
    )


@pytest.mark.parametrize("dtype", ["int64", "string", "bool"])
def test_the_nearest_element_may_be_of_any_dtype(dtype):
    check_converts(
        f'<ir_version: 9, opset_import: ["": 20]> g ({dtype}[2, 3, 4, 3] x, float[2, 2, 3, 2] grid) '
        f'=> ({dtype}[2, 3, 2, 3] y) {{ y = GridSample <mode = "nearest"> (x, grid) }}',
        13,
        exact=True,
    )


def test_averages_of_integers_are_refused():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 16]> g (int32[2, 3, 4, 3] x, float[2, 2, 3, 2] grid) '
        "=> (int32[2, 3, 2, 3] y) { y = GridSample (x, grid) }",
        15,
        Why.NO_EQUIVALENT,
        "truncates averages",
    )


@pytest.mark.parametrize(("data", "grid"), [("bfloat16", "bfloat16"), ("float16", "bfloat16"), ("bfloat16", "float")])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_bfloat16_is_sampled_in_float_below_22(data, grid, mode):
    check_converts(
        f'<ir_version: 10, opset_import: ["": 22]> g ({data}[1, 2, 3, 4] x, {grid}[1, 5, 6, 2] grid) '
        f'=> ({data}[1, 2, 5, 6] y) {{ y = GridSample <mode = "{mode}"> (x, grid) }}',
        20,
        exact=True,
    )


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
@pytest.mark.parametrize("shape", ["2, 3, 4, 5", "2, 3, 2, 4, 5"])
@pytest.mark.parametrize("is_constant", [True, False])
def test_affine_grids_are_products_below_20(align, dtype, shape, is_constant):
    rank = shape.count(",") - 1
    length = rank + 2
    size = f"<int64[{length}] size = {{{shape}}}>" if is_constant else ""
    declared = "" if is_constant else f", int64[{length}] size"
    dims = (
        ", ".join([shape.split(",")[0], *shape.split(",")[2:], str(rank)])
        if is_constant
        else ", ".join("ABCDE"[:length])
    )
    check_converts(
        f'<ir_version: 9, opset_import: ["": 20]> g ({dtype}[2, {rank}, {rank + 1}] theta{declared}) '
        f"=> ({dtype}[{dims}] grid) {size} {{ grid = AffineGrid <align_corners = {align}> (theta, size) }}",
        13,
    )


def test_a_constant_grid_of_a_known_size_folds_to_one_product():
    after = check_converts(
        '<ir_version: 9, opset_import: ["": 20]> g (float[1, 2, 3] theta) => (float[1, 4, 5, 2] grid) '
        "<int64[4] size = {1, 3, 4, 5}> { grid = AffineGrid (theta, size) }",
        9,
    )
    assert [node.op_type for node in after.graph.node] == ["Transpose", "MatMul", "Reshape"]


def test_a_grid_of_unknown_rank_is_refused():
    check_refusal(
        '<ir_version: 9, opset_import: ["": 20]> g (float[A, B, C] theta, int64[K] size) => (float[] grid) '
        "{ grid = AffineGrid (theta, size) }",
        19,
        Why.SHAPE_UNKNOWN,
        "2D or 3D",
    )
