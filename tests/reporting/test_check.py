"""`opsetlift check`: exit statuses, JUnit, SARIF, and what runs it for others."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import onnx.parser
import pytest
from onnx import helper

from opsetlift.cli import main
from testing.small_models import minimum_model, model_of
from tests.reporting.pages import saved

PROJECT = Path(__file__).parents[2]
ORT = ["--for", "onnxruntime==1.8"]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a model for onnxruntime 1.8, and one in a folder that is too new for it."""
    monkeypatch.chdir(tmp_path)
    Path("new").mkdir()
    saved(minimum_model(), "old.onnx")
    saved(minimum_model(17), "new/new.onnx")


def test_all_models_pass(capsys: pytest.CaptureFixture[str]):
    assert main(["check", "old.onnx", *ORT, "--max-opset", "13"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == ["ok: old.onnx: onnxruntime==1.8", "ok: old.onnx: opset <= 13"]
    assert said.err == ""


def test_a_model_that_does_not_pass_is_named_with_the_command_that_mends_it(capsys: pytest.CaptureFixture[str]):
    assert main(["check", "**/*.onnx", *ORT]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert "opsetlift: new/new.onnx: onnxruntime==1.8" in lines
    assert any("imports ai.onnx 17; ONNX Runtime 1.8 accepts 7 to 14" in line for line in lines)
    assert lines[-1] == "opsetlift: 1 of 2 checks failed"
    command = next(line for line in lines if "opsetlift convert" in line).removeprefix("opsetlift:   ")
    assert main([*shlex.split(command)[1:]]) == 0
    assert main(["check", "OUT.onnx", *ORT]) == 0


def test_the_limit_of_the_opset_stands_alone(capsys: pytest.CaptureFixture[str]):
    assert main(["check", "old.onnx", "new/new.onnx", "--max-opset", "16"]) == 2
    assert "imports opset 17 of ai.onnx, and 16 is the newest allowed" in capsys.readouterr().err


def test_a_model_without_a_way_is_named_with_the_obstacle(capsys: pytest.CaptureFixture[str]):
    saved(model_of([helper.make_node("Det", ["x"], ["y"], name="mine")], opset=11, ir_version=6), "det.onnx")
    assert main(["check", "det.onnx", "--for", "onnxruntime==1.0", "--for", "opencv==4.3"]) == 2
    said = capsys.readouterr()
    assert "ok: det.onnx: onnxruntime==1.0" in said.out
    assert "cannot be converted: Det 'mine' in graph" in said.err


@pytest.mark.parametrize("arguments", [["old.onnx"], ["nothing/*.onnx", *ORT], ["old.onnx", "--for", "unheard==1"]])
def test_nothing_to_check_is_a_usage_error(arguments: list[str]):
    assert main(["check", *arguments]) == 1


def test_a_folder_means_its_models_at_any_depth(capsys: pytest.CaptureFixture[str]):
    Path("new/notes.txt").write_text("no model")
    assert main(["check", ".", *ORT]) == 2
    said = capsys.readouterr()
    assert "ok: old.onnx: " in said.out
    assert "new/new.onnx: " in said.err
    Path("new/new.onnx").unlink()
    assert main(["check", "new", *ORT]) == 1
    assert "new: this is a folder without .onnx files" in capsys.readouterr().err


def test_a_file_that_is_no_model_fails_but_the_others_are_checked(capsys: pytest.CaptureFixture[str]):
    Path("broken.onnx").write_bytes(b"no model")
    assert main(["check", "*.onnx", *ORT, "--junit", "junit.xml"]) == 1
    assert "ok: old.onnx" in capsys.readouterr().out
    suite = ElementTree.parse("junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "0", "1")


def test_a_model_that_onnx_does_not_accept_fails(capsys: pytest.CaptureFixture[str]):
    made = minimum_model()
    made.graph.node[0].attribute.append(helper.make_attribute("wrong", 1))
    saved(made, "invalid.onnx")
    assert main(["check", "invalid.onnx", "--max-opset", "30"]) == 1
    assert "onnx does not accept the model: Unrecognized attribute: wrong" in capsys.readouterr().err


def test_junit_has_a_case_for_each_file_and_requirement():
    assert main(["check", "**/*.onnx", *ORT, "--max-opset", "20", "--junit", "junit.xml"]) == 2
    suite = ElementTree.parse("junit.xml").getroot()
    cases = {(one.get("name"), one.get("classname")): one.find("failure") for one in suite.iter("testcase")}
    assert {key for key, failure in cases.items() if failure is not None} == {("new/new.onnx", "onnxruntime==1.8")}
    assert len(cases) == 4
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "0")


def test_sarif_has_a_result_for_each_problem_and_a_rule_for_each_result():
    assert main(["check", "**/*.onnx", *ORT, "--sarif", "check.sarif"]) == 2
    (run,) = json.loads(Path("check.sarif").read_text())["runs"]
    rules = {one["id"] for one in run["tool"]["driver"]["rules"]}
    assert {one["ruleId"] for one in run["results"]} <= rules
    assert [one["ruleId"] for one in run["results"]] == ["opset"]
    locations = [one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]]
    assert set(locations) == {"new/new.onnx"}


def test_sarif_has_addresses_and_not_paths():
    name = "a b#c%.onnx"
    saved(minimum_model(17), name)
    assert main(["check", name, *ORT, "--sarif", "check.sarif"]) == 2
    (run,) = json.loads(Path("check.sarif").read_text())["runs"]
    (place,) = [one["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"][0]["locations"]]
    assert place == "a%20b%23c%25.onnx"


def test_a_remedy_that_would_be_refused_is_not_given(capsys):
    source = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 16]> g (bfloat16[N] x) => (bfloat16[N] y) { y = Identity (x) }'
    )
    onnx.save(source, "narrow.onnx")
    assert main(["check", "narrow.onnx", "--max-opset", "9"]) == 2
    printed = capsys.readouterr().err
    assert "cannot be converted" in printed
    assert "OUT.onnx" not in printed


def test_names_cannot_break_the_files():
    name = 'a"<b>&\x07.onnx'
    saved(minimum_model(17), name)
    assert main(["check", name, *ORT, "--junit", "junit.xml", "--sarif", "check.sarif"]) == 2
    cases = list(ElementTree.parse("junit.xml").getroot().iter("testcase"))
    assert cases[0].get("name") == 'a"<b>&\\x07.onnx'


def test_results_never_take_the_place_of_a_model():
    before = Path("old.onnx").read_bytes()
    assert main(["check", "old.onnx", *ORT, "--junit", "old.onnx", "--force"]) == 1
    assert main(["check", "old.onnx", *ORT, "--junit", "a.xml", "--sarif", "a.xml"]) == 1
    assert Path("old.onnx").read_bytes() == before
    assert not Path("a.xml").exists()
    for report in ("--junit", "--sarif"):
        assert main(["check", "old.onnx", *ORT, report, "-"]) == 1
    assert not Path("-").exists()


def test_json_follows_its_schema(capsys: pytest.CaptureFixture[str]):
    assert main(["check", "**/*.onnx", *ORT, "--json"]) == 2
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    text = files("opsetlift").joinpath("reporting/checking.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(found, json.loads(text))
    assert [one["passes"] for one in found["results"]] == [False, True]


def script_of(action: str, name: str) -> str:
    """The `run` block of a step of the action."""
    step = action.partition(f"- name: {name}\n")[2].partition("    - name:")[0]
    block = step.partition("run: |\n")[2]
    return "\n".join(line[8:] for line in block.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "status"), [("13", 2), ("17", 0)])
def test_the_script_of_the_action_checks_what_its_inputs_name(limit: str, status: int, tmp_path: Path):
    program = tmp_path / "opsetlift" / "bin" / "opsetlift"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m opsetlift "$@"\n')
    program.chmod(0o755)
    script = script_of((PROJECT / "action.yml").read_text(), "Check")
    environment = {
        **os.environ,
        "RUNNER_TEMP": str(tmp_path),
        "MODELS": "old.onnx\nnew/*.onnx\n",
        "RUNTIMES": "onnxruntime==1.20\n",
        "MAX_OPSET": limit,
        "JUNIT": "junit.xml",
        "SARIF": "",
    }
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], env=environment, timeout=300, check=False)
    assert done.returncode == status
    assert len(list(ElementTree.parse("junit.xml").getroot().iter("testcase"))) == 4


def test_the_action_gives_inputs_to_its_script_by_the_environment_only():
    """A name with a quote or a dollar sign must not become part of a script."""
    action = (PROJECT / "action.yml").read_text()
    assert "${{" not in script_of(action, "Check")
    inputs = set(re.findall(r"^  ([\w-]+):$", action.partition("inputs:")[2].partition("runs:")[0], re.MULTILINE))
    assert inputs == set(re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", action))


def test_the_hook_of_pre_commit_runs_a_command_that_exists():
    hook = (PROJECT / ".pre-commit-hooks.yaml").read_text()
    entry = re.findall(r"^  entry: (.*)$", hook, re.MULTILINE)
    assert entry == ["opsetlift check --quiet"]
    program, *arguments = shlex.split(entry[0])
    assert program == "opsetlift"
    assert main([*arguments, *ORT, "old.onnx"]) == 0
    assert main([*arguments, *ORT, "old.onnx", "new/new.onnx"]) == 2
    (pattern,) = re.findall(r"^  files: (.*)$", hook, re.MULTILINE)
    assert re.search(pattern, "models/a.onnx")
    assert not re.search(pattern, "a.onnx.data")
