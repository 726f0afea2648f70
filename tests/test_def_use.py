"""The index of definitions and uses: what it counts, and that edits keep it true."""

from __future__ import annotations

import onnx
import pytest
from onnx import NodeProto, helper

from opsetlift import ConversionRefused, convert
from opsetlift.conversion.walk import scope as scope_walk
from opsetlift.model.def_use import DefUse
from testing.cases import node_cases
from testing.conversion import model
from tests.test_nearest import is_reached

NESTED = """
    <ir_version: 8, opset_import: ["": 18]>
    g (float[N] x, bool c) => (float[N] y, float[N] z) <float[1] w = {1}, float[1] v = {2}> {
        a = Add (x, w)
        y = If (c) <
            then_branch = t () => (float[N] p) <float[1] v = {3}> { b = Mul (a, v) p = Sub (b, a) },
            else_branch = e () => (float[N] q) { q = If (c) <
                then_branch = t2 () => (float[N] r) { r = Neg (a) },
                else_branch = e2 () => (float[N] s) { s = Identity (x) }> }>
        z = Add (a, v)
    }
"""


def index_of(text: str) -> tuple[DefUse, onnx.GraphProto]:
    graph = model(text).graph
    return DefUse(graph), graph


def test_a_use_may_outlive_the_node_that_computed_the_value():
    """A sequence that is replaced with its elements has no producer any more when its readers' turn comes."""
    text = """<ir_version: 8, opset_import: ["": 18]> g (float[N] x, bool c) => (float[N] y) {
        y = If (c) <then_branch = t () => (float[N] p) { a = Neg (x) p = Abs (a) },
                    else_branch = e () => (float[N] q) { q = Identity (x) }> }"""
    outer, graph = index_of(text)
    copy = copied(graph)
    fork = outer.fork(copy)
    assert fork.use_count("x") == 2
    branch, branch_copy = (one.node[0].attribute[0].g for one in (graph, copy))
    inner = outer.child(0, "then_branch", branch).fork(branch_copy, fork, 0)
    inner.replace(0, [])
    inner.replace(1, [helper.make_node("Relu", ["x"], ["p"])])
    assert (inner.use_count("a"), fork.use_count("a"), fork.use_count("x")) == (0, 0, 2)


def copied(graph: onnx.GraphProto) -> onnx.GraphProto:
    copy = onnx.GraphProto()
    copy.CopyFrom(graph)
    return copy


def test_inputs_of_nodes_outputs_of_the_scope_and_captures_are_uses() -> None:
    index, _ = index_of(NESTED)
    uses = {name: index.use_count(name) for name in ("x", "c", "a", "w", "y", "z")}
    assert uses == {"x": 2, "c": 2, "a": 4, "w": 1, "y": 1, "z": 1}


def test_a_value_that_a_subgraph_defines_itself_is_no_use_of_the_outer_one() -> None:
    index, graph = index_of(NESTED)
    assert index.use_count("v") == 1
    assert index.child(1, "then_branch", graph.node[1].attribute[0].g).captures == {"a": 2}
    assert index.child(1, "else_branch", graph.node[1].attribute[1].g).captures == {"c": 1, "a": 1, "x": 1}


def test_the_producer_of_a_value_is_found_by_name() -> None:
    index, graph = index_of(NESTED)
    assert index.producer("z") is graph.node[2]
    assert index.producer("x") is None
    assert index.defines("x")
    assert index.defines("w")
    assert not index.defines("p")


def assert_is_true(fork: DefUse, graph: onnx.GraphProto) -> None:
    """Whether an index that was kept true by edits is the one that the edited scope has."""
    fork.write()
    fresh = DefUse(graph)
    names = fresh.names() | set(fork.positions)
    assert {name: fork.use_count(name) for name in names} == {name: fresh.use_count(name) for name in names}
    assert set(fork.positions) == set(fresh.positions)


def test_replaced_and_edited_nodes_are_counted_anew() -> None:
    index, graph = index_of(NESTED)
    edited = copied(graph)
    fork = index.fork(edited)
    fork.replace(0, [helper.make_node("Sub", ["x", "v"], ["new"]), helper.make_node("Neg", ["new"], ["a"])])
    edited.node[2].input[1] = "x"
    fork.update(2)
    assert fork.take_unused() == ["w"]
    assert index.use_count("w") == 1, "the original's stays"
    assert_is_true(fork, edited)


def test_edits_of_a_subgraph_count_in_the_scopes_around_it() -> None:
    index, graph = index_of(NESTED)
    edited = copied(graph)
    fork = index.fork(edited)
    other = edited.node[1].attribute[1].g
    around = graph.node[1].attribute[1].g
    branch_index = index.child(1, "else_branch", around)
    branch = branch_index.fork(other, fork, 1)
    inner_index = branch_index.child(0, "else_branch", around.node[0].attribute[1].g)
    inner = inner_index.fork(other.node[0].attribute[1].g, branch, 0)
    inner.replace(0, [helper.make_node("Identity", ["w"], ["s"])])
    inner.write()
    assert fork.use_count("w") == 2
    assert fork.use_count("x") == 1
    fork.replace(1, [NodeProto(op_type="Identity", input=["a"], output=["y"])])
    assert fork.use_count("w") == 1
    assert fork.take_unused() == ["c"]
    assert_is_true(fork, edited)


def test_new_values_without_a_use_are_unused() -> None:
    index, graph = index_of(NESTED)
    fork = index.fork(copied(graph))
    fork.add_initializer("one")
    fork.replace(2, [helper.make_node("Neg", ["a"], ["spare"]), helper.make_node("Add", ["a", "v"], ["z"])])
    assert fork.take_unused() == ["one", "spare"]
    assert fork.take_unused() == []


MANY = """<ir_version: 8, opset_import: ["": 13]>
    g (int64[2] x, float[2] v) => (int64[4] y, float[2] z) {{ y = Concat <axis = 0> (x, x) {}
    }}"""


def test_after_a_refusal_equal_nodes_are_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    converted: list[str] = []
    convert_node = scope_walk.ScopeWalk.convert_node

    def counted(self: scope_walk.ScopeWalk, node: NodeProto, *arguments: object) -> object:
        converted.append(node.op_type)
        return convert_node(self, node, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(scope_walk.ScopeWalk, "convert_node", counted)
    chain = "\n".join(f"h{n} = HardSwish ({'v' if not n else f'h{n - 1}'})" for n in range(14, -1, -1))
    text = MANY.format("\n".join(reversed(chain.splitlines())) + "\n z = Neg (h14)").replace('"": 13', '"": 14')
    assert not is_reached(model(text), 3)
    assert converted.count("Concat") == 1
    assert converted.count("HardSwish") <= 2


@pytest.mark.slow
def test_what_is_not_converted_twice_changes_no_list_of_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusals(source: onnx.ModelProto, to: int) -> list[str]:
        try:
            convert(source, to=to, prove=False, check=False)
        except ConversionRefused as refused:
            return [str(one) for one in refused.refusals]
        return []

    cases = [case.model for case in node_cases() if case.name.startswith(("test_sequence", "test_range", "test_gru"))]
    twice = [doubled(source) for source in cases]
    with_keys = [refusals(source, to) for source in twice for to in (1, 5, 9)]
    monkeypatch.setattr(scope_walk.ScopeWalk, "key_for_verdict", lambda *arguments: None)
    assert [refusals(source, to) for source in twice for to in (1, 5, 9)] == with_keys
    assert sum(len(found) > 1 for found in with_keys) > 3


def doubled(source: onnx.ModelProto) -> onnx.ModelProto:
    """A model that computes everything twice, as two chains of nodes."""
    copy = onnx.ModelProto()
    copy.CopyFrom(source)
    for node in source.graph.node:
        again = copy.graph.node.add()
        again.CopyFrom(node)
        computed = {name for one in source.graph.node for name in one.output}
        again.input[:] = [f"{name}_again" if name in computed else name for name in node.input]
        again.output[:] = [f"{name}_again" if name else "" for name in node.output]
    return copy


def test_names_are_the_same_whether_uses_were_counted_before_or_not() -> None:
    counted, graph = index_of(NESTED)
    assert counted.use_count("a") == 4
    fresh = DefUse(graph)
    assert fresh.names_used() == counted.names_used() != set()
    assert fresh.names() == counted.names() >= counted.names_used()


def test_readers_are_the_nodes_of_the_scope_alone():
    index, graph = index_of(NESTED)
    assert index.readers("a") == [graph.node[2]]
    assert index.readers("x") == [graph.node[0]]
    assert index.readers("y") == index.readers("nowhere") == []
    twice, graph = index_of("""<ir_version: 8, opset_import: ["": 18]> g (float[N] x) => (float[N] y) {
        a = Abs (x) b = Mul (a, a) y = Sub (a, b) }""")
    assert twice.readers("a") == list(graph.node[1:])
