"""`opsetlift prove IN OUT --certificate FILE` on the files of a conversion: it verifies, or there is no certificate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import ModelProto, NodeProto, helper, numpy_helper, parser

import opsetlift
from opsetlift.cli import main
from opsetlift.normalizer import Context
from opsetlift.proof import model_sha256
from testing.small_models import externalise

TEXT = """<ir_version: 8, opset_import: ["": 16, "local": 1]>
g (float[N, 3] x, bool c, int64 k) => (float[N] y, float[N, 3] z) {
  h = MatMul (x, w)
  s = HardSwish (h)
  d = Sub (s, b)
  y = ReduceMin <axes = [1], keepdims = 0> (d)
  z = If (c) <
    then_branch = t () => (float[N, 3] p) { p = local.leak <slope: float = 0.5> (d) },
    else_branch = e () => (float[N, 3] q) { u = HardSwish (d) f = Cast <to = 1> (k) q = Mul (u, f) }
  >
}
<domain: "local", opset_import: ["": 16]>
leak <slope> (a) => (r) { n = LeakyRelu <alpha: float = @slope> (a) r = Neg (n) }"""

OWN_TARGET = """
title = "mine"

[sources]
measured = "measured here"

[[release]]
versions = ["1.0"]
opset = { max = 12, source = "measured" }
ir = { max = 7, source = "measured" }
functions = { are_taken = false, source = "measured" }
"""


def _source() -> ModelProto:
    model: ModelProto = parser.parse_model(TEXT)
    weights = numpy.arange(9, dtype=numpy.float32).reshape(3, 3)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    model.graph.initializer.append(numpy_helper.from_array(numpy.ones(3, numpy.float32), "b"))
    return model


def _binary(folder: Path) -> str:
    onnx.save(_source(), folder / "in.onnx")
    return "in.onnx"


def _external(folder: Path) -> str:
    (folder / "model").mkdir()
    onnx.save(externalise(_source(), folder / "model"), folder / "model" / "in.onnx")
    return "model/in.onnx"


def _as_text(folder: Path) -> str:
    onnx.save(_source(), folder / "in.textproto")
    return "in.textproto"


def _with_metadata(folder: Path) -> str:
    model = _source()
    model.ir_version = 10
    for node in model.graph.node:
        node.metadata_props.add(key="from", value="somewhere")
        for attribute in node.attribute:
            for inner in attribute.g.node:
                inner.metadata_props.add(key="from", value="inside")
    onnx.save(model, folder / "in.onnx")
    return "in.onnx"


def _imported_twice(folder: Path) -> str:
    model = _source()
    model.opset_import.insert(0, helper.make_opsetid("", 11))
    onnx.save(model, folder / "in.onnx")
    return "in.onnx"


def _without_an_import(folder: Path) -> str:
    """A use of ai.onnx.ml that imports nothing, which is repaired on the way in."""
    model = _source()
    binarizer = helper.make_node("Binarizer", ["d"], ["more"], domain="ai.onnx.ml", threshold=0.5)
    model.graph.node.append(NodeProto.FromString(binarizer.SerializeToString()))
    model.graph.output.append(helper.make_tensor_value_info("more", onnx.TensorProto.FLOAT, ["N", 3]))
    onnx.save(model, folder / "in.onnx")
    return "in.onnx"


SOURCES: dict[str, Callable[[Path], str]] = {
    "binary": _binary,
    "external data": _external,
    "protobuf text": _as_text,
    "metadata": _with_metadata,
    "imported twice": _imported_twice,
    "without an import": _without_an_import,
}
OPTIONS = {
    "up": ["--to", "18"],
    "down": ["--to", "13"],
    "exact": ["--to", "18", "--exact"],
    "IR version": ["--ir", "9"],
    "functions inlined": ["--to", "13", "--ir", "7"],
    "initializers as inputs": ["--to", "13", "--ir", "3"],
    "runtime": ["--for", "onnxruntime==1.4"],
    "runtime and IR version": ["--for", "onnxruntime==1.8", "--ir", "6"],
    "own runtime": ["--for", "mine.toml"],
    "dtype": ["--dtype", "int64=int32"],
    "dtype and opset": ["--dtype", "float=float16", "--dtype-interface", "change", "--to", "13"],
    "dtype, runtime, IR version": ["--dtype", "int64=int32", "--for", "onnxruntime==1.8", "--ir", "5"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, entered, with a runtime of one's own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(OWN_TARGET)
    return tmp_path


def _verified(source: str, out: str, options: list[str], command: str = "convert") -> bool:
    """Whether there is a certificate, which then has to verify; raises AssertionError where it does not."""
    arguments = [command, source, out, *options, "--certificate", "proof.json", "--seed", "3"]
    if main(arguments) != 0:
        assert not Path("proof.json").exists()
        assert not Path(out).exists()
        return False
    own = ["--for", "mine.toml"] if "mine.toml" in options else []
    assert main(["prove", source, out, "--certificate", "proof.json", *own]) == 0
    return True


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_certificate_fits_the_files(source: str, options: str, folder: Path) -> None:
    assert _verified(SOURCES[source](folder), "out.onnx", OPTIONS[options])


@pytest.mark.parametrize("form", ["textproto", "json", "onnxtxt"])
def test_a_certificate_fits_the_file_in_any_form(form: str, folder: Path) -> None:
    assert _verified(_binary(folder), f"out.{form}", ["--to", "18"])


def test_a_certificate_fits_the_textual_form_of_a_model_that_leaves_out_domains(folder: Path) -> None:
    nodes = [helper.make_node("ReduceMean", ["x"], ["y"], axes=[1])]
    inputs, outputs = (helper.make_tensor_value_info(name, 1, ["N", size]) for name, size in (("x", 4), ("y", 1)))
    graph = helper.make_graph(nodes, "g", [inputs], [outputs])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "made.onnx")
    assert _verified("made.onnx", "out.onnxtxt", ["--to", "18"])


COMMANDS = {
    "normalised": ("convert", ["--normalize"]),
    "shapes fixed": ("convert", ["--fix-shapes", "N=2"]),
    "shapes fixed, some passes": ("convert", ["--fix-shapes", "x=2x3", "--passes", "fold-constants,infer-shapes"]),
    "normalize": ("normalize", []),
    "normalize, passes that round": ("normalize", ["--passes", "all", "--fix-shapes", "N=2"]),
}


@pytest.mark.quick_share(39)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_certificate_covers_every_combination_of_options(command: str, options: str, folder: Path) -> None:
    name, more = COMMANDS[command]
    if "all" in more and options == "exact":
        pytest.skip("passes that round are refused")
    assert _verified(_binary(folder), "out.onnx", [*OPTIONS[options], *more], name)


@pytest.mark.quick_share(9)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("options", [[], ["--fix-shapes", "N=2"], ["--to", "18"]], ids=" ".join)
def test_a_certificate_of_a_normalisation_fits_the_files(source: str, options: list[str], folder: Path) -> None:
    assert _verified(SOURCES[source](folder), "out.onnx", options, "normalize")


@pytest.mark.slow
def test_the_stages_of_a_certificate_lead_from_the_file_read_to_the_file_written(folder: Path) -> None:
    options = ["--for", "onnxruntime==1.8", "--dtype", "int64=int32", "--fix-shapes", "N=2", "--normalize"]
    assert _verified(_without_an_import(folder), "out.onnx", options)
    stated = json.loads(Path("proof.json").read_text())
    names = [stage["stage"] for stage in stated["stages"]]
    assert names == ["repair", "fix shapes", "change dtypes", "convert", "normalize", "convert"]
    hashes = [(stage["source_sha256"], stage["target_sha256"]) for stage in stated["stages"]]
    assert [first for first, _ in hashes] == [stated["source_sha256"], *(last for _, last in hashes[:-1])]
    assert hashes[-1][1] == stated["target_sha256"]
    assert stated["source_sha256"] == model_sha256(onnx.load("in.onnx"))
    assert stated["target_sha256"] == model_sha256(onnx.load("out.onnx"))


@pytest.mark.parametrize("command", ["convert", "normalize"])
def test_json_has_the_certificate_that_is_written(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [command, _binary(folder), "out.onnx", "--to", "18", "--json", "--certificate", "proof.json"]
    assert main([*arguments, "--passes", "default"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["certificate"] == json.loads(Path("proof.json").read_text())
    assert [stage["stage"] for stage in said["certificate"]["stages"]] == ["convert", "normalize"]


@pytest.mark.quick_share(9)
@pytest.mark.parametrize("options", [{"to": 18}, {"target": "onnxruntime==1.4"}, {"to": 13, "ir": 3}, {}])
def test_the_certificate_of_a_normalisation_is_about_its_result(options: dict[str, Any]) -> None:
    source = _source()
    done = opsetlift.normalize(source, **options)
    assert done.certificate is not None
    read = opsetlift.Certificate.from_json(done.certificate.to_json())
    assert opsetlift.verify(read, source, done.model).is_proven


def negate_twice(graph: gs.Graph, context: Context) -> None:
    """Negates what Sub gives, twice."""
    for node in graph.nodes:
        if node.op == "Sub":
            first = gs.Variable(context.fresh_name("first"), node.outputs[0].dtype)
            second = gs.Variable(context.fresh_name("second"), node.outputs[0].dtype)
            output = node.outputs[0]
            if output.outputs and output.outputs[0].op == "Neg":
                continue
            context.replace_uses(output, second)
            graph.nodes.append(gs.Node("Neg", inputs=[output], outputs=[first]))
            graph.nodes.append(gs.Node("Neg", inputs=[first], outputs=[second]))


def test_passes_that_are_not_installed_are_named_and_can_be_given() -> None:
    source = _source()
    done = opsetlift.normalize(source, ["infer-shapes", negate_twice])
    assert done.certificate is not None
    assert [one.changes for one in done.report.passes if one.name == "negate-twice"] != [0]
    read = opsetlift.Certificate.from_json(done.certificate.to_json())
    with pytest.raises(ValueError, match="needs passes that are not installed here: 'negate-twice'"):
        opsetlift.verify(read, source, done.model)
    assert opsetlift.verify(read, source, done.model, passes=[negate_twice]).is_proven


WRONG_AFTER_PASSES: dict[str, Callable[[ModelProto], object]] = {
    "another weight": lambda done: done.graph.initializer[0].CopyFrom(
        numpy_helper.from_array(numpy.full((3, 3), 9, numpy.float32), done.graph.initializer[0].name)
    ),
    "a dropped node": lambda done: done.graph.node.pop(),
    "another IR version": lambda done: setattr(done, "ir_version", done.ir_version + 1),
    "a lost name": lambda done: done.graph.node[0].ClearField("name"),
}


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("wrong", WRONG_AFTER_PASSES)
def test_a_wrong_model_after_passes_is_not_verified(wrong: str) -> None:
    source = _source()
    done = opsetlift.normalize(source, to=18)
    assert done.certificate is not None
    forged = ModelProto.FromString(done.model.SerializeToString())
    WRONG_AFTER_PASSES[wrong](forged)
    assert forged != done.model
    read = opsetlift.Certificate.from_json(done.certificate.to_json())
    read.target_sha256 = read.stages[-1].target_sha256 = model_sha256(forged)
    with pytest.raises(opsetlift.CertificateRefused, match="give another model"):
        opsetlift.verify(read, source, forged)


@pytest.mark.slow
def test_a_certificate_for_a_runtime_of_ones_own_names_what_is_missing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = _binary(folder)
    assert _verified(source, "out.onnx", ["--for", "mine.toml"])
    assert main(["prove", source, "out.onnx", "--certificate", "proof.json"]) == 1
    assert "give that file with --for" in capsys.readouterr().err
    assert main(["prove", source, "out.onnx", "--certificate", "proof.json", "--for", "onnxruntime==1.4"]) == 1
    assert "about a conversion for mine==1.0" in capsys.readouterr().err


def test_weights_that_were_exchanged_beside_the_model_are_found(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = _external(folder)
    assert _verified(source, "out.onnx", ["--to", "18"])
    weights = folder / "weights.bin"
    weights.write_bytes(weights.read_bytes()[::-1])
    assert main(["prove", source, "out.onnx", "--certificate", "proof.json"]) == 1
    assert "another converted model" in capsys.readouterr().err


def test_weights_may_be_moved_into_the_model(folder: Path) -> None:
    source = _external(folder)
    assert _verified(source, "out.onnx", ["--to", "18"])
    onnx.save(onnx.load("out.onnx"), "inside.onnx")
    assert not any(
        tensor.external_data for tensor in onnx.load("inside.onnx", load_external_data=False).graph.initializer
    )
    assert main(["prove", source, "inside.onnx", "--certificate", "proof.json"]) == 0
