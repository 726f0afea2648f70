"""The JSON Schemas that the package ships describe every certificate, and what `--json` prints of every result."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from opsetlift.cli import main
from tests.test_certificate_files import OWN_TARGET, SOURCES

OPTIONS = {
    "convert": ["convert", "--to", "18"],
    "convert, normalised": ["convert", "--to", "18", "--normalize", "--fix-shapes", "N=2"],
    "for a runtime": ["convert", "--for", "onnxruntime==1.8", "--dtype", "int64=int32", "--normalize"],
    "IR version": ["normalize", "--to", "13", "--ir", "7"],
    "normalize": ["normalize"],
    "dry run": ["normalize", "--dry-run"],
    "no proof": ["convert", "--to", "18", "--no-prove"],
}


def schema(path: str) -> dict[str, Any]:
    text = files("opsetlift").joinpath(path).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(found)
    return found


CERTIFICATE = "proof/certificate.schema.json"
REPORT = "pipeline/report.schema.json"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(OWN_TARGET)
    return tmp_path


def written(folder: Path, options: list[str], source: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    command, *more = options
    assert main([command, SOURCES[source](folder), "out.onnx", *more, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.quick_share(24)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("source", ["binary", "without an import"])
def test_what_is_written_follows_the_schemas(
    source: str, options: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = written(folder, OPTIONS[options], source, capsys)
    jsonschema.validate(found, schema(REPORT))
    has_proof = not {"--dry-run", "--no-prove"} & set(OPTIONS[options])
    assert (found["certificate"] is not None) == has_proof
    if has_proof:
        jsonschema.validate(found["certificate"], schema(CERTIFICATE))


@pytest.mark.quick_share(9)
@pytest.mark.parametrize("entry", ["seed", "stages", "request", "target_sha256", "schema_version"])
def test_what_lacks_an_entry_does_not_follow_the_schema(
    entry: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = written(folder, OPTIONS["convert, normalised"], "binary", capsys)["certificate"]
    del found[entry]
    with pytest.raises(jsonschema.ValidationError, match=entry):
        jsonschema.validate(found, schema(CERTIFICATE))


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("stage", [0, 1, 2])
def test_an_entry_that_is_not_described_does_not_follow_the_schema(
    stage: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = written(folder, OPTIONS["convert, normalised"], "binary", capsys)["certificate"]
    found["stages"][stage]["evidence"]["unheard of"] = 1
    with pytest.raises(jsonschema.ValidationError, match="unheard of"):
        jsonschema.validate(found, schema(CERTIFICATE))
