"""The proof of large models: where they differ, and that what differs there is found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import onnx_graphsurgeon as gs
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from opsetlift.normalizer import Pass, PassNotEquivalent
from opsetlift.normalizer.proving import prove_passes
from opsetlift.pipeline.normalize import normalize
from opsetlift.proof import Outcome, Proof, Region, Verdict, regions_of
from opsetlift.proof.regions import Regions
from tests.normalize.rewriting import text_model


def chain(*steps: str, count: int = 20, inputs: str = "float[N] x", constants: str = "") -> ModelProto:
    """A model of `count` blocks; "IN" and "OUT" are what a block reads and gives, and "@" is its number."""
    text, last = "", "x"
    for block in range(count):
        name = "y" if block == count - 1 else f"out{block}"
        text += " ".join(steps).replace("IN", last).replace("OUT", name).replace("@", str(block)) + "\n"
        last = name
    return text_model(f"g ({inputs}) => (float[M] y) {constants} {{ {text} }}")


def proven(before: ModelProto, after: ModelProto) -> Proof:
    return prove_passes(before, after, ulps=0, seed=0, base_dir="")


def cut(before: ModelProto, after: ModelProto, verdicts: Sequence[Verdict] = ()) -> tuple[Regions | None, list[Region]]:
    """The regions of two models, and those that were asked for: with these verdicts, and then equal."""
    asked: list[Region] = []

    def prove(region: Region) -> Verdict:
        asked.append(region)
        return [*verdicts, *[Verdict.EQUAL] * len(asked)][len(asked) - 1]

    return regions_of(before, after, "", prove), asked


BLOCK = ("n@ = Neg(IN)", "i@ = Identity(n@)", "r@ = LeakyRelu(i@)", "OUT = Add(r@, one)")
ONE = "<float one = {1}>"


class TestWhatIsAsBefore:
    def test_needs_no_run(self) -> None:
        without = [step for step in BLOCK if "Identity" not in step]
        proof = proven(chain(*BLOCK, constants=ONE), chain(*[s.replace("i@", "n@") for s in without], constants=ONE))
        assert proof.outcome is Outcome.EQUAL
        assert proof.parts is not None
        assert (proof.parts.same, proof.parts.nodes, proof.parts.rewrites, proof.parts.runs) == (60, 60, 0, 0)
        assert proof.summary().startswith("Proven: 60 of 60 nodes are as before, and ")

    def test_are_equal_nodes_of_which_one_is_left(self) -> None:
        twice = chain("a@ = Abs(IN)", "b@ = Abs(IN)", "OUT = Sub(a@, b@)")
        once = chain("a@ = Abs(IN)", "OUT = Sub(a@, a@)")
        assert cut(twice, once) == (Regions(same=40, distinct=0, count=0), [])

    def test_are_defaults_of_attributes_and_other_copies_of_a_constant(self) -> None:
        before = chain("a@ = Softmax<axis = -1>(IN)", "OUT = Add(a@, one)", constants=ONE)
        after = chain("c@ = Constant<value = float {1}>()", "a@ = Softmax(IN)", "OUT = Add(a@, c@)")
        assert cut(before, after) == (Regions(same=60, distinct=0, count=0), [])

    def test_are_constants_that_were_folded(self) -> None:
        before = chain("c@ = Sqrt(four)", "OUT = Add(IN, c@)", constants="<float four = {4}>")
        after = chain("c@ = Constant<value = float {2}>()", "OUT = Add(IN, c@)")
        assert cut(before, after) == (Regions(same=40, distinct=0, count=0), [])


class TestRewrites:
    def test_that_differ_in_names_are_executed_once(self) -> None:
        before = chain("a@ = Neg(IN)", "n@ = Neg(a@)", "s@ = Add(n@, n@)", "OUT = Tanh(s@)")
        after = chain("a@ = Neg(IN)", "s@ = Sub(IN, a@)", "OUT = Tanh(s@)")
        found, asked = cut(before, after)
        assert found is not None
        assert (found.count, found.distinct, len(asked)) == (20, 1, 1)
        assert [node.op_type for node in asked[0].original.graph.node] == ["Neg", "Add"]
        assert [node.op_type for node in asked[0].result.graph.node] == ["Sub"]

    def test_are_cut_out_of_what_surrounds_them(self) -> None:
        before = chain("a@ = Neg(IN)", "t@ = Add(a@, a@)", "OUT = Relu(t@)", "u@ = Abs(a@)")
        after = chain(
            "a@ = Neg(IN)", "t@ = Mul(a@, two)", "OUT = Relu(t@)", "u@ = Abs(a@)", constants="<float two = {2}>"
        )
        proof = proven(before, after)
        assert proof.outcome is Outcome.EQUAL
        assert proof.parts is not None
        assert (proof.parts.rewrites, proof.parts.distinct) == (20, 1)
        assert "20 rewrites (1 distinct) agree on " in proof.summary()

    def test_are_widened_where_sizes_decide(self) -> None:
        steps = "s@ = Shape(IN)", "t@ = Tanh(IN)", "r@ = Reshape(t@, s@)", "OUT = Sin(r@)"
        before, after = chain(*steps), chain(*steps[:2], "r@ = Identity(t@)", steps[3])
        proof = proven(before, after)
        assert proof.outcome is Outcome.EQUAL
        assert proof.parts is not None
        found, asked = cut(before, after, [Verdict.OPEN])
        assert found is not None
        assert [len(one.original.graph.node) for one in asked[:2]] == [2, 3]

    def test_are_left_to_the_whole_where_values_differ(self) -> None:
        steps = "a@ = Abs(IN)", "r@ = Relu(a@)", "n@ = Sin(r@)", "OUT = Tanh(n@)"
        before, after = chain(*steps), chain(steps[0], "r@ = Identity(a@)", *steps[2:])
        proof = proven(before, after)
        assert proof.outcome is Outcome.EQUAL
        assert proof.parts is None
        assert cut(before, after, [Verdict.DIFFERENT])[0] is None

    def test_may_ask_a_node_for_another_of_its_outputs(self) -> None:
        steps = "a@, i@ = MaxPool<kernel_shape = [1]>(IN)", "b@ = Abs(a@)", "OUT = Relu(b@)"
        before = chain(*steps, inputs="float[1, 1, N] x")
        after = chain(*steps, inputs="float[1, 1, N] x")
        for block, node in enumerate(before.graph.node):
            if node.op_type == "MaxPool":
                del node.output[1:]
                after.graph.node[block].output[1] = f"new{block}"
        assert cut(before, after) == (Regions(same=60, distinct=0, count=0), [])

    def test_read_what_follows_from_constants_alone_as_a_constant(self) -> None:
        before = text_model(
            "g (float[N] x) => (float[N] y) <float one = {1}> { " + on_constants(90) + " y = Add(x, c90) }"
        )
        after = text_model("g (float[N] x) => (float[N] y) <float c = {-1}> { y = Sub(x, c) }")
        found, asked = cut(before, after)
        assert found is not None
        assert [node.op_type for node in asked[0].original.graph.node] == ["Add"]
        assert proven(before, after).parts is not None
        wrong = text_model("g (float[N] x) => (float[N] y) <float c = {-1.0000001}> { y = Sub(x, c) }")
        assert proven(before, wrong).outcome is Outcome.DIFFERENT

    def test_may_compute_with_sizes_at_any_length(self) -> None:
        sizes = " ".join(f"s{at} = Add(s{at - 1}, zero)" for at in range(1, 90))
        head = "g (float[N, M] x) => (float[N, M] y) <int64[1] zero = {0}> { t = Tanh(x) s0 = Shape(t)"
        before = text_model(f"{head} {sizes} r = Reshape(t, s89) y = Neg(r) }}")
        after = text_model(f"{head} r = Reshape(t, s0) y = Neg(r) }}")
        assert proven(before, after).parts is not None
        wrong = text_model(f"{head} u = ReduceSum(s0) w = Cast<to = 1>(u) r = Add(t, w) y = Neg(r) }}")
        assert proven(before, wrong).outcome is Outcome.DIFFERENT

    def test_hold_scales_that_follow_from_sizes_inside(self) -> None:
        scale = "s@ = Shape<start = 1>(IN)", "f@ = Cast<to = 1>(s@)", "q@ = Sqrt(f@)", "OUT = Mul(IN, q@)"
        before = chain(*scale, inputs="float[N, 16] x")
        after, wrong = (
            chain("OUT = Mul(IN, q0)", inputs="float[N, 16] x", constants=f"<float[1] squared = {{{squared}}}>")
            for squared in (16, 25)
        )
        for model in (after, wrong):
            model.graph.node.insert(0, helper.make_node("Sqrt", ["squared"], ["q0"]))
        assert proven(before, after).parts is not None
        assert proven(before, wrong).outcome is Outcome.DIFFERENT

    def test_that_are_too_large_leave_the_whole_to_tell(self) -> None:
        before = text_model("g (float[N] x) => (float[N] y) { " + long("Abs", "Neg", "a") + "}")
        after = text_model("g (float[N] x) => (float[N] y) { " + long("Abs", "Neg", "b") + "}")
        assert cut(before, after) == (Regions(same=100, distinct=0, count=0), [])
        after.graph.node[10].op_type = "Relu"
        assert cut(before, after)[0] is None


def check_that_a_change_is_found(model: ModelProto, name: str, shape: tuple[int, int], place: tuple[int, int]) -> None:
    """A model with an initializer differs from the same with one element changed, and not from itself."""
    values = numpy.random.default_rng(0).standard_normal(shape).astype(numpy.float32)
    models = []
    for change in (0.0, 1.0):
        values[place] += change
        models.append(ModelProto())
        models[-1].CopyFrom(model)
        models[-1].graph.initializer.append(numpy_helper.from_array(values, name))
    assert proven(models[0], models[1]).outcome is Outcome.DIFFERENT
    assert proven(models[0], models[0]).outcome is Outcome.EQUAL


def on_constants(count: int) -> str:
    """`count` nodes that compute 1 from 1, the last of which is c90."""
    return "c0 = Mul(one, one) " + " ".join(f"c{at} = Mul(c{at - 1}, one)" for at in range(1, count + 1))


def long(first: str, second: str, name: str) -> str:
    nodes = [f"{name}0 = {first}(x)"]
    nodes += [f"{name}{at} = {(first, second)[at % 2]}({name}{at - 1})" for at in range(1, 99)]
    return " ".join([*nodes, f"y = Neg({name}98)"])


class TestWhatIsWrong:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("OUT = Add(r@, one)", "OUT = Add(r@, two)"),
            ("r@ = LeakyRelu(i@)", "r@ = Abs(i@)"),
            ("r@ = LeakyRelu(i@)", "r@ = LeakyRelu(IN)"),
            ("OUT = Add(r@, one)", "OUT = Add(one, one)"),
        ],
    )
    def test_is_found_in_one_of_many_places(self, before: str, after: str) -> None:
        constants = "<float one = {1}, float two = {2}>"
        model = chain(*BLOCK, constants=constants)
        other = chain(*BLOCK[: BLOCK.index(before)], after, *BLOCK[BLOCK.index(before) + 1 :], constants=constants)
        at = 4 * 13 + BLOCK.index(before)
        wrong = ModelProto()
        wrong.CopyFrom(model)
        wrong.graph.node[at].CopyFrom(other.graph.node[at])
        found = proven(model, wrong)
        assert found.outcome is Outcome.DIFFERENT
        assert found.parts is None
        assert proven(model, model).outcome is Outcome.EQUAL

    def test_is_found_in_a_body(self) -> None:
        body = """OUT = Loop(three, , IN) <body = b (int64 i@, bool c@, float[K] p@) => (bool k@, float[K] q@) {
            k@ = Identity(c@) q@ = Add(p@, BY) }>"""
        steps = "m@ = Neg(IN)", "n@ = Neg(m@)", "o@ = Neg(n@)"
        constants = "<int64 three = {3}, float one = {1}, float two = {2}>"
        models = [
            chain(*steps, body.replace("IN", "o@").replace("BY", by), constants=constants) for by in ("one", "two")
        ]
        assert proven(models[0], models[0]).outcome is Outcome.EQUAL
        assert proven(*models).outcome is Outcome.DIFFERENT

    def test_pass_of_the_caller_is_named(self) -> None:
        def rewrite(graph: gs.Graph, _: object) -> None:
            next(node for node in graph.nodes if node.name == "late").op = "Abs"

        model = chain(*BLOCK, constants=ONE)
        model.graph.node[70].name = "late"
        with pytest.raises(PassNotEquivalent, match="pass wrong"):
            normalize(model, [Pass("wrong", rewrite, "Makes an error.")])

    def test_a_weight_that_changed_is_found(self) -> None:
        model = chain("m@ = MatMul(IN, w)", "n@ = Tanh(m@)", "p@ = Neg(n@)", "OUT = Abs(p@)", inputs="float[N, 4] x")
        check_that_a_change_is_found(model, "w", (4, 4), (3, 3))

    def test_a_row_of_a_table_that_changed_is_found(self) -> None:
        model = text_model("g (int64[N] x) => (float[N, 4] y) { a = Gather(rows, x) b = Tanh(a) y = Neg(b) }")
        check_that_a_change_is_found(model, "rows", (5000, 4), (3777, 2))

    def test_a_function_that_another_one_calls_is_found(self) -> None:
        graph = "g (float[N] x) => (float[N] y) { a = local.outer(x) y = Neg(a) }"
        outer = '<domain: "local", opset_import: ["": 17, "local": 1]> outer (x) => (y) { y = local.inner(x) }'
        inner = '<domain: "local", opset_import: ["": 17]> inner (x) => (y) { y = WHAT(x) }'
        models = [
            text_model(graph, functions=f"{outer} {inner.replace('WHAT', operator)}") for operator in ("Abs", "Relu")
        ]
        assert proven(models[0], models[0]).outcome is Outcome.EQUAL
        assert proven(models[0], models[1]).outcome is Outcome.DIFFERENT
        assert cut(models[0], models[1])[0] is None


class TestWhatIsRandom:
    def test_is_compared_whole(self) -> None:
        model = chain("a@ = RandomNormalLike(IN)", "b@ = Add(a@, IN)", "c@ = Neg(b@)", "OUT = Abs(c@)")
        assert proven(model, model).parts is None


class TestWhatCannotBeExecuted:
    """Nodes of operators that nobody knows, each block with one."""

    STEPS = "u@ = local.unknown(IN)", "c@ = Cast<to = 1>(u@)", "n@ = Neg(c@)", "m@ = Neg(n@)", "OUT = Tanh(m@)"

    def models(self, *steps: str) -> ModelProto:
        found = chain(*steps)
        found.opset_import.add(domain="local", version=1)
        for node in found.graph.node:
            if node.op_type == "unknown":
                found.graph.value_info.append(helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, ["N"]))
        return found

    def test_is_no_obstacle_to_the_parts(self) -> None:
        before, after = self.models(*self.STEPS), self.models(*self.STEPS[:2], "m@ = Identity(c@)", self.STEPS[4])
        proof = proven(before, after)
        assert proof.outcome is Outcome.EQUAL
        assert proof.parts is not None
        assert (proof.parts.rewrites, proof.parts.distinct) == (20, 1)
        assert len(proof.cut) == 20

    @pytest.mark.parametrize(
        "wrong", [("u@ = local.unknown(zero)", *STEPS[1:]), (*STEPS[:3], "m@ = Abs(n@)", STEPS[4])]
    )
    def test_is_compared_in_what_it_reads_and_behind(self, wrong: tuple[str, ...]) -> None:
        before, after = self.models(*self.STEPS), self.models(*wrong)
        if "zero" in wrong[0]:
            after.graph.initializer.append(helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0]))
        assert proven(before, after).outcome is Outcome.DIFFERENT

    def test_is_not_taken_for_the_same_under_another_name(self) -> None:
        twice = self.models("u@ = local.unknown(IN)", "v@ = local.unknown(IN)", "OUT = Sub(u@, v@)")
        once = self.models("u@ = local.unknown(IN)", "OUT = Sub(u@, u@)")
        assert not proven(twice, once).is_proven


class TestInputsWithADefault:
    def test_are_not_taken_for_constants(self) -> None:
        def with_default(value: float, step: str) -> ModelProto:
            steps = "a@ = Neg(IN)", "b@ = Neg(a@)", "c@ = Neg(b@)", step
            one = chain(*steps, inputs="float[N] x, float k", constants="<float zero = {0}>")
            one.graph.initializer.append(helper.make_tensor("k", TensorProto.FLOAT, [], [value]))
            return one

        before, after = with_default(0.0, "OUT = Add(c@, k)"), with_default(0.0, "OUT = Add(c@, zero)")
        assert proven(before, before).outcome is Outcome.EQUAL
        assert proven(before, after).outcome is Outcome.DIFFERENT
