"""Nodes are alike for a runtime only where what it looks at before them is, too."""

from __future__ import annotations

import pytest

from opsetlift.conversion.walk.equal_sites import _producers_key
from opsetlift.facts import ModelFacts
from testing.conversion import model

TEXT = """
    <ir_version: 6, opset_import: ["": 11]>
    g (float[2,4] x) => (float[2,4] y, float[2,4] z, float[2,4] u) <float two = {2}, float other = {NUMBER}> {
        a = Pow (x, two)
        y = Neg (a)
        b = Pow (x, EXPONENT)
        z = Neg (b)
        u = Abs (READ)
    }
"""


@pytest.mark.parametrize(
    ("number", "exponent", "read", "are_alike"),
    [
        ("2", "two", "x", True),
        ("2", "other", "x", True),
        ("4", "other", "x", False),
        ("2", "two", "b", False),
    ],
    ids=["the same", "an equal exponent", "another exponent", "something else reads it"],
)
def test_nodes_are_alike_where_what_comes_before_is(number: str, exponent: str, read: str, are_alike: bool) -> None:
    text = TEXT.replace("NUMBER", number).replace("EXPONENT", exponent).replace("READ", read)
    facts = ModelFacts(model(text)).graph
    first, second = (_producers_key(node, 2, facts) for node in facts.container.node if node.op_type == "Neg")
    assert (first == second) is are_alike
