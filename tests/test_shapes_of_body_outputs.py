"""Shapes of bodies' outputs that onnx infers before a rule emits nodes, and not any more: they are declared."""

from __future__ import annotations

import numpy
import onnx
import onnxruntime
import pytest
from onnx import GraphProto, ModelProto

from opsetlift import convert
from opsetlift.proof import Outcome
from opsetlift.specification.dtypes import shape_of_type
from tests.prove.conversions import conversion, model

BODY = """g (float[N, 2] x) => (float[2] y, float[N, 2] z) {{
    s = Constant <value = float[2] {{1, 1}}> ()
    y, z = Scan <num_scan_inputs = 1, body = b (float[2] state, float[2] row) => ({next}, {out}) {{
        update = Constant <value = float[1] {{2.5}}> () at = Constant <value = int64[1] {{0}}> ()
        next = ScatterElements <axis = 0, reduction = "mul"> (state, at, update)
        out = Identity (next)
    }}> (s, x)
}}"""


def body_of(model: ModelProto) -> GraphProto:
    (scan,) = (node for node in model.graph.node if node.op_type == "Scan")
    return next(attribute.g for attribute in scan.attribute if attribute.name == "body")


@pytest.mark.parametrize("opset", [15, 9])
@pytest.mark.parametrize(
    ("following", "out"),
    [
        ("float[] next", "float[] out"),
        ("float[] next", "float[2] out"),
        ("next", "out"),
        ("float[2] next", "float[] out"),
    ],
)
def test_onnxruntime_runs_what_it_ran_before(following: str, out: str, opset: int) -> None:
    before = model(BODY.format(next=following, out=out), 18)
    result = convert(before, to=opset)
    assert result.certificate is not None
    assert result.certificate.is_proven
    onnx.checker.check_model(result.model, full_check=True)
    feeds = {"x": numpy.ones((3, 2), numpy.float32)}
    found, expected = (
        onnxruntime.InferenceSession(one.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
        for one in (result.model, before)
    )
    assert [one.tolist() for one in found] == [one.tolist() for one in expected]


def test_what_is_still_inferred_stays_undeclared() -> None:
    text = BODY.format(next="float[] next", out="float[] out").replace(
        'ScatterElements <axis = 0, reduction = "mul"> (state, at, update)', "Mish (state)"
    )
    found = body_of(convert(model(text, 18), to=15).model)
    assert "Mish" not in {node.op_type for node in found.node}
    assert [shape_of_type(info.type) for info in found.output] == [None, None]


@pytest.mark.parametrize(
    ("declared", "outcome"),
    [("float[2]", Outcome.EQUAL), ("float[3]", Outcome.DIFFERENT), ("float[2, 1]", Outcome.DIFFERENT)],
)
def test_what_is_declared_of_outputs_is_compared(declared: str, outcome: Outcome) -> None:
    text = """g (bool c, float[2] x) => (y) {{ y = If (c) <
        then_branch = a () => ({} p) {{ {} }}, else_branch = b () => (float[2] q) {{ q = Abs (x) }}> }}"""
    before, after = (
        text.format("float[]", "p = Neg (x)"),
        text.format(declared, "u = Abs (x) r = Neg (x) p = Identity (r)"),
    )
    path = "graph/0:If.then_branch"
    pair = conversion(before, after, (11, 12), claims={path: [(0, 0, 3)]})
    pair.trace.scope(path).declared_values.add("p")
    found = pair.prove()
    assert not found.structure
    assert [site.outcome for site in found.sites] == [outcome]


def test_outputs_are_declared_anew_by_the_walk_alone() -> None:
    text = """g (bool c, float[2] x) => (y) {{ y = If (c) <
        then_branch = a () => ({} p) {{ p = Neg (x) }}, else_branch = b () => (float[2] q) {{ q = Abs (x) }}> }}"""
    found = conversion(text.format("float[]"), text.format("float[2]"), (11, 12)).prove()
    assert any("output differs" in sentence for sentence in found.structure)
