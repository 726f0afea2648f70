"""`opsetlift normalize` and `convert --normalize`: what they write, what they say, and their exit statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnx_graphsurgeon as gs
import pytest

import opsetlift.normalizer.discovery as discovery
from opsetlift.cli import main
from opsetlift.normalizer import Pass, known_passes
from testing.small_models import externalise, weighted_model
from tests.normalize.rewriting import text_model

SOURCE = "g (float[batch, 3] x) => (float[batch, 3] y) { s = Shape(x) a = Reshape(x, s) b = Identity(a) y = Neg(b) }"


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, entered, with "in.onnx", which has something to remove."""
    monkeypatch.chdir(tmp_path)
    onnx.save(text_model(SOURCE), "in.onnx")
    return tmp_path


def operators(path: str) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


def test_writes_a_proven_model_and_says_what_was_done(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("in.onnx").read_bytes()
    assert main(["normalize", "in.onnx", "out.onnx"]) == 0
    assert operators("out.onnx") == ["Neg"]
    output = capsys.readouterr()
    assert "nodes 4 -> 1" in output.out
    assert "remove-no-op-moves" in output.out
    assert "Proven: " in output.out
    assert output.err == ""
    assert Path("in.onnx").read_bytes() == before


def test_runs_the_passes_that_are_named(workplace: Path) -> None:
    assert main(["normalize", "in.onnx", "out.onnx", "--passes", "constants-as-initializers,infer-shapes"]) == 0
    assert operators("out.onnx") == operators("in.onnx")


def test_json_is_one_document(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["normalize", "in.onnx", "out.onnx", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["status"] == "normalized"
    assert said["normalization"]["proof"]["outcome"] == "equal"
    report = said["normalization"]["report"]
    assert (report["nodes_before"], report["nodes_after"]) == (4, 1)
    assert {"name", "changes", "nodes", "bytes", "ulps", "proof"} == report["passes"][0].keys()


def test_fixes_shapes(workplace: Path) -> None:
    assert main(["normalize", "in.onnx", "out.onnx", "--fix-shapes", "batch=4"]) == 0
    assert onnx.load("out.onnx").graph.input[0].type.tensor_type.shape.dim[0].dim_value == 4
    assert main(["normalize", "in.onnx", "other.onnx", "--fix-shapes", "x=5x3"]) == 0
    assert onnx.load("other.onnx").graph.output[0].type.tensor_type.shape.dim[0].dim_value == 5


def test_converts_for_a_target_first(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["normalize", "in.onnx", "out.onnx", "--for", "onnxruntime==1.4"]) == 0
    assert onnx.load("out.onnx").opset_import[0].version == 12
    assert "For onnxruntime==1.4." in capsys.readouterr().out


def test_names_of_passes_are_whole_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["normalize", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert set(known_passes()) <= {line.split()[0] for line in lines if line.strip()}


def test_lists_the_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["normalize", "--list"]) == 0
    assert "fold-cons" in capsys.readouterr().out
    assert main(["normalize", "--list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["passes"]] == list(known_passes())


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["in.onnx", "out.onnx", "--passes", "fold-constant"], "did you mean 'fold-constants'"),
        (["in.onnx", "out.onnx", "--passes", "a,,b"], "--passes takes names separated by commas"),
        (["in.onnx", "out.onnx", "--fix-shapes", "batch"], "--fix-shapes takes sizes"),
        (["in.onnx", "out.onnx", "--fix-shapes", "batch=1,batch=2"], "names 'batch' twice"),
        (["in.onnx", "out.onnx", "--fix-shapes", "bathc=1"], "did you mean 'batch'"),
        (["in.onnx", "out.onnx", "--fix-shapes", "x=1x4"], "declares size 3"),
        (["in.onnx", "out.onnx", "--for", "onnxruntme"], "onnxruntime"),
        (["in.onnx", "out.onnx", "--require-proof", "--no-prove"], "--require-proof"),
        (["in.onnx", "in.onnx"], "this is the input itself"),
        (["in.onnx"], "two files"),
        (["missing.onnx", "out.onnx"], "no such file"),
    ],
)
def test_bad_input_gets_one_sentence(
    workplace: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(["normalize", *arguments]) == 1
    said = capsys.readouterr()
    assert sentence in said.err
    assert len(said.err.splitlines()) == 1
    assert not Path("out.onnx").exists()


def test_an_existing_file_is_overwritten_only_on_demand(workplace: Path) -> None:
    Path("out.onnx").write_text("mine")
    assert main(["normalize", "in.onnx", "out.onnx"]) == 1
    assert Path("out.onnx").read_text() == "mine"
    assert main(["normalize", "in.onnx", "out.onnx", "--force"]) == 0


def test_a_missing_proof_is_refused_where_it_is_required(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mystery = text_model("g (float[2] x) => (float[2] y) { m = Neg(x) n = Neg(m) y = Cast <to = 1> (n) }")
    mystery.opset_import.add(domain="local", version=1)
    mystery.graph.node[1].domain = "local"
    onnx.save(mystery, "in.onnx")
    assert main(["normalize", "in.onnx", "out.onnx", "--require-proof", "--json"]) == 2
    said = capsys.readouterr()
    assert "a proof is required" in said.err
    assert json.loads(said.out)["status"] == "refused"
    assert not Path("out.onnx").exists()
    assert main(["normalize", "in.onnx", "out.onnx"]) == 0
    assert "Unproven: " in capsys.readouterr().out


@pytest.fixture
def wrong_pass(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A registered pass that takes Neg for Abs."""

    def rewrite(graph: gs.Graph, context: object) -> None:
        for node in graph.nodes:
            node.op = {"Neg": "Abs"}.get(node.op, node.op)

    passes = {**known_passes(), "wrong": Pass("wrong", rewrite, "Is wrong.")}
    monkeypatch.setattr(discovery, "known_passes", lambda: passes)


@pytest.mark.usefixtures("wrong_pass")
def test_a_pass_that_changes_a_result_is_named(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["normalize", "in.onnx", "out.onnx", "--json"]) == 3
    said = capsys.readouterr()
    assert "pass wrong: " in said.err
    assert json.loads(said.out)["pass"] == "wrong"
    assert not Path("out.onnx").exists()
    assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--normalize"]) == 3
    assert not Path("out.onnx").exists()


def test_a_conversion_may_be_normalised(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--normalize", "--json"]) == 0
    assert operators("out.onnx") == ["Neg"]
    said = json.loads(capsys.readouterr().out)
    assert said["normalization"]["proof"]["outcome"] == "equal"
    assert main(["convert", "in.onnx", "again.onnx", "--to", "18", "--normalize"]) == 0
    assert "Then normalised:" in capsys.readouterr().out


def test_weights_outside_the_model_are_kept(workplace: Path) -> None:
    folder = workplace / "model"
    folder.mkdir()
    source = externalise(weighted_model(), folder)
    (folder / "weights.bin").write_bytes(numpy.full(6, 2, numpy.float32).tobytes())
    onnx.save(source, folder / "in.onnx")
    assert main(["normalize", "model/in.onnx", "out.onnx"]) == 0
    result = onnx.load("out.onnx")
    assert onnx.numpy_helper.to_array(result.graph.initializer[0]).tolist() == [[2, 2, 2], [2, 2, 2]]
