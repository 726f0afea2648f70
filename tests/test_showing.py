"""Results in a Python shell and in a notebook, and what is logged."""

from __future__ import annotations

import logging
from html.parser import HTMLParser

import pytest
from onnx import helper

import opsetlift
from testing.small_models import minimum_model, model_of
from tests.reporting.pages import SCRIPT, hostile_model


def shown() -> dict[str, object]:
    conversion = opsetlift.convert(minimum_model(), to=18)
    nodes = [helper.make_node("Identity", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    return {
        "conversion": conversion,
        "without proof": opsetlift.convert(minimum_model(), to=18, prove=False),
        "certificate": conversion.certificate,
        "normalization": opsetlift.normalize(model_of(nodes)),
        "report": opsetlift.normalize(model_of(nodes)).report,
        "comparison": opsetlift.prove_models(model_of(nodes), model_of(nodes)),
        "reach": opsetlift.reach(minimum_model(), targets=["onnxruntime==1.4"]),
    }


class _Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_results_show_themselves_in_three_lines_and_as_a_table():
    for name, result in shown().items():
        lines = repr(result).splitlines()
        assert len(lines) == 3, name
        assert max(map(len, lines)) <= 120, name
        markup = result._repr_html_()  # type: ignore[attr-defined]
        parser = _Balanced()
        parser.feed(markup)
        assert parser.open == [], name
        assert "<table>" in markup, name


def test_the_lines_say_what_was_done():
    lines = repr(opsetlift.convert(minimum_model(), to=18)).splitlines()
    assert lines[0] == "Conversion: ai.onnx 13 → ai.onnx 18, IR version 7 → 8"
    assert lines[1] == "1 → 1 node, 1 rewrite"
    assert "all proven equal" in lines[2]


def test_names_from_a_model_are_text_in_a_notebook():
    model = hostile_model()
    model.opset_import.append(helper.make_opsetid(SCRIPT, 1))
    assert SCRIPT not in opsetlift.convert(model, to=18, prove=False)._repr_html_()


def test_stages_are_logged_and_nothing_is_printed(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]):
    with caplog.at_level(logging.DEBUG, "opsetlift"):
        opsetlift.convert(minimum_model(), to=18)
    assert [one.name for one in caplog.records] == ["opsetlift"] * len(caplog.records)
    assert any(one.getMessage().startswith("proving: ") for one in caplog.records)
    assert capfd.readouterr() == ("", "")


def test_a_long_result_stays_short():
    nodes = [helper.make_node("ReduceMin", ["x"], [f"v{number}"], axes=[0]) for number in range(99)]
    model = model_of([*nodes, helper.make_node("Max", [f"v{number}" for number in range(99)], ["y"])])
    assert len(repr(opsetlift.convert(model, to=18, prove=False))) < 300
