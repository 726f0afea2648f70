"""A pass of our own that is wrong is undone by itself: the result is proven without it, and the report names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import ModelProto

import opsetlift.normalizer.discovery as discovery
import opsetlift.normalizer.undoing as undoing
from opsetlift.cli import main
from opsetlift.normalizer import Pass, PassFailed, PassNotEquivalent, known_passes, passes
from opsetlift.normalizer.undoing import Fault
from opsetlift.pipeline.normalize import Normalization, normalize
from opsetlift.proof import Proof
from tests.normalize.rewriting import text_model

SOURCE = "g (float[N] x) => (float[N] y) { a = Abs(x) b = Identity(a) c = Neg(b) d = Identity(c) y = Ceil(d) }"
WITHOUT_NO_OPS = ["Abs", "Neg", "Ceil"]

Rewrite = Callable[[gs.Graph, object], object]


def built_in(rewrite: Rewrite, name: str = "faulty") -> Pass:
    """A pass that counts as built in, as if it were a wrong one."""
    rewrite.__module__ = f"{passes.__name__}.{name}"
    return Pass(name, rewrite, "Is wrong.")


def floor_for_ceil(graph: gs.Graph, context: object = None) -> None:
    """Changes what is computed."""
    for node in graph.nodes:
        node.op = {"Ceil": "Floor"}.get(node.op, node.op)


def no_such_operator(graph: gs.Graph, context: object = None) -> None:
    """Makes the model invalid."""
    for node in graph.nodes:
        node.op = {"Ceil": "Ceeil"}.get(node.op, node.op)


def half_done(graph: gs.Graph, context: object = None) -> None:
    """Raises when it has changed something already."""
    floor_for_ceil(graph)
    raise KeyError("axis")


def other_outputs(graph: gs.Graph, context: object = None) -> None:
    """Takes another value for an output."""
    graph.outputs = [graph.nodes[0].outputs[0]]


def knot(graph: gs.Graph, context: object = None) -> None:
    """Lets a node read what is computed from its own output."""
    graph.nodes[0].inputs[0] = graph.nodes[-1].outputs[0]


def strange_attribute(graph: gs.Graph, context: object = None) -> None:
    """Leaves an attribute that cannot be written."""
    for node in graph.nodes:
        if node.op == "Ceil":
            node.attrs["strange"] = object()


def to_and_fro(graph: gs.Graph, context: object = None) -> None:
    """Undoes its own work in the next round."""
    for node in graph.nodes:
        if node.op in ("Neg", "Mul"):
            node.op = "Mul" if node.op == "Neg" else "Neg"
            node.inputs = [node.inputs[0], gs.Constant("minus", numpy.float32([-1]))][: 2 if node.op == "Mul" else 1]


def ever_more(graph: gs.Graph, context: object = None) -> None:
    """Adds a node whenever it runs."""
    first = graph.nodes[0]
    between = gs.Variable("between", numpy.float32)
    graph.nodes.append(gs.Node("Relu", inputs=[first.outputs[0]], outputs=[between]))
    for node in graph.nodes[1:-1]:
        node.inputs = [between if one is first.outputs[0] else one for one in node.inputs]


def operators(model: ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def assert_proven(result: Normalization) -> None:
    onnx.checker.check_model(result.model, full_check=True)
    assert result.proof is not None
    assert result.proof.is_proven, result.proof.summary()


FAULTS: dict[Rewrite, tuple[Fault, str]] = {
    floor_for_ceil: (Fault.NOT_EQUIVALENT, "output 'y'"),
    no_such_operator: (Fault.INVALID, "Ceeil"),
    half_done: (Fault.FAILED, "KeyError: 'axis'"),
    other_outputs: (Fault.FAILED, "changes the inputs or the outputs"),
    knot: (Fault.FAILED, "depends on its own output"),
    strange_attribute: (Fault.UNUSABLE, "TypeError"),
    to_and_fro: (Fault.ENDLESS, "24 rounds"),
    ever_more: (Fault.ENDLESS, "24 rounds"),
}


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("place", ["first", "in the middle", "last"])
@pytest.mark.parametrize("faulty", FAULTS, ids=lambda one: one.__name__)
def test_what_a_faulty_pass_did_is_undone_and_the_others_go_on(faulty: Rewrite, place: str) -> None:
    wanted = ["fold-constants", "remove-no-op-moves", "infer-shapes"]
    healthy = normalize(text_model(SOURCE), wanted).model
    wanted_and_faulty = [*wanted]
    wanted_and_faulty.insert({"first": 0, "in the middle": 1, "last": 3}[place], built_in(faulty))  # type: ignore[arg-type]
    result = normalize(text_model(SOURCE), wanted_and_faulty)
    assert operators(result.model) == WITHOUT_NO_OPS
    assert result.model == healthy
    assert_proven(result)
    (undone,) = result.report.undone
    fault, reason = FAULTS[faulty]
    assert (undone.name, undone.fault) == ("faulty", fault)
    assert reason in undone.reason
    assert (undone.changes is None) == (fault is Fault.FAILED)
    assert not result.report.notes
    assert normalize(result.model, wanted_and_faulty).model == result.model


def test_what_a_pass_did_before_it_went_wrong_stays() -> None:
    def first_well(graph: gs.Graph, context: object) -> None:
        for node in graph.nodes:
            if node.op == "Identity":
                node.outputs[0].outputs[0].inputs[0] = node.inputs[0]
                return
        floor_for_ceil(graph)

    result = normalize(text_model(SOURCE), [built_in(first_well), "infer-shapes"])
    assert operators(result.model) == WITHOUT_NO_OPS
    assert_proven(result)
    (report,) = (one for one in result.report.passes if one.name == "faulty")
    assert report.nodes == -2
    (undone,) = result.report.undone
    assert (undone.changes, undone.nodes) == (1, 0)


def test_each_of_several_faulty_passes_is_undone() -> None:
    faulty = [built_in(one, f"faulty-{number}") for number, one in enumerate(FAULTS)]
    result = normalize(text_model(SOURCE), [*faulty, "remove-no-op-moves"])
    assert operators(result.model) == WITHOUT_NO_OPS
    assert_proven(result)
    assert {one.name for one in result.report.undone} == {one.name for one in faulty}


def test_a_pass_that_undoes_the_work_of_another_is_undone() -> None:
    def with_identity(graph: gs.Graph, context: object) -> None:
        for node in graph.nodes:
            if node.op == "Neg" and node.inputs[0].inputs[0].op != "Identity":
                (node.inputs[0],) = graph.layer(op="Identity", inputs=[node.inputs[0]], outputs=["same"])

    result = normalize(text_model(SOURCE), [built_in(with_identity, "more"), "remove-no-op-moves"])
    assert_proven(result)
    assert [one.fault for one in result.report.undone] == [Fault.ENDLESS]
    assert not result.report.notes


def test_a_pass_that_reacts_to_an_endless_one_is_not_blamed() -> None:
    def ceil_twice(graph: gs.Graph, context: object) -> None:
        (ceil,) = (node for node in graph.nodes if node.op == "Ceil")
        (ceil.inputs[0],) = graph.layer(op="Ceil", inputs=[ceil.inputs[0]], outputs=["same"])

    def ceil_once(graph: gs.Graph, context: object) -> None:
        for node in graph.nodes:
            if node.op == "Ceil" and node.inputs[0].inputs[0].op == "Ceil":
                node.inputs[0] = node.inputs[0].inputs[0].inputs[0]

    result = normalize(text_model(SOURCE), [built_in(ceil_twice, "wrong"), built_in(ceil_once, "right")])
    assert [one.name for one in result.report.undone] == ["wrong"]
    assert_proven(result)


@pytest.mark.parametrize("faulty", [floor_for_ceil, no_such_operator, half_done, other_outputs, knot])
def test_a_faulty_pass_of_the_caller_fails_loudly_also_beside_one_of_ours(faulty: Rewrite) -> None:
    def theirs(graph: gs.Graph) -> None:
        faulty(graph, None)

    with pytest.raises((PassFailed, PassNotEquivalent), match="pass theirs"):
        normalize(text_model(SOURCE), [theirs, "remove-no-op-moves"])
    with pytest.raises((PassFailed, PassNotEquivalent), match="pass theirs"):
        normalize(text_model(SOURCE), [built_in(half_done), "remove-no-op-moves", theirs])


def test_without_a_proof_and_a_check_an_error_is_undone_all_the_same() -> None:
    result = normalize(text_model(SOURCE), [built_in(half_done), "remove-no-op-moves"], prove=False, check=False)
    assert operators(result.model) == WITHOUT_NO_OPS
    assert [one.name for one in result.report.undone] == ["faulty"]


def test_a_result_that_the_target_does_not_take_is_undone() -> None:
    def with_an_operator_that_it_lacks(graph: gs.Graph, context: object) -> None:
        for node in graph.nodes:
            if node.op == "Neg":
                node.op = "Hardmax"

    source = text_model("g (float[2] x) => (float[2] y) { a = Neg(x) y = Identity(a) }")
    passes = [built_in(with_an_operator_that_it_lacks), "remove-no-op-moves"]
    result = normalize(source, passes, target="tensorrt==5.1", prove=False)
    assert operators(result.model) == ["Neg"]
    assert [one.fault for one in result.report.undone] == [Fault.NOT_FOR_TARGET]


def test_a_pass_that_stumbles_over_what_another_has_broken_is_not_blamed() -> None:
    def reads_attributes(graph: gs.Graph, context: object) -> None:
        if any("strange" in node.attrs for node in graph.nodes):
            raise ValueError("strange")

    def theirs(graph: gs.Graph) -> None:
        reads_attributes(graph, None)

    for one in (built_in(reads_attributes, "right"), theirs):
        result = normalize(text_model(SOURCE), ["remove-no-op-moves", built_in(strange_attribute), one])
        assert [undone.name for undone in result.report.undone] == ["faulty"]
        assert_proven(result)


def test_a_model_that_onnx_accepts_only_while_a_value_is_not_folded_keeps_it() -> None:
    source = text_model(
        """g (float[2] x, int64 n, bool c) => (float[M] y, int64[1] s) <int64[1] k = {0}> {
            z = Identity(x) a = Neg(k) s = Mul(k, k)
            y = Loop(n, c, z) <body = b (int64 i, bool go, float[K] before) => (bool on, float[L] after) {
                on = Identity(go)
                after = If(on) <then_branch = t () => (float[P] p) { p = Squeeze(x, a) },
                                else_branch = e () => (float[Q] q) { q = Abs(before) }>
            }>
        }"""
    )
    result = normalize(source)
    assert operators(result.model) == ["Neg", "Mul", "Loop"]
    assert_proven(result)
    (undone,) = result.report.undone
    assert (undone.name, undone.fault) == ("fold-constants", Fault.INVALID)
    assert "Squeeze" in undone.reason


class TestNoPassToBlame:
    """The model is unchanged."""

    @staticmethod
    def assert_as_it_was(result: Normalization) -> None:
        assert result.model == text_model(SOURCE)
        (undone,) = result.report.undone
        assert undone.name == ""
        assert "The model is unchanged." in undone.sentence
        assert not any(one.changes for one in result.report.passes)
        assert (result.report.nodes_before, result.report.nodes_after) == (5, 5)

    def test_where_the_model_cannot_be_compared_with_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def prove(original: ModelProto, result: ModelProto, **options: object) -> Proof:
            raise ZeroDivisionError("of the evaluator")

        monkeypatch.setattr(undoing, "prove_passes", prove)
        result = normalize(text_model(SOURCE))
        self.assert_as_it_was(result)
        assert result.proof is not None
        assert not result.proof.is_proven
        assert "ZeroDivisionError" in result.proof.reason

    def test_where_the_model_cannot_be_made_a_graph(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def to_graph(model: ModelProto, base_dir: str = "") -> gs.Graph:
            raise AttributeError("of the bridge")

        monkeypatch.setattr(undoing, "to_graph", to_graph)
        result = normalize(text_model(SOURCE))
        self.assert_as_it_was(result)
        assert_proven(result)

    def test_unless_that_would_drop_what_a_pass_of_the_caller_did(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def prove(original: ModelProto, result: ModelProto, **options: object) -> Proof:
            raise ZeroDivisionError("of the evaluator")

        def to_floor(graph: gs.Graph) -> None:
            floor_for_ceil(graph)

        monkeypatch.setattr(undoing, "prove_passes", prove)
        with pytest.raises(PassFailed, match="ZeroDivisionError"):
            normalize(text_model(SOURCE), [to_floor])


class TestCommandLine:
    def test_the_page_and_the_json_say_what_was_undone_and_why(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        onnx.save(text_model(SOURCE), "in.onnx")
        known = {**known_passes(), "faulty": built_in(floor_for_ceil)}
        monkeypatch.setattr(discovery, "known_passes", lambda: known)
        assert main(["normalize", "in.onnx", "out.onnx"]) == 0
        page = capsys.readouterr().out
        assert "Pass faulty was undone, because it changed the results of the model: " in page
        assert "It would have made 1 change (nodes +0, bytes +0)." in page
        assert "Proven: " in page
        assert operators(onnx.load("out.onnx")) == WITHOUT_NO_OPS
        assert main(["normalize", "in.onnx", "out.onnx", "--force", "--json"]) == 0
        (undone,) = json.loads(capsys.readouterr().out)["normalization"]["report"]["undone"]
        assert {key: undone[key] for key in ("name", "fault", "changes", "nodes", "bytes")} == {
            "name": "faulty",
            "fault": "NOT_EQUIVALENT",
            "changes": 1,
            "nodes": 0,
            "bytes": 0,
        }
        assert "output 'y'" in undone["reason"]
