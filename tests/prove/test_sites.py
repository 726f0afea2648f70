"""Which nodes are sites, which of them are equal, and what can be said of each."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TypeProto, helper, numpy_helper

from opsetlift import convert
from opsetlift.proof import Outcome, prove_conversion
from opsetlift.rulebook.trace import ConversionTrace
from tests.prove.conversions import Conversion, KnownFacts, conversion, model, trace_of


def stamped(original: ModelProto, opset: int) -> ModelProto:
    """The same nodes at another opset."""
    result = ModelProto()
    result.CopyFrom(original)
    for container in (result, *result.functions):
        container.opset_import[0].version = opset
    return result


def restamped(text: str, opsets: tuple[int, int]) -> Conversion:
    original = model(text, opsets[0])
    return Conversion(original, stamped(original, opsets[1]))


def test_nodes_that_no_rule_touched_are_sites_where_their_definition_changes() -> None:
    certificate = restamped("g (float[N] x) => (float[N] y) { t = Neg (x) y = Tanh (t) }", (6, 12)).prove()
    assert certificate.nodes == 0
    certificate = restamped("g (float[N] x) => (float[N] y) { t = Neg (x) y = ReduceMin (t) }", (6, 13)).prove()
    assert [(site.operator, site.source_since, site.target_since) for site in certificate.sites] == [
        ("Neg", 6, 13),
        ("ReduceMin", 1, 13),
    ]
    assert certificate.is_proven
    assert certificate.summary() == (
        "2 nodes changed operator version (2 distinct cases): all proven equal, 2 executed by the same code at both "
        "versions"
    )


@pytest.mark.usefixtures("told_apart")
def test_equal_sites_are_proven_once_and_counted() -> None:
    text = """g (float[N, M] x, float[K, L] z, double[N] w) => (a, b, c, d) {
        a = ReduceMin <axes = [1]> (x)
        b = ReduceMin <axes = [1]> (z)
        c = ReduceMin <axes = [0]> (x)
        d = ReduceMin <axes = [0]> (w)
    }"""
    certificate = restamped(text, (11, 13)).prove()
    assert [site.count for site in certificate.sites] == [2, 1, 1]
    assert certificate.nodes == 4


@pytest.mark.usefixtures("told_apart")
def test_large_sizes_that_differ_make_no_other_site() -> None:
    text = """g (float[1, 64, 500] x, float[1, 96, 700] z) => (a, b) {
        a = ReduceMin <axes = [1]> (x)
        b = ReduceMin <axes = [1]> (z)
    }"""
    certificate = restamped(text, (11, 13)).prove()
    assert [(site.count, site.outcome) for site in certificate.sites] == [(2, Outcome.EQUAL)]


def test_a_rule_may_use_the_models_sizes() -> None:
    original = "g (float[1, 640, 500] x) => (float[1, 1, 500] y) { y = ReduceMin <axes = [1]> (x) }"
    result = """g (float[1, 640, 500] x) => (float[1, 1, 500] y) <int64[3] s = {1, 1, 500}> {
        r = ReduceMin <axes = [1], keepdims = 0> (x)
        y = Reshape (r, s)
    }"""
    right = conversion(original, result, (11, 12), claims=[(0, 0, 2)], added=["s"])
    assert right.prove().is_proven, right.prove().summary()
    assert right.prove().sites[0].notes[0].startswith("equal only with the model's own sizes")
    wrong = conversion(original, result.replace("1, 1, 500", "1, 500, 1"), (11, 12), claims=[(0, 0, 2)], added=["s"])
    assert wrong.prove().is_refuted


def _with_weight(operator: str, weight: NDArray[Any], name: str) -> ModelProto:
    made = model(f"g (float[2, 40, 30] x) => (float[2, 40, 30] y) {{ y = {operator} (x, {name}) }}", 12)
    made.graph.initializer.append(numpy_helper.from_array(weight, name))
    return made


def test_a_rule_may_use_a_large_constant() -> None:
    weight = numpy.arange(1200, dtype=numpy.float32).reshape(40, 30)
    original = _with_weight("Add", weight, "w")
    for added, outcome in ((-weight, Outcome.EQUAL), (weight + 1, Outcome.DIFFERENT)):
        result = stamped(_with_weight("Sub", added, "negative"), 13)
        trace = trace_of([(0, 0, 1)], added=["negative"], dropped=["w"])
        certificate = Conversion(original, result, trace).prove()
        assert [site.outcome for site in certificate.sites] == [outcome], certificate.summary()
        assert certificate.structure == []


class NoTypes(KnownFacts):
    """Facts of a model of which onnx infers nothing."""

    def type_of(self, path: str, name: str) -> TypeProto | None:
        return None


@pytest.mark.usefixtures("told_apart")
def test_where_types_are_not_known_every_possible_one_is_tried() -> None:
    made = restamped("g (float[N] x) => (float[N] y) { y = ReduceMin (x) }", (11, 12))
    certificate = prove_conversion(made.original, made.result, made.trace, NoTypes(made.original))
    assert certificate.is_proven
    assert "the dtype cannot be inferred" in certificate.sites[0].notes[0]
    narrowed = Conversion(stamped(made.original, 12), stamped(made.original, 11))
    certificate = prove_conversion(narrowed.original, narrowed.result, narrowed.trace, NoTypes(narrowed.original))
    assert [site.outcome for site in certificate.sites] == [Outcome.UNPROVEN]
    assert "the dtype cannot be inferred, and for one of them the sides differ" in certificate.sites[0].reason


class NoSizes(KnownFacts):
    """Facts of a model whose ranks are known and no sizes."""

    def type_of(self, path: str, name: str) -> TypeProto | None:
        found = super().type_of(path, name)
        if found is None:
            return None
        rank = len(found.tensor_type.shape.dim)
        return helper.make_tensor_type_proto(found.tensor_type.elem_type, [None] * rank)

    def constant(self, path: str, name: str) -> NDArray[Any] | None:
        return None


@pytest.mark.usefixtures("told_apart")
def test_sizes_that_cannot_be_guessed_are_taken_from_a_run_of_the_whole_model() -> None:
    text = """g (float[1, 14, 9, 9] x, float[14, 2, 5, 4] w) => (y) {
        a = Neg (x)
        b = Neg (w)
        y = Conv <kernel_shape = [5, 4], group = 7> (a, b)
    }"""
    made = restamped(text, (10, 11))
    certificate = prove_conversion(made.original, made.result, made.trace, NoSizes(made.original))
    assert certificate.is_proven, certificate.summary()
    assert certificate.cases > 10


@pytest.mark.usefixtures("told_apart")
def test_an_unknown_type_follows_from_that_of_another_input() -> None:
    class HalfKnown(KnownFacts):
        def type_of(self, path: str, name: str) -> TypeProto | None:
            return None if name == "b" else super().type_of(path, name)

    made = restamped("g (float[N] a, float[N] b) => (float[N] y) { y = Add (a, b) }", (14, 13))
    certificate = prove_conversion(made.original, made.result, made.trace, HalfKnown(made.original))
    assert certificate.is_proven
    assert certificate.sites[0].notes == []


def test_an_original_that_breaks_its_own_text_is_compared_leniently() -> None:
    certificate = restamped("g (float[N, M] x) => (float[N, M] y) { y = ReduceMin <axes = [-1]> (x) }", (9, 13)).prove()
    assert certificate.is_proven, certificate.summary()
    assert "violates the specification of its version" in certificate.sites[0].notes[0]


@pytest.mark.usefixtures("told_apart")
def test_an_original_that_never_runs_is_unproven() -> None:
    text = "g (float[2, 3] x, float[4, 5] z) => (float[2, 3] y) { y = Min (x, z) }"
    certificate = restamped(text, (8, 13)).prove()
    assert [site.outcome for site in certificate.sites] == [Outcome.UNPROVEN]
    assert certificate.sites[0].cases == 0
    assert certificate.sites[0].reason.startswith("the original never ran: ")
    assert not certificate.is_proven
    assert not certificate.is_refuted
    assert "1 unproven; Min 'y' in graph: the original never ran" in certificate.summary()


def test_random_operators_are_kept_if_they_are_the_same_nodes() -> None:
    text = "g () => (float[4] y) { y = RandomNormal <shape = [4], seed = 1.0> () }"
    certificate = restamped(text, (1, 22)).prove()
    assert [site.outcome for site in certificate.sites] == [Outcome.SAME_STRUCTURE]
    assert certificate.is_proven
    reseeded = conversion(text, text.replace("seed = 1.0", "seed = 2.0"), (1, 22), claims=[(0, 0, 1)]).prove()
    assert [site.outcome for site in reseeded.sites] == [Outcome.DIFFERENT]


def test_a_node_that_nothing_uses_may_go() -> None:
    original = "g (float[N] x) => (float[N] y) { t = Neg (x) y = Tanh (x) }"
    result = "g (float[N] x) => (float[N] y) { y = Tanh (x) }"
    certificate = conversion(original, result, (6, 12), claims=[(0, 0, 0)]).prove()
    assert certificate.is_proven
    assert [site.outcome for site in certificate.sites] == [Outcome.UNUSED]


def test_an_output_that_nothing_uses_may_go() -> None:
    original = "g (float[N, M] x) => (float[N, M] y) { y, mask = Dropout (x) }"
    result = "g (float[N, M] x) => (float[N, M] y) { y = Identity (x) }"
    certificate = conversion(original, result, (10, 12), claims=[(0, 0, 1)]).prove()
    assert certificate.is_proven, certificate.summary()


def test_captured_values_are_inputs_of_a_site() -> None:
    text = """g (bool c, float[N] x, float[N] z) => (float[N] y) {
        y = If (c) <
            then_branch = t () => (float[N] a) { a = Min (x, z) },
            else_branch = e () => (float[N] b) { b = Max (x, z) }
        >
    }"""
    certificate = restamped(text, (12, 13)).prove()
    assert certificate.is_proven, certificate.summary()
    assert [(site.operator, site.path) for site in certificate.sites] == [
        ("If", "graph"),
        ("Min", "graph/0:If.then_branch"),
        ("Max", "graph/0:If.else_branch"),
    ]


@pytest.mark.slow
def test_a_loop_whose_end_depends_on_values_ends() -> None:
    text = """g (float x) => (float y) {
        none = Constant <value = bool {1}> ()
        y = Loop <body = b (int64 i, bool going, float s) => (bool more, float t) {
            t = Identity (s)
            limit = Constant <value = float {0.5}> ()
            more = Less (t, limit)
        }> ("", none, x)
    }"""
    certificate = restamped(text, (13, 16)).prove()
    loops = [site for site in certificate.sites if site.operator == "Loop"]
    assert [site.outcome for site in loops] == [Outcome.EQUAL]
    assert loops[0].rejected, "some inputs never end, and count for nothing"


def test_training_graphs_are_part_of_the_claim() -> None:
    made = restamped("g (float[N] x) => (float[N] y) { y = Tanh (x) }", (11, 13))
    for one in (made.original, made.result):
        step = helper.make_node("Neg", ["x"], ["z"])
        one.training_info.add().algorithm.node.append(step)

    class KnowsTraining(KnownFacts):
        def type_of(self, path: str, name: str) -> TypeProto | None:
            return super().type_of("graph", name)

        def constant(self, path: str, name: str) -> NDArray[Any] | None:
            return super().constant("graph", name)

    certificate = prove_conversion(made.original, made.result, made.trace, KnowsTraining(made.original))
    assert ("Neg", "training_info[0].algorithm") in [(site.operator, site.path) for site in certificate.sites]


@pytest.mark.usefixtures("told_apart")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
def test_small_dtypes_of_open_size_are_proven_on_many_cases(dtype: str) -> None:
    text = f"g ({dtype}[N, M] x) => ({dtype}[N] y) {{ y = ReduceMin <keepdims = 0> (x) }}"
    certificate = restamped(text, (20, 21)).prove()
    assert certificate.nodes == 0
    text = f"g ({dtype}[N, M] x) => ({dtype}[N, M] y) {{ y = Identity (x) }}"
    certificate = restamped(text, (13, 14)).prove()
    assert certificate.is_proven
    assert certificate.cases > 20


def test_the_empty_trace_of_equal_models_proves_nothing_to_do() -> None:
    one = model("g (float[N] x) => (float[N] y) { y = Neg (x) }", 13)
    certificate = prove_conversion(one, one, ConversionTrace(), KnownFacts(one))
    assert certificate.is_proven
    assert certificate.summary() == "No operator definition changed."


MANY = [f"x{number}" for number in range(150)]


def joined(names: list[str]) -> str:
    inputs = ", ".join(f"float[1, 2] {name}" for name in MANY)
    return f"g ({inputs}) => (float[A, 2] y) {{ y = Concat <axis = 0> ({', '.join(names)}) }}"


@pytest.mark.usefixtures("told_apart")
def test_a_site_of_many_inputs_is_proven_on_fewer_cases_that_hold_all_kinds_of_values() -> None:
    certificate = conversion(joined(MANY), joined(MANY), (12, 13)).prove()
    assert certificate.is_proven
    [site] = certificate.sites
    assert site.cases < 150
    assert len(site.inputs) == 150
    assert all(not one.missing and one.cases == site.cases for one in site.inputs)


def test_a_site_of_many_inputs_is_refuted_where_two_of_them_are_exchanged() -> None:
    exchanged = [*MANY[:70], MANY[71], MANY[70], *MANY[72:]]
    certificate = conversion(joined(MANY), joined(exchanged), (12, 13), claims=[(0, 0, 1)]).prove()
    assert [site.outcome for site in certificate.sites] == [Outcome.DIFFERENT]


def test_unchanged_nodes_that_the_same_code_executes_are_not_tried() -> None:
    text = """g (float[N, M] x, float[N, M] z) => (a, b, c, d) {
        a = Add (x, z)
        b = Add (z, x)
        c = ReduceSum <axes = [1]> (x)
        d = Softmax <axis = 0> (x)
    }"""
    certificate = restamped(text, (11, 12)).prove()
    assert certificate.nodes == 0
    certificate = restamped(text.replace("ReduceSum", "ReduceMax"), (11, 13)).prove()
    assert [(site.operator, site.count, site.outcome) for site in certificate.sites] == [
        ("Add", 2, Outcome.SAME_CODE),
        ("ReduceMax", 1, Outcome.SAME_CODE),
        ("Softmax", 1, Outcome.DIFFERENT),
    ]
    assert certificate.is_refuted


def test_a_changed_node_is_tried_though_the_same_code_executes_it() -> None:
    made = restamped("g (float[N] a, float[N] b) => (float[N] y) { y = Sub (a, b) }", (13, 14))
    made.result.graph.node[0].input[:] = ["b", "a"]
    made.trace.add_site("graph", 0)
    assert made.prove().is_refuted


def test_single_numbers_are_drawn_beside_an_optional_that_holds_nothing() -> None:
    original = model(
        """
        g (float[N, 4] v, optional(float[A, B]) o, bool c) => (float[M, 4] y) {
            y = If (c) <
                then_branch = t () => (float[M, 4] a) { e = OptionalGetElement (o) a = Mul (v, e) },
                else_branch = f () => (float[N, 4] b) { b = Identity (v) }>
        }
        """,
        20,
    )
    certificate = convert(original, to=15).certificate
    assert certificate is not None
    assert certificate.is_proven
