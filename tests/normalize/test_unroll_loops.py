"""Replace a Loop whose number of runs is known by the nodes of its runs."""

from __future__ import annotations

import numpy
import onnx
import pytest

from opsetlift import ConversionRefused, convert, reach
from opsetlift.evaluator import Evaluator
from tests.normalize.rewriting import check_rewrite, check_unchanged, rewritten, text_model

UNROLLED = ("unroll-loops", "remove-no-op-moves")
AND_FOLDED = ("unroll-loops", "fold-constants", "remove-no-op-moves", "remove-unused")


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_the_runs_take_the_place_of_the_loop() -> None:
    before = """g (float[2] x) => (float[2] y) <int64 n = {3}, bool c = {1}> {
        y = Loop (n, c, x) <body = b (int64 i, bool p, float[2] s) => (bool q, float[2] t)
            <float k = {2}> { q = Identity (p) a = Exp (s) t = Mul (a, k) }>
    }"""
    after = """g (float[2] x) => (float[2] y) <float k_1 = {2}> {
        a_1 = Exp (x) t_1 = Mul (a_1, k_1) a_2 = Exp (t_1) t_2 = Mul (a_2, k_1) a_3 = Exp (t_2) y = Mul (a_3, k_1)
    }"""
    check_rewrite(UNROLLED, before, after)


def test_the_number_of_the_run_is_a_constant_of_each() -> None:
    before = """g (float[2] x) => (float[2] y) <int64 n = {2}> {
        y = Loop (n, , x) <body = b (int64 i, bool p, float[2] s) => (bool q, float[2] t)
            { q = Identity (p) f = Cast <to = 1> (i) t = Add (s, f) }>
    }"""
    result = rewritten(AND_FOLDED, text_model(before)).model
    assert operators(result) == ["Add", "Add"]


@pytest.mark.parametrize("opset", [11, 13, 17])
def test_lists_are_joined(opset: int) -> None:
    before = """g (float[2] x) => (float[2] y, float[A,2] z) <int64 n = {3}, bool c = {1}> {
        y, z = Loop (n, c, x) <body = b (int64 i, bool p, float[2] s) => (bool q, float[2] t, float[2] v)
            { q = Identity (p) t = Exp (s) v = Neg (s) }>
    }"""
    result = rewritten(UNROLLED, text_model(before, opset=opset, ir=7)).model
    found = operators(result)
    assert (found.count("Neg"), found.count("Unsqueeze"), found[-1]) == (3, 3, "Concat")


def test_a_condition_that_counts_ends_it() -> None:
    """As TensorFlow's loops do: the trip count is the largest there is, and a counter is compared with a constant."""
    before = """g (float[2] x) => (float[2] y)
        <int64 most = {9223372036854775807}, int64 zero = {0}, int64 four = {4}, int64 one = {1}, bool c = {1}> {
        k, y = Loop (most, c, zero, x) <
            body = b (int64 i, bool p, int64 r, float[2] s) => (bool q, int64 u, float[2] t)
            { u = Add (r, one) q = Less (u, four) t = Exp (s) }>
    }"""
    result = rewritten(AND_FOLDED, text_model(before)).model
    assert operators(result) == ["Exp"] * 4


def test_a_condition_that_is_false_at_first_lets_nothing_run() -> None:
    before = """g (float[2] x) => (float[2] y) <int64 n = {3}, bool c = {0}> {
        z = Loop (n, c, x) <body = b (int64 i, bool p, float[2] s) => (bool q, float[2] t)
            { q = Identity (p) t = Exp (s) }>
        y = Neg (z)
    }"""
    assert operators(rewritten(UNROLLED, text_model(before)).model) == ["Neg"]


def test_without_a_condition_what_the_body_says_does_not_count() -> None:
    before = """g (float[2] x) => (float[2] y) <int64 n = {3}> {
        y = Loop (n, , x) <body = b (int64 i, bool p, float[2] s) => (bool q, float[2] t)
            { q = Less (i, i) t = Exp (s) }>
    }"""
    assert operators(rewritten(UNROLLED, text_model(before)).model) == ["Exp"] * 3


@pytest.mark.parametrize("count", [0, -2])
def test_no_runs(count: int) -> None:
    before = f"""g (float[2] x) => (float[2] y) <int64 n = {{{count}}}> {{
        z = Loop (n, , x) <body = b (int64 i, bool p, float[2] s) => (bool q, float[2] t)
            {{ q = Identity (p) t = Exp (s) }}>
        y = Neg (z)
    }}"""
    assert operators(rewritten(UNROLLED, text_model(before)).model) == ["Neg"]


def test_what_it_reads_from_around_stays_and_branches_are_copied() -> None:
    before = """g (float[2] x, float[2] w, bool d) => (float[2] y) <int64 n = {2}, bool c = {1}> {
        o = Neg (w)
        y = Loop (n, c, x) <body = b (int64 i, bool p, float[2] s) => (bool q, float[2] t) {
            q = Identity (p) a = Add (s, o)
            t = If (d) <then_branch = e () => (float[2] u) { u = Mul (a, w) },
                        else_branch = f () => (float[2] v) { m = Abs (a) v = Sub (m, x) }>
        }>
    }"""
    assert operators(rewritten(UNROLLED, text_model(before)).model) == ["Neg", "Add", "If", "Add", "If"]


def test_states_that_change_places() -> None:
    before = """g (float[2] x, float[2] w) => (float[2] y, float[2] z) <int64 n = {3}, bool c = {1}> {
        y, z = Loop (n, c, x, w) <
            body = b (int64 i, bool p, float[2] s, float[2] r) => (bool q, float[2] t, float[2] u)
            { q = Identity (p) t = Exp (r) u = Identity (s) }>
    }"""
    assert operators(rewritten(UNROLLED, text_model(before)).model).count("Exp") == 3


def test_loops_in_loops() -> None:
    before = """g (float[2] x) => (float[2] y) <int64 n = {2}, int64 m = {3}, bool c = {1}> {
        y = Loop (n, c, x) <body = b (int64 i, bool p, float[2] s) => (bool q, float[2] t) {
            q = Identity (p)
            t = Loop (m, c, s) <body = e (int64 j, bool pp, float[2] ss) => (bool qq, float[2] tt)
                { qq = Identity (pp) f = Cast <to = 1> (i) tt = Add (ss, f) }>
        }>
    }"""
    assert operators(rewritten(AND_FOLDED, text_model(before)).model) == ["Add"] * 6


@pytest.mark.parametrize(
    ("inputs", "constants", "condition"),
    [
        ("int64 n, float[2] x", "<bool c = {1}>", "q = Identity (p)"),
        ("bool c, float[2] x", "<int64 n = {3}>", "q = Identity (p)"),
        ("float[2] x", "<int64 n = {3}, bool c = {1}>", "m = ReduceSum <keepdims = 0> (s) q = Less (m, m)"),
        ("float[2] x", "<int64 n = {257}, bool c = {1}>", "q = Identity (p)"),
    ],
    ids=["the trip count is an input", "the condition is an input", "the condition depends on data", "too many runs"],
)
def test_it_stays_where_the_number_of_runs_is_not_known_or_large(inputs: str, constants: str, condition: str) -> None:
    check_unchanged(
        "unroll-loops",
        f"""g ({inputs}) => (float[2] y) {constants} {{
            y = Loop (n, c, x) <body = b (int64 i, bool p, float[2] s) => (bool q, float[2] t)
                {{ {condition} t = Exp (s) }}>
        }}""",
    )


def test_a_trip_count_that_callers_may_override_is_not_known() -> None:
    model = text_model("""g (float[2] x, int64 n) => (float[2] y) <int64 n = {3}, bool c = {1}> {
        y = Loop (n, c, x) <body = b (int64 i, bool p, float[2] s) => (bool q, float[2] t)
            { q = Identity (p) t = Exp (s) }>
    }""")
    assert operators(rewritten("unroll-loops", model).model) == ["Loop"]


def test_a_body_that_refers_to_a_parameter_of_its_function_stays() -> None:
    functions = """<domain: "local", opset_import: ["" : 17]> f <a> (x) => (y) {
        n = Constant <value_int = 2> ()
        y = Loop (n, , x) <body = b (int64 i, bool p, s) => (bool q, v)
            { q = Identity (p) v = LeakyRelu <alpha: float = @a> (s) }>
    }"""
    model = text_model("g (float[2] x) => (float[2] y) { y = local.f <a = 0.5> (x) }", functions=functions)
    assert [node.op_type for node in rewritten("unroll-loops", model).model.functions[0].node] == ["Constant", "Loop"]


def test_lists_alone() -> None:
    before = """g (float[2] x) => (float[A,2] z) <int64 n = {2}, bool c = {1}> {
        z = Loop (n, c) <body = b (int64 i, bool p) => (bool q, float[2] v) { q = Identity (p) v = Neg (x) }>
    }"""
    assert operators(rewritten(UNROLLED, text_model(before)).model) == [
        "Neg",
        "Neg",
        "Unsqueeze",
        "Unsqueeze",
        "Concat",
    ]


class TestForRuntimes:
    """Runtimes that take a Loop get it, others its runs."""

    TEXT = """g (float[2] x) => (float[2] y, float[A,2] z)
        <int64 most = {9223372036854775807}, int64 zero = {0}, int64 four = {4}, int64 one = {1}, bool c = {1}> {
        k, y, z = Loop (most, c, zero, x) <
            body = b (int64 i, bool p, int64 r, float[2] s) => (bool q, int64 u, float[2] t, float[2] v)
            { u = Add (r, one) q = Less (u, four) t = Tanh (s) v = Identity (t) }>
    }"""

    @pytest.mark.parametrize("runtime", ["openvino==2021.4", "openvino==2026.4", "opencv==5.0"])
    def test_that_refuse_the_loop(self, runtime: str) -> None:
        source = text_model(self.TEXT, opset=13)
        found = convert(source, target=runtime)
        assert found.certificate is not None
        assert found.certificate.is_proven
        assert "unroll" in [stage.stage for stage in found.certificate.stages]
        assert operators(found.model).count("Tanh") == 4
        (answer,) = reach(source, targets=[runtime]).targets
        assert answer.is_reachable
        given = {"x": numpy.array([0.5, -1], numpy.float32)}
        for name, value in Evaluator(source).run(given).items():
            numpy.testing.assert_array_equal(Evaluator(found.model).run(given)[name], value)

    def test_that_take_it(self) -> None:
        assert "Loop" in operators(convert(text_model(self.TEXT, opset=13), target="onnxruntime==1.8").model)

    def test_a_refusal_names_the_loop_where_its_runs_are_not_known(self) -> None:
        text = self.TEXT.replace("float[2] x)", "float[2] x, int64 four)").replace("int64 four = {4}, ", "")
        source = text_model(text, opset=13)
        with pytest.raises(ConversionRefused, match="Loop"):
            convert(source, target="openvino==2021.4")
        (answer,) = reach(source, targets=["openvino==2021.4"]).targets
        assert not answer.is_reachable


SCAN = """g (float[3,2] x, float[2] i) => (float[2] y, float[3,2] z) {{
    y, z = Scan <num_scan_inputs = 1{}, body = b (float[2] s, float[2] e) => (float[2] t, float[2] v)
        {{ t = Add (s, e) v = Exp (t) }}> (i, x)
}}"""
ROWS = numpy.arange(6, dtype=numpy.float32).reshape(3, 2)


@pytest.mark.parametrize("opset", [9, 11, 16])
@pytest.mark.parametrize(
    "attributes",
    [
        "",
        ", scan_input_directions = [1]",
        ", scan_output_directions = [1]",
        ", scan_input_axes = [0], scan_output_axes = [0]",
    ],
)
def test_a_scan_runs_for_each_element(opset: int, attributes: str) -> None:
    before = text_model(SCAN.format(attributes), opset=opset, ir=7)
    result = rewritten(UNROLLED, before).model
    found = operators(result)
    assert (found.count("Gather"), found.count("Add"), found.count("Exp"), found[-1]) == (3, 3, 3, "Concat")
    given = {"x": ROWS, "i": numpy.array([0.5, -1], numpy.float32)}
    one, other = (Evaluator(model).run(given) for model in (before, result))
    for name, value in one.items():
        numpy.testing.assert_array_equal(other[name], value)


def test_a_scan_goes_along_other_axes() -> None:
    text = """g (float[2,3] x, float[4,3] w, float[2] i) => (float[2] y, float[2,3] z) {
        y, z = Scan <num_scan_inputs = 2, scan_input_axes = [-1, 1], scan_output_axes = [-1], body =
            b (float[2] s, float[2] e, float[4] f) => (float[2] t, float[2] v)
            { m = ReduceMax <keepdims = 0> (f) t = Add (s, e) v = Mul (t, m) }> (i, x, w)
    }"""
    before = text_model(text, opset=12)
    result = rewritten(UNROLLED, before).model
    assert "Scan" not in operators(result)
    given = {"x": ROWS.reshape(2, 3), "w": numpy.ones((4, 3), numpy.float32) * 2, "i": numpy.ones(2, numpy.float32)}
    one, other = (Evaluator(model).run(given) for model in (before, result))
    for name, value in one.items():
        numpy.testing.assert_array_equal(other[name], value)


@pytest.mark.parametrize(
    ("shape", "opset"), [("float[N,2]", 12), ("float[0,2]", 12), ("float[300,2]", 12), ("float[1,3,2]", 8)]
)
def test_a_scan_stays_where_its_length_is_not_known_or_large_or_batched(shape: str, opset: int) -> None:
    text = SCAN.format("").replace("float[3,2] x", f"{shape} x").replace("float[3,2] z", "float z")
    if opset < 9:
        text = (
            text.replace("(i, x)", "(, i, x)")
            .replace("float[2] i", "float[1,2] i")
            .replace("float[2] y", "float[1,2] y")
        )
    before = text_model(text, opset=opset, ir=4)
    before.graph.output[1].type.tensor_type.ClearField("shape")
    assert "Scan" in operators(rewritten(UNROLLED, before).model)


def test_a_scan_is_written_out_where_a_runtime_has_neither_it_nor_a_loop() -> None:
    """As skl2onnx writes distances between rows."""
    text = """g (float[3,2] x) => (float[3,4] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
        z, t = Scan <num_scan_inputs = 1, body = b (float[4,2] s, float[2] e) => (float[4,2] o, float[4] v)
            { o = Identity (s) d = Sub (s, e) v = ReduceSumSquare <axes = [1], keepdims = 0> (d) }> (w, x)
        y = Sqrt (t)
    }"""
    before = text_model(text, opset=11)
    found = convert(before, target="opencv==5.0")
    assert found.certificate is not None
    assert found.certificate.is_proven
    assert "Scan" not in operators(found.model)
    assert any("runs of loops are written out" in note for note in found.report.notes)
    assert operators(convert(before, target="onnxruntime==1.10").model)[0] == "Scan"
    (answer,) = reach(before, targets=["opencv==5.0"]).targets
    assert answer.is_reachable
