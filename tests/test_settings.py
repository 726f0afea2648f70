"""Settings of a project, from opsetlift.toml or pyproject.toml."""

from __future__ import annotations

import os
import re
from pathlib import Path

import onnx
import pytest
import typer.main

from opsetlift.cli import main
from opsetlift.cli.main import app
from opsetlift.cli.settings import _SETTINGS, with_settings
from tests.prove.conversions import model

CONVERT = ["convert", "in.onnx", "out.onnx"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory two folders below that of the project."""
    inner = tmp_path / "models" / "old"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    onnx.save(model("g (float[N] x) => (float y) { y = ReduceMax <keepdims = 0> (x) }", 13), "in.onnx")
    return tmp_path


def added(*arguments: str) -> list[str]:
    """The options that the settings add, which stand behind the command."""
    found = with_settings(arguments)
    return found[1 : len(found) - len(arguments) + 1]


def opset_of(path: str) -> int:
    return int(onnx.load(path).opset_import[0].version)


class TestWhichFile:
    def test_a_table_of_pyproject(self, folder: Path) -> None:
        (folder / "pyproject.toml").write_text("[project]\nname = 'x'\n[tool.opsetlift]\nto = 18\n")
        assert main(CONVERT) == 0
        assert opset_of("out.onnx") == 18

    def test_the_nearest_counts_and_it_alone(self, folder: Path) -> None:
        (folder / "opsetlift.toml").write_text("to = 18\nexact = true\n")
        (folder / "models" / "pyproject.toml").write_text("[tool.opsetlift]\nto = 15\n")
        assert added(*CONVERT) == ["--to=15"]

    def test_a_pyproject_of_something_else_is_passed_over(self, folder: Path) -> None:
        (folder / "opsetlift.toml").write_text("to = 18\n")
        (folder / "models" / "pyproject.toml").write_text("[project]\nname = 'needs opsetlift'\n")
        (folder / "models" / "old" / "pyproject.toml").write_text("this is [ no toml")
        assert added(*CONVERT) == ["--to=18"]

    def test_the_file_of_its_own_comes_first(self, folder: Path) -> None:
        (folder / "opsetlift.toml").write_text("to = 18\n")
        (folder / "pyproject.toml").write_text("[tool.opsetlift]\nto = 15\n")
        assert added(*CONVERT) == ["--to=18"]

    def test_verbose_says_where_settings_are_from(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = folder / "opsetlift.toml"
        file.write_text("to = 18\n")
        assert main([*CONVERT, "-v"]) == 0
        assert f"opsetlift: settings from {file}: --to=18\n" in capsys.readouterr().err
        assert main([*CONVERT, "--force"]) == 0
        assert "settings" not in capsys.readouterr().err

    @pytest.mark.parametrize("place", [0, 1, 3])
    def test_no_config_leaves_it_alone(self, place: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "opsetlift.toml").write_text("this is [ no toml")
        arguments = [*CONVERT, "--to", "15"]
        assert main([*arguments[:place], "--no-config", *arguments[place:]]) == 0
        assert opset_of("out.onnx") == 15

    def test_commands_without_settings_do_not_look(self, folder: Path) -> None:
        (folder / "opsetlift.toml").write_text("this is [ no toml")
        assert main(["targets", "onnxruntime==1.4"]) == 0
        assert main(["convert", "--help"]) == 0


class TestWhatIsTaken:
    def test_every_kind_of_value(self, folder: Path) -> None:
        (folder / "opsetlift.toml").write_text(
            """
            to = [18, "ai.onnx.ml=3"]
            dtype = ["int64=int32"]
            passes = ["default", "-name-nodes"]
            exact = false
            require-proof = true
            seed = 7
            fix-shapes = "batch=1"
            """
        )
        expected = "--to=18 --to=ai.onnx.ml=3 --dtype=int64=int32 --fix-shapes=batch=1 --passes=default,-name-nodes"
        assert added(*CONVERT) == [*expected.split(), "--require-proof", "--seed=7"]

    def test_each_command_takes_what_it_has(self, folder: Path) -> None:
        (folder / "opsetlift.toml").write_text(
            """
            for = "onnxruntime==1.4"
            seed = 3
            prove = { rtol = 1e-3 }
            check = { for = ["ort==1.4", "trt"] }
            reach = { exact = true }
            """
        )
        assert added(*CONVERT) == ["--for=onnxruntime==1.4", "--seed=3"]
        assert added("prove", "a", "b") == ["--seed=3", "--rtol=0.001"]
        assert added("check", "a") == ["--for=ort==1.4", "--for=trt"]
        assert added("reach", "a") == ["--exact"], "reach shows all runtimes unless its own table says otherwise"
        assert added("inspect", "a") == []

    def test_a_target_file_lies_beside_the_settings(self, folder: Path) -> None:
        (folder / "opsetlift.toml").write_text("for = 'mine.toml==2'\n")
        assert added(*CONVERT) == [f"--for={folder / 'mine.toml'}==2"]

    @pytest.mark.parametrize(
        ("given", "left"),
        [
            (["--to", "15"], ["--passes=default", "--require-proof", "--verbose"]),
            (["--for=ort==1.4"], ["--passes=default", "--require-proof", "--verbose"]),
            (["--normalize"], ["--to=18", "--ir=9", "--require-proof", "--verbose"]),
            (["--dry-run"], ["--to=18", "--ir=9", "--passes=default", "--verbose"]),
            (["-q"], ["--to=18", "--ir=9", "--passes=default", "--require-proof"]),
            (["--", "--to"], ["--to=18", "--ir=9", "--passes=default", "--require-proof", "--verbose"]),
        ],
    )
    def test_the_command_line_wins(self, given: list[str], left: list[str], folder: Path) -> None:
        (folder / "opsetlift.toml").write_text(
            "to = 18\nir = 9\npasses = 'default'\nrequire-proof = true\nverbose = true\n"
        )
        assert added(*CONVERT, *given) == left

    def test_a_certificate_has_bounds_of_its_own(self, folder: Path) -> None:
        (folder / "opsetlift.toml").write_text("[prove]\nrtol = 0.1\njudge = 'ort'\nquiet = true\n")
        assert added("prove", "a", "b", "--certificate", "c.json") == ["--quiet"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("sead = 18", "'sead' is not a setting; did you mean 'seed'?"),
        ("convert = 1", "'convert' must be a table"),
        ("force = true", "'force' is not a setting; "),
        ("[covert]\nto = 18", "'covert' is not a command; did you mean 'convert'?"),
        ("[convert]\nruns = 3", "'runs' is not a setting of convert; "),
        ("to = 18.5", "'to' of convert must be an opset, or a list of opsets, not 18.5"),
        ("to = true", "'to' of convert must be an opset, or a list of opsets, not True"),
        ("exact = 'yes'", "'exact' of convert must be true or false, not 'yes'"),
        ("to = 18\nfor = ['ort', 'trt']", "'for' of convert must be text, not ['ort', 'trt']"),
        ("to = []", "'to' of convert must be "),
        ("seed = '7'", "'seed' of convert must be an integer, not '7'"),
        ("to = 18\n'a\\nb' = 1", "is not a setting"),
        ("to = ", "this is not TOML: Invalid value"),
        ("to = [[[[", "this is not TOML: "),
        (f"to = {'9' * 5000}", "this is not TOML: "),
        (f"to = 0x{'f' * 9000}", "'to' of convert must be an opset, or a list of opsets, not an integer of thousands"),
        (f"exact = 0x{'f' * 9000}", "'exact' of convert must be true or false, not an integer of thousands of digits"),
        ("seed = 9223372036854775808", "'seed' of convert must be an integer, not 9223372036854775808"),
    ],
)
def test_what_cannot_be_used_ends_in_one_sentence(
    content: str, sentence: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = content.replace("'a\\nb'", '"a\\nb"')
    (folder / "opsetlift.toml").write_text(content)
    assert main(CONVERT) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"opsetlift: {folder / 'opsetlift.toml'}: ")
    assert sentence in said
    assert said.count("\n") == 1
    assert not Path("out.onnx").exists()


def test_what_is_no_text_and_no_table_ends_in_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "opsetlift.toml").write_bytes(b"\xff\xfe\x00")
    assert main(CONVERT) == 1
    assert "this is not TOML" in capsys.readouterr().err
    (folder / "opsetlift.toml").unlink()
    (folder / "pyproject.toml").write_text("[tool]\nopsetlift = 18\n")
    assert main(CONVERT) == 1
    assert "tool.opsetlift must be a table" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "broken link", "loop", "huge"])
def test_a_file_that_is_none_is_not_passed_over(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = folder / "opsetlift.toml"
    match kind:
        case "folder":
            own.mkdir()
        case "pipe":
            os.mkfifo(own)
        case "device":
            own.symlink_to("/dev/zero")
        case "broken link":
            own.symlink_to("nowhere")
        case "loop":
            own.symlink_to(own)
        case "huge":
            own.touch()
            os.truncate(own, 2**40)
    assert main([*CONVERT, "--to", "18"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"opsetlift: {own}: the settings cannot be read: ")
    assert said.count("\n") == 1
    assert not Path("out.onnx").exists()


def test_settings_are_options_that_exist_and_the_page_lists_them() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for command, settings in _SETTINGS.items():
        options = {name.removeprefix("--") for one in commands[command].params for name in one.opts}
        assert settings.keys() <= options, command
        assert not settings.keys() & {"force", "certificate", "report", "output", "summary", "junit", "sarif"}
    page = (Path(__file__).parents[1] / "docs" / "settings.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (`.*?) \| (.*) \|$", page, flags=re.MULTILINE)
    listed = {
        command: set(re.findall(r"`([\w-]+)`", settings))
        for commands_, settings in table
        for command in re.findall(r"`(\w+)`", commands_)
    }
    assert {name: set(settings) for name, settings in _SETTINGS.items()} == {
        name: found - {"convert"} - ({"normalize"} if name == "normalize" else set()) for name, found in listed.items()
    }
