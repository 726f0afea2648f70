"""If with a constant condition, and BatchNormalization that becomes part of what is before it."""

import pytest

from converter.normalize import normalize
from tests.normalize.rewriting import check_rewrite, check_unchanged, rewritten, text_model

BRANCHES = ("inline-constant-branches", "remove-no-op-moves")


def test_the_branch_that_is_taken_takes_the_place_of_the_if() -> None:
    before = """g (float[2] x) => (float[2] y) <bool c = {0}> {
        y = If (c) <
            then_branch = t () => (float[2] u) { a = Neg(x) u = Exp(a) },
            else_branch = e () => (float[2] v) <float k = {2}> { a = Abs(x) v = Mul(a, k) }
        >
    }"""
    after = "g (float[2] x) => (float[2] y) <float k_1 = {2}> { a_1 = Abs(x) y = Mul(a_1, k_1) }"
    check_rewrite(BRANCHES, before, after)


def test_names_of_the_branch_clash_with_no_other_branch() -> None:
    before = """g (float[2] x, bool p) => (float[2] y, float[2] z) <bool c = {1}> {
        y = If (c) <
            then_branch = t () => (float[2] u) { a = Neg(x) u = Exp(a) },
            else_branch = e () => (float[2] v) { v = Abs(x) }
        >
        z = If (p) <
            then_branch = t2 () => (float[2] u) { a = Abs(x) u = Exp(a) },
            else_branch = e2 () => (float[2] v) { v = Neg(x) }
        >
    }"""
    result = rewritten(BRANCHES, text_model(before)).model
    assert [node.op_type for node in result.graph.node] == ["Neg", "Exp", "If"]


def test_a_branch_that_hands_on_an_outer_value_becomes_an_identity() -> None:
    before = """g (float[2] x) => (float[2] y) <bool c = {1}> {
        y = If (c) <
            then_branch = t () => (float[2] u) { u = Identity(x) },
            else_branch = e () => (float[2] v) { v = Abs(x) }
        >
    }"""
    check_rewrite(BRANCHES, before, "g (float[2] x) => (float[2] y) { y = Identity(x) }")


def test_nested_branches_come_out_one_after_the_other() -> None:
    before = """g (float[2] x) => (float[2] y) <bool c = {1}> {
        y = If (c) <
            then_branch = t () => (float[2] u) {
                a = Neg(x)
                u = If (c) <
                    then_branch = t2 () => (float[2] w) { w = Exp(a) },
                    else_branch = e2 () => (float[2] z) { z = Abs(a) }
                >
            },
            else_branch = e () => (float[2] v) { v = Abs(x) }
        >
    }"""
    result = rewritten(BRANCHES, text_model(before)).model
    assert [node.op_type for node in result.graph.node] == ["Neg", "Exp"]


def test_a_condition_of_the_run_keeps_the_if() -> None:
    check_unchanged(
        BRANCHES,
        """g (float[2] x, bool c) => (float[2] y) <bool c = {1}> {
        y = If (c) <
            then_branch = t () => (float[2] u) { u = Neg(x) },
            else_branch = e () => (float[2] v) { v = Abs(x) }
        >
    }""",
    )


STATISTICS = "float[2] s = {2, 3}, float[2] b = {1, -1}, float[2] m = {0.5, 0.25}, float[2] v = {1, 4}"
BATCH_NORMALIZATION = "merge-batch-normalization"


@pytest.mark.parametrize(
    ("node", "inputs", "weights"),
    [
        ("Conv(x, w)", "float[1,1,3,3] x", "float[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"),
        ("Conv(x, w, b)", "float[1,1,3,3] x", "float[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"),
        ("ConvTranspose(x, w)", "float[1,1,3,3] x", "float[1,2,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"),
        ("ConvTranspose<group = 2>(x, w, b)", "float[1,2,3,3] x", "float[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"),
        (
            "Gemm<transB = 1, alpha = 0.5, beta = 2.0>(x, w, b)",
            "float[3,4] x",
            "float[2,4] w = {1, 2, 3, 4, 5, 6, 7, 8}",
        ),
        ("Gemm(x, w)", "float[3,4] x", "float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"),
    ],
)
def test_batch_normalization_becomes_part_of_the_weights(node: str, inputs: str, weights: str) -> None:
    before = (
        f"g ({inputs}) => (float[] y) <{weights}, {STATISTICS}> {{ a = {node} y = BatchNormalization(a, s, b, m, v) }}"
    )
    result = rewritten(BATCH_NORMALIZATION, text_model(before)).model
    assert len(result.graph.node) == 1
    assert result.graph.output[0].name == result.graph.node[0].output[0] == "y"


@pytest.mark.parametrize(
    "change",
    [
        ("=> (float[] y)", "=> (float[] y, float[] a)"),  # what is normalised is an output
        ("(float[1,1,3,3] x)", "(float[1,1,3,3] x, float[2] m)"),  # statistics of the caller
        ("BatchNormalization(a", "BatchNormalization<epsilon = 1.0>(q"),
    ],
)
def test_batch_normalization_of_something_else_stays(change: tuple[str, str]) -> None:
    before = f"""g (float[1,1,3,3] x) => (float[] y) <float[2,1,1,1] w = {{1, 2}}, {STATISTICS}> {{
        a = Conv(x, w) q = Exp(a) y = BatchNormalization(a, s, b, m, v)
    }}""".replace(*change)
    result = normalize(text_model(before), passes=[BATCH_NORMALIZATION]).model
    assert "BatchNormalization" in [node.op_type for node in result.graph.node]
