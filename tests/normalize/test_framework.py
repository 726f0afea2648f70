"""The normaliser around its passes: which run, what they may do, what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import ModelProto, numpy_helper

import opsetlift
from opsetlift.model.files import ModelFileError
from opsetlift.normalizer import (
    Context,
    Pass,
    PassFailed,
    Pattern,
    UnknownPass,
    chosen_passes,
    known_passes,
    to_graph,
    to_model,
)
from opsetlift.normalizer.discovery import ORDER, PassConflict
from opsetlift.pipeline.normalize import normalize
from opsetlift.support import plugins
from testing.conversion import model
from tests.normalize.rewriting import text_model

GRAPH = "g (float[N, 3] x) => (float[N, 3] y) { a = Add(x, x) b = Identity(a) y = Neg(b) }"


def operators(model: ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def add_to_mul(graph: gs.Graph) -> None:
    """Adding something to itself is doubling it."""
    for node in graph.nodes:
        if node.op == "Add" and node.inputs[0] is node.inputs[1]:
            node.op = "Mul"
            node.inputs[1] = gs.Constant("two", numpy.array(2, numpy.float32))


class TestChoice:
    def test_passes_are_found_by_being_there_in_the_order_of_the_table(self) -> None:
        names = list(known_passes())
        assert set(names) >= set(ORDER)
        assert [name for name in names if name in ORDER] == list(ORDER)

    def test_every_pass_says_what_it_does_in_one_sentence(self) -> None:
        for one in known_passes().values():
            assert one.summary.endswith("."), one.name
            assert one.name == one.name.lower()

    def test_what_rounds_runs_only_where_it_is_asked_for(self) -> None:
        assert not any(one.is_default for one in known_passes().values() if one.ulps)
        assert any(one.ulps for one in chosen_passes(["all"]))

    def test_passes_run_in_the_order_in_which_they_are_named(self) -> None:
        names = ["merge-casts", "fold-constants"]
        assert [one.name for one in chosen_passes(names)] == names

    def test_a_name_after_a_minus_leaves_one_out(self) -> None:
        names = [one.name for one in chosen_passes(["default", "-name-nodes", "fix-defaults"])]
        assert "name-nodes" not in names
        assert names[-1] == "fix-defaults"

    def test_a_minus_in_front_is_of_the_default_passes(self) -> None:
        names = [one.name for one in chosen_passes(["-name-nodes"])]
        assert names == [one.name for one in chosen_passes() if one.name != "name-nodes"]

    def test_one_name_need_not_be_in_a_list(self) -> None:
        assert [one.name for one in chosen_passes("merge-casts")] == ["merge-casts"]

    def test_an_unknown_name_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(UnknownPass, match="did you mean 'fold-constants'"):
            chosen_passes(["fold-constant"])

    def test_what_is_no_pass_is_refused(self) -> None:
        with pytest.raises(PassConflict, match="not 3"):
            chosen_passes([3])  # type: ignore[list-item]

    def test_two_passes_of_one_name_are_refused(self) -> None:
        with pytest.raises(PassConflict, match="two passes called 'merge-casts'"):
            chosen_passes(["merge-casts", Pass("merge-casts", lambda graph, context: None, "")])


class EntryPoint:
    name = "theirs"
    dist = None

    def __init__(self, value: str, loaded: object) -> None:
        self.value = value
        self._loaded = loaded

    def load(self) -> object:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points of the group that passes are registered under."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(plugins, "entry_points", lambda group: found if group == "opsetlift.passes" else [])
    known_passes.cache_clear()
    yield found
    known_passes.cache_clear()


class TestEntryPoints:
    def test_modules_and_passes_of_third_parties_run_after_the_others(self, entry_points: list[EntryPoint]) -> None:
        module = ModuleType("theirs")
        module.PASSES = [Pass("theirs", lambda graph, context: add_to_mul(graph), "Doubles.")]  # type: ignore[attr-defined]
        entry_points += [EntryPoint("theirs", module), EntryPoint("more:PASS", Pass("more", lambda g, c: None, "."))]
        assert list(known_passes())[-2:] == ["more", "theirs"]
        assert operators(normalize(text_model(GRAPH)).model) == ["Mul", "Neg"]

    def test_a_name_that_is_taken_is_refused(self, entry_points: list[EntryPoint]) -> None:
        entry_points.append(EntryPoint("theirs:PASS", Pass("fold-constants", lambda graph, context: None, ".")))
        with pytest.raises(PassConflict, match=r"fold-constants.*theirs:PASS"):
            known_passes()

    def test_what_is_no_pass_is_refused(self, entry_points: list[EntryPoint]) -> None:
        entry_points.append(EntryPoint("theirs:thing", 3))
        with pytest.raises(PassConflict, match="theirs:thing"):
            known_passes()

    def test_what_does_not_load_is_named(self, entry_points: list[EntryPoint]) -> None:
        entry_points.append(EntryPoint("theirs", ModuleNotFoundError("No module named 'theirs'")))
        with pytest.raises(plugins.PluginFault, match=r"entry point 'theirs' .* does not load: ModuleNotFoundError"):
            known_passes()


class TestOwnRewrites:
    def test_a_function_over_a_graph_is_a_pass(self) -> None:
        result = normalize(text_model(GRAPH), [add_to_mul])
        assert operators(result.model) == ["Mul", "Identity", "Neg"]
        assert [(one.name, one.changes) for one in result.report.passes] == [("add-to-mul", 2)]
        assert result.proof is not None
        assert result.proof.is_proven

    def test_a_function_may_take_a_context(self) -> None:
        asked: list[Any] = []

        def look(graph: gs.Graph, context: Context) -> None:
            tensor = graph.nodes[0].outputs[0]
            asked.append((context.scope, context.opset(), context.shape_of(tensor), context.dtype_of(tensor)))

        normalize(text_model(GRAPH), [look])
        assert asked[0] == ("graph", 17, ("N", 3), "float")

    def test_a_context_tells_what_is_known_of_tensors_and_for_whom_the_model_is(self) -> None:
        told: dict[str, Any] = {}

        def ask(graph: gs.Graph, context: Context) -> None:
            add = next(node for node in graph.nodes if node.op == "Add")
            told["is_input"] = [context.is_input(tensor) for tensor in add.inputs]
            told["type"] = context.type_of(add.outputs[0])
            told["values"] = context.evaluate(next(node for node in graph.nodes if node.op == "Neg"))
            told["target"] = context.target

        source = text_model("g (float[2] x) => (float[2] y) <float[2] k = {1, 2}> { m = Neg(k) y = Add(x, m) }")
        normalize(source, [ask], target="onnxruntime==1.16")
        assert told["is_input"] == [True, False]
        assert told["type"] == onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2])
        assert [value.tolist() for value in told["values"]] == [[-1, -2]]
        assert (told["target"].name, told["target"].version) == ("onnxruntime", "1.16")

    def test_subgraphs_come_before_what_holds_them_and_functions_last(self) -> None:
        source = text_model(
            """g (bool c, float x) => (float y) {
                y = If (c) <then_branch = t () => (float u) { u = local.f(x) },
                            else_branch = e () => (float v) { v = Neg(x) }>
            }""",
            functions='<domain: "local", opset_import: ["" : 17]> f (a) => (b) { b = Neg(a) }',
        )
        seen: list[str] = []

        def look(graph: gs.Graph, context: Context) -> None:
            seen.append(f"{context.scope} {graph.name}")

        normalize(source, [look])
        assert seen == ["subgraph t", "subgraph e", "graph g", "function f"]

    def test_new_tensors_whose_names_are_taken_get_others(self) -> None:
        def name_alike(graph: gs.Graph) -> None:
            for node in graph.nodes:
                if node.op == "Neg":
                    node.op = "Mul"
                    node.inputs.append(gs.Constant("a", numpy.array(-1, numpy.float32)))

        result = normalize(text_model(GRAPH), [name_alike])
        assert [tensor.name for tensor in result.model.graph.initializer] == ["a_1"]

    def test_nodes_may_be_left_in_any_order_and_dead_ones_behind(self) -> None:
        def out_of_order(graph: gs.Graph) -> None:
            for node in graph.nodes:
                if node.op == "Identity":
                    graph.nodes.reverse()
                    reader = node.outputs[0].outputs[0]
                    reader.inputs[0] = node.inputs[0]

        assert operators(normalize(text_model(GRAPH), [out_of_order]).model) == ["Add", "Neg"]

    @pytest.mark.parametrize("module", [__name__, "opsetlift.normalizer.passes.test"])
    def test_what_a_pass_puts_into_an_attribute_is_cleaned_up(self, module: str) -> None:
        def other_branch(graph: gs.Graph, context: Context) -> None:
            for node in graph.nodes:
                if node.op == "If" and len(node.attrs["then_branch"].nodes) == 1:
                    negated, dead, out = (gs.Variable(name, numpy.float32, [3]) for name in ("negated", "dead", "out"))
                    nodes = [
                        gs.Node("Abs", inputs=[negated], outputs=[out]),
                        gs.Node("Exp", inputs=[graph.inputs[0]], outputs=[dead]),
                        gs.Node("Neg", inputs=[graph.inputs[0]], outputs=[negated]),
                    ]
                    node.attrs["then_branch"] = gs.Graph(nodes, outputs=[out], opset=graph.opset)

        other_branch.__module__ = module
        branches = (
            "then_branch = t () => (float[3] p) { p = Neg(x) }, else_branch = e () => (float[3] q) { q = Exp(x) }"
        )
        model = text_model(f"g (float[3] x, bool c) => (float[3] y) {{ y = If <{branches}> (c) }}")
        result = normalize(model, [Pass("other-branch", other_branch, "Another branch.")], prove=False).model
        branch = next(one.g for one in result.graph.node[0].attribute if one.name == "then_branch")
        assert [node.op_type for node in branch.node] == ["Neg", "Abs"]

    def test_a_cycle_is_said(self) -> None:
        def knot(graph: gs.Graph) -> None:
            graph.nodes[0].inputs[0] = graph.nodes[1].outputs[0]

        with pytest.raises(PassFailed, match=r"pass knot: Add .* depends on its own output"):
            normalize(text_model(GRAPH), [knot])

    def test_an_error_names_the_pass(self) -> None:
        def broken(graph: gs.Graph) -> None:
            raise KeyError("what")

        with pytest.raises(PassFailed, match="pass broken: failed with KeyError: 'what'"):
            normalize(text_model(GRAPH), [broken])

    def test_a_pass_that_leaves_behind_what_nobody_can_write_is_named(self) -> None:
        def strange(graph: gs.Graph) -> None:
            graph.nodes[0].attrs["axis"] = object()

        with pytest.raises(PassFailed, match="pass strange: failed with TypeError"):
            normalize(text_model(GRAPH), [strange, add_to_mul])

    def test_new_tensors_of_one_base_are_numbered_on(self) -> None:
        names: list[str] = []

        def ask(graph: gs.Graph, context: Context) -> None:
            names.extend(context.fresh_name("a") for _ in range(3))

        normalize(text_model(GRAPH), [ask])
        assert names == ["a_1", "a_2", "a_3"]

    @pytest.mark.parametrize(
        "graph",
        [
            "g (float x) => (float[m] y) <int64[1] n = {10000000000}, float k = {1}> { c = Expand(k, n) y = Add(c, x)}",
            "g (float[1] x) => (float[m] y) <int64[1] n = {100000000000}> { c = ConstantOfShape(n) y = Add(c, x) }",
        ],
    )
    def test_what_is_too_large_to_hold_is_not_evaluated(self, graph: str) -> None:
        source = text_model(graph)
        assert operators(normalize(source, prove=False).model) == operators(source)

    def test_a_model_that_trains_is_refused(self) -> None:
        source = text_model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }")
        source.training_info.add().update_binding.add(key="w", value="w")
        with pytest.raises(PassFailed, match="training changes values"):
            normalize(source)

    def test_a_function_in_the_place_of_an_operator_that_passes_know_is_refused(self) -> None:
        source = model(
            """<ir_version: 8, opset_import: ["" : 17]>
            g (float[2] x) => (float[2] y) { a = Identity(x) y = Relu(a) }
            <domain: "", opset_import: ["" : 17]> Identity (a) => (b) { b = Neg(a) }"""
        )
        with pytest.raises(PassFailed, match="function that overrides the operator 'Identity'"):
            normalize(source)

    def test_a_broken_model_is_not_blamed_on_a_pass(self) -> None:
        source = text_model("g (float[2] x) => (int64[1] y) { s = Gather(x, x) y = Shape(s) }")
        del source.graph.node[0].input[:]
        with pytest.raises(ModelFileError, match="onnx does not accept the model"):
            normalize(source)

    def test_a_file_of_an_old_form_is_repaired_first(self) -> None:
        graph = """g (float[2] x, bool c) => (float[2] y) {
            y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) },
                else_branch = e (float[2] w) => (float[2] b) <float[2] w = {1, 2}> { b = Mul(x, w) }>
        }"""
        result = normalize(text_model(graph))
        assert "inputs of subgraphs that are also initializers" in result.report.notes[0]
        assert result.proof is not None
        assert result.proof.is_proven

    def test_facts_are_worked_out_anew_after_the_passes_of_others(self) -> None:
        source = text_model("g (float[2, 3] x) => (int64[2] y) { a = Identity(x) s = Shape(a) y = Neg(s) }")

        def turn(graph: gs.Graph) -> None:
            for node in graph.nodes:
                node.op = {"Identity": "Transpose"}.get(node.op, node.op)

        model = normalize(source, ["infer-shapes", turn, "infer-shapes", "fold-constants"], prove=False).model
        assert numpy_helper.to_array(model.graph.node[0].attribute[0].t).tolist() == [-3, -2]

    def test_an_ir_version_that_is_too_low_is_raised_before_the_passes_run(self) -> None:
        graph = "g (float[2] x) => (float[2] y) { a = Constant<value = float[2] {1, 2}>() y = Add(x, a) }"
        source = text_model(graph, opset=8, ir=3)
        source.graph.quantization_annotation.add(tensor_name="x")
        once = normalize(source).model
        assert operators(once) == ["Add"]
        assert normalize(once).model == once

    def test_values_that_passes_of_others_change_in_place_are_read_anew(self) -> None:
        source = text_model(
            """g (float[2] x) => (float[2] y) <int8 q = {1}, float s = {1}, float t = {1}> {
                a = DequantizeLinear(q, s) b = ReduceSum<keepdims = 0>(a) c = Mul(x, b) y = Div(c, t)
            }"""
        )

        def double(graph: gs.Graph) -> None:
            for node in graph.nodes:
                if node.op in ("DequantizeLinear", "Div") and node.inputs[1].values == 1:
                    node.inputs[1].values[...] = 2

        normalize(source, ["infer-shapes", double, "remove-no-op-arithmetic"])

    def test_a_pass_that_makes_the_model_invalid_is_named(self) -> None:
        def mistyped(graph: gs.Graph) -> None:
            for node in graph.nodes:
                if node.op == "Identity":
                    node.op = "Identitty"

        with pytest.raises(PassFailed, match=r"pass mistyped: the model is not valid any more: .*Identitty") as failed:
            normalize(text_model(GRAPH), ["infer-shapes", mistyped, add_to_mul])
        assert "report" not in str(failed.value)

    def test_what_a_model_declares_falsely_is_noted(self) -> None:
        result = normalize(text_model("g (float[2, 3] x) => (float[2] y) { a = Identity(x) y = Neg(a) }"))
        assert operators(result.model) == ["Neg"]
        assert "declares a shape that differs from the inferred one" in result.report.notes[0]

    def test_inputs_and_outputs_are_the_callers(self) -> None:
        def cut(graph: gs.Graph) -> None:
            graph.outputs = [graph.nodes[0].outputs[0]]

        with pytest.raises(PassFailed, match="pass cut: it changes the inputs or the outputs"):
            normalize(text_model(GRAPH), [cut])

    def test_declared_types_of_inputs_and_outputs_stay(self) -> None:
        def declare(graph: gs.Graph) -> None:
            graph.inputs[0].shape = [5, 3]
            graph.nodes[0].outputs[0].dtype, graph.nodes[0].outputs[0].shape = numpy.float32, [5, 3]

        source = text_model(GRAPH)
        result = normalize(source, [declare]).model.graph
        assert (result.input, result.output) == (source.graph.input, source.graph.output)
        assert [info.name for info in result.value_info] == ["a"]

    def test_passes_that_undo_each_other_are_noted(self) -> None:
        def to_abs(graph: gs.Graph) -> None:
            graph.nodes[0].op = "Abs" if graph.nodes[0].op == "Neg" else "Neg"

        source = text_model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
        result = normalize(source, [to_abs], prove=False)
        assert "did not converge" in result.report.notes[0]


class TestPatterns:
    @staticmethod
    def double_negation(replacement: Any = None) -> Pattern:
        pattern = gs.GraphPattern()
        first = pattern.add("first", "Neg", inputs=[pattern.variable()])
        pattern.set_output_tensors([pattern.add("second", "Neg", inputs=[first])])
        return Pattern("double-negation", pattern, replacement or (lambda graph, match, context: match.inputs))

    def test_a_match_gives_way_to_what_stands_in_its_place(self) -> None:
        source = text_model("g (float[N] x) => (float[N] y) { a = Abs(x) b = Neg(a) c = Neg(b) y = Sqrt(c) }")
        result = normalize(source, [self.double_negation()])
        assert operators(result.model) == ["Abs", "Sqrt"]
        assert result.proof is not None
        assert result.proof.is_proven

    def test_the_name_of_an_output_stays(self) -> None:
        source = text_model("g (float[N] x) => (float[N] y) { a = Abs(x) b = Neg(a) y = Neg(b) }")
        result = normalize(source, [self.double_negation()]).model
        assert operators(result) == ["Abs"]
        assert result.graph.node[0].output[0] == "y"

    def test_where_the_name_of_an_output_would_be_lost_it_is_said(self) -> None:
        source = text_model("g (float[N] x) => (float[N] y) { b = Neg(x) y = Neg(b) }")
        with pytest.raises(PassFailed, match="'x' cannot replace 'y', whose name must stay"):
            normalize(source, [self.double_negation()])

    @pytest.mark.parametrize(
        "graph",
        [
            "g (float[N] x) => (float[N] y, float[N] b) { a = Abs(x) b = Neg(a) c = Neg(b) y = Sqrt(c) }",
            "g (float[N] x) => (float[N] y, float[N] z) { a = Abs(x) b = Neg(a) c = Neg(b) y = Sqrt(c) z = Exp(b) }",
            """g (float[N] x, bool k) => (float[N] y, float[N] z) { a = Abs(x) b = Neg(a) c = Neg(b) y = Sqrt(c)
                z = If (k) <then_branch = t () => (float[N] u) { u = Exp(b) },
                            else_branch = e () => (float[N] v) { v = Log(b) }> }""",
        ],
    )
    def test_inner_values_that_something_else_reads_stay(self, graph: str) -> None:
        source = text_model(graph)
        assert operators(normalize(source, [self.double_negation()]).model) == operators(source)

    def test_new_nodes_take_on_what_was_noted_on_the_old_ones(self) -> None:
        def one_abs(graph: gs.Graph, match: Any, context: Context) -> list[gs.Tensor]:
            return list(graph.layer(op="Identity", inputs=[match.inputs[0]], outputs=["same"], name="same"))

        source = text_model("g (float[N] x) => (float[N] y) { a = Abs(x) b = Neg(a) c = Neg(b) y = Sqrt(c) }")
        for number, node in enumerate(source.graph.node):
            node.doc_string = f"note {number}"
        source.graph.node[2].metadata_props.add(key="from", value="torch")
        result = normalize(source, [self.double_negation(one_abs)])
        (identity,) = (node for node in result.model.graph.node if node.op_type == "Identity")
        assert identity.doc_string == "note 1\nnote 2"
        assert identity.metadata_props[0].value == "torch"

    def test_matches_overlap_in_one_run_but_not_in_the_next(self) -> None:
        source = text_model("g (float[N] x) => (float[N] y) { a = Neg(x) b = Neg(a) c = Neg(b) d = Neg(c) y = Abs(d) }")
        result = normalize(source, [self.double_negation()])
        assert operators(result.model) == ["Abs"]

    def test_none_leaves_a_match_as_it_is(self) -> None:
        source = text_model("g (float[N] x) => (float[N] y) { a = Neg(x) b = Neg(a) y = Abs(b) }")
        result = normalize(source, [self.double_negation(lambda graph, match, context: None)])
        assert result.model == source


class TestInterface:
    def test_the_public_function_normalizes(self) -> None:
        assert operators(opsetlift.normalize(text_model(GRAPH)).model) == ["Add", "Neg"]

    def test_no_pass_at_all_gives_the_model_back(self) -> None:
        source = text_model(GRAPH)
        result = normalize(source, [])
        assert result.model.SerializeToString() == source.SerializeToString()
        assert result.proof is not None
        assert result.proof.is_proven

    def test_graphs_are_taken_and_given(self) -> None:
        graph = gs.import_onnx(text_model(GRAPH))
        result = normalize(graph)
        assert isinstance(result.graph, gs.Graph)
        assert [node.op for node in result.graph.nodes] == ["Add", "Neg"]
        assert len(graph.nodes) == 3

    def test_convert_takes_a_graph_and_gives_one_back(self) -> None:
        source = text_model("g (float[2, 3] x) => (float[2, 1] y) { y = ReduceMin<axes = [1]>(x) }")
        source.graph.node[0].doc_string = "smallest"
        graph = gs.import_onnx(source)
        conversion = opsetlift.convert(graph, to=18)
        assert isinstance(conversion.graph, gs.Graph)
        assert conversion.graph.opset == 18
        assert len(conversion.graph.nodes[0].inputs) == 2
        assert graph.opset == 17
        assert conversion.certificate is not None

    def test_what_rides_along_survives_a_conversion_of_a_graph(self) -> None:
        source = text_model("g (float[2, 3] x) => (float[2, 1] y) { y = ReduceMin<axes = [1]>(x) }")
        source.graph.node[0].doc_string = "smallest"
        graph = to_graph(source)
        converted = opsetlift.convert(graph, to=18).graph
        assert to_model(converted).graph.node[0].doc_string == "smallest"

    def test_a_conversion_may_be_normalised(self) -> None:
        source = text_model("g (float[2, 3] x) => (float[2, 1] y) { a = Identity(x) y = ReduceMin<axes = [1]>(a) }")
        conversion = opsetlift.convert(source, to=18, normalize=True)
        assert operators(conversion.model) == ["ReduceMin"]
        assert conversion.normalization is not None
        assert conversion.normalization.proof is not None
        assert conversion.normalization.proof.is_proven

    def test_a_conversion_for_an_old_ir_version_keeps_to_it(self) -> None:
        source = text_model(
            "g (float[2] x) => (float[2] y) { c = Constant<value = float[2] {1, 2}>() y = Add(x, c) }", opset=8, ir=4
        )
        conversion = opsetlift.convert(source, to=7, ir=3, normalize=True)
        assert conversion.model.ir_version == 3
        onnx.checker.check_model(conversion.model, full_check=True)

    def test_a_model_for_a_target_stays_within_what_it_takes(self) -> None:
        source = text_model(GRAPH)
        result = normalize(source, target="onnxruntime==1.4")
        assert result.conversion is not None
        assert result.model.opset_import[0].version == 12
        assert operators(result.model) == ["Add", "Neg"]

    def test_the_input_is_never_touched(self) -> None:
        source = text_model(GRAPH)
        before = source.SerializeToString(deterministic=True)
        normalize(source, fix_shapes={"N": 2})
        assert source.SerializeToString(deterministic=True) == before

    def test_defaults_of_inputs_are_fixed_where_that_is_asked_for(self) -> None:
        source = text_model(
            "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { v = Neg(w) y = Add(x, v) }", opset=8, ir=3
        )
        assert len(normalize(source).model.graph.input) == 2
        result = normalize(source, ["fix-defaults", "default"])
        assert result.proof is not None
        assert result.proof.is_proven
        assert [info.name for info in result.model.graph.input] == ["x"]
        assert operators(result.model) == ["Add"]
        assert result.model.ir_version == 4
        numpy.testing.assert_array_equal(numpy_helper.to_array(result.model.graph.initializer[0]), [-1, -2])
