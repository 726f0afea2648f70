"""The code blocks of the documentation, executed in one folder per page.

- `sh`: each command has to end with status 0. `opsetlift ...` runs in this process, other commands in a shell. The
  commands may be alternatives, so they replace what others wrote.
- `console`: commands after "$ ", each with what it prints; a line "..." stands for any lines.
- `python`: executed, with the names that the page has defined so far.
- `json`, `toml`: have to be read.
- others (`text`, `mermaid`, none) are no code.

A comment before a block says that it is not executed, and why: `<!-- not run: it needs a network -->`.

    python -m testing.documents docs/tutorials/migrate.md

writes what its commands print today into a page, after a change of what they print.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

PROJECT = Path(__file__).parents[1]
_SETTINGS = {"COLUMNS": "100", "NO_COLOR": "1", "OPSETLIFT_CACHE": ""}

_BLOCK = re.compile(r"^(<!-- not run: (?P<reason>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_COUNTED = re.compile(r"[\d,]+ (?:test )?inputs\b")
_NO_CODE = frozenset(("", "text", "mermaid"))

FOLLOWED_ELSEWHERE = {
    "CONTRIBUTING.md": "tests/test_rule_recipe.py follows it",
    "docs/tutorials/first_rule.md": "tests/test_rule_recipe.py follows it",
}
"""Pages whose blocks belong into files of the project."""


@dataclass(frozen=True)
class Block:
    """A block of code in a page."""

    page: Path
    line: int
    language: str
    text: str
    reason: str
    """Why it is not executed; empty where it is."""

    @property
    def is_code(self) -> bool:
        """Whether it is to be executed, or else says why not."""
        return self.language not in _NO_CODE

    def __str__(self) -> str:
        return f"{self.page.relative_to(PROJECT)}:{self.line}"


def pages() -> list[Path]:
    """All pages that people write or read."""
    return [*sorted(PROJECT.glob("*.md")), *sorted((PROJECT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The code blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text[: one.start()].count("\n") + 1, one["language"], one["text"], one["reason"] or "")
        for one in _BLOCK.finditer(text)
    ]


class Run:
    """What a page's blocks do, one after the other, in a folder with models."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = dict(vars(ModuleType("__main__")))
        models = PROJECT / "examples" / "models"
        shutil.copytree(models, folder / "examples" / "models")
        shutil.copy(models / "reductions_basic_opset9" / "model.onnx", folder / "model.onnx")
        (folder / "models").mkdir()
        for name in ("reductions_basic_opset18", "control_loop_opset11"):
            shutil.copy(models / name / "model.onnx", folder / "models" / f"{name}.onnx")

    def execute(self, block: Block) -> str:
        """Run a block; returns it with what its commands print. Raises AssertionError where something fails."""
        if block.reason or not block.is_code:
            return block.text
        if block.language == "console":
            return "".join(f"$ {command}\n{self._output(block, command)}" for command, _ in commands(block.text))
        if block.language == "sh":
            for line in _joined(block.text):
                output, status = self._command(line, "--force")
                assert status == 0, f"{block}: {line} ended with status {status}:\n{output}"
        elif block.language == "python":
            with _inside(self.folder):
                code = compile("\n" * block.line + block.text, str(block.page), "exec")
                exec(code, self.names)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
        else:
            raise AssertionError(f"{block}: nothing executes {block.language!r}; say why above it, or use `text`")
        return block.text

    def _output(self, block: Block, command: str) -> str:
        output, _ = self._command(command)
        lines = [line.rstrip() for line in output.replace(str(self.folder), ".").splitlines()]
        return "".join(f"{line}\n" for line in lines)

    def _command(self, line: str, *more: str) -> tuple[str, int]:
        """What a command prints, and its exit status; `more` are options for commands of ours that write files."""
        words = shlex.split(line, comments=True)
        if words[:1] == ["opsetlift"] and not {"|", ">", "&&", "||", ";"} & set(words):
            writes = words[1] in ("convert", "normalize") and "--list" not in words
            return self._opsetlift([*words[1:], *(more if writes else ())])
        ended = subprocess.run(
            line, shell=True, cwd=self.folder, capture_output=True, text=True, check=False, env=_environment()
        )
        return ended.stdout + ended.stderr, ended.returncode

    def _opsetlift(self, arguments: list[str]) -> tuple[str, int]:
        from opsetlift.cli import main

        printed = io.StringIO()
        with _inside(self.folder), redirect_stdout(printed), redirect_stderr(printed):
            try:
                status = main(arguments)
            except SystemExit as end:
                status = int(end.code or 0)
        return printed.getvalue(), status


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a `console` block, each with what stands below it."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def is_as_written(written: str, found: str) -> bool:
    """Whether a block prints what the page says, "..." standing for any lines; numbers of test inputs may differ."""
    written, found = (_COUNTED.sub("N test inputs", text) for text in (written, found))
    pattern = re.escape(written).replace(re.escape("...\n"), "(?:.*\n)*?")
    return re.fullmatch(pattern, found) is not None


def _joined(text: str) -> list[str]:
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """In a folder, with lines of a fixed length, no colours and no verdicts of earlier runs."""
    before = Path.cwd()
    kept = {name: os.environ.get(name) for name in _SETTINGS}
    os.chdir(folder)
    os.environ.update(_SETTINGS)
    try:
        yield
    finally:
        os.chdir(before)
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, **_SETTINGS}


def update(page: Path) -> None:
    """Write into a page what its commands print."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder))
        text, found = page.read_text(encoding="utf-8"), blocks(page)
        for block in found:
            new = run.execute(block)
            if block.language == "console" and not is_as_written(block.text, new):
                text = text.replace(f"```console\n{block.text}```", f"```console\n{new}```", 1)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        given = Path(argument).resolve()
        if reason := FOLLOWED_ELSEWHERE.get(given.relative_to(PROJECT).as_posix()):
            print(f"{argument}: left as it is, because {reason}")
        else:
            update(given)
