"""`opsetlift-dev new-step` drafts rules and tests from two schemas, and changes no file that exists."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from opsetlift.development import new_step
from opsetlift.development.__main__ import main
from opsetlift.development.new_step import NoDraft, StepDraft, draft_step
from opsetlift.rulebook.book import RuleBook
from opsetlift.specification.history import all_transitions, display_domain

PROJECT = Path(__file__).parents[1]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder with no rules yet."""
    monkeypatch.setattr(new_step, "default_rule_book", lambda: RuleBook([]))
    for folder in ("rules/opsetlift_rules", "tests/rules"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def files(project: Path) -> dict[str, str]:
    return {str(one.relative_to(project)): one.read_text() for one in project.rglob("*") if one.is_file()}


def drafts() -> Iterator[StepDraft]:
    """A draft for each step of the installed onnx that does more than widen types."""
    for one in all_transitions():
        if one.upward:
            name = f"{display_domain(one.domain)}.{one.operator}"
            try:
                yield draft_step(name, one.older, one.newer, rule_book=RuleBook([]))
            except NoDraft:
                continue


def module_of(draft: StepDraft) -> ModuleType:
    module = ModuleType(draft.module)
    exec(compile(draft.module_text(), draft.module_path, "exec"), module.__dict__)
    return module


@pytest.mark.slow
def test_each_step_of_the_installed_onnx_can_be_drafted(tmp_path: Path):
    count = 0
    for draft in drafts():
        count += 1
        RuleBook([module_of(draft)])
        (tmp_path / f"{draft.operator}_{draft.newer}.py").write_text(draft.module_text())
        (tmp_path / f"test_{draft.operator}_{draft.newer}.py").write_text(draft.test_text())
    assert count > 200
    # Tests need no docstrings.
    for check in (["check", "--ignore", "D"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *check, "--no-cache", "--config", str(PROJECT / "pyproject.toml")]
        run = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr


def test_a_new_attribute_is_dropped_where_it_has_its_default_and_else_refused():
    draft = draft_step("Cast", 23, 24, rule_book=RuleBook([]))
    assert draft.entry == 'Step("Cast", 23, 24, up=unchanged, down=refuse_what_23_lacks, because=_SINCE_24)'
    assert 'if pop_attribute(site, "round_mode", "up") != "up":' in draft.code[1]
    assert 'Cast <round_mode = "other"> (input)' in draft.tests


def test_another_default_is_written_out_in_both_directions():
    up, down = draft_step("Softmax", 11, 13, rule_book=RuleBook([])).code
    assert 'site.set_attribute("axis", 1)' in up
    assert 'site.set_attribute("axis", -1)' in down


def test_a_required_input_that_a_version_lacks_is_refused():
    up, down = draft_step("TopK", 1, 10, rule_book=RuleBook([])).code
    assert "from opset 10 on TopK has no attribute k" in up
    assert "from opset 10 on TopK requires an input K" in up
    assert "below opset 10 TopK has no input K" in down


def test_files_are_written_for_an_operator_without_rules(project: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["new-step", "TopK", "1", "10", "--project", str(project)]) == 0
    draft = draft_step("TopK", 1, 10, rule_book=RuleBook([]))
    assert files(project) == {
        "rules/opsetlift_rules/top_k.py": draft.module_text(),
        "tests/rules/test_top_k.py": draft.test_text(),
    }
    told = capsys.readouterr().out
    assert "- attribute 'k': removed" in told
    assert "- input 1 'K': added, tensor(int64)" in told
    assert "Wrote `rules/opsetlift_rules/top_k.py`." in told
    assert "- TopK converts between opsets 9 and 10." in told.replace("`", "")


def test_a_file_of_tests_that_exists_stays_as_it_is(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "tests/rules/test_top_k.py").write_text("mine\n")
    assert main(["new-step", "TopK", "1", "10", "--project", str(project)]) == 0
    assert files(project)["tests/rules/test_top_k.py"] == "mine\n"
    assert "Add to `tests/rules/test_top_k.py`:" in capsys.readouterr().out


def test_a_module_that_exists_is_not_overwritten(project: Path, capsys: pytest.CaptureFixture[str]):
    (project / "rules/opsetlift_rules/top_k.py").write_text("mine\n")
    assert main(["new-step", "TopK", "1", "10", "--project", str(project)]) == 1
    assert files(project) == {"rules/opsetlift_rules/top_k.py": "mine\n"}
    assert capsys.readouterr().err.count("\n") == 1


def test_a_step_that_only_widens_types_needs_nothing(project: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["new-step", "Identity", "1", "13", "--project", str(project)]) == 0
    assert "changes types only: it needs no rule" in capsys.readouterr().out
    assert files(project) == {}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["TopKk", "1", "10"], "has no operator 'TopKk'; did you mean TopK?"),
        (["TopK", "1", "11"], "TopK has no step 1→11"),
        (["TopK", "0", "1"], "its versions are 1, 10, 11, 24"),
        (["TopK", "10", "1"], "TopK has no step 10→1"),
        (["TopK", "1", "ten"], "invalid int value: 'ten'"),
        (["TopK", "1"], "newer"),
        (["TopK", "1", "10", "--project", "nowhere"], "nowhere/rules/opsetlift_rules is not a folder"),
    ],
    ids=" ".join,
)
def test_bad_input_gets_one_sentence(
    arguments: list[str], sentence: str, project: Path, capsys: pytest.CaptureFixture[str]
):
    try:
        status = main(["new-step", *arguments])
    except SystemExit as left:
        status = left.code
    told = capsys.readouterr()
    assert status == 1
    assert told.out == ""
    assert sentence in told.err
    assert told.err.count("\n") == 1
    assert files(project) == {}


def test_a_declared_step_is_not_drafted_again(capsys: pytest.CaptureFixture[str]):
    assert main(["new-step", "TopK", "1", "10"]) == 1
    assert "TopK 1→10 is declared in opsetlift_rules.top_k" in capsys.readouterr().err
