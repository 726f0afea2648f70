"""Files that a job reads, writes and finds: none but its own is created, replaced or removed, whenever it ends."""

from __future__ import annotations

import io
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from opsetlift import convert
from opsetlift.cli import main
from opsetlift.cli.errors import Interrupted, status_of
from opsetlift.cli.signals import raised_as_exceptions
from opsetlift.model.files import ModelFileError, load_model, neighbours, save_model, temporary
from opsetlift.model.files.neighbours import mentioned
from opsetlift.model.files.temporary import Temporary, remove_leftovers
from testing.small_models import externalise, minimum_model, model_of, weighted_model
from tests.test_bad_input import snapshot

ROOT = Path(__file__).parents[1]


def with_weights(folder: Path, name: str, *, value: float, location: str = "ext.data") -> Path:
    """A model file with a 2x3 weight in a data file of its folder, all elements of one value."""
    folder.mkdir(exist_ok=True)
    model = weighted_model()
    model.graph.initializer[0].raw_data = numpy.full((2, 3), value, numpy.float32).tobytes()
    onnx.save(externalise(model, folder, location), folder / name)
    return folder / name


def value_in(path: Path) -> float:
    """The value that `with_weights` gave a model; onnx reads it, links and all."""
    (value,) = set(numpy_helper.to_array(onnx.load(path).graph.initializer[0]).ravel().tolist())
    return float(value)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def run(*arguments: object) -> int:
    return main(["convert", *map(str, arguments), "--to", "18", "--no-prove"])


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("converter", "rules"))}


class TestNeighbours:
    @pytest.mark.parametrize("force", [[], ["--force"]])
    def test_a_neighbours_weights_stay_where_names_clash(self, tmp_path: Path, force: list[str]) -> None:
        with_weights(tmp_path / "d", "e.onnx", value=1)
        source = with_weights(tmp_path / "other", "m.onnx", value=2)
        before = snapshot(tmp_path / "d")
        assert run(source, tmp_path / "d/m.onnx", *force) == 0
        assert {name: snapshot(tmp_path / "d")[name] for name in before} == before
        assert (value_in(tmp_path / "d/e.onnx"), value_in(tmp_path / "d/m.onnx")) == (1, 2)
        assert names(tmp_path / "d") == {"e.onnx", "ext.data", "m.onnx", "m.onnx.opsetlift-1.data"}

    def test_equal_weights_of_a_neighbour_are_not_shared(self, tmp_path: Path) -> None:
        source = with_weights(tmp_path / "other", "m.onnx", value=1)
        with_weights(tmp_path / "d", "e.onnx", value=1)
        assert run(source, tmp_path / "d/m.onnx") == 0
        (tmp_path / "d/ext.data").write_bytes(bytes(24))
        assert value_in(tmp_path / "d/m.onnx") == 1

    @pytest.mark.parametrize("target", ["d/ext.data", "d/EXT.link"])
    def test_a_neighbours_data_is_no_target(
        self, tmp_path: Path, target: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with_weights(tmp_path / "d", "e.onnx", value=1)
        (tmp_path / "d/EXT.link").symlink_to("ext.data")
        onnx.save(minimum_model(), tmp_path / "in.onnx")
        before = snapshot(tmp_path)
        assert run(tmp_path / "in.onnx", tmp_path / target, "--force") == 1
        assert "external data of 'e.onnx'" in capsys.readouterr().err
        with pytest.raises(ModelFileError, match=r"external data of 'e\.onnx'"):
            save_model(minimum_model(), tmp_path / target, overwrite=True)
        beside = {tmp_path / target: b"{}"}
        with pytest.raises(ModelFileError, match=r"external data of 'e\.onnx'"):
            save_model(minimum_model(), tmp_path / "out.onnx", overwrite=True, beside=beside)
        assert snapshot(tmp_path) == before

    @pytest.mark.parametrize("form", [".onnx", ".json", ".textproto"])
    def test_data_that_a_model_in_a_folder_above_has_is_no_target(self, tmp_path: Path, form: str) -> None:
        model = externalise(weighted_model(), tmp_path, "d/weights.bin")
        onnx.save(model, tmp_path / f"above{form}")
        with pytest.raises(ModelFileError, match="external data of 'above"):
            save_model(minimum_model(), tmp_path / "d/weights.bin", overwrite=True)

    def test_repeated_runs_leave_no_data_behind(self, tmp_path: Path) -> None:
        target = tmp_path / "d/m.onnx"
        with_weights(tmp_path / "d", "e.onnx", value=0)
        for number in range(1, 6):
            source = with_weights(tmp_path / "other", "m.onnx", value=number)
            assert run(source, target, "--force") == 0
            assert value_in(target) == number
            assert len(names(tmp_path / "d")) == 4
        before = snapshot(tmp_path)
        assert run(source, target, "--force") == 0
        assert snapshot(tmp_path) == before

    def test_data_that_nobody_else_has_is_kept_where_it_is_equal(self, tmp_path: Path) -> None:
        source = with_weights(tmp_path / "other", "m.onnx", value=1)
        for _ in range(2):
            assert run(source, tmp_path / "out.onnx", "--force") == 0
            assert names(tmp_path) == {"other/m.onnx", "other/ext.data", "out.onnx", "ext.data"}

    @pytest.mark.parametrize("copied", ["backup.onnx", "backup.json", "../backup.onnx"])
    def test_old_data_that_a_copy_of_the_old_model_has_stays(self, tmp_path: Path, copied: str) -> None:
        target = tmp_path / "d/m.onnx"
        with_weights(tmp_path / "d", "e.onnx", value=0)
        assert run(with_weights(tmp_path / "other", "m.onnx", value=1), target) == 0
        backup = onnx.load(target, load_external_data=False)
        if copied.startswith(".."):
            backup.graph.initializer[0].external_data[0].value = "d/m.onnx.opsetlift-1.data"
        onnx.save(backup, tmp_path / "d" / copied)
        for value in (2, 3, 4):
            assert run(with_weights(tmp_path / "other", "m.onnx", value=value), target, "--force") == 0
            assert (value_in(tmp_path / "d" / copied), value_in(target)) == (1, value)
        assert len([name for name in names(tmp_path / "d") if "opsetlift" in name]) == 2

    def test_old_data_with_another_name_stays(self, tmp_path: Path) -> None:
        target = tmp_path / "d/m.onnx"
        with_weights(tmp_path / "d", "e.onnx", value=0)
        assert run(with_weights(tmp_path / "other", "m.onnx", value=1), target) == 0
        (tmp_path / "d/kept.bin").symlink_to("m.onnx.opsetlift-1.data")
        assert run(with_weights(tmp_path / "other", "m.onnx", value=2), target, "--force") == 0
        assert (tmp_path / "d/kept.bin").read_bytes() == numpy.ones(6, numpy.float32).tobytes()

    def test_old_data_that_is_not_named_for_the_model_stays(self, tmp_path: Path) -> None:
        with_weights(tmp_path / "d", "m.onnx", value=1, location="model.safetensors")
        before = (tmp_path / "d/model.safetensors").read_bytes()
        assert run(with_weights(tmp_path / "other", "m.onnx", value=2), tmp_path / "d/m.onnx", "--force") == 0
        assert (tmp_path / "d/model.safetensors").read_bytes() == before

    def test_weights_that_look_like_text_mention_nothing_and_models_do(self, tmp_path: Path) -> None:
        numpy.zeros(5000, numpy.float32).tofile(tmp_path / "weights.bin")
        (tmp_path / "zeros.bin").write_bytes(bytes(5000) + b"weights.bin")
        assert mentioned(["weights.bin"], tmp_path, apart_from=tmp_path / "m.onnx") == set()
        onnx.save(externalise(weighted_model(), tmp_path / "other", "weights.bin"), tmp_path / "e.onnx")
        assert mentioned(["weights.bin"], tmp_path, apart_from=tmp_path / "m.onnx") == {"weights.bin"}

    def test_a_mention_across_the_border_of_two_reads_is_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        onnx.save(externalise(weighted_model(), tmp_path), tmp_path / "e.onnx")
        for size in range(1, 40):
            monkeypatch.setattr("opsetlift.model.files.neighbours._CHUNK", size)
            assert mentioned(["weights.bin"], tmp_path, apart_from=tmp_path / "m.onnx") == {"weights.bin"}


class TestOneFileForOneRole:
    """Every role that is read against every role that is written, by every name that leads to a file."""

    @pytest.fixture
    def workplace(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        with_weights(tmp_path / "d", "in.onnx", value=1, location="parts/w.bin")
        (tmp_path / "mine.toml").write_text((ROOT / "converter/opsetlift/targets/opencv.toml").read_text())
        (tmp_path / "d/old.onnx").write_bytes(b"old")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    @pytest.mark.quick_share(4)
    @pytest.mark.parametrize("command", ["convert", "normalize", "certificate"])
    @pytest.mark.parametrize("spelling", ["plain", "absolute", "dots", "symbolic link", "hard link", "linked folder"])
    @pytest.mark.parametrize("source", ["d/in.onnx", "d/parts/w.bin", "mine.toml"])
    def test_what_is_read_is_never_written(
        self, workplace: Path, source: str, spelling: str, command: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = Path(source)
        if spelling == "absolute":
            path = path.absolute()
        elif spelling == "dots":
            path = Path("d/parts/../..") / path
        elif spelling == "symbolic link":
            Path("link").symlink_to(path)
            path = Path("link")
        elif spelling == "hard link":
            Path("link").hardlink_to(path)
            path = Path("link")
        elif spelling == "linked folder":
            Path("folder").symlink_to(path.parent)
            path = Path("folder") / path.name
        before = snapshot(workplace)
        if command == "normalize":
            arguments = ["normalize", "d/in.onnx", str(path), "--for", "mine.toml", "--force"]
        elif command == "convert":
            arguments = ["convert", "d/in.onnx", str(path), "--for", "mine.toml", "--force"]
        else:
            arguments = ["convert", "d/in.onnx", "out.onnx", "--for", "mine.toml", "--force", f"--certificate={path}"]
        assert main(arguments) == 1
        assert len(capsys.readouterr().err.splitlines()) == 1
        assert snapshot(workplace) == before

    @pytest.mark.parametrize("certificate", ["out.onnx", "./d/../out.onnx", "OUT.onnx", "link.onnx"])
    def test_two_targets_are_two_files(self, workplace: Path, certificate: str) -> None:
        Path("link.onnx").symlink_to("out.onnx")
        before = snapshot(workplace)
        assert main(["convert", "d/in.onnx", "out.onnx", "--to", "18", "--force", "--certificate", certificate]) == 1
        assert snapshot(workplace) == before

    def test_a_certificate_where_the_data_would_go_moves_the_data(self, workplace: Path) -> None:
        Path("parts").mkdir()
        arguments = ["convert", "d/in.onnx", "out.onnx", "--to", "18", "--certificate", "parts/W.bin"]
        assert main(arguments) == 0
        assert Path("parts/W.bin").read_bytes().startswith(b"{")
        assert value_in(Path("out.onnx")) == 1
        assert main(["prove", "d/in.onnx", "out.onnx", "--certificate", "parts/W.bin"]) == 0

    def test_a_certificate_over_the_data_of_the_old_output_is_refused(self, workplace: Path) -> None:
        with_weights(workplace / "out", "m.onnx", value=1, location="w.bin")
        before = snapshot(workplace)
        arguments = ["convert", "d/in.onnx", "out/m.onnx", "--to", "18", "--force", "--certificate", "out/w.bin"]
        assert main(arguments) == 1
        assert snapshot(workplace) == before

    @pytest.mark.parametrize("target", ["d/parts/out.onnx", "d/out.onnx", "d/parts/w.onnx", "d/parts/parts"])
    def test_the_output_may_lie_among_the_inputs_files(self, workplace: Path, target: str) -> None:
        before = snapshot(workplace)
        assert run("d/in.onnx", target) == 0
        assert {name: snapshot(workplace)[name] for name in before} == before
        assert value_in(Path(target)) == 1

    def test_the_output_may_have_the_name_of_the_data(self, workplace: Path) -> None:
        source = with_weights(workplace / "e", "in.onnx", value=3, location="out.onnx")
        Path("f").mkdir()
        assert run(source, "f/out.onnx") == 0
        assert value_in(Path("f/out.onnx")) == 3

    def test_names_that_differ_by_case_alone_are_one(self, workplace: Path) -> None:
        model = model_of(
            [helper.make_node("Min", ["x", "a", "b"], ["y"])],
            initializers=[
                numpy_helper.from_array(numpy.full((2, 3), v, numpy.float32), n) for v, n in ((1, "a"), (2, "b"))
            ],
        )
        for tensor, location in zip(model.graph.initializer, ("w.bin", "W.bin"), strict=True):
            Path(location).write_bytes(tensor.raw_data)
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=location)
        onnx.save(model, "two.onnx")
        assert run("two.onnx", "f.onnx") == 0
        Path("g").mkdir()
        assert run("two.onnx", "g/f.onnx") == 0
        assert names(Path("g")) == {"W.bin", "f.onnx", "f.onnx.opsetlift-1.data"}
        for path in ("f.onnx", "g/f.onnx"):
            found = [numpy_helper.to_array(tensor).max() for tensor in onnx.load(path).graph.initializer]
            assert found == [1, 2]

    def test_an_existing_file_of_another_case_is_another_file(self, workplace: Path) -> None:
        assert run("d/in.onnx", "d/IN.onnx") == 0
        assert value_in(Path("d/IN.onnx")) == 1


class TestWhatIsReplaced:
    def test_a_link_to_a_file_is_followed(self, tmp_path: Path) -> None:
        onnx.save(minimum_model(), tmp_path / "in.onnx")
        (tmp_path / "store").mkdir()
        (tmp_path / "store/real.onnx").write_bytes(b"old")
        (tmp_path / "out.onnx").symlink_to("store/real.onnx")
        assert run(tmp_path / "in.onnx", tmp_path / "out.onnx") == 1
        assert run(tmp_path / "in.onnx", tmp_path / "out.onnx", "--force") == 0
        assert (tmp_path / "out.onnx").is_symlink()
        assert onnx.load(tmp_path / "store/real.onnx").opset_import[0].version == 18

    def test_data_is_not_put_beside_what_a_link_leads_to(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source = with_weights(tmp_path / "d", "in.onnx", value=1)
        (tmp_path / "store").mkdir()
        (tmp_path / "store/real.onnx").write_bytes(b"old")
        (tmp_path / "out.onnx").symlink_to("store/real.onnx")
        before = snapshot(tmp_path)
        assert run(source, tmp_path / "out.onnx", "--force") == 1
        assert "link to another folder" in capsys.readouterr().err
        assert snapshot(tmp_path) == before

    @pytest.mark.parametrize(
        ("option", "name"),
        [
            *itertools.product(["certificate", "report"], ["mine.onnx", "mine.json", "mine.onnxtxt", "link.json"]),
            *itertools.product(["summary"], ["mine.json", "link.json"]),
        ],
    )
    def test_a_model_is_replaced_by_nothing_but_a_model(
        self, tmp_path: Path, name: str, option: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "in").mkdir()
        onnx.save(minimum_model(), tmp_path / "in/in.onnx")
        for form in ("onnx", "json", "onnxtxt"):
            onnx.save(minimum_model(), tmp_path / f"mine.{form}", format=None if form == "onnx" else form)
        (tmp_path / "link.json").symlink_to("mine.onnx")
        files = ["in", "out"] if option == "summary" else ["in/in.onnx", "out.onnx"]
        command = ["convert", *(tmp_path / one for one in files)]
        before = snapshot(tmp_path)
        assert main([*map(str, command), "--to", "18", "--force", f"--{option}", str(tmp_path / name)]) == 1
        assert f"this is a model; choose another file for the {option}" in capsys.readouterr().err
        assert snapshot(tmp_path) == before

    @pytest.mark.parametrize("kind", ["folder", "fifo", "device", "dangling", "loop", "link to fifo", "link to folder"])
    @pytest.mark.parametrize("role", ["model", "certificate"])
    def test_nothing_but_regular_files_is_replaced(
        self, tmp_path: Path, kind: str, role: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        onnx.save(minimum_model(), tmp_path / "in.onnx")
        path = tmp_path / "out"
        if kind.endswith("folder"):
            (tmp_path / "real").mkdir()
        if kind.endswith("fifo"):
            os.mkfifo(tmp_path / "real")
        goals = {"device": "/dev/null", "dangling": "gone", "loop": "out"}
        path.symlink_to(goals.get(kind, "real"))
        if not kind.startswith("link") and kind in ("folder", "fifo"):
            path = tmp_path / "real"
        before = snapshot(tmp_path)
        if role == "model":
            assert run(tmp_path / "in.onnx", path, "--force") == 1
        else:
            arguments = [tmp_path / "in.onnx", tmp_path / "new.onnx", "--to", "18", "--force", "--certificate", path]
            assert main(["convert", *map(str, arguments)]) == 1
        assert len(capsys.readouterr().err.splitlines()) == 1
        assert snapshot(tmp_path) == before

    @pytest.mark.parametrize("there", ["folder", "link to nowhere", "file at the place of its folder"])
    def test_data_goes_elsewhere_where_its_place_is_taken(self, tmp_path: Path, there: str) -> None:
        source = with_weights(tmp_path / "d", "in.onnx", value=1, location="parts/w.bin")
        target = tmp_path / "e"
        target.mkdir()
        if there == "folder":
            (target / "parts/w.bin").mkdir(parents=True)
        elif there == "link to nowhere":
            (target / "parts").mkdir()
            (target / "parts/w.bin").symlink_to("../nowhere")
        else:
            (target / "parts").write_bytes(b"somebody's")
        before = snapshot(target)
        assert run(source, target / "out.onnx", "--force") == 0
        assert value_in(target / "out.onnx") == 1
        assert names(target) - before.keys() == {"out.onnx", "out.onnx.opsetlift-1.data"}
        assert {name: snapshot(target)[name] for name in before} == before

    @pytest.mark.parametrize("kind", ["symbolic", "hard"])
    def test_linked_data_is_read_by_every_command(self, tmp_path: Path, kind: str) -> None:
        source = with_weights(tmp_path / "d", "in.onnx", value=1)
        (tmp_path / "d/ext.data").rename(tmp_path / "d/real.data")
        if kind == "hard":
            (tmp_path / "d/ext.data").hardlink_to(tmp_path / "d/real.data")
        else:
            (tmp_path / "d/ext.data").symlink_to("real.data")
        before = snapshot(tmp_path / "d")
        assert main(["convert", str(source), str(tmp_path / "c.onnx"), "--to", "18"]) == 0
        assert main(["normalize", str(source), str(tmp_path / "n.onnx"), "--passes", "fold-constants"]) == 0
        assert main(["normalize", str(source), str(tmp_path / "d/n.onnx")]) == 0
        assert main(["prove", str(source), str(tmp_path / "c.onnx")]) == 0
        assert snapshot(tmp_path / "d").items() >= before.items()
        assert (tmp_path / "ext.data").stat().st_nlink == 1
        for written in ("c.onnx", "n.onnx", "d/n.onnx"):
            assert value_in(tmp_path / written) == 1

    def test_names_that_are_no_text_are_written(self, tmp_path: Path) -> None:
        source = with_weights(tmp_path / "d", "in.onnx", value=1)
        with_weights(tmp_path / "e", "other.onnx", value=2)
        target = tmp_path / "e" / os.fsdecode(b"caf\xe9.onnx")
        for _ in range(2):
            assert run(source, target, "--force") == 0
            assert len(names(tmp_path / "e")) == 4
        model = load_model(target)
        assert model.graph.initializer[0].external_data[0].value == "model.opsetlift-1.data"

    def test_a_working_folder_that_is_gone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "gone").mkdir()
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        assert run("in.onnx", tmp_path / "out.onnx") == 1
        assert "the file cannot be read" in capsys.readouterr().err

    def test_long_names_are_written(self, tmp_path: Path) -> None:
        source = with_weights(tmp_path / "d", "in.onnx", value=1)
        with_weights(tmp_path / "e", "other.onnx", value=2)
        target = tmp_path / "e" / ("é" * 120 + ".onnx")
        assert run(source, target) == 0
        assert value_in(target) == 1

    @pytest.mark.parametrize("name", ["a..b.onnx", "..onnx", "out.onnx.", "a" * 149 + "..onnx", "\udcff.onnx", "..."])
    @pytest.mark.parametrize("location", ["ext.data", "a..b"])
    def test_onnx_reads_the_data_whatever_the_models_name_is(self, tmp_path: Path, name: str, location: str) -> None:
        source = with_weights(tmp_path / "d", "in.onnx", value=1, location=location)
        with_weights(tmp_path / "e", "other.onnx", value=2)
        target = tmp_path / "e" / name
        assert run(source, target) == 0
        assert value_in(target) == 1

    def test_data_is_not_copied_to_the_name_of_a_temporary_file(self, tmp_path: Path) -> None:
        (tmp_path / "e").mkdir()
        name = Temporary(tmp_path).path.name
        source = with_weights(tmp_path / "d", "in.onnx", value=1, location=name)
        assert run(source, tmp_path / "e/out.onnx") == 0
        remove_leftovers(tmp_path / "e")
        assert value_in(tmp_path / "e/out.onnx") == 1

    def test_data_that_shrank_or_changed_since_it_was_read_ends_it(self, tmp_path: Path) -> None:
        from opsetlift.cli.files import CommandFiles

        source = with_weights(tmp_path / "d", "in.onnx", value=1)
        (tmp_path / "e").mkdir()
        for content in (bytes(23), numpy.full(6, 7, numpy.float32).tobytes()):
            with_weights(tmp_path / "d", "in.onnx", value=1)
            files = CommandFiles(source, tmp_path / "e/out.onnx")
            time.sleep(0.02)
            (tmp_path / "d/ext.data").write_bytes(content)
            with pytest.raises(ModelFileError, match="has changed since the model was read"):
                files.write(files.read(), None)
            assert names(tmp_path / "e") == set()
        model = load_model(with_weights(tmp_path / "d", "in.onnx", value=1))
        os.truncate(tmp_path / "d/ext.data", 23)
        with pytest.raises(ModelFileError, match="has 23 bytes, the model needs 24"):
            save_model(model, tmp_path / "e/out.onnx", source_dir=tmp_path / "d")
        assert names(tmp_path / "e") == set()

    def test_a_link_in_the_place_of_data_is_other_data(self, tmp_path: Path) -> None:
        from opsetlift.cli.files import CommandFiles

        source = with_weights(tmp_path / "d", "in.onnx", value=1)
        with_weights(tmp_path / "d", "other.onnx", value=2, location="other.data")
        (tmp_path / "e").mkdir()
        files = CommandFiles(source, tmp_path / "e/out.onnx")
        (tmp_path / "d/ext.data").unlink()
        (tmp_path / "d/ext.data").symlink_to("other.data")
        with pytest.raises(ModelFileError, match="has changed since the model was read"):
            files.write(files.read(), None)
        assert names(tmp_path / "e") == set()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_that_may_not_be_written_to(self, tmp_path: Path) -> None:
        onnx.save(minimum_model(), tmp_path / "in.onnx")
        (tmp_path / "closed").mkdir(mode=0o500)
        assert run(tmp_path / "in.onnx", tmp_path / "closed/out.onnx") == 1

    def test_in_python_it_is_the_same(self, tmp_path: Path) -> None:
        """Converted in place: the old data may be another model's, too."""
        source = with_weights(tmp_path / "d", "in.onnx", value=1)
        with_weights(tmp_path / "d", "other.onnx", value=1)
        converted = convert(source, to=18).model
        with pytest.raises(ModelFileError, match=r"this is external data of"):
            save_model(converted, tmp_path / "d/ext.data", source_dir=tmp_path / "d", overwrite=True)
        save_model(converted, source, source_dir=tmp_path / "d", overwrite=True)
        assert (value_in(source), value_in(tmp_path / "d/other.onnx")) == (1, 1)
        assert len(names(tmp_path / "d")) == 4


class TestKilled:
    """A process that is gone at any point leaves the old pair or the new one, and the next run cleans up after it."""

    CALLS = ("replace", "link", "unlink", "fsync", "mkdir", "rmdir")

    def killed_before(self, number: int, job: Callable[[], object]) -> bool:
        """Run a job in a process that ends right before so many calls of the system; False where it came to its end."""
        child = os.fork()
        if not child:
            try:
                calls = itertools.count(1)
                for name in self.CALLS:
                    self._let_end(name, calls, number)
                job()
            finally:
                os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77

    @staticmethod
    def _let_end(name: str, calls: itertools.count[int], number: int) -> None:
        function = getattr(os, name)

        def called(*arguments: object, **options: object) -> object:
            if next(calls) == number:
                os._exit(77)
            return function(*arguments, **options)

        setattr(os, name, called)

    @pytest.mark.slow
    @pytest.mark.parametrize("old", ["none", "with its own data", "with data of another name"])
    @pytest.mark.parametrize("neighbour", [True, False])
    def test_at_every_point(self, tmp_path: Path, old: str, neighbour: bool) -> None:
        source = with_weights(tmp_path / "new", "m.onnx", value=2, location="parts/w.bin")
        model = load_model(source)
        for number in itertools.count(1):
            folder = tmp_path / f"d{number}"
            folder.mkdir()
            target, certificate = folder / "m.onnx", folder / "proof.json"
            if neighbour:
                with_weights(folder, "e.onnx", value=5, location="parts/w.bin")
            if old == "with its own data":
                with_weights(folder, "m.onnx", value=1, location="m.onnx.opsetlift-1.data")
            elif old == "with data of another name":
                with_weights(folder, "m.onnx", value=1, location="old.bin")
            if old != "none":
                certificate.write_bytes(b"1")
            before = names(folder)

            def job(target: Path = target, certificate: Path = certificate) -> None:
                beside = {certificate: b"2"}
                save_model(model, target, source_dir=source.parent, overwrite=True, beside=beside)

            was_killed = self.killed_before(number, job)
            value = 0.0
            if target.exists():
                value = value_in(target)
                assert value in ((2,) if old == "none" else (1, 2))
                assert value == 1 or certificate.read_bytes() == b"2"
            else:
                assert old == "none"
            assert not neighbour or value_in(folder / "e.onnx") == 5
            if not was_killed:
                break
            job()
            assert value_in(target) == 2
            assert certificate.read_bytes() == b"2"
            assert not neighbour or value_in(folder / "e.onnx") == 5
            kept = before - {"m.onnx.opsetlift-1.data"} if old == "with its own data" else before
            new = names(folder) - kept - {"m.onnx", "proof.json"}
            # Old data of which the killed process alone knew stays: it may be somebody's.
            assert len(new) == 1 or (value == 2 and new - {"m.onnx.opsetlift-1.data"} < new and len(new) == 2), number
            assert kept <= names(folder)
        assert number > 10

    @pytest.mark.slow
    def test_leftovers_of_living_processes_and_files_of_others_stay(self, tmp_path: Path) -> None:
        living = Temporary(tmp_path)
        name = living.path.name
        gone = tmp_path / (name[: name.rindex("-")] + "-0123456789ab.tmp")
        others = [name.replace(name.split("-")[1], "f" * 8), "x" + name, name + "x", ".opsetlift-1.tmp"]
        for path in (gone, *(tmp_path / one for one in others)):
            path.write_bytes(b"")
        (tmp_path / gone.name.replace("0123", "abcd")).symlink_to("link")
        (tmp_path / gone.name.replace("0123", "cdef")).mkdir()
        before = snapshot(tmp_path)
        # In another process, as this one may always have its own lock again.
        remove = f"""
from pathlib import Path
from opsetlift.model.files.temporary import remove_leftovers
remove_leftovers(Path({str(tmp_path)!r}))
"""
        subprocess.run([sys.executable, "-c", remove], check=True, env=environment())
        assert before.keys() - snapshot(tmp_path).keys() == {gone.name}
        living.remove()
        remove_leftovers(tmp_path)

    @pytest.mark.slow
    def test_two_processes_at_one_output_leave_one_pair(self, tmp_path: Path) -> None:
        models = {value: load_model(with_weights(tmp_path / f"n{value}", "m.onnx", value=value)) for value in (1, 2, 3)}
        (tmp_path / "d").mkdir()
        children = []
        for value, model in models.items():
            child = os.fork()
            if not child:
                try:
                    for _ in range(20):
                        save_model(model, tmp_path / "d/m.onnx", source_dir=tmp_path / f"n{value}", overwrite=True)
                    os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
        assert value_in(tmp_path / "d/m.onnx") in models
        assert len(names(tmp_path / "d")) <= 3


class TestSignals:
    @pytest.fixture(autouse=True)
    def _none_is_ignored(self) -> Iterator[None]:
        """A process passes on what it ignores: SIGINT in the background of a shell, SIGHUP under nohup."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        ignored = [number for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
        for number in ignored:
            signal.signal(number, lambda *_: None)
        yield
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    @pytest.mark.parametrize("where", ["opsetlift.cli.conversion.run", "os.fsync", "os.replace", "os.link", "show"])
    def test_each_ends_with_one_sentence_and_no_leftovers(self, tmp_path: Path, number: int, where: str) -> None:
        source = with_weights(tmp_path / "in", "m.onnx", value=2)
        target = with_weights(tmp_path / "d", "m.onnx", value=1, location="m.onnx.opsetlift-1.data")
        where = "opsetlift.cli.conversion.show" if where == "show" else where
        script = f"""
import importlib, os, sys, time
import opsetlift.cli
holder, _, name = {where!r}.rpartition(".")
holder = importlib.import_module(holder)
def stop(*_, **__):
    os.kill(os.getpid(), {int(number)})
    time.sleep(10)
setattr(holder, name, stop)
sys.exit(opsetlift.cli.main({["convert", str(source), str(target), "--to", "18", "--force", "--no-prove"]!r}))
"""
        ended = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), check=False
        )
        assert (ended.returncode, ended.stdout) == (128 + number, "")
        (sentence,) = ended.stderr.splitlines()
        written = where.endswith("show")
        if written:
            assert sentence == f"opsetlift: interrupted; {target} is written"
        elif where.startswith("os"):
            assert sentence == f"opsetlift: interrupted; {target} is either unchanged or complete"
        else:
            assert sentence == "opsetlift: interrupted; nothing was written"
        assert value_in(target) == (2 if written else 1)
        assert len(names(tmp_path / "d")) == 2

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_while_the_engine_is_imported_they_end_with_one_sentence(self, tmp_path: Path, number: int) -> None:
        (tmp_path / "onnx").mkdir()
        slow = f"import os, time\nos.kill(os.getpid(), {int(number)})\ntime.sleep(10)\n"
        (tmp_path / "onnx/__init__.py").write_text(slow)
        command = [sys.executable, "-m", "opsetlift", "coverage"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stdout) == (128 + number, "")
        assert ended.stderr == "opsetlift: interrupted; nothing was written\n"

    def test_those_that_the_caller_ignores_are_ignored(self, tmp_path: Path) -> None:
        script = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
import opsetlift.cli.main
from opsetlift.cli.signals import raised_as_exceptions
with raised_as_exceptions():
    os.kill(os.getpid(), signal.SIGHUP)
print("here")
"""
        ended = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), check=True
        )
        assert ended.stdout == "here\n"


class TestStandardOutput:
    @pytest.fixture
    def workplace(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        onnx.save(minimum_model(), tmp_path / "in.onnx")
        with_weights(tmp_path / "d", "external.onnx", value=1)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def shell(self, command: str) -> subprocess.CompletedProcess[bytes]:
        line = f"set -o pipefail; {sys.executable} -m opsetlift {command}"
        return subprocess.run(["bash", "-c", line], capture_output=True, env=environment(), check=False)

    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["> /dev/full", ">&-", "| true"])
    @pytest.mark.parametrize("json", ["", "--json"])
    def test_that_is_lost_is_said_after_the_files_are_whole(self, workplace: Path, how: str, json: str) -> None:
        ended = self.shell(f"convert in.onnx out.onnx --to 18 --certificate proof.json {json} {how}")
        (sentence,) = ended.stderr.decode().splitlines()
        assert sentence.startswith("opsetlift: standard output ")
        assert sentence.endswith("; out.onnx is written")
        assert ended.returncode == 74
        assert onnx.load("out.onnx").opset_import[0].version == 18
        assert main(["prove", "in.onnx", "out.onnx", "--certificate", "proof.json"]) == 0

    @pytest.mark.quick_share(10)
    @pytest.mark.parametrize(
        "command", ["--help", "coverage", "targets --json", "prove in.onnx in.onnx --json", "convert"]
    )
    @pytest.mark.parametrize("how", ["> /dev/full", ">&-"])
    def test_every_command_reports_the_loss(self, workplace: Path, command: str, how: str) -> None:
        ended = self.shell(f"{command} {how}")
        assert len(ended.stderr.decode().splitlines()) == 1
        assert ended.returncode == (1 if command == "convert" else 74)

    @pytest.mark.slow
    def test_closed_streams_get_nothing_of_a_file(self, workplace: Path) -> None:
        ended = self.shell("convert in.onnx out.onnx --to 18 <&- >&- 2>&-")
        assert ended.returncode == 74
        assert onnx.load("out.onnx").opset_import[0].version == 18

    @pytest.mark.slow
    def test_standard_error_that_is_full_changes_no_status(self, workplace: Path) -> None:
        assert self.shell("convert gone.onnx out.onnx --to 18 2> /dev/full").returncode == 1

    @pytest.mark.slow
    def test_a_model_goes_through_pipes(self, workplace: Path) -> None:
        ended = self.shell(f"convert - - --to 18 < in.onnx | {sys.executable} -m opsetlift normalize - - | cat")
        assert ended.returncode == 0
        model = ModelProto.FromString(ended.stdout)
        onnx.checker.check_model(model)
        assert model.opset_import[0].version == 18
        assert "ReduceMin 13" in ended.stderr.decode()
        assert names(workplace) == {"in.onnx", "d/external.onnx", "d/ext.data"}

    @pytest.mark.parametrize(
        ("command", "status", "words"),
        [
            ("inspect - --fast", 0, "standard input: "),
            ("reach - --for onnxruntime==1.4", 0, "onnxruntime==1.4"),
            ("reach - --for onnxruntime==1.4 --report page.html", 0, "onnxruntime==1.4"),
            ("diff - in.onnx", 0, ""),
            ("prove - in.onnx", 0, "equal on"),
            ("prove in.onnx -", 0, "equal on"),
            ("prove - -", 1, "standard input holds one model"),
            ("diff - -", 2, "standard input holds one model"),
            ("prove - in.onnx --judge ort", 1, "--judge ort runs files"),
            ("prove - in.onnx --certificate proof.json", 1, "--certificate describes files"),
            ("prove d/external.onnx -", 3, "input"),
        ],
    )
    def test_commands_that_only_read_take_a_model_from_standard_input(
        self,
        workplace: Path,
        command: str,
        status: int,
        words: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((workplace / "in.onnx").read_bytes())))
        assert main(command.split()) == status
        said = capsys.readouterr()
        assert words in said.out + said.err
        assert ("page.html" in names(workplace)) == ("page.html" in command)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("command", "words"),
        [
            ("convert d/external.onnx - --to 18", "external data cannot go to standard output"),
            ("convert - out.onnx --to 18 < d/external.onnx", "external data must be read from a file"),
            ("convert - out.onnx --to 18 < /dev/null", "there is nothing to read"),
            ("convert - out.onnx --to 18 <&-", "standard input (-), which is neither a file nor a pipe"),
            ("convert in.onnx - --to 18 --json", "--json also writes to standard output"),
            ("convert in.onnx out.onnx --to 18 --certificate -", "a certificate belongs to a file"),
            ("convert in.onnx - --to 18 --certificate proof.json", "a certificate describes a file"),
            ("convert in.onnx - --to 18 > /dev/full", "no space left on device"),
            ("normalize in.onnx - >&-", "standard output is closed"),
        ],
    )
    def test_what_does_not_fit_a_pipe_is_refused(self, workplace: Path, command: str, words: str) -> None:
        before = snapshot(workplace)
        ended = self.shell(command)
        assert ended.stdout == b"" or "--json" in command
        (sentence,) = ended.stderr.decode().splitlines()
        assert words in sentence
        assert ended.returncode in (1, 74)
        assert snapshot(workplace) == before

    @pytest.mark.parametrize("option", ["--inputs", "--certificate"])
    def test_pipes_are_not_waited_for(self, workplace: Path, option: str) -> None:
        os.mkfifo("pipe")
        assert main(["prove", "in.onnx", "in.onnx", option, "pipe"]) == 1
        os.rename("pipe", "pipe.toml")
        assert main(["convert", "in.onnx", "out.onnx", "--for", "pipe.toml"]) == 1


class TestCertificatesOfWrittenFiles:
    def test_fits_where_the_data_got_another_name(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source = with_weights(tmp_path / "d", "in.onnx", value=1)
        target, certificate = tmp_path / "d/out.onnx", tmp_path / "proof.json"
        assert main(["convert", str(source), str(target), "--to", "18", "--certificate", str(certificate)]) == 0
        assert (tmp_path / "d/out.onnx.opsetlift-1.data").exists()
        assert main(["prove", str(source), str(target), "--certificate", str(certificate)]) == 0
        numpy.zeros(6, numpy.float32).tofile(tmp_path / "d/out.onnx.opsetlift-1.data")
        capsys.readouterr()
        assert main(["prove", str(source), str(target), "--certificate", str(certificate)]) == 1
        assert "the certificate is about another converted model" in capsys.readouterr().err


def test_a_model_without_data_costs_no_look_at_the_other_files_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else writing many models into one folder takes the square of their number."""
    looks: list[Path] = []
    files_in = neighbours._files_in
    monkeypatch.setattr(neighbours, "_files_in", lambda folder: looks.append(folder) or files_in(folder))
    for number in range(3):
        save_model(weighted_model(), tmp_path / f"{number}.onnx")
    assert not looks
    source = with_weights(tmp_path / "in", "m.onnx", value=1)
    (tmp_path / "ext.data").write_bytes(b"of somebody else")
    for _ in range(2):
        save_model(load_model(source), tmp_path / "m.onnx", source_dir=source.parent, overwrite=True)
    assert looks


def test_a_model_is_written_before_its_folder_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else processes that write to one folder wait for each other's disk."""
    events: list[str] = []
    lock, sync = temporary._lock, Temporary.sync
    monkeypatch.setattr(temporary, "_lock", lambda *given: events.append("lock") or lock(*given))
    monkeypatch.setattr(Temporary, "sync", lambda one: events.append("sync") or sync(one))
    save_model(weighted_model(), tmp_path / "m.onnx")
    assert events[:2] == ["sync", "lock"]


@pytest.mark.parametrize("name", ["opsetlift.toml", "pyproject.toml"])
@pytest.mark.parametrize("place", [["o.onnx", "--certificate"], ["o.onnx", "--report"], []])
def test_the_settings_are_no_target(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: list[str],
    name: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Path(name)
    settings.write_text('to = ["18"]\n' if name == "opsetlift.toml" else '[tool.opsetlift]\nto = ["18"]\n')
    before = settings.read_text()
    onnx.save(minimum_model(), "m.onnx")
    assert main(["convert", "m.onnx", *place, name, "--force"]) == 1
    assert "this is the file of the settings" in capsys.readouterr().err
    assert settings.read_text() == before
    assert not Path("o.onnx").exists()


class TestSignalsAtOddMoments:
    def test_one_that_becomes_another_error_is_still_one(self) -> None:
        error = RuntimeError("Error calling __set_name__ ...")
        error.__cause__ = Interrupted(signal.SIGTERM)
        assert status_of(error)[0] == 128 + signal.SIGTERM

    def test_one_where_nothing_can_be_raised_comes_a_moment_later(self, capsys: pytest.CaptureFixture[str]) -> None:
        class Ends:
            def __del__(self) -> None:
                signal.raise_signal(signal.SIGTERM)

        def wait() -> None:
            Ends()
            time.sleep(30)

        with raised_as_exceptions(), pytest.raises(Interrupted):
            wait()
        assert "Traceback" not in capsys.readouterr().err
