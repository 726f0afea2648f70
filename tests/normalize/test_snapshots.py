"""How a snapshot shows a change to a graph, and how many changes it counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import onnx_graphsurgeon as gs
import pytest

from opsetlift.normalizer.bridge import to_graph
from opsetlift.normalizer.graphs.places import places_in
from opsetlift.normalizer.snapshots.snapshot import Snapshot
from opsetlift.normalizer.snapshots.structure import Structure
from tests.normalize.rewriting import text_model

_GRAPH = """g (float[2,3] x, bool c) => (float[3,2] y) <float[3] w = {1, 2, 3}> {
    a = Add (x, w)
    b = Transpose <perm = [1, 0]> (a)
    k = Constant <value = float {1}> ()
    d = LeakyRelu <alpha = 0.5> (b)
    e = Mul (d, k)
    y = If (c) <then_branch = t () => (float[3,2] p) { p = Identity (e) },
                else_branch = f () => (float[3,2] q) { q = Neg (e) }>
}"""


@pytest.fixture(name="graph")
def _graph() -> gs.Graph:
    return to_graph(text_model(_GRAPH))


def _structure(graph: gs.Graph) -> Structure:
    return Structure(list(places_in(graph)), graph.functions)


def _node(graph: gs.Graph, operator: str) -> gs.Node:
    return next(node for node in graph.nodes if node.op == operator)


def _changes(graph: gs.Graph, edit: Callable[[gs.Graph], object]) -> int:
    """How much of a change an edit is, after checking that it is seen as one whenever it is one."""
    before = Snapshot(_structure(graph))
    edit(graph)
    has_held = before.structure.still_holds(list(places_in(graph)), graph.functions)
    now = before.renewed() if has_held else Snapshot(_structure(graph))
    changes = now.changes_since(before)
    assert changes == Snapshot(_structure(graph)).changes_since(before)
    assert (now is before) == (changes == 0)
    return changes


def _read_values(graph: gs.Graph) -> None:
    assert _node(graph, "Add").inputs[1].values.size


def _undo(graph: gs.Graph) -> None:
    node = _node(graph, "Add")
    inputs = list(node.inputs)
    node.inputs = inputs[:1]
    node.inputs = inputs


@pytest.mark.parametrize("edit", [lambda graph: None, _read_values, _undo])
def test_what_is_the_same_in_the_end_is_no_change(graph: gs.Graph, edit: Callable[[gs.Graph], object]) -> None:
    assert _changes(graph, edit) == 0


_EDITS: dict[str, Callable[[gs.Graph], object]] = {
    "operator": lambda graph: setattr(_node(graph, "Mul"), "op", "Div"),
    "domain": lambda graph: setattr(_node(graph, "Mul"), "domain", "other"),
    "name": lambda graph: setattr(_node(graph, "Mul"), "name", "product"),
    "plain attribute": lambda graph: _node(graph, "LeakyRelu").attrs.update(alpha=0.25),
    "new attribute": lambda graph: _node(graph, "Mul").attrs.update(alpha=0.25),
    "lost attribute": lambda graph: _node(graph, "LeakyRelu").attrs.clear(),
    "element of a list": lambda graph: _node(graph, "Transpose").attrs["perm"].reverse(),
    "attributes as a whole": lambda graph: setattr(_node(graph, "Transpose"), "attrs", {"perm": [0, 1]}),
    "tensor in an attribute": lambda graph: _node(graph, "Constant").attrs.update(value=gs.Constant("", numpy.ones(1))),
    "values of a tensor in an attribute": lambda graph: setattr(
        _node(graph, "Constant").attrs["value"], "values", numpy.ones((), numpy.float32)
    ),
    "tensor in the place of a plain value": lambda graph: _node(graph, "LeakyRelu").attrs.update(
        alpha=gs.Constant("alpha", numpy.ones(1, numpy.float32))
    ),
    "array in the place of a list": lambda graph: _node(graph, "Transpose").attrs.update(perm=numpy.array([0, 1])),
    "node of a subgraph": lambda graph: setattr(_node(graph, "If").attrs["else_branch"].nodes[0], "op", "Abs"),
    "order of inputs": lambda graph: _node(graph, "Add").inputs.reverse(),
    "input of equal name": lambda graph: setattr(
        _node(graph, "Transpose"), "inputs", [gs.Variable("a", numpy.float32, [2, 3])]
    ),
    "one output more": lambda graph: _node(graph, "Mul").outputs.append(gs.Variable("z")),
    "values of a constant": lambda graph: setattr(
        _node(graph, "Add").inputs[1], "values", numpy.ones(3, numpy.float32)
    ),
    "name of a constant": lambda graph: setattr(_node(graph, "Add").inputs[1], "name", "v"),
}


@pytest.mark.parametrize("edit", _EDITS.values(), ids=_EDITS)
def test_a_node_or_a_constant_that_is_another_is_one_change(
    graph: gs.Graph, edit: Callable[[gs.Graph], object]
) -> None:
    assert _changes(graph, edit) == 1


_OF_NO_NODE: dict[str, Callable[[gs.Graph], object]] = {
    "name of a variable": lambda graph: setattr(_node(graph, "Add").outputs[0], "name", "sum"),
    "dtype": lambda graph: setattr(_node(graph, "Add").outputs[0], "dtype", numpy.float64),
    "shape": lambda graph: setattr(_node(graph, "Add").outputs[0], "shape", [2, 3]),
    "dimension": lambda graph: graph.inputs[0].shape.reverse(),
    "order of nodes": lambda graph: graph.nodes.reverse(),
    "order of inputs": lambda graph: graph.inputs.reverse(),
    "outputs": lambda graph: setattr(graph, "outputs", [_node(graph, "Mul").outputs[0]]),
}


@pytest.mark.parametrize("edit", _OF_NO_NODE.values(), ids=_OF_NO_NODE)
def test_what_is_neither_a_node_nor_a_constant_is_one_change_together(
    graph: gs.Graph, edit: Callable[[gs.Graph], object]
) -> None:
    assert _changes(graph, edit) == 1


def test_another_subgraph_is_seen_in_the_places_that_were_known_before(graph: gs.Graph) -> None:
    before, places = Snapshot(_structure(graph)), list(places_in(graph))
    branches = _node(graph, "If").attrs
    branches["then_branch"] = branches["else_branch"].copy()
    assert before.structure.still_holds(places, graph.functions)
    assert before.structure.has_graphs_of(places)
    assert before.renewed() is not before
    assert not before.structure.has_graphs_of(places_in(graph))


def test_what_is_new_and_what_is_gone_is_counted(graph: gs.Graph) -> None:
    def rewrite(graph: gs.Graph) -> None:
        node = _node(graph, "LeakyRelu")
        graph.nodes.append(gs.Node("Relu", inputs=[node.inputs[0]], outputs=[node.outputs[0]]))
        graph.nodes.remove(node)

    assert _changes(graph, rewrite) == 2


def test_a_constant_that_becomes_a_variable_is_gone(graph: gs.Graph) -> None:
    assert _changes(graph, lambda graph: _node(graph, "Add").inputs[1].to_variable(numpy.float32, [3])) == 1


def test_names_and_declared_types_are_told_from_what_says_what_is_computed(graph: gs.Graph) -> None:
    before = Snapshot(_structure(graph))
    _node(graph, "Add").name = "sum"
    _node(graph, "Add").outputs[0].name = "sum"
    _node(graph, "Add").outputs[0].shape = [2, 3]
    now = Snapshot(_structure(graph))
    assert now.differs_in_names_only(before)
    _node(graph, "LeakyRelu").attrs["alpha"] = 0.25
    assert not Snapshot(_structure(graph)).differs_in_names_only(now)
