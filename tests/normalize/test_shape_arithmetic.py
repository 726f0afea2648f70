"""Shapes that are computed ahead, and views that go."""

import pytest

from opsetlift.pipeline.normalize import normalize
from tests.normalize.rewriting import check_rewrite, check_unchanged, rewritten, text_model

SYMBOLS = "symbolic-shapes"


def test_a_known_size_of_an_open_shape_is_constant() -> None:
    head = "g (float[N,3] x) => (int64 y, float[N,3] z)"
    before = f"{head} <int64 one = {{1}}> {{ s = Shape(x) y = Gather(s, one) z = Neg(x) }}"
    check_rewrite(SYMBOLS, before, f"{head} {{ z = Neg(x) y = Constant<value: tensor = int64 {{3}}>() }}")


def test_an_open_size_is_left_to_the_run() -> None:
    check_unchanged(SYMBOLS, "g (float[N,3] x) => (int64 y) <int64 zero = {0}> { s = Shape(x) y = Gather(s, zero) }")


def flattened(sizes: str, last: str = "last") -> str:
    """A Reshape of (N, 2, M, 3) to a concatenation of its sizes."""
    return f"""g (float[N,2,M,3] x) => (float[] y)
        <int64[1] i = {{0}}, int64[1] j = {{2}}, int64[1] zero = {{0}}, int64[1] last = {{{last}}}> {{
        s = Shape(x) n = Gather(s, i) m = Gather(s, j) t = Concat<axis = 0>({sizes}) y = Reshape(x, t)
    }}"""


def test_a_size_in_its_own_place_is_copied_and_what_is_left_is_left() -> None:
    after = "g (float[N,2,M,3] x) => (float[] y) <int64[2] y_shape = {0, -1}> { y = Reshape(x, y_shape) }"
    check_rewrite(SYMBOLS, flattened("n, last", "-1"), after)
    after = "g (float[N,2,M,3] x) => (float[] y) <int64[2] y_shape = {-1, 6}> { y = Reshape(x, y_shape) }"
    before = flattened("k, last", "6").replace(" t = ", " k = Mul(n, m) t = ")
    check_rewrite(SYMBOLS, before, after)


def test_two_sizes_out_of_place_are_left_to_the_run() -> None:
    check_unchanged(SYMBOLS, flattened("m, last, n", "6"))


def test_no_size_is_worked_out_where_another_may_be_zero() -> None:
    check_unchanged(SYMBOLS, flattened("n, m, last", "6"))


def test_a_reshape_to_the_shape_of_its_input_goes() -> None:
    before = "g (float[N,M] x) => (float[N,M] y) { a = Neg(x) s = Shape(a) b = Reshape(a, s) y = Abs(b) }"
    check_rewrite(SYMBOLS, before, "g (float[N,M] x) => (float[N,M] y) { a = Neg(x) y = Abs(a) }")


def test_an_expand_to_the_shape_of_its_input_goes() -> None:
    before = "g (float[N,M] x, float[N,M] z) => (float[N,M] y) { a = Neg(x) s = Shape(z) b = Expand(a, s) y = Abs(b) }"
    check_rewrite(SYMBOLS, before, "g (float[N,M] x, float[N,M] z) => (float[N,M] y) { a = Neg(x) y = Abs(a) }")


def test_sizes_that_nobody_named_may_differ() -> None:
    check_unchanged(
        SYMBOLS, "g (float[N,?] x, float[N,?] z) => (float[] y) { s = Shape(z) b = Expand(x, s) y = Abs(b) }"
    )


def test_the_sizes_0_of_allowzero_are_sizes() -> None:
    check_unchanged(SYMBOLS, flattened("n, last", "-1").replace("Reshape(x, t)", "Reshape<allowzero = 1>(x, t)"))


def test_elements_are_worked_on_in_the_shape_before_the_reshape() -> None:
    before = """g (float[6,4] x, float[4,4] w) => (float[6,4] y)
        <int64[3] s = {2, 3, 4}, int64[2] t = {-1, 4}, float h = {0.5}> {
        a = MatMul(x, w) b = Reshape(a, s) c = Mul(b, h) d = Tanh(c) e = Add(d, b) f = Reshape(e, t) y = MatMul(f, w)
    }"""
    result = rewritten(("lift-reshapes", "remove-no-op-moves"), text_model(before)).model
    assert [node.op_type for node in result.graph.node] == ["MatMul", "Mul", "Tanh", "Add", "MatMul"]


@pytest.mark.parametrize("use", ["Softmax<axis = 1>(b)", "Add(b, v)", "Add(b, w)"])
def test_what_minds_the_shape_keeps_the_reshape(use: str) -> None:
    graph = f"""g (float[6,4] x) => (float[] y)
        <int64[3] s = {{2, 3, 4}}, int64[2] t = {{-1, 4}}, float[4] v = {{1, 2, 3, 4}}, float[1,1,1] w = {{1}}> {{
        b = Reshape(x, s) c = {use} y = Reshape(c, t)
    }}"""
    check_unchanged("lift-reshapes", graph)


def test_a_value_that_is_an_output_keeps_its_shape() -> None:
    graph = """g (float[6,4] x) => (float[2,3,4] c, float[6,4] y) <int64[3] s = {2, 3, 4}, int64[2] t = {-1, 4}> {
        b = Reshape(x, s) c = Neg(b) y = Reshape(c, t)
    }"""
    check_unchanged("lift-reshapes", graph)


def test_a_value_that_a_subgraph_reads_keeps_its_shape() -> None:
    graph = """g (float[6,4] x, bool p) => (float[6,4] y, float[2,3,4] z)
        <int64[3] s = {2, 3, 4}, int64[2] t = {-1, 4}> {
        b = Reshape(x, s) c = Neg(b) y = Reshape(c, t)
        z = If (p) <
            then_branch = f () => (float[2,3,4] u) { u = Neg(c) },
            else_branch = e () => (float[2,3,4] v) { v = Abs(c) }
        >
    }"""
    check_unchanged("lift-reshapes", graph)


def test_a_split_of_the_last_dimension_does_not_mind_the_others() -> None:
    before = """g (float[6,4] x) => (float[2,3,1,2] y, float[2,3,2] z)
        <int64[3] s = {2, 3, 4}, int64[4] t = {2, 3, 1, 2}, int64[3] u = {2, 3, 2}> {
        b = Reshape(x, s) c, d = Split<axis = 2>(b) y = Reshape(c, t) z = Reshape(d, u)
    }"""
    result = rewritten("lift-reshapes", text_model(before)).model
    assert [node.op_type for node in result.graph.node] == ["Split", "Reshape", "Reshape"]


@pytest.mark.parametrize("move", ["Transpose<perm = [1, 0, 2]>(b)", "Gather<axis = 2>(b, all)"])
def test_a_move_that_keeps_the_order_is_a_view_next_to_one(move: str) -> None:
    before = f"""g (float[12] x) => (float[3,4] y)
        <int64[3] s = {{1, 3, 4}}, int64[2] t = {{3, 4}}, int64[4] all = {{0, 1, 2, 3}}> {{
        a = Neg(x) b = Reshape(a, s) c = {move} y = Reshape(c, t)
    }}"""
    result = rewritten(("moves-as-reshapes", "merge-reshapes"), text_model(before)).model
    assert [node.op_type for node in result.graph.node] == ["Neg", "Reshape"]


@pytest.mark.parametrize(
    ("move", "shape"),
    [
        ("Transpose<perm = [1, 0, 2]>(b)", "1,N,4"),
        ("Gather<axis = 2>(b, all)", "N,1,4"),
        ("Transpose<perm = [0, 2, 1]>(b)", "N,1,4"),
    ],
)
def test_so_it_is_where_one_size_is_open(move: str, shape: str) -> None:
    first = shape.replace("N", "-1")
    before = f"""g (float[N,4] x) => (float[N,4] y)
        <int64[3] s = {{{first}}}, int64[2] t = {{-1, 4}}, int64[4] all = {{0, 1, 2, 3}}> {{
        a = Neg(x) b = Reshape(a, s) c = {move} d = Abs(c) y = Reshape(d, t)
    }}"""
    result = rewritten(("moves-as-reshapes", "merge-reshapes"), text_model(before)).model
    assert [node.op_type for node in result.graph.node] == ["Neg", "Reshape", "Abs", "Reshape"]


def test_a_move_between_two_open_sizes_stays() -> None:
    graph = """g (float[N,M] x) => (float[K,L,J] y) <int64[3] s = {0, -1, 1}> {
        b = Reshape(x, s) c = Transpose<perm = [0, 2, 1]>(b) y = Neg(c)
    }"""
    check_unchanged("moves-as-reshapes", graph)


def test_a_move_that_keeps_the_order_stays_what_it_is_alone() -> None:
    check_unchanged("moves-as-reshapes", "g (float[1,3] x) => (float[3,1] y) { y = Transpose<perm = [1, 0]>(x) }")


def test_a_move_that_changes_the_order_stays() -> None:
    graph = """g (float[12] x) => (float[12] y) <int64[2] s = {3, 4}, int64[1] t = {12}> {
        b = Reshape(x, s) c = Transpose<perm = [1, 0]>(b) y = Reshape(c, t)
    }"""
    check_unchanged("moves-as-reshapes", graph)


def test_one_symbol_is_picked_out_once() -> None:
    before = """g (float[N,3] x, float[M,N] z) => (int64 y, int64 w) <int64 i = {0}, int64 j = {1}> {
        s = Shape(x) t = Shape(z) a = Gather(s, i) b = Gather(t, j) y = Neg(a) c = Neg(b) w = Abs(c)
    }"""
    after = """g (float[N,3] x, float[M,N] z) => (int64 y, int64 w) <int64 i = {0}> {
        s = Shape(x) a = Gather(s, i) y = Neg(a) c = Neg(a) w = Abs(c)
    }"""
    check_rewrite(SYMBOLS, before, after)


def test_a_size_that_is_an_output_stands_for_all_others() -> None:
    before = """g (float[N,3] x, float[N,3] z) => (int64[1] o, float[q] y, float[q] w)
        <int64[1] i = {0}, float[1] one = {1}> {
        s = Shape(x) a = Gather(s, i) y = Expand(one, a)
        t = Shape(z) o = Gather(t, i)
        c = Shape<start = 0, end = 1>(z) w = Expand(one, c)
    }"""
    after = """g (float[N,3] x, float[N,3] z) => (int64[1] o, float[q] y, float[q] w)
        <int64[1] i = {0}, float[1] one = {1}> {
        s = Shape(x) o = Gather(s, i) y = Expand(one, o) w = Expand(one, o)
    }"""
    check_rewrite(SYMBOLS, before, after)


def test_sizes_without_a_name_are_each_their_own() -> None:
    graph = """g (float[?,3] x, float[?,3] z) => (int64 y, int64 w) <int64 i = {0}> {
        s = Shape(x) t = Shape(z) y = Gather(s, i) w = Gather(t, i)
    }"""
    check_unchanged(SYMBOLS, graph)


def test_what_is_read_twice_is_worked_out_once() -> None:
    """Each Add reads the one before it twice: without a memory that is 2**40 ways to the Shape."""
    chain = " ".join(f"s{index + 1} = Add(s{index}, s{index})" for index in range(40))
    graph = f"g (float[N,3] x) => (float[a,b] y) {{ s0 = Shape(x) {chain} y = ConstantOfShape(s40) }}"
    assert len(normalize(text_model(graph), ["symbolic-shapes"], prove=False).model.graph.node) == 42


@pytest.mark.slow
def test_shapes_that_follow_from_one_another_are_worked_out_in_one_round() -> None:
    # Nothing tells the shape of a Reshape before the target of the one before it is known, thirty times.
    layers = "".join(
        f"s{n} = Shape(x{n}) p{n} = Gather(s{n}, zero) u{n} = Unsqueeze<axes = [0]>(p{n})"
        f" t{n} = Concat<axis = 0>(u{n}, two) r{n} = Reshape(x{n}, t{n}) S{n} = Shape(r{n}) P{n} = Gather(S{n}, zero)"
        f" U{n} = Unsqueeze<axes = [0]>(P{n}) T{n} = Concat<axis = 0>(U{n}, four) x{n + 1} = Reshape(r{n}, T{n}) "
        for n in range(30)
    )
    model = text_model(
        f"""g (float[N,4] x, float[M,4] z) => (float[] y)
        <int64 zero = {{0}}, int64[2] two = {{2, 2}}, int64[1] four = {{4}}> {{
        x0 = Add(x, z) {layers} y = Neg(x30) }}""",
        opset=11,
    )
    result = normalize(model, passes=["symbolic-shapes"])
    assert result.report.rounds <= 3
    assert {node.op_type for node in result.model.graph.node} == {"Add", "Reshape", "Neg"}
