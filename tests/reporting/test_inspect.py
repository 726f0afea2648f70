"""`opsetlift inspect`: what a model holds and where it runs."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from onnx import TensorProto, helper

from opsetlift.cli import main
from testing.small_models import externalise, minimum_model, model_of, weighted_model
from tests.reporting.pages import hostile_model, saved


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def inspected(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["inspect", "in.onnx", "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    text = files("opsetlift").joinpath("reporting/inspection.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(found, json.loads(text))
    return found


def test_one_screen_shows_what_a_model_holds(capsys: pytest.CaptureFixture[str]):
    saved(weighted_model(), "in.onnx")
    assert main(["inspect", "in.onnx"]) == 0
    page = capsys.readouterr().out
    assert all(len(line.rstrip()) <= 80 for line in page.splitlines())
    assert len(page.splitlines()) <= 24
    for words in ("ai.onnx 13; IR version 7", "x: float[?, ?]", "Min 1, ReduceMin 1", "float 24 bytes in 1 tensor"):
        assert words in page


def test_the_lowest_opset_is_that_of_the_nodes_and_that_of_the_rules(capsys: pytest.CaptureFixture[str]):
    saved(minimum_model(), "in.onnx")
    assert inspected(capsys)["lowest_opsets"] == {"unchanged": 1, "rewritten": 1}
    node = helper.make_node("HardSwish", ["x"], ["y"])
    saved(model_of([node], opset=14), "in.onnx")
    assert inspected(capsys)["lowest_opsets"] == {"unchanged": 14, "rewritten": 4}
    assert inspected(capsys, "--fast")["lowest_opsets"] is None


def test_runtimes_are_those_whose_opsets_and_ir_versions_take_the_model(capsys: pytest.CaptureFixture[str]):
    saved(minimum_model(), "in.onnx")
    taken = inspected(capsys, "--fast")["runtimes"]["onnxruntime"]
    assert "1.6" in taken
    assert "1.4" not in taken, "it stops at opset 12"


def test_external_data_and_functions_are_counted(capsys: pytest.CaptureFixture[str]):
    saved(externalise(weighted_model(), Path()), "in.onnx")
    assert inspected(capsys, "--fast")["external_bytes"] == 24
    body = [helper.make_node("Relu", ["a"], ["b"])]
    function = helper.make_function("local", "twice", ["a"], ["b"], body, [helper.make_opsetid("", 13)])
    call = helper.make_node("twice", ["x"], ["y"], domain="local")
    model = model_of([call], functions=[function], ir_version=8)
    model.opset_import.append(helper.make_opsetid("local", 1))
    saved(model, "in.onnx")
    assert inspected(capsys, "--fast")["functions"] == {"function:local:twice": 1}


def test_names_that_are_no_text_are_escaped(capsys: pytest.CaptureFixture[str]):
    model = hostile_model()
    model.graph.input[0].name = model.graph.node[0].input[0] = "a\x1b[31m\n"
    saved(model, "in.onnx")
    assert main(["inspect", "in.onnx", "--fast"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_file_that_is_no_model_is_named(capsys: pytest.CaptureFixture[str]):
    Path("in.onnx").write_bytes(b"no model")
    assert main(["inspect", "in.onnx"]) == 1
    assert "in.onnx" in capsys.readouterr().err


def test_inputs_with_a_default_are_no_inputs(capsys: pytest.CaptureFixture[str]):
    model = weighted_model()
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2, 3]))
    saved(model, "in.onnx")
    assert [one["name"] for one in inspected(capsys, "--fast")["inputs"]] == ["x"]
