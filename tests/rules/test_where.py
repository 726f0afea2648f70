"""Where across its versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite
from testing.pairs import every_pair


def test_bfloat16_travels_in_float_below_16():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 16]> g (bool[N] c, bfloat16[N] x, bfloat16 z) => (bfloat16[N] y) '
        "{ y = Where (c, x, z) }",
        '<ir_version: 8, opset_import: ["": 15]> g (bool[N] c, bfloat16[N] x, bfloat16 z) => (bfloat16[N] y) '
        "{ y_Cast = Cast <to = 1> (x) y_Cast_1 = Cast <to = 1> (z) "
        "y_Where = Where (c, y_Cast, y_Cast_1) y = Cast <to = 16> (y_Where) }",
    )


def test_integers_are_computed_below_9():
    check_rewrite(
        '<ir_version: 4, opset_import: ["": 9]> g (bool[N, 1] c, int64[3] x, int64 z) => (int64[N, 3] y) '
        "{ y = Where (c, x, z) }",
        '<ir_version: 3, opset_import: ["": 8]> g (bool[N, 1] c, int64[3] x, int64 z) => (int64[N, 3] y) '
        "{ y_Cast = Cast <to = 7> (c) y_Mul = Mul (y_Cast, x) y_Not = Not (c) "
        "y_Cast_1 = Cast <to = 7> (y_Not) y_Mul_1 = Mul (y_Cast_1, z) y = Add (y_Mul, y_Mul_1) }",
    )


def test_floats_of_known_shape_are_gathered_below_9():
    check_rewrite(
        '<ir_version: 4, opset_import: ["": 9]> g (bool[2] c, float[2] x, float[2] z) => (float[2] y) '
        "{ y = Where (c, x, z) }",
        '<ir_version: 3, opset_import: ["": 8]> g (bool[2] c, float[2] x, float[2] z) => (float[2] y) '
        "<int64 y_size = {2}, int64[2] y_numbers = {2, 3}> "
        "{ y_Cast = Cast <to = 7> (c) y_Mul = Mul (y_Cast, y_size) y_Sub = Sub (y_numbers, y_Mul) "
        "y_Concat = Concat <axis = 0> (x, z) y = Gather <axis = 0> (y_Concat, y_Sub) }",
    )


@pytest.mark.quick_share(39)
@pytest.mark.parametrize(
    ("dtype", "shapes", "to"),
    every_pair(
        ["bool", "int8", "uint16", "int32", "uint64", "float16", "double", "string", "complex64"],
        ["[2, 1] [3] []", "[N, 1] [1, M] [N, M]", "[N] [N] [N]", "[0] [0] [0]", "[] [] []"],
        [8, 7],
    ),
)
def test_every_dtype_and_shape_goes_below_9(dtype, shapes, to):
    condition, first, second = (shape if shape != "[]" else "" for shape in shapes.split("] "))
    dims = [shape + "]" if shape and not shape.endswith("]") else shape for shape in (condition, first, second)]
    inputs = [name if dim in ("", "[]") else name + dim for name, dim in zip(("bool", dtype, dtype), dims, strict=True)]
    check_converts(
        f'<ir_version: 4, opset_import: ["": 9]> g ({inputs[0]} c, {inputs[1]} x, {inputs[2]} z) => ({dtype}[] y) '
        "{ y = Where (c, x, z) }",
        to,
        exact=True,
    )


@pytest.mark.parametrize("dtype", ["float", "string", "int64", "bool"])
def test_known_shapes_go_to_5(dtype):
    check_converts(
        f'<ir_version: 4, opset_import: ["": 9]> g (bool[2, 1] c, {dtype}[2, 3] x, {dtype}[3] z) => ({dtype}[2, 3] y) '
        "{ y = Where (c, x, z) }",
        5,
        exact=True,
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("to", [8, 7])
def test_floats_of_unknown_rank_go_below_9(to):
    check_converts(
        '<ir_version: 4, opset_import: ["": 9]> g (bool[] c, float[] x, float[] z) '
        "=> (float[] y) { y = Where (c, x, z) }",
        8,
        exact=True,
    )


def test_strings_of_unknown_rank_are_refused_below_9():
    check_refusal(
        '<ir_version: 4, opset_import: ["": 9]> g (bool[] c, string[] x, string[] z) '
        "=> (string[] y) { y = Where (c, x, z) }",
        8,
        Why.RANK_UNKNOWN,
        "the rank of 'c' cannot be inferred",
    )
