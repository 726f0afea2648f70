"""Constants that a runtime loses once some node has read them: the nodes that follow read copies, proven equal."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from opsetlift import Certificate, Conversion, ConversionRefused, convert, reach, verify
from opsetlift.cli import main
from opsetlift.evaluator import Evaluator
from opsetlift.model.files import loading, reading_by_parts, writing_by_parts
from opsetlift.model.scopes import subgraphs_within
from opsetlift.proof.copies import read_as_originals
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.targets import TargetFileError, find_target
from opsetlift.targets.reading import read_runtime
from testing.conversion import model, normalised
from testing.small_models import externalise

HEAD = '<ir_version: 7, opset_import: ["": 13]>'
MATRIX = "float[2,2] k = {1, 2, 3, 4}"


def converted(text: str, runtime: str) -> Conversion:
    """The conversion for a runtime, proven equal."""
    conversion = convert(model(f"{HEAD} {text}"), target=runtime)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    return conversion


def readers(found: onnx.ModelProto) -> list[list[str]]:
    """The inputs of each node."""
    return [list(node.input) for node in found.graph.node]


class TestBeforeAndAfter:
    """OpenCV 4.14 takes what a sum has read for computed, and a product wants a constant."""

    BEFORE = f"""
        g (float[2,2] x) => (float[2,2] y, float[2,2] z) <{MATRIX}> {{
            s = Relu (x)
            y = Sub (s, k)
            z = MatMul (s, k)
        }}"""
    AFTER = f"""
        g (float[2,2] x) => (float[2,2] y, float[2,2] z) <{MATRIX}, float[2,2] k_1 = {{1, 2, 3, 4}}> {{
            s = Relu (x)
            y = Sub (s, k)
            z = MatMul (s, k_1)
        }}"""

    def test_the_product_reads_a_copy(self) -> None:
        found = converted(self.BEFORE, "opencv==4.14")
        assert normalised(found.model) == normalised(model(f"{HEAD} {self.AFTER}"))

    def test_a_certificate_from_a_file_is_verified(self) -> None:
        before = model(f"{HEAD} {self.BEFORE}")
        found = convert(before, target="opencv==4.14")
        assert found.certificate is not None
        read = Certificate.from_json(found.certificate.to_json())
        assert verify(read, before, found.model).is_proven

    def test_a_copy_of_something_else_is_a_difference(self) -> None:
        found = model(f"{HEAD} {self.AFTER}")
        trace = ConversionTrace(copied_initializers={"k_1": "k"})
        read, faults = read_as_originals(found, trace)
        assert not faults
        assert normalised(read) == normalised(model(f"{HEAD} {self.BEFORE}"))
        found.graph.initializer[1].float_data[0] += 1
        assert read_as_originals(found, trace)[1] == ["graph: initializer 'k_1' is no copy of 'k'"]

    def test_the_report_says_so(self) -> None:
        found = converted(self.BEFORE, "opencv==4.14")
        assert any(
            "copied 1 constant that several nodes read, as OpenCV DNN 4.14" in note for note in found.report.notes
        )

    @pytest.mark.parametrize("runtime", ["opencv==5.0", "openvino==2022.3", "onnxruntime==1.16"])
    def test_other_runtimes_need_none(self, runtime: str) -> None:
        assert normalised(converted(self.BEFORE, runtime).model) == normalised(model(f"{HEAD} {self.BEFORE}"))


class TestCopies:
    """There are no more of them than the runtime needs."""

    def test_weights_share_one(self) -> None:
        text = f"""g (float[2,2] x) => (float[2,2] y, float[2,2] z, float[2,2] u) <{MATRIX}>
            {{ s = Relu (x) y = Sub (s, k) z = MatMul (s, k) u = Gemm (s, k) }}"""
        assert readers(converted(text, "opencv==4.14").model)[1:] == [["s", "k"], ["s", "k_1"], ["s", "k_1"]]

    def test_values_share_the_constant(self) -> None:
        text = f"""g (float[2,2] x) => (float[2,2] y, float[2,2] z) <{MATRIX}>
            {{ s = Relu (x) y = Sub (s, k) z = Max (s, k) }}"""
        assert readers(converted(text, "opencv==4.14").model)[1:] == [["s", "k"], ["s", "k"]]

    def test_a_weight_may_be_a_value_afterwards_but_no_weight_again(self) -> None:
        text = f"""g (float[2,2] x) => (float[2,2] y, float[2,2] z, float[2,2] u) <{MATRIX}>
            {{ s = Relu (x) y = MatMul (s, k) z = Sub (s, k) u = MatMul (s, k) }}"""
        assert readers(converted(text, "opencv==4.14").model)[1:] == [["s", "k"], ["s", "k"], ["s", "k_1"]]

    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14"])
    def test_each_of_those_that_drop_a_constant_has_its_own(self, runtime: str) -> None:
        text = f"""g (float[2,2] x) => (float[4,2] y, float[4,2] z, float[4,2] u) <{MATRIX}>
            {{ s = Relu (x) y = Concat <axis = 0> (s, k) z = Concat <axis = 0> (s, k) u = Concat <axis = 0> (s, k) }}"""
        assert readers(converted(text, runtime).model)[1:] == [["s", "k"], ["s", "k_1"], ["s", "k_2"]]

    def test_divisors_are_inverted_in_place(self) -> None:
        text = """g (float[1,2,1,1] x) => (float[1,2,1,1] y) <float[1,2,1,1] k = {3, 5}>
            { s = Relu (x) m = Sub (s, k) y = Div (m, k) }"""
        assert readers(converted(text, "opencv==4.5").model)[1:] == [["s", "k"], ["m", "k_1"]]

    def test_biases_are_those_behind_products_alone(self) -> None:
        text = f"""g (float[2,2] x) => (float[2,2] y, float[2,2] z) <{MATRIX}, float[2,2] w = {{5, 6, 7, 9}}>
            {{ s = Relu (x) y = Add (s, k) p = MatMul (s, w) z = Add (p, k) }}"""
        assert readers(converted(text, "opencv==4.14").model)[1:] == [["s", "k"], ["s", "w"], ["p", "k_1"]]


class TestBehindConvolutions:
    """OpenVINO 2021.4 merges sums with constants by channel into a Conv, and other nodes lose these."""

    @pytest.mark.parametrize(("shape", "own"), [("1,2,1,1", "k_1"), ("1,1,2,2", "k"), ("1,1,1,1", "k")])
    def test_only_vectors_are_copied(self, shape: str, own: str) -> None:
        numbers = "{2}" if shape == "1,1,1,1" else "{3, 4}" if shape == "1,2,1,1" else "{3, 4, 5, 6}"
        text = f"""g (float[1,2,2,2] x) => (float[1,2,2,2] y, float[1,2,2,2] z)
            <float[2,2,1,1] w = {{1, 2, 3, 5}}, float[{shape}] k = {numbers}>
            {{ c = Conv (x, w) y = Add (c, k) r = Relu (x) z = Mul (r, k) }}"""
        assert readers(converted(text, "openvino==2021.4").model)[3] == ["r", own]

    def test_subgraphs_read_copies_of_what_they_capture(self) -> None:
        text = """g (float[1,2,2,2] x) => (float[1,2,2,2] y)
            <float[1,2,1,1] k = {3, 4}, int64[1] n = {2}, bool go = {1}> {
                s = Add (x, k)
                y = Loop (n, go, s) <body = b (int64 i, bool c, float[1,2,2,2] v) => (bool d, float[1,2,2,2] w) {
                    d = Identity (c)
                    w = Add (v, k)
                }>
            }"""
        found = converted(
            text.replace("Loop (n, go, s) <", "Loop <").replace("}>\n", "}> (n, go, s)\n"), "openvino==2021.4"
        )
        (body,) = subgraphs_within(found.model.graph)
        assert [list(node.input) for node in body.node] == [["c"], ["v", "k_1"]]
        assert [list(tensor.dims) for tensor in found.model.graph.initializer if tensor.name == "k_1"] == [[1, 2, 1, 1]]


class TestInitializersThatAreInputs:
    """Callers may give other numbers for them, which no copy has."""

    TEXT = f"""g (float[2,2] x, float[2,2] k) => (float[2,2] y, float[2,2] z) <{MATRIX}>
        {{ s = Relu (x) y = Sub (s, k) z = MatMul (s, k) }}"""

    def test_are_refused(self) -> None:
        with pytest.raises(ConversionRefused, match=r"loses the constant 'k'.*fix-defaults"):
            convert(model(f"{HEAD} {self.TEXT}"), target="opencv==4.14")

    def test_reach_agrees(self) -> None:
        (answer,) = reach(model(f"{HEAD} {self.TEXT}"), targets=["opencv==4.14"]).targets
        assert not answer.is_reachable

    def test_are_taken_where_nothing_is_lost(self) -> None:
        text = self.TEXT.replace("MatMul", "Max")
        assert readers(converted(text, "opencv==4.14").model)[1:] == [["s", "k"], ["s", "k"]]


class TestFiles:
    """Weights are not read for it: large ones stay in the file they were in until the copy is written."""

    @pytest.fixture
    def source(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> onnx.ModelProto:
        monkeypatch.setattr(loading, "BY_PARTS", 1)
        monkeypatch.setattr(reading_by_parts, "LARGE", 8)
        monkeypatch.setattr(writing_by_parts, "LARGE", 8)
        found = model(f"{HEAD} {TestBeforeAndAfter.BEFORE}")
        (tensor,) = found.graph.initializer
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), "k"))
        return found

    @pytest.mark.parametrize("is_external", [False, True])
    def test_hold_the_constant_and_its_copy(
        self, source: onnx.ModelProto, tmp_path: Path, *, is_external: bool
    ) -> None:
        expected = onnx.numpy_helper.to_array(source.graph.initializer[0])
        before, after = tmp_path / "in.onnx", tmp_path / "out.onnx"
        onnx.save(externalise(source, tmp_path) if is_external else source, before)
        assert main(["convert", str(before), str(after), "--for", "opencv==4.14"]) == 0
        found = onnx.load(after)
        assert {tensor.name for tensor in found.graph.initializer} == {"k", "k_1"}
        for tensor in found.graph.initializer:
            assert (onnx.numpy_helper.to_array(tensor) == expected).all()
        given = {"x": expected}
        for name, value in Evaluator(onnx.load(before)).run(given).items():
            assert (value == Evaluator(found).run(given)[name]).all()


class TestTargetFiles:
    """What a file says of constants that are lost."""

    TEXT = """
        title = "Small"
        [sources]
        docs = "tried"
        [[release]]
        versions = ["1.0"]
        shared_constants = {{ {0} source = "docs" }}
        """

    def test_name_operators_and_inputs(self) -> None:
        target = read_runtime("small", self.TEXT.format('alone = ["Concat", "MatMul.A"],')).targets[0]
        assert target.shared_constants is not None
        assert target.shared_constants.places == ["Concat", "MatMul.A"]

    @pytest.mark.parametrize(
        ("said", "fault"),
        [
            ("", "names no place"),
            ('alone = "Concat",', "alone is a list of names"),
            ('weights = ["Concat"],', "unknown key 'weights'"),
        ],
    )
    def test_that_say_less_are_rejected(self, said: str, fault: str) -> None:
        with pytest.raises(TargetFileError, match=fault):
            read_runtime("small", self.TEXT.format(said))

    def test_state_where_it_was_measured(self) -> None:
        for name in ("opencv==4.5", "opencv==4.14", "openvino==2021.4"):
            assert "measured" in find_target(name).sources["shared_constants"]


class TestProducers:
    """OpenCV reads `count_include_pad` of no AveragePool whose model names PyTorch as its producer."""

    TEXT = "g (float[1,1,4,4] x) => (float[1,1,4,4] y) {{ y = {0} (x) }}"
    POOL = "AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 0>"

    @pytest.mark.parametrize(
        ("runtime", "operator", "producer"),
        [
            ("opencv==4.5", POOL, ""),
            ("opencv==4.14", POOL, ""),
            ("opencv==4.14", "Relu", "pytorch"),
            ("openvino==2021.4", POOL, "pytorch"),
        ],
    )
    def test_the_name_is_removed_where_it_matters(self, runtime: str, operator: str, producer: str) -> None:
        before = model(f"{HEAD} {self.TEXT.format(operator)}")
        before.producer_name = "pytorch"
        found = convert(before, target=runtime)
        assert found.model.producer_name == producer
        assert any("removed the producer name 'pytorch'" in note for note in found.report.notes) is not bool(producer)
