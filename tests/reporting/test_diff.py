"""`opsetlift diff`: which nodes of two models are the same, and how the others differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy
import onnx
import pytest
from onnx import ModelProto, NodeProto, helper, numpy_helper

from opsetlift.cli import main
from opsetlift.model.scopes import subgraphs
from opsetlift.reporting.differences import ModelDifference, difference_of
from testing.random_graphs import random_graph
from testing.small_models import externalise, minimum_model, model_of, weighted_model
from tests.reporting.pages import check_page, hostile_model, saved


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def chain(*operators: str, prefix: str = "v") -> ModelProto:
    """Operators of one input, one after the other; values are numbered."""
    names = ["x", *(f"{prefix}{number}" for number in range(len(operators) - 1)), "y"]
    nodes = [helper.make_node(one, [names[at]], [names[at + 1]]) for at, one in enumerate(operators)]
    return model_of(nodes)


def counts(found: ModelDifference) -> tuple[int, int, int, int]:
    return tuple(found.counts.values())  # type: ignore[return-value]


def nodes_of(container: onnx.GraphProto) -> Iterator[NodeProto]:
    for node in container.node:
        yield node
        for _, graph in subgraphs(node):
            yield from nodes_of(graph)


def renamed(model: ModelProto) -> ModelProto:
    """The same with all values but inputs and outputs numbered in another way, and nodes without names."""
    copy = ModelProto()
    copy.CopyFrom(model)
    kept = {one.name for one in (*copy.graph.input, *copy.graph.output)}
    names: dict[str, str] = {}

    def new(name: str) -> str:
        return name if not name or name in kept else names.setdefault(name, f"n{1000 - len(names)}")

    for node in nodes_of(copy.graph):
        node.name = ""
        for field in (node.input, node.output):
            field[:] = [new(name) for name in field]
    for tensor in copy.graph.initializer:
        tensor.name = new(tensor.name)
    del copy.graph.value_info[:]
    return copy


@pytest.mark.parametrize("seed", range(8))
def test_a_model_is_the_same_as_itself_with_other_names(seed: int):
    model = random_graph(seed)
    assert difference_of(model, model).is_same
    found = difference_of(model, renamed(model))
    assert found.is_same, found.as_dict()


@pytest.mark.parametrize("seed", range(8))
def test_of_two_models_with_one_changed_node_all_others_are_the_same(seed: int):
    model = random_graph(seed)
    changed = renamed(model)
    position = len(changed.graph.node) // 2
    changed.graph.node[position].attribute.append(helper.make_attribute("added_by_test", 1))
    found = difference_of(model, changed)
    assert not found.is_same
    assert counts(found)[1:] == (1, 0, 0), found.as_dict()


def test_a_node_that_was_put_in_is_the_only_one_that_is_new():
    found = difference_of(chain("Relu", "Exp", "Tanh"), chain("Relu", "Exp", "Abs", "Tanh", prefix="w"))
    assert found.counts["same"] == 2
    assert found.counts["added"] == 1


def test_a_node_that_was_taken_out_is_the_only_one_that_is_gone():
    found = difference_of(chain("Relu", "Identity", "Tanh", "Exp"), chain("Relu", "Tanh", "Exp"))
    assert found.counts["removed"] == 1
    assert found.counts["added"] == 0


def test_computing_the_same_twice_or_once_differs_by_one_node():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Relu", ["x"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    once = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Add", ["a", "a"], ["y"])]
    assert counts(difference_of(model_of(nodes), model_of(once))) == (2, 0, 1, 0)


def test_names_that_mean_something_else_in_the_other_file_mislead_nobody():
    """As when an exporter numbers values anew because one was put in at the start."""
    before = chain("Relu", "Exp", "Tanh", "Abs", "Neg", "Sqrt")
    after = chain("Sigmoid", "Relu", "Exp", "Tanh", "Abs", "Neg", "Sqrt")
    found = difference_of(before, after)
    assert found.counts["removed"] == 0
    assert found.counts["added"] == 1


def test_constants_are_compared_by_their_contents():
    weighted = weighted_model()
    other = weighted_model()
    other.graph.initializer[0].CopyFrom(numpy_helper.from_array(numpy.zeros((2, 3), numpy.float32), "w"))
    found = difference_of(weighted, other)
    assert [one.sentences for one in found.scopes] == [
        ["constant 'w' changed: [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] float → [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]] float"]
    ]
    assert found.counts["same"] == 2


def test_weights_in_a_file_of_their_own_are_the_same_weights(tmp_path: Path):
    external = externalise(weighted_model(), tmp_path)
    assert difference_of(weighted_model(), external, base_dir=str(tmp_path)).is_same


def test_nodes_in_subgraphs_are_compared():
    def model(inner: str) -> ModelProto:
        out = [helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, [None, None])]
        branches = {
            f"{name}_branch": helper.make_graph([helper.make_node(operator, ["x"], ["z"])], name, [], out)
            for name, operator in (("then", inner), ("else", "Relu"))
        }
        condition = numpy_helper.from_array(numpy.array(True), "c")
        return model_of([helper.make_node("If", ["c"], ["y"], name="if", **branches)], initializers=[condition])

    assert difference_of(model("Exp"), model("Exp")).is_same
    found = difference_of(model("Exp"), model("Tanh"))
    assert [one.path for one in found.scopes if one.regions] == ["graph/0:if.then_branch"]


def test_versions_and_the_interface_are_compared():
    found = difference_of(minimum_model(13), minimum_model(14))
    assert found.sentences == ["opset of ai.onnx: 13 → 14"]
    other = minimum_model()
    other.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 4
    assert difference_of(minimum_model(), other).scopes[0].sentences == [
        "output 'y' changed: float[?, ?] → float[4, ?]"
    ]


def test_the_exit_status_is_that_of_diff(capsys: pytest.CaptureFixture[str]):
    saved(minimum_model(), "a.onnx")
    saved(minimum_model(14), "b.onnx")
    assert main(["diff", "a.onnx", "a.onnx"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["diff", "a.onnx", "b.onnx"]) == 1
    assert "opset of ai.onnx: 13 → 14" in capsys.readouterr().out
    assert main(["diff", "a.onnx", "b.onnx", "--quiet"]) == 1
    assert capsys.readouterr().out == ""
    assert main(["diff", "a.onnx", "missing.onnx"]) == 2
    assert main(["diff", "a.onnx"]) == 2
    Path("c.onnx").write_bytes(b"no model")
    assert main(["diff", "a.onnx", "c.onnx"]) == 2


def test_json_follows_its_schema(capsys: pytest.CaptureFixture[str]):
    saved(hostile_model(), "a.onnx")
    assert main(["convert", "a.onnx", "b.onnx", "--to", "18"]) == 0
    capsys.readouterr()
    assert main(["diff", "a.onnx", "b.onnx", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    text = files("opsetlift").joinpath("reporting/difference.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(found, json.loads(text))
    assert found["nodes"] == {"same": 1, "changed": 2, "removed": 0, "added": 0}


def test_the_report_draws_what_differs():
    saved(hostile_model(), "a.onnx")
    main(["convert", "a.onnx", "b.onnx", "--to", "18"])
    assert main(["diff", "a.onnx", "b.onnx", "--report", "diff.html"]) == 1
    assert "attribute axes removed" in check_page(Path("diff.html"))
    assert main(["diff", "a.onnx", "b.onnx", "--report", "a.onnx", "--force"]) == 2
