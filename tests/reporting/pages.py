"""Models with names that nobody should trust, and how a page is read."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import onnx
from onnx import ModelProto, TensorProto, helper

from testing.small_models import model_of

SCRIPT = "<script>alert(1)</script>"
QUOTE = '"><img src=x onerror=alert(2)>'
REVERSED = "safe\u202egnp.exe\x07"


def hostile_model() -> ModelProto:
    """Names, strings and doc strings that would be markup if they were not escaped."""
    nodes = [
        helper.make_node("ReduceMin", ["x"], [QUOTE], name=SCRIPT, axes=[1]),
        helper.make_node("Sigmoid", [QUOTE], [REVERSED], name="'--><svg onload=alert(3)>"),
        helper.make_node("ReduceMax", [REVERSED], ["y"], name="</title></style>", axes=[0]),
    ]
    model = model_of(nodes)
    model.producer_name = SCRIPT
    model.graph.doc_string = SCRIPT
    return model


def hostile_refused_model() -> ModelProto:
    """The same with bfloat16, which has no way below opset 13."""
    model = hostile_model()
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.BFLOAT16
    return model


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name == "href" and value]


def read_page(path: Path) -> tuple[str, _Reader]:
    """The text of a page, and its elements."""
    text = path.read_text(encoding="utf-8")
    reader = _Reader()
    reader.feed(text)
    return text, reader


def check_page(path: Path) -> str:
    """What holds of every page; returns its text."""
    text, page = read_page(path)
    assert page.tags.count("script") == 1, "there is one script, and it is ours"
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("style", "src")]
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links), "links stay on the page"
    assert any((value or "").startswith("default-src 'none'") for name, value in page.attributes if name == "content")
    assert not re.search(r"https?://", text)
    assert "\u202e" not in text
    assert "\x07" not in text
    referred = {one for name, value in page.attributes if name == "aria-labelledby" for one in (value or "").split()}
    assert referred <= set(page.ids)
    assert page.tags.count("h1") == 1
    return text


def saved(model: ModelProto, name: str) -> str:
    """The model in a file of the working folder."""
    onnx.save(model, name)
    return name
