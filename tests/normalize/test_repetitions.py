"""What is computed or stored twice."""

from opsetlift.pipeline.normalize import normalize
from testing.conversion import normalised
from tests.normalize.rewriting import check_rewrite, check_unchanged, rewritten, text_model

NODES = "merge-common-subexpressions"
CONSTANTS = "merge-duplicate-initializers"


def test_chains_that_compute_the_same_collapse() -> None:
    before = "g (float[2] x) => (float[2] y) { a = Neg(x) b = Neg(x) c = Exp(a) d = Exp(b) y = Add(c, d) }"
    check_rewrite(NODES, before, "g (float[2] x) => (float[2] y) { a = Neg(x) c = Exp(a) y = Add(c, c) }")


def test_one_node_for_several_says_what_all_of_them_said() -> None:
    source = text_model("g (float[2] x) => (float[2] y) { a = Neg(x) b = Neg(x) y = Add(a, b) }")
    for node, text in zip(source.graph.node, ("first", "second"), strict=False):
        node.doc_string = text
        node.metadata_props.add(key=text, value="here")
    node = rewritten(NODES, source).model.graph.node[0]
    assert node.doc_string == "first\nsecond"
    assert [entry.key for entry in node.metadata_props] == ["first", "second"]


def test_other_attributes_compute_something_else() -> None:
    graph = "g (float[2] x) => (float[2] y) { a = Elu<alpha = 1.0>(x) b = Elu<alpha = 2.0>(x) y = Add(a, b) }"
    check_unchanged(NODES, graph)


def test_an_output_keeps_its_node() -> None:
    before = "g (float[2] x) => (float[2] y, float[2] z) { a = Neg(x) y = Neg(x) z = Exp(a) }"
    check_rewrite(NODES, before, "g (float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Exp(y) }")
    check_unchanged(NODES, "g (float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Neg(x) }")


def test_two_random_draws_are_two() -> None:
    source = text_model(
        "g (float[2] x) => (float[2] y) { a = RandomNormalLike(x) b = RandomNormalLike(x) y = Add(a, b) }"
    )
    assert normalised(normalize(source, passes=[NODES], prove=False).model) == normalised(source)


def test_calls_and_operators_of_other_domains_stay_apart() -> None:
    function = '<domain: "local", opset_import: ["" : 17]> f (x) => (y) { y = Neg(x) }'
    graph = "g (float[2] x) => (float[2] y) { a = local.f(x) b = local.f(x) y = Add(a, b) }"
    check_unchanged(NODES, graph, functions=function)


def test_the_operands_order_counts() -> None:
    graph = "g (float[2] x) => (float[2] y) { c = Abs(x) a = Sub(x, c) b = Sub(c, x) y = Add(a, b) }"
    check_unchanged(NODES, graph)


def test_equal_constants_become_one() -> None:
    before = (
        "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {1, 2}, float[2] c = {1, "
        "3}> { d = Add(x, a) e = Mul(d, b) y = Sub(e, c) }"
    )
    after = (
        "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] c = {1, 3}> { d = Add(x, a) "
        "e = Mul(d, a) y = Sub(e, c) }"
    )
    check_rewrite(CONSTANTS, before, after)


def test_constants_are_equal_to_the_bit() -> None:
    graph = (
        "g (float[2] x) => (float[2] y) <float a = {0}, float b = {-0.0}> { d = Div(x, a) e = Div(x, b) y = Add(d, e) }"
    )
    check_unchanged(CONSTANTS, graph)


def test_another_shape_is_another_constant() -> None:
    graph = "g (float[2] x) => (float[2] y) <float a = {1}, float[1] b = {1}> { d = Add(x, a) y = Add(d, b) }"
    check_unchanged(CONSTANTS, graph)


def test_a_constant_output_stays() -> None:
    graph = (
        "g (float[2] x) => (float[2] y, float[2] b) <float[2] a = {1, 2}, float[2] b = {1, 2}> { d "
        "= Add(x, a) y = Add(d, b) }"
    )
    check_unchanged(CONSTANTS, graph)


def test_an_overridable_input_is_no_duplicate() -> None:
    graph = (
        "g (float[2] x, float[2] b) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {1, 2}> { d "
        "= Add(x, a) y = Add(d, b) }"
    )
    check_unchanged(CONSTANTS, graph)


def test_a_constant_with_words_of_its_own_stays_when_its_values_have_been_read() -> None:
    source = text_model(
        "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {1, 2}> { d = Add(x, a) y = Mul(d, b) }"
    )
    source.graph.initializer[1].doc_string = "the factor"
    result = rewritten(("remove-no-op-arithmetic", CONSTANTS), source).model
    assert [(one.name, one.doc_string) for one in result.graph.initializer] == [("a", ""), ("b", "the factor")]


def test_stored_and_computed_constants_are_compared_by_their_values() -> None:
    graph = (
        "g (float[2] x) => (float[2] y) { a = Constant<value = float[2] {1, 2}>() b = Neg(a) c = "
        "Neg(b) d = Add(x, a) y = Mul(d, c) }"
    )
    result = rewritten(("constants-as-initializers", "fold-constants", CONSTANTS), text_model(graph)).model
    assert len(result.graph.initializer) == 1
