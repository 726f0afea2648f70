"""The examples run as a user runs them, and what they write is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy
import onnx
import pytest

from opsetlift.evaluator import Evaluator

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(script: str, folder: Path, *arguments: str) -> str:
    command = [sys.executable, str(EXAMPLES / script), *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    return ended.stdout


def check_against_framework(model: onnx.ModelProto, recorded: Path) -> None:
    """The outputs that the framework recorded, by our evaluator and, as far as it goes, by onnxruntime."""
    inputs = dict(numpy.load(recorded / "inputs.npz"))
    archive = numpy.load(recorded / "expected.npz")
    expected = [archive[name] for name in archive.files]
    found = list(Evaluator(model).run(inputs).values())
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for results in (found, session.run(None, inputs)):
        for result, wanted in zip(results, expected, strict=True):
            numpy.testing.assert_allclose(result, wanted, rtol=1e-3, atol=1e-5)


def test_migrating_an_old_model(tmp_path: Path) -> None:
    said = run("migrate_old_model.py", tmp_path)
    assert "all proven equal" in said
    model = onnx.load(tmp_path / "migrated.onnx")
    assert model.opset_import[0].version == 18
    check_against_framework(model, EXAMPLES / "models" / "reductions_basic_opset9")
    assert (tmp_path / "migrated.proof.json").exists()


def test_migrating_a_model_of_ones_own(tmp_path: Path) -> None:
    recorded = EXAMPLES / "models" / "control_loop_opset11"
    run("migrate_old_model.py", tmp_path, str(recorded / "model.onnx"), "17", "own.onnx")
    model = onnx.load(tmp_path / "own.onnx")
    assert model.opset_import[0].version == 17
    check_against_framework(model, recorded)


def test_downgrading_for_a_legacy_runtime(tmp_path: Path) -> None:
    said = run("downgrade_for_legacy_runtime.py", tmp_path)
    assert "all proven equal" in said
    assert "no way down to opset 12" in said
    assert "bfloat16" in said
    model = onnx.load(tmp_path / "legacy.onnx")
    assert (model.opset_import[0].version, model.ir_version) == (11, 6)
    check_against_framework(model, EXAMPLES / "models" / "reductions_basic_opset18")
    assert not (tmp_path / "never_written.onnx").exists()


def test_normalising_before_deployment(tmp_path: Path) -> None:
    said = run("normalise_before_deployment.py", tmp_path)
    assert "all proven equal" in said
    assert "agree bit for bit" in said
    model = onnx.load(tmp_path / "deployed.onnx")
    assert [value.name for value in model.graph.input] == ["x"]
    assert [size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim] == [2, 4]
    assert "w" in {tensor.name for tensor in model.graph.initializer}
    assert "left_behind" not in {tensor.name for tensor in model.graph.initializer}
    x = numpy.array([[3, 0, 0, 0], [0, 0, 0, -9]], numpy.float32)
    assert Evaluator(model).run({"x": x})["y"].ravel().tolist() == pytest.approx([-1 / 3, -8])


def test_rewrites_of_ones_own(tmp_path: Path) -> None:
    said = run("custom_rewrite.py", tmp_path)
    assert "-> ['Swish', 'Swish', 'Add']" in said
    assert "agree bit for bit" in said
    assert "not written: pass careless" in said
    model = onnx.load(tmp_path / "rewritten.onnx")
    assert [node.op_type for node in model.graph.node] == ["Swish", "Swish", "Add"]
