"""The keys of forms: what single ones tell apart, at the borders of what they state, and their page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import onnx.parser
import pytest
from onnx import numpy_helper

from opsetlift.facts import ModelFacts
from opsetlift.specification.history import definition
from opsetlift.targets.form_keys import KEYS
from opsetlift.targets.form_keys_page import form_keys_page
from opsetlift.targets.forms import Form
from opsetlift.targets.shared_constants import SharedConstants


def fits(nodes: str, inputs: str = "float[2, 3, 4, 5] x", *, constant: Sequence[int] = (), **keys: Any) -> bool:
    """Whether the last node of a graph, in which "c" is a constant of a shape, is of the form."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> g ({inputs}) => (y) {{ {nodes} }}')
    model.graph.initializer.append(numpy_helper.from_array(numpy.ones(constant, numpy.float32), "c"))
    node = model.graph.node[-1]
    known = definition("", node.op_type, 13)
    assert known is not None
    form = Form(node.op_type, "does not run this", "test", keys=keys)
    return form.fits(node, known, ModelFacts(model).graph, 13)


@pytest.mark.parametrize(("inputs", "repeats"), [("x, x", True), ("x, y", False), ("x, x, y", True)])
def test_repeated_inputs(inputs: str, repeats: bool) -> None:
    found = fits(f"z = Sum ({inputs})", "float[2] x, float[2] y", repeats_an_input=True)
    assert found is repeats


@pytest.mark.parametrize(
    ("shape", "is_beside"),
    [
        ([3, 1, 1], False),
        ([3, 4, 1], False),
        ([3, 4, 5], False),
        ([2, 3, 4, 5], False),
        ([4, 1], True),
        ([3, 1, 5], True),
        ([5], True),
        ([2, 1, 1, 1], True),
    ],
)
def test_constants_beside_the_channels(shape: list[int], is_beside: bool) -> None:
    """Of a result of [2, 3, 4, 5] the second axis, and those that follow it without a gap, are not beside."""
    assert fits("y = Add (x, c)", constant=shape, joins_beside_channels=True) is is_beside


@pytest.mark.parametrize(
    ("axis", "shape", "is_behind"),
    [(2, [3], True), (2, [2, 1], False), (1, [4], False), (0, [3, 1], True), (0, [4], False)],
)
def test_constants_along_channels_behind_a_reduction(axis: int, shape: list[int], is_behind: bool) -> None:
    """Of [2, 3, 4] the channels are the 3. Where they are reduced themselves, nothing lies along them."""
    nodes = f"r = ReduceMax <axes = [{axis}], keepdims = 0> (x) y = Add (r, c)"
    keys = {"joins_channels_behind": frozenset({"ReduceMax"})}
    assert fits(nodes, "float[2, 3, 4] x", constant=shape, **keys) is is_behind


@pytest.mark.parametrize(
    ("nodes", "is_other"),
    [
        ("f = Cast <to = 1> (b)", False),
        ("g = Cast <to = 1> (b) f = Unsqueeze (g, c)", False),
        ("g = Cast <to = 1> (b) f = Transpose (g)", False),
        ("g = Cast <to = 1> (b) f = Neg (g)", True),
        ("f = Cast <to = 1> (i)", True),
        ("g = Cast <to = 1> (i) f = Unsqueeze (g, c)", True),
    ],
)
def test_numbers_other_than_moved_truth_values(nodes: str, is_other: bool) -> None:
    found = fits(f"{nodes} y = Relu (f)", "bool[2, 3] b, int32[2, 3] i", constant=[1], has_other_numbers=True)
    assert found is is_other


@pytest.mark.parametrize(
    ("shape", "is_alone"), [([2], True), ([1, 2, 1], True), ([2, 2], False), ([1, 3], True), ([1], False)]
)
def test_vectors_alone(shape: list[int], is_alone: bool) -> None:
    use = SharedConstants(alone_as_vectors=frozenset({"Add"})).use("Add", "B", shape, ())
    assert (use.name == "ALONE") is is_alone


def test_the_page_is_up_to_date() -> None:
    page = Path(__file__).parent.parent / "docs" / "form_keys.md"
    assert page.read_text(encoding="utf-8") == form_keys_page()


def test_every_key_says_what_it_states() -> None:
    for one in KEYS.values():
        assert one.text.startswith("Whether ") is (one.kind is bool), one.name
        assert one.of == "" or one.of in KEYS, one.name
