"""Models whose contents are compared: what is present and empty makes no difference, wherever it is."""

from __future__ import annotations

import numpy
from onnx import ModelProto, numpy_helper, parser

from opsetlift.proof import model_sha256

TEXT = """
    <ir_version: 10, opset_import: ["": 18]>
    g (float[N] x, bool c) => (float[N] y) <float[1] w = {1}> {
        a = Add (x, w)
        y = If (c) <
            then_branch = t () => (float[N] p) { b = Neg (a) p = Abs (b) },
            else_branch = e () => (float[N] q) { q = Identity (x) }>
    }
"""


def test_an_empty_string_at_any_depth_makes_no_difference() -> None:
    model, other = parser.parse_model(TEXT), ModelProto()
    other.CopyFrom(model)
    branch = other.graph.node[1].attribute[0].g
    for message in (other, other.graph, other.graph.node[0], other.graph.initializer[0], branch, branch.node[1]):
        message.doc_string = ""
    other.graph.node[0].domain = branch.node[0].name = branch.node[0].overload = ""
    other.graph.input[0].type.denotation = ""
    assert other != model
    assert model_sha256(other) == model_sha256(model) != ""


def test_a_name_or_a_number_makes_a_difference() -> None:
    model = parser.parse_model(TEXT)
    hashes = {model_sha256(model)}
    model.graph.node[1].attribute[0].g.node[1].name = "named"
    hashes.add(model_sha256(model))
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(numpy.array([2], numpy.float32), "w"))
    hashes.add(model_sha256(model))
    assert len(hashes) == 3
