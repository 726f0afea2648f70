"""Moves that move nothing."""

import pytest

from opsetlift.pipeline.normalize import normalize
from testing.conversion import normalised
from tests.normalize.rewriting import check_rewrite, check_unchanged, text_model

PASS = "remove-no-op-moves"


def alone(node: str, inputs: str = "float[2,3] x", output: str = "float[2,3] y", constants: str = "") -> str:
    """A graph with the node between two others."""
    return f"g ({inputs}) => ({output}) {constants} {{ a = Neg(x)  b = {node}  y = Abs(b) }}"


def gone(inputs: str = "float[2,3] x", output: str = "float[2,3] y") -> str:
    """The graph without the node and its constants."""
    return f"g ({inputs}) => ({output}) {{ a = Neg(x)  y = Abs(a) }}"


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("node", "constants", "opset"),
    [
        ("Identity(a)", "", 17),
        ("Cast<to = 1>(a)", "", 17),
        ("CastLike(a, x)", "", 17),
        ("Concat<axis = 0>(a)", "", 17),
        ("Dropout<ratio = 0.5>(a)", "", 10),
        ("Dropout(a)", "", 17),
        ("Dropout(a, ratio, training)", "<float ratio = {0.5}, bool training = {0}>", 17),
        ("Expand(a, shape)", "<int64[2] shape = {2, 1}>", 17),
        ("Expand(a, shape)", "<int64[1] shape = {3}>", 17),
        ("Flatten<axis = 1>(a)", "", 17),
        ("Gather<axis = 1>(a, all)", "<int64[3] all = {0, 1, 2}>", 17),
        ("Pad(a, pads)", "<int64[4] pads = {0, 0, 0, 0}>", 17),
        ("Pad<pads = [0, 0, 0, 0]>(a)", "", 10),
        ("ReduceSum<noop_with_empty_axes = 1>(a)", "", 17),
        ("Reshape(a, shape)", "<int64[2] shape = {2, 3}>", 17),
        ("Reshape(a, shape)", "<int64[2] shape = {0, -1}>", 17),
        ("Slice(a, zero, end)", "<int64[1] zero = {0}, int64[1] end = {2}>", 17),
        (
            "Slice(a, zero, end, axis, step)",
            "<int64[1] zero = {0}, int64[1] end = {9223372036854775807}, int64[1] axis = {-1}, int64[1] step = {1}>",
            17,
        ),
        ("Slice<starts = [0, 0], ends = [2, 9]>(a)", "", 9),
        ("Split<axis = 0>(a)", "", 17),
        ("Squeeze(a)", "", 17),
        ("Tile(a, ones)", "<int64[2] ones = {1, 1}>", 17),
        ("Transpose<perm = [0, 1]>(a)", "", 17),
    ],
)
def test_what_moves_nothing_goes(node: str, constants: str, opset: int) -> None:
    check_rewrite(PASS, alone(node, constants=constants), gone(), opset=opset)


@pytest.mark.parametrize(
    ("node", "constants", "opset"),
    [
        ("Expand(a, shape)", "<int64[3] shape = {1, 2, 3}>", 17),  # a rank more
        ("Flatten<axis = 0>(a)", "", 17),
        ("Gather<axis = 1>(a, some)", "<int64[3] some = {0, 2, 1}>", 17),
        ("Pad(a, pads)", "<int64[4] pads = {0, 1, 0, -1}>", 17),
        ("ReduceMax<axes = [1]>(a)", "", 17),
        ("ReduceSum(a)", "", 17),
        ("Reshape(a, shape)", "<int64[2] shape = {3, 2}>", 17),
        (
            "Slice(a, zero, end, axis, step)",
            "<int64[1] zero = {-1}, int64[1] end = {-3}, int64[1] axis = {0}, int64[1] step = {-1}>",
            17,
        ),
        ("Slice(a, zero, end)", "<int64[1] zero = {0}, int64[1] end = {1}>", 17),
        ("Transpose(a)", "", 17),
    ],
)
def test_what_moves_something_stays(node: str, constants: str, opset: int) -> None:
    check_unchanged(PASS, alone(node, output="float[] y", constants=constants), opset=opset)


def test_open_sizes_are_kept_by_zero_and_minus_one() -> None:
    before = "g (float[N,3] x) => (float[N,3] y) <int64[2] s = {0, -1}> { a = Neg(x) b = Reshape(a, s) y = Abs(b) }"
    check_rewrite(PASS, before, "g (float[N,3] x) => (float[N,3] y) { a = Neg(x) y = Abs(a) }")


def test_a_slice_to_an_unknown_end_stays() -> None:
    before = (
        "g (float[N] x) => (float[M] y) <int64[1] s = {0}, int64[1] e = {9}> { a = Neg(x) b = "
        "Slice(a, s, e) y = Abs(b) }"
    )
    check_unchanged(PASS, before)


def test_an_output_keeps_its_name() -> None:
    check_rewrite(
        PASS,
        "g (float[2] x) => (float[2] y) { a = Neg(x) y = Identity(a) }",
        "g (float[2] x) => (float[2] y) { y = Neg(x) }",
    )


def test_from_an_input_to_an_output_something_has_to_stand() -> None:
    check_unchanged(PASS, "g (float[2] x) => (float[2] y) { y = Identity(x) }")


def test_two_outputs_of_one_value_stay_two() -> None:
    check_unchanged(PASS, "g (float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Identity(y) }")


def test_a_default_value_that_callers_may_override_is_no_constant() -> None:
    before = (
        "g (float[2,3] x, int64[2] s) => (float[A,B] y) <int64[2] s = {2, 3}> { a = Neg(x) b = "
        "Reshape(a, s) y = Abs(b) }"
    )
    check_unchanged(PASS, before)


def test_a_mask_that_is_read_keeps_the_dropout() -> None:
    check_unchanged(PASS, "g (float[2] x) => (float[2] y, bool[2] m) { a = Neg(x) y, m = Dropout(a) }")


def test_subgraphs_read_past_it() -> None:
    before = """g (bool c, float[2] x) => (float[2] y) {
        a = Neg(x)
        b = Identity(a)
        y = If (c) <then_branch = t () => (float[2] u) { u = Abs(b) },
            else_branch = e () => (float[2] v) { v = Neg(b) }>
    }"""
    after = """g (bool c, float[2] x) => (float[2] y) {
        a = Neg(x)
        y = If (c) <then_branch = t () => (float[2] u) { u = Abs(a) },
            else_branch = e () => (float[2] v) { v = Neg(a) }>
    }"""
    check_rewrite(PASS, before, after)


def test_a_branch_that_hands_on_an_outer_value_keeps_its_identity() -> None:
    before = """g (bool c, float[2] x) => (float[2] y) {
        a = Neg(x)
        y = If (c) <then_branch = t () => (float[2] u) { u = Identity(a) },
            else_branch = e () => (float[2] v) { v = Abs(a) }>
    }"""
    check_unchanged(PASS, before)


def test_attributes_of_a_call_are_not_known() -> None:
    before = "g (float[2,3] x) => (float[2,3] y) { y = local.f <to = 1>(x) }"
    function = (
        '<domain: "local", opset_import: ["" : 17]> f <to> (x) => (y) { a = Neg(x) b = Cast<to: int '
        "= @to>(a) y = Abs(b) }"
    )
    check_unchanged(PASS, before, functions=function)


def test_dropout_of_the_first_opsets_drops_unless_it_is_told_not_to() -> None:
    graph = "g (float[2] x) => (float[2] y) {{ b = Dropout<is_test = {}>(x) y = Neg(b) }}"
    check_rewrite(PASS, graph.format(1), "g (float[2] x) => (float[2] y) { y = Neg(x) }", opset=6)
    source = text_model(graph.format(0), opset=6)
    assert normalised(normalize(source, passes=[PASS], prove=False).model) == normalised(source)


def test_a_target_that_is_an_attribute() -> None:
    before = "g (float[2,3] x) => (float[2,3] y) { b = Reshape<shape = [0, 3]>(x) y = Neg(b) }"
    check_rewrite(PASS, before, "g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }", opset=4)


def test_the_product_of_one_number_is_that_number_and_its_sum_may_lose_a_sign() -> None:
    column = "g (float[N,1] x) => (float[N,1] y) {{ a = Neg(x) {} y = Exp({}) }}"
    check_rewrite(PASS, column.format("b = ReduceProd<axes = [1]>(a)", "b"), column.format("", "a"), opset=17)
    check_unchanged(PASS, column.format("b = ReduceMean<axes = [1]>(a)", "b"), opset=17)
