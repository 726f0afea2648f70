"""What is taken for a model, and what of it is given back."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

import opsetlift
from opsetlift.reporting.inspection import inspect
from tests.prove.conversions import model

TEXT = "g (float[N] x) => (float y) <float[2] w = {1, 2}> { s = Mul (x, w) y = ReduceMax <keepdims = 0> (s) }"


def source() -> ModelProto:
    return model(TEXT, 13)


def opset_of(found: ModelProto) -> int:
    return int(found.opset_import[0].version)


def as_path(folder: Path) -> Any:
    onnx.save(source(), folder / "model.onnx")
    return folder / "model.onnx"


def as_text_of_path(folder: Path) -> Any:
    return str(as_path(folder))


def as_open_file(folder: Path) -> Any:
    return open(as_path(folder), "rb")


def as_file_in_text_form(folder: Path) -> Any:
    onnx.save(source(), folder / "model.onnxtxt")
    return open(folder / "model.onnxtxt", "rb")


def as_graph(folder: Path) -> Any:
    return gs.import_onnx(source())


def as_ir_model(folder: Path) -> Any:
    return pytest.importorskip("onnx_ir").from_proto(source())


class ONNXProgram:
    """As torch.onnx has it: made of a model and of the program that was exported."""

    def __init__(self, model: Any, exported_program: Any) -> None:
        self.model = model
        self.exported_program = exported_program


def as_program(folder: Path) -> Any:
    return ONNXProgram(as_ir_model(folder), "a program")


KINDS = {
    "a ModelProto": (lambda folder: source(), ModelProto),
    "a path": (as_path, ModelProto),
    "the text of a path": (as_text_of_path, ModelProto),
    "bytes": (lambda folder: source().SerializeToString(), bytes),
    "a bytearray": (lambda folder: bytearray(source().SerializeToString()), bytes),
    "a memoryview": (lambda folder: memoryview(source().SerializeToString()), bytes),
    "an open file": (as_open_file, ModelProto),
    "an open file of another form": (as_file_in_text_form, ModelProto),
    "a file in memory": (lambda folder: io.BytesIO(source().SerializeToString()), ModelProto),
    "a gs.Graph": (as_graph, gs.Graph),
    "an onnx_ir.Model": (as_ir_model, "Model"),
    "a torch.onnx.ONNXProgram": (as_program, ONNXProgram),
}


def proto_of(given: Any) -> ModelProto:
    if isinstance(given, bytes):
        return onnx.load_from_string(given)
    if isinstance(given, gs.Graph):
        return gs.export_onnx(given)
    if isinstance(given, ONNXProgram):
        assert given.exported_program == "a program"
        given = given.model
    if not isinstance(given, ModelProto):
        import onnx_ir

        return onnx_ir.to_proto(given)
    return given


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_taken_everywhere_and_given_back(kind: str, tmp_path: Path) -> None:
    make, given_back = KINDS[kind]
    conversion = opsetlift.convert(make(tmp_path), to=18)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven
    found = conversion.as_given
    assert type(found).__name__ == given_back if isinstance(given_back, str) else isinstance(found, given_back)
    assert opset_of(proto_of(found)) == 18
    assert opsetlift.prove_models(make(tmp_path), found).is_equal

    converted = opsetlift.convert_version(make(tmp_path), 18)
    assert type(converted) is type(found)
    assert opset_of(proto_of(converted)) == 18

    assert type(opsetlift.normalize(make(tmp_path)).as_given) is type(found)
    assert opsetlift.reach(make(tmp_path), targets=["onnxruntime==1.4"]).targets[0].is_reachable
    again = opsetlift.verify(conversion.certificate, make(tmp_path), conversion.model)
    assert again.is_proven


def test_a_closed_file_ends_in_one_sentence(tmp_path: Path) -> None:
    file = as_open_file(tmp_path)
    file.close()
    uses: list[Any] = [opsetlift.reach, opsetlift.normalize, lambda given: opsetlift.convert(given, to=18)]
    for use in uses:
        with pytest.raises(opsetlift.ModelFileError, match=r"^the open file cannot be read: .* closed file$"):
            use(file)


def test_a_graph_is_not_asked_for_what_it_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    """graphsurgeon prints an error for each unknown attribute of a graph."""
    opsetlift.convert(gs.import_onnx(source()), to=18)
    shown = capsys.readouterr()
    assert "not registered" not in shown.out + shown.err


def test_what_was_given_stays_as_it_is() -> None:
    ir = pytest.importorskip("onnx_ir")
    given = ir.from_proto(source())
    before = ir.to_proto(given).SerializeToString()
    opsetlift.convert(given, to=18)
    assert ir.to_proto(given).SerializeToString() == before


def save_with_external_data(folder: Path) -> Path:
    made = source()
    made.graph.initializer[0].CopyFrom(numpy_helper.from_array(numpy.array([1, 2], numpy.float32), "w"))
    path = folder / "model.onnx"
    onnx.save(made, path, save_as_external_data=True, size_threshold=0, location="w.bin")
    return path


class TestExternalData:
    def test_an_open_file_tells_the_folder(self, tmp_path: Path) -> None:
        with open(save_with_external_data(tmp_path), "rb") as file:
            assert opsetlift.convert(file, to=18).certificate.is_proven  # type: ignore[union-attr]

    def test_bytes_need_to_be_told(self, tmp_path: Path) -> None:
        content = save_with_external_data(tmp_path).read_bytes()
        with pytest.raises(opsetlift.ModelFileError, match="the bytes: a model with external data must"):
            opsetlift.convert(content, to=18)
        assert opsetlift.convert(content, to=18, base_dir=str(tmp_path)).certificate.is_proven  # type: ignore[union-attr]

    def test_an_ir_model_knows_the_folder_and_so_does_the_result(self, tmp_path: Path) -> None:
        ir = pytest.importorskip("onnx_ir")
        given = ir.load(save_with_external_data(tmp_path))
        found = opsetlift.convert(given, to=18)
        assert found.certificate is not None
        assert found.certificate.is_proven
        assert found.as_given.graph.initializers["w"].const_value.numpy().tolist() == [1, 2]

    def test_data_in_several_folders_is_refused(self, tmp_path: Path) -> None:
        ir = pytest.importorskip("onnx_ir")
        given = ir.load(save_with_external_data(tmp_path))
        other = ir.ExternalTensor(
            "w.bin", 0, 8, ir.DataType.FLOAT, shape=ir.Shape([2]), name="v", base_dir="/elsewhere"
        )
        given.graph.register_initializer(ir.Value(name="v", const_value=other))
        with pytest.raises(opsetlift.ModelFileError, match="external data lies in 2 folders"):
            opsetlift.convert(given, to=18)


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        (b"", opsetlift.ModelFileError, "the bytes: there is nothing to read"),
        (b"no model", opsetlift.ModelFileError, "the bytes: this is not an ONNX model"),
        (source().SerializeToString()[:-9], opsetlift.ModelFileError, "the bytes: "),
        (io.BytesIO(), opsetlift.ModelFileError, "the open file: there is nothing to read"),
        (io.StringIO("text"), opsetlift.ModelFileError, "gives str, not bytes: open it in binary mode"),
        (7, TypeError, "a model must be a ModelProto, a path, bytes, an open file, a gs.Graph, an onnx_ir.Model or"),
        (None, TypeError, "not NoneType"),
        (ONNXProgram(None, None), TypeError, "not ONNXProgram"),
    ],
)
def test_what_is_no_model_ends_in_one_sentence(given: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as caught:
        opsetlift.convert(given, to=18)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_what_is_not_installed_is_not_needed() -> None:
    """Neither onnx_ir nor graphsurgeon is imported to tell what a model is."""
    script = (
        "import sys, opsetlift, onnx.parser\n"
        f"one = onnx.parser.parse_model('<ir_version: 8, opset_import: [\"\": 13]> {TEXT}')\n"
        "opsetlift.convert(one.SerializeToString(), to=18)\n"
        "print(*{'onnx_ir', 'onnx_graphsurgeon', 'torch', 'pytest'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def with_initializer(tensor: TensorProto) -> ModelProto:
    found = model("g (float[4] x) => (float[4] z) { y = ReduceMin <axes = [0]> (x)  z = Add (y, s) }", 13)
    found.graph.initializer.append(tensor)
    return found


USES: dict[str, Callable[[ModelProto], object]] = {
    "convert": lambda found: opsetlift.convert(found, to=18),
    "normalize": opsetlift.normalize,
    "reach": lambda found: opsetlift.reach(found, targets=["onnxruntime==1.0"]),
    "prove": lambda found: opsetlift.prove_models(found, found),
    "inspect": inspect,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "tensor",
    [
        TensorProto(name="s", data_type=TensorProto.FLOAT, dims=[4], float_data=[1, 2, 3]),
        TensorProto(name="s", data_type=TensorProto.FLOAT, dims=[4], raw_data=b"1234"),
        TensorProto(name="s", data_type=TensorProto.FLOAT, dims=[-4], float_data=[1, 2, 3, 4]),
        TensorProto(name="s", data_type=99, dims=[4], raw_data=b"1234"),
    ],
    ids=["few numbers", "few bytes", "negative size", "unknown dtype"],
)
def test_data_that_does_not_fit_ends_in_one_sentence_as_in_a_file(tensor: TensorProto, use: str) -> None:
    with pytest.raises(opsetlift.ModelFileError, match="tensor 's'"):
        USES[use](with_initializer(tensor))


def test_external_data_that_cannot_be_found_leaves_a_proof_undecided() -> None:
    tensor = TensorProto(name="s", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="nowhere.bin")
    found = with_initializer(tensor)
    assert "base_dir says where" in opsetlift.prove_models(found, found).sentence
