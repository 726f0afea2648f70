"""`--report`: what is on the page, and where it is written."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from opsetlift.cli import main
from testing.small_models import minimum_model, model_of, weighted_model
from tests.reporting.pages import check_page, hostile_model, hostile_refused_model, saved


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def converted(*options: str, model: onnx.ModelProto | None = None) -> str:
    saved(model or minimum_model(), "in.onnx")
    assert main(["convert", "in.onnx", "out.onnx", "--report", "report.html", *options]) == 0
    return check_page(Path("report.html"))


def test_the_report_of_a_conversion_shows_each_rewrite_with_rule_specification_and_proof():
    page = converted("--to", "18")
    assert Path("out.onnx").exists()
    for words in (
        "ReduceMin 13→18: move axes to an input",
        "ai.onnx 13 → ai.onnx 18",
        "attribute &#x27;axes&#x27;: removed",
        "y = ReduceMin &lt;axes = [1]&gt; (x)",
        "rewritten",
        "No input came near failing",
        "bytes of constants",
        "opsetlift convert in.onnx out.onnx --to 18",
    ):
        assert words in page, words


def test_the_report_says_how_near_a_rounding_rule_came_to_its_bound():
    model = model_of([helper.make_node("HardSwish", ["x"], ["y"], name="swish")], opset=16)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    page = converted("--to", "13", model=model)
    assert "Nearest to failing" in page


def test_the_report_of_a_dry_run_says_that_nothing_was_proven():
    page = converted("--to", "18", "--dry-run")
    assert "nothing was proven or written" in page
    assert not Path("out.onnx").exists()


def test_the_report_of_a_refusal_shows_the_node_and_what_would_work(capsys: pytest.CaptureFixture[str]):
    saved(hostile_refused_model(), "in.onnx")
    assert main(["convert", "in.onnx", "out.onnx", "--to", "9", "--report", "report.html"]) == 2
    page = check_page(Path("report.html"))
    assert not Path("out.onnx").exists()
    assert "What would work" in page
    assert "opsetlift convert in.onnx out.onnx --to 13" not in page, "it has that opset"
    assert "--dtype bfloat16=float --dtype-interface change" in page
    assert "refused" in page


def test_the_report_of_a_normalisation_shows_what_passes_changed():
    nodes = [
        helper.make_node("Identity", ["x"], ["a"], name="nothing"),
        helper.make_node("Relu", ["a"], ["y"], name="relu"),
    ]
    saved(model_of(nodes), "in.onnx")
    assert main(["normalize", "in.onnx", "out.onnx", "--report", "report.html"]) == 0
    page = check_page(Path("report.html"))
    assert "What each pass did" in page
    assert "nothing" in page


def test_the_report_of_reach_lists_destinations_and_obstacles():
    saved(hostile_refused_model(), "in.onnx")
    options = ["--for", "onnxruntime==1.4", "--for", "onnxruntime==1.20"]
    assert main(["reach", "in.onnx", "--report", "report.html", *options]) in (0, 2)
    page = check_page(Path("report.html"))
    assert "onnxruntime==1.20" in page
    assert "What cannot be converted" in page


def test_the_report_of_prove_shows_the_answer_and_what_differs():
    saved(minimum_model(), "in.onnx")
    saved(minimum_model(14), "other.onnx")
    assert main(["prove", "in.onnx", "other.onnx", "--report", "report.html"]) == 0
    assert "do they compute the same" in check_page(Path("report.html"))


def test_the_report_of_a_certificate_is_that_of_the_conversion_run_again():
    converted("--to", "18", "--certificate", "proof.json")
    arguments = ["prove", "in.onnx", "out.onnx", "--certificate", "proof.json", "--report", "again.html"]
    assert main(arguments) == 0
    assert "move axes to an input" in check_page(Path("again.html"))


def test_names_in_a_model_are_text_on_the_page():
    page = converted("--to", "18", model=hostile_model())
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "safe\\u202egnp.exe\\x07" in page


def test_the_same_conversion_has_the_same_report():
    first = converted("--to", "18")
    Path("report.html").unlink()
    Path("out.onnx").unlink()
    assert converted("--to", "18") == first


@pytest.mark.parametrize("taken", ["in.onnx", "out.onnx", "proof.json", "weights.bin", "precious.html", "-"])
def test_a_report_never_takes_the_place_of_another_file(taken: str, capsys: pytest.CaptureFixture[str]):
    from testing.small_models import externalise

    saved(externalise(weighted_model(), Path()), "in.onnx")
    Path("precious.html").write_text("mine")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    options = ["--to", "18", "--certificate", "proof.json", "--report", taken]
    assert main(["convert", "in.onnx", "out.onnx", *options]) == 1
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    assert capsys.readouterr().err.startswith("opsetlift: ")
    if taken != "precious.html":
        assert main(["convert", "in.onnx", "out.onnx", *options, "--force"]) == 1
        assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize("command", [["reach", "in.onnx"], ["prove", "in.onnx", "in.onnx"]])
def test_a_report_of_a_command_that_only_reads_never_takes_the_place_of_its_input(command: list[str]):
    saved(minimum_model(), "in.onnx")
    before = Path("in.onnx").read_bytes()
    assert main([*command, "--report", "in.onnx", "--force"]) == 1
    assert Path("in.onnx").read_bytes() == before


def test_force_replaces_a_report():
    Path("report.html").write_text("old")
    assert "ReduceMin" in converted("--to", "18", "--force")
