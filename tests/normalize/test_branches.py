"""Replace an If with a constant condition by the branch that is taken."""

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
