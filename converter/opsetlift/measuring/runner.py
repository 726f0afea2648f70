"""Calls a runtime that is to be measured: a command that runs a model file on inputs and writes outputs.

A command is called as `COMMAND model.onnx inputs.npz outputs.npz`; exit status 0 says that it wrote the outputs, and
whatever else it ends in is an answer, too. A persistent one is started once, without arguments. It reads requests from
standard input, a JSON object on a line,

    {"model": "/tmp/x/model.onnx", "inputs": "/tmp/x/inputs.npz", "outputs": "/tmp/x/outputs.npz"}

and answers each with a line on standard output: {"ok": true} after it wrote the outputs, else {"error": "why"}. Lines
that are no JSON object with one of these keys are left aside, as native libraries print there.
"""

from __future__ import annotations

import json
import os
import queue
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy
from onnx import ModelProto

from opsetlift.model.arrays import Array

_LONGEST_MESSAGE = 300


class RunnerFault(Exception):
    """The command cannot be started at all; the message is one sentence."""


@dataclass(frozen=True)
class Answer:
    """What came of one model: outputs, or why there are none."""

    outputs: Mapping[str, Array] = field(default_factory=dict)
    error: str = ""
    needs_restart: bool = False
    """Whether it ended a process that answers many requests: to start the next one takes longer than most models."""


class Runner:
    """A runtime behind a command.

    Args:
        command: As a shell would take it, without redirections.
        is_persistent: Whether it is started once and reads requests (the module's docstring shows them).
        timeout: Seconds for one model, after which it is taken to hang.
    """

    def __init__(self, command: str, *, is_persistent: bool = False, timeout: float = 20) -> None:
        try:
            self._command = shlex.split(command)
        except ValueError as fault:
            raise RunnerFault(f"the runner {command!r} cannot be split into words: {fault}") from fault
        self._is_persistent = is_persistent
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._folder = tempfile.TemporaryDirectory(prefix="opsetlift-measure-")
        if not self._command:
            raise RunnerFault("the runner is an empty command")

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._folder.cleanup()

    def run(self, model: ModelProto, inputs: Mapping[str, Array]) -> Answer:
        """Run a model. Raises RunnerFault where the command itself cannot be started."""
        folder = Path(self._folder.name)
        files = [folder / name for name in ("model.onnx", "inputs.npz", "outputs.npz")]
        files[0].write_bytes(model.SerializeToString())
        with files[1].open("wb") as file:
            numpy.savez(file, allow_pickle=False, **{name: _storable(value) for name, value in inputs.items()})
        files[2].unlink(missing_ok=True)
        try:
            error = self._ask(files) if self._is_persistent else self._call(files)
        except OSError as fault:
            raise RunnerFault(f"{self._command[0]} cannot be started: {fault.strerror or fault}") from fault
        needs_restart = self._is_persistent and self._process is None
        return Answer(error=error, needs_restart=needs_restart) if error else _read(files[2])

    def _call(self, files: list[Path]) -> str:
        process = subprocess.Popen(
            [*self._command, *map(str, files)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            said = process.communicate(timeout=self._timeout)[1].decode(errors="replace").strip()
        except subprocess.TimeoutExpired:
            _kill(process)
            return f"no answer after {self._timeout:g} s"
        if process.returncode < 0:
            return f"ended by signal {-process.returncode}"
        last = said.splitlines()[-1] if said else f"exit status {process.returncode}"
        return last[:_LONGEST_MESSAGE] if process.returncode else ""

    def _ask(self, files: list[Path]) -> str:
        process = self._process or self._start()
        request = dict(zip(("model", "inputs", "outputs"), map(str, files), strict=True))
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            return self._answer()
        except queue.Empty:
            self._stop()
            return f"no answer after {self._timeout:g} s"
        except BrokenPipeError:
            return self._died()

    def _answer(self) -> str:
        while True:
            line = self._lines.get(timeout=self._timeout)
            if line is None:
                return self._died()
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if isinstance(answer, dict) and "error" in answer:
                return str(answer["error"])[:_LONGEST_MESSAGE] or "it failed without a message"
            if isinstance(answer, dict) and "ok" in answer:
                return ""

    def _died(self) -> str:
        assert self._process is not None
        status = self._process.wait()
        self._process = None
        return f"ended by signal {-status}" if status < 0 else f"ended with exit status {status}"

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        lines: queue.Queue[bytes | None] = queue.Queue()

        def forward() -> None:
            for line in process.stdout or ():
                lines.put(line)
            lines.put(None)

        threading.Thread(target=forward, daemon=True).start()
        self._process, self._lines = process, lines
        return process

    def _stop(self) -> None:
        if self._process is not None:
            _kill(self._process)
            self._process = None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError):
        process.kill()
    process.wait()


def _storable(value: Array) -> Array:
    return value.astype(numpy.str_) if value.dtype.kind == "O" else value


def _read(file: Path) -> Answer:
    try:
        with numpy.load(file, allow_pickle=False) as archive:
            return Answer({name: archive[name] for name in archive.files})
    except (OSError, ValueError, EOFError) as fault:
        return Answer(error=f"its outputs cannot be read: {fault}")
