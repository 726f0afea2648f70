"""Bad input of every kind: one clear sentence, exit status 1, no file left behind, and the input as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy
import onnx
import pytest

from opsetlift.cli import main
from testing.small_models import externalise, minimum_model, weighted_model
from tests.bad_files import FILES
from tests.bad_models import MODELS


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """What is in a folder: the bytes of files, the targets of links, the kind of anything else."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = path.read_bytes() if path.is_file() else "not a file"
    return found


def check_rejected(arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(folder)
    assert main(arguments) == 1
    output = capsys.readouterr()
    assert output.out == ""
    (sentence,) = output.err.splitlines()
    assert sentence.startswith("opsetlift: ")
    assert words in sentence
    assert not any(trace in sentence for trace in ("Traceback", "Error", "defect", "onnx/", ".cc:"))
    assert len(sentence) - len(str(folder)) < 300 or "x" * 100 in sentence
    assert snapshot(folder) == before


BAD_INPUT = FILES | MODELS


@pytest.mark.quick_share(7)
@pytest.mark.parametrize("kind", BAD_INPUT, ids=lambda kind: kind.replace(" ", "_"))
def test_is_rejected_with_one_sentence(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = BAD_INPUT[kind].make(tmp_path) or tmp_path / "in.onnx"
    arguments = ["convert", str(source), str(tmp_path / "out.onnx"), "--to", "18"]
    check_rejected(arguments, BAD_INPUT[kind].words, tmp_path, capsys)


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("kind", BAD_INPUT, ids=lambda kind: kind.replace(" ", "_"))
def test_is_not_normalised_either(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = BAD_INPUT[kind].make(tmp_path) or tmp_path / "in.onnx"
    check_rejected(["normalize", str(source), str(tmp_path / "out.onnx")], BAD_INPUT[kind].words, tmp_path, capsys)


def test_there_are_at_least_fifty_kinds() -> None:
    assert len(BAD_INPUT) >= 50


BAD_COMMAND_LINES: dict[str, tuple[list[str], str]] = {
    "no target": (["convert", "good.onnx", "out.onnx"], "no destination given"),
    "no output": (["convert", "good.onnx", "--to", "18"], "convert needs OUT"),
    "target that is no number": (["convert", "good.onnx", "out.onnx", "--to", "latest"], "not 'latest'"),
    "target with a sign": (["convert", "good.onnx", "out.onnx", "--to=-1"], "not '-1'"),
    "target opset zero": (["convert", "good.onnx", "out.onnx", "--to", "0"], "no opset 0"),
    "target opset of the future": (["convert", "good.onnx", "out.onnx", "--to", "99"], "no opset 99"),
    "target of an unknown domain": (["convert", "good.onnx", "out.onnx", "--to", "com.example=3"], "com.example"),
    "two targets for one domain": (["convert", "good.onnx", "out.onnx", "--to", "18", "--to", "19"], "twice"),
    "empty path, as of an unset variable": (["convert", "", "out.onnx", "--to", "18"], "an argument is empty"),
    "target opset of the future for several models": (["convert", "*.onnx", "out", "--to", "99"], "no opset 99"),
    "unknown option": (["convert", "good.onnx", "out.onnx", "--too", "18"], "No such option: --too"),
    "unknown command": (["improve", "good.onnx"], "No such command 'improve'"),
    "output is the input": (["convert", "good.onnx", "good.onnx", "--to", "18", "--force"], "the input itself"),
    "output is a link to the input": (
        ["convert", "good.onnx", "link.onnx", "--to", "18", "--force"],
        "the input itself",
    ),
    "output is another name of the input": (
        ["convert", "good.onnx", "hard.onnx", "--to", "18", "--force"],
        "input itself",
    ),
    "output exists": (["convert", "good.onnx", "other.onnx", "--to", "18"], "this file exists"),
    "output is a folder": (["convert", "good.onnx", "folder", "--to", "18", "--force"], "this is a folder"),
    "output in no folder": (["convert", "good.onnx", "none/out.onnx", "--to", "18"], "does not exist"),
    "output is external data of the input": (
        ["convert", "external.onnx", "weights.bin", "--to", "18", "--force"],
        "external data of 'external.onnx'",
    ),
    "certificate over the output": (
        ["convert", "good.onnx", "out.onnx", "--to", "18", "--certificate", "out.onnx"],
        "choose another file for the certificate",
    ),
    "certificate over the input": (
        ["convert", "good.onnx", "out.onnx", "--to", "18", "--certificate", "good.onnx", "--force"],
        "choose another file for the certificate",
    ),
    "certificate in no folder": (
        ["convert", "good.onnx", "out.onnx", "--to", "18", "--certificate", "none/proof.json"],
        "does not exist",
    ),
    "certificate exists": (
        ["convert", "good.onnx", "out.onnx", "--to", "18", "--certificate", "other.onnx"],
        "this file exists",
    ),
    "certificate without a proof": (
        ["convert", "good.onnx", "out.onnx", "--to", "18", "--certificate", "proof.json", "--no-prove"],
        "--no-prove skips it",
    ),
    "textual form that would lose something": (
        ["convert", "documented.onnx", "out.onnxtxt", "--to", "18"],
        "cannot hold all of this model",
    ),
    "prove what is not there": (["prove", "good.onnx", "gone.onnx"], "gone.onnx: no such file"),
    "prove what is no model": (["prove", "other.onnx", "good.onnx"], "other.onnx: this is not an ONNX model"),
    "prove with inputs that are not there": (
        ["prove", "good.onnx", "good.onnx", "--inputs", "gone.npz"],
        "no such file",
    ),
    "prove with inputs that are no arrays": (
        ["prove", "good.onnx", "good.onnx", "--inputs", "other.onnx"],
        "not an .npz",
    ),
    "prove with an input missing": (["prove", "good.onnx", "good.onnx", "--inputs", "wrong.npz"], "'x'"),
    "prove zero times": (["prove", "good.onnx", "good.onnx", "--runs", "0"], "'--runs'"),
    "explain an unknown operator": (["explain", "ReduceMinimum"], "did you mean"),
    "explain from one opset": (["explain", "ReduceMin", "18"], "both opsets or none"),
    "explain from an unknown opset": (["explain", "ReduceMin", "1", "99"], "no opset 99"),
}


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, entered, with models and what gets in their way."""
    monkeypatch.chdir(tmp_path)
    onnx.save(minimum_model(), "good.onnx")
    onnx.save(externalise(weighted_model(), tmp_path), "external.onnx")
    documented = minimum_model()
    documented.graph.node[0].doc_string = "the textual form has no place for this"
    onnx.save(documented, "documented.onnx")
    numpy.savez("wrong.npz", z=numpy.zeros((2, 3), numpy.float32))
    Path("other.onnx").write_bytes(b"something else")
    Path("folder").mkdir()
    Path("link.onnx").symlink_to("good.onnx")
    Path("hard.onnx").hardlink_to("good.onnx")
    return tmp_path


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("kind", BAD_COMMAND_LINES, ids=lambda kind: kind.replace(" ", "_"))
def test_bad_command_line(kind: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, words = BAD_COMMAND_LINES[kind]
    check_rejected(arguments, words, workplace, capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
class TestPermissions:
    def test_unreadable_input(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("good.onnx").chmod(0)
        assert main(["convert", "good.onnx", "out.onnx", "--to", "18"]) == 1
        assert capsys.readouterr().err == "opsetlift: good.onnx: the file cannot be read: permission denied\n"

    def test_output_folder_that_is_read_only(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("folder").chmod(0o500)
        check_rejected(
            ["convert", "good.onnx", "folder/out.onnx", "--to", "18"], "permission denied", workplace, capsys
        )


@pytest.mark.skipif(not hasattr(os, "statvfs"), reason="the system does not tell")
def test_output_on_a_file_system_that_is_read_only(
    workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and access(path, mode))
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    check_rejected(["convert", "good.onnx", "out.onnx", "--to", "18"], "read-only file system", workplace, capsys)


class TestProcess:
    """The same in a process of its own, where nothing can be caught outside of it."""

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["random bytes", "external data past the end", "cyclic_nodes"])
    def test_rejects_bad_input(self, kind: str, tmp_path: Path) -> None:
        BAD_INPUT[kind].make(tmp_path)
        before = snapshot(tmp_path)
        command = [sys.executable, "-m", "opsetlift", "convert", "in.onnx", "out.onnx", "--to", "18"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert len(ended.stderr.splitlines()) == 1
        assert BAD_INPUT[kind].words in ended.stderr
        assert snapshot(tmp_path) == before

    @pytest.mark.slow
    def test_rejects_a_bad_command_line(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "opsetlift", "convert", "in.onnx"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert len(ended.stderr.splitlines()) == 1
