"""What the texts of single versions say of recurrence and attention: one test per clause."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest
from onnx import TensorProto

from tests.evaluator.one_node import assert_gives, assert_rejected, floats, ints, node
from tests.evaluator.onnxruntime_judge import OneNode, evaluate

INF = math.inf


def random(*shape: int, dtype: str = "float32") -> Any:
    return numpy.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + numpy.exp(-x))


# RNN, GRU, LSTM: input 2, hidden 3, batch 2, 4 steps

X = random(4, 2, 2)


def weights(gates: int, directions: int = 1) -> list[Any]:
    return [random(directions, gates * 3, width) for width in (2, 3)] + [random(directions, 2 * gates * 3)]


def recurrent(operator: str, opset: int = 14, *more: Any, directions: int = 1, **attributes: Any) -> OneNode:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    outputs = 3 if operator == "LSTM" else 2
    return node(operator, opset, X, *weights(gates, directions), *more, outputs=outputs, **attributes)


@pytest.mark.parametrize("opset", [1, 7, 14])
def test_rnn_is_its_formula_in_every_version(opset: int) -> None:
    w, r, b = (value[0] for value in weights(1))
    h = numpy.zeros((2, 3))
    steps = []
    for x in X:
        h = numpy.tanh(x @ w.T + h @ r.T + b[:3] + b[3:])
        steps.append(h)
    y, last = evaluate(recurrent("RNN", opset))
    numpy.testing.assert_allclose(y[:, 0], steps, rtol=1e-5)
    numpy.testing.assert_allclose(last[0], h, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("Affine", lambda x: x),
        ("ScaledTanh", numpy.tanh),
        ("HardSigmoid", lambda x: numpy.clip(0.2 * x + 0.5, 0, 1)),
        ("LeakyRelu", lambda x: numpy.where(x < 0, 0.01 * x, x)),
        ("ThresholdedRelu", lambda x: numpy.where(x >= 1, x, 0)),
        ("Elu", lambda x: numpy.where(x < 0, numpy.expm1(x), x)),
    ],
)
def test_activations_without_alpha_and_beta_have_their_defaults(name: str, function: Any) -> None:
    x = floats(-3, -0.5, 0.25, 1.5)
    one, zero = numpy.ones((1, 1, 1), numpy.float32), numpy.zeros((1, 1, 1), numpy.float32)
    case = node("RNN", 14, x.reshape(4, 1, 1), one, zero, activations=[name], outputs=2, hidden_size=1)
    y, _ = evaluate(case)
    numpy.testing.assert_allclose(y.reshape(-1), function(x.reshape(-1)), rtol=1e-6)


def test_weights_of_a_recurrence_have_the_shapes_of_the_text() -> None:
    w, r, b = weights(1)
    assert_rejected(node("RNN", 14, X, w, r[:, :, :2], b, outputs=2, hidden_size=3), "W and R must have the shapes")
    assert_rejected(node("RNN", 14, X, w[:, :, :1], r, b, outputs=2, hidden_size=3), "W and R must have the shapes")


@pytest.mark.parametrize("linear_before_reset", [0, 1])
def test_gru_is_its_formula(linear_before_reset: int) -> None:
    w, r, b = (value[0] for value in weights(3))
    wz, wr, wh = w.reshape(3, 3, 2)
    rz, rr, rh = r.reshape(3, 3, 3)
    wbz, wbr, wbh, rbz, rbr, rbh = b.reshape(6, 3)
    h = numpy.zeros((2, 3))
    for x in X:
        z = sigmoid(x @ wz.T + h @ rz.T + wbz + rbz)
        reset = sigmoid(x @ wr.T + h @ rr.T + wbr + rbr)
        hidden = reset * (h @ rh.T + rbh) if linear_before_reset else (reset * h) @ rh.T + rbh
        h = (1 - z) * numpy.tanh(x @ wh.T + hidden + wbh) + z * h
    _, last = evaluate(recurrent("GRU", linear_before_reset=linear_before_reset))
    numpy.testing.assert_allclose(last[0], h, rtol=1e-5)


@pytest.mark.parametrize("input_forget", [0, 1])
def test_lstm_is_its_formula_with_peepholes(input_forget: int) -> None:
    w, r, b = (value[0] for value in weights(4))
    p = random(1, 9)
    pi, po, pf = p[0].reshape(3, 3)
    wi, wo, wf, wc = w.reshape(4, 3, 2)
    ri, ro, rf, rc = r.reshape(4, 3, 3)
    bi, bo, bf, bc = b.reshape(2, 4, 3).sum(axis=0)
    h, c = numpy.zeros((2, 3)), numpy.zeros((2, 3))
    for x in X:
        i = sigmoid(x @ wi.T + h @ ri.T + pi * c + bi)
        f = 1 - i if input_forget else sigmoid(x @ wf.T + h @ rf.T + pf * c + bf)
        c = f * c + i * numpy.tanh(x @ wc.T + h @ rc.T + bc)
        h = sigmoid(x @ wo.T + h @ ro.T + po * c + bo) * numpy.tanh(c)
    _, last_h, last_c = evaluate(recurrent("LSTM", 14, None, None, None, p, input_forget=input_forget))
    numpy.testing.assert_allclose(last_h[0], h, rtol=1e-5)
    numpy.testing.assert_allclose(last_c[0], c, rtol=1e-5)


@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_a_batch_of_lengths_is_each_sequence_by_itself(operator: str) -> None:
    lengths = numpy.array([2, 4], numpy.int32)
    case = recurrent(operator, 14, lengths, directions=2, direction="bidirectional")
    y, *states = evaluate(case)
    for place, length in enumerate(lengths):
        alone = OneNode(
            operator, 14, [X[:length, place : place + 1], *case.inputs[1:4]], case.attributes, case.output_count
        )
        own_y, *own_states = evaluate(alone)
        numpy.testing.assert_allclose(y[:length, :, place], own_y[:, :, 0], rtol=1e-6, atol=1e-6)
        assert not y[length:, :, place].any()
        for state, own in zip(states, own_states, strict=True):
            numpy.testing.assert_allclose(state[:, place], own[:, 0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_layout_1_puts_the_batch_first(operator: str) -> None:
    initial = random(1, 2, 3)
    y, last, *_ = evaluate(recurrent(operator, 14, None, initial))
    case = recurrent(operator, 14, None, initial.transpose(1, 0, 2), layout=1)
    inputs = [X.transpose(1, 0, 2), *case.inputs[1:]]
    batch_y, batch_last, *_ = evaluate(OneNode(operator, 14, inputs, case.attributes, case.output_count))
    numpy.testing.assert_array_equal(batch_y, y.transpose(2, 0, 1, 3))
    numpy.testing.assert_array_equal(batch_last, last.transpose(1, 0, 2))


def test_the_second_direction_reads_backwards() -> None:
    both = recurrent("RNN", 14, directions=2, direction="bidirectional")
    y, _ = evaluate(both)
    backward = [X[::-1], *(value[1:] for value in both.inputs[1:4])]
    reversed_y, _ = evaluate(OneNode("RNN", 14, backward, {}, 2))
    numpy.testing.assert_array_equal(y[:, 1], reversed_y[::-1, 0])


def test_gru_1_takes_the_misspelt_default_of_its_direction_for_forward() -> None:
    (expected, _), (y, _) = evaluate(recurrent("GRU", 7)), evaluate(recurrent("GRU", 1))
    numpy.testing.assert_array_equal(y, expected)


def test_clip_bounds_the_input_of_every_activation() -> None:
    """With all gates open, the transition grows beyond the threshold; what leaves it does not."""
    biases = numpy.full((1, 8), 5, numpy.float32)
    zeros = numpy.zeros((1, 4, 1), numpy.float32)
    case = node("LSTM", 14, numpy.zeros((3, 1, 1), numpy.float32), zeros, zeros, biases, clip=0.5, outputs=3)
    _, h, c = evaluate(case)
    gate, candidate = sigmoid(0.5), math.tanh(0.5)
    transition = candidate * (gate + gate**2 + gate**3)
    assert transition > 0.5
    numpy.testing.assert_allclose(c.item(), transition, rtol=1e-6)
    numpy.testing.assert_allclose(h.item(), gate * math.tanh(0.5), rtol=1e-6)


def test_alphas_are_consumed_in_the_order_of_the_functions_that_have_one() -> None:
    x, w, r = floats([[[-1.0]]]).reshape(1, 1, 1), numpy.ones((2, 1, 1), numpy.float32), numpy.zeros((2, 1, 1), "f")
    attributes: dict[str, Any] = {"direction": "bidirectional", "activations": ["Tanh", "LeakyRelu"]}
    _, last = evaluate(node("RNN", 14, x, w, r, outputs=2, activation_alpha=[0.5], **attributes))
    numpy.testing.assert_allclose(last.reshape(-1), [math.tanh(-1), -0.5], rtol=1e-6)
    _, by_default = evaluate(node("RNN", 14, x, w, r, outputs=2, **attributes))
    numpy.testing.assert_allclose(by_default.reshape(-1), [math.tanh(-1), -0.01], rtol=1e-6)


@pytest.mark.parametrize(
    ("attributes", "clause"),
    [
        ({"activations": ["Sine"]}, "activations must be among"),
        ({"direction": "sideways"}, "direction must be"),
        ({"hidden_size": 4}, "W and R must have the shapes"),
        ({"layout": 2}, "'layout' is 0 or 1, not 2"),
    ],
)
def test_recurrence_rejects_what_its_attributes_cannot_mean(attributes: dict[str, Any], clause: str) -> None:
    assert_rejected(recurrent("RNN", 14, **attributes), clause)


def test_lengths_are_within_the_sequence() -> None:
    assert_rejected(recurrent("RNN", 14, numpy.array([2, 5], numpy.int32)), "must be between 0 and 4")


# Attention: batch 1, head size 1, so that scores are products


def softmax(scores: Any) -> Any:
    exponentials = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def head(*values: float) -> Any:
    return floats(*values).reshape(1, 1, -1, 1)


def attended(queries: Any, keys: Any, values: Any, allowed: Any) -> Any:
    """One head in float64, with a scale of 1."""
    scores = numpy.where(allowed, numpy.outer(queries, keys), -INF)
    with numpy.errstate(invalid="ignore"):
        y = softmax(scores) @ values
    return numpy.where(numpy.any(allowed, axis=1), y, 0).astype(numpy.float32).reshape(1, 1, -1, 1)


Q, K, V = floats(0.5, -1, 2), floats(1, 2, -1), floats(3, 4, 5)
LOWER = numpy.tri(3, dtype=bool)


def test_causal_attention_sees_the_past_and_its_own_place() -> None:
    case = node("Attention", 23, head(*Q), head(*K), head(*V), is_causal=1, scale=1.0)
    assert_gives(case, attended(Q, K, V, LOWER), rtol=1e-6)
    past = node(
        "Attention", 23, head(*Q[1:]), head(*K[1:]), head(*V[1:]), None, head(K[0]), head(V[0]), is_causal=1, scale=1.0,
        outputs=3,
    )  # fmt: skip
    y, key, value = evaluate(past)
    numpy.testing.assert_allclose(y, attended(Q[1:], K, V, LOWER[1:]), rtol=1e-6)
    assert (key.reshape(-1).tolist(), value.reshape(-1).tolist()) == (K.tolist(), V.tolist())


def test_lengths_without_padding_shift_the_causal_frontier_since_24() -> None:
    query = Q[1:]
    case = node(
        "Attention", 24, head(*query), head(*K), head(*V), None, None, None, ints(2), is_causal=1, scale=1.0
    )  # fmt: skip
    allowed = numpy.array([[True, False, False], [True, True, False]])
    assert_gives(case, attended(query, K, V, allowed), rtol=1e-6)


def test_a_fully_masked_query_gives_zeros() -> None:
    mask = numpy.array([[True, False, True], [False] * 3, [True] * 3])
    case = node("Attention", 23, head(*Q), head(*K), head(*V), mask, scale=1.0, qk_matmul_output_mode=3, outputs=4)
    y, _, _, weights_shown = evaluate(case)
    numpy.testing.assert_allclose(y, attended(Q, K, V, mask), rtol=1e-6)
    assert not weights_shown[0, 0, 1].any()
    by_bias = node("Attention", 23, head(*Q), head(*K), head(*V), numpy.full((3, 3), -INF, numpy.float32))
    assert_gives(by_bias, numpy.zeros((1, 1, 3, 1), numpy.float32))


def test_a_mask_may_be_too_short_since_24_and_is_padded_with_nothing_allowed() -> None:
    mask = numpy.ones((3, 2), bool)
    case = node("Attention", 24, head(*Q), head(*K), head(*V), mask, scale=1.0)
    assert_gives(case, attended(Q, K, V, numpy.array([[True, True, False]] * 3)), rtol=1e-6)
    assert_rejected(node("Attention", 23, head(*Q), head(*K), head(*V), mask), "must be broadcastable")


@pytest.mark.parametrize("opset", [23, 24])
def test_a_mask_may_be_one_number_for_all(opset: int) -> None:
    inputs = head(*Q), head(*K), head(*V)
    (expected,) = evaluate(node("Attention", opset, *inputs, scale=1.0))
    assert_gives(node("Attention", opset, *inputs, numpy.array(0.5, numpy.float32), scale=1.0), expected, rtol=1e-6)


def test_since_25_a_window_bounds_what_a_query_sees() -> None:
    case = node("Attention", 25, head(*Q), head(*K), head(*V), left_window_size=1, right_window_size=0, scale=1.0)
    band = LOWER & ~numpy.tri(3, k=-2, dtype=bool)
    assert_gives(case, attended(Q, K, V, band), rtol=1e-6)


def test_query_heads_share_key_heads_in_groups() -> None:
    q, k, v = random(2, 6, 3, 4), random(2, 2, 5, 4), random(2, 2, 5, 3)
    (grouped,) = evaluate(node("Attention", 23, q, k, v))
    repeated = [numpy.repeat(values, 3, axis=1) for values in (k, v)]
    assert_gives(node("Attention", 23, q, *repeated), grouped, rtol=1e-5)
    flat = [values.transpose(0, 2, 1, 3).reshape(2, values.shape[2], -1) for values in (q, k, v)]
    case = node("Attention", 23, *flat, q_num_heads=6, kv_num_heads=2)
    assert_gives(case, grouped.transpose(0, 2, 1, 3).reshape(2, 3, -1), rtol=1e-5)


def test_softcap_comes_before_the_mask() -> None:
    mask = numpy.array([[0, -INF, 1]], numpy.float32)
    case = node("Attention", 23, head(*Q), head(*K), head(*V), mask, scale=1.0, softcap=0.5)
    scores = 0.5 * numpy.tanh(numpy.outer(Q, K) / 0.5) + mask
    assert_gives(case, (softmax(scores) @ V).astype(numpy.float32).reshape(1, 1, 3, 1), rtol=1e-6)


@pytest.mark.parametrize(("mode", "expected"), [(0, 8.0), (1, 2 * math.tanh(4.0)), (2, 2 * math.tanh(4.0) + 3)])
def test_the_fourth_output_shows_the_stage_asked_for(mode: int, expected: float) -> None:
    case = node(
        "Attention", 23, head(2), head(4), head(1), floats([3]), scale=1.0, softcap=2.0, qk_matmul_output_mode=mode,
        outputs=4,
    )  # fmt: skip
    numpy.testing.assert_allclose(evaluate(case)[3].item(), expected, rtol=1e-6)


def test_softmax_precision_rounds_the_weights() -> None:
    (single,) = evaluate(node("Attention", 23, head(*Q), head(*K), head(*V)))
    half = node("Attention", 23, head(*Q), head(*K), head(*V), softmax_precision=TensorProto.FLOAT16)
    assert (evaluate(half)[0] != single).any()
    numpy.testing.assert_allclose(evaluate(half)[0], single, rtol=1e-2)


@pytest.mark.parametrize(
    ("inputs", "attributes", "clause"),
    [
        ((head(1), head(1), head(1), None, head(1)), {}, "past_key and past_value shall be used together"),
        ((random(1, 3, 2, 1), random(1, 2, 2, 1), random(1, 2, 2, 1)), {}, "must be a multiple of the key heads"),
        ((random(1, 2, 4),) * 3, {}, "need q_num_heads and kv_num_heads"),
        ((head(1), head(1), head(1), numpy.ones((1, 1), "int32")), {}, "a mask must be boolean or of Q's type"),
        ((head(1), head(1), head(1)), {"qk_matmul_output_mode": 4}, "qk_matmul_output_mode must be"),
    ],
)
def test_attention_rejects_what_does_not_fit_together(inputs: Any, attributes: Any, clause: str) -> None:
    assert_rejected(node("Attention", 23, *inputs, **attributes), clause)


# RotaryEmbedding and LinearAttention


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotation_keeps_lengths_and_leaves_the_rest_alone(interleaved: int) -> None:
    x, angles = random(1, 2, 3, 6), random(5, 2)
    positions = ints([4, 0, 2])
    case = node(
        "RotaryEmbedding", 23, x, numpy.cos(angles), numpy.sin(angles), positions, rotary_embedding_dim=4,
        interleaved=interleaved,
    )  # fmt: skip
    (y,) = evaluate(case)
    first, second = ((0, 2), (1, 3)) if interleaved else ((0, 1), (2, 3))
    numbers = x[..., first] + 1j * x[..., second]
    turned = numbers * numpy.exp(1j * angles[positions[0]])
    numpy.testing.assert_allclose(y[..., first] + 1j * y[..., second], turned, rtol=1e-5)
    assert (y[..., 4:] == x[..., 4:]).all()


def test_positions_are_within_the_caches() -> None:
    caches = random(2, 1), random(2, 1)
    assert_rejected(node("RotaryEmbedding", 23, random(1, 1, 1, 2), *caches, ints([2])), "must be in [0, 2)")
    assert_rejected(node("RotaryEmbedding", 23, random(1, 1, 2), *caches, ints([0])), "attribute num_heads")


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention_follows_its_recurrence_and_carries_its_state(rule: str) -> None:
    q, k, v = random(1, 3, 4), random(1, 3, 2), random(1, 3, 3)
    decay = -numpy.abs(random(1, 3, 2)) if "gated" in rule else None
    beta = sigmoid(random(1, 3, 1)).astype(numpy.float32) if "delta" in rule else None
    attributes = {"q_num_heads": 2, "kv_num_heads": 1, "update_rule": rule, "scale": 0.5}
    state, steps = numpy.zeros((2, 3)), []
    for token in range(3):
        if decay is not None:
            state = numpy.exp(decay[0, token])[:, None] * state
        key, value = k[0, token], v[0, token].astype(float)
        if beta is not None:
            value = beta[0, token] * (value - state.T @ key)
        state = state + numpy.outer(key, value)
        steps.append(numpy.concatenate([0.5 * query @ state for query in q[0, token].reshape(2, 2)]))
    y, present = evaluate(node("LinearAttention", 27, q, k, v, None, decay, beta, outputs=2, **attributes))
    numpy.testing.assert_allclose(y[0], steps, rtol=1e-5)
    numpy.testing.assert_allclose(present[0, 0], state, rtol=1e-5)
    cut = [None if value is None else value[:, 2:] for value in (q, k, v, decay, beta)]
    before = [None if value is None else value[:, :2] for value in (q, k, v, decay, beta)]
    _, past = evaluate(node("LinearAttention", 27, *before[:3], None, *before[3:], outputs=2, **attributes))
    rest, _ = evaluate(node("LinearAttention", 27, *cut[:3], past, *cut[3:], outputs=2, **attributes))
    numpy.testing.assert_allclose(rest[0, 0], steps[2], rtol=1e-5)


def test_heads_share_keys_and_values_evenly() -> None:
    inputs = random(1, 3, 6), random(1, 3, 4), random(1, 3, 4)
    case = node("LinearAttention", 27, *inputs, outputs=2, q_num_heads=3, kv_num_heads=2, update_rule="linear")
    assert_rejected(case, "q_num_heads 3 must be a positive multiple of kv_num_heads 2")


def test_gated_rules_need_their_gates() -> None:
    inputs = random(1, 3, 2), random(1, 3, 2), random(1, 3, 2)
    assert_rejected(node("LinearAttention", 27, *inputs, outputs=2, q_num_heads=1, kv_num_heads=1), "requires decay")
