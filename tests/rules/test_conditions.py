"""If below 11, where both branches give values of one shape."""

import pytest

from testing.conversion import check_converts


def conditional(then_shape, else_shape):
    return (
        '<ir_version: 6, opset_import: ["": 11]> '
        f"g (bool c, float[{then_shape}] a, float[{else_shape}] b) => (float[{then_shape}] y) "
        "{ y = If (c) <then_branch = t () => (float[P, Q] u) { u = Identity (a) }, "
        "else_branch = e () => (float[P, Q] v) { v = Neg (b) }> }"
    )


@pytest.mark.parametrize("to", [10, 1])
def test_branches_of_one_shape_are_allowed_at_every_opset(to):
    check_converts(conditional("N, 2", "N, 2"), to, exact=True)


def test_branches_whose_shapes_are_not_known_to_be_equal_become_loops():
    converted = check_converts(conditional("N, 2", "M, 2"), 10)
    assert [node.op_type for node in converted.graph.node].count("Loop") == 2
