"""Large weights stay in the file they were read from until the result is written, and nobody can tell."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import ModelProto, TensorProto

from opsetlift.batch import task
from opsetlift.cli import files as command_files
from opsetlift.cli import main
from opsetlift.model.files import (
    ModelFileError,
    is_external,
    load_model,
    loading,
    reading_by_parts,
    save_model,
    saving,
    writing_by_parts,
)
from testing.conversion import model as model_from_text
from testing.small_models import externalise, weighted_model
from tests.test_bad_input import snapshot
from tests.test_writing_by_parts import random_model

LARGE = 24
"""Bytes; the weight of `weighted_model` has as many."""
ELEMENTS = 1280
"""Of a weight; the proof tries the numbers of smaller ones as inputs."""


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "BY_PARTS", 1)
    monkeypatch.setattr(reading_by_parts, "LARGE", LARGE)
    monkeypatch.setattr(writing_by_parts, "LARGE", LARGE)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model with two weights that are alike and one that is another, and with nodes that change at opset 18."""
    model = model_from_text("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[N,3] x) => (float[N,1] y)
        {
            s = ReduceSum<keepdims = 0>(a)
            t = ReduceMax<keepdims = 0>(b)
            u = ReduceMean<keepdims = 0>(c)
            d = Mul(x, s) e = Add(d, t) f = Sub(e, u)
            y = ReduceMin<axes = [1]>(f)
        }""")
    for name, last in (("a", 0), ("b", 0), ("c", 1)):
        values = numpy.arange(ELEMENTS, dtype=numpy.float32)
        values[-1] += last
        model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    path = tmp_path / "in.onnx"
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("seed", range(30))
def test_what_is_written_is_what_was_read(seed: int, tmp_path: Path) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(random_model(seed).SerializeToString())
    try:
        model = load_model(source, leave_weights=True)
    except ModelFileError:
        with pytest.raises(ModelFileError):
            load_model(source)
        return
    before = model.SerializeToString()
    save_model(model, target, source_dir=tmp_path, source=source)
    assert target.read_bytes() == source.read_bytes()
    assert model.SerializeToString() == before


def test_weights_are_not_in_memory(source: Path) -> None:
    found = load_model(source, leave_weights=True)
    assert [is_external(tensor) for tensor in found.graph.initializer] == [True, True, True]
    assert found.ByteSize() < ELEMENTS


@pytest.mark.parametrize("command", ["convert", "normalize"])
@pytest.mark.parametrize("target", ["out.onnx", "out.json", "out.textproto", "folder/out.onnx"])
def test_the_result_is_that_of_a_small_file(
    command: str, target: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source.parent / "folder").mkdir()
    out, certificate = source.parent / target, source.parent / "proof.json"
    arguments = [
        command,
        str(source),
        str(out),
        "--to",
        "18",
        "--certificate",
        str(certificate),
        "--force",
        "--no-cache",
    ]
    assert main(arguments) == 0
    found = out.read_bytes(), certificate.read_bytes()
    monkeypatch.setattr(loading, "BY_PARTS", 1 << 30)
    assert main(arguments) == 0
    assert (out.read_bytes(), certificate.read_bytes()) == found
    assert main(["prove", str(source), str(out), "--certificate", str(certificate)]) == 0


def test_equal_weights_become_one_wherever_they_are(source: Path) -> None:
    out = source.parent / "out.onnx"
    assert main(["normalize", str(source), str(out), "--passes", "merge-duplicate-initializers"]) == 0
    assert [tensor.name for tensor in onnx.load(out).graph.initializer] == ["a", "c"]


def test_a_weight_that_goes_into_an_attribute_takes_its_data_along(source: Path, tmp_path: Path) -> None:
    model = load_model(source, leave_weights=True)
    (node,) = [node for node in model.graph.node if node.op_type == "ReduceSum"]
    position = list(model.graph.node).index(node)
    constant = onnx.helper.make_node("Constant", [], ["moved"])
    value = constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR)
    value.t.CopyFrom(model.graph.initializer[0])
    node.input[0] = "moved"
    model.graph.node.insert(position, constant)
    save_model(model, tmp_path / "out.onnx", source_dir=tmp_path, source=source)
    found = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(found)
    assert found.graph.node[position].attribute[0].t.raw_data == found.graph.initializer[0].raw_data
    assert len(found.graph.initializer[0].raw_data) == 4 * ELEMENTS


def test_weights_of_a_model_too_large_for_one_file_go_beside_it(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = onnx.load(source)
    monkeypatch.setattr(saving, "SMALLEST_EXTERNAL_TENSOR", 1)
    monkeypatch.setattr(saving, "PROTOBUF_LIMIT", saving._ROOM_FOR_THE_REST + ELEMENTS)
    out = source.parent / "out.onnx"
    assert main(["convert", str(source), str(out), "--ir", "9"]) == 0
    source.unlink()
    found = onnx.load(out, load_external_data=False)
    assert all(map(is_external, found.graph.initializer))
    assert [one.raw_data for one in onnx.load(out).graph.initializer] == [
        one.raw_data for one in expected.graph.initializer
    ]


def test_other_external_data_is_copied_as_ever(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    model = externalise(weighted_model(), tmp_path)
    content = numpy.arange(6, dtype=numpy.float32).tobytes()
    model.graph.initializer.add(name="left", data_type=TensorProto.FLOAT, dims=[6], raw_data=content)
    onnx.save(model, tmp_path / "in.onnx")
    out = tmp_path / "folder" / "out.onnx"
    assert main(["convert", str(tmp_path / "in.onnx"), str(out), "--ir", "9"]) == 0
    assert sorted(path.name for path in out.parent.iterdir()) == ["out.onnx", "weights.bin"]
    found = {tensor.name: tensor for tensor in onnx.load(out).graph.initializer}
    assert found["left"].raw_data == content
    assert found["w"].raw_data == weighted_model().graph.initializer[0].raw_data


def _refers_to_itself(folder: Path) -> Path:
    model = weighted_model()
    path = folder / "in.onnx"
    other = model.graph.initializer.add(name="own", data_type=TensorProto.UINT8, dims=[4])
    other.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "./in.onnx"), ("offset", "0"), ("length", "4")):
        other.external_data.add(key=key, value=value)
    onnx.save(model, path)
    return path


def _is_a_link_out_of_its_folder(folder: Path) -> Path:
    (folder / "elsewhere").mkdir()
    (folder / "here").mkdir()
    onnx.save(weighted_model(), folder / "elsewhere" / "model.onnx")
    (folder / "here" / "in.onnx").symlink_to("../elsewhere/model.onnx")
    return folder / "here" / "in.onnx"


def _has_a_name_that_is_no_text(folder: Path) -> Path:
    path = Path(os.fsdecode(os.fsencode(folder) + b"/in\xff.onnx"))
    path.write_bytes(weighted_model().SerializeToString())
    return path


@pytest.mark.parametrize("make", [_refers_to_itself, _is_a_link_out_of_its_folder, _has_a_name_that_is_no_text])
def test_weights_that_cannot_be_referred_to_are_read(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path)
    assert load_model(path, leave_weights=True) == load_model(path)


def test_a_link_within_the_folder_is_followed(source: Path) -> None:
    link, out = source.parent / "link.onnx", source.parent / "out.onnx"
    link.symlink_to(source.name)
    assert any(map(is_external, load_model(link, leave_weights=True).graph.initializer))
    assert main(["convert", str(link), str(out), "--ir", "9"]) == 0
    assert len(onnx.load(out).graph.initializer[0].raw_data) == 4 * ELEMENTS


def _write_something_else(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def _something_else(path: Path) -> Path:
    other = path.with_suffix(".other")
    other.write_bytes(path.read_bytes())
    _write_something_else(other)
    return other


def _link_to_something_else(path: Path) -> None:
    other = _something_else(path)
    path.unlink()
    path.symlink_to(other.name)


def _move_something_else_there(path: Path) -> None:
    _something_else(path).replace(path)


@pytest.mark.parametrize("command", ["convert", "batch"])
@pytest.mark.parametrize("change", [_write_something_else, _link_to_something_else, _move_something_else_there])
def test_a_source_that_changes_meanwhile_is_no_source(
    command: str,
    change: Callable[[Path], None],
    source: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def save_after_a_change(model: ModelProto, *arguments: object, **options: object) -> object:
        change(source)
        return save_model(model, *arguments, **options)  # type: ignore[arg-type]

    out = source.parent / "results" / "in.onnx"
    out.parent.mkdir()
    before = snapshot(out.parent)
    if command == "convert":
        monkeypatch.setattr(command_files, "save_model", save_after_a_change)
        assert main(["convert", str(source), str(out), "--ir", "9"]) == 1
        said = capsys.readouterr().err
    else:
        monkeypatch.setattr(task, "save_model", save_after_a_change)
        options = {"to": None, "target": None, "dtypes": None, "ir": 9}
        said = task.perform(task.Task(source, out, options)).reason
    assert "the input 'in.onnx' has changed since the model was read" in said
    assert snapshot(out.parent) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_in_the_place_of_the_source_is_not_waited_for(source: Path) -> None:
    model, out = load_model(source, leave_weights=True), source.parent / "out.onnx"
    source.unlink()
    os.mkfifo(source)
    with pytest.raises(ModelFileError, match="not a regular file any more"):
        save_model(model, out, source_dir=source.parent, source=source)
    assert not out.exists()


def test_standard_output_gets_all_of_the_model(source: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["convert", str(source), "-", "--ir", "9", "--quiet"]) == 0
    found = ModelProto.FromString(capfdbinary.readouterr().out)
    assert [len(tensor.raw_data) for tensor in found.graph.initializer] == [4 * ELEMENTS] * 3
