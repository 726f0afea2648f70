"""Whether OpsetLift works with the oldest and newest releases of what it needs.

    python -m testing.dependencies lowest newest onnx==1.22.0 --python python3.12

makes a virtual environment for each, which takes a package index, installs a wheel there, converts, normalises and
inspects a model as the README does, and runs some fast tests (others with `--tests`). It counts tests that fail
because the release has no such opset, or infers less and so leads to a refusal; anything else that fails is listed, and
the exit status is 1.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as tree
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from opsetlift.specification.history import latest_opset

PROJECT = Path(__file__).parents[1]
MODEL = PROJECT / "examples" / "models" / "reductions_basic_opset9" / "model.onnx"

TESTS = [
    *(f"tests/rules/test_{name}.py" for name in ("casts", "clip", "control_flow", "reductions", "slice")),
    *(f"tests/normalize/test_{name}.py" for name in ("bridge", "merges")),
    *(f"tests/test_{name}.py" for name in ("ir_version", "local_functions")),
]
"""They go through dtypes, subgraphs, functions, IR versions, the bridge to graphsurgeon, passes and the proof."""

ABSENT = re.compile(
    r"the installed onnx|^(?:E +)?AttributeError: \w*\d|unknown (?:type|dtype)|Unexpected type", re.MULTILINE
)
"""The message of an error about what an older onnx lacks."""
REFUSED = re.compile(r"^(?:\w+\.)*ConversionRefused")


def lowest() -> list[str]:
    """The requirements of pyproject.toml, each with its oldest release, and protobuf with onnx's."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = [one.partition(",")[0].replace(">=", "==") for one in settings["dependencies"]]
    return [*pinned, "protobuf==4.25.1"]


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command, with what it prints."""
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def try_out(requirements: Sequence[str], python: str, tests: Sequence[str], folder: Path) -> list[str]:
    """What does not work with some requirements, and prints what does."""
    environment = folder / "environment"
    interpreter = str(environment / "bin" / "python")
    for command in (
        (python, "-m", "venv", str(environment)),
        (interpreter, "-m", "pip", "install", "--quiet", str(PROJECT), "pytest", "hypothesis", *requirements),
    ):
        ended = run(*command, cwd=folder)
        if ended.returncode:
            return [f"{' '.join(command)}: {ended.stderr[-1000:]}"]
    names = "onnx numpy ml_dtypes protobuf onnx-graphsurgeon typer rich"
    version = run(interpreter, "--version", cwd=folder).stdout.strip()
    script = f"from importlib.metadata import version as v; print(*(f'{{n}} {{v(n)}}' for n in {names.split()}))"
    print(f"{version}: {run(interpreter, '-c', script, cwd=folder).stdout.strip()}", flush=True)
    faults = []
    for arguments in (
        ["--help"],
        ["convert", str(MODEL), "up.onnx", "--to", "18", "--require-proof", "--report", "up.html"],
        ["convert", "up.onnx", "down.onnx", "--for", "onnxruntime==1.4", "--require-proof"],
        ["normalize", str(MODEL), "small.onnx", "--fix-shapes", "batch=1"],
        ["inspect", str(MODEL)],
        ["reach", str(MODEL), "--for", "tensorrt==8.6"],
    ):
        ended = run(str(environment / "bin" / "opsetlift"), *arguments, cwd=folder)
        # 2: out of reach, which is an answer.
        if ended.returncode not in (0, 2 if arguments[0] == "reach" else 0):
            faults.append(f"opsetlift {' '.join(arguments)}: {ended.stderr}")
    report = folder / "tests.xml"
    options = (
        "-q",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        f"--junitxml={report}",
    )
    ended = run(interpreter, "-m", "pytest", *options, *tests, cwd=PROJECT)
    if not report.exists():
        return [*faults, f"the tests did not run: {(ended.stdout + ended.stderr)[-1000:]}"]
    return faults + _counted(report)


def _counted(report: Path) -> list[str]:
    """What failed for no known reason; prints how many tests ended how."""
    ends: Counter[str] = Counter()
    faults = []
    for case in tree.parse(report).iter("testcase"):
        failure = next(iter(case.findall("failure") + case.findall("error")), None)
        text = "" if failure is None else failure.get("message", "")
        if failure is not None and text == "collection failure":
            text = failure.text or text
        if failure is None:
            ends["skipped" if case.find("skipped") is not None else "passed"] += 1
        elif ABSENT.search(text):
            ends["name what this onnx lacks"] += 1
        elif REFUSED.search(text):
            ends["refused, as less is inferred"] += 1
        else:
            ends["failed"] += 1
            faults.append(f"{case.get('classname')}::{case.get('name')}: {text[:300]}")
    print("   ", ", ".join(f"{count} {end}" for end, count in ends.most_common()), flush=True)
    return faults


def main() -> int:
    """Try each; returns 1 where something fails for no known reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", help="lowest, newest, or a requirement")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tests", nargs="+", default=TESTS)
    options = parser.parse_args()
    print(f"tests are those for ai.onnx {latest_opset()}")
    status = 0
    for what in options.what:
        requirements = {"lowest": lowest(), "newest": []}.get(what, [what])
        with tempfile.TemporaryDirectory() as folder:
            faults = try_out(requirements, options.python, options.tests, Path(folder))
        for fault in faults:
            print("   ", fault)
        status = status or bool(faults)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
