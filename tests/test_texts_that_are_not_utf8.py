"""Models with a text that is not UTF-8, which protobuf gives as bytes: wherever it is, no fault of ours follows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto, parser

from opsetlift.cli import main

TEXT = """<ir_version: 10, opset_import: ["": 18, "local": 1], producer_name: "p", doc_string: "d">
g (float[N, 3] x, bool c) => (float[N] y) <float[3] w = {1, 2, 3}> {
    [call] t = local.F <k = 1> (x, w)
    [choice] u = If (c) <
        then_branch = one () => (float[N, 3] a) { a = Relu (t) },
        else_branch = other () => (float[N, 3] b) { b = Neg (t) }>
    [axes] i = Constant <value_ints = [1]> ()
    [largest] y = ReduceMax <keepdims = 0> (u, i)
}
<domain: "local", opset_import: ["": 18]> F <k> (p, q) => (r) { r = Mul (p, q) }"""
MARK = "to be replaced"


def source() -> ModelProto:
    model = parser.parse_model(TEXT)
    for node in model.graph.node:
        node.doc_string = "text"
    return model


def texts(message: Any) -> Iterator[tuple[Any, str, int | None]]:
    """Each text in a message: the message that holds it, the field, and the place in a list of them."""
    for field, value in message.ListFields():
        if isinstance(value, str):
            yield message, field.name, None
        elif not isinstance(value, (bytes, int, float)):
            for index, one in enumerate([value] if hasattr(value, "ListFields") else value):
                if isinstance(one, str):
                    yield message, field.name, index
                elif hasattr(one, "ListFields"):
                    yield from texts(one)


def damaged() -> Iterator[tuple[str, bytes]]:
    """The model again and again, each time with one text that is not UTF-8."""
    for number in range(len(list(texts(source())))):
        model = source()
        message, field, index = list(texts(model))[number]
        if index is None:
            setattr(message, field, MARK)
        else:
            getattr(message, field)[index] = MARK
        yield (
            f"{type(message).__name__}.{field}",
            model.SerializeToString().replace(MARK.encode(), b"to be repl\xffced"),
        )


COMMANDS = {
    "down": ["convert", "in.onnx", "out.onnx", "--to", "9", "--force", "--report", "page.html"],
    "normalised": ["normalize", "in.onnx", "out.onnx", "--force", "--json"],
    "proven": ["prove", "in.onnx", "in.onnx"],
    "compared": ["diff", "in.onnx", "in.onnx"],
    "reached": ["reach", "in.onnx", "--for", "onnxruntime==1.4", "--json"],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_no_text_of_a_model_leads_to_a_fault_of_ours(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    statuses = {}
    for number, (field, content) in enumerate(damaged()):
        (tmp_path / "in.onnx").write_bytes(content)
        statuses[f"{field} {number}"] = main(COMMANDS[command])
    capsys.readouterr()
    assert len(statuses) > 50
    assert {field: status for field, status in statuses.items() if status not in (0, 1, 2, 3)} == {}
    assert {0, 1} <= set(statuses.values()) or command == "compared"


@pytest.mark.parametrize("field", ["NodeProto.op_type", "AttributeProto.name", "Dimension.dim_param"])
def test_a_name_that_is_not_utf8_ends_in_a_sentence(
    field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    content = next(content for found, content in damaged() if found == field)
    (tmp_path / "in.onnx").write_bytes(content)
    assert main(COMMANDS["proven"]) == 1
    assert "not UTF-8 text" in capsys.readouterr().err
