"""The pass for onnx_ir's pass manager."""

from __future__ import annotations

from pathlib import Path

import numpy
import onnx
import pytest
from onnx import numpy_helper

import opsetlift
from tests.prove.conversions import model

ir = pytest.importorskip("onnx_ir")
common = pytest.importorskip("onnx_ir.passes.common")

from opsetlift.interop.onnx_ir import ConvertVersion  # noqa: E402

TEXT = """g (float[N, 3] x) => (float[N] y) <float[3] w = {1, 2, 3}> {
    s = Mul (x, w)
    y = ReduceMax <axes = [1], keepdims = 0> (s)
}"""


def test_it_runs_between_other_passes_of_a_pass_manager() -> None:
    given = ir.from_proto(model(TEXT, 13))
    own = ConvertVersion(18)
    manager = ir.passes.PassManager(
        [common.DeduplicateInitializersPass(), own, common.RemoveUnusedNodesPass(), common.CheckerPass()], steps=2
    )
    result = manager(given)
    assert result.modified
    assert result.model is given
    assert given.opset_imports[""] == 18
    assert own.certificate is not None
    assert own.certificate.is_proven
    assert opsetlift.prove_models(model(TEXT, 13), given).is_equal


def test_it_stands_where_the_pass_of_onnxscript_does() -> None:
    script = pytest.importorskip("onnxscript.version_converter")
    found = []
    for kind in (script.ConvertVersionPass, ConvertVersion):
        given = ir.from_proto(model("g (float[N] x) => (float[N] y) { y = Relu (x) }", 18))
        sequence = ir.passes.Sequential(kind(20), common.RemoveUnusedOpsetsPass())
        assert sequence.in_place
        found.append(sequence(given).model.opset_imports[""])
    assert found == [20, 20]


def test_a_model_that_is_there_already_stays_the_same() -> None:
    given = ir.from_proto(model(TEXT, 13))
    given.ir_version = 7
    graph = given.graph
    result = ConvertVersion(13)(given)
    assert not result.modified
    assert given.graph is graph


def test_a_refusal_is_raised_and_the_model_is_as_it_was() -> None:
    given = ir.from_proto(model("g (bfloat16[N] x) => (bfloat16[N] y) { y = Abs (x) }", 13))
    before = ir.to_proto(given).SerializeToString()
    with pytest.raises(opsetlift.ConversionRefused):
        ConvertVersion(12)(given)
    with pytest.raises(ir.passes.PassError) as caught:
        ir.passes.Sequential(ConvertVersion(12))(given)
    assert isinstance(caught.value.__cause__, opsetlift.ConversionRefused)
    assert ir.to_proto(given).SerializeToString() == before


def test_functions_metadata_and_the_ir_version_go_with_it() -> None:
    text = """<ir_version: 10, opset_import: ["": 21, "local": 1], metadata_props: ["key": "value"]>
        g (float[N] x) => (float[N] y) { y = local.twice (x) }
        <opset_import: ["": 21], domain: "local"> twice (a) => (b) { b = Add (a, a) }"""
    given = ir.from_proto(onnx.parser.parse_model(text))
    ConvertVersion(13, ir=7)(given)
    assert given.ir_version == 7
    assert given.metadata_props == {"key": "value"}
    assert not given.functions, "IR version 7 has no functions"
    onnx.checker.check_model(ir.to_proto(given))


def test_external_data_stays_where_it_is(tmp_path: Path) -> None:
    made = model(TEXT, 13)
    made.graph.initializer[0].CopyFrom(numpy_helper.from_array(numpy.array([1, 2, 3], numpy.float32), "w"))
    onnx.save(made, tmp_path / "model.onnx", save_as_external_data=True, size_threshold=0, location="w.bin")
    given = ir.load(tmp_path / "model.onnx")
    ConvertVersion(18)(given)
    weights = given.graph.initializers["w"].const_value
    assert isinstance(weights, ir.ExternalTensor)
    assert weights.numpy().tolist() == [1, 2, 3]
