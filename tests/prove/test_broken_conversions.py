"""Conversions that went wrong, each beside the right one: the proof takes the right one and refutes the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from onnx import ModelProto, TensorProto, helper

from opsetlift.model.scopes import GRAPH_PATH
from opsetlift.proof import Outcome
from tests.prove.conversions import Conversion, conversion, model, trace_of

AXES_INPUT = "g (float[N, M] x) => (float[N] y) <int64[1] axes = {1}> { y = ReduceMin <keepdims = 0> (x, axes) }"
AXES_ATTRIBUTE = "g (float[N, M] x) => (float[N] y) { y = ReduceMin <axes = [1], keepdims = 0> (x) }"

EMPTY_SETS = "g (int8[N, M] x) => (int8[N] y) { y = ReduceMin <axes = [1], keepdims = 0> (x) }"
THROUGH_INT32 = """g (int8[N, M] x) => (int8[N] y) <int32 largest = {127}> {
    w = Cast <to = 6> (x)
    r = ReduceMin <axes = [1], keepdims = 0> (w)
    l = Less (r, largest)
    m = Where (l, r, largest)
    y = Cast <to = 3> (m)
}"""

MIN_INT64 = "g (int64[N] a, int64[N] b) => (int64[N] y) { y = Min (a, b) }"

# What the result of each is to be, and what it must not be: (original, right, wrong, opsets, trace).
AT_SITES = {
    "a lost attribute": (
        AXES_ATTRIBUTE,
        AXES_INPUT,
        "g (float[N, M] x) => (float[N] y) <int64[1] axes = {1}> { y = ReduceMin (x, axes) }",
        (13, 18),
        {"claims": [(0, 0, 1)], "added": ["axes"]},
    ),
    "an axis off by one": (
        AXES_ATTRIBUTE,
        AXES_INPUT,
        AXES_INPUT.replace("{1}", "{0}"),
        (13, 18),
        {"claims": [(0, 0, 1)], "added": ["axes"]},
    ),
    "keepdims turned over": (
        AXES_INPUT,
        AXES_ATTRIBUTE,
        AXES_ATTRIBUTE.replace("keepdims = 0", "keepdims = 1"),
        (18, 13),
        {"claims": [(0, 0, 1)], "dropped": ["axes"]},
    ),
    "noop_with_empty_axes left behind": (
        "g (float[N] x) => (float[] y) { y = ReduceMin <keepdims = 0, noop_with_empty_axes = 0> (x) }",
        "g (float[N] x) => (float[] y) { y = ReduceMin <keepdims = 0> (x) }",
        "g (float[N] x) => (float[] y) { y = ReduceMin <keepdims = 0, noop_with_empty_axes = 0> (x) }",
        (18, 13),
        {"claims": [(0, 0, 1)]},
    ),
    "the wrong value for the empty set": (
        EMPTY_SETS,
        THROUGH_INT32,
        """g (int8[N, M] x) => (int8[N] y) {
            w = Cast <to = 6> (x)
            r = ReduceMin <axes = [1], keepdims = 0> (w)
            y = Cast <to = 3> (r)
        }""",
        (12, 11),
        {"claims": [(0, 0, 5)], "added": ["largest"]},
    ),
    "int64 through floating point": (
        MIN_INT64,
        "g (int64[N] a, int64[N] b) => (int64[N] y) { l = Less (a, b) y = Where (l, a, b) }",
        """g (int64[N] a, int64[N] b) => (int64[N] y) {
            c = Cast <to = 11> (a)
            d = Cast <to = 11> (b)
            m = Min (c, d)
            y = Cast <to = 7> (m)
        }""",
        (12, 11),
        {"claims": [(0, 0, 2)]},
    ),
    "outputs swapped": (
        "g (float[4] x) => (float[2] y, float[2] z) { y, z = Split (x) }",
        "g (float[4] x) => (float[2] y, float[2] z) { y, z = Split <num_outputs = 2> (x) }",
        "g (float[4] x) => (float[2] y, float[2] z) { z, y = Split <num_outputs = 2> (x) }",
        (13, 18),
        {"claims": [(0, 0, 1)]},
    ),
    "inputs swapped": (
        "g (float[N] a, float[N] b) => (float[N] y) { y = Sub (a, b) }",
        "g (float[N] a, float[N] b) => (float[N] y) { y = Sub (a, b) }",
        "g (float[N] a, float[N] b) => (float[N] y) { y = Sub (b, a) }",
        (13, 14),
        {"claims": [(0, 0, 1)]},
    ),
    "minus zero lost": (
        "g (float[N] x) => (float[N] y) { y = Neg (x) }",
        "g (float[N] x) => (float[N] y) <float minus = {-1}> { y = Mul (x, minus) }",
        "g (float[N] x) => (float[N] y) <float minus = {0}> { y = Sub (minus, x) }",
        (12, 13),
        {"claims": [(0, 0, 1)], "added": ["minus"]},
    ),
    "NaN lost": (
        "g (float[N] a, float[N] b) => (float[N] y) { y = Min (a, b) }",
        "g (float[N] a, float[N] b) => (float[N] y) { y = Min (a, b) }",
        "g (float[N] a, float[N] b) => (float[N] y) { l = Less (a, b) y = Where (l, a, b) }",
        (13, 12),
        {"claims": [(0, 0, 1)]},
    ),
    "broadcasting forgotten": (
        "g (float[N, 3] a, float[3] b) => (float[N, 3] y) { y = Add (a, b) }",
        "g (float[N, 3] a, float[3] b) => (float[N, 3] y) { y = Add <broadcast = 1> (a, b) }",
        "g (float[N, 3] a, float[3] b) => (float[N, 3] y) { y = Add (a, b) }",
        (7, 6),
        {"claims": [(0, 0, 1)]},
    ),
    "a mean of means of unequal sizes": (
        "g (float[N, M] x) => (float y) { y = ReduceMean <axes = [0, 1], keepdims = 0> (x) }",
        """g (float[N, M] x) => (float y) <int64[1] zero = {0}, int64[1] one = {1}> {
            r = ReduceMean <keepdims = 0> (x, one)
            y = ReduceMean <keepdims = 0> (r, zero)
        }""",
        """g (float[N, M] x) => (float y) <int64[1] zero = {0}, int64[1] one = {1}> {
            r = ReduceSum <keepdims = 0> (x, one)
            y = ReduceMean <keepdims = 0> (r, zero)
        }""",
        (13, 18),
        {"claims": [(0, 0, 2)], "added": ["zero", "one"], "ulps": 4},
    ),
    "worse than the bound of a rounding rule": (
        "g (float[N, M] x) => (float[N] y) { y = ReduceMean <axes = [1], keepdims = 0> (x) }",
        "g (float[N, M] x) => (float[N] y) <int64[1] axes = {1}> { y = ReduceMean <keepdims = 0> (x, axes) }",
        """g (float[N, M] x) => (float[N] y) <int64[1] axes = {1}> {
            h = Cast <to = 10> (x)
            r = ReduceMean <keepdims = 0> (h, axes)
            y = Cast <to = 1> (r)
        }""",
        (13, 18),
        {"claims": [(0, 0, 1)], "added": ["axes"], "ulps": 2},
    ),
    "an operator that the target does not have, left as it is": (
        "g (float[N] x) => (float[N] y) { y = Identity (x) }",
        "g (float[N] x) => (float[N] y) { y = Identity (x) }",
        "g (float[N] x) => (float[N] y) { y = HardSwish (x) }",
        (14, 13),
        {"claims": [(0, 0, 1)]},
    ),
}


@pytest.mark.parametrize("name", AT_SITES)
def test_a_site_that_computes_something_else_is_refuted(name: str) -> None:
    original, right, wrong, opsets, trace = AT_SITES[name]
    proven = conversion(original, right, opsets, **trace).prove()
    assert proven.is_proven, proven.summary()
    start, stop = 0, len(model(wrong, opsets[1]).graph.node)
    refuted = conversion(original, wrong, opsets, **{**trace, "claims": [(0, start, stop)]}).prove()
    assert refuted.is_refuted, refuted.summary()
    assert [site.outcome for site in refuted.sites] == [Outcome.DIFFERENT]
    assert refuted.sites[0].reason
    assert refuted.structure == []


def test_an_operator_whose_meaning_changed_is_refuted_where_no_rule_took_care() -> None:
    softmax = "g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = 1> (x) }"
    refuted = conversion(softmax, softmax, (11, 13)).prove()
    assert [site.outcome for site in refuted.sites] == [Outcome.DIFFERENT]
    assert refuted.sites[0].rules == []


def test_a_default_that_the_caller_may_override_is_no_constant() -> None:
    original = """<ir_version: 8, opset_import: ["": 18]>
        g (float[2, 3] x, int64[1] axes) => (y) <int64[1] axes = {1}> { y = ReduceMin <keepdims = 0> (x, axes) }"""
    result = original.replace('"": 18', '"": 13').replace("keepdims = 0> (x, axes)", "axes = [1], keepdims = 0> (x)")
    refuted = Conversion(model(original), model(result), trace_of([(0, 0, 1)])).prove()
    assert [site.outcome for site in refuted.sites] == [Outcome.DIFFERENT]


def test_shapes_that_the_model_declares_wrongly_hide_nothing() -> None:
    original = "g (float[N, M] x) => (float[7, 7, 7] y) { y = ReduceMin <axes = [1], keepdims = 0> (x) }"
    result = original.replace("axes = [1]", "axes = [0]")
    refuted = conversion(original, result, (11, 12), claims=[(0, 0, 1)]).prove()
    assert [site.outcome for site in refuted.sites] == [Outcome.DIFFERENT]


def test_a_shared_constant_must_be_right_for_each_of_its_sites() -> None:
    original = """g (float[2, 3] x) => (y, z) {
        y = ReduceMin <axes = [1], keepdims = 0> (x)
        z = ReduceMin <axes = [0], keepdims = 0> (x)
    }"""
    result = """g (float[2, 3] x) => (y, z) <int64[1] axes = {1}> {
        y = ReduceMin <keepdims = 0> (x, axes)
        z = ReduceMin <keepdims = 0> (x, axes)
    }"""
    refuted = conversion(original, result, (13, 18), claims=[(0, 0, 1), (1, 1, 2)], added=["axes"]).prove()
    assert [site.outcome for site in refuted.sites] == [Outcome.EQUAL, Outcome.DIFFERENT]


WITH_NEIGHBOURS = """g (float[N, M] x) => (float[N] y) <float[2] w = {0.5, -2}, int64[1] axes = {1}> {
    a = LeakyRelu <alpha = 0.25> (x)
    b = Mul (a, w)
    y = ReduceMin <keepdims = 0> (b, axes)
}"""
BEFORE_NEIGHBOURS = """g (float[N, M] x) => (float[N] y) <float[2] w = {0.5, -2}> {
    a = LeakyRelu <alpha = 0.25> (x)
    b = Mul (a, w)
    y = ReduceMin <axes = [1], keepdims = 0> (b)
}"""


def _with_neighbours() -> Conversion:
    made = conversion(BEFORE_NEIGHBOURS, WITH_NEIGHBOURS, (17, 18), claims=[(2, 2, 3)], added=["axes"])
    for one in (made.original, made.result):
        helper.set_model_props(one, {"author": "someone"})
        one.graph.node[0].doc_string = "keeps a little"
        one.graph.node[2].doc_string = "the smallest"
        one.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["N", "M"]))
        one.graph.quantization_annotation.add().tensor_name = "w"
        one.training_info.add().algorithm.name = "descent"
        one.opset_import.append(helper.make_opsetid("com.example", 3))
    return made


def _edit(change: Callable[[ModelProto], object]) -> Callable[[ModelProto], object]:
    return change


OUTSIDE_SITES: dict[str, tuple[Callable[[ModelProto], object], str]] = {
    "a neighbour edited": (
        lambda m: setattr(m.graph.node[0].attribute[0], "f", 0.125),
        "node 0 (LeakyRelu 'a') differs in attribute",
    ),
    "a neighbour renamed": (lambda m: setattr(m.graph.node[1], "name", "product"), "differs in name"),
    "a neighbour that loses its doc string": (
        lambda m: m.graph.node[0].ClearField("doc_string"),
        "differs in doc_string",
    ),
    "metadata of the model dropped": (lambda m: m.ClearField("metadata_props"), "model: metadata_props differs"),
    "a byte of an initializer changed": (
        lambda m: m.graph.initializer[0].float_data.__setitem__(1, -2.5),
        "initializer 'w' differs in float_data",
    ),
    "an initializer dropped": (lambda m: m.graph.initializer.pop(0), "initializer: 'w' is gone"),
    "an initializer added that no rule made": (
        lambda m: m.graph.initializer.add(name="extra", data_type=TensorProto.FLOAT),
        "initializer: 'extra' has been added",
    ),
    "an output renamed": (lambda m: setattr(m.graph.output[0], "name", "z"), "graph: output differs"),
    "the shape of an output changed": (
        lambda m: setattr(m.graph.output[0].type.tensor_type.shape.dim[0], "dim_param", "K"),
        "graph: output differs",
    ),
    "an input added": (lambda m: m.graph.input.add(name="more"), "graph: input differs"),
    "a node added": (
        lambda m: m.graph.node.append(helper.make_node("Neg", ["x"], ["unclaimed"])),
        "nodes have been added that no site claims, the first of them Neg 'unclaimed'",
    ),
    "nodes in another order": (lambda m: m.graph.node.insert(1, m.graph.node.pop(0)), "node 0"),
    "quantization annotations dropped": (
        lambda m: m.graph.ClearField("quantization_annotation"),
        "quantization_annotation differs",
    ),
    "training information changed": (
        lambda m: setattr(m.training_info[0].algorithm, "doc_string", "ascent"),
        "model: training_info differs",
    ),
    "value_info of another value dropped": (lambda m: m.graph.ClearField("value_info"), "value_info of values"),
    "a field that this onnx does not know": (
        lambda m: m.graph.node[0].MergeFromString(b"\xfa\x7f\x01x"),
        "a field that the installed onnx does not know",
    ),
    "the opset of a custom domain": (
        lambda m: setattr(m.opset_import[1], "version", 4),
        "the opset of com.example went from 3 to 4",
    ),
    "the words of a rewritten node lost": (
        lambda m: m.graph.node[2].ClearField("doc_string"),
        "in the place of node 2 (ReduceMin 'y') no node has its doc_string",
    ),
    "a site that reads what its node did not": (
        lambda m: m.graph.node[2].input.__setitem__(0, "a"),
        "reads 'a', which the original node did not",
    ),
    "a site that leaves its output to nobody": (
        lambda m: m.graph.node[2].output.__setitem__(0, "elsewhere"),
        "nothing defines its output 'y', and something reads it",
    ),
}


def test_the_conversion_with_neighbours_is_right() -> None:
    made = _with_neighbours()
    assert made.prove().is_proven, made.prove().summary()


@pytest.mark.parametrize("name", OUTSIDE_SITES)
def test_a_change_outside_the_sites_is_found(name: str) -> None:
    change, sentence = OUTSIDE_SITES[name]
    made = _with_neighbours()
    change(made.result)
    refuted = made.prove()
    assert refuted.is_refuted
    assert any(sentence in difference for difference in refuted.structure), refuted.structure


def test_a_new_name_that_is_taken_is_found() -> None:
    original = "g (float[N] x) => (float[N] y, float[N] z) { t = Abs (x) y = Neg (x) z = Neg (t) }"
    result = "g (float[N] x) => (float[N] y, float[N] z) { t = Abs (x) t = Identity (x) y = Neg (t) z = Neg (t) }"
    refuted = conversion(original, result, (13, 14), claims=[(1, 1, 3)]).prove()
    assert any("defines 't', a name that the original uses" in difference for difference in refuted.structure)


def test_one_new_name_for_two_values_is_found() -> None:
    original = "g (float[N] x) => (float[N] y, float[N] z) { y = Neg (x) z = Abs (x) }"
    result = """g (float[N] x) => (float[N] y, float[N] z) {
        t = Identity (x) y = Neg (t) t = Identity (x) z = Abs (t)
    }"""
    refuted = conversion(original, result, (13, 14), claims=[(0, 0, 2), (1, 2, 4)]).prove()
    assert any("the new name 't' is defined where it is visible" in difference for difference in refuted.structure)


def test_an_initializer_dropped_while_in_use_is_found() -> None:
    original = "g (float[N] x) => (float[N] y) <float w = {2}> { y = Mul (x, w) }"
    made = conversion(original, original, (13, 14), dropped=["w"])
    made.result.graph.ClearField("initializer")
    assert "graph: initializer 'w' has been dropped, and it is still in use" in made.prove().structure


BRANCHES = """g (bool c, float[N] x) => (float[N] y) {
    y = If (c) <
        then_branch = t () => (float[N] a) { b = LeakyRelu <alpha = 0.5> (x) a = Neg (b) },
        else_branch = e () => (float[N] d) { d = Abs (x) }
    >
}"""


def test_a_subgraph_is_compared_where_no_operator_around_it_changes() -> None:
    made = conversion(BRANCHES, BRANCHES, (14, 15))
    assert made.prove().summary() == "No operator definition changed."
    made.result.graph.node[0].attribute[0].g.node[0].attribute[0].f = 0.25
    refuted = made.prove()
    assert refuted.structure == [
        "graph/0:If.then_branch: node 0 (LeakyRelu 'b') differs in attribute, and no rule did that"
    ]


def test_a_site_in_a_subgraph_is_refuted_there_and_around_it() -> None:
    made = conversion(BRANCHES, BRANCHES, (15, 16), claims={"graph/0:If.else_branch": [(0, 0, 1)]})
    assert made.prove().is_proven, made.prove().summary()
    made.result.graph.node[0].attribute[1].g.node[0].op_type = "Neg"
    refuted = made.prove()
    assert {site.path for site in refuted.sites if site.outcome is Outcome.DIFFERENT} == {
        GRAPH_PATH,
        "graph/0:If.else_branch",
    }


FUNCTION = """<ir_version: 8, opset_import: ["": %d, "local": 1]>
g (float[N] x) => (float[N] y) { y = local.leak <slope: float = 0.5> (x) }
<domain: "local", opset_import: ["": %d]>
leak <slope> (a) => (b) { c = LeakyRelu <alpha: float = @slope> (a) b = Neg(c) }"""


def test_a_function_body_is_compared() -> None:
    made = Conversion(model(FUNCTION % (14, 14)), model(FUNCTION % (15, 15)))
    assert made.prove().is_proven
    made.result.functions[0].node[1].op_type = "Abs"
    assert made.prove().structure == ["function:local:leak: node 1 (Neg 'b') differs in op_type, and no rule did that"]


def test_a_site_in_a_function_is_proven_with_the_attributes_of_its_calls() -> None:
    claims = {"function:local:leak": [(0, 0, 1)]}
    made = Conversion(model(FUNCTION % (15, 15)), model(FUNCTION % (16, 16)), trace_of(claims))
    assert made.prove().is_proven, made.prove().summary()
    made.result.functions[0].node[0].attribute[0].CopyFrom(helper.make_attribute("alpha", 0.75))
    refuted = made.prove()
    assert [site.outcome for site in refuted.sites] == [Outcome.DIFFERENT]
    made.result.functions[0].node[0].attribute[0].f = 0.5
    assert made.prove().is_proven, "with the value that its only call gives, it computes the same"


def test_a_function_that_something_calls_must_stay() -> None:
    made = Conversion(model(FUNCTION % (14, 14)), model(FUNCTION % (15, 15)))
    made.result.ClearField("functions")
    assert "function:local:leak: the function is gone, and something still calls it" in made.prove().structure


def test_a_call_may_be_inlined_if_the_nodes_compute_the_same() -> None:
    inlined = """<ir_version: 8, opset_import: ["": 15, "local": 1]>
    g (float[N] x) => (float[N] y) { y_c = LeakyRelu <alpha = %s> (x) y = Neg (y_c) }"""
    for slope, outcome in (("0.5", Outcome.EQUAL), ("0.25", Outcome.DIFFERENT)):
        made = Conversion(model(FUNCTION % (14, 14)), model(inlined % slope), trace_of([(0, 0, 2)])).prove()
        assert [site.outcome for site in made.sites] == [outcome]
        assert made.structure == []


@pytest.mark.parametrize(
    ("claims", "sentence"),
    [
        ([(0, 0, 1), (0, 0, 1)], "the trace names node 0 twice"),
        ([(7, 7, 8)], "the trace names node 7, and the original has 1"),
        ([(0, 1, 2)], "the trace puts Neg 'y' at nodes 1 to 2, but it is at 0"),
        ({"graph/0:If.body": [(0, 0, 1)]}, "graph/0:If.body: the trace names this scope, and the original does not"),
    ],
)
def test_a_trace_that_does_not_fit_is_found(claims: list[tuple[int, int, int]], sentence: str) -> None:
    negated = "g (float[N] x) => (float[N] y) { y = Neg (x) }"
    assert any(
        sentence in difference for difference in conversion(negated, negated, (12, 13), claims=claims).prove().structure
    )


@pytest.mark.parametrize(
    ("sizes", "is_equal"), [("size_1, size_2", True), ("size_1, size_1", False), ("size_1", False), ("1, ?", False)]
)
def test_names_of_open_sizes_in_subgraphs_may_state_no_more_than_a_name(sizes: str, is_equal: bool) -> None:
    graph = """g (float[n, 1] x, bool b) => (float[m, k] y) {
        y = If (b) <then_branch = yes () => (float[%s] p) { p = Neg (x) },
                    else_branch = no () => (float[?, ?] q) { q = Abs (x) }>
    }"""
    certificate = conversion(graph % "?, ?", graph % sizes, (13, 13)).prove()
    assert certificate.is_proven == is_equal
    assert is_equal or "output differs" in str(certificate)
