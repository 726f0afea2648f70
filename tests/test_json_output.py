"""What every command prints with --json follows a schema that the package ships."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy
import onnx
import pytest
import typer.main

from opsetlift.cli import main
from opsetlift.cli.main import app
from tests.prove.conversions import model
from tests.test_schemas import schema

PROJECT = Path(__file__).parents[1]

REDUCED = "g (float[N] x) => (float y) { y = ReduceMax <keepdims = 0> (x) }"
REFUSED = "g (bfloat16[N] x) => (bfloat16[N] y) { y = Abs (x) }"
DOUBLED = "g (float[N] x) => (float y) { t = ReduceMax <keepdims = 0> (x) y = Add (t, t) }"
WRONG = "g (float[N] x) => (float[N] y) { a = Not (x) y = Relu (a) }"


def strict(text: str) -> Any:
    """JSON as its standard has it, without Python's Infinity and NaN."""

    def fail(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=fail)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text, opset in (
        ("one", REDUCED, 13),
        ("other", DOUBLED, 13),
        ("refused", REFUSED, 13),
        ("wrong", WRONG, 13),
    ):
        onnx.save(model(text, opset), f"{name}.onnx")
    numpy.savez("inputs.npz", x=numpy.array([1, 2], numpy.float32))
    numpy.savez("expected.npz", y=numpy.float32(numpy.inf))
    return tmp_path


OUTPUTS = {
    "reach one.onnx": ("cli/schemas/reach", 0),
    "reach refused.onnx --for onnxruntime==1.4": ("cli/schemas/reach", 2),
    "reach . --for onnxruntime==1.4": ("cli/schemas/reach-models", 2),
    "prove one.onnx one.onnx": ("cli/schemas/prove", 0),
    "prove one.onnx one.onnx --judge ort": ("cli/schemas/prove", 0),
    "prove one.onnx other.onnx": ("cli/schemas/prove", 3),
    "prove one.onnx one.onnx --inputs inputs.npz --expected expected.npz": ("cli/schemas/prove", 3),
    "targets": ("cli/schemas/targets", 0),
    "targets onnxruntime==1.4": ("cli/schemas/targets", 0),
    "explain ReduceMin": ("cli/schemas/explain", 0),
    "explain ai.onnx.ml.LabelEncoder 1 4": ("cli/schemas/explain", 0),
    "coverage": ("cli/schemas/coverage", 0),
    "normalize --list": ("cli/schemas/passes", 0),
    "inspect one.onnx --fast": ("reporting/inspection", 0),
    "diff one.onnx other.onnx": ("reporting/difference", 1),
    "check one.onnx refused.onnx --max-opset 12": ("reporting/checking", 2),
    "diagnose one.onnx 'Unsupported model IR version: 10, max supported IR version: 9'": ("reporting/diagnosis", 0),
    "convert one.onnx out.onnx --to 18 --dry-run": ("pipeline/report", 0),
    "normalize one.onnx out.onnx": ("pipeline/report", 0),
}
STOPS = {
    "convert one.onnx out.onnx": 1,
    "convert gone.onnx out.onnx --to 18": 1,
    "convert wrong.onnx out.onnx --to 18": 1,
    "convert refused.onnx out.onnx --to 12": 2,
    "reach gone.onnx": 1,
    "diff one.onnx gone.onnx": 2,
    "prove one.onnx one.onnx --rtol -1": 1,
    "explain Nothing": 1,
    "targets nothing": 1,
}


def run(line: str) -> int:
    return main([one.strip("'") for one in re.findall(r"'[^']*'|\S+", line)] + ["--json"])


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("line", OUTPUTS)
def test_what_is_printed_follows_the_schema(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if "ort" in line:
        pytest.importorskip("onnxruntime")
    name, status = OUTPUTS[line]
    assert run(line) == status
    found = strict(capsys.readouterr().out)
    jsonschema.validate(found, schema(f"{name}.schema.json"))
    found["unheard of"] = 1
    with pytest.raises(jsonschema.ValidationError, match="unheard of"):
        jsonschema.validate(found, schema(f"{name}.schema.json"))


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("line", STOPS)
def test_what_stops_a_command_follows_the_schema(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line) == STOPS[line]
    found = strict(capsys.readouterr().out)
    jsonschema.validate(found, schema("cli/schemas/stop.schema.json"))
    del found["schema_version"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema("cli/schemas/stop.schema.json"))


def test_a_certificate_that_is_run_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "one.onnx", "out.onnx", "--to", "18", "--certificate", "c.json", "--quiet"]) == 0
    again = schema("cli/schemas/prove-certificate.schema.json")
    assert main(["prove", "one.onnx", "out.onnx", "--certificate", "c.json", "--json"]) == 0
    jsonschema.validate(strict(capsys.readouterr().out), again)
    stated = json.loads(Path("c.json").read_text())
    stated["stages"][0]["evidence"]["sites"][0]["cases"] = 10**9
    Path("c.json").write_text(json.dumps(stated))
    assert main(["prove", "one.onnx", "out.onnx", "--certificate", "c.json", "--json"]) == 2
    jsonschema.validate(strict(capsys.readouterr().out), again)


def test_a_proof_that_is_required_and_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mystery = """<ir_version: 8, opset_import: ["": 13, "own": 1]>
        g (float[2] x) => (float[2] y) { m = Neg (x) n = own.F (m) y = Cast <to = 1> (n) }"""
    onnx.save(model(mystery), "own.onnx")
    assert main(["normalize", "own.onnx", "out.onnx", "--require-proof", "--json"]) == 2
    jsonschema.validate(strict(capsys.readouterr().out), schema("cli/schemas/stop.schema.json"))


def test_a_defect(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("opsetlift.cli.reaching.reach_of", fail)
    assert run("reach one.onnx") == 70
    jsonschema.validate(strict(capsys.readouterr().out), schema("cli/schemas/stop.schema.json"))


@pytest.mark.slow
def test_the_summary_of_several_models(folder: Path) -> None:
    assert main(["convert", ".", "converted", "--to", "12", "--summary", "summary.json", "--jobs", "1"]) == 2
    jsonschema.validate(strict(Path("summary.json").read_text()), schema("batch/summary.schema.json"))


def test_each_command_with_json_has_a_schema_that_the_page_names() -> None:
    page = (PROJECT / "docs" / "json.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*?) \| `(.*?)`", page, flags=re.MULTILINE)
    named = {name for commands, _ in rows for name in re.findall(r"`(\w+)[ `]", commands)}
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert named == {name for name, one in commands.items() if any("--json" in option.opts for option in one.params)}
    package = PROJECT / "converter" / "opsetlift"
    shipped = {one.relative_to(package).as_posix() for one in package.rglob("*.schema.json")}
    assert {path for _, path in rows} == shipped
    tested = {f"{name}.schema.json" for name, _ in OUTPUTS.values()}
    assert shipped - tested == {
        "cli/schemas/stop.schema.json",
        "cli/schemas/prove-certificate.schema.json",
        "batch/summary.schema.json",
        "proof/certificate.schema.json",
    }
