"""Additions of 0 behind which nothing tells 0 from -0."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy
import pytest
from onnx import numpy_helper

from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.normalizer.helpers.zero_signs import ENDS, PASSES, PASSES_FIRST, WITH_BIAS
from testing.cases import Case
from tests.evaluator.test_node_tests import NODE_CASES
from tests.normalize.rewriting import check_rewrite, check_unchanged, rewritten, text_model

PASS = "remove-zero-additions"
HELD = {
    "z": "float z = {0}",
    "b": "float[3] b = {1, 2, 3}",
    "n": "float[3] n = {1, -0.0, 3}",
    "t": "float[3] t = {2, 4, 2}",
    "o": "float[3] o = {2, 3, 2}",
    "w": "float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}",
}


def graph(nodes: str, output: str = "float[2,3] y") -> str:
    """A graph with some nodes, and the constants that they read."""
    held = ", ".join(text for name, text in HELD.items() if re.search(rf"\b{name}\b", nodes))
    return f"g (float[2,3] x, float[2,3] q) => ({output}) {f'<{held}>' if held else ''} {{ s = Neg(x) {nodes} }}"


@pytest.mark.parametrize(
    "end",
    [
        "Abs({})",
        "Add({}, b)",
        "Add(z, {})",
        "Exp({})",
        "Gemm({}, w, b)",
        "LayerNormalization({}, b, b)",
        "Mul({0}, {0})",
        "Pow({}, t)",
        "Sigmoid({})",
        "Softmax({})",
        "Sub({}, n)",
        "Sub(b, {})",
        "Sum(q, {}, b)",
    ],
)
@pytest.mark.parametrize("addition", ["Add(s, z)", "Add(z, s)"])
def test_go_before_what_is_the_same_for_both_zeros(addition: str, end: str) -> None:
    check_rewrite(PASS, graph(f"a = {addition} y = {end.format('a')}"), graph(f"y = {end.format('s')}"))


def test_values_on_the_way_to_the_end_get_other_names() -> None:
    """Zeros in them have other signs."""
    before = graph("a = Add(s, z) r = Tanh(a) m = MatMul(r, w) p = Mul(m, q) y = Add(p, b)")
    after = graph("r_1 = Tanh(s) m_1 = MatMul(r_1, w) p_1 = Mul(m_1, q) y = Add(p_1, b)")
    check_rewrite(PASS, before, after)


def test_the_last_of_several_is_an_end_for_the_others() -> None:
    before = graph("a = Add(s, z) r = Relu(a) c = Add(z, r) m = MatMul(c, w) y = Add(m, z)")
    after = graph("r_1 = Relu(s) m_1 = MatMul(r_1, w) y = Add(m_1, z)")
    check_rewrite(PASS, before, after)


def test_norms_that_were_taken_apart_lose_theirs() -> None:
    """The centred values are squared on one way, and divided and added to on the other."""
    norm = """m{0} = ReduceMean<axes = [-1]>({1}) c{0} = Sub({1}, m{0}) p = Pow(c{0}, t) v = ReduceMean<axes = [-1]>(p)
        f = Add(v, b) r = Sqrt(f) d{0} = Div(c{0}, r) y = Add(d{0}, b)"""
    check_rewrite(PASS, graph(f"a = Add(s, z) {norm.format('', 'a')}"), graph(norm.format("_1", "s")))


@pytest.mark.parametrize(
    ("nodes", "output"),
    [
        pytest.param("y = Add(s, z)", "float[2,3] y", id="it is an output"),
        pytest.param("a = Add(s, z) y = Tanh(a)", "float[2,3] y", id="an output shows it"),
        pytest.param("a = Add(s, z) y = Div(q, a)", "float[2,3] y", id="infinity or -infinity"),
        pytest.param("a = Add(s, z) y = Reciprocal(a)", "float[2,3] y", id="the same"),
        pytest.param("a = Add(s, z) y = Pow(a, o)", "float[2,3] y", id="an odd power"),
        pytest.param("a = Add(s, z) y = Pow(t, a)", "float[2,3] y", id="an exponent"),
        pytest.param("a = Add(s, z) y = Add(a, n)", "float[2,3] y", id="a bias that holds -0"),
        pytest.param("a = Add(s, z) y = Sub(a, z)", "float[2,3] y", id="0 is subtracted"),
        pytest.param("a = Add(s, z) y = Add(a, q)", "float[2,3] y", id="nothing constant is added"),
        pytest.param("a = Add(s, z) y = Mul(a, q)", "float[2,3] y", id="the product has a sign"),
        pytest.param("a = Add(s, z) y = Cast<to = 8>(a)", "string[2,3] y", id="texts"),
        pytest.param("a = Add(s, z) p = Abs(a) y = Add(a, p)", "float[2,3] y", id="one of two readers shows it"),
        pytest.param("a = Add(s, n) y = Exp(a)", "float[2,3] y", id="other numbers than 0"),
        pytest.param("a = Add(s, z) y = Gemm<beta = -1.0>(a, w, b)", "float[2,3] y", id="a factor turns the bias"),
        pytest.param(
            "a = Add(s, z) u = ReduceMax<keepdims = 0>(q) i = Cast<to = 9>(u) "
            "y = If (i) <then_branch = g1 () => (float[2,3] h) { h = Exp(a) }, "
            "else_branch = g2 () => (float[2,3] k) { k = Exp(q) }>",
            "float[2,3] y",
            id="a branch reads it",
        ),
        pytest.param(
            f"a = Add(s, z) v0 = Neg(a) {' '.join(f'v{at + 1} = Neg(v{at})' for at in range(17))} y = Exp(v17)",
            "float[2,3] y",
            id="the end is far away",
        ),
    ],
)
def test_stay_where_the_sign_may_be_seen(nodes: str, output: str) -> None:
    check_unchanged(PASS, graph(nodes, output))


def test_stay_where_they_widen_the_operand() -> None:
    check_unchanged(PASS, "g (float[N] x) => (float[A,B] y) <float[1,1] z = {0}> { a = Add(x, z) y = Exp(a) }")
    check_unchanged(PASS, "g (float[N] x) => (float[M] y) <float[3] z = {0, 0, 0}> { a = Add(x, z) y = Exp(a) }")


def test_stay_where_a_caller_may_give_something_else() -> None:
    check_unchanged(PASS, "g (float[3] x, float z) => (float[3] y) <float z = {0}> { a = Add(x, z) y = Exp(a) }")


@pytest.mark.parametrize("size", [30, 400])
@pytest.mark.parametrize(
    ("inputs", "nodes"),
    [
        pytest.param("float[1,{0}] x", "m = MatMul(a, w) y = Softmax(m)", id="constant weights"),
        pytest.param("float[1,{0}] x", "d = Cast<to = 1>(h) m = MatMul(a, d) y = Softmax(m)", id="computed weights"),
        pytest.param("float[1,{0}] x, float[{0},{0}] v", "m = MatMul(a, v) y = Softmax(m)", id="weights as an input"),
        pytest.param("float[{0},{0}] x", "y = ReduceL2<keepdims = 0>(a)", id="a large operand"),
    ],
)
def test_stay_where_the_proof_would_read_many_elements(inputs: str, nodes: str, size: int) -> None:
    """In each of its runs."""
    source = text_model(f"g ({inputs.format(size)}) => (float[] y) <float z = {{0}}> {{ a = Add(x, z) {nodes} }}")
    source.graph.output[0].type.tensor_type.ClearField("shape")
    for name, dtype in (("w", numpy.float32), ("h", numpy.float16)):
        if any(name in node.input for node in source.graph.node):
            source.graph.initializer.append(numpy_helper.from_array(numpy.ones((size, size), dtype), name))
    operators = [node.op_type for node in rewritten(PASS, source).model.graph.node]
    assert ("Add" in operators) == (size == 400)


def test_stay_in_bfloat16() -> None:
    """Zeros are looked for in the floats that numpy has."""
    nodes = "a = Add(x, z) y = Exp(a)"
    check_unchanged(PASS, f"g (bfloat16[3] x) => (bfloat16[3] y) <bfloat16 z = {{0}}> {{ {nodes} }}")


def test_what_is_held_in_a_branch_goes_there() -> None:
    text = """g (bool c, float[3] x) => (float[3] y) {} {{
        y = If (c) <then_branch = g1 () => (float[3] h) {{ {} }}, else_branch = g2 () => (float[3] k) {{ k = Neg(x) }}>
    }}"""
    before = text.format("<float z = {0}>", "a = Add(x, z) h = Exp(a)")
    check_rewrite(PASS, before, text.format("", "h = Exp(x)"))


def zeroed(case: Case, zero: float, names: list[str]) -> list[object] | None:
    """The outputs of a test of ONNX's, with zeros of one sign in every other element of some inputs."""
    inputs = case.inputs()
    for name in names:
        value = numpy.array(inputs[name])
        value.reshape(-1)[::2] = zero
        inputs[name] = value
    try:
        return [*Evaluator(case.model).run(inputs).values()]
    except EvaluationError:
        return None


def are_same(one: object, other: object, *, to_the_bit: bool) -> bool:
    first, second = numpy.asarray(one), numpy.asarray(other)
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if first.dtype.kind != "f":
        return numpy.array_equal(first, second)
    signs = not to_the_bit or bool((numpy.signbit(first) == numpy.signbit(second))[~numpy.isnan(first)].all())
    return signs and numpy.array_equal(first, second, equal_nan=True)


ON_FLOATS = {
    "Equal": "g (float[4] x, float[4] v) => (bool[4] y) { y = Equal(x, v) }",
    "NonZero": "g (float[4] x) => (int64[1,N] y) { y = NonZero(x) }",
    "Trilu": "g (float[2,3] x) => (float[2,3] y) { y = Trilu(x) }",
}
"""For operators whose tests hold other types."""


def cases_of(operator: str) -> list[Case]:
    if operator not in ON_FLOATS:
        return NODE_CASES[operator]
    source = text_model(ON_FLOATS[operator])
    shapes = [[one.dim_value for one in info.type.tensor_type.shape.dim] for info in source.graph.input]
    values = [numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape) for shape in shapes]
    return [Case(operator, source, [(list(values), [])])]


def float_inputs(case: Case) -> list[str]:
    return [
        name
        for name, value in case.inputs().items()
        if isinstance(value, numpy.ndarray) and value.dtype in (numpy.float32, numpy.float64) and value.size
    ]


def comparisons(operator: str, *, first_only: bool) -> Iterator[tuple[str, list[object], list[object]]]:
    """For each of ONNX's tests of an operator its name, and what it gives for zeros of either sign."""
    for case in cases_of(operator):
        if len(case.model.graph.node) != 1:
            continue
        given = case.model.graph.node[0].input
        names = [name for name in float_inputs(case) if not first_only or name == given[0]]
        for changed in ([name] for name in names):
            one, other = (zeroed(case, zero, changed) for zero in (0.0, -0.0))
            if one is not None and other is not None:
                yield case.name, one, other


@pytest.mark.parametrize("operator", sorted(ENDS | PASSES | PASSES_FIRST))
def test_operators_do_with_zeros_what_is_said_of_them(operator: str) -> None:
    """Executed on ONNX's own tests, half of whose numbers are made zeros."""
    to_the_bit = operator in ENDS
    found = [*comparisons(operator, first_only=operator in PASSES_FIRST)]
    assert found
    for name, one, other in found:
        assert all(are_same(*pair, to_the_bit=to_the_bit) for pair in zip(one, other, strict=True)), name


@pytest.mark.parametrize("operator", sorted(WITH_BIAS))
def test_biases_end_the_signs_of_zeros(operator: str) -> None:
    executed = 0
    for case in NODE_CASES[operator]:
        given = case.model.graph.node[0].input
        names, at = float_inputs(case), WITH_BIAS[operator]
        if len(case.model.graph.node) != 1 or len(given) <= at or given[at] not in names or given[0] not in names:
            continue
        positive = zeroed(case, 0.0, [given[0], given[at]])
        inputs = case.inputs()
        for name, zero in ((given[0], -0.0), (given[at], 0.0)):
            inputs[name] = numpy.array(inputs[name])
            inputs[name].reshape(-1)[::2] = zero
        negative = [*Evaluator(case.model).run(inputs).values()]
        assert positive is not None
        assert are_same(positive[0], negative[0], to_the_bit=True), case.name
        executed += 1
    assert executed or operator in ("Conv", "ConvTranspose")  # whose tests have no biases: see below


@pytest.mark.parametrize("node", ["Conv(x, w, b)", "ConvTranspose(x, w, b)"])
def test_biases_of_convolutions_end_them_as_well(node: str) -> None:
    text = """g (float[1,2,4] s) => (float[1,2,N] y)
        <{} float[2,2,3] w = {{1, 2, 3, -4, 5, 6, 1, -1, 0, 2, 4, 0}}, float[2] b = {{0, 1}}> {{ {} y = {} }}"""
    before = text.format("float z = {0},", "x = Add(s, z)", node)
    check_rewrite(PASS, before, text.format("", "", node.replace("x", "s")))
