"""`opsetlift diagnose`: messages of runtimes, their causes, and commands that help."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from opsetlift.cli import main
from opsetlift.reporting.diagnosis import diagnose, matching, patterns
from testing.small_models import minimum_model, model_of
from tests.reporting.pages import saved

MESSAGES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "messages.toml").read_text())["message"]
RUNTIME = "onnxruntime==1.4"


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def target_of(message: dict[str, Any]) -> str | None:
    return RUNTIME if message["runtime"].startswith("onnxruntime") else None


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: f"{one['runtime']}: {one['text'][-40:]}")
def test_a_real_message_has_one_cause_and_the_right_command(message: dict[str, Any]):
    (found,) = diagnose(message["text"], target=target_of(message))
    assert message.get("cause", "") in found.cause
    assert "{" not in found.cause
    if "command" in message:
        assert message["command"] in [one.text for one in found.commands]


def test_every_entry_of_the_data_file_has_a_real_message():
    met = [one for message in MESSAGES for one, _ in matching(message["text"])]
    left = [one.source for one in patterns() if one not in met]
    assert left == ["https://github.com/microsoft/onnxruntime/issues/5905"], (
        "only the message that is cut off before its limit has no example"
    )


def test_a_message_that_is_cut_off_is_known_as_well():
    (found,) = diagnose(next(one["text"] for one in MESSAGES if "Opset 22" in one["text"]).partition("Current")[0])
    assert "opset 22" in found.cause


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: f"{one['runtime']}: {one['text'][-40:]}")
def test_every_command_is_one_that_opsetlift_takes(message: dict[str, Any], capsys: pytest.CaptureFixture[str]):
    model = model_of([helper.make_node("Relu", ["x"], ["y"], name="r")])
    for number, value in enumerate((*model.graph.input, *model.graph.output)):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
        value.type.tensor_type.shape.dim[1].dim_value = 3 + number * 0
    saved(model, "model.onnx")
    for found in diagnose(message["text"], target=target_of(message)):
        for command in found.commands:
            if "VERSION" not in command.text:
                program, *arguments = shlex.split(command.text)
                assert program == "opsetlift"
                assert main([*arguments, "--force"]) in (0, 2), (command, capsys.readouterr().err)


@pytest.mark.parametrize("field", ["ir", "to"])
def test_the_messages_of_the_installed_onnxruntime_are_known(field: str):
    model = minimum_model()
    if field == "ir":
        model.ir_version = 99
    else:
        model.opset_import[0].version = 99
    onnx.save(model, "model.onnx")
    with pytest.raises(Exception, match=r"IR version|under development") as error:
        onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    (found,) = diagnose(str(error.value))
    assert re.fullmatch(rf"opsetlift convert model.onnx out.onnx --{field} [12]\d", found.commands[0].text)


def test_with_a_model_each_command_is_tried(capsys: pytest.CaptureFixture[str]):
    model = model_of([helper.make_node("Selu", ["x"], ["y"], name="r")], opset=11, ir_version=6)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.DOUBLE
    saved(model, "double.onnx")
    message = "Could not find an implementation for Selu(6) node with name 'r'"
    assert main(["diagnose", "double.onnx", message, "--for", "onnxruntime==1.10"]) == 0
    page = capsys.readouterr().out
    assert page.index("--dtype double=float\n    works") < page.index("refused: ")
    assert main(["diagnose", "double.onnx", message, "--for", "onnxruntime==1.10", "--json"]) == 0
    text = files("opsetlift").joinpath("reporting/diagnosis.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(json.loads(capsys.readouterr().out), json.loads(text))


@pytest.mark.parametrize(
    ("message", "version", "remark"),
    [
        ("Unsupported model IR version: 8, max supported IR version: 7", "VERSION", "it is onnxruntime 1.3 to 1.8"),
        (
            "Opset 22 is under development and ... Current official support for domain ai.onnx is till opset 19.",
            "1.16",
            "",
        ),
    ],
)
def test_the_version_is_the_one_that_says_so_and_not_the_one_installed(message: str, version: str, remark: str):
    (found,) = diagnose(message)
    (command,) = (one for one in found.commands if "--for" in one.text)
    assert command.text.endswith(f"--for onnxruntime=={version}")
    assert command.remark.endswith(remark)
    assert bool(command.remark) == bool(remark)


def test_a_message_that_nobody_knows_is_no_answer(capsys: pytest.CaptureFixture[str]):
    assert main(["diagnose", "Segmentation fault"]) == 2
    assert "not known" in capsys.readouterr().err


def test_a_model_without_a_message_is_a_usage_error(capsys: pytest.CaptureFixture[str]):
    saved(minimum_model(), "model.onnx")
    assert main(["diagnose", "model.onnx"]) == 1
    assert "diagnose MODEL" in capsys.readouterr().err


def test_braces_and_control_characters_in_a_message_stay_text(capsys: pytest.CaptureFixture[str]):
    assert main(["diagnose", "No Op registered for Foo with domain_version of 11 {0.__class__} \x1b[31m"]) == 0
    assert "\x1b" not in capsys.readouterr().out
