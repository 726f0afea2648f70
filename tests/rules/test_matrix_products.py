"""MatMul, Gemm, Einsum and Det across their versions and below their introductions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

INTEGERS = ["int32", "uint32", "int64", "uint64"]


def einsum(equation, operands, result, *, opset=12, dtype="float"):
    names = "abcde"[: len(operands)]
    inputs = ", ".join(f"{dtype}{shape} {name}" for name, shape in zip(names, operands, strict=True))
    return (
        f'<ir_version: 7, opset_import: ["": {opset}]> g ({inputs}) => ({dtype}{result} y) '
        f'{{ y = Einsum <equation = "{equation}"> ({", ".join(names)}) }}'
    )


@pytest.mark.parametrize(
    ("operands", "operators"),
    [
        (("[B, I, J]", "[B, J, K]"), ["MatMul"]),
        (("[A, B, C]", "[D, E, F]"), ["MatMul"]),
        (("[2, 2, 1]", "[2, 3, 4]"), ["Unsqueeze", "Unsqueeze", "Mul", "ReduceSum"]),
        (("[N, 2, 3]", "[1, 3, 4]"), ["MatMul"]),
    ],
)
def test_letters_stand_for_one_size_but_sizes_of_1_that_are_declared_are_stretched_as_runtimes_do(operands, operators):
    """The text broadcasts dimensions of the ellipsis; onnxruntime and numpy broadcast letters, too."""
    converted = check_converts(einsum("bij,bjk->bik", operands, "[P, Q, R]"), 9)
    assert [node.op_type for node in converted.graph.node] == operators


def test_integer_products_are_summed_below_9():
    check_rewrite(
        '<ir_version: 4, opset_import: ["": 9]> g (int32[N, 3] a, int32[3, 4] b) => (int32[N, 4] y) '
        "{ y = MatMul (a, b) }",
        '<ir_version: 3, opset_import: ["": 8]> g (int32[N, 3] a, int32[3, 4] b) => (int32[N, 4] y) '
        "{ y_Unsqueeze = Unsqueeze <axes: ints = [2]> (a) y_Unsqueeze_1 = Unsqueeze <axes: ints = [0]> (b) "
        "y_Mul = Mul (y_Unsqueeze, y_Unsqueeze_1) y = ReduceSum <keepdims: int = 0, axes: ints = [1]> (y_Mul) }",
    )


@pytest.mark.quick_share(9)
@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        ("[3]", "[3]", ""),
        ("[3]", "[3, 4]", "[4]"),
        ("[2, 3]", "[3]", "[2]"),
        ("[5, 1, 2, 3]", "[6, 3, 4]", "[5, 6, 2, 4]"),
        ("[2, 0]", "[0, 4]", "[2, 4]"),
    ],
)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("to", [8, 6])
def test_integer_products_of_all_ranks_wrap_around_below_9(first, second, result, dtype, to):
    check_converts(
        f'<ir_version: 4, opset_import: ["": 9]> g ({dtype}{first} a, {dtype}{second} b) => ({dtype}{result} y) '
        "{ y = MatMul (a, b) }",
        to,
        exact=True,
    )


def test_integer_products_of_unknown_rank_are_refused_below_9():
    check_refusal(
        '<ir_version: 4, opset_import: ["": 9]> g (int32[] a, int32[3, 4] b) => (int32[] y) { y = MatMul (a, b) }',
        8,
        Why.RANK_UNKNOWN,
        "'a'",
    )


def gemm(opset, dtype, third, attributes):
    inputs = f"{dtype}[M, 3] a, {dtype}[3, 4] b" + (f", {dtype}{third} c" if third is not None else "")
    return (
        f'<ir_version: 3, opset_import: ["": {opset}]> g ({inputs}) => ({dtype}[M, 4] y) '
        f"{{ y = Gemm {attributes} (a, b{', c' if third is not None else ''}) }}"
    )


def test_the_third_term_is_always_broadcast_from_7_on():
    check_rewrite(gemm(6, "float", "[4]", "<broadcast = 1>"), gemm(7, "float", "[4]", ""))
    check_rewrite(gemm(7, "float", "[4]", ""), gemm(6, "float", "[4]", "<broadcast: int = 1>"))


def test_a_third_term_of_the_full_shape_needs_no_broadcast_below_7():
    check_rewrite(gemm(7, "float", "[M, 4]", ""), gemm(6, "float", "[M, 4]", ""))


def test_an_absent_third_term_is_a_zero_that_changes_nothing_below_11():
    check_rewrite(
        gemm(11, "float", None, "<alpha = 2.0, beta = 3.0>"),
        '<ir_version: 3, opset_import: ["": 9]> g (float[M, 3] a, float[3, 4] b) => (float[M, 4] y) '
        "<float y_no_term = {-0.0}> { y = Gemm <alpha: float = 2.0> (a, b, y_no_term) }",
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("third", [None, "", "[4]", "[M, 1]"])
@pytest.mark.parametrize("attributes", ["", "<alpha = 2.0, beta = 3.0>"])
def test_integer_products_are_summed_and_added_below_9(dtype, third, attributes):
    check_converts(gemm(11, dtype, third, attributes), 8, exact=True)


@pytest.mark.parametrize("transposed", ["transA", "transB"])
def test_integer_matrices_are_transposed_below_9(transposed):
    check_converts(
        '<ir_version: 6, opset_import: ["": 11]> g (int32[3, 3] a, int32[3, 3] b) => (int32[3, 3] y) '
        f"{{ y = Gemm <{transposed} = 1> (a, b) }}",
        8,
        exact=True,
    )


def test_integers_times_a_fraction_are_refused_below_9():
    check_refusal(gemm(9, "int32", "[4]", "<alpha = 0.5>"), 8, Why.NO_EQUIVALENT, "alpha 0.5")


def test_a_product_of_matrices_becomes_matmul_below_12():
    check_rewrite(
        einsum("bij, bjk -> bik", ["[B, I, J]", "[B, J, K]"], "[B, I, K]"),
        '<ir_version: 6, opset_import: ["": 11]> g (float[B, I, J] a, float[B, J, K] b) => (float[B, I, K] y) '
        "{ y = MatMul (a, b) }",
        exact=False,
    )


def test_attention_scores_become_matmul_of_transposed_inputs_below_12():
    check_rewrite(
        einsum("bqhd,bkhd->bhqk", ["[B, Q, H, D]", "[B, K, H, D]"], "[B, H, Q, K]"),
        '<ir_version: 6, opset_import: ["": 11]> g (float[B, Q, H, D] a, float[B, K, H, D] b) => (float[B, H, Q, K] y) '
        "{ y_Transpose = Transpose <perm: ints = [0, 2, 1, 3]> (a) "
        "y_Transpose_1 = Transpose <perm: ints = [0, 2, 3, 1]> (b) y = MatMul (y_Transpose, y_Transpose_1) }",
        exact=False,
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(
    ("equation", "operands", "result"),
    [
        ("ij->ji", ["[2, 3]"], "[3, 2]"),
        ("ji", ["[2, 3]"], "[3, 2]"),
        ("ij->", ["[2, 3]"], ""),
        ("ii", ["[3, 3]"], ""),
        ("iji->j", ["[3, 2, 3]"], "[2]"),
        ("i,j", ["[2]", "[3]"], "[2, 3]"),
        ("i,i", ["[3]", "[3]"], ""),
        ("ij,j->ij", ["[2, 3]", "[3]"], "[2, 3]"),
        ("abc,bcd->ad", ["[2, 3, 4]", "[3, 4, 5]"], "[2, 5]"),
        ("ab,bc,cd->ad", ["[2, 3]", "[3, 4]", "[4, 2]"], "[2, 2]"),
        ("...ij,...jk", ["[2, 5, 2, 3]", "[2, 5, 3, 4]"], "[2, 5, 2, 4]"),
        ("...ii->...i", ["[2, 3, 3]"], "[2, 3]"),
        ("Ab,bA->b", ["[2, 3]", "[3, 2]"], "[3]"),
    ],
)
@pytest.mark.parametrize("dtype", ["float", "double", "float16", "int8", "uint16", "int64"])
def test_equations_are_computed_below_12(equation, operands, result, dtype):
    check_converts(einsum(equation, operands, result, dtype=dtype), 11, exact="int" in dtype)


def test_bfloat16_equations_are_computed_in_float_below_28():
    check_converts(einsum("ij,jk", ["[2, 3]", "[3, 4]"], "[2, 4]", opset=28, dtype="bfloat16"), 27)


@pytest.mark.parametrize(("equation", "word"), [("ij->ik", "repeated letter"), ("ij,jk->ik", "2 terms")])
def test_equations_that_do_not_fit_are_errors_of_the_model(equation, word):
    check_refusal(einsum(equation, ["[2, 3]"], "[A, B]"), 11, Why.INVALID_MODEL, word)


@pytest.mark.parametrize("dtype", ["float", "float16"])
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("to", [10, 6])
def test_small_determinants_are_written_out_below_11(dtype, size, to):
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g ({dtype}[B, {size}, {size}] x) => ({dtype}[B] y) {{ y = Det (x) }}',
        to,
    )


@pytest.mark.parametrize(
    ("dtype", "size", "why", "word"),
    [
        ("float", "3", Why.NO_EQUIVALENT, "3 rows"),
        ("float", "M", Why.SHAPE_UNKNOWN, "size"),
        ("double", "2", Why.NO_EQUIVALENT, "loses digits"),
    ],
)
def test_other_determinants_are_refused_below_11(dtype, size, why, word):
    check_refusal(
        f'<ir_version: 6, opset_import: ["": 11]> g ({dtype}[B, {size}, {size}] x) => ({dtype}[B] y) {{ y = Det (x) }}',
        10,
        why,
        word,
    )


def test_determinants_of_bfloat16_are_computed_in_float_below_22():
    check_converts(
        '<ir_version: 10, opset_import: ["": 22]> g (bfloat16[B, 3, 3] x) => (bfloat16[B] y) { y = Det (x) }', 21
    )
