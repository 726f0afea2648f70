"""Old releases of onnxruntime, each in a virtual environment of its own.

    python -m tests.legacy.runtimes [VERSION...]

makes the environments, by default of every release that has wheels for this Python (`wheels_for_python37` says how
older ones are installed), in the folder that OPSETLIFT_RUNTIMES names, by default
.venv-runtimes beside this project. The tests of this folder run in those that exist, and skip the others.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

from tests.legacy import wheels_for_python37

WITH_WHEELS = ("1.16.3", "1.17.3", "1.18.1", "1.20.1", "1.22.1", "1.23.2")
"""Releases with wheels for Python 3.11."""

VERSIONS = (*wheels_for_python37.VERSIONS, *WITH_WHEELS)

_PROGRAM = """
import sys
import numpy
import onnxruntime
try:
    session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
except TypeError:  # Releases before 1.3 have one provider.
    session = onnxruntime.InferenceSession(sys.argv[1])
outputs = session.run(None, dict(numpy.load(sys.argv[2])))
numpy.savez(sys.argv[3], *outputs)
"""


def folder() -> Path:
    """Where the environments are."""
    return Path(os.environ.get("OPSETLIFT_RUNTIMES") or Path(__file__).parents[2] / ".venv-runtimes")


def python_of(version: str) -> Path:
    """The interpreter of an environment, whether it exists or not."""
    return folder() / version / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(version: str) -> None:
    """Make the environment of a release, unless it is there."""
    if python_of(version).exists():
        return
    if version in wheels_for_python37.VERSIONS:
        wheels_for_python37.install(version, python_of(version))
        return
    venv.create(folder() / version, with_pip=True)
    command = [str(python_of(version)), "-m", "pip", "install", "-q", f"onnxruntime=={version}", "numpy<2"]
    subprocess.run(command, check=True)


def run(version: str, model: Path, inputs: Mapping[str, Any]) -> Sequence[Any]:
    """The outputs of a model file in an old release. Raises RuntimeError with what it says where it fails."""
    given, computed = model.with_suffix(".inputs.npz"), model.with_suffix(".outputs.npz")
    numpy.savez(given, **inputs)
    command = [str(python_of(version)), "-c", _PROGRAM, str(model), str(given), str(computed)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stderr.strip().splitlines()[-1])
    archive = numpy.load(computed)
    return [archive[name] for name in archive.files]


if __name__ == "__main__":
    for wanted in sys.argv[1:] or WITH_WHEELS:
        install(wanted)
        print(f"onnxruntime {wanted}: {python_of(wanted)}")
