"""Shell completion, in a real shell where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def shells(script: str, folder: Path, shell: str = "bash") -> subprocess.CompletedProcess[str]:
    """Run a script with the command on the path."""
    command = folder / "bin" / "opsetlift"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m opsetlift "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        [shell, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=120
    )


BASH = """
eval "$(_OPSETLIFT_COMPLETE=source_bash opsetlift)"
function=$(complete -p opsetlift | sed 's/.*-F \\([^ ]*\\).*/\\1/')
complete_words() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    $function opsetlift
    echo "${COMPREPLY[*]}"
}
complete_words opsetlift con
complete_words opsetlift convert --re
complete_words opsetlift convert mod
complete_words opsetlift convert model.onnx out.onnx --for onnxr
complete_words opsetlift explain ReduceLogS
complete_words opsetlift nothing --x
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.slow
def test_bash_completes_commands_options_runtimes_and_operators(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").touch()
    done = shells(BASH, tmp_path)
    assert done.stdout.splitlines() == [
        "convert",
        "--report --require-proof",
        "",  # bash falls back to the names of files
        "onnxruntime",
        "ReduceLogSum ReduceLogSumExp",
        "",
    ]
    assert done.stderr == ""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_falls_back_to_names_of_files(tmp_path: Path) -> None:
    done = shells('eval "$(_OPSETLIFT_COMPLETE=source_bash opsetlift)"; complete -p opsetlift', tmp_path)
    assert "-o default" in done.stdout


FISH = """
_OPSETLIFT_COMPLETE=source_fish opsetlift | source
complete -C "opsetlift con"
complete -C "opsetlift convert mod"
complete -C "opsetlift explain ReduceLogS"
"""


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.slow
def test_fish_completes_commands_files_and_operators(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").touch()
    done = shells(FISH, tmp_path, "fish")
    answers = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert answers == ["convert", "model.onnx", "ReduceLogSum", "ReduceLogSumExp"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "variables", "answer"),
    [
        ("zsh", {"_TYPER_COMPLETE_ARGS": "opsetlift conv"}, '"convert":'),
        (
            "fish",
            {"_TYPER_COMPLETE_ARGS": "opsetlift conv", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
            "convert\tConvert a model",
        ),
    ],
)
def test_other_shells_get_a_script_and_answers(shell: str, variables: dict[str, str], answer: str) -> None:
    command = [sys.executable, "-m", "opsetlift"]
    asked = {**os.environ, "_OPSETLIFT_COMPLETE": f"source_{shell}"}
    script = subprocess.run(command, env=asked, capture_output=True, text=True, check=True)
    assert "opsetlift" in script.stdout
    assert f"_OPSETLIFT_COMPLETE=complete_{shell}" in script.stdout
    asked = {**os.environ, "_OPSETLIFT_COMPLETE": f"complete_{shell}", **variables}
    answered = subprocess.run(command, env=asked, capture_output=True, text=True, check=True)
    assert answer in answered.stdout
    assert answered.stderr == script.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_real_shells_take_the_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    before = "autoload -U compinit; compinit -u; " if shell == "zsh" else ""
    source = f'eval "$(_OPSETLIFT_COMPLETE=source_{shell} opsetlift)"'
    if shell == "fish":
        source = "_OPSETLIFT_COMPLETE=source_fish opsetlift | source; complete -C 'opsetlift conv'"
    done = shells(before + source, tmp_path, shell)
    assert done.stderr == ""
    assert shell == "zsh" or "convert" in done.stdout
