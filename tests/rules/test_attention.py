"""Attention across its versions."""

import numpy
import onnxruntime
import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

PLAIN = "float[1, 2, 3, 4] q, float[1, 2, 5, 4] k, float[1, 2, 5, 4] v"


def test_without_a_mask_nothing_changes_between_23_and_25():
    for older, newer in ((23, 24), (24, 25)):
        before, after = (
            f'<ir_version: 12, opset_import: ["": {opset}]> g ({PLAIN}) => (float[1, 2, 3, 4] y) '
            "{ y = Attention <is_causal = 1> (q, k, v) }"
            for opset in (older, newer)
        )
        check_rewrite(before, after)
        check_rewrite(after, before)


def test_numbers_of_heads_that_nothing_reads_disappear_at_25():
    before, after = (
        f'<ir_version: 12, opset_import: ["": {opset}]> g ({PLAIN}) => (float[1, 2, 3, 4] y) '
        f"{{ y = Attention {heads} (q, k, v) }}"
        for opset, heads in ((24, "<q_num_heads = 2, kv_num_heads = 2>"), (25, ""))
    )
    check_rewrite(before, after)


def test_unbounded_windows_disappear_below_25():
    check_rewrite(
        f'<ir_version: 12, opset_import: ["": 25]> g ({PLAIN}) => (float[1, 2, 3, 4] y) '
        "{ y = Attention <left_window_size = -1, right_window_size = -1> (q, k, v) }",
        f'<ir_version: 12, opset_import: ["": 24]> g ({PLAIN}) => (float[1, 2, 3, 4] y) {{ y = Attention (q, k, v) }}',
    )


def test_a_mask_over_all_keys_stays_below_24():
    before, after = (
        f'<ir_version: 12, opset_import: ["": {opset}]> g ({PLAIN}, float[3, 5] m) => (float[1, 2, 3, 4] y) '
        "{ y = Attention (q, k, v, m) }"
        for opset in (24, 23)
    )
    check_rewrite(before, after)


@pytest.mark.parametrize("past", ["", ", float[1, 2, P, 4] pk, float[1, 2, P, 4] pv"])
@pytest.mark.parametrize("dtype", ["bool", "float"])
def test_a_mask_for_all_keys_is_broadcast_before_it_would_be_filled_up_at_24(dtype, past):
    names = ", pk, pv" if past else ""
    converted = check_converts(
        f'<ir_version: 12, opset_import: ["": 23]> g ({PLAIN}, {dtype}[3, 1] m{past}) => (float[1, 2, 3, 4] y) '
        f"{{ y = Attention (q, k, v, m{names}) }}",
        24,
        exact=True,
    )
    assert "Expand" in [node.op_type for node in converted.graph.node]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_attended_in_float(dtype):
    text = f'<ir_version: 12, opset_import: ["": 24]> g ({PLAIN}, float[3, 4] m) => (float[1, 2, 3, 4] y) ' + (
        "{ y = Attention <softcap = 2.0> (q, k, v, m) }"
    )
    check_converts(text.replace("float[", f"{dtype}["), 23)


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("to", [22, 17, 13, 9, 7])
def test_windows_masks_and_padding_are_written_out(to):
    result = check_converts(
        f'<ir_version: 12, opset_import: ["": 25]> g ({PLAIN}, bool[3, 4] m, int64[1] n) => (float[1, 2, 3, 4] y) '
        '{ y = Attention <is_causal = 1, left_window_size = 2> (q, k, v, m, "", "", n) }',
        to,
    )
    assert all(node.op_type != "Attention" for node in result.graph.node)


@pytest.mark.parametrize(("sizes", "is_counted"), [("1, 2, 3, 4", False), ("B, H, S, D", True)])
def test_sizes_are_counted_at_run_time_only_where_they_are_not_known(sizes, is_counted):
    result = check_converts(
        f'<ir_version: 12, opset_import: ["": 23]> g (float[{sizes}] q, float[{sizes}] k, float[{sizes}] v) '
        f"=> (float[{sizes}] y) {{ y = Attention <is_causal = 1> (q, k, v) }}",
        22,
    )
    assert any(node.op_type == "Shape" for node in result.graph.node) == is_counted


DYNAMIC = {
    "plain": ("float[B, H, S, D] q, float[B, H, T, D] k, float[B, H, T, E] v", "B, H, S, E", "(q, k, v)"),
    "grouped": ("float[B, 4, S, 8] q, float[B, 2, T, 8] k, float[B, 2, T, 8] v", "B, 4, S, 8", "(q, k, v)"),
    "packed": (
        "float[B, S, 32] q, float[B, T, 16] k, float[B, T, 16] v",
        "B, S, 32",
        "<q_num_heads = 4, kv_num_heads = 2> (q, k, v)",
    ),
    "masked": (
        "float[B, 4, S, 8] q, float[B, 4, T, 8] k, float[B, 4, T, 8] v, float[B, 1, S, T] m",
        "B, 4, S, 8",
        "<softcap = 2.0> (q, k, v, m)",
    ),
    "cached": (
        "float[B, 2, S, 4] q, float[B, 2, T, 4] k, float[B, 2, T, 4] v, float[B, 2, P, 4] x, float[B, 2, P, 4] z",
        "B, 2, S, 4",
        '(q, k, v, "", x, z)',
    ),
}


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("case", DYNAMIC)
@pytest.mark.parametrize("is_causal", [0, 1])
@pytest.mark.parametrize("to", [22, 9])
def test_no_size_of_the_run_is_presumed_not_even_that_it_is_not_0(case, is_causal, to):
    inputs, shape, call = DYNAMIC[case]
    attributes, _, names = call.rpartition("(")
    attributes = f"<{attributes.strip(' <>') + ', ' if attributes.strip() else ''}is_causal = {is_causal}>"
    check_converts(
        f'<ir_version: 12, opset_import: ["": 23]> g ({inputs}) => (float[{shape}] y) '
        f"{{ y = Attention {attributes} ({names} }}",
        to,
    )


@pytest.mark.parametrize("opset", [23, 24])
def test_no_number_of_shared_heads_becomes_a_divisor_that_may_be_0(opset):
    converted = check_converts(
        f'<ir_version: 12, opset_import: ["": {opset}]> g (float[1, H, S, 2] q, float[1, K, T, 2] k, '
        "float[1, K, T, 2] v) => (float[1, H, S, 2] y) { y = Attention (q, k, v) }",
        20,
    )
    empty = numpy.zeros((1, 0, 3, 2), numpy.float32)
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    for keys in (empty, numpy.ones((1, 2, 3, 2), numpy.float32)):
        assert session.run(None, {"q": empty, "k": keys, "v": keys})[0].shape == (1, 0, 3, 2)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("precision", [1, 10, 11])
def test_the_products_are_shown_as_far_as_they_are_asked_for(mode, precision):
    check_converts(
        f'<ir_version: 12, opset_import: ["": 23]> g ({PLAIN}, bool[3, 5] m) '
        "=> (float[1, 2, 3, 4] y, float[1, 2, 3, 5] shown) { y, , , shown = Attention "
        f"<qk_matmul_output_mode = {mode}, softmax_precision = {precision}, softcap = 3.0> (q, k, v, m) }}",
        22,
    )


def test_an_unknown_rank_is_refused():
    check_refusal(
        '<ir_version: 12, opset_import: ["": 23]> g (float[] q, float[] k, float[] v) => (float[] y) '
        "{ y = Attention (q, k, v) }",
        22,
        Why.RANK_UNKNOWN,
        "packed",
    )


@pytest.mark.parametrize(
    ("mask", "to", "sentence"),
    [
        ("int64[2, 4]", 23, "the mask is int64; it has to be bool, or of the dtype of the query"),
        ("float", 22, "the mask is a single number"),
    ],
)
def test_masks_of_another_kind_are_refused(mask: str, to: int, sentence: str):
    check_refusal(
        f'<ir_version: 12, opset_import: ["": 24]> g (float[1, 2, 2, 4] q, float[1, 2, 5, 4] k, float[1, 2, 5, 4] v, '
        f"{mask} m) => (float[1, 2, 2, 4] y) {{ y = Attention (q, k, v, m) }}",
        to,
        Why.INVALID_MODEL,
        sentence,
    )


@pytest.mark.parametrize("outputs", ["y, present", "y, , present"])
def test_one_present_output_asks_for_the_other_from_25_on(outputs: str):
    after = check_converts(
        '<ir_version: 12, opset_import: ["": 23]> g (float[1, 2, 2, 4] q, float[1, 2, 5, 4] k, float[1, 2, 5, 4] v) '
        f"=> (float[1, 2, 2, 4] y, float[1, 2, 5, 4] present) {{ {outputs} = Attention (q, k, v) }}",
        25,
    )
    (node,) = after.graph.node
    assert len(node.output) == 3
    assert all(node.output)


def test_heads_of_a_width_that_is_not_known_are_parted_at_run_time():
    check_converts(
        '<ir_version: 12, opset_import: ["": 23]> g (float[1, 2, W] q, float[1, 3, W] k, float[1, 3, W] v) '
        "=> (float[1, 2, W] y) { y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v) }",
        17,
    )
