"""Scan across its versions."""

import numpy
import onnx
import pytest

from opsetlift import convert
from opsetlift.evaluator import Evaluator
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model
from testing.pairs import every_pair

BODY = "body = cell (float[2] h, float[2] v) => (float[2] k, float[2] o) { k = Add (h, v) o = Mul (k, v) }"


def test_the_batch_of_version_8_becomes_a_scan_around():
    check_rewrite(
        f"""<ir_version: 4, opset_import: ["": 8]> g (float[B, 2] s, float[B, 5, 2] x)
        => (float[B, 2] f, float[B, 5, 2] y)
        {{ f, y = Scan <num_scan_inputs = 1, directions = [1], {BODY}> ("", s, x) }}""",
        """<ir_version: 4, opset_import: ["": 9]> g (float[B, 2] s, float[B, 5, 2] x)
        => (float[B, 2] f, float[B, 5, 2] y)
        { f, y = Scan <body: graph = f_graph (float[2] f_input, float[5, 2] f_input_1)
            => (float[2] f_Scan, float[5, 2] f_Scan_1) {
            f_Scan, f_Scan_1 = Scan <body: graph = cell (float[2] h, float[2] v) => (float[2] k, float[2] o)
                { k = Add (h, v) o = Mul (k, v) }, num_scan_inputs: int = 1, scan_input_directions: ints = [1]>
                (f_input, f_input_1)
        }, num_scan_inputs: int = 2> (s, x) }""",
    )


@pytest.mark.quick_share(24)
@pytest.mark.parametrize(
    ("to", "directions", "lengths"),
    every_pair([9, 13, 28, 7, 5], ["", "directions = [1, 0],"], ['""', "lengths"]),
)
def test_each_entry_of_a_batch_has_its_own_length(to, directions, lengths):
    check_converts(
        f"""<ir_version: 4, opset_import: ["": 8]>
        g (int64[3] lengths, float[3, 2] s, float[3, 4, 2] x, float[3, 4, 2] z) => (float[3, 2] f, float[3, 4, 2] y) {{
            f, y = Scan <num_scan_inputs = 2, {directions} body = cell (float[2] h, float[2] v, float[2] w)
                => (float[2] k, float[2] o) {{ u = Mul (h, w) k = Sub (v, u) o = Mul (k, v) }}> ({lengths}, s, x, z)
        }}""",
        to,
        exact=True,
    )


@pytest.mark.slow
def test_lengths_of_sequences_decide_where_a_backward_scan_begins():
    text = """<ir_version: 4, opset_import: ["": 8]> g (int64[2] n, float[2, 1] s, float[2, 3, 1] x)
        => (float[2, 1] f, float[2, 3, 1] y) {
            f, y = Scan <num_scan_inputs = 1, directions = [1], body = cell (float[1] h, float[1] v)
                => (float[1] k, float[1] o) { k = Add (h, v) o = Identity (v) }> (n, s, x)
        }"""
    inputs = {
        "n": numpy.array([2, 0]),
        "s": numpy.array([[10], [20]], numpy.float32),
        "x": numpy.arange(6, dtype=numpy.float32).reshape(2, 3, 1),
    }
    for to in (9, 7):
        results = Evaluator(convert(model(text), to=to).model).run(inputs)
        numpy.testing.assert_array_equal(results["f"], [[11], [20]])
        numpy.testing.assert_array_equal(results["y"][..., 0], [[1, 0, 0], [0, 0, 0]])


def test_lengths_that_may_be_0_need_the_size_of_an_element():
    check_refusal(
        """<ir_version: 4, opset_import: ["": 8]> g (int64[B] n, float[B, T, K] x) => (float[B, T, K] y) {
            y = Scan <num_scan_inputs = 1, body = cell (float[K] v) => (float[K] o) { o = Relu (v) }> (n, x)
        }""",
        9,
        Why.SHAPE_UNKNOWN,
        "may be empty",
    )


def test_one_sequence_is_a_batch_of_one_below_9():
    check_rewrite(
        f"""<ir_version: 4, opset_import: ["": 9]> g (float[2] s, float[T, 2] x) => (float[2] f, float[T, 2] y)
        {{ f, y = Scan <num_scan_inputs = 1, {BODY}> (s, x) }}""",
        """<ir_version: 3, opset_import: ["": 8]> g (float[2] s, float[T, 2] x) => (float[2] f, float[T, 2] y) {
            f_Unsqueeze = Unsqueeze <axes: ints = [0]> (s)
            f_Unsqueeze_1 = Unsqueeze <axes: ints = [0]> (x)
            f_Scan, f_Scan_1 = Scan <body: graph = cell (float[2] h, float[2] v) => (float[2] k, float[2] o)
                { k = Add (h, v) o = Mul (k, v) }, num_scan_inputs: int = 1> ("", f_Unsqueeze, f_Unsqueeze_1)
            f = Squeeze <axes: ints = [0]> (f_Scan)
            y = Squeeze <axes: ints = [0]> (f_Scan_1)
        }""",
    )


@pytest.mark.quick_share(12)
@pytest.mark.parametrize(
    ("to", "axes", "directions"),
    every_pair(
        [10, 9, 8, 7, 5],
        ["", "scan_input_axes = [1, 0], scan_output_axes = [1]", "scan_input_axes = [-2, -3]"],
        ["", "scan_input_directions = [0, 1], scan_output_directions = [1]"],
    ),
)
def test_axes_and_directions_are_kept_at_every_target(to, axes, directions):
    first = "2, T, 3" if axes else "T, 2, 3"
    attributes = "".join(f"{one}, " for one in (axes, directions) if one)
    converted = check_converts(
        f"""<ir_version: 6, opset_import: ["": 11]>
        g (float[2, 3] s, float[{first}] x, float[T, 2, 3] z) => (float[2, 3] f, float[A, B, C] y) {{
            f, y = Scan <num_scan_inputs = 2, {attributes} body = cell (float[2, 3] h, float[2, 3] v, float[2, 3] w)
                => (float[2, 3] k, float[2, 3] o) {{ u = Mul (h, w) k = Sub (v, u) o = Mul (k, v) }}> (s, x, z)
        }}""",
        to,
        exact=True,
    )
    operators = {node.op_type for node in converted.graph.node}
    assert ("Scan" in operators) == (to >= 8)


def test_weights_in_a_body_stay_initializers_below_8():
    converted = check_converts(
        """<ir_version: 6, opset_import: ["": 11]> g (float[T, 2] x) => (float[T, 2] y) {
            y = Scan <num_scan_inputs = 1, body = cell (float[2] v) => (float[2] o) <float[2] w = {2, 3}>
                { o = Mul (v, w) }> (x)
        }""",
        7,
        exact=True,
    )
    onnx.checker.check_model(converted, full_check=True)


def test_a_negative_axis_needs_the_rank_below_11():
    check_refusal(
        """<ir_version: 6, opset_import: ["": 11]> g (float[] x) => (float[] y) {
            r = Shape (x)
            u = Reshape (x, r)
            y = Scan <num_scan_inputs = 1, scan_input_axes = [-1], body = cell (float[] v) => (float[] o)
                { o = Relu (v) }> (u)
        }""",
        10,
        Why.RANK_UNKNOWN,
        "must be made non-negative",
    )


@pytest.mark.slow
@pytest.mark.parametrize("to", [13, 6, 4])
def test_sizes_that_only_the_body_declares_are_taken_at_its_word(to):
    """Below 7 an Add repeats dimensions by attribute: the sizes in the body say that there are none to repeat."""
    source = model(
        '<ir_version: 8, opset_import: ["": 21]> g (float[T, 2] x, float[2] s) => (float[2] f, float[T, 2] y) '
        f"{{ f, y = Scan <num_scan_inputs = 1, {BODY}> (s, x) }}"
    )
    for info in (source.graph.input[0], *source.graph.output):
        info.type.tensor_type.ClearField("shape")
    certificate = convert(source, to=to).certificate
    assert certificate is not None
    assert certificate.is_proven, certificate.summary()


def test_outputs_are_as_long_as_sequences_of_open_length_even_in_a_batch_of_none():
    converted = check_converts(
        f"""<ir_version: 4, opset_import: ["": 8]> g (float[B, 2] s, float[B, T, 2] x)
        => (float[B, 2] f, float[B, T, 2] y)
        {{ f, y = Scan <num_scan_inputs = 1, {BODY}> ("", s, x) }}""",
        9,
    )
    batch = {"s": numpy.zeros((0, 2), numpy.float32), "x": numpy.zeros((0, 5, 2), numpy.float32)}
    assert Evaluator(converted).run(batch)["y"].shape == (0, 5, 2)
