"""Inputs and expected outputs that the caller gives: .npz files and the folders of ONNX's own test data."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from onnx import ModelProto, OptionalProto, SequenceProto, TensorProto, numpy_helper

import opsetlift
from opsetlift.cli import main
from opsetlift.proof import Outcome, UnusableData, given_cases, prove_models
from testing.cases import node_cases
from tests.prove.conversions import model

SUM = "g (float[N] x, float[N] z) => (float[N] y) { y = Add (x, z) }"
DIFFERENCE = "g (float[N] x, float[N] z) => (float[N] y) { y = Sub (x, z) }"
X = numpy.array([1, 2], numpy.float32)
Z = numpy.array([0.5, -3], numpy.float32)


def proto_of(value: Any, name: str = "") -> Any:
    if isinstance(value, (TensorProto, SequenceProto, OptionalProto)):
        return value
    if isinstance(value, list):
        return numpy_helper.from_list(value, name)
    if isinstance(value, dict):
        return numpy_helper.from_dict(value, name)
    if value is None:
        return numpy_helper.from_optional(None, name)
    return numpy_helper.from_array(numpy.asarray(value), name)


def write_data_set(folder: Path, inputs: list[Any], outputs: list[Any]) -> None:
    folder.mkdir(parents=True)
    for what, values in (("input", inputs), ("output", outputs)):
        for number, value in enumerate(values):
            (folder / f"{what}_{number}.pb").write_bytes(proto_of(value).SerializeToString())


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model, another one, and two data sets of the first."""
    monkeypatch.chdir(tmp_path)
    onnx.save(model(SUM, 13), "sum.onnx")
    onnx.save(model(DIFFERENCE, 13), "difference.onnx")
    write_data_set(tmp_path / "data" / "test_data_set_0", [X, Z], [X + Z])
    write_data_set(tmp_path / "data" / "test_data_set_1", [Z, X], [X + Z])
    numpy.savez("inputs.npz", x=X, z=Z)
    numpy.savez("outputs.npz", y=X + Z)
    return tmp_path


def kind_of(case: Any) -> str:
    values = [*case.model.graph.input, *case.model.graph.output]
    return ",".join(sorted({one.type.WhichOneof("value") for one in values}))


def wrapped(value: Any, info: onnx.ValueInfoProto) -> Any:
    if info.type.WhichOneof("value") != "optional_type" or isinstance(value, OptionalProto):
        return value
    return numpy_helper.from_optional(numpy_helper.to_array(value) if isinstance(value, TensorProto) else value)


def content(value: Any) -> Any:
    return numpy_helper.to_optional(value) if isinstance(value, OptionalProto) else value


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if one is None or other is None:
        return one is other
    return numpy.asarray(one).tobytes() == numpy.asarray(other).tobytes() or numpy.array_equal(one, other)


@pytest.mark.slow
def test_every_kind_of_value_of_onnx_own_tests_is_read_from_its_files(tmp_path: Path) -> None:
    """Tensors of every dtype, sequences, and optionals, full and empty."""
    seen: dict[tuple[str, str], int] = {}
    for number, case in enumerate(node_cases()):
        inputs, outputs = case.data_sets[0]
        dtype = str(getattr(outputs[0], "dtype", getattr(outputs[0], "data_type", "")))
        key = kind_of(case), dtype
        seen[key] = seen.get(key, 0) + 1
        if seen[key] > 2:
            continue
        folder = tmp_path / f"{number}"
        formals = [info for info in case.model.graph.input if info.name in case.inputs()]
        write_data_set(
            folder, list(map(wrapped, inputs, formals)), list(map(wrapped, outputs, case.model.graph.output))
        )
        (found,) = given_cases(folder, None, case.model)
        assert all(map(same, found.values.values(), map(content, case.inputs().values()))), case.name
        assert all(map(same, found.expected.values(), map(content, case.expected()))), case.name
    kinds = {kind for kind, _ in seen}
    assert {"tensor_type", "sequence_type,tensor_type", "optional_type,sequence_type"} <= kinds
    assert len(seen) > 20


class TestFolders:
    def test_all_data_sets_of_a_folder_are_run(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["prove", "sum.onnx", "sum.onnx", "--inputs", "data"]) == 0
        assert capsys.readouterr().out == "equal on 2 data sets, bit for bit, and as expected\n"
        assert main(["prove", "sum.onnx", "sum.onnx", "--inputs", "data", "--expected", "./data"]) == 0
        assert capsys.readouterr().out == "equal on 2 data sets, bit for bit, and as expected\n"

    def test_one_of_them_may_be_given(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["prove", "sum.onnx", "sum.onnx", "--inputs", "data/test_data_set_1"]) == 0
        assert capsys.readouterr().out == "equal on the given inputs, bit for bit, and as expected\n"

    def test_both_models_may_be_wrong_in_the_same_way(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["prove", "difference.onnx", "difference.onnx", "--inputs", "data", "--json"]) == 3
        said = json.loads(capsys.readouterr().out)
        assert said["as_expected"] is False
        assert said["sentence"].startswith(
            "test_data_set_0: output 'y' of both models is not as expected: at index [0] 1.5 became 0.5"
        )

    def test_names_in_the_files_decide_over_numbers(self, data: Path) -> None:
        folder = data / "named"
        folder.mkdir()
        for number, (name, value) in enumerate({"z": Z, "x": X}.items()):
            tensor = numpy_helper.from_array(value, name)
            (folder / f"input_{number}.pb").write_bytes(tensor.SerializeToString())
        (case,) = given_cases(folder, None, model(DIFFERENCE, 13))
        assert same(case.values["x"], X)
        assert same(case.values["z"], Z)

    def test_files_of_other_kinds_do_not_matter(self, data: Path) -> None:
        (data / "data" / "test_data_set_0" / "README.txt").write_text("not for us")
        assert main(["prove", "sum.onnx", "sum.onnx", "--inputs", "data"]) == 0

    def test_a_report_replaces_no_file_of_the_data(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = "data/test_data_set_0/input_0.pb"
        before = Path(path).read_bytes()
        assert main(["prove", "sum.onnx", "sum.onnx", "--inputs", "data", "--report", path, "--force"]) == 1
        assert Path(path).read_bytes() == before

    def test_onnxruntime_runs_them_too(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("onnxruntime")
        assert main(["prove", "sum.onnx", "sum.onnx", "--inputs", "data", "--judge", "ort"]) == 0
        assert "onnxruntime: equal on 2 inputs" in capsys.readouterr().out
        arguments = ["difference.onnx", "difference.onnx", "--inputs", "data", "--judge", "ort"]
        assert main(["prove", *arguments]) == 3, "both judges find the models equal, and not as expected"


def _truncate(folder: Path) -> None:
    path = folder / "input_0.pb"
    path.write_bytes(path.read_bytes()[:-3])


def _empty(folder: Path) -> None:
    (folder / "input_0.pb").write_bytes(b"")


def _other_dtype(folder: Path) -> None:
    (folder / "output_0.pb").write_bytes(numpy_helper.from_array(numpy.ones(2)).SerializeToString())


def _sequence(folder: Path) -> None:
    (folder / "input_1.pb").write_bytes(numpy_helper.from_list([X, Z]).SerializeToString())


def _one_more(folder: Path) -> None:
    (folder / "input_2.pb").write_bytes(numpy_helper.from_array(X).SerializeToString())


def _a_gap(folder: Path) -> None:
    (folder / "input_1.pb").rename(folder / "input_3.pb")


def _one_less(folder: Path) -> None:
    (folder / "input_1.pb").unlink()


def _no_number(folder: Path) -> None:
    (folder / "input_x.pb").write_bytes(b"")


def _no_files(folder: Path) -> None:
    for path in folder.glob("*.pb"):
        path.unlink()


def _misleading_name(folder: Path) -> None:
    (folder / "input_0.pb").write_bytes(numpy_helper.from_array(X, "z").SerializeToString())


def _external(folder: Path) -> None:
    tensor = numpy_helper.from_array(X)
    onnx.external_data_helper.set_external_data(tensor, "elsewhere.bin")
    tensor.ClearField("raw_data")
    (folder / "input_0.pb").write_bytes(tensor.SerializeToString())


def _folder(folder: Path) -> None:
    (folder / "input_0.pb").unlink()
    (folder / "input_0.pb").mkdir()


DAMAGES: Mapping[Callable[[Path], None], str] = {
    _truncate: "input_0.pb: holds no tensor(float) (for 'x'), or is truncated or damaged",
    _empty: "input_0.pb: holds no tensor(float) (for 'x'): tensor '' has no dtype that onnx knows: 0",
    _other_dtype: "output_0.pb: holds no tensor(float) (for 'y'): it is tensor(double)",
    _sequence: "input_1.pb: holds no tensor(float) (for 'z')",
    _one_more: "holds 3 input files, and the first model has 2",
    _a_gap: "input_1.pb is missing, and input_3.pb is there",
    _one_less: "holds 1 input file, and the first model has 2",
    _no_number: "input_x.pb: its name is not input_N.pb",
    _no_files: "holds neither input_0.pb nor a folder test_data_set_0",
    _misleading_name: "input_0.pb: by its name this is the input 'z', and by its number 'x'",
    _external: "its data lies in another file",
    _folder: "input_0.pb: this is a folder",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__.strip("_").replace("_", " "))
def test_damaged_data_sets_end_in_one_sentence(
    damage: Callable[[Path], None], data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(data / "data" / "test_data_set_0")
    assert main(["prove", "sum.onnx", "sum.onnx", "--inputs", "data"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert DAMAGES[damage] in said.err


SEQUENCES = "g (seq(float[N]) s) => (float[M] y) { y = ConcatFromSequence <axis = 0> (s) }"
OPTIONALS = "g (optional(float[N]) o) => (bool y) { y = OptionalHasElement (o) }"


@pytest.mark.parametrize(
    ("text", "content", "sentence"),
    [
        (SEQUENCES, numpy_helper.from_list([X.astype(numpy.int64)]), "it is tensor(int64)"),
        (SEQUENCES, SequenceProto(), "its elements are of no type, and tensors are declared"),
        (SEQUENCES, numpy_helper.from_list([[X]]), "its elements are sequence types, and tensors are declared"),
        (OPTIONALS, numpy_helper.from_optional([X]), "its elements are sequence types, and tensors are declared"),
        (OPTIONALS, numpy_helper.from_optional(X.astype(numpy.int64)), "it is tensor(int64)"),
    ],
)
def test_sequences_and_optionals_of_other_types_are_not_taken(
    text: str, content: Any, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "input_0.pb").write_bytes(content.SerializeToString())
    with pytest.raises(UnusableData, match=r"input_0\.pb: holds no ") as caught:
        given_cases(tmp_path, None, model(text, 18))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(("content", "answer"), [(X, True), (None, False)])
def test_an_optional_may_be_empty(content: Any, answer: bool, tmp_path: Path) -> None:
    write_data_set(tmp_path / "set", [numpy_helper.from_optional(content)], [numpy.array(answer)])
    found = prove_models(model(OPTIONALS, 18), model(OPTIONALS, 18), inputs=tmp_path / "set")
    assert found.is_equal
    assert found.as_expected


class TestExpected:
    def test_both_models_are_compared_with_it(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        given = ["--inputs", "inputs.npz", "--expected", "outputs.npz"]
        assert main(["prove", "sum.onnx", "sum.onnx", *given]) == 0
        assert "as expected" in capsys.readouterr().out
        assert main(["prove", "difference.onnx", "difference.onnx", *given]) == 3
        assert "of both models is not as expected" in capsys.readouterr().err

    def test_one_of_the_models_may_be_wrong_within_a_bound_on_the_other(self, data: Path) -> None:
        other = model(
            "g (float[N] x, float[N] z) => (float[N] y) <float tiny = {0.25}> { a = Add (x, z) y = Add (a, tiny) }", 13
        )
        inputs = {"x": X, "z": Z}
        found = prove_models(
            model(SUM, 13), other, inputs=inputs, expected={"y": X + Z + numpy.float32(0.25)}, atol=0.25
        )
        assert found.is_equal
        found = prove_models(
            model(SUM, 13), other, inputs=inputs, expected={"y": X + Z - numpy.float32(0.25)}, atol=0.25
        )
        assert "output 'y' of the second model is not as expected" in found.sentence

    def test_nan_is_nan(self, data: Path) -> None:
        nan = numpy.array([numpy.nan, 1], numpy.float32)
        inputs = {"x": nan, "z": X}
        assert prove_models("sum.onnx", "sum.onnx", inputs=inputs, expected={"y": nan + X}).is_equal
        assert not prove_models("sum.onnx", "sum.onnx", inputs=inputs, expected={"y": X}, rtol=1.0, atol=9.0).agrees

    def test_another_shape_is_not_as_expected(self, data: Path) -> None:
        found = prove_models(
            "sum.onnx", "sum.onnx", inputs={"x": X, "z": Z}, expected={"y": numpy.zeros(3, numpy.float32)}
        )
        assert "shape (3,) became (2,)" in found.sentence

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--expected", "outputs.npz"], "--expected needs --inputs"),
            (
                ["--inputs", "inputs.npz", "--expected", "inputs.npz"],
                "inputs.npz: there is no array for the output 'y'",
            ),
            (["--inputs", "inputs.npz", "--expected", "more.npz"], "more.npz: the first model has no output 'q'"),
            (["--inputs", "inputs.npz", "--expected", "gone.npz"], "gone.npz: no such file"),
            (["--inputs", "inputs.npz", "--expected", "sum.onnx"], "this is not an .npz with an array for each output"),
            (["--inputs", "outputs.npz"], "outputs.npz: there is no array for the input 'x'"),
            (["--inputs", "data", "--expected", "outputs.npz"], "data: this folder holds 2 data sets; name the one"),
            (
                ["--inputs", "data/test_data_set_0", "--expected", "outputs.npz"],
                "this folder holds expected outputs",
            ),
            (["--inputs", "inputs.npz", "--expected", "."], ": this folder holds no output_0.pb"),
        ],
    )
    def test_what_does_not_fit_ends_in_one_sentence(
        self, arguments: list[str], sentence: str, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        numpy.savez("more.npz", y=X, q=X)
        assert main(["prove", "sum.onnx", "sum.onnx", *arguments]) == 1
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1

    def test_objects_are_not_unpickled(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        numpy.savez("objects.npz", y=numpy.array([{}], dtype=object))
        assert main(["prove", "sum.onnx", "sum.onnx", "--inputs", "inputs.npz", "--expected", "objects.npz"]) == 1
        assert "this is not an .npz" in capsys.readouterr().err

    @pytest.mark.parametrize("damage", ["compressed data", "encrypted", "size", "header"])
    def test_a_damaged_archive_ends_in_one_sentence(
        self, damage: str, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shape = 10**30 if damage == "size" else 2
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape},),".encode()
        header += b"\n" if damage == "header" else b"}\n"
        array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)
        with zipfile.ZipFile("damaged.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.npy", array)
        content = bytearray(Path("damaged.npz").read_bytes())
        if damage == "compressed data":
            start = 30 + len("x.npy")
            content[start : start + 12] = b"\xff" * 12
        elif damage == "encrypted":
            content[6] |= 1
            content[content.index(b"PK\x01\x02") + 8] |= 1
        Path("damaged.npz").write_bytes(content)
        assert main(["prove", "sum.onnx", "sum.onnx", "--inputs", "damaged.npz"]) == 1
        said = capsys.readouterr().err
        assert said == "opsetlift: damaged.npz: this is not an .npz with an array for each input\n"

    @pytest.mark.parametrize(
        ("target", "reason"),
        [
            (".", "this is a folder"),
            ("/dev/zero", "this is not a regular file"),
            ("nowhere", "no such file"),
        ],
    )
    def test_a_file_that_is_none_says_why(
        self, target: str, reason: str, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("odd").mkdir()
        Path("odd/input_0.pb").symlink_to(target)
        assert main(["prove", "sum.onnx", "sum.onnx", "--inputs", "odd"]) == 1
        assert capsys.readouterr().err == f"opsetlift: odd/input_0.pb: {reason}\n"


class TestTolerances:
    ONE = "g (float[N] x) => (float[N] y) { y = Identity (x) }"
    OTHER = "g (float[N] x) => (float[N] y) <float f = {%s}> { y = Mul (x, f) }"

    def proven(self, factor: str, x: list[float], **bounds: float) -> Outcome:
        inputs = {"x": numpy.array(x, numpy.float32)}
        return prove_models(model(self.ONE, 13), model(self.OTHER % factor, 13), inputs=inputs, **bounds).outcome

    def test_rtol_goes_by_element_unlike_ulps(self) -> None:
        assert self.proven("1.01", [1e-3, 1e6]) is Outcome.DIFFERENT
        assert self.proven("1.01", [1e-3, 1e6], rtol=0.02) is Outcome.EQUAL
        assert self.proven("1.01", [1e-3, 1e6], rtol=0.005) is Outcome.DIFFERENT

    def test_atol_is_for_numbers_near_zero(self) -> None:
        assert self.proven("2", [1e-3], rtol=0.5) is Outcome.DIFFERENT
        assert self.proven("2", [1e-3], atol=0.01) is Outcome.EQUAL
        assert self.proven("2", [1e-3, 1], atol=0.01) is Outcome.DIFFERENT

    def test_infinities_are_near_nothing_else(self) -> None:
        assert self.proven("2", [numpy.inf], rtol=1, atol=1) is Outcome.EQUAL
        assert self.proven("2", [3e38], rtol=2) is Outcome.DIFFERENT

    def test_integers_may_differ_by_atol_and_large_ones_are_not_rounded_first(self) -> None:
        one = model("g (int64[N] x) => (int64[N] y) { y = Identity (x) }", 13)
        other = model("g (int64[N] x) => (int64[N] y) <int64 two = {2}> { y = Add (x, two) }", 13)
        inputs = {"x": numpy.array([2**62 + 1])}
        assert prove_models(one, other, inputs=inputs, atol=2).is_equal
        assert not prove_models(one, other, inputs=inputs, atol=1).agrees

    @pytest.mark.parametrize("option", ["--rtol", "--atol"])
    @pytest.mark.parametrize("value", ["-1", "nan", "inf", "-nan"])
    def test_they_are_finite_numbers_of_zero_or_more(
        self, option: str, value: str, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["prove", "sum.onnx", "sum.onnx", f"{option}={value}"]) == 1
        said = capsys.readouterr().err
        assert f"{option} must be a finite number of 0 or more, not " in said
        assert said.count("\n") == 1

    def test_in_python_they_are_numbers(self) -> None:
        one = model(self.ONE, 13)
        with pytest.raises(TypeError, match="rtol must be a number"):
            prove_models(one, one, rtol="0.1")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="atol must be a finite number"):
            prove_models(one, one, atol=numpy.float32("nan"))

    def test_a_certificate_has_bounds_of_its_own(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["prove", "sum.onnx", "sum.onnx", "--certificate", "c.json", "--rtol", "0.1"]) == 1
        assert "leave out --inputs, --expected, --judge, --rtol and --atol" in capsys.readouterr().err


CHAIN = """g (float[N] x) => (float[N] y) <float half = {0.5}> {
    a = Relu (x)
    b = %s (a, half)
    c = Sigmoid (b)
    d = Add (c, a)
    y = Tanh (d)
}"""


def first(one: ModelProto, other: ModelProto) -> Any:
    found = prove_models(one, other, inputs={"x": numpy.array([1, 2, -3], numpy.float32)})
    assert found.outcome is Outcome.DIFFERENT
    return found.first_difference


class TestFirstDifference:
    def test_the_node_whose_inputs_are_equal_is_named(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name, operator in (("one", "Mul"), ("other", "Add")):
            onnx.save(model(CHAIN % operator, 13), f"{name}.onnx")
        assert main(["prove", "one.onnx", "other.onnx"]) == 3
        sentence = (
            "opsetlift: the first node whose value differs is Mul 'b', Add 'b' in the second model (value 'b'): at"
        )
        assert capsys.readouterr().err.splitlines()[1].startswith(sentence)
        assert main(["prove", "one.onnx", "other.onnx", "--json"]) == 3
        assert json.loads(capsys.readouterr().out)["first_difference"]["value"] == "b"

    def test_models_with_other_names_are_matched_by_structure(self) -> None:
        renamed = """g (float[N] x) => (float[N] y) <float h = {0.5}> {
            t1 = Relu (x)
            t2 = Mul (t1, h)
            t3 = HardSigmoid (t2)
            t4 = Add (t3, t1)
            y = Tanh (t4)
        }"""
        found = first(model(CHAIN % "Mul", 13), model(renamed, 13))
        assert (found.value, found.node) == ("d", "Add 'd'")
        assert found.other == "t4"

    def test_a_constant_of_another_content_is_named(self) -> None:
        other = model(CHAIN % "Mul", 13)
        other.graph.initializer[0].CopyFrom(numpy_helper.from_array(numpy.float32(0.25), "half"))
        found = first(model(CHAIN % "Mul", 13), other)
        assert (found.value, found.node) == ("half", "")
        assert "the first value that differs is 'half', a constant: in the scalar 0.5 became 0.25" in str(found)

    def test_a_value_that_differs_and_changes_no_output_is_not_named(self) -> None:
        """As inside of nodes that one model has fused."""
        one = """g (float[N] x) => (float[N] y) <float two = {2}, float k = {%s}> {
            a = Mul (x, two)
            b = Div (a, two)
            y = Mul (b, k)
        }"""
        other = one.replace("float two = {2}", "float two = {4}")
        found = first(model(one % "1", 13), model(other % "3", 13))
        assert found.value == "k"

    def test_the_node_that_runs_a_subgraph_is_named(self) -> None:
        text = """g (float[N] x) => (float[N] y) <bool c = {1}> {
            a = Relu (x)
            b = If (c) <
                then_branch = t () => (float[N] i) { i = %s (a) },
                else_branch = e () => (float[N] j) { j = Neg (a) }
            >
            y = Tanh (b)
        }"""
        assert first(model(text % "Exp", 13), model(text % "Neg", 13)).node == "If 'b'"

    def test_a_conversion_keeps_the_names_by_which_it_is_found(self) -> None:
        """A rewritten node has no partner of the same operator; its value has kept its name."""
        source = model("g (float[N] x) => (float[N] y) { a = Exp (x) b = Gelu (a) y = Tanh (b) }", 20)
        converted = opsetlift.convert(source, to=13).model
        next(one for one in converted.graph.node if one.output[0] == "b").op_type = "Sub"
        found = first(source, converted)
        assert found.value == "b"
        assert found.node == "Gelu 'b'"

    def test_equal_models_have_none(self) -> None:
        assert prove_models(model(CHAIN % "Mul", 13), model(CHAIN % "Mul", 13)).first_difference is None

    def test_many_values_are_compared_in_parts(self) -> None:
        body = "\n".join(f"v{n + 1} = {'Relu' if n % 2 else 'Exp' if n < 4 else 'Tanh'} (v{n})" for n in range(150))
        one = f"g (float[N] v0) => (float[N] v150) {{ {body} }}"
        other = one.replace("v121 = Tanh", "v121 = Sin")
        found = prove_models(model(one, 13), model(other, 13), inputs={"v0": numpy.array([0.1], numpy.float32)})
        assert found.first_difference is not None
        assert found.first_difference.value == "v121"
