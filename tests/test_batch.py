"""Many models at once: folders keep their tree, nothing of others is replaced, and no model stops another."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest
from onnx import ModelProto, parser

from opsetlift import UnreachableTarget, convert_models
from opsetlift.batch.planning import NoModels
from opsetlift.batch.task import Ending, Result
from opsetlift.batch.workers import WorkerEnded, Workers
from opsetlift.cli.main import main
from opsetlift.model.files.temporary import Temporary
from testing.small_models import externalise, weighted_model

MEANS = """
    <ir_version: 8, opset_import: ["": 18]>
    g (float[N, 4] x) => (float[N, 1] y) <int64[1] axes = {-1}> { y = ReduceMean (x, axes) }
"""
NEW_OPERATOR = """
    <ir_version: 9, opset_import: ["": 20]>
    g (string[N] x) => (string[N] y) { y = StringConcat (x, x) }
"""


def means() -> ModelProto:
    return parser.parse_model(MEANS)


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """Two models that can be converted to 13, one that cannot, and a file that is none; in a tree."""
    folder = tmp_path / "zoo"
    (folder / "a" / "b").mkdir(parents=True)
    onnx.save(means(), folder / "first.onnx")
    onnx.save(means(), folder / "a" / "b" / "second.onnx")
    onnx.save(parser.parse_model(NEW_OPERATOR), folder / "a" / "third.onnx")
    (folder / "a" / "broken.onnx").write_bytes(b"\xff" * 100)
    (folder / "a" / "notes.txt").write_text("no model")
    return folder


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_folder_within_that_of_the_outputs_is_converted(zoo: Path) -> None:
    results = {result.target: result.ending for result in convert_models(zoo / "a", zoo, to=13, executor=Immediate())}
    assert results[zoo / "b" / "second.onnx"] is Ending.WRITTEN
    assert "b/second.onnx" in files_in(zoo)


class Immediate(Executor):
    """Runs each call at once, in this process."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def converted(source: Path, folder: Path, **options: Any) -> dict[str, Ending]:
    results = convert_models(source, folder, **{"executor": Immediate(), "to": 13, "prove": False, **options})
    return {one.source.name: one.ending for one in results}


class TestTree:
    def test_a_folder_keeps_its_tree_and_no_model_stops_another(self, zoo: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        assert converted(zoo, out) == {
            "first.onnx": Ending.WRITTEN,
            "second.onnx": Ending.WRITTEN,
            "third.onnx": Ending.REFUSED,
            "broken.onnx": Ending.UNUSABLE,
        }
        assert files_in(out) == ["a/b/second.onnx", "first.onnx"]
        assert onnx.load(out / "first.onnx").opset_import[0].version == 13

    def test_a_glob_is_relative_to_the_folders_before_it(self, zoo: Path, tmp_path: Path) -> None:
        (zoo / "a" / "b" / "second.onnx").rename(zoo / "a" / "b" / "second.pb")
        assert converted(zoo / "**" / "*.pb", tmp_path / "out") == {"second.pb": Ending.WRITTEN}
        assert files_in(tmp_path / "out") == ["a/b/second.pb"]

    def test_a_glob_passes_through_no_folder_twice(self, zoo: Path, tmp_path: Path) -> None:
        (zoo / "a" / "back").symlink_to(zoo)
        converted(zoo / "**" / "*.onnx", tmp_path / "out")
        assert files_in(tmp_path / "out") == ["a/b/second.onnx", "first.onnx"]

    def test_passes_may_be_asked_for_as_in_convert(self, zoo: Path, tmp_path: Path) -> None:
        found = converted(zoo / "first.onnx", tmp_path / "out", to=None, normalize=True)
        assert found == {"first.onnx": Ending.WRITTEN}
        (tmp_path / "out" / "first.onnx").unlink()
        assert converted(zoo / "first.onnx", tmp_path / "out", normalize=["remove-unused"]) == found

    def test_outputs_in_the_folder_itself_are_no_inputs(self, zoo: Path) -> None:
        assert converted(zoo, zoo / "out") == converted(zoo, zoo / "out", overwrite=True)

    def test_external_data_goes_with_the_model(self, tmp_path: Path) -> None:
        source = tmp_path / "zoo" / "deep"
        source.mkdir(parents=True)
        onnx.save(externalise(weighted_model(), source, "weights.bin"), source / "model.onnx")
        assert converted(tmp_path / "zoo", tmp_path / "out", to=20) == {"model.onnx": Ending.WRITTEN}
        assert files_in(tmp_path / "out") == ["deep/model.onnx", "deep/weights.bin"]

    def test_a_single_model_is_a_batch_of_one(self, zoo: Path, tmp_path: Path) -> None:
        assert converted(zoo / "first.onnx", tmp_path / "out") == {"first.onnx": Ending.WRITTEN}
        assert files_in(tmp_path / "out") == ["first.onnx"]

    def test_without_models_or_a_folder_there_is_an_error(self, zoo: Path, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        for source in (tmp_path / "empty", tmp_path / "*.nothing", tmp_path / "nothing", Path("nothing.onnx")):
            with pytest.raises(NoModels, match=r"this is a folder without|no file matches|no such file or folder"):
                converted(source, tmp_path / "out")
        with pytest.raises(NoModels, match="this is a file"):
            converted(zoo, zoo / "first.onnx")
        with pytest.raises(UnreachableTarget, match="no destination"):
            converted(zoo, tmp_path / "out", to=None)


class TestFilesOfOthers:
    def test_existing_outputs_stay_unless_they_may_be_replaced(self, zoo: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        out.mkdir()
        (out / "first.onnx").write_bytes(b"mine")
        assert converted(zoo, out)["first.onnx"] is Ending.UNUSABLE
        assert converted(zoo, out, skip_existing=True)["first.onnx"] is Ending.SKIPPED
        assert (out / "first.onnx").read_bytes() == b"mine"
        assert converted(zoo, out, overwrite=True)["first.onnx"] is Ending.WRITTEN

    def test_a_model_of_the_batch_is_never_replaced(self, zoo: Path, tmp_path: Path) -> None:
        before = {name: (zoo / name).read_bytes() for name in files_in(zoo)}
        assert set(converted(zoo, zoo, overwrite=True).values()) == {Ending.UNUSABLE}
        out = tmp_path / "out"
        out.mkdir()
        os.link(zoo / "a" / "b" / "second.onnx", out / "first.onnx")
        assert converted(zoo, out, overwrite=True)["first.onnx"] is Ending.UNUSABLE
        assert {name: (zoo / name).read_bytes() for name in files_in(zoo)} == before

    def test_two_outputs_never_have_one_name(self, zoo: Path, tmp_path: Path) -> None:
        onnx.save(means(), zoo / "FIRST.onnx")
        if len(files_in(zoo)) < 6:
            pytest.skip("the file system ignores the case of names")
        found = converted(zoo, tmp_path / "out")
        assert sorted((found["first.onnx"].value, found["FIRST.onnx"].value)) == ["unusable", "written"]


def _end_where_told(result: str) -> str:
    if result == "end":
        os.kill(os.getpid(), signal.SIGKILL)
    return result


def _write_for_ever(folder: Path) -> None:
    temporary = Temporary(folder)
    try:
        time.sleep(100)
    finally:
        temporary.remove()


def _wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


class TestExecutors:
    @pytest.mark.slow
    def test_a_process_that_ends_takes_no_other_call_with_it(self) -> None:
        with Workers(2) as workers:
            futures = [workers.submit(_end_where_told, what) for what in ("a", "end", "b", "c", "end", "d")]
            found = ["ended" if isinstance(one.exception(), WorkerEnded) else one.result() for one in futures]
        assert found == ["a", "ended", "b", "c", "ended", "d"]

    @pytest.mark.slow
    @pytest.mark.skipif(os.name == "nt", reason="signals end processes at once there")
    def test_a_signal_lets_a_process_remove_its_temporary_files(self, tmp_path: Path) -> None:
        with Workers(1) as workers:
            future = workers.submit(_write_for_ever, tmp_path)
            _wait_for(lambda: any(tmp_path.iterdir()))
            (path,) = tmp_path.iterdir()
            os.kill(int(path.name.split("-")[2]), signal.SIGTERM)
            assert isinstance(future.exception(), WorkerEnded)
        assert not any(tmp_path.iterdir())

    @pytest.mark.slow
    @pytest.mark.skipif(os.name == "nt", reason="signals end processes at once there")
    def test_processes_end_with_a_parent_that_is_killed(self, tmp_path: Path) -> None:
        code = (
            "import sys; from pathlib import Path; from tests.test_batch import _write_for_ever, Workers\n"
            "if __name__ == '__main__': Workers(1).submit(_write_for_ever, Path(sys.argv[1]))"
        )
        (tmp_path / "script.py").write_text(code)
        folder = tmp_path / "folder"
        folder.mkdir()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen([sys.executable, str(tmp_path / "script.py"), str(folder)], env=environment) as parent:
            _wait_for(lambda: any(folder.iterdir()))
            parent.kill()
        _wait_for(lambda: not any(folder.iterdir()))

    def test_what_crashes_its_worker_is_reported(self, zoo: Path, tmp_path: Path) -> None:
        class Crashing(Immediate):
            def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
                if args[0].source.name == "first.onnx":
                    future: Future[Any] = Future()
                    future.set_exception(WorkerEnded("the process ended"))
                    return future
                return super().submit(fn, *args, **kwargs)

        found = converted(zoo, tmp_path / "out", executor=Crashing())
        assert found["first.onnx"] is Ending.CRASHED
        assert found["second.onnx"] is Ending.WRITTEN

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", [ProcessPoolExecutor, ThreadPoolExecutor, None])
    def test_any_executor_gives_the_same_results(self, zoo: Path, tmp_path: Path, kind: Any) -> None:
        seen: list[Result] = []
        options: dict[str, Any] = {"to": 13, "on_result": seen.append, "cache": False}
        if kind is None:
            found = convert_models(zoo, tmp_path / "out", jobs=2, **options)
        else:
            with kind(2) as executor:
                found = convert_models(zoo, tmp_path / "out", executor=executor, **options)
        assert sorted(seen, key=lambda one: one.source) == found
        assert [(one.source.name, one.ending.value, one.proof) for one in found] == [
            ("second.onnx", "written", "proven"),
            ("broken.onnx", "unusable", ""),
            ("third.onnx", "refused", ""),
            ("first.onnx", "written", "proven"),
        ]

    def test_threads_leave_the_standard_output_to_the_caller(self, zoo: Path, tmp_path: Path) -> None:
        before = sys.stdout
        with ThreadPoolExecutor(4) as executor:
            convert_models(zoo, tmp_path / "out", to=13, cache=False, executor=executor)
        assert sys.stdout is before
        assert not sys.stdout.closed

    def test_what_another_run_has_written_meanwhile_is_skipped(self, zoo: Path, tmp_path: Path) -> None:
        class Late(Immediate):
            """Begins when the output of each model is there."""

            def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
                target = tmp_path / "out" / "first.onnx"
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(b"precious")
                return super().submit(function, *arguments, **more)

        (zoo / "a" / "broken.onnx").unlink()
        found = convert_models(zoo, tmp_path / "out", to=13, skip_existing=True, executor=Late())
        assert {one.source.name: one.ending for one in found}["first.onnx"] is Ending.SKIPPED
        assert (tmp_path / "out" / "first.onnx").read_bytes() == b"precious"

    @pytest.mark.slow
    def test_dask_distributed_works_as_well(self, zoo: Path, tmp_path: Path) -> None:
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster) as client,
        ):
            found = convert_models(zoo, tmp_path / "out", executor=client.get_executor(), to=13, prove=False)
        assert [one.ending for one in found].count(Ending.WRITTEN) == 2


class TestCertificates:
    def test_none_replaces_a_model_of_the_batch_or_another_output(self, zoo: Path, tmp_path: Path) -> None:
        taken = zoo / "first.onnx.certificate.json"
        onnx.save(means(), taken, format="json")
        before = taken.read_bytes()
        found = converted(zoo / "*", tmp_path / "out", certificates=zoo, overwrite=True, prove=True)
        assert found["first.onnx"] is Ending.UNUSABLE
        assert taken.read_bytes() == before
        found = converted(zoo / "first*", tmp_path / "again", certificates=tmp_path / "again", prove=True)
        assert found["first.onnx"] is Ending.WRITTEN
        assert found["first.onnx.certificate.json"] is Ending.UNUSABLE, "its output is the certificate of the other one"

    def test_one_that_exists_stays_unless_it_may_be_replaced(self, zoo: Path, tmp_path: Path) -> None:
        taken = tmp_path / "proofs" / "first.onnx.certificate.json"
        taken.parent.mkdir()
        taken.write_text("mine")
        found = converted(zoo, tmp_path / "out", certificates=taken.parent, prove=True)
        assert found["first.onnx"] is Ending.UNUSABLE
        assert taken.read_text() == "mine"
        assert not (tmp_path / "out" / "first.onnx").exists()
        again = converted(zoo, tmp_path / "out", certificates=taken.parent, prove=True, overwrite=True)
        assert again["first.onnx"] is Ending.WRITTEN
        assert taken.read_text() != "mine"

    def test_a_file_in_place_of_the_folder_is_an_error(self, zoo: Path, tmp_path: Path) -> None:
        (tmp_path / "proofs").write_text("mine")
        with pytest.raises(NoModels, match="several certificates need a folder"):
            converted(zoo, tmp_path / "out", certificates=tmp_path / "proofs")


class TestCommand:
    @pytest.mark.slow
    def test_prints_a_line_for_each_model_and_a_table_and_the_status_tells(
        self, zoo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        command = ["convert", str(zoo), str(tmp_path / "out"), "--to", "13", "--jobs", "1", "--no-prove"]
        summary = tmp_path / "summary.json"
        assert main([*command, "--summary", str(summary)]) == 2
        printed = capsys.readouterr().out
        assert "first.onnx: written: 1 node rewritten" in printed
        assert "third.onnx: refused: " in printed
        assert "refused nothing at the target version" in " ".join(printed.split())
        found = json.loads(summary.read_text())
        assert found["totals"]["written"] == 2
        assert {Path(one["source"]).name: one["ending"] for one in found["models"]}["broken.onnx"] == "unusable"

        for name in ("third.onnx", "broken.onnx"):
            (zoo / "a" / name).unlink()
        table = tmp_path / "summary.csv"
        assert main([*command, "--skip-existing", "--summary", str(table)]) == 0
        with table.open(newline="") as file:
            assert [row["ending"] for row in csv.DictReader(file)] == ["skipped", "skipped"]

    def test_normalising_says_how_many_nodes_are_left(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source = onnx.parser.parse_model(
            """<ir_version: 8, opset_import: ["": 18]> g (float[2] x) => (float[2] y)
            { a = Identity (x)  b = Neg (a)  y = Identity (b) }"""
        )
        (tmp_path / "in").mkdir()
        onnx.save(source, tmp_path / "in" / "a.onnx")
        summary = tmp_path / "summary.json"
        command = ["normalize", str(tmp_path / "in"), str(tmp_path / "out"), "--jobs", "1", "--summary", str(summary)]
        assert main(command) == 0
        assert "a.onnx: written: proven, 3 nodes became 1 (" in capsys.readouterr().out
        (found,) = json.loads(summary.read_text())["models"]
        assert (found["source_nodes"], found["target_nodes"]) == (3, 1)

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (["--json"], "--json is for one model"),
            (["--dry-run"], "--dry-run is for one model"),
            (["--summary", "s.txt"], "ends in .json or .csv"),
        ],
    )
    def test_options_of_one_model_are_refused(
        self, zoo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
    ) -> None:
        assert main(["convert", str(zoo), str(tmp_path / "out"), "--to", "13", *more]) == 1
        assert message in capsys.readouterr().err
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("name", ["proofs/first.onnx.certificate.json", "proofs/a/../first.onnx.certificate.json"])
    def test_a_summary_is_no_certificate_of_the_same_run(
        self, zoo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
    ) -> None:
        (tmp_path / "proofs" / "a").mkdir(parents=True)
        command = ["convert", str(zoo), str(tmp_path / "out"), "--to", "13", "--certificate", str(tmp_path / "proofs")]
        assert main([*command, "--summary", str(tmp_path / name), "--force"]) == 1
        assert "this is the certificate of" in capsys.readouterr().err
        assert not (tmp_path / "out").exists()

    @pytest.mark.slow
    def test_certificates_go_into_the_tree_of_a_folder(self, zoo: Path, tmp_path: Path) -> None:
        command = ["convert", str(zoo), str(tmp_path / "out"), "--to", "13", "--jobs", "1", "--quiet"]
        assert main([*command, "--certificate", str(tmp_path / "proofs")]) == 2
        names = ["a/b/second.onnx", "first.onnx"]
        assert files_in(tmp_path / "out") == names
        assert files_in(tmp_path / "proofs") == [f"{name}.certificate.json" for name in names]
        for name in names:
            certificate = str(tmp_path / "proofs" / f"{name}.certificate.json")
            assert main(["prove", str(zoo / name), str(tmp_path / "out" / name), "--certificate", certificate]) == 0

    @pytest.mark.slow
    def test_quiet_prints_only_what_was_not_written(
        self, zoo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        command = ["convert", str(zoo), str(tmp_path / "out"), "--to", "13", "--jobs", "1", "--no-prove", "--quiet"]
        assert main(command) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert "broken.onnx: unusable" in said.err
        assert "third.onnx: refused" in said.err
        assert "first.onnx" not in said.err

    @pytest.mark.parametrize("more", [["--skip-existing"], ["--summary", "s.json"]])
    def test_options_of_several_models_are_refused_for_one(
        self, zoo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
    ) -> None:
        assert main(["convert", str(zoo / "first.onnx"), str(tmp_path / "o.onnx"), "--to", "13", *more]) == 1
        assert f"{more[0]} is for several models" in capsys.readouterr().err

    @pytest.mark.slow
    def test_a_summary_replaces_nothing(self, zoo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        taken = tmp_path / "summary.json"
        taken.write_text("mine")
        command = ["convert", str(zoo), str(tmp_path / "out"), "--to", "13", "--summary", str(taken)]
        assert main(command) == 1
        assert "this file exists" in capsys.readouterr().err
        assert taken.read_text() == "mine"
        assert not (tmp_path / "out").exists()

        (tmp_path / "link.json").symlink_to("summary.json")
        assert main([*command[:-1], str(tmp_path / "link.json"), "--force", "--no-prove", "--jobs", "1"]) == 2
        assert (tmp_path / "link.json").is_symlink()
        assert len(json.loads(taken.read_text())["models"]) == 4

        onnx.save(means(), zoo / "model.json", format="json")
        before = (zoo / "model.json").read_bytes()
        glob = str(zoo / "*.json")
        for summary in (zoo / "model.json", tmp_path / "out" / "model.json"):
            command = ["convert", glob, str(tmp_path / "out"), "--to", "13", "--summary", str(summary), "--force"]
            (tmp_path / "out").mkdir(exist_ok=True)
            assert main([*command, "--no-prove", "--jobs", "1"]) == 1
            assert "choose another file for the summary" in capsys.readouterr().err
        assert (zoo / "model.json").read_bytes() == before
        assert not (tmp_path / "out" / "model.json").exists()


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("command", ["check", "reach", "convert"])
def test_what_is_no_file_is_named_and_not_left_out(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    onnx.save(means(), folder / "a.onnx")
    (folder / "broken.onnx").symlink_to(tmp_path / "nothing.onnx")
    os.mkfifo(folder / "pipe.onnx")
    (folder / "folder.onnx").mkdir()
    options = {"check": ["--max-opset", "20"], "reach": [], "convert": [str(tmp_path / "out"), "--to", "13"]}
    assert main([command, str(folder), *options[command]]) != 0
    printed = "".join(capsys.readouterr())
    assert "broken.onnx" in printed
    assert "pipe.onnx" in printed
    assert "folder.onnx" not in printed
