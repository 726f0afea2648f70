"""The tutorial on a first rule, followed to the letter for a made-up step: TopK gains `stable` in opset 29."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
RULES = "rules/opsetlift_rules/top_k.py"
KERNELS = "converter/opsetlift/evaluator/kernels/selecting.py"
HISTORY = "converter/opsetlift/specification/history.py"
TESTS = "tests/rules/test_top_k.py"

REGISTRATION = """
import onnx
from onnx.defs import OpSchema, get_schema, register_schema

before = get_schema("TopK", 28, "")
stable = OpSchema.Attribute("stable", onnx.helper.make_attribute("stable", 1), "0: equal elements come in any order.")
after = OpSchema(
    "TopK",
    "",
    29,
    doc=before.doc,
    inputs=list(before.inputs),
    outputs=list(before.outputs),
    type_constraints=[
        (one.type_param_str, list(one.allowed_type_strs), one.description) for one in before.type_constraints
    ],
    attributes=[*before.attributes.values(), stable],
)
after.set_type_and_shape_inference_function(before.get_type_and_shape_inference_function())
register_schema(after)
"""


class Copy:
    """A copy of the project in which each Python finds a TopK of opset 29."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        without = shutil.ignore_patterns("__pycache__")
        for name in ("converter", "rules", "testing", "docs"):
            shutil.copytree(PROJECT / name, folder / name, ignore=without)
        for name in (
            "pyproject.toml",
            "tests/__init__.py",
            "tests/test_completeness.py",
            "tests/rules/__init__.py",
            TESTS,
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, folder / name)
        (folder / "sitecustomize.py").write_text(REGISTRATION)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Python on the copy's sources."""
        path = os.pathsep.join(map(str, (self.folder, self.folder / "converter", self.folder / "rules")))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
        )

    def test(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run tests of the copy."""
        return self.run("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments)

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace the one place in a file that holds `old`."""
        text = (self.folder / path).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} has {text.count(old)} places with {old!r}"
        (self.folder / path).write_text(text.replace(old, new), encoding="utf-8")


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def example() -> tuple[str, str, str, str, str]:
    """The code of the tutorial: rules, the table's line, the kernel's line, the newest opset, tests."""
    page = (PROJECT / "docs" / "tutorials" / "first_rule.md").read_text(encoding="utf-8")
    rules, entry, kernel, newest, tests = blocks(page)
    return rules, entry, kernel, newest, tests


def follow(copy: Copy, rules: str, entry: str, kernel: str, newest: str, tests: str) -> None:
    """Put code where the recipe says, and write the pages that it names."""
    copy.edit(RULES, "\nSTEPS = [\n", f"\n{rules}\n\nSTEPS = [\n    {entry.strip()},\n")
    copy.edit(HISTORY, "WRITTEN_FOR = {AI_ONNX: 28, AI_ONNX_ML: 5}\n", newest)
    copy.edit(KERNELS, '@kernel("TopK", since=(10, 11, 24), changes=())\n', kernel)
    with (copy.folder / TESTS).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{tests}")
    coverage = copy.run("-m", "opsetlift", "coverage", "--markdown")
    assert coverage.returncode == 0, coverage.stderr
    (copy.folder / "docs/coverage.md").write_text(coverage.stdout, encoding="utf-8")
    kernels = copy.run("-m", "opsetlift.evaluator.table")
    assert kernels.returncode == 0, kernels.stderr


@pytest.mark.slow
def test_the_tutorial_works_and_what_was_missing_is_named_before(tmp_path: Path):
    copy = Copy(tmp_path)
    before = copy.test("tests/test_completeness.py")
    assert before.returncode == 1, before.stdout
    assert "no rule for TopK 24→29, TopK 29→24; opsetlift-dev new-step drafts one" in before.stdout
    assert "no kernel for TopK-29" in before.stdout
    page = (PROJECT / "docs" / "tutorials" / "first_rule.md").read_text(encoding="utf-8")
    missing = re.search(r"^```text\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert missing is not None
    assert all(line in before.stdout for line in missing[1].splitlines())

    follow(copy, *example())
    after = copy.test("tests/test_completeness.py", TESTS, "-k", "completeness or 29")
    assert after.returncode == 0, after.stdout
    assert "7 passed" in after.stdout
    pages = copy.folder / "docs"
    assert "| TopK | 24→29 | unchanged | order of equal elements is that of 24 |" in (pages / "coverage.md").read_text()
    assert "| TopK | 1, 10, 11, 24, 29 | own: selecting |" in (pages / "evaluator.md").read_text()


@pytest.mark.slow
def test_the_draft_of_the_example_s_step_works_once_its_inputs_have_shapes(tmp_path: Path):
    copy = Copy(tmp_path)
    drafted = copy.run("-m", "opsetlift.development", "new-step", "TopK", "24", "29")
    assert drafted.returncode == 0, drafted.stderr
    assert "- attribute 'stable': added, int, default 1" in drafted.stdout
    assert f"`top_k_by_input` in `{KERNELS}` executes 24" in drafted.stdout
    *rules, entry, tests = blocks(drafted.stdout)
    assert f"Add to `{RULES}`:" in drafted.stdout
    assert f"Add to `{TESTS}`:" in drafted.stdout

    drawn = "g (float[N] X, int64[N] K) => (float[N] Values, int64[N] Indices)"
    assert drawn in tests
    given = "g (float[5] X) => (float[2] Values, int64[2] Indices) <int64[1] K = {2}>"
    _, _, kernel, newest, _ = example()
    follow(copy, "\n\n".join(rules), entry, kernel, newest, tests.replace(drawn, given))
    after = copy.test("tests/test_completeness.py", TESTS, "-k", "completeness or 29")
    assert after.returncode == 0, after.stdout
    assert "6 passed" in after.stdout
