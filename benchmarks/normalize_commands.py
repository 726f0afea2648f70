"""How long users wait for the commands of normalisers: from the start of the process to the written file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import onnx

REPEATS = 3
"""Runs of a command, of which the fastest counts."""

_OURS = (sys.executable, "-c", "from opsetlift.cli import main; main()", "normalize", "--force")
_SCRIPTS = Path(sys.executable).parent
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "ours": (*_OURS, "--no-prove"),
    "ours with proof": _OURS,
    "onnxsim": (str(_SCRIPTS / "onnxsim"),),
    "onnxslim": (str(_SCRIPTS / "onnxslim"),),
}
"""What is put before the names of the two files."""


def seconds_of(command: Sequence[str], source: Path, target: Path) -> float:
    """The wall time of the fastest run; nan where the command fails."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = subprocess.run([*command, str(source), str(target)], capture_output=True, check=False)
        if result.returncode or not target.exists():
            return float("nan")
        best = min(best, time.perf_counter() - start)
        target.unlink()
    return best


def command_table(models: Mapping[str, onnx.ModelProto], names: Sequence[str]) -> Iterator[str]:
    """Seconds by model and command, of those of `names` that have one."""
    commands = {name: command for name, command in COMMANDS.items() if name in names}
    yield f"{'seconds of the command':>26}" + "".join(f"{name:>18}" for name in commands)
    totals = dict.fromkeys(commands, 0.0)
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch, "source.onnx"), Path(scratch, "target.onnx")
        for model_name, model in models.items():
            onnx.save(model, source)
            found = {name: seconds_of(command, source, target) for name, command in commands.items()}
            totals = {name: total + found[name] for name, total in totals.items()}
            yield f"{model_name:>26}" + "".join(f"{seconds:>17.2f}s" for seconds in found.values())
    yield f"{'together':>26}" + "".join(f"{seconds:>17.2f}s" for seconds in totals.values())
