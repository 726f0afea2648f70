"""`reach`: where a model can be taken, and whether that is what conversions then find."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, helper, numpy_helper

from opsetlift import ConversionRefused, ModelFileError, convert, reach
from opsetlift.cli import main
from opsetlift.conversion.walk.refused_site import RefusedSite
from opsetlift.conversion.walked import walked_copy
from opsetlift.pipeline import dry_run
from opsetlift.pipeline import reach as reaching
from opsetlift.reporting.inspection import inspect
from opsetlift.specification.history import latest_opset
from opsetlift.targets import catalogue, find_target
from opsetlift.targets.forms import Form
from testing.small_models import minimum_model, model_of, weighted_model

EXAMPLES = sorted(Path(__file__).parents[1].glob("examples/models/*/model.onnx"))

CALLS = """
    <ir_version: 10, opset_import: ["": 18, "local": 1]>
    g (float[2, 4] x) => (float[2, 1] y, float[2, 1] z) { y = local.f <wide = 1> (x)  z = local.f <wide = 0> (x) }
    <domain: "local", opset_import: ["": 18]>
    f <wide> (a) => (o) { axes = Constant <value_ints = [1]> ()  o = ReduceMin <keepdims: int = @wide> (a, axes) }
"""


def answers(model: ModelProto, *targets: str) -> dict[str, bool]:
    found = reach(model, targets=targets)
    return {answer.where: answer.is_reachable for answer in (*found.opsets, *found.targets)}


def test_every_opset_and_every_target_is_answered() -> None:
    found = reach(minimum_model())
    assert [answer.where for answer in found.opsets] == [f"ai.onnx {n}" for n in range(1, latest_opset() + 1)]
    listed = [target.spelling for runtime in catalogue().values() for target in runtime.targets]
    assert [answer.where for answer in found.targets] == listed


def outcome(model: ModelProto, **to: object) -> tuple[list[str], int]:
    """What a conversion refuses, and the IR version that it ends at; 0 where it refuses."""
    try:
        return [], convert(model, prove=False, check=False, **to).model.ir_version
    except ConversionRefused as refused:
        return list(map(str, refused.refusals)), 0


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_conversions_to_each_opset_find_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "_FEWEST_NODES", 0)
    model = onnx.load(path)
    for answer in reach(model, targets=[]).opsets:
        expected = outcome(model, to=answer.opsets["ai.onnx"])
        assert (list(map(str, answer.blockers)), answer.ir_version) == expected, answer.where


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["onnxruntime==0.1", "onnxruntime==1.4", "tensorrt==5.1", "onnxjs==0.1.0", "winml==11"]
)
def test_conversions_for_a_target_find_the_same(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "_FEWEST_NODES", 0)
    for path in EXAMPLES:
        model = onnx.load(path)
        (answer,) = reach(model, targets=[target]).targets
        assert (list(map(str, answer.blockers)), answer.ir_version) == outcome(model, target=target), path


def test_functions_that_need_copies_for_their_callers_are_no_blockers() -> None:
    model = onnx.parser.parse_model(CALLS)
    assert answers(model, "onnxruntime==1.4") == {
        f"ai.onnx {answer.opsets['ai.onnx']}": answer.is_reachable for answer in reach(model, targets=[]).opsets
    } | {"onnxruntime==1.4": True}


def test_the_name_of_a_function_may_have_what_separates_paths() -> None:
    model = onnx.parser.parse_model(CALLS)
    for named in (*model.graph.node, *model.functions):
        for field in ("op_type", "name"):
            if getattr(named, field, "") == "f":
                setattr(named, field, "block/1/f")
    assert answers(model, "onnxruntime==1.4") == answers(onnx.parser.parse_model(CALLS), "onnxruntime==1.4")
    assert convert(model, to=13).certificate.is_proven


def test_blockers_name_the_node_and_the_reason() -> None:
    model = model_of([helper.make_node("Sin", ["x"], ["y"], name="wave")], opset=9)
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    (answer,) = reach(model, targets=["tensorrt==5.1"]).targets
    assert not answer.is_reachable
    assert any("double" in refusal.sentence for refusal in answer.blockers)
    assert answer.sentence == "no, 1 place cannot be converted"


def test_rewrites_are_counted_and_unchanged_nodes_are_not() -> None:
    found = {answer.where: answer for answer in reach(minimum_model(opset=13), targets=[]).opsets}
    assert found["ai.onnx 13"].sentence == "yes"
    assert found["ai.onnx 12"].sentence == "yes"
    assert found["ai.onnx 18"].sentence == "yes, with 1 rewrite"


def test_a_runtime_of_which_no_opset_is_known_gets_no_yes() -> None:
    (answer,) = reach(minimum_model(), targets=["ncnn"]).targets
    assert answer.sentence == "no known obstacle (data incomplete)"


def test_values_of_weights_are_read_where_a_rule_needs_them() -> None:
    axes = numpy_helper.from_array(numpy.array([1]), "axes")
    weight = numpy_helper.from_array(numpy.zeros((2000, 3), numpy.float32), "w")
    nodes = [helper.make_node("Gather", ["w", "x"], ["g"]), helper.make_node("ReduceMin", ["g", "axes"], ["y"])]
    model = model_of(nodes, opset=18, initializers=[axes, weight])
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    assert answers(model)["ai.onnx 13"]


def test_the_model_stays_as_it_is() -> None:
    model = weighted_model()
    before = model.SerializeToString()
    reach(model)
    assert model.SerializeToString() == before


class TestCommandLine:
    def test_shows_opsets_and_targets_with_one_answer_together(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        onnx.save(minimum_model(), tmp_path / "model.onnx")
        assert main(["reach", str(tmp_path / "model.onnx")]) == 0
        shown = capsys.readouterr().out
        assert f"ai.onnx 18 to {latest_opset()}" in shown
        assert f"onnxruntime==1.6 to {catalogue()['onnxruntime'].versions[-1]}" in shown

    def test_shows_every_blocker_of_one_target(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        nodes = [
            helper.make_node("Not", ["c"], ["n"], name="first"),
            helper.make_node("Not", ["n"], ["m"], name="second"),
            helper.make_node("Cast", ["m"], ["y"], to=onnx.TensorProto.FLOAT),
        ]
        model = model_of(nodes, inputs=("c",), opset=9)
        model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.BOOL
        onnx.save(model, tmp_path / "model.onnx")
        assert main(["reach", str(tmp_path / "model.onnx"), "--for", "tensorrt==5.1"]) == 2
        shown = capsys.readouterr().out
        assert "Not 'first'" in shown
        assert "Not 'second'" in shown

    def test_json_has_every_answer(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        onnx.save(minimum_model(), tmp_path / "model.onnx")
        assert main(["reach", str(tmp_path / "model.onnx"), "--for", "onnxruntime==1.4", "--json"]) == 0
        content = json.loads(capsys.readouterr().out)
        assert [answer["where"] for answer in content["targets"]] == ["onnxruntime==1.4"]
        assert content["opsets"] == [], "they were not asked for"
        assert main(["reach", str(tmp_path / "model.onnx"), "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["opsets"]) == latest_opset()


class TestSeveralModels:
    @pytest.fixture
    def zoo(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "zoo" / "a").mkdir(parents=True)
        for path, text, opset in (
            ("zoo/one.onnx", "g (float[N] x) => (float[N] y) { y = Relu (x) }", 13),
            ("zoo/a/two.onnx", "g (bfloat16[N] x) => (bfloat16[N] y) { y = Relu (x) }", 13),
        ):
            onnx.save(onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["": {opset}]> {text}'), path)
        return tmp_path / "zoo"

    def test_a_line_for_each_model(self, zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["reach", "zoo"]) == 0
        rows = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if "zoo" in line}
        assert list(rows) == ["zoo/a/two.onnx", "zoo/one.onnx"]
        assert rows["zoo/a/two.onnx"][:2] == ["13", "to"], "Relu has no bfloat16 below"
        assert rows["zoo/one.onnx"][:2] == ["1", "to"]

    def test_a_runtime_that_one_of_them_cannot_reach_decides_the_status(
        self, zoo: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["reach", "zoo/*.onnx", "--for", "onnxruntime==1.4"]) == 0
        assert main(["reach", "zoo", "--for", "onnxruntime==1.4", "--quiet"]) == 2
        capsys.readouterr()

    def test_a_file_that_is_no_model_stops_no_other(self, zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (zoo / "broken.onnx").write_bytes(b"no model")
        assert main(["reach", "zoo", "--for", "onnxruntime==1.4"]) == 1
        said = capsys.readouterr()
        assert "zoo/one.onnx" in said.out
        assert said.err.startswith("opsetlift: zoo/broken.onnx: this is not an ONNX model")
        assert said.err.count("\n") == 1

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["zoo", "--report", "r.html"], "--report and --force are for one model"),
            (["empty"], "empty: there is no model (.onnx) here"),
            (["zoo/*.pb"], "there is no model"),
        ],
    )
    def test_what_cannot_be_done_is_told(
        self, arguments: list[str], sentence: str, zoo: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (zoo.parent / "empty").mkdir()
        assert main(["reach", *arguments]) == 1
        assert sentence in capsys.readouterr().err


def repeated_means(count: int = 6) -> ModelProto:
    """A chain of equal nodes whose axes, each an initializer of its own, become attributes below opset 18."""
    nodes = [
        helper.make_node(
            "ReduceMean", [f"v{number}", f"axes{number}"], [f"v{number + 1}"], name=f"n{number}", keepdims=1
        )
        for number in range(count)
    ]
    axes = [numpy_helper.from_array(numpy.array([-1]), f"axes{number}") for number in range(count)]
    given = helper.make_tensor_value_info("v0", onnx.TensorProto.FLOAT, ["N", 4])
    result = helper.make_tensor_value_info(f"v{count}", onnx.TensorProto.FLOAT, ["N", 1])
    graph = helper.make_graph(nodes, "g", [given], [result], axes)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.mark.parametrize(
    "path",
    [None, *(pytest.param(path, marks=pytest.mark.slow, id=path.parent.name) for path in EXAMPLES)],
)
def test_opsets_are_answered_as_if_every_node_were_converted(
    path: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = onnx.load(path) if path else repeated_means()
    found = reach(model, targets=()).opsets
    walks = []

    def in_full(*arguments: Any, only_counts: bool, until_refused: bool, **named: Any) -> Any:
        walks.append(only_counts)
        return walked_copy(*arguments, until_refused=until_refused and not only_counts, **named)

    monkeypatch.setattr(dry_run, "walked_copy", in_full)
    assert reach(model, targets=()).opsets == found
    assert any(walks)


def test_nodes_are_told_apart_by_what_computes_their_inputs_where_a_runtime_minds() -> None:
    text = """<ir_version: 7, opset_import: ["": 13]> g (float[4,1] x)
        => (float[4,1] a, float[4,1] b, float[4,1] c, float[4,1] d)
        { p = Neg (x) a = Exp (p) q = Abs (x) b = Exp (q) r = Neg (x) c = Exp (r) s = Abs (x) d = Exp (s) }"""
    model = onnx.parser.parse_model(text)
    forms = (Form("Exp", "does not run Exp after Abs", "test", keys={"after": frozenset({"Abs"})}),)
    target = replace(find_target("onnxruntime==1.4"), kernels={}, forms=forms)
    (answer,) = reach(model, targets=[target]).targets
    assert [refusal.node for refusal in answer.blockers] == ["b", "d"]
    assert list(map(str, answer.blockers)) == outcome(model, target=target)[0]


def test_what_computes_an_input_is_what_it_has_become_where_a_runtime_minds() -> None:
    # The second Clip is equal to the first one and only counted, but the Erf behind it has to see what it becomes.
    text = """<ir_version: 7, opset_import: ["": 13]> g (double[4] x) => (double[4] a, double[4] b)
        <double low = {0.0}, double high = {6.0}> {
        p = Clip (x, low, high) a = Abs (p) q = Clip (x, low, high) b = Erf (q) }"""
    model = onnx.parser.parse_model(text)
    found = {}
    for operator in ("Clip", "Cast", "Min", "Max"):
        forms = (Form("Erf", f"does not run Erf after {operator}", "test", keys={"after": frozenset({operator})}),)
        target = replace(find_target("onnxruntime==1.4"), forms=forms)
        (answer,) = reach(model, targets=[target]).targets
        found[operator] = list(map(str, answer.blockers))
        assert found[operator] == outcome(model, target=target)[0], operator
    assert len({tuple(one) for one in found.values()}) > 1


def test_opsets_are_answered_only_where_they_are_asked_for() -> None:
    found = reach(minimum_model(), targets=["onnxruntime==1.4"], opsets=False)
    assert not found.opsets
    assert found.targets == reach(minimum_model(), targets=["onnxruntime==1.4"]).targets


def repeated_blocks(count: int = 5) -> ModelProto:
    """Equal blocks, one behind the other, each with weights of its own; one has other axes, and other weights."""
    lines = []
    for number in range(count):
        axis = 1 if number == 4 else 2
        before = f"b{number - 1}" if number else "x"
        lines.append(
            f"""m{number} = ReduceMean <axes = [{axis}], keepdims = 1> ({before})
            c{number} = Sub ({before}, m{number})  q{number} = Mul (c{number}, w{number})
            s{number} = Shape (q{number})  e{number} = Constant <value = int64[1] {{-1}}> ()
            t{number} = Concat <axis = 0> (s{number}, e{number})  r{number} = Reshape (q{number}, t{number})
            f{number} = Abs (r{number})  u{number} = Squeeze <axes = [3]> (f{number})
            d{number} = Add (u{number}, h{number})  b{number} = Clip <min = 0.0> (d{number})"""
        )
    text = f"""<ir_version: 7, opset_import: ["": 11]>
        g (float[batch, 40, 64] x) => (float[batch, 40, 64] b{count - 1}) {{ {" ".join(lines)} }}"""
    model = onnx.parser.parse_model(text)
    for number in range(count):
        values = numpy.full((40, 64) if number != 3 else (64,), number, numpy.float32)
        weight = numpy.full((40, 64) if number == 3 else (64,), number, numpy.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, f"w{number}"))
        model.graph.initializer.append(numpy_helper.from_array(values, f"h{number}"))
    return model


def test_of_equal_blocks_each_place_is_named_as_conversions_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "_FEWEST_NODES", 0)
    model = repeated_blocks()
    forms = (Form("Squeeze", "does not run Squeeze after Abs", "test", keys={"after": frozenset({"Abs"})}),)
    targets = [replace(find_target("onnxruntime==1.4"), forms=forms), find_target("tensorrt==5.1")]
    found = reach(model, targets=targets)
    # A refusal is found out for each node, not taken over from one that is equal.
    monkeypatch.setattr(RefusedSite, "like", lambda *arguments: None)
    for answer in found.opsets[2:6]:
        expected = outcome(model, to=answer.opsets["ai.onnx"])
        assert (list(map(str, answer.blockers)), answer.ir_version) == expected, answer.where
    for target, answer in zip(targets, found.targets, strict=True):
        assert (list(map(str, answer.blockers)), answer.ir_version) == outcome(model, target=target), answer.where
    assert any(len(answer.blockers) > 2 for answer in found.opsets)
    assert any(answer.blockers for answer in found.targets)


def test_dry_runs_are_of_one_node_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "_FEWEST_NODES", 0)
    sizes = []

    def counted(source: ModelProto, *arguments: Any, **named: Any) -> Any:
        sizes.append(len(source.graph.node))
        return walked_copy(source, *arguments, **named)

    monkeypatch.setattr(dry_run, "walked_copy", counted)
    few, many = (reach(repeated_means(count), targets=["tensorrt==8.0"]) for count in (40, 400))
    assert max(sizes) < 40
    assert [one.is_reachable for one in few.opsets] == [one.is_reachable for one in many.opsets]
    assert [one.rewrites * 10 for one in few.opsets] == [one.rewrites for one in many.opsets]


def test_other_opsets_are_tried_around_the_first_node_that_a_runtime_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "_FEWEST_NODES", 0)
    sizes: dict[int, list[int]] = {}

    def counted(source: ModelProto, opsets: Mapping[str, int], *arguments: Any, **named: Any) -> Any:
        sizes.setdefault(opsets[""], []).append(len(source.graph.node))
        return walked_copy(source, opsets, *arguments, **named)

    monkeypatch.setattr(dry_run, "walked_copy", counted)
    model = repeated_blocks()
    forms = (Form("Abs", "does not run Abs after Reshape", "test", keys={"after": frozenset({"Reshape"})}),)
    target = replace(find_target("onnxruntime==1.4"), forms=forms)
    (answer,) = reach(model, targets=[target], opsets=False).targets
    assert [refusal.node for refusal in answer.blockers] == [f"f{number}" for number in range(5)]
    assert sorted(sizes) == list(range(7, 13))
    assert all(max(found) < 10 for opset, found in sizes.items() if opset != 11), sizes


def test_nodes_that_rules_write_are_told_by_those_that_they_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorRT 5.1 takes no double, in which an Erf is computed where it is lacking."""
    monkeypatch.setattr(reaching, "_FEWEST_NODES", 0)
    lines = ["a0 = Abs (x)"]
    for block in range(3):
        steps = [f"a{block * 20 + step + 1} = Neg (a{block * 20 + step})" for step in range(20)]
        lines += [*steps[:-1], steps[-1].replace("Neg", "Erf")]
    text = f"""<ir_version: 4, opset_import: ["": 9]> g (float[2,3] x) => (float[2,3] a60) {{ {" ".join(lines)} }}"""
    model = onnx.parser.parse_model(text)
    sizes = []

    def counted(source: ModelProto, *arguments: Any, **named: Any) -> Any:
        sizes.append(len(source.graph.node))
        return walked_copy(source, *arguments, **named)

    monkeypatch.setattr(dry_run, "walked_copy", counted)
    answer = reach(model, targets=["tensorrt==5.1"], opsets=False).targets[0]
    assert max(sizes) < len(model.graph.node)
    assert len(answer.blockers) == 3
    assert (list(map(str, answer.blockers)), answer.ir_version) == outcome(model, target=find_target("tensorrt==5.1"))


def weighted_blocks(count: int = 60, *, negative: Collection[int] = range(3, 60, 10)) -> ModelProto:
    """Equal blocks, each with a scale, its Identity and a bias of its own; some biases have a number below 0."""
    lines, weights = [], []
    for number in range(count):
        before = f"b{number - 1}" if number else "x"
        lines.append(
            f"i{number} = Identity (w{number})  p{number} = Mul ({before}, i{number})"
            f"  b{number} = PRelu (p{number}, h{number})"
        )
        bias = numpy.linspace(1, 2, 32, dtype=numpy.float32) + number
        if number in negative:
            bias[-1] = -numpy.inf  # for which no rule writes anything else
        weights += [numpy_helper.from_array(bias, f"h{number}"), numpy_helper.from_array(abs(bias), f"w{number}")]
    text = f"""<ir_version: 7, opset_import: ["": 11]>
        g (float[batch, 32] x) => (float[batch, 32] b{count - 1}) {{ {" ".join(lines)} }}"""
    found = onnx.parser.parse_model(text)
    found.graph.initializer.extend(weights)
    return found


def test_blocks_are_alike_whatever_their_weights_unless_a_runtime_looks_at_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reaching, "_FEWEST_NODES", 0)
    sizes = []

    def counted(source: ModelProto, *arguments: Any, **named: Any) -> Any:
        sizes.append(len(source.graph.node))
        return walked_copy(source, *arguments, **named)

    monkeypatch.setattr(dry_run, "walked_copy", counted)
    blocks = weighted_blocks()
    reach(blocks, targets=["tensorrt==8.0"])
    assert max(sizes) < len(blocks.graph.node) / 5
    form = Form("PRelu", "does not run PRelu of negative slopes", "test", keys={"negative": frozenset({"slope"})})
    target = replace(find_target("onnxruntime==1.4"), forms=(form,))
    (answer,) = reach(blocks, targets=[target], opsets=False).targets
    assert [refusal.node for refusal in answer.blockers] == [f"b{number}" for number in range(3, 60, 10)]
    assert list(map(str, answer.blockers)) == outcome(blocks, target=target)[0]
    sizes.clear()
    (answer,) = reach(weighted_blocks(negative=()), targets=[target], opsets=False).targets
    assert answer.is_reachable
    assert max(sizes) < len(blocks.graph.node) / 5  # what was asked of one has the same answer for all


def test_what_is_computed_from_weights_tells_blocks_apart_where_a_runtime_looks_at_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The smallest weight is one number, folded from many."""
    monkeypatch.setattr(reaching, "_FEWEST_NODES", 0)
    lines = [
        f"m{number} = ReduceMin <keepdims = 0> (w{number})  y{number} = PRelu (x, m{number})" for number in range(30)
    ]
    outputs = ", ".join(f"float[4] y{number}" for number in range(30))
    text = f"""<ir_version: 7, opset_import: ["": 11]> g (float[4] x) => ({outputs}) {{ {" ".join(lines)} }}"""
    model = onnx.parser.parse_model(text)
    for number in range(30):
        weight = numpy.full(40, -numpy.inf if number % 10 == 3 else 1, numpy.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, f"w{number}"))
    form = Form("PRelu", "does not run PRelu of negative slopes", "test", keys={"negative": frozenset({"slope"})})
    target = replace(find_target("onnxruntime==1.4"), forms=(form,))
    (answer,) = reach(model, targets=[target], opsets=False).targets
    assert [refusal.node for refusal in answer.blockers] == ["y3", "y13", "y23"]


class TestOfModelsThatTheCheckerRejects:
    BFLOAT16 = """<ir_version: 8, opset_import: ["": 12]> g (bfloat16[4] x) => (bfloat16[4] y) { y = Add (x, x) }"""

    def test_they_go_where_they_are_valid(self) -> None:
        """Add takes bfloat16 from opset 13 on."""
        source = onnx.parser.parse_model(self.BFLOAT16)
        found = reach(source, targets=["onnxruntime==1.3"])
        assert [one.is_reachable for one in found.opsets[11:14]] == [False, True, True]
        assert "bfloat16" in found.opsets[11].blockers[0].sentence
        assert convert(source, to=13).certificate.is_proven
        with pytest.raises(ModelFileError, match="bfloat16"):
            convert(source, to=12)

    def test_inspect_says_why(self) -> None:
        found = inspect(onnx.parser.parse_model(self.BFLOAT16))
        assert "unsupported type" in found.notes[-1]
        assert found.lowest_opsets is None
        assert not found.runtimes
