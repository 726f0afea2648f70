"""The command line: what it writes, what it says, and its exit statuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opsetlift.cli import main
from opsetlift.development.__main__ import main as develop
from opsetlift.proof import Certificate
from opsetlift.proof.certificate import model_sha256
from opsetlift.proof.onnxruntime_comparison import OnnxruntimeVerdict
from opsetlift.rulebook.book import RuleBook, default_rule_book, rule_modules
from opsetlift.rulebook.rule import Rule
from opsetlift.specification.history import Transition
from testing.small_models import externalise, minimum_model, model_of, weighted_model

COMMANDS = ["", "convert", "normalize", "prove", "reach", "targets", "measure", "explain", "coverage"]


def modules_after(package: str, arguments: list[str]) -> set[str]:
    """The modules that a command has imported when it ends."""
    script = f"""
import sys
from {package}.__main__ import main
sys.argv[1:] = {arguments!r}
try:
    main()
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout
    return set(ended.stderr.split())


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, entered, with "in.onnx": ReduceMin at opset 13."""
    monkeypatch.chdir(tmp_path)
    onnx.save(minimum_model(), "in.onnx")
    return tmp_path


@pytest.fixture
def refused_model(workplace: Path) -> Path:
    """A model that has no way below opset 13: bfloat16 does not exist there for ReduceMin."""
    model = minimum_model()
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.BFLOAT16
    onnx.save(model, "refused.onnx")
    return workplace / "refused.onnx"


@pytest.fixture
def broken_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule book in which ReduceMin loses its axes on the way from 13 to 18."""

    def lose_axes(site: Any) -> None:
        site.remove_attribute("axes")

    book = RuleBook(rule_modules())
    transition = Transition("", "ReduceMin", 13, 18, True)
    entry = book.entry(transition)
    assert entry is not None
    book._entries[transition] = type(entry)(Rule("lose axes", lose_axes), entry.module, entry.because)
    monkeypatch.setattr(import_module("opsetlift.pipeline.stages"), "default_rule_book", lambda: book)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


class TestConvert:
    def test_writes_a_model_at_the_target(self, workplace: Path) -> None:
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18"]) == 0
        model = onnx.load("out.onnx")
        assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 18)]
        assert model.ir_version == 8
        onnx.checker.check_model(model, full_check=True)

    def test_leaves_the_input_as_it_was(self, workplace: Path) -> None:
        before = Path("in.onnx").read_bytes()
        main(["convert", "in.onnx", "out.onnx", "--to", "18"])
        assert Path("in.onnx").read_bytes() == before

    def test_says_what_was_rewritten_and_proven(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["convert", "in.onnx", "out.onnx", "--to", "18"])
        output = capsys.readouterr()
        assert "ReduceMin 13→18" in output.out
        assert "move axes to an input" in output.out
        assert "all proven equal" in output.out
        assert output.err == ""

    def test_json_is_all_there_is_on_standard_output(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["status"] == "converted"
        assert said["report"]["source_opsets"] == {"ai.onnx": 13}
        assert said["report"]["target_opsets"] == {"ai.onnx": 18}
        assert said["report"]["rewrites"] == [
            {"transition": "ReduceMin 13→18", "rule": "move axes to an input", "count": 1, "ulps": 0}
        ]
        assert said["certificate"]["stages"][0]["evidence"]["structure"] == []

    def test_writes_the_certificate(self, workplace: Path) -> None:
        arguments = ["convert", "in.onnx", "out.onnx", "--to", "18", "--certificate", "proof.json", "--seed", "7"]
        assert main(arguments) == 0
        certificate = Certificate.from_json(Path("proof.json").read_text())
        assert certificate.is_proven
        assert certificate.seed == 7
        assert files(workplace) == {"in.onnx", "out.onnx", "proof.json"}

    def test_writes_the_form_that_the_extension_says(self, workplace: Path) -> None:
        assert main(["convert", "in.onnx", "out.json", "--to", "18"]) == 0
        assert main(["convert", "out.json", "back.textproto", "--to", "13"]) == 0
        assert onnx.load("back.textproto").graph == onnx.load("in.onnx").graph

    def test_carries_external_data_to_another_folder(self, workplace: Path) -> None:
        onnx.save(externalise(weighted_model(), workplace), "external.onnx")
        Path("folder").mkdir()
        assert main(["convert", "external.onnx", "folder/out.onnx", "--to", "18"]) == 0
        assert files(workplace / "folder") == {"out.onnx", "weights.bin"}
        weight = onnx.load("folder/out.onnx").graph.initializer[0]
        assert numpy_helper.to_array(weight).ravel().tolist() == [0, 1, 2, 3, 4, 5]

    def test_looks_for_external_data_beside_a_link_to_the_model(self, workplace: Path) -> None:
        """As onnx.load does: beside the path that was given, not beside what it leads to."""
        Path("store").mkdir()
        onnx.save(externalise(weighted_model(), workplace), "store/model.onnx")
        Path("linked.onnx").symlink_to("store/model.onnx")
        assert main(["convert", "linked.onnx", "out.onnx", "--to", "18"]) == 0
        assert main(["prove", "linked.onnx", "out.onnx"]) == 0

    def test_takes_a_path_with_folders(self, workplace: Path) -> None:
        Path("a").mkdir()
        onnx.save(externalise(weighted_model(), workplace / "a"), "a/external.onnx")
        assert main(["convert", "a/external.onnx", "a/out.onnx", "--to", "18"]) == 0
        assert files(workplace / "a") == {"external.onnx", "out.onnx", "weights.bin", "out.onnx.opsetlift-1.data"}
        assert main(["prove", "a/external.onnx", "a/out.onnx"]) == 0

    def test_overwrites_only_by_force(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("out.onnx").write_bytes(b"precious")
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18"]) == 1
        assert Path("out.onnx").read_bytes() == b"precious"
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--force"]) == 0
        assert onnx.load("out.onnx").opset_import[0].version == 18

    def test_takes_targets_of_several_domains(self, workplace: Path) -> None:
        model = minimum_model()
        model.opset_import.add(domain="ai.onnx.ml", version=2)
        onnx.save(model, "two.onnx")
        assert main(["convert", "two.onnx", "out.onnx", "--to", "ai.onnx=18", "--to", "ai.onnx.ml=3"]) == 0
        imports = {entry.domain: entry.version for entry in onnx.load("out.onnx").opset_import}
        assert imports == {"": 18, "ai.onnx.ml": 3}

    def test_notes_what_was_odd(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        model = minimum_model(opset=11)
        model.opset_import.add(domain="ai.onnx", version=13)
        onnx.save(model, "odd.onnx")
        assert main(["convert", "odd.onnx", "out.onnx", "--to", "18"]) == 0
        assert "Note: the model imports ai.onnx at opsets 11 and 13" in " ".join(capsys.readouterr().out.split())

    def test_without_proof_the_output_states_that(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--no-prove"]) == 0
        assert "Not proven" in capsys.readouterr().out


class TestDryRun:
    def test_says_what_would_be_rewritten_and_writes_nothing(
        self, workplace: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--dry-run"]) == 0
        output = capsys.readouterr().out
        assert "dry run, nothing written" in output
        assert "move axes to an input" in output
        assert files(workplace) == {"in.onnx"}

    def test_says_what_would_be_refused(self, refused_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["convert", "refused.onnx", "out.onnx", "--to", "12", "--dry-run"]) == 2
        assert "bfloat16" in capsys.readouterr().err

    def test_json_tells_it_from_a_conversion(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--dry-run", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["status"] == "would be converted"

    @pytest.mark.parametrize("command", [["convert", "in.onnx", "--to", "18"], ["normalize", "in.onnx"]])
    def test_needs_no_output(self, workplace: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
        assert main([*command, "--dry-run"]) == 0
        assert "in.onnx -> OUT (dry run, nothing written)" in capsys.readouterr().out

    def test_does_not_mind_an_output_that_exists(self, workplace: Path) -> None:
        Path("out.onnx").write_bytes(b"precious")
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--dry-run"]) == 0


class TestRefusal:
    def test_names_every_place_and_writes_nothing(
        self, refused_model: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["convert", "refused.onnx", "out.onnx", "--to", "12"]) == 2
        output = capsys.readouterr()
        assert output.out == ""
        head, *places, nearest, title, command = output.err.splitlines()
        assert head == "opsetlift: refused: 1 place cannot be converted; nothing was written"
        sentence = "No opset nearer to the requested one works than the model's own: ai.onnx 13."
        assert nearest == f"opsetlift: {sentence}"
        assert title == "opsetlift: What would work:"
        assert "--to 12 --dtype bfloat16=float --dtype-interface change" in command
        assert len(places) == 1
        assert places[0].startswith("opsetlift: ReduceMin 'smallest' in graph, ReduceMin 13→12:")
        assert files(refused_model.parent) == {"in.onnx", "refused.onnx"}

    def test_json_holds_the_refusals(self, refused_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["convert", "refused.onnx", "out.onnx", "--to", "12", "--json"]) == 2
        said = json.loads(capsys.readouterr().out)
        assert said["status"] == "refused"
        assert [(refusal["why"], refusal["node"]) for refusal in said["refusals"]] == [
            ("DTYPE_NOT_AVAILABLE", "smallest")
        ]

    def test_names_from_a_model_cannot_forge_lines(
        self, refused_model: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        model = onnx.load(refused_model)
        model.graph.node[0].name = "a\nopsetlift: all is well\x1b[2J"
        onnx.save(model, refused_model)
        assert main(["convert", "refused.onnx", "out.onnx", "--to", "12"]) == 2
        output = capsys.readouterr().err
        assert len(output.splitlines()) == 5
        assert "\x1b" not in output


@pytest.mark.usefixtures("broken_rule")
class TestNotEquivalent:
    def test_is_status_3_and_writes_nothing(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["convert", "in.onnx", "out.onnx", "--to", "18", "--certificate", "proof.json"]
        assert main(arguments) == 3
        output = capsys.readouterr()
        assert output.out == ""
        assert output.err.startswith("opsetlift: not equivalent; nothing was written\n")
        assert "ReduceMin 'smallest'" in output.err
        assert files(workplace) == {"in.onnx"}

    def test_json_holds_the_certificate(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--json"]) == 3
        said = json.loads(capsys.readouterr().out)
        assert said["status"] == "not equivalent"
        assert [site["outcome"] for site in said["certificate"]["stages"][0]["evidence"]["sites"]] == ["DIFFERENT"]


class TestExact:
    def test_refuses_rules_that_round(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        model = model_of([helper.make_node("Gelu", ["x"], ["y"], name="gelu")], opset=20, ir_version=8)
        onnx.save(model, "gelu.onnx")
        assert main(["convert", "gelu.onnx", "out.onnx", "--to", "13", "--exact"]) == 2
        assert "rounds" in capsys.readouterr().err
        assert main(["convert", "gelu.onnx", "out.onnx", "--to", "13"]) == 0
        assert "ULP" in capsys.readouterr().out


class TestSecondJudge:
    def test_both_judges_find_the_models_equal(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["convert", "in.onnx", "out.onnx", "--to", "18"])
        capsys.readouterr()
        assert main(["prove", "in.onnx", "out.onnx", "--runs", "3", "--judge", "ort"]) == 0
        assert "onnxruntime: equal on 3 inputs" in capsys.readouterr().out

    def test_both_judges_find_a_difference(self, workplace: Path) -> None:
        onnx.save(model_of([helper.make_node("ReduceMax", ["x"], ["y"], axes=[1])]), "other.onnx")
        assert main(["prove", "in.onnx", "other.onnx", "--judge", "ort"]) == 3

    def test_a_disagreement_is_no_verdict(
        self, workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opinion = OnnxruntimeVerdict(False, 0, "output 'y' differs")
        monkeypatch.setattr("opsetlift.cli.proving.ask_onnxruntime", lambda *_, **__: opinion)
        main(["convert", "in.onnx", "out.onnx", "--to", "18"])
        assert main(["prove", "in.onnx", "out.onnx", "--judge", "ort"]) == 2
        assert "the evaluators disagree" in capsys.readouterr().err

    def test_only_onnxruntime_is_known(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["prove", "in.onnx", "in.onnx", "--judge", "me"]) == 1
        assert "unknown evaluator" in capsys.readouterr().err


class TestExtension:
    def test_an_unknown_one_is_told_and_the_file_is_protobuf(
        self, workplace: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["convert", "in.onnx", "out.foo", "--to", "18"]) == 0
        said = "opsetlift: out.foo: .foo is not a model's extension; it is written as protobuf, like .onnx"
        assert said in capsys.readouterr().err
        assert onnx.load("out.foo", format="protobuf").opset_import[0].version == 18

    @pytest.mark.parametrize("arguments", [["out.onnx"], ["out"], ["out.foo", "--quiet"], ["out.foo", "--dry-run"]])
    def test_nothing_is_told_otherwise(
        self, arguments: list[str], workplace: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["convert", "in.onnx", *arguments, "--to", "18"]) == 0
        assert "extension" not in capsys.readouterr().err


class TestProve:
    def test_equal_models(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["convert", "in.onnx", "out.onnx", "--to", "18"])
        capsys.readouterr()
        assert main(["prove", "in.onnx", "out.onnx", "--runs", "3", "--seed", "5"]) == 0
        assert re.match(r"equal on [\d,]+ test inputs, bit for bit", capsys.readouterr().out)

    def test_different_models(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        onnx.save(model_of([helper.make_node("ReduceMax", ["x"], ["y"], axes=[1])]), "other.onnx")
        assert main(["prove", "in.onnx", "other.onnx"]) == 3
        output = capsys.readouterr()
        assert output.out == ""
        assert "'y'" in output.err

    def test_given_inputs(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        onnx.save(model_of([helper.make_node("ReduceMax", ["x"], ["y"], axes=[1])]), "other.onnx")
        numpy.savez("flat.npz", x=numpy.ones((2, 3), numpy.float32))
        numpy.savez("steep.npz", x=numpy.arange(6, dtype=numpy.float32).reshape(2, 3))
        assert main(["prove", "in.onnx", "other.onnx", "--inputs", "flat.npz"]) == 0
        assert "equal on the given inputs" in capsys.readouterr().out
        assert main(["prove", "in.onnx", "other.onnx", "--inputs", "steep.npz"]) == 3

    def test_inputs_of_a_dtype_that_numpy_files_cannot_name(self, refused_model: Path) -> None:
        numpy.savez("inputs.npz", x=numpy.ones((2, 3), ml_dtypes.bfloat16))
        assert main(["prove", "refused.onnx", "refused.onnx", "--inputs", "inputs.npz"]) == 0

    def test_inputs_that_the_model_rejects_prove_nothing(
        self, workplace: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        numpy.savez("flat.npz", x=numpy.ones(3, numpy.float32))
        assert main(["prove", "in.onnx", "in.onnx", "--inputs", "flat.npz"]) == 2
        assert capsys.readouterr().err.startswith("opsetlift: unproven: ")

    def test_inputs_of_another_dtype_are_unusable(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        numpy.savez("integers.npz", x=numpy.ones((2, 3), numpy.int64))
        assert main(["prove", "in.onnx", "in.onnx", "--inputs", "integers.npz"]) == 1
        assert "'x' has an array of int64, and the model declares float" in capsys.readouterr().err

    def test_a_certificate_is_run_again(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["convert", "in.onnx", "out.onnx", "--to", "18", "--certificate", "proof.json"])
        capsys.readouterr()
        assert main(["prove", "in.onnx", "out.onnx", "--certificate", "proof.json"]) == 0
        assert "all proven equal" in capsys.readouterr().out
        assert main(["prove", "in.onnx", "in.onnx", "--certificate", "proof.json"]) == 1
        assert "another converted model" in capsys.readouterr().err

    def test_a_forged_certificate_is_refuted(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["convert", "in.onnx", "out.onnx", "--to", "18", "--certificate", "proof.json"])
        forged = onnx.load("out.onnx")
        forged.graph.node[0].op_type = "ReduceMax"
        onnx.save(forged, "out.onnx")
        recorded = Certificate.from_json(Path("proof.json").read_text())
        recorded.target_sha256 = model_sha256(forged)
        Path("proof.json").write_text(recorded.to_json())
        capsys.readouterr()
        assert main(["prove", "in.onnx", "out.onnx", "--certificate", "proof.json"]) == 2
        sentence = "refused: proof.json: the certificate's stages give another model"
        assert sentence in capsys.readouterr().err

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": 0}', "[" * 100_000, "\0"])
    def test_what_is_no_certificate_is_said_to_be_none(
        self, text: str, workplace: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("proof.json").write_text(text)
        assert main(["prove", "in.onnx", "in.onnx", "--certificate", "proof.json"]) == 1
        assert "proof.json" in capsys.readouterr().err

    def test_json(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["prove", "in.onnx", "in.onnx", "--runs", "2", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["status"], said["worst_ulps"]) == ("equal", 0)
        assert said["runs"] >= 2
        assert {"NaN", "infinity", "-0", "largest"} <= set(said["inputs"][0]["kinds"])


class TestExplain:
    def test_tells_each_step_and_its_rules(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "ReduceMin"]) == 0
        output = capsys.readouterr().out
        assert "since-versions 1, 11, 12, 13, 18, 20" in output
        assert "input 1 'axes': added, optional tensor(int64)" in output
        assert "attribute 'axes': removed" in output
        assert "ReduceMin 18→13: move axes to an attribute" in output
        assert "type T: + bool" in output

    def test_between_two_opsets_only(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "ReduceMin", "12", "18", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert [(step["older"], step["newer"]) for step in said["steps"]] == [(12, 13), (13, 18)]

    def test_the_order_of_the_opsets_does_not_matter(self, capsys: pytest.CaptureFixture[str]) -> None:
        main(["explain", "ReduceMin", "12", "18"])
        upward = capsys.readouterr().out
        main(["explain", "ReduceMin", "18", "12"])
        assert capsys.readouterr().out == upward

    def test_inputs_that_moved_are_followed_by_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        main(["explain", "Resize", "10", "11"])
        output = capsys.readouterr().out
        assert "input 2 'scales': was input 1" in output
        assert "input 1 'roi': added" in output

    def test_operators_of_other_domains(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "ai.onnx.ml.LabelEncoder"]) == 0
        assert "LabelEncoder of ai.onnx.ml" in capsys.readouterr().out

    def test_a_misspelt_operator_gets_a_hint(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "reducemin"]) == 1
        assert "did you mean ReduceMin" in capsys.readouterr().err

    def test_an_experimental_operator_is_told_as_such(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "Affine"]) == 0
        output = capsys.readouterr().out
        assert "Affine of ai.onnx: since-versions none" in output
        assert "an experimental operator below opset 10: it had no version there" in output
        assert "experimental Affine: replace with mul and add" in output
        assert main(["explain", "ThresholdedRelu"]) == 0
        output = capsys.readouterr().out
        assert "since-versions 10, 22" in output
        assert "experimental ThresholdedRelu: replace with standard thresholded relu" in output
        assert main(["explain", "ATen"]) == 0
        assert "refused by design (ATen calls a function of PyTorch" in capsys.readouterr().out
        assert main(["explain", "affine"]) == 1
        assert "did you mean Affine" in capsys.readouterr().err

    @pytest.mark.parametrize("operator", ["Attention", "Resize", "Loop", "BatchNormalization", "Constant"])
    def test_every_step_says_something(self, operator: str, capsys: pytest.CaptureFixture[str]) -> None:
        main(["explain", operator, "--json"])
        assert all(step["changes"] for step in json.loads(capsys.readouterr().out)["steps"])


class TestCoverage:
    def test_the_committed_page_is_current(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["coverage", "--markdown"]) == 0
        page = Path(__file__).parents[1] / "docs" / "coverage.md"
        assert page.read_text() == capsys.readouterr().out, "opsetlift coverage --markdown > docs/coverage.md"

    def test_every_transition_is_counted_once(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["coverage", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert len(said["transitions"]) == sum(sum(counts.values()) for counts in said["counts"].values())
        assert len(said["transitions"]) == len(list(default_rule_book().states()))

    @pytest.mark.slow
    def test_shows_the_rules_of_each_step(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["coverage"]) == 0
        output = capsys.readouterr().out
        assert "ReduceMin" in output
        assert "new in 7" in output


class TestProcess:
    def test_an_interruption_is_one_sentence(
        self, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("opsetlift.cli.conversion.run", interrupt)
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18"]) == 130
        assert capsys.readouterr().err == "opsetlift: interrupted; nothing was written\n"
        assert files(workplace) == {"in.onnx"}

    def test_a_defect_is_one_sentence_too(
        self, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise AssertionError("two\nlines")

        monkeypatch.setattr("opsetlift.cli.conversion.run", fail)
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18"]) == 70
        (sentence,) = capsys.readouterr().err.splitlines()
        assert "failed with AssertionError: two lines" in sentence
        assert "Please report this to the authors of OpsetLift" in sentence

    @pytest.mark.slow
    def test_a_reader_that_goes_away_is_one_sentence(self) -> None:
        script = "from opsetlift.cli import main; raise SystemExit(main(['coverage']))"
        with subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == "opsetlift: standard output cannot be written: broken pipe\n"
            assert process.wait() == 74

    @pytest.mark.slow
    def test_output_that_cannot_show_arrows_does_without(self, workplace: Path) -> None:
        command = [sys.executable, "-m", "opsetlift", "convert", "in.onnx", "out.onnx", "--to", "18"]
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, env={"PYTHONIOENCODING": "ascii"}, cwd=workplace
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "ReduceMin 13" in ended.stdout

    def test_errors_are_json_where_json_is_wanted(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["convert", "gone.onnx", "out.onnx", "--to", "18", "--json"]) == 1
        output = capsys.readouterr()
        said = {"schema_version": 1, "status": "error", "message": "gone.onnx: no such file"}
        assert json.loads(output.out) == said
        assert output.err == "opsetlift: gone.onnx: no such file\n"

    @pytest.mark.parametrize("command", COMMANDS)
    def test_help_fits_80_columns_and_ends_with_an_example(
        self, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        assert main([*command.split(), "--help"]) == 0
        page = capsys.readouterr().out.rstrip().splitlines()
        assert max(map(len, page)) <= 80
        assert len(page) <= 36
        assert page[-1].startswith(f"  Example: opsetlift {command}")
        assert command == "" or set(re.findall(r"--[a-z-]+", page[-1])) <= set(re.findall(r"--[a-z-]+", str(page[:-1])))

    @pytest.mark.quick_share(6)
    @pytest.mark.parametrize("command", [command for command in COMMANDS if command])
    def test_help_of_each_command_imports_neither_onnx_nor_numpy(self, command: str) -> None:
        assert modules_after("opsetlift", [command, "--help"]).isdisjoint({"onnx", "numpy"})

    @pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
    def test_help_and_version_import_neither_onnx_nor_numpy(self, arguments: list[str]) -> None:
        assert modules_after("opsetlift", arguments).isdisjoint({"onnx", "numpy"})

    @pytest.mark.parametrize("command", [[], ["new-step"]])
    def test_help_of_the_development_command_ends_with_an_example_and_imports_no_onnx(
        self, command: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit):
            develop([*command, "--help"])
        page = capsys.readouterr().out.rstrip().splitlines()
        assert len(page) <= 36
        assert page[-1].startswith("Example: opsetlift-dev new-step")
        assert modules_after("opsetlift.development", [*command, "--help"]).isdisjoint({"onnx", "numpy"})

    @pytest.mark.parametrize("arguments", [["--help"], ["convert", "--help"], ["--version"]])
    def test_help_is_no_error(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(arguments) == 0
        assert "opsetlift" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "it states no schema_version"),
        ("[]", "it states no schema_version"),
        ('{"schema_version": 3}', "it lacks the entry 'stages'"),
        ('{"schema_version": 3, "stages": 3}', "an entry holds a value of another type than expected"),
        ("[" * 100_000, "it is nested too deeply"),
    ],
)
def test_what_is_no_certificate_is_named_in_plain_words(
    content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = onnx.parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu (x) }")
    model = str(tmp_path / "model.onnx")
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8), model)
    recorded = tmp_path / "proof.json"
    recorded.write_text(content)
    assert main(["prove", model, model, "--certificate", str(recorded)]) == 1
    assert capsys.readouterr().err == f"opsetlift: {recorded}: not a readable certificate: {said}\n"


def test_a_missing_description_of_a_runtime_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", str(tmp_path / "mine.toml")]) == 1
    assert "Errno" not in capsys.readouterr().err
