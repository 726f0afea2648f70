"""The proof of a normalisation: passes that change a result are named, and what is not proven is said."""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs
import pytest
from onnx import ModelProto, TensorProto, helper

from opsetlift import NotEquivalent
from opsetlift.normalizer import Pass, PassNotEquivalent
from opsetlift.normalizer.proving import prove_passes
from opsetlift.pipeline.normalize import ProofMissing, normalize
from opsetlift.proof import Outcome, prove_models
from testing.conversion import model
from tests.normalize.rewriting import text_model

CHAIN = "g (float[N] x) => (float[N] y) { a = Abs(x) b = Neg(a) c = Identity(b) y = Ceil(c) }"


def replacing(before: str, after: str) -> Pass:
    """A pass that puts one operator in place of another."""

    def rewrite(graph: gs.Graph) -> None:
        for node in graph.nodes:
            if node.op == before:
                node.op = after

    return Pass(f"{before}-to-{after}".lower(), lambda graph, context: rewrite(graph), "Replaces an operator.")


def test_the_pass_that_changed_a_result_is_named() -> None:
    right = [replacing("Identity", "Abs"), replacing("Abs", "Neg")]
    passes = ["fold-constants", replacing("Ceil", "Floor"), "remove-no-op-moves", "canonical-attributes"]
    with pytest.raises(PassNotEquivalent) as stopped:
        normalize(text_model(CHAIN), passes)
    assert stopped.value.pass_name == "ceil-to-floor"
    assert isinstance(stopped.value, NotEquivalent)
    assert str(stopped.value).startswith("pass ceil-to-floor: ")
    assert "output 'y'" in str(stopped.value)
    assert stopped.value.proof.outcome is Outcome.DIFFERENT
    with pytest.raises(PassNotEquivalent, match="pass identity-to-abs"):
        normalize(text_model(CHAIN), right)


def test_the_first_of_several_guilty_passes_is_named() -> None:
    passes = [replacing("Neg", "Abs"), replacing("Ceil", "Floor"), replacing("Identity", "Neg")]
    with pytest.raises(PassNotEquivalent, match="pass neg-to-abs"):
        normalize(text_model(CHAIN), passes)


def test_a_wrong_pass_goes_through_where_no_proof_is_asked_for() -> None:
    result = normalize(text_model(CHAIN), [replacing("Ceil", "Floor")], prove=False)
    assert result.proof is None
    assert result.report.passes[0].proof == "not asked for"


def test_open_dimensions_are_tried_at_several_sizes_none_among_them() -> None:
    def for_large_inputs(graph: gs.Graph) -> None:
        for node in graph.nodes:
            if node.op == "Identity":
                node.op, node.inputs = "Slice", [node.inputs[0], *map(constant, ([0], [4]))]

    def constant(values: list[int]) -> gs.Constant:
        return gs.Constant(f"c{values[0]}", numpy.array(values, numpy.int64))

    with pytest.raises(PassNotEquivalent, match="for-large-inputs"):
        normalize(text_model(CHAIN), [for_large_inputs])
    proof = normalize(text_model(CHAIN)).proof
    assert proof is not None
    assert proof.shapes > 2
    assert "inputs of" in proof.summary()


@pytest.mark.slow
def test_loops_are_run_a_different_number_of_times() -> None:
    def only_the_first_two(graph: gs.Graph) -> None:
        for node in graph.nodes:
            if node.op == "Loop":
                limit = gs.Variable("limit", numpy.int64, [])
                graph.nodes.append(
                    gs.Node("Min", inputs=[node.inputs[0], gs.Constant("two", numpy.array(2))], outputs=[limit])
                )
                node.inputs[0] = limit

    loop = """g (int64 n, float[2] x) => (float[2] y) {
        y = Loop(n, , x) <body = b (int64 i, bool c, float[2] before) => (bool same, float[2] after) {
            same = Identity(c) after = Add(before, before)
        }>
    }"""
    with pytest.raises(PassNotEquivalent, match="only-the-first-two"):
        normalize(text_model(loop), [only_the_first_two])


def test_a_rounding_pass_is_held_to_its_bound() -> None:
    source = text_model("g (float[N] x) => (float[N] y) <float three = {3}> { y = Div(x, three) }")

    def to_product(graph: gs.Graph) -> None:
        for node in graph.nodes:
            if node.op == "Div":
                node.op = "Mul"
                node.inputs[1] = gs.Constant("third", numpy.array(1 / 3, numpy.float32))

    def with_bound(ulps: int) -> Pass:
        return Pass("reciprocal", lambda graph, context: to_product(graph), "Multiplies.", ulps=ulps)

    with pytest.raises(PassNotEquivalent, match="reciprocal"):
        normalize(source, [with_bound(0)])
    proof = normalize(source, [with_bound(1)]).proof
    assert proof is not None
    assert proof.is_proven
    assert 0 < proof.worst_ulps <= 1
    assert "within 1 ULP" in proof.summary()


def test_a_model_that_cannot_be_executed_is_unproven_and_refused_where_proof_is_required() -> None:
    source = text_model(
        "g (float[N] x) => (float[N] y) { a = local.f(x) b = Identity(a) y = Cast <to = 1> (b) }", functions=" "
    )
    source.opset_import.add(domain="local", version=1)
    result = normalize(source, check=False)
    assert result.proof is not None
    assert result.proof.outcome is Outcome.UNPROVEN
    assert {one.proof.split(":")[0] for one in result.report.passes} == {"unproven", "changed nothing"}
    with pytest.raises(ProofMissing, match="f"):
        normalize(source, check=False, require_proof=True)


def custom_model() -> ModelProto:
    """A model of an operator that nobody knows, between others."""
    nodes = [
        helper.make_node("Identity", ["x"], ["a"]),
        helper.make_node("Neg", ["a"], ["b"]),
        helper.make_node("Mystery", ["b"], ["c"], domain="local", factor=2),
        helper.make_node("Identity", ["c"], ["d"]),
        helper.make_node("Add", ["d", "b"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3]) for name in "xyc"]
    graph = helper.make_graph(nodes, "g", [infos[0]], [infos[1]], value_info=[infos[2]])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def test_inputs_too_large_to_be_drawn_are_said_to_be() -> None:
    model = text_model("g (float[4611686018427387904] x) => (float[n] y) { a = Identity(x) y = Neg(a) }")
    result = normalize(model)
    assert result.proof is not None
    assert "too large" in result.proof.reason
    assert len(result.model.graph.node) == 1


def test_what_stands_around_an_unknown_operator_is_proven() -> None:
    result = normalize(custom_model())
    assert [node.op_type for node in result.model.graph.node] == ["Neg", "Mystery", "Add"]
    assert result.proof is not None
    assert result.proof.is_proven, result.proof.summary()
    assert result.proof.cut
    assert "Mystery" in result.proof.summary()


@pytest.mark.parametrize("operator", ["Neg", "Add"])
def test_a_change_before_or_after_an_unknown_operator_is_found(operator: str) -> None:
    other = {"Neg": "Abs", "Add": "Sub"}[operator]
    with pytest.raises(PassNotEquivalent, match=operator.lower()):
        normalize(custom_model(), [replacing(operator, other)])


def test_a_change_of_an_unknown_operator_itself_proves_nothing() -> None:
    def change(graph: gs.Graph) -> None:
        graph.nodes[2].attrs["factor"] = 3

    proof = normalize(custom_model(), [change]).proof
    assert proof is not None
    assert proof.outcome is Outcome.UNPROVEN


def test_random_numbers_are_no_difference() -> None:
    source = text_model(
        """g (float[2] x) => (float[2] y) {
            r = RandomUniform<shape = [2]>() s = Identity(r) t = Add(s, x) y = Neg(t) }"""
    )
    result = normalize(source)
    assert [node.op_type for node in result.model.graph.node] == ["RandomUniform", "Add", "Neg"]
    assert result.proof is not None
    assert result.proof.is_proven, result.proof.summary()
    with pytest.raises(PassNotEquivalent, match="add-to-sub"):
        normalize(source, [replacing("Add", "Sub")])


def test_another_interface_is_a_difference() -> None:
    one = text_model("g (float[N] x) => (float[N] y) { y = Neg(x) }")
    other = text_model("g (float[N] x) => (float[N] z) { z = Neg(x) }")
    proof = prove_passes(one, other, ulps=0, seed=0, base_dir="")
    assert proof.outcome is Outcome.DIFFERENT
    assert "'y'" in proof.reason


def test_bounds_that_few_inputs_reach_are_reached() -> None:
    numbers = "<float zero = {0}, float one = {1}, float six = {6}, float nine = {9}>"
    head = f"g (float[3] x, float z) => (float[3] y) {numbers}"
    one = text_model(f"{head} {{ a = Clip(x, zero, one) y = Clip(a, six, nine) }}")
    other = text_model(f"{head} {{ y = Clip(x, six, nine) }}")
    for seed in range(5):
        assert prove_passes(one, other, ulps=0, seed=seed, base_dir="").outcome is Outcome.DIFFERENT


def test_proofs_of_one_seed_are_the_same() -> None:
    proofs = [normalize(text_model(CHAIN), seed=5).proof for _ in range(2)]
    assert proofs[0] == proofs[1]


TABLE = [float(number % 7) for number in range(40)]
KEYS = [f"{chr(97 + number % 26)}{number}" for number in range(40)]
POOL = [29, 24, 31, 25, 31, 31, 30, 28, 20, 27, 23, 30, 20, 22, 21, 25, 27, 29, 22, 24, 28, 21, 23, 20, 25, 30, 24, 27]
LOOKED_UP = {
    "a list of a constant": ("(int64[N] i) => (float[N] y)", "t = Constant <value_floats = %s> () y = Gather (t, i)"),
    "a small tensor": ("(int64[N] i) => (float[N] y) <float[40] t = {%s}>", "y = Gather (t, i)"),
    "numbers that data is compared with": (
        "(float[N,1] x) => (float[N] y) <float[40] t = {%s}>",
        "e = Equal (x, t) f = Cast <to = 1> (e) y = ReduceMax <axes = [1], keepdims = 0> (f)",
    ),
    "texts as keys": (
        "(string[N] x) => (float[N] y)",
        f"y = ai.onnx.ml.LabelEncoder <keys_strings = {KEYS}, values_floats = %s> (x)".replace("'", '"'),
    ),
    "n-grams": (
        "(int32[12] x) => (float[7] y)",
        'y = TfIdfVectorizer <mode = "IDF", min_gram_length = 4, max_gram_length = 4, max_skip_count = 0, ngram_counts'
        f" = [0, 0, 0, 0], ngram_indexes = [0, 1, 2, 3, 4, 5, 6], pool_int64s = {POOL}, weights = %s> (x)",
    ),
}


HELD_OTHERWISE = {
    "in two parts": "a = Constant <value_floats = {left}> () b = Constant <value_floats = {right}> ()"
    " t = Concat <axis = 0> (a, b)",
    "in a tensor": "t = Constant <value = float[40] {{{whole}}}> ()",
}


@pytest.mark.parametrize("before", HELD_OTHERWISE.values(), ids=HELD_OTHERWISE)
def test_each_element_counts_of_a_table_that_is_held_otherwise(before: str) -> None:
    for place in range(0, 40, 7):
        wrong = [*TABLE[:place], TABLE[place] + 9, *TABLE[place + 1 :]]
        parts = {"left": TABLE[:16], "right": TABLE[16:], "whole": str(TABLE)[1:-1]}
        held = [before.format(**parts), *(f"t = Constant <value_floats = {one}> ()" for one in (TABLE, wrong))]
        models = [text_model(f"g (int64[N] i) => (float[N] y) {{ {one} y = Gather (t, i) }}") for one in held]
        assert prove_passes(models[0], models[1], ulps=0, seed=0, base_dir="").outcome is Outcome.EQUAL
        assert prove_passes(models[0], models[2], ulps=0, seed=0, base_dir="").outcome is Outcome.DIFFERENT, place
        assert prove_models(models[0], models[2]).outcome is Outcome.DIFFERENT, place


@pytest.mark.parametrize("kind", LOOKED_UP)
def test_each_element_of_what_is_looked_up_counts(kind: str) -> None:
    signature, nodes = LOOKED_UP[kind]
    right = TABLE[: 7 if kind == "n-grams" else None]
    for place in range(0, len(right), 5):
        wrong = [*right[:place], right[place] + 9, *right[place + 1 :]]
        text = f'<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 2]> g {signature} {{ {nodes} }}'
        one, other = (
            model(text.replace("{%s}", f"{{{str(table)[1:-1]}}}").replace("%s", str(table))) for table in (right, wrong)
        )
        assert prove_passes(one, other, ulps=0, seed=0, base_dir="").outcome is Outcome.DIFFERENT, place


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Add (x, c) b = Identity (a) y = Neg (b)",
        "b = Identity (x) y = Min (b, c)",
    ],
)
def test_integers_beside_a_number_that_may_be_a_bound_are_proven(nodes: str) -> None:
    done = normalize(text_model(f"g (int64[N] x) => (int64[N] y) <int64 c = {{100}}> {{ {nodes} }}"))
    assert done.proof is not None
    assert done.proof.is_proven, done.proof.reason
