"""Loading, checking and saving model files: what is kept, what is copied, and that it is all or nothing."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from opsetlift import convert
from opsetlift.cli import main
from opsetlift.model.files import (
    ModelFileError,
    ResultRejected,
    check_model,
    load_model,
    save_model,
    saving,
    validate_model,
    validated,
)
from testing.small_models import externalise, minimum_model, model_of, nested_model, weighted_model

LOSSLESS_EXTENSIONS = [".onnx", ".pb", ".textproto", ".txtpb", ".pbtxt", ".prototxt", ".json", ".onnxjson", ""]
TEXTUAL_EXTENSIONS = [".onnxtxt", ".onnxtext"]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestForms:
    @pytest.mark.parametrize("extension", LOSSLESS_EXTENSIONS)
    def test_a_model_comes_back_as_it_was(self, tmp_path: Path, extension: str) -> None:
        model = weighted_model()
        save_model(model, tmp_path / f"model{extension}")
        assert load_model(tmp_path / f"model{extension}") == model

    @pytest.mark.parametrize("extension", LOSSLESS_EXTENSIONS + TEXTUAL_EXTENSIONS)
    def test_what_is_saved_is_what_onnx_loads(self, tmp_path: Path, extension: str) -> None:
        model = weighted_model()
        save_model(model, tmp_path / f"model{extension}")
        loaded = onnx.load(tmp_path / f"model{extension}")
        assert [node.op_type for node in loaded.graph.node] == ["Min", "ReduceMin"]
        weight = numpy_helper.to_array(loaded.graph.initializer[0])
        assert weight.tobytes() == numpy_helper.to_array(model.graph.initializer[0]).tobytes()

    @pytest.mark.parametrize("extension", LOSSLESS_EXTENSIONS + TEXTUAL_EXTENSIONS)
    def test_what_onnx_saves_can_be_loaded(self, tmp_path: Path, extension: str) -> None:
        onnx.save(weighted_model(), tmp_path / f"model{extension}")
        assert validate_model(load_model(tmp_path / f"model{extension}")) == []

    def test_the_textual_form_is_refused_where_it_would_lose_something(self, tmp_path: Path) -> None:
        model = minimum_model()
        model.graph.node[0].doc_string = "the textual form has no place for this"
        with pytest.raises(ModelFileError, match=r"textual form cannot hold all of this model"):
            save_model(model, tmp_path / "model.onnxtxt")
        assert files_in(tmp_path) == {}


class TestExternalData:
    def test_weights_stay_outside(self, tmp_path: Path) -> None:
        onnx.save(externalise(weighted_model(), tmp_path), tmp_path / "model.onnx")
        tensor = load_model(tmp_path / "model.onnx").graph.initializer[0]
        assert tensor.data_location == TensorProto.EXTERNAL
        assert not tensor.HasField("raw_data")

    def test_a_model_of_more_than_two_gigabytes_is_loaded_checked_and_saved(self, tmp_path: Path) -> None:
        model = weighted_model()
        model.graph.initializer[0].dims[:] = [1, 3 * 2**30 // 4]
        externalise(model, tmp_path)
        entries = {entry.key: entry for entry in model.graph.initializer[0].external_data}
        entries["length"].value = str(3 * 2**30)
        os.truncate(tmp_path / "weights.bin", 3 * 2**30)  # sparse: takes no room
        onnx.save(model, tmp_path / "model.onnx")
        loaded = load_model(tmp_path / "model.onnx")
        validate_model(loaded)
        check_model(loaded, tmp_path)
        save_model(loaded, tmp_path / "copy.onnx", source_dir=tmp_path)
        copied = tmp_path / "copy.onnx.opsetlift-1.data"
        assert copied.stat().st_size == 3 * 2**30
        assert copied.stat().st_blocks < 100  # still sparse
        reference = load_model(tmp_path / "copy.onnx").graph.initializer[0].external_data[0]
        assert reference.value == copied.name

    def test_is_copied_to_the_output_folder(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        source.mkdir()
        target.mkdir()
        model = externalise(weighted_model(), source, "parts/weights.bin", prefix=b"others'")
        save_model(model, target / "model.onnx", source_dir=source)
        assert set(files_in(target)) == {"model.onnx", "parts/weights.bin"}
        weight = numpy_helper.to_array(onnx.load(target / "model.onnx").graph.initializer[0])
        assert weight.ravel().tolist() == [0, 1, 2, 3, 4, 5]

    def test_is_left_alone_in_the_same_folder(self, tmp_path: Path) -> None:
        model = externalise(weighted_model(), tmp_path)
        before = (tmp_path / "weights.bin").stat()
        assert save_model(model, tmp_path / "model.onnx", source_dir=tmp_path) == [tmp_path / "model.onnx"]
        assert (tmp_path / "weights.bin").stat() == before

    def test_two_models_never_share_data(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        source.mkdir()
        target.mkdir()
        model = externalise(weighted_model(), source)
        save_model(model, target / "first.onnx", source_dir=source)
        own = target / "second.onnx.opsetlift-1.data"
        assert save_model(model, target / "second.onnx", source_dir=source) == [target / "second.onnx", own]
        (target / "weights.bin").unlink()
        assert numpy_helper.to_array(onnx.load(target / "second.onnx").graph.initializer[0]).sum() == 15

    def test_other_data_in_the_output_folder_is_not_overwritten(self, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        source.mkdir()
        target.mkdir()
        (target / "weights.bin").write_bytes(b"of another model")
        model = externalise(weighted_model(), source)
        save_model(model, target / "model.onnx", source_dir=source, overwrite=True)
        assert set(files_in(target)) == {"model.onnx", "model.onnx.opsetlift-1.data", "weights.bin"}
        assert (target / "weights.bin").read_bytes() == b"of another model"
        assert numpy_helper.to_array(onnx.load(target / "model.onnx").graph.initializer[0]).sum() == 15

    def test_is_not_overwritten_by_the_model_that_needs_it(self, tmp_path: Path) -> None:
        model = externalise(weighted_model(), tmp_path)
        before = files_in(tmp_path)
        with pytest.raises(ModelFileError, match="external data"):
            save_model(model, tmp_path / "weights.bin", source_dir=tmp_path, overwrite=True)
        assert files_in(tmp_path) == before

    def test_is_not_written_through_a_link_out_of_the_output_folder(self, tmp_path: Path) -> None:
        source, target, elsewhere = tmp_path / "source", tmp_path / "target", tmp_path / "elsewhere"
        for folder in (source, target, elsewhere):
            folder.mkdir()
        (target / "parts").symlink_to(elsewhere)
        model = externalise(weighted_model(), source, "parts/weights.bin")
        save_model(model, target / "model.onnx", source_dir=source)
        assert files_in(elsewhere) == {}
        assert numpy_helper.to_array(onnx.load(target / "model.onnx").graph.initializer[0]).sum() == 15

    def test_needs_the_folder_that_it_lies_in(self, tmp_path: Path) -> None:
        model = externalise(weighted_model(), tmp_path)
        with pytest.raises(ModelFileError, match="give the folder that contains it"):
            save_model(model, tmp_path / "model.onnx")

    def test_takes_the_weights_of_a_model_too_large_for_one_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model = weighted_model()
        large = numpy.arange(3000, dtype=numpy.float32).reshape(1000, 3)
        model.graph.initializer.append(numpy_helper.from_array(large, "large"))
        model.graph.initializer.append(helper.make_tensor("typed", TensorProto.INT64, [500], range(500)))
        before = model.SerializeToString()
        monkeypatch.setattr(saving, "PROTOBUF_LIMIT", saving._ROOM_FOR_THE_REST + 1000)
        written = save_model(model, tmp_path / "model.onnx")
        assert written == [tmp_path / "model.onnx", tmp_path / "model.onnx.data"]
        assert model.SerializeToString() == before
        assert (tmp_path / "model.onnx").stat().st_size < 1000
        loaded = {t.name: numpy_helper.to_array(t) for t in onnx.load(tmp_path / "model.onnx").graph.initializer}
        assert loaded["large"].tobytes() == large.tobytes()
        assert loaded["typed"].tolist() == list(range(500))
        validate_model(load_model(tmp_path / "model.onnx"))


class TestAllOrNothing:
    def test_an_existing_file_stays_unless_it_may_be_overwritten(self, tmp_path: Path) -> None:
        (tmp_path / "model.onnx").write_bytes(b"something else")
        with pytest.raises(ModelFileError, match="this file exists"):
            save_model(minimum_model(), tmp_path / "model.onnx")
        assert files_in(tmp_path) == {"model.onnx": b"something else"}
        save_model(minimum_model(), tmp_path / "model.onnx", overwrite=True)
        assert load_model(tmp_path / "model.onnx") == minimum_model()

    @pytest.mark.parametrize("failing", ["weights.bin", "proof.json", "model.onnx"])
    def test_a_failing_move_puts_everything_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
    ) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        source.mkdir()
        target.mkdir()
        model = externalise(weighted_model(), source, "a/b/weights.bin")
        before = {"model.onnx": b"old model", "proof.json": b"old proof"}
        for name, content in before.items():
            (target / name).write_bytes(content)
        failed = []

        def failing_once(move: Callable[..., None]) -> Callable[..., None]:
            def moved(one: Path, other: Path) -> None:
                if Path(other).name == failing and len(failed) < 2:  # a link, and what is done where there are none
                    failed.append(other)
                    raise OSError(28, "No space left on device")
                move(one, other)

            return moved

        monkeypatch.setattr(os, "replace", failing_once(os.replace))
        monkeypatch.setattr(os, "link", failing_once(os.link))
        if failing != "weights.bin":
            failed.append("the only way")
        with pytest.raises(ModelFileError, match="no space left on device"):
            save_model(
                model,
                target / "model.onnx",
                source_dir=source,
                overwrite=True,
                beside={target / "proof.json": b"new proof"},
            )
        assert {str(path.relative_to(target)) for path in target.rglob("*")} == set(before)
        assert files_in(target) == before

    def test_what_goes_with_the_model_is_written_with_it(self, tmp_path: Path) -> None:
        save_model(minimum_model(), tmp_path / "model.onnx", beside={tmp_path / "proof.json": b"{}"})
        assert set(files_in(tmp_path)) == {"model.onnx", "proof.json"}

    def test_the_file_gets_ordinary_permissions(self, tmp_path: Path) -> None:
        (tmp_path / "ordinary").touch()
        save_model(minimum_model(), tmp_path / "model.onnx")
        assert (tmp_path / "model.onnx").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


class TestValidation:
    def test_conflicting_imports_are_noted_and_the_last_wins(self) -> None:
        model = minimum_model(opset=13)
        model.opset_import.add(domain="ai.onnx", version=11)
        assert validate_model(model) == [
            "the model imports ai.onnx at opsets 13 and 11; the last one, 11, was used, as in onnxruntime"
        ]

    def test_equal_imports_in_both_spellings_are_no_conflict(self) -> None:
        model = minimum_model(opset=13)
        model.opset_import.add(domain="ai.onnx", version=13)
        assert validate_model(model) == []

    @pytest.mark.parametrize(("opset", "own"), [(13, 11), (11, 13)])
    def test_a_function_whose_operators_are_others_at_the_opset_of_the_model_is_noted(
        self, opset: int, own: int
    ) -> None:
        model = onnx.parser.parse_model(
            f"""<ir_version: 8, opset_import: ["": {opset}, "f": 1]>
            g (float[2, 3] x) => (float[2, 3] y) {{ y = f.S (x) }}
            <domain: "f", opset_import: ["": {own}]> S (a) => (b) {{ c = Softplus (a) b = Softmax (c) }}"""
        )
        (note,) = validate_model(model)
        assert note == (
            f"function 'S' imports ai.onnx at opset {own}, which was used; "
            f"onnxruntime takes the model's, {opset}, where Softmax has another definition"
        )
        assert note in convert(model, to=15).report.notes

    def test_a_function_whose_operators_are_the_same_at_the_opset_of_the_model_is_not_noted(self) -> None:
        model = onnx.parser.parse_model(
            """<ir_version: 8, opset_import: ["": 15, "f": 1]> g (float[2, 3] x) => (float[2, 3] y) { y = f.S (x) }
            <domain: "f", opset_import: ["": 13]> S (a) => (b) { c = Softplus (a) b = Softmax (c) }"""
        )
        assert validate_model(model) == []

    def test_nodes_may_spell_the_default_domain_out(self) -> None:
        model = minimum_model()
        model.graph.node[0].domain = "ai.onnx"
        assert validate_model(model) == []

    def test_outputs_without_a_shape_are_noted_and_taken(self) -> None:
        model = minimum_model()
        model.graph.output[0].type.tensor_type.ClearField("shape")
        assert validate_model(model) == ["the specification requires a shape (its dimensions may be unknown) for y"]
        check_model(model)

    def test_subgraphs_see_what_was_computed_before_them(self) -> None:
        model = nested_model(3)
        assert validate_model(model) == []
        check_model(model)

    def test_as_deep_as_validation_allows_can_be_written_and_read(self, tmp_path: Path) -> None:
        model = nested_model(30)
        assert validate_model(model) == []
        save_model(model, tmp_path / "model.onnx")
        assert load_model(tmp_path / "model.onnx") == model
        check_model(model)

    def test_a_long_chain_of_nodes_is_no_deep_nesting(self) -> None:
        names = ["x", *(f"v{index}" for index in range(3000)), "y"]
        nodes = [helper.make_node("Identity", [a], [b]) for a, b in itertools.pairwise(names)]
        assert validate_model(model_of(nodes)) == []
        nodes[0].input[0] = "v2999"
        with pytest.raises(ModelFileError, match=r"cycle: Identity -> .* -> \.\.\. -> "):
            validate_model(model_of(nodes))

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ("{ y = Abs (m) m = Neg (x) }", "graph"),
            (
                "{ y = If (c) <then_branch = t () => (z) { z = Abs (m) }, else_branch = e () => (k) { k = Exp (m) }> "
                "m = Neg (x) }",
                "graph",
            ),
            (
                "{ y = If (c) <then_branch = t () => (z) { z = Abs (m) m = Neg (x) }, "
                "else_branch = e () => (k) { k = Exp (x) }> }",
                "graph/0:If.then_branch",
            ),
            (
                '{ y = f.F (x) } <domain: "f", opset_import: ["": 13]> F (a) => (b) { b = Abs (m) m = Neg (a) }',
                "function:f:F",
            ),
        ],
    )
    def test_nodes_are_sorted_where_some_come_too_soon(self, tmp_path: Path, body: str, path: str) -> None:
        text = f'<ir_version: 8, opset_import: ["": 13, "f": 1]> g (float[N] x, bool c) => (float[N] y) {body}'
        source = onnx.parser.parse_model(text)
        before = source.SerializeToString()
        with pytest.raises(onnx.checker.ValidationError):
            onnx.checker.check_model(source)
        result = convert(source, to=18)
        check_model(result.model)
        assert f"the nodes of {path} were sorted: some came before those whose values they read" in result.report.notes
        assert result.certificate is not None
        assert result.certificate.is_proven
        assert source.SerializeToString() == before
        onnx.save(source, tmp_path / "in.onnx")
        command = ["convert", str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx"), "--to", "18"]
        certificate = ["--certificate", str(tmp_path / "proof.json")]
        assert main([*command, *certificate]) == 0
        assert main(["prove", *command[1:3], *certificate]) == 0
        assert main(["prove", *command[1:3]]) == 0
        assert main(["diff", command[1], command[1]]) == 0
        assert main(["inspect", command[1], "--fast"]) == 0
        assert main(["check", command[1], "--max-opset", "13"]) == 0

    def test_no_node_is_moved_further_than_it_must_be(self) -> None:
        names = [("x", "a"), ("b", "y"), ("x", "c"), ("a", "b"), ("c", "d")]
        model = model_of([helper.make_node("Abs", [one], [other], name=other) for one, other in names])
        result, _ = validated(model)
        assert [node.name for node in result.graph.node] == ["a", "c", "b", "y", "d"]


class TestChecking:
    def test_a_type_error_is_told_in_one_sentence(self) -> None:
        model = minimum_model()
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
        with pytest.raises(ModelFileError) as caught:
            check_model(model)
        assert str(caught.value) == (
            "onnx does not accept the model: ReduceMin smallest: "
            "Inferred elem type differs from existing elem type: float vs int64"
        )

    def test_an_attribute_of_another_opset_is_found(self) -> None:
        with pytest.raises(ModelFileError, match=r"axes for operator ReduceMin \(node 'smallest'\)"):
            check_model(minimum_model(opset=18))

    def test_the_original_is_blamed_for_what_it_brought_along(self) -> None:
        original, result = minimum_model(opset=18), minimum_model(opset=18)
        with pytest.raises(ModelFileError, match=r"^onnx does not accept the model: Unrecognized attribute: axes"):
            check_model(result, original=original)
        with pytest.raises(ResultRejected, match=r"^the original is valid, but the result is not: "):
            check_model(result, original=minimum_model(opset=13))

    def test_a_false_shape_of_an_output_that_only_newer_definitions_infer_is_said(self) -> None:
        result = minimum_model()
        del result.graph.output[0].type.tensor_type.shape.dim[:]
        (note,) = check_model(result, original=minimum_model())
        assert "declares a shape that differs from the inferred one" in note
        assert len(result.graph.output[0].type.tensor_type.shape.dim) == 0

    def test_false_shapes_inside_that_only_other_definitions_infer_are_forgotten(self) -> None:
        # What PyTorch writes for a tensor with fewer dimensions than repeats: the branch of other ranks declares 3.
        model = onnx.parser.parse_model(
            """<ir_version: 8, opset_import: ["": 18]> g (float[4,6] x) => (int64[N] y) {
                shape = Shape (x)
                rank = Size (shape)
                two = Constant <value = int64 {2}> ()
                missing = Sub (rank, two)
                zero = Constant <value = int64[1] {0}> ()
                is_short = Greater (missing, zero)
                repeats = Constant <value = int64[2] {2, 2}> ()
                y = If (is_short) <
                    then_branch = longer () => (int64[3] o) {
                        one = Constant <value = int64[1] {1}> ()
                        count = Reshape (missing, one)
                        ones = Expand (one, count)
                        o = Concat <axis = 0> (ones, repeats)
                    },
                    else_branch = same () => (int64[2] s) { s = Identity (repeats) }
                >
            }"""
        )
        onnx.checker.check_model(model, full_check=True)
        conversion = convert(model, to=9)
        assert conversion.certificate is not None
        assert conversion.certificate.is_proven
        onnx.checker.check_model(conversion.model, full_check=True)
        assert conversion.model.graph.output == model.graph.output

    def test_a_default_that_a_function_body_reads_is_known_to_the_checker(self) -> None:
        node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
        model = model_of([node], opset=13)
        for value in (*model.graph.input, *model.graph.output):
            value.CopyFrom(helper.make_tensor_value_info(value.name, TensorProto.FLOAT, [1, 2, 3, 4]))
        check_model(model)

    def test_weights_are_not_looked_at(self, tmp_path: Path) -> None:
        model = weighted_model()
        model.graph.initializer[0].dims[:] = [2, 3000]
        model.graph.initializer[0].raw_data = bytes(24000)
        check_model(externalise(model, tmp_path))

    def test_small_external_shapes_are_read(self, tmp_path: Path) -> None:
        shape = numpy_helper.from_array(numpy.array([2, 0, 1], dtype=numpy.int64), "shape")
        model = model_of([helper.make_node("Reshape", ["x", "shape"], ["y"])], initializers=[shape])
        externalise(model, tmp_path)
        with pytest.raises(ModelFileError, match=r"[Ii]nferred shape and existing shape differ in rank"):
            check_model(model, tmp_path)

    def test_the_model_stays_as_it_was(self) -> None:
        model = weighted_model()
        before = ModelProto.FromString(model.SerializeToString())
        check_model(model)
        assert model == before
