"""Ranks that only an output tells, and sizes that nothing but inference tells, as no iteration ran."""

from __future__ import annotations

import re

import pytest

from opsetlift import ConversionRefused, convert
from opsetlift.proof import Outcome
from testing.pairs import every_pair
from tests.prove.conversions import conversion, model

TOLD_BY_THE_OUTPUT = {
    "Concat": ("z = Concat <axis = -1> (p, p)", "float[A, B] z"),
    "Split": ("z, v = Split <axis = -1> (p)", "float[A, B] z, float[A, B] v"),
    "Softmax": ("z = Softmax <axis = -1> (p)", "float[A, B] z"),
    "LogSoftmax": ("z = LogSoftmax <axis = -1> (p)", "float[A, B, C] z"),
    "Hardmax": ("z = Hardmax <axis = -2> (p)", "float[A, B] z"),
    "ArgMax": ("z = ArgMax <axis = -1, keepdims = 1> (p)", "int64[A, B] z"),
    "ArgMax without the axis": ("z = ArgMax <axis = -1, keepdims = 0> (p)", "int64[A] z"),
    "ReduceMin": ("z = ReduceMin <axes = [-1], keepdims = 1> (p)", "float[A, B] z"),
    "ReduceMin without the axis": ("z = ReduceMin <axes = [-1], keepdims = 0> (p)", "float[A] z"),
    "Unsqueeze": ("i = Constant <value = int64[1] {-1}> () z = Unsqueeze (p, i)", "float[A, B, C] z"),
    "Squeeze": ("i = Constant <value = int64[1] {-1}> () z = Squeeze (p, i)", "float[A] z"),
    "Gather": ("i = Constant <value = int64[1] {-1}> () z = Gather <axis = -1> (p, i)", "float[A, B] z"),
    "CumSum": ("i = Constant <value = int64 {-1}> () z = CumSum (p, i)", "float[A, B] z"),
    "Compress": ("c = Constant <value = bool[1] {1}> () z = Compress <axis = -1> (p, c)", "float[A, B] z"),
}


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("sizes", ["ABC", "0BC", "082"])
@pytest.mark.parametrize("name", TOLD_BY_THE_OUTPUT)
def test_a_negative_axis_is_counted_where_only_an_output_tells_the_rank(name: str, sizes: str) -> None:
    nodes, outputs = TOLD_BY_THE_OUTPUT[name]
    for letter, size in zip("ABC", sizes, strict=True):
        outputs = re.sub(rf"\b{letter}\b", size, outputs)
    source = model(f"g (float[N] a, int64[K] s) => ({outputs}) {{ p = Reshape (a, s) {nodes} }}", 13)
    certificate = convert(source, to=10).certificate
    assert certificate is not None
    assert certificate.is_proven, certificate.summary()


def test_an_output_that_tells_no_rank_is_no_reason_to_guess() -> None:
    source = model(
        "g (float[N] a, int64[K] s) => (float[A, B] z) { p = Reshape (a, s) z = Flatten <axis = -1> (p) }", 13
    )
    with pytest.raises(ConversionRefused, match="the rank of 'p' cannot be inferred"):
        convert(source, to=10)


def test_an_axis_that_is_wrong_for_the_declared_rank_is_found() -> None:
    text = "g (float[N] a, int64[K] s) => (float[A, B] z) {{ p = Reshape (a, s) z = Concat <axis = {}> (p, p) }}"
    claims = [(0, 0, 1), (1, 1, 2)]
    right = conversion(text.format(-1), text.format(1), (12, 10), claims=claims).prove()
    wrong = conversion(text.format(-1), text.format(0), (12, 10), claims=claims).prove()
    assert right.is_proven, right.summary()
    assert [site.outcome for site in wrong.sites if site.operator == "Concat"] == [Outcome.DIFFERENT]


STREAMS = ["float[0, 4]", "float[M, 4]", "float[M, L]", "float[0, L]"]
FORMS = [
    "",
    "scan_output_axes = [-1],",
    "scan_input_axes = [1],",
    "scan_input_directions = [1], scan_output_directions = [1],",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("opset", "form", "stream"),
    every_pair([16, 9, 8, 7], FORMS, STREAMS),
)
def test_a_scan_over_nothing_keeps_the_shapes_that_are_inferred(stream: str, form: str, opset: int) -> None:
    source = model(
        f"""g (float[4] z, {stream} x) => (float[4] y, float[] w) {{
          y, w = Scan <
            num_scan_inputs = 1, {form}
            body = b (float[] s, float[] e) => (float[] s2, float[] o) {{ s2 = Add (s, s) o = Neg (e) }}
          > (z, x)
        }}""",
        12,
    )
    certificate = convert(source, to=opset).certificate
    assert certificate is not None
    assert certificate.is_proven, certificate.summary()


@pytest.mark.parametrize("opset", [16, 11, 9, 7])
def test_a_loop_that_may_never_run_keeps_the_shapes_that_are_inferred(opset: int) -> None:
    source = model(
        """g (float[L] x, int64 n) => (float[K, L] w) {
          c = Constant <value = bool {1}> ()
          w = Loop (n, c) <
            body = b (int64 i, bool k) => (bool k2, float[] o) { k2 = Identity (k) o = Neg (x) }
          >
        }""",
        13,
    )
    certificate = convert(source, to=opset).certificate
    assert certificate is not None
    assert certificate.is_proven, certificate.summary()


def test_other_sizes_that_a_rule_declares_for_a_loop_that_never_runs_are_found() -> None:
    text = """g (float[4] x, int64 n, bool c) => (float[K, 4] w) {
      w = Loop (n, c) < body = b (int64 i, bool k) => (bool k2, %s o) { k2 = Identity (k) o = Neg (x) } >
    }"""
    right = conversion(text % "float[]", text % "float[4]", (13, 16), claims=[(0, 0, 1)]).prove()
    wrong = conversion(text % "float[]", text % "float[5]", (13, 16), claims=[(0, 0, 1)]).prove()
    assert right.is_proven, right.summary()
    assert wrong.is_refuted


def test_inputs_that_contradict_the_declared_result_are_no_evidence_against_a_rule() -> None:
    source = model(
        """g (float[] x) => (float[3, A, B] y)
            <int64[1] one = {1}, int64[1] two = {2}, int64[1] axis = {-2}, int64[1] back = {-1}> {
            y = Slice (x, one, two, axis, back)
        }""",
        13,
    )
    certificate = convert(source, to=7).certificate
    assert certificate is not None
    assert [site.outcome for site in certificate.sites] == [Outcome.UNPROVEN]
    assert "no input was found" in certificate.sites[0].reason


@pytest.mark.slow
def test_sizes_of_several_inputs_together_give_the_declared_result() -> None:
    source = model(
        """g (float[D, 2, D] x, float[] z, bool[1] c) => (float[2, 1] a, float[1, 3, 3] b)
            <float[2, 1] zeros = {0, 0}> {
            a, b = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1], body =
                body (float[] state, float[] part) => (float[2, M] next, float[3, 3] out) {
                next = Where (c, part, state)
                out = Identity (z)
            }> (zeros, x)
        }""",
        16,
    )
    certificate = convert(source, to=8).certificate
    assert certificate is not None
    assert certificate.is_proven, certificate.summary()


def test_a_rank_that_the_output_of_another_node_tells_is_one() -> None:
    source = model(
        """g (float[N] a, int64[K] s) => (float[A, B] y, float[] z) {
            p = Reshape (a, s)
            y = Softmax <axis = -1> (p)
            z = Concat <axis = -1> (p, p)
        }""",
        13,
    )
    certificate = convert(source, to=10).certificate
    assert certificate is not None
    assert certificate.is_proven, certificate.summary()
