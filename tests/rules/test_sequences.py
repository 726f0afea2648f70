"""Sequences below 11, where there are none: they are taken apart where their length is known."""

import numpy
import pytest
from onnxruntime import InferenceSession

from opsetlift import ConversionRefused, convert, convert_version
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model

HEADER = '<ir_version: 7, opset_import: ["": 13]>'


def test_a_built_sequence_becomes_its_elements_below_11():
    check_rewrite(
        f"""{HEADER} g (float[N,2] x, float[N,2] z, float[1,2] w) => (float[M,2] y, int64 n, float[N,2] e)
        <int64 first = {{0}}, int64 last = {{-1}}> {{
            built = SequenceConstruct (x, z)
            longer = SequenceInsert (built, w, first)
            y = ConcatFromSequence <axis = 0> (longer)
            n = SequenceLength (longer)
            e = SequenceAt (longer, last)
        }}""",
        """<ir_version: 4, opset_import: ["": 9]>
        g (float[N,2] x, float[N,2] z, float[1,2] w) => (float[M,2] y, int64 n, float[N,2] e) <int64 n_length = {3}> {
            y = Concat <axis: int = 0> (w, x, z)
            n = Identity (n_length)
            e = Identity (z)
        }""",
    )


def test_a_split_with_constant_lengths_gives_the_elements():
    check_rewrite(
        f"""{HEADER} g (float[N] x) => (float[3] y) <int64[2] lengths = {{2, 3}}, int64 second = {{1}}> {{
            s = SplitToSequence (x, lengths)
            y = SequenceAt (s, second)
        }}""",
        """<ir_version: 4, opset_import: ["": 9]> g (float[N] x) => (float[3] y) {
            s_Split, s_Split_1 = Split <axis: int = 0, split: ints = [2, 3]> (x)
            y = Identity (s_Split_1)
        }""",
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("dtype", ["float", "int64", "string"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("new_axis", [0, 1])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("to", [10, 7])
def test_splitting_and_joining_goes_through_known_sizes(dtype, keepdims, new_axis, axis, to):
    check_converts(
        f"""{HEADER} g ({dtype}[3,4] x) => ({dtype}[] y) {{
            s = SplitToSequence <axis = {axis}, keepdims = {keepdims}> (x)
            y = ConcatFromSequence <axis = {axis}, new_axis = {new_axis}> (s)
        }}""",
        to,
        exact=True,
    )


def test_the_last_of_equal_pieces_may_be_shorter():
    converted = check_converts(
        f"""{HEADER} g (float[7] x) => (float[1] y) <int64 size = {{3}}, int64 place = {{2}}> {{
            s = SplitToSequence (x, size)
            y = SequenceAt (s, place)
        }}""",
        9,
    )
    (split,) = (node for node in converted.graph.node if node.op_type == "Split")
    assert [list(a.ints) for a in split.attribute if a.name == "split"] == [[3, 3, 1]]


@pytest.mark.parametrize("place", ["int64 p", "int64[1] p", "int32 p"])
def test_an_element_of_equal_shapes_may_be_chosen_at_run_time(place):
    check_converts(
        f"""{HEADER} g (float[3,4] x, {place}) => (float[4] y) {{
            s = SplitToSequence <keepdims = 0> (x)
            y = SequenceAt (s, p)
        }}""",
        7,
        exact=True,
    )


def test_elements_are_seen_from_branches():
    check_converts(
        f"""{HEADER} g (float[4] x, bool c) => (float[2] y)
        <int64 size = {{2}}, int64 first = {{0}}, int64 next = {{1}}> {{
            s = SplitToSequence (x, size)
            y = If (c) <
                then_branch = t () => (float[2] p) {{ p = SequenceAt (s, first) }},
                else_branch = e () => (float[2] q) {{ q = SequenceAt (s, next) }}>
        }}""",
        9,
        exact=True,
    )


def test_erased_elements_are_left_out():
    check_rewrite(
        f"""{HEADER} g (float[1] x, float[1] z) => (float[2] y) <int64 first = {{0}}> {{
            s = SequenceConstruct (x, z, x)
            t = SequenceErase (s, first)
            u = SequenceErase (t)
            v = SequenceInsert (u, x)
            y = ConcatFromSequence <axis = 0> (v)
        }}""",
        '<ir_version: 4, opset_import: ["": 9]> g (float[1] x, float[1] z) => (float[2] y) '
        "{ y = Concat <axis: int = 0> (z, x) }",
    )


def test_an_empty_sequence_is_filled():
    check_rewrite(
        f"""{HEADER} g (float[1] x) => (float[1] y) <int64 first = {{0}}> {{
            s = SequenceEmpty ()
            t = SequenceInsert (s, x)
            y = SequenceAt (t, first)
        }}""",
        '<ir_version: 4, opset_import: ["": 9]> g (float[1] x) => (float[1] y) { y = Identity (x) }',
    )


MAP = """t = SequenceMap (s, w) <body = b (float[K] e, float[1] f) => (float[K] r) <float[1] c = {2}> {
            u = Mul (e, f) r = Add (u, c) }>"""


def test_a_map_is_repeated_for_each_element_below_11():
    check_converts(
        f"""<ir_version: 8, opset_import: ["": 17]> g (float[5] x, float[1] w) => (float[5] y)
        <int64[2] lengths = {{2, 3}}> {{
            s = SplitToSequence (x, lengths)
            {MAP}
            y = ConcatFromSequence <axis = 0> (t)
        }}""",
        9,
        exact=True,
    )


def test_a_map_becomes_a_loop_below_17():
    converted = check_converts(
        f'<ir_version: 8, opset_import: ["": 17]> g (seq(float[K]) s, float[1] w) => (seq(float[K]) t) {{ {MAP} }}', 16
    )
    assert converted.graph.node[-1].op_type == "Loop"


def test_a_map_whose_first_result_is_not_wanted_becomes_a_loop_below_17():
    body = "b (float[K] e) => (float[K] r, float[K] q) { r = Abs (e) q = Neg (e) }"
    check_converts(
        f"""<ir_version: 8, opset_import: ["": 17]> g (seq(float[K]) s) => (seq(float[K]) t) {{
            "", t = SequenceMap <body = {body}> (s)
        }}""",
        16,
    )


def test_an_element_of_a_captured_sequence_is_proven_with_what_builds_it():
    conversion = convert(
        model(
            f"""{HEADER} g (float[N] x, float[N] z) => (float[N] y) <int64 second = {{1}}> {{
                s = SequenceConstruct (x, z)
                y = SequenceAt (s, second)
            }}"""
        ),
        to=9,
    )
    site = next(one for one in conversion.certificate.sites if one.operator == "SequenceAt")
    assert site.cases > 0
    assert any("SequenceConstruct" in rule for rule in site.rules)


@pytest.mark.parametrize(
    ("text", "why", "words"),
    [
        ("(float[N] x) => (seq(float[N]) s) { s = SequenceConstruct (x) }", Why.NO_EQUIVALENT, ["used as a whole"]),
        ("(seq(float[N]) s) => (int64 n) { n = SequenceLength (s) }", Why.NO_EQUIVALENT, ["not built"]),
        (
            "(float[2, N] x) => (float[2, M] y) "
            "{ s = SplitToSequence <axis = 1> (x) y = ConcatFromSequence <axis = 1> (s) }",
            Why.NO_EQUIVALENT,
            ["run time", "axis 1"],
        ),
        (
            "(float[4] x, int64[N] k) => (float[M] y) "
            "{ s = SplitToSequence (x, k) y = ConcatFromSequence <axis = 0> (s) }",
            Why.SHAPE_UNKNOWN,
            ["number of elements"],
        ),
        (
            "(int64 p) => (float[N] y) { s = SequenceEmpty () y = SequenceAt (s, p) }",
            Why.INVALID_MODEL,
            ["a sequence of 0 elements"],
        ),
        (
            "(float[N] x) => (float[N] y) <int64 p = {1}> { s = SequenceConstruct (x) y = SequenceAt (s, p) }",
            Why.INVALID_MODEL,
            ["out of range for a sequence of 1"],
        ),
    ],
)
def test_sequences_that_are_not_known_are_refused_below_11(text, why, words):
    check_refusal(f"{HEADER} g {text}", 10, why, *words)


POSITIONS_OF_THE_RUN = {
    "the element at": "s = SequenceConstruct (x, z, w) y = SequenceAt (s, p)",
    "the only element": "s = SequenceConstruct (x) y = SequenceAt (s, p)",
    "without one": "s = SequenceConstruct (x, z, w) t = SequenceErase (s, p) y = SequenceAt (t, last)",
    "with another": "s = SequenceConstruct (x, z) t = SequenceInsert (s, w, p) y = SequenceAt (t, last)",
    "with another in the middle": "s = SequenceConstruct (x, z) t = SequenceInsert (s, w, p) y = SequenceAt (t, one)",
    "with the first": "s = SequenceEmpty () t = SequenceInsert (s, x, p) y = SequenceAt (t, p)",
    "without and with": "s = SequenceConstruct (x, z) t = SequenceErase (s, p) "
    "u = SequenceInsert (t, w, p) y = SequenceAt (u, p)",
}


@pytest.mark.quick_share(6)
@pytest.mark.parametrize(
    ("shapes", "position", "to"),
    [
        (("[N]", "[N]", "[N]"), "int64", 10),
        (("[N]", "[M]", "[2]"), "int32[1]", 9),
        (("[N]", "[M, 2]", ""), "int64", 7),
    ],
)
@pytest.mark.parametrize("name", POSITIONS_OF_THE_RUN)
def test_positions_computed_at_run_time_choose_among_the_elements(name, position, shapes, to):
    inputs = ", ".join(f"float{shape} {value}" for shape, value in zip(shapes, "xzw", strict=True))
    check_converts(
        f"{HEADER} g ({inputs}, {position} p) => (float[] y) <int64 one = {{1}}, int64 last = {{-1}}> "
        f"{{ {POSITIONS_OF_THE_RUN[name]} }}",
        to,
        exact=True,
    )


def test_an_element_at_a_computed_position_is_chosen_by_an_if_below_11():
    check_rewrite(
        f"""{HEADER} g (float[N] x, float[N] z, int64 p) => (float[N] y) <int64 first = {{0}}> {{
            s = SequenceConstruct (x, z)
            t = SequenceErase (s, p)
            y = SequenceAt (t, first)
        }}""",
        """<ir_version: 4, opset_import: ["": 9]> g (float[N] x, float[N] z, int64 p) => (float[N] y)
            <float t_zero = {0}, int64 t_constant = {2}, int64 t_place = {1}> {
            t_Cast = Cast <to = 1> (p)
            t_Less = Less (t_Cast, t_zero)
            t_Cast_1 = Cast <to = 7> (t_Less)
            t_Mul = Mul (t_Cast_1, t_constant)
            t_Add = Add (p, t_Mul)
            t_Sub = Sub (t_Add, t_place)
            t_Cast_2 = Cast <to = 1> (t_Sub)
            t_Less_1 = Less (t_Cast_2, t_zero)
            t_If = If <then_branch = t_graph () => (float[N] t_Identity) { t_Identity = Identity (z) },
                else_branch = t_graph_1 () => (float[N] t_Identity_1) { t_Identity_1 = Identity (x) }> (t_Less_1)
            y = Identity (t_If)
        }""",
    )


def test_a_body_of_sequence_map_that_takes_more_than_it_is_given_is_refused():
    text = """<ir_version: 8, opset_import: ["": 17]> g (seq(float[2]) x) => (seq(float[2]) y) {
        y = SequenceMap (x) <body = b (float[2] a, float[2] c) => (float[2] d) { d = Add (a, c) }>
    }"""
    with pytest.raises(ConversionRefused, match="the body has 2 inputs, and the node gives 1"):
        convert_version(model(text), 16)


SPLITS_OF_OPEN_SIZE = {
    "rows": "s = SplitToSequence <keepdims = 0> (x) y = ConcatFromSequence <axis = 1, new_axis = 1> (s)",
    "slices": "s = SplitToSequence (x) y = SequenceAt (s, p)",
    "columns": "s = SplitToSequence <axis = -1, keepdims = 0> (x) y = ConcatFromSequence <axis = 0> (s)",
    "pieces": "s = SplitToSequence (x, k) y = ConcatFromSequence <axis = 0> (s)",
    "pieces of a size": "s = SplitToSequence (x, two) y = SequenceAt (s, p)",
    "with another": "s = SplitToSequence (x, k) t = SequenceInsert (s, x, p) y = ConcatFromSequence <axis = 0> (t)",
    "without one": "s = SplitToSequence (x, k) t = SequenceErase (s, p) y = ConcatFromSequence <axis = -2> (t)",
}


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("to", [10, 8])
@pytest.mark.parametrize("nodes", SPLITS_OF_OPEN_SIZE.values(), ids=SPLITS_OF_OPEN_SIZE)
def test_elements_that_are_counted_at_run_time_become_vectors(nodes, to):
    converted = check_converts(
        f"""{HEADER} g (float[N, M] x, int64 k, int64 p) => (float[] y, int64 n) <int64 two = {{2}}> {{
            {nodes}
            n = SequenceLength (s)
        }}""",
        to,
        exact=True,
    )
    assert not any("Sequence" in node.op_type for node in converted.graph.node)


LISTS_IN_LOOPS = {
    "appended to": "w = SequenceInsert (v, e)",
    "filled in front": "w = SequenceInsert (v, e, zero)",
    "of pieces that differ in size": (
        "h = Add (i, one) r = Reshape (h, row) p = Expand (k, r) w = SequenceInsert (v, p)"
    ),
    "whose last element is read": (
        "m = SequenceInsert (v, e) l = SequenceAt (m, last) h = Add (l, e) w = SequenceInsert (m, h)"
    ),
    "whose first element goes": "m = SequenceInsert (v, e) o = SequenceInsert (m, e) w = SequenceErase (o, zero)",
    "filled by a branch": """big = Greater (k, zero_float) w = If (big) <
        then_branch = t () => (seq(float[]) a) { a = SequenceInsert (v, e) },
        else_branch = f () => (seq(float[]) b) { o = SequenceInsert (v, e) b = SequenceInsert (o, k) }>""",
    "that a loop inside fills": """w = Loop (two, "", v) <body = inner
        (int64 j, bool go, seq(float[]) iv) => (bool gone, seq(float[]) iw)
        { gone = Identity (go) iw = SequenceInsert (iv, e) }>""",
    "of what is counted and cut in it": """u = SplitToSequence (e, one) o = SequenceLength (u)
        r = Cast <to = 1> (o) h = Mul (k, r) w = SequenceInsert (v, h)""",
    "with a list of its own": """o = SequenceEmpty () q = SequenceInsert (o, e) u = SequenceInsert (q, k)
        h = ConcatFromSequence <axis = 0> (u) w = SequenceInsert (v, h)""",
}


def _loop(nodes: str, *, opset: int = 17) -> str:
    return f"""<ir_version: 8, opset_import: ["": {opset}]> g (float[N, 3] x) => (float[M] y, int64 n, float[] f)
        <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}, int64 last = {{-1}}, int64[1] row = {{-1}},
        int64[1] size = {{-1}}, float zero_float = {{0}}> {{
            rows = Shape <end = 1> (x)
            count = Squeeze (rows)
            s = SequenceEmpty ()
            l = Loop (count, "", s) <body = b (int64 i, bool c, seq(float[]) v) => (bool d, seq(float[]) w) {{
                d = Identity (c)
                e = Gather (x, i)
                top = ReduceSum <keepdims = 0> (e)
                k = Reshape (top, size)
                {nodes.replace("Greater (k, zero_float)", "Greater (top, zero_float)")}
            }}>
            y = ConcatFromSequence <axis = 0> (l)
            n = SequenceLength (l)
            f = SequenceAt (l, zero)
        }}"""


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("to", [12, 11, 10, 8])
@pytest.mark.parametrize("nodes", LISTS_IN_LOOPS.values(), ids=LISTS_IN_LOOPS)
def test_lists_that_loops_carry_become_vectors_below_13(nodes, to):
    converted = check_converts(_loop(nodes), to, exact=True)
    assert not any("Sequence" in node.op_type for node in converted.graph.node)
    assert "Loop" in {node.op_type for node in converted.graph.node}


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("to", [12, 8])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("new_axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float", "int64", "string"])
def test_a_list_that_branches_give_is_joined_along_any_axis(axis, new_axis, dtype, to):
    rank = "P, Q, R" if new_axis else "P, Q"
    check_converts(
        f"""<ir_version: 8, opset_import: ["": 14]> g ({dtype}[A, B] x, bool c) => ({dtype}[{rank}] y) {{
            s = SequenceConstruct (x, x)
            l = If (c) <
                then_branch = t () => (seq({dtype}[]) a) {{ a = SequenceInsert (s, x) }},
                else_branch = e () => (seq({dtype}[]) b) {{ b = Identity (s) }}>
            y = ConcatFromSequence <axis = {axis}, new_axis = {new_axis}> (l)
        }}""",
        to,
        exact=True,
    )


def test_an_appended_list_is_carried_in_four_vectors():
    converted = convert_version(model(_loop("w = SequenceInsert (v, e)")), 12)
    (loop,) = (node for node in converted.graph.node if node.op_type == "Loop")
    body = loop.attribute[0].g
    assert [node.op_type for node in body.node if node.op_type in ("Concat", "Loop")] == ["Concat"] * 4
    assert len(loop.input) == 2 + 4


def test_what_only_reads_a_list_in_a_loop_keeps_it_as_it_is_above_10():
    converted = check_converts(
        """<ir_version: 8, opset_import: ["": 13]> g (float[N, 3] x, int64 n) => (float[M] y) {
            s = SequenceEmpty ()
            rows = SplitToSequence <axis = 1> (x, rest)
            l = Loop (n, "", s) <body = b (int64 i, bool c, seq(float[]) v) => (bool d, seq(float[]) w) {
                d = Identity (c) e = SequenceAt (rows, i) w = SequenceInsert (v, e) }>
            y = ConcatFromSequence <axis = 0> (l)
        }""".replace("(x, rest)", "(x)"),
        12,
        exact=True,
    )
    assert "SplitToSequence" in {node.op_type for node in converted.graph.node}


def test_a_list_that_leaves_the_model_is_refused_below_13():
    check_refusal(
        """<ir_version: 8, opset_import: ["": 13]> g (float[N, 3] x, int64 n) => (seq(float[3]) l) {
            s = SequenceEmpty ()
            l = Loop (n, "", s) <body = b (int64 i, bool c, seq(float[]) v) => (bool d, seq(float[]) w) {
                d = Identity (c) e = Gather (x, i) w = SequenceInsert (v, e) }>
        }""",
        12,
        Why.NO_EQUIVALENT,
        "used as a whole",
    )


@pytest.mark.parametrize("to", [12, 10, 8])
def test_pieces_of_the_length_1_lose_the_axis_as_in_onnxruntime(to):
    # PyTorch exports `unbind` so; the length of the axis is open.
    before = model(
        f"""{HEADER} g (float[N, 3] x, int64 p) => (float[] y, float[] z) <int64 length = {{1}}> {{
            s = SplitToSequence <axis = 0, keepdims = 0> (x, length)
            e = SequenceAt (s, p)
            y = Softmax <axis = 0> (e)
            z = ConcatFromSequence <axis = 1, new_axis = 1> (s)
        }}"""
    )
    converted = convert(before, to=to).model
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    for one in (before, converted):
        y, z = InferenceSession(one.SerializeToString()).run(None, {"x": x, "p": numpy.array(1)})
        assert y.shape == (3,)
        assert z.tolist() == x.T.tolist()


def test_a_length_that_is_computed_may_take_the_axis_away_and_is_refused():
    check_refusal(
        f"""{HEADER} g (float[N, 3] x, int64 k, int64 p) => (float[] y) {{
            s = SplitToSequence <keepdims = 0> (x, k) y = SequenceAt (s, p)
        }}""",
        10,
        Why.INPUT_NOT_CONSTANT,
        "keepdims=0",
    )


def test_a_split_of_nothing_is_a_sequence_without_elements_below_11():
    converted = check_converts(
        """<ir_version: 6, opset_import: ["": 11]> g (float[0, 2] e, float[3, 2] x) => (float[3, 2] y) {
            s = SplitToSequence (e)
            t = SequenceInsert (s, x)
            y = ConcatFromSequence <axis = 0> (t)
        }""",
        10,
        exact=True,
    )
    assert not any("Sequence" in node.op_type for node in converted.graph.node)
