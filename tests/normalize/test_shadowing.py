"""Inner names that hide outer ones."""

from opsetlift.normalizer import to_graph, to_model
from opsetlift.normalizer.graphs.places import places_in
from opsetlift.normalizer.graphs.shadowing import rename_shadowing
from opsetlift.normalizer.graphs.traversal import tensors_in
from testing.conversion import normalised
from tests.normalize.rewriting import rewritten, text_model

LOOP = """g (int64 n, float[2] x) => (float[2] y) {
    a = Identity(x)
    y = Loop(n, , x) <body = b (int64 i, bool c, float[2] %s) => (bool d, float[2] z) {
        d = Identity(c) s = Mul(%s, %s) z = Add(s, a)
    }>
}"""


def renamed(source: str) -> str:
    """A model in which nothing hides anything, in ONNX text."""
    graph = to_graph(text_model(source))
    numbers: dict[str, int] = {}

    def fresh_name(base: str) -> str:
        numbers[base] = numbers.get(base, 0) + 1
        return f"{base}_{numbers[base]}"

    rename_shadowing(graph, fresh_name)
    return normalised(to_model(graph))


def test_an_inner_name_that_hides_an_outer_one_gives_way() -> None:
    assert renamed(LOOP % (("x",) * 3)) == normalised(text_model(LOOP % (("x_1",) * 3)))


def test_what_a_loop_reads_past_a_node_is_not_caught_by_its_own_input() -> None:
    result = rewritten("remove-no-op-moves", text_model(LOOP % (("x",) * 3))).model
    expected = (LOOP % (("x_1",) * 3)).replace("a = Identity(x)", "").replace("Add(s, a)", "Add(s, x)")
    assert normalised(result) == normalised(text_model(expected))


def test_other_names_stay() -> None:
    assert renamed(LOOP % (("v",) * 3)) == normalised(text_model(LOOP % (("v",) * 3)))


def test_branches_may_have_the_names_of_each_other() -> None:
    source = """g (bool k, float[2] x) => (float[2] y) {
        y = If(k) <then_branch = t () => (float[2] o) { o = Neg(x) }, else_branch = e () => (float[2] o) { o = Abs(x) }>
    }"""
    assert renamed(source) == normalised(text_model(source))


def test_names_are_hidden_at_any_depth() -> None:
    source = """g (bool k, float[2] x) => (float[2] y) {
        y = If(k) <then_branch = t () => (float[2] o) {
            o = If(k) <then_branch = tt () => (float[2] p) { x = Neg(o0) p = Abs(x) },
                       else_branch = ee () => (float[2] p) { p = Identity(x) }>
            o0 = Exp(x)
        }, else_branch = e () => (float[2] o) { o = Abs(x) }>
    }"""
    graph = to_graph(text_model(source))
    rename_shadowing(graph, lambda base: f"{base}_inner")
    names = [{tensor.name for tensor in tensors_in(place.graph)} for place in places_in(graph)]
    assert names[0] == {"x_inner", "o0", "p"}
    assert names[1] == {"x", "p"}
