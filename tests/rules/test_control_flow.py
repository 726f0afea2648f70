"""If and Loop across their versions."""

import pytest

from opsetlift import ConversionRefused, convert_version
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model


@pytest.mark.slow
def test_loops_of_every_kind_stay_what_they_are():
    text = """<ir_version: 6, opset_import: ["": {}]> g (int64 n, bool c, float[2] x) => (float[2] y, float[M, 2] s) {{
        a, b = Loop (n, c, x) <body = body (int64 i, bool going, float[2] v) => (bool on, float[2] w, float[2] t)
            {{ on = Identity (going) w = Add (v, v) t = Mul (w, v) }}>
        y, d = Loop (n, "", a) <body = body2 (int64 j, bool going2, float[2] p) => (bool on2, float[2] q, float[2] r)
            {{ on2 = Identity (going2) q = Add (p, p) r = Mul (q, p) }}>
        s = Identity (d)
    }}"""
    for source, target in ((7, 28), (28, 7), (11, 16)):
        check_rewrite(text.format(source), text.format(target))


def test_bfloat16_is_cast_around_a_loop_below_16():
    check_rewrite(
        """<ir_version: 8, opset_import: ["": 16]> g (int64 n, bfloat16[2] x) => (bfloat16[2] y, bfloat16[M, 2] s) {
            y, s = Loop (n, "", x) <body = body (int64 i, bool c, bfloat16[2] v)
                => (bool d, bfloat16[2] w, bfloat16[2] t) { d = Identity (c) w = Add (v, v) t = Mul (w, v) }>
        }""",
        """<ir_version: 8, opset_import: ["": 15]> g (int64 n, bfloat16[2] x) => (bfloat16[2] y, bfloat16[M, 2] s) {
            y_Cast_3 = Cast <to: int = 1> (x)
            y_Loop, y_Loop_1 = Loop (n, "", y_Cast_3) <body: graph =
                y_graph (int64 y_input, bool y_input_1, float[2] y_input_2)
                => (bool d, float[2] y_Cast_1, float[2] y_Cast_2) {
                    y_Cast = Cast <to: int = 16> (y_input_2)
                    d = Identity (y_input_1)
                    w = Add (y_Cast, y_Cast)
                    t = Mul (w, y_Cast)
                    y_Cast_1 = Cast <to: int = 1> (w)
                    y_Cast_2 = Cast <to: int = 1> (t)
                }>
            y = Cast <to: int = 16> (y_Loop)
            s = Cast <to: int = 16> (y_Loop_1)
        }""",
    )


@pytest.mark.parametrize("to", [15, 13])
@pytest.mark.parametrize(
    "node",
    [
        "If (c) <then_branch = t () => (bfloat16[2] p) { p = Identity (x) }, "
        "else_branch = e () => (bfloat16[2] q) { q = Identity (z) }>",
        'Loop (n, "", x) <body = b (int64 i, bool g, bfloat16[2] v) => (bool h, bfloat16[2] w) '
        "{ h = Identity (g) w = Mul (v, z) }>",
        "Scan <num_scan_inputs = 1, body = b (bfloat16 v) => (bfloat16 w) { w = Abs (v) }> (x)",
    ],
)
def test_bfloat16_travels_through_bodies_below_16(node, to):
    check_converts(
        f"""<ir_version: 12, opset_import: ["": 16]>
        g (bool c, int64 n, bfloat16[2] x, bfloat16[2] z) => (bfloat16[2] y) {{ y = {node} }}""",
        to,
        exact=True,
    )


def test_a_loop_without_states_carries_a_constant_below_13():
    check_rewrite(
        """<ir_version: 8, opset_import: ["": 13]> g (int64 n) => (int64[M] y) {
            y = Loop (n, "") <body = b (int64 i, bool c) => (bool d, int64 e) { d = Identity (c) e = Add (i, i) }>
        }""",
        """<ir_version: 7, opset_import: ["": 12]> g (int64 n) => (int64[M] y) <bool y_state = {1}> {
            y_Loop, y = Loop (n, "", y_state) <body: graph =
                y_graph (int64 y_input, bool y_input_1, bool y_input_2) => (bool d, bool y_Identity, int64 e) {
                    d = Identity (y_input_1)
                    e = Add (y_input, y_input)
                    y_Identity = Identity (y_input_2)
                }>
        }""",
    )


def test_small_constants_of_a_body_stay_where_inference_reads_them():
    check_rewrite(
        """<ir_version: 7, opset_import: ["": 13]> g (int64 n) => (float[M, 2] y) {
            y = Loop (n, "") <body = b (int64 i, bool c) => (bool d, float[2] e) <int64[1] shape = {2}>
                { d = Identity (c) k = Cast <to = 1> (i) e = Expand (k, shape) }>
        }""",
        """<ir_version: 7, opset_import: ["": 12]> g (int64 n) => (float[M, 2] y) <bool y_state = {1}> {
            y_Loop, y = Loop (n, "", y_state) <body: graph =
                y_graph (int64 y_input, bool y_input_1, bool y_input_2) => (bool d, bool y_Identity, float[2] e) {
                    y_shape = Constant <value: tensor = int64[1] y_shape {2}> ()
                    d = Identity (y_input_1)
                    k = Cast <to: int = 1> (y_input)
                    e = Expand (k, y_shape)
                    y_Identity = Identity (y_input_2)
                }>
        }""",
    )


def test_sequences_from_outside_that_a_loop_carries_are_refused_below_13():
    check_refusal(
        """<ir_version: 8, opset_import: ["": 13]> g (int64 n, seq(float[2]) s) => (seq(float[2]) t) {
            t = Loop (n, "", s) <body = b (int64 i, bool c, seq(float[2]) v) => (bool d, seq(float[2]) w)
                { d = Identity (c) w = SequenceErase (v) }>
        }""",
        12,
        Why.NO_EQUIVALENT,
        "'s' is not built in this graph",
    )


@pytest.mark.parametrize("to", [10, 7])
def test_a_loop_11_without_states_carries_a_constant_below_11(to):
    converted = check_converts(
        """<ir_version: 6, opset_import: ["": 11]> g (int64 n) => (int64[M] y) {
            y = Loop (n, "") <body = b (int64 i, bool c) => (bool d, int64 e) { d = Identity (c) e = Add (i, i) }>
        }""",
        to,
    )
    (loop,) = (node for node in converted.graph.node if node.op_type == "Loop")
    assert len(loop.input) == 3


BRANCHES_OF_OTHER_SHAPES = """<ir_version: 6, opset_import: ["": 11]> g (bool[{}] c, float[N, 6] x)
    => (float[A, B] y, int64[C] z) {{
    y, z = If (c)
        <then_branch = t () => (float[N, 6] p, int64[D] r) {{ p = Add (x, x) r = Shape (x) }},
         else_branch = e () => (float[1, 6] q, int64[1] s) {{
            q = ReduceSum <axes = [0]> (x) s = Constant <value = int64[1] {{5}}> () }}>
}}"""


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("to", [10, 8, 1])
@pytest.mark.parametrize("shape", ["", "1"])
def test_branches_of_different_shapes_become_loops_that_run_once_or_not(shape, to):
    converted = check_converts(BRANCHES_OF_OTHER_SHAPES.format(shape), to)
    operators = [node.op_type for node in converted.graph.node]
    assert operators.count("Loop") == 2
    assert "If" not in operators


def test_of_a_constant_condition_only_one_branch_is_kept():
    check_rewrite(
        """<ir_version: 6, opset_import: ["": 11]> g (float[2, 6] x) => (float[A, B] y)
        <bool c = {0}> {
            y = If (c) <then_branch = t () => (float[2, 6] p) { p = Add (x, x) },
                        else_branch = e () => (float[1, 6] q) { q = ReduceSum <axes = [0]> (x) }>
        }""",
        """<ir_version: 4, opset_import: ["": 10]> g (float[2, 6] x) => (float[A, B] y) {
            y = ReduceSum <axes = [0]> (x)
        }""",
    )


def test_a_body_with_a_state_that_the_loop_lacks_is_the_models_fault_below_13():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 13]> g (int64 n, bool go) => (float[N] y) { y = Loop (n, go) <body = b '
        "(int64 i, bool c, float s) => (bool d, float o) { d = Identity (c) o = Neg (s) }> }",
        11,
        Why.INVALID_MODEL,
        "the body has 3 inputs; without states it must have 2",
    )


def test_a_node_with_more_results_than_its_body_gives_is_refused():
    text = """<ir_version: 8, opset_import: ["": 16]> g (int64 n, bfloat16[2] x) => (bfloat16[2] y, bfloat16[2] z) {
        y, z = Loop (n, , x) <body = b (int64 i, bool c, bfloat16[2] a) => (bool d, bfloat16[2] e) {
            d = Identity (c) e = Identity (a)
        }>
    }"""
    with pytest.raises(ConversionRefused, match="body gives 1 results, and the node 2"):
        convert_version(model(text), 13)
