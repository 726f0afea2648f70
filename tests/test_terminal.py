"""What a person at a terminal sees: progress, help, quiet, refusals by cause with what would work."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from opsetlift.cli import main
from opsetlift.cli.progress import progress_shown, text_of
from opsetlift.support.progress import tell
from testing.small_models import minimum_model, model_of

COMMANDS = [
    "convert",
    "normalize",
    "prove",
    "reach",
    "diff",
    "inspect",
    "diagnose",
    "targets",
    "measure",
    "explain",
    "coverage",
    "check",
]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(minimum_model(), "in.onnx")


def bfloat16_model(count: int = 3) -> onnx.ModelProto:
    """Nodes that are refused below opset 13 for one reason, and have names."""
    values = ["x", *(f"v{number}" for number in range(count - 1)), "y"]
    nodes = [
        helper.make_node("ReduceMin", [values[at]], [values[at + 1]], name=f"mine_{at}", axes=[1])
        for at in range(count)
    ]
    model = model_of(nodes)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.BFLOAT16
    return model


class Terminal:
    """Standard error that is a terminal, or is not."""

    def __init__(self, is_terminal: bool) -> None:
        self.text = ""
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back."""


@pytest.mark.parametrize(("is_terminal", "is_wanted"), [(True, True), (True, False), (False, True)])
def test_progress_is_shown_where_somebody_watches_and_cleared_at_the_end(
    is_terminal: bool, is_wanted: bool, monkeypatch: pytest.MonkeyPatch
):
    now = [100.0]
    monkeypatch.setattr("opsetlift.cli.progress.time.monotonic", lambda: now[0])
    stream = Terminal(is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delenv("TERM", raising=False)
    with progress_shown(is_wanted=is_wanted):
        tell("proving", 1, 100)
        assert stream.text == "", "nothing within the first second"
        now[0] += 5
        tell("proving", 25, 100)
    if is_terminal and is_wanted:
        assert "proving: 25 of 100 (25%), about 15 s to go" in stream.text
        assert stream.text.endswith("\r\033[K")
    else:
        assert stream.text == ""
    tell("proving", 50, 100)
    assert "50" not in stream.text


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (0, 0, 9, "proving ..."),
        (1, 1000, 9, "proving: 1 of 1,000 (0%)"),
        (500, 1000, 9, "proving: 500 of 1,000 (50%), about 9 s to go"),
        (100, 1000, 60, "proving: 100 of 1,000 (10%), about 9 min to go"),
    ],
)
def test_the_line_says_what_is_done_how_far_and_how_long(done: int, total: int, seconds: float, text: str):
    assert text_of("proving", done, total, seconds) == text


@pytest.mark.slow
def test_a_real_terminal_is_left_clean():
    """In a pseudo-terminal, of which the command sees 80 columns."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "opsetlift", "reach", "in.onnx"]
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, env=environment, check=True, timeout=300)
    os.close(terminal)
    shown = b""
    try:
        while block := os.read(controller, 4096):
            shown += block
    except OSError:
        pass  # how Linux says that the other side is closed
    os.close(controller)
    lines = shown.decode().replace("\033[K", "").split("\r")
    assert all(len(line.strip()) < 80 for line in lines)
    assert not shown or shown.endswith(b"\r\033[K")
    assert b"\033" not in done.stdout


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 0
    assert "Usage: opsetlift" in capsys.readouterr().out


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_has_an_example(command: str, capsys: pytest.CaptureFixture[str]):
    assert main([command, "-h"]) == 0
    page = capsys.readouterr().out
    lines = page.splitlines()
    assert len(lines) <= 36
    assert max(map(len, lines)) <= 80 or "Example: opsetlift" in max(lines, key=len)
    assert f"Example: opsetlift {command}" in " ".join(page.split())


@pytest.mark.parametrize(
    "command",
    [
        ["convert", "in.onnx", "-o", "out.onnx", "--to", "18"],
        ["normalize", "in.onnx", "-o", "out.onnx"],
        ["reach", "in.onnx", "--for", "onnxruntime==1.20"],
        ["prove", "in.onnx", "in.onnx"],
        ["diff", "in.onnx", "in.onnx"],
    ],
)
def test_quiet_prints_nothing_when_all_is_well(command: list[str], capfd: pytest.CaptureFixture[str]):
    assert main([*command, "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")
    assert Path("out.onnx").exists() == ("-o" in command)


def test_out_is_an_argument_or_an_option(capsys: pytest.CaptureFixture[str]):
    assert main(["convert", "in.onnx", "--to", "18"]) == 1
    assert "needs OUT" in capsys.readouterr().err
    assert main(["convert", "in.onnx", "a.onnx", "-o", "b.onnx", "--to", "18"]) == 1
    assert "twice" in capsys.readouterr().err


def test_refusals_are_grouped_by_cause_and_end_with_commands_that_work(capsys: pytest.CaptureFixture[str]):
    onnx.save(bfloat16_model(), "refused.onnx")
    assert main(["convert", "refused.onnx", "out.onnx", "--to", "9"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "opsetlift: refused: 3 places cannot be converted; nothing was written"
    assert lines[1].startswith("opsetlift: ReduceMin 'mine_0' in graph, ReduceMin 13→12: ")
    assert lines[2] == "opsetlift:   the same for ReduceMin 'mine_1' in graph, ReduceMin 'mine_2' in graph"
    start = lines.index("opsetlift: What would work:")
    commands = [line.removeprefix("opsetlift:").partition("  (")[0] for line in lines[start + 1 :]]
    assert commands
    for number, command in enumerate(commands):
        arguments = shlex.split(command.replace("out.onnx", f"out{number}.onnx"))[1:]
        assert main(arguments) == 0, command


def test_verbose_names_every_place(capsys: pytest.CaptureFixture[str]):
    onnx.save(bfloat16_model(9), "refused.onnx")
    assert main(["convert", "refused.onnx", "out.onnx", "--to", "9"]) == 2
    assert "and 4 more" in capsys.readouterr().err
    assert main(["convert", "refused.onnx", "out.onnx", "--to", "9", "--verbose"]) == 2
    assert "mine_8" in capsys.readouterr().err


@pytest.mark.slow
def test_reach_for_a_runtime_that_cannot_be_reached_is_a_refusal():
    onnx.save(bfloat16_model(), "refused.onnx")
    assert main(["reach", "refused.onnx", "--for", "onnxruntime==1.4"]) == 2
    assert main(["reach", "refused.onnx"]) == 0
    assert main(["reach", "in.onnx", "--for", "onnxruntime==1.4"]) == 0
