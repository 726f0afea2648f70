"""A refusal names the nearest opset that works: the one that trying every opset would find."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import onnx
import pytest

from opsetlift import ConversionRefused, convert, reach
from opsetlift.cli import main
from opsetlift.facts import ModelFacts
from opsetlift.pipeline import dry_run
from opsetlift.pipeline import nearest as searching
from opsetlift.pipeline.job import Options
from opsetlift.support.refusal import Nearest
from opsetlift.targets import find_target
from testing.cases import node_cases
from testing.conversion import model

CONCAT = """<ir_version: 8, opset_import: ["" : 13]>
    g (int64[2] x) => (int64[4] y) { y = Concat <axis = 0> (x, x) }"""
SEQUENCE = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x, x) }"""
BOTH = """<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 3]>
    g (int64[2] x, float[2, 2] z) => (int64[4] y, float[2, 2] n) {
        y = Concat <axis = 0> (x, x)
        n = ai.onnx.ml.Normalizer <norm = "L2"> (z)
    }"""


def refused(source: onnx.ModelProto, to: int | dict[str, int]) -> ConversionRefused:
    with pytest.raises(ConversionRefused) as caught:
        convert(source, to=to, prove=False, check=False)
    return caught.value


def nearest(source: onnx.ModelProto, to: int | dict[str, int]) -> dict[str, int] | None:
    found = refused(source, to).nearest
    return found.shown if found else None


def is_reached(source: onnx.ModelProto, opset: int) -> bool:
    try:
        convert(source, to=opset, prove=False, check=False)
    except ConversionRefused:
        return False
    return True


@pytest.mark.slow
def test_it_is_what_trying_every_opset_finds() -> None:
    tried = 0
    cases = [case for case in node_cases() if case.model.graph.node[0].domain == ""]
    for case in [case for case in cases if zlib.crc32(case.name.encode()) % 150 == 0]:
        own = next(entry.version for entry in case.model.opset_import if not entry.domain)
        for asked in (2, 9):
            tries = (opset for opset in range(asked, own + 1) if is_reached(case.model, opset))
            expected = next(tries, own)
            if asked < expected:
                tried += 1
                assert nearest(case.model, asked) == {"ai.onnx": expected}, f"{case.name} at {asked}"
    assert tried > 4


def test_the_opset_before_the_refused_transition_is_tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = refused(model(CONCAT), 1)
    runs: list[object] = []
    walked_copy = dry_run.walked_copy

    def counted(*arguments: object, **options: object) -> object:
        runs.append(arguments[1])
        return walked_copy(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(dry_run, "walked_copy", counted)
    assert stopped.nearest is not None
    assert stopped.nearest.opsets == {"": 4}
    assert stopped.nearest is stopped.nearest
    assert runs == [{"": 13}, {"": 4}, {"": 3}]


def test_nothing_is_searched_before_it_is_asked_for_and_never_by_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*arguments: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr(searching, "nearest_opsets", search)
    refused(model(CONCAT), 3)
    assert not reach(model(CONCAT), targets=[]).opsets[2].is_reachable


def test_refusals_without_a_transition_are_bisected() -> None:
    source = model(SEQUENCE)
    assert refused(source, 5).refusals[0].possible_at is None
    assert nearest(source, 5) == {"ai.onnx": 11}
    assert is_reached(source, 11)
    assert not is_reached(source, 10)


def test_each_domain_goes_as_far_as_it_can() -> None:
    source = model(BOTH)
    assert nearest(source, {"": 2, "ai.onnx.ml": 1}) == {"ai.onnx": 4, "ai.onnx.ml": 1}


def test_the_models_own_opset_is_said_to_be_the_only_one() -> None:
    found = Nearest({"": 13}, {"": 13})
    assert found.sentence == "No opset nearer to the requested one works than the model's own: ai.onnx 13."
    assert Nearest({"": 12}, {"": 13}).sentence == "The nearest opset that works is ai.onnx 12."


def found_for(source: onnx.ModelProto, **options: Any) -> Nearest:
    with pytest.raises(ConversionRefused) as caught:
        convert(source, prove=False, check=False, **options)
    assert caught.value.nearest is not None
    return caught.value.nearest


def test_an_opset_in_the_way_of_an_ir_version_is_named() -> None:
    assert found_for(model(CONCAT), to=3, ir=4).sentence == "The nearest opset that works is ai.onnx 4."


OPTIONAL = """<ir_version: 8, opset_import: ["" : 18]>
    g (optional(float[2]) x) => (bool y) { y = OptionalHasElement(x) }"""


@pytest.mark.parametrize("asked", [3, 5, 7])
def test_the_nearest_ir_version_is_the_first_that_holds_the_model(asked: int) -> None:
    found = found_for(model(OPTIONAL), ir=asked)
    assert found.ir_version == 8
    assert found.sentence == "The nearest IR version that works is 8, at ai.onnx 18."
    assert convert(model(OPTIONAL), ir=8, prove=False).model.ir_version == 8
    with pytest.raises(ConversionRefused):
        convert(model(OPTIONAL), ir=7, prove=False)


def test_the_nearest_opset_for_a_runtime_that_does_not_accept_it_is_named() -> None:
    found = found_for(model(SEQUENCE), target="onnx==1.2")
    assert found.sentence == "The nearest opset that works is ai.onnx 11, which onnx==1.2 does not accept."
    assert is_reached(model(SEQUENCE), 11)
    assert not is_reached(model(SEQUENCE), 10)


def test_another_opset_that_the_runtime_accepts_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def works(self: object, opsets: dict[str, int], ir: int | None, runtime: object) -> bool:
        if runtime is not None:
            tried.append(opsets[""])
        return runtime is None or opsets[""] == 9

    monkeypatch.setattr(searching._Search, "_works", works)
    source = model(SEQUENCE.replace("17", "12").replace("SequenceConstruct(x, x)", "SequenceConstruct(x)"))
    runtime = find_target("onnxruntime==1.4")
    search = searching._Search(source, Options(runtime=runtime), ModelFacts(source))
    found = search.nearest({"": 12}, ())
    assert found is not None
    assert found.opsets == {"": 9}
    assert tried == [11, 10, 9]


def test_a_dtype_that_the_runtime_accepts_at_no_opset_has_no_nearest() -> None:
    source = model(
        """<ir_version: 8, opset_import: ["" : 11]>
        g (bfloat16[2] x) => (bfloat16[2] y) { y = Mystery <domain = "local">(x) }""".replace(' <domain = "local">', "")
    )
    source.opset_import.add(domain="local", version=1)
    source.graph.node[0].domain = "local"
    with pytest.raises(ConversionRefused) as caught:
        convert(source, target="tensorrt==5.1", prove=False, check=False)
    assert caught.value.nearest is None


def test_the_command_line_names_the_ir_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(model(OPTIONAL), "in.onnx")
    assert main(["normalize", "in.onnx", "out.onnx", "--ir", "7", "--json"]) == 2
    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == "opsetlift: The nearest IR version that works is 8, at ai.onnx 18."
    assert json.loads(said.out)["nearest_ir_version"] == 8


def test_the_command_line_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(model(CONCAT), "in.onnx")
    assert main(["convert", "in.onnx", "out.onnx", "--to", "3", "--json"]) == 2
    said = capsys.readouterr()
    before, _, commands = said.err.partition("opsetlift: What would work:\n")
    assert before.splitlines()[-1] == "opsetlift: The nearest opset that works is ai.onnx 4."
    assert "opsetlift:   opsetlift convert in.onnx out.onnx --to 4 " in commands
    assert json.loads(said.out)["nearest"] == {"ai.onnx": 4}
    assert main(["convert", "in.onnx", "out.onnx", "--to", "4"]) == 0


def test_no_opset_is_tried_where_the_inputs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs and outputs are the same at every opset: to walk through ten of them took forty seconds for a BERT."""
    source = model("""<ir_version: 8, opset_import: ["" : 13]>
        g (float[2, 3, 8] x) => (float[2, 3, 8] y) { a = Erf (x) y = Add (a, x) }""")
    monkeypatch.setattr(dry_run.DryRun, "walked", lambda *arguments, **named: pytest.fail("an opset was tried"))
    with pytest.raises(ConversionRefused, match="input 'x' has three axes") as caught:
        convert(source, target="opencv==4.5", prove=False)
    monkeypatch.undo()
    assert caught.value.nearest is None


def test_nodes_that_equal_others_are_converted_before_a_runtime_is_asked() -> None:
    # Version 0.4 counts no axes of Unsqueeze from the back and takes no such TopK, which opset 9 writes otherwise.
    source = model("""<ir_version: 6, opset_import: ["" : 11]>
        g (float[8] a0, float[8] b0, float[8] x) => (float[3] t, float[8, 1] y, float[8, 1] z) <int64[1] k = {3}> {
            t, i = TopK (x, k)
            a1 = Neg (a0) a2 = Abs (a1) a3 = Neg (a2) a4 = Abs (a3)
            b1 = Neg (b0) b2 = Abs (b1) b3 = Neg (b2) b4 = Abs (b3)
            y = Unsqueeze <axes = [-1]> (a4)
            z = Unsqueeze <axes = [-1]> (b4)
        }""")
    found = convert(source, target="onnxruntime==0.4", prove=False).model
    assert found.opset_import[0].version == 9
    (answer,) = reach(source, targets=["onnxruntime==0.4"]).targets
    assert answer.is_reachable
    assert answer.opsets == {"ai.onnx": 9}
