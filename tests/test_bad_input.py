"""Bad input of every kind: one clear sentence, exit status 1, no file left behind, and the input as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy
import onnx
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

from converter.cli import main
from tests.small_models import externalise, minimum_model, model_of, nested_model, weighted_model


class Bad(NamedTuple):
    """One kind of bad input: what makes the files, and words of the sentence that it must get."""

    make: Callable[[Path], Path | None]
    words: str


FILES: dict[str, Bad] = {}
MODELS: dict[str, Bad] = {}


def bad_file(words: str) -> Callable[[Callable[[Path], Path | None]], None]:
    """A maker of the file to convert; it may return another path than "in.onnx"."""

    def register(make: Callable[[Path], Path | None]) -> None:
        FILES[make.__name__] = Bad(make, words)

    return register


def bad_model(words: str) -> Callable[[Callable[[], ModelProto]], None]:
    """A maker of a model, written as protobuf."""

    def register(make: Callable[[], ModelProto]) -> None:
        def write(folder: Path) -> None:
            (folder / "in.onnx").write_bytes(make().SerializeToString())

        MODELS[make.__name__] = Bad(write, words)

    return register


def content(data: bytes, name: str = "in.onnx") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return write


FILES |= {
    "missing file": Bad(lambda folder: folder / "in.onnx", "no such file"),
    "missing folder": Bad(lambda folder: folder / "none" / "in.onnx", "no such file"),
    "folder": Bad(lambda folder: folder, "this is a folder"),
    "empty file": Bad(content(b""), "the file is empty"),
    "zeros": Bad(content(bytes(1000)), "not an ONNX model"),
    "random bytes": Bad(content(numpy.random.default_rng(0).bytes(1000)), "not an ONNX model"),
    "plain text": Bad(content(b"hello, I am a model\n"), "not an ONNX model"),
    "truncated in a field": Bad(content(weighted_model().SerializeToString()[:-20]), "truncated or damaged"),
    "git lfs pointer": Bad(content(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), "Git LFS pointer"),
    "zip archive": Bad(content(b"PK\x03\x04\x14\x00\x00\x00"), "zip archive"),
    "gzip": Bad(content(b"\x1f\x8b\x08\x00\x00\x00"), "gzip"),
    "web page": Bad(content(b"<!DOCTYPE html><title>404</title>"), "web page"),
    "onnxruntime format": Bad(content(b"\x18\x00\x00\x00ORTM\x00\x00\x00\x00"), "onnxruntime's own format"),
    "graph without a model": Bad(content(minimum_model().graph.SerializeToString()), "holds no graph"),
    "tensor": Bad(content(numpy_helper.from_array(numpy.zeros((2, 3)), "w").SerializeToString()), "not an ONNX model"),
    "broken json": Bad(content(b'{"irVersion": "8", ', "in.json"), "JSON form"),
    "json of something else": Bad(content(b'{"name": "package", "version": "1.0"}', "in.json"), "JSON form"),
    "json nested without end": Bad(content(b"[" * 100_000, "in.json"), "JSON form"),
    "broken protobuf text": Bad(content(b"ir_version: 8\ngraph { node {", "in.textproto"), "protobuf text form"),
    "unknown field in protobuf text": Bad(content(b"ir_version: 8\nlayers: 3", "in.txtpb"), "no field named"),
    "protobuf text not in utf-8": Bad(content(b"\xff\xfe\x00", "in.textproto"), "not text"),
    "broken onnx text": Bad(content(b"<ir_version: 8>\nagraph (", "in.onnxtxt"), "textual form"),
    "path too long": Bad(lambda folder: folder / ("x" * 5000), "cannot be read"),
}


@bad_file("not a regular file")
def named_pipe(folder: Path) -> None:
    os.mkfifo(folder / "in.onnx")


@bad_file("no such file")
def dangling_link(folder: Path) -> None:
    (folder / "in.onnx").symlink_to("nowhere.onnx")


@bad_file("cannot be read")
def link_to_itself(folder: Path) -> None:
    (folder / "in.onnx").symlink_to("in.onnx")


@bad_file("nested more deeply than protobuf allows")
def nested_beyond_protobuf(folder: Path) -> None:
    (folder / "in.onnx").write_bytes(nested_model(60).SerializeToString())


@bad_file("nested more than 30 deep")
def nested_in_text(folder: Path) -> Path:
    onnx.save(nested_model(60), folder / "in.textproto")
    return folder / "in.textproto"


@bad_model("the file may be truncated")
def truncated_between_fields() -> ModelProto:
    model = minimum_model()
    model.ClearField("opset_import")
    return model


@bad_model("holds no graph")
def no_graph() -> ModelProto:
    model = minimum_model()
    model.ClearField("graph")
    return model


@bad_model("states no IR version")
def no_ir_version() -> ModelProto:
    model = minimum_model()
    model.ClearField("ir_version")
    return model


@bad_model("IR version 2")
def ir_version_before_opsets() -> ModelProto:
    return model_of([helper.make_node("ReduceMin", ["x"], ["y"])], ir_version=2)


@bad_model("IR version 99")
def ir_version_of_the_future() -> ModelProto:
    return model_of([helper.make_node("ReduceMin", ["x"], ["y"])], ir_version=99)


@bad_model("imports opset 0 of ai.onnx")
def opset_zero() -> ModelProto:
    return minimum_model(opset=0)


@bad_model("imports opset -3 of ai.onnx")
def negative_opset() -> ModelProto:
    return minimum_model(opset=-3)


@bad_model("imports opset 99 of ai.onnx")
def opset_of_the_future() -> ModelProto:
    return minimum_model(opset=99)


@bad_model("imports opset 77 of ai.onnx.ml")
def ml_opset_of_the_future() -> ModelProto:
    model = minimum_model()
    model.opset_import.add(domain="ai.onnx.ml", version=77)
    return model


@bad_model("domain com.example, which is not imported")
def domain_not_imported() -> ModelProto:
    return model_of([helper.make_node("Fancy", ["x"], ["y"], domain="com.example")])


@bad_model("domain ai.onnx, which is not imported")
def only_another_domain_imported() -> ModelProto:
    model = minimum_model()
    model.opset_import[0].domain = "com.example"
    return model


@bad_model("ReduceMin 'smallest' in graph reads 'gone', which nothing computes")
def dangling_input() -> ModelProto:
    model = minimum_model()
    model.graph.node[0].input[0] = "gone"
    return model


@bad_model("reads 'm' before it is computed: the nodes of graph are not sorted")
def unsorted_nodes() -> ModelProto:
    return model_of([helper.make_node("Abs", ["m"], ["y"], name="b"), helper.make_node("Neg", ["x"], ["m"], name="a")])


@bad_model("form a cycle: first -> second -> first")
def cyclic_nodes() -> ModelProto:
    first = helper.make_node("Min", ["x", "q"], ["p"], name="first")
    second = helper.make_node("Abs", ["p"], ["q"], name="second")
    return model_of([first, second, helper.make_node("Neg", ["p"], ["y"])])


@bad_model("form a cycle: eats -> eats")
def node_that_reads_its_own_output() -> ModelProto:
    return model_of([helper.make_node("Min", ["x", "y"], ["y"], name="eats")])


@bad_model("form a cycle: if0 -> if0")
def subgraph_that_reads_what_its_node_computes() -> ModelProto:
    model = nested_model(1)
    model.graph.node[0].attribute[0].g.node[0].input[0] = model.graph.node[0].output[0]
    return model


@bad_model("computes 'y', which exists already")
def value_computed_twice() -> ModelProto:
    return model_of([helper.make_node("Abs", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["y"])])


@bad_model("computes 'x', which exists already")
def input_computed_anew() -> ModelProto:
    return model_of([helper.make_node("Abs", ["x"], ["x"])], outputs=["x"])


@bad_model("two inputs named 'x'")
def two_inputs_of_one_name() -> ModelProto:
    return model_of([helper.make_node("Abs", ["x"], ["y"])], inputs=["x", "x"])


@bad_model("two initializers named 'w'")
def two_initializers_of_one_name() -> ModelProto:
    model = weighted_model()
    model.graph.initializer.append(model.graph.initializer[0])
    return model


@bad_model("an initializer without a name")
def initializer_without_a_name() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].name = ""
    return model


@bad_model("an output 'y' that nothing computes")
def output_that_nothing_computes() -> ModelProto:
    return model_of([helper.make_node("Abs", ["x"], ["z"])])


@bad_model("names no operator")
def node_without_an_operator() -> ModelProto:
    return model_of([helper.make_node("", ["x"], ["y"])])


@bad_model("attribute 'axes' of ReduceMin 'smallest' in graph is there twice")
def attribute_twice() -> ModelProto:
    model = minimum_model()
    model.graph.node[0].attribute.append(model.graph.node[0].attribute[0])
    return model


@bad_model("attribute 'axes' of ReduceMin 'smallest' in graph has no type")
def attribute_without_a_type() -> ModelProto:
    model = minimum_model()
    model.graph.node[0].attribute[0].ClearField("type")
    return model


@bad_model("attribute 'value' of Constant 'y' in graph has no value")
def attribute_without_a_value() -> ModelProto:
    node = helper.make_node("Constant", [], ["y"])
    node.attribute.add(name="value", type=AttributeProto.TENSOR)
    return model_of([node])


@bad_model("an attribute without a name")
def attribute_without_a_name() -> ModelProto:
    model = minimum_model()
    model.graph.node[0].attribute[0].ClearField("name")
    return model


@bad_model("there is no function around it")
def attribute_reference_outside_a_function() -> ModelProto:
    model = minimum_model()
    model.graph.node[0].attribute[0].CopyFrom(AttributeProto(name="axes", ref_attr_name="a", type=AttributeProto.INTS))
    return model


def _function(name: str, nodes: list[onnx.NodeProto], **options: list[str]) -> onnx.FunctionProto:
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, ["a"], ["b"], nodes, opsets, **options)


def _calling(*functions: onnx.FunctionProto) -> ModelProto:
    call = helper.make_node(functions[0].name, ["x"], ["y"], domain="local")
    model = model_of([call], functions=functions, ir_version=8)
    model.opset_import.add(domain="local", version=1)
    return model


@bad_model("functions call each other in a circle: F -> G -> F")
def recursive_functions() -> ModelProto:
    first = _function("F", [helper.make_node("G", ["a"], ["b"], domain="local")])
    return _calling(first, _function("G", [helper.make_node("F", ["a"], ["b"], domain="local")]))


@bad_model("two functions 'local:F'")
def two_functions_of_one_name() -> ModelProto:
    function = _function("F", [helper.make_node("Abs", ["a"], ["b"])])
    return _calling(function, function)


@bad_model("in function:local:F reads 'x', which nothing computes")
def function_that_reads_a_graph_value() -> ModelProto:
    return _calling(_function("F", [helper.make_node("Min", ["a", "x"], ["b"])]))


@bad_model("refers to 'beta', which the function does not have")
def function_that_refers_to_a_missing_attribute() -> ModelProto:
    node = helper.make_node("Elu", ["a"], ["b"])
    node.attribute.add(name="alpha", ref_attr_name="beta", type=AttributeProto.FLOAT)
    return _calling(_function("F", [node], attributes=["alpha"]))


@bad_model("function 'F' imports no opset")
def function_without_imports() -> ModelProto:
    model = _calling(_function("F", [helper.make_node("Abs", ["a"], ["b"])]))
    model.functions[0].ClearField("opset_import")
    return model


@bad_model("graph input 'x' has no type")
def input_without_a_type() -> ModelProto:
    model = minimum_model()
    model.graph.input[0].ClearField("type")
    return model


@bad_model("value 'm' in graph has a dtype that onnx does not know")
def inner_value_of_an_unknown_dtype() -> ModelProto:
    model = weighted_model()
    model.graph.value_info.append(helper.make_tensor_value_info("m", 99, [2, 3]))
    return model


@bad_model("value 'x' in graph has a dtype that onnx does not know")
def input_of_an_unknown_dtype() -> ModelProto:
    model = minimum_model()
    model.graph.input[0].type.tensor_type.elem_type = 99
    return model


@bad_model("holds 20 bytes of data, and its shape [2, 3] of float takes 24")
def too_few_bytes() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:20]
    return model


@bad_model("negative dimension: [-2, -3]")
def negative_dimensions() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].dims[:] = [-2, -3]
    return model


@bad_model("more elements than can exist")
def absurd_dimensions() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].dims[:] = [2**62, 2**62]
    return model


@bad_model("more bytes than can exist")
def absurd_bytes() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].dims[:] = [2**62]
    return model


@bad_model("no dtype that onnx knows: 99")
def tensor_of_an_unknown_dtype() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].data_type = 99
    return model


@bad_model("no dtype that onnx knows: 0")
def tensor_of_no_dtype() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].data_type = 0
    return model


@bad_model("holds no data for its 6 elements")
def tensor_without_data() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].ClearField("raw_data")
    return model


@bad_model("holds its data twice, in raw_data and in float_data")
def data_twice() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].float_data.extend([0.0] * 6)
    return model


@bad_model("keeps its float elements in int64_data")
def data_in_the_wrong_field() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].ClearField("raw_data")
    model.graph.initializer[0].int64_data.extend([0] * 6)
    return model


@bad_model("strings in raw_data")
def strings_as_raw_data() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].data_type = TensorProto.STRING
    return model


@bad_model("holds 2 entries in int64_data, and its shape [3] asks for 3")
def constant_attribute_with_too_few_elements() -> ModelProto:
    value = TensorProto(data_type=TensorProto.INT64, dims=[3], int64_data=[1, 2])
    return model_of([helper.make_node("Constant", [], ["y"], value=value)])


@bad_file("a name that is not UTF-8")
def name_that_is_not_text(folder: Path) -> None:
    data = minimum_model().SerializeToString().replace(b"smallest", b"small\xffst")
    (folder / "in.onnx").write_bytes(data)


@bad_file("text in a producer_name that is not UTF-8")
def producer_that_is_not_text(folder: Path) -> None:
    model = minimum_model()
    model.producer_name = "producer"
    (folder / "in.onnx").write_bytes(model.SerializeToString().replace(b"producer", b"\xffroducer"))


def _external(folder: Path, **entries: str | None) -> None:
    """Writes a model with external data, some of its entries changed or (None) left out."""
    model = externalise(weighted_model(), folder)
    tensor = model.graph.initializer[0]
    known = {entry.key: entry.value for entry in tensor.external_data} | entries
    del tensor.external_data[:]
    for key, value in known.items():
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    (folder / "in.onnx").write_bytes(model.SerializeToString())


FILES |= {
    "external data missing": Bad(lambda folder: _external(folder, location="gone.bin"), "'gone.bin' does not exist"),
    "external data without a file": Bad(lambda folder: _external(folder, location=None), "names no file"),
    "external data by an absolute path": Bad(lambda folder: _external(folder, location="/etc/passwd"), "absolute path"),
    "external data on a drive": Bad(lambda folder: _external(folder, location="C:\\weights.bin"), "absolute path"),
    "external data above the folder": Bad(
        lambda folder: _external(folder, location="../../etc/passwd"), "not a plain path below the model's folder"
    ),
    "external data is a folder": Bad(lambda folder: _external(folder, location="."), "not a regular file"),
    "external data with a null character": Bad(lambda folder: _external(folder, location="a\0b"), "not a plain path"),
    "external data past the end": Bad(lambda folder: _external(folder, offset="8"), "ends at byte 32 of 'weights.bin'"),
    "external data far past the end": Bad(lambda folder: _external(folder, offset=str(2**62)), "which has 24"),
    "external data of another length": Bad(lambda folder: _external(folder, length="8"), "has 8 bytes"),
    "external data at a negative offset": Bad(lambda folder: _external(folder, offset="-4"), "impossible offset: '-4'"),
    "external data of no length": Bad(lambda folder: _external(folder, length="all"), "impossible length: 'all'"),
}


@bad_file("a link that leads out of the model's folder")
def external_data_through_a_link(folder: Path) -> None:
    _external(folder, location="link.bin")
    (folder / "link.bin").symlink_to("/etc/passwd")


@bad_file("a link that leads out of the model's folder")
def external_data_through_a_linked_folder(folder: Path) -> None:
    _external(folder, location="parts/passwd")
    (folder / "parts").symlink_to("/etc")


@bad_file("not a regular file")
def external_data_from_a_pipe(folder: Path) -> None:
    _external(folder, location="pipe")
    os.mkfifo(folder / "pipe")


@bad_file("holds strings, which cannot be external data")
def external_strings(folder: Path) -> None:
    model = externalise(weighted_model(), folder)
    model.graph.initializer[0].data_type = TensorProto.STRING
    (folder / "in.onnx").write_bytes(model.SerializeToString())


@bad_file("states its location twice")
def two_locations(folder: Path) -> None:
    model = externalise(weighted_model(), folder)
    model.graph.initializer[0].external_data.add(key="location", value="other.bin")
    (folder / "in.onnx").write_bytes(model.SerializeToString())


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """What is in a folder: the bytes of files, the targets of links, the kind of anything else."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = path.read_bytes() if path.is_file() else "not a file"
    return found


def check_rejected(arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(folder)
    assert main(arguments) == 1
    output = capsys.readouterr()
    assert output.out == ""
    (sentence,) = output.err.splitlines()
    assert sentence.startswith("opsetlift: ")
    assert words in sentence
    assert not any(trace in sentence for trace in ("Traceback", "Error", "defect", "onnx/", ".cc:"))
    assert len(sentence) - len(str(folder)) < 300 or "x" * 100 in sentence
    assert snapshot(folder) == before


BAD_INPUT = FILES | MODELS


@pytest.mark.parametrize("kind", BAD_INPUT, ids=lambda kind: kind.replace(" ", "_"))
def test_is_rejected_with_one_sentence(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = BAD_INPUT[kind].make(tmp_path) or tmp_path / "in.onnx"
    arguments = ["convert", str(source), str(tmp_path / "out.onnx"), "--to", "18"]
    check_rejected(arguments, BAD_INPUT[kind].words, tmp_path, capsys)


def test_there_are_at_least_fifty_kinds() -> None:
    assert len(BAD_INPUT) >= 50


BAD_COMMAND_LINES: dict[str, tuple[list[str], str]] = {
    "no target": (["convert", "good.onnx", "out.onnx"], "Missing option '--to'"),
    "no output": (["convert", "good.onnx", "--to", "18"], "Missing argument 'OUT'"),
    "target that is no number": (["convert", "good.onnx", "out.onnx", "--to", "latest"], "not 'latest'"),
    "target with a sign": (["convert", "good.onnx", "out.onnx", "--to=-1"], "not '-1'"),
    "target opset zero": (["convert", "good.onnx", "out.onnx", "--to", "0"], "no opset 0"),
    "target opset of the future": (["convert", "good.onnx", "out.onnx", "--to", "99"], "no opset 99"),
    "target of an unknown domain": (["convert", "good.onnx", "out.onnx", "--to", "com.example=3"], "com.example"),
    "two targets for one domain": (["convert", "good.onnx", "out.onnx", "--to", "18", "--to", "19"], "twice"),
    "unknown option": (["convert", "good.onnx", "out.onnx", "--too", "18"], "No such option: --too"),
    "unknown command": (["improve", "good.onnx"], "No such command 'improve'"),
    "no command": ([], "Missing command"),
    "output is the input": (["convert", "good.onnx", "good.onnx", "--to", "18", "--force"], "the input itself"),
    "output is a link to the input": (
        ["convert", "good.onnx", "link.onnx", "--to", "18", "--force"],
        "the input itself",
    ),
    "output is another name of the input": (
        ["convert", "good.onnx", "hard.onnx", "--to", "18", "--force"],
        "input itself",
    ),
    "output exists": (["convert", "good.onnx", "other.onnx", "--to", "18"], "exists already"),
    "output is a folder": (["convert", "good.onnx", "folder", "--to", "18", "--force"], "this is a folder"),
    "output in no folder": (["convert", "good.onnx", "none/out.onnx", "--to", "18"], "does not exist"),
    "output is external data of the input": (
        ["convert", "external.onnx", "weights.bin", "--to", "18", "--force"],
        "external data 'weights.bin'",
    ),
    "certificate over the output": (
        ["convert", "good.onnx", "out.onnx", "--to", "18", "--certificate", "out.onnx"],
        "a file of its own",
    ),
    "certificate over the input": (
        ["convert", "good.onnx", "out.onnx", "--to", "18", "--certificate", "good.onnx", "--force"],
        "a file of its own",
    ),
    "certificate in no folder": (
        ["convert", "good.onnx", "out.onnx", "--to", "18", "--certificate", "none/proof.json"],
        "does not exist",
    ),
    "certificate exists": (
        ["convert", "good.onnx", "out.onnx", "--to", "18", "--certificate", "other.onnx"],
        "exists already",
    ),
    "certificate without a proof": (
        ["convert", "good.onnx", "out.onnx", "--to", "18", "--certificate", "proof.json", "--no-prove"],
        "--no-prove leaves out",
    ),
    "textual form that would lose something": (
        ["convert", "documented.onnx", "out.onnxtxt", "--to", "18"],
        "cannot hold all of this model",
    ),
    "prove what is not there": (["prove", "good.onnx", "gone.onnx"], "gone.onnx: no such file"),
    "prove what is no model": (["prove", "other.onnx", "good.onnx"], "other.onnx: this is not an ONNX model"),
    "prove with inputs that are not there": (
        ["prove", "good.onnx", "good.onnx", "--inputs", "gone.npz"],
        "no such file",
    ),
    "prove with inputs that are no arrays": (
        ["prove", "good.onnx", "good.onnx", "--inputs", "other.onnx"],
        "not an .npz",
    ),
    "prove with an input missing": (["prove", "good.onnx", "good.onnx", "--inputs", "wrong.npz"], "'x'"),
    "prove zero times": (["prove", "good.onnx", "good.onnx", "--runs", "0"], "'--runs'"),
    "explain an unknown operator": (["explain", "ReduceMinimum"], "did you mean"),
    "explain from one opset": (["explain", "ReduceMin", "18"], "no opsets or two"),
    "explain from an unknown opset": (["explain", "ReduceMin", "1", "99"], "no opset 99"),
}


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, entered, with models and what gets in their way."""
    monkeypatch.chdir(tmp_path)
    onnx.save(minimum_model(), "good.onnx")
    onnx.save(externalise(weighted_model(), tmp_path), "external.onnx")
    documented = minimum_model()
    documented.graph.node[0].doc_string = "the textual form has no place for this"
    onnx.save(documented, "documented.onnx")
    numpy.savez("wrong.npz", z=numpy.zeros((2, 3), numpy.float32))
    Path("other.onnx").write_bytes(b"something else")
    Path("folder").mkdir()
    Path("link.onnx").symlink_to("good.onnx")
    Path("hard.onnx").hardlink_to("good.onnx")
    return tmp_path


@pytest.mark.parametrize("kind", BAD_COMMAND_LINES, ids=lambda kind: kind.replace(" ", "_"))
def test_bad_command_line(kind: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, words = BAD_COMMAND_LINES[kind]
    check_rejected(arguments, words, workplace, capsys)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
class TestPermissions:
    def test_unreadable_input(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("good.onnx").chmod(0)
        assert main(["convert", "good.onnx", "out.onnx", "--to", "18"]) == 1
        assert capsys.readouterr().err == "opsetlift: good.onnx: the file cannot be read: permission denied\n"

    def test_output_folder_that_is_read_only(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        Path("folder").chmod(0o500)
        check_rejected(
            ["convert", "good.onnx", "folder/out.onnx", "--to", "18"], "permission denied", workplace, capsys
        )


class TestProcess:
    """The same in a process of its own, where nothing can be caught outside of it."""

    @pytest.mark.parametrize("kind", ["random bytes", "external data past the end", "cyclic_nodes"])
    def test_rejects_bad_input(self, kind: str, tmp_path: Path) -> None:
        BAD_INPUT[kind].make(tmp_path)
        before = snapshot(tmp_path)
        command = [sys.executable, "-m", "converter.cli", "convert", "in.onnx", "out.onnx", "--to", "18"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert len(ended.stderr.splitlines()) == 1
        assert BAD_INPUT[kind].words in ended.stderr
        assert snapshot(tmp_path) == before

    def test_rejects_a_bad_command_line(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "converter.cli", "convert", "in.onnx"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert len(ended.stderr.splitlines()) == 1
