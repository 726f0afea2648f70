"""Legal nodes of normalisation, recurrence and attention, drawn at random; the version decides what they have."""

from __future__ import annotations

from typing import Any

import numpy
from hypothesis import strategies as st

from tests.evaluator.onnxruntime_judge import OneNode
from tests.evaluator.tensor_strategies import Draw, axis, ints, numbers
from tests.evaluator.window_strategies import maybe

EPSILON = st.sampled_from([1e-5, 1e-3, 0.5])


def positive(draw: Draw, shape: list[int], dtype: str = "float32") -> Any:
    return (numpy.abs(numbers(draw, shape, dtype)) + 0.25).astype(dtype)


def batch(draw: Draw, dtype: str = "float32", least_rank: int = 2) -> Any:
    """A tensor (N x C x D1 ... x Dn)."""
    return numbers(draw, draw(st.lists(st.integers(1, 4), min_size=least_rank, max_size=5)), dtype)


@st.composite
def batch_normalization(draw: Draw, opset: int) -> OneNode:
    """Inference with the parameters of a channel, or below 9 of an activation."""
    dtype = draw(st.sampled_from(["float32", "float64"]))
    x = batch(draw, dtype)
    attributes: dict[str, Any] = {}
    maybe(draw, attributes, epsilon=draw(EPSILON))
    shape = list(x.shape[1:2])
    if opset < 9 and draw(st.booleans()):
        attributes["spatial"] = 0
        shape = list(x.shape[1:])
    scale, bias, mean = (numbers(draw, shape, dtype) for _ in range(3))
    return OneNode("BatchNormalization", opset, [x, scale, bias, mean, positive(draw, shape, dtype)], attributes)


@st.composite
def batch_normalization_in_training(draw: Draw, opset: int) -> OneNode:
    x = batch(draw)
    attributes: dict[str, Any] = {"training_mode": 1}
    maybe(draw, attributes, epsilon=draw(EPSILON), momentum=draw(st.sampled_from([0.0, 0.25, 0.75])))
    shape = list(x.shape[1:2])
    scale, bias, mean = (numbers(draw, shape) for _ in range(3))
    return OneNode("BatchNormalization", opset, [x, scale, bias, mean, positive(draw, shape)], attributes, 3)


@st.composite
def instance_normalization(draw: Draw, opset: int) -> OneNode:
    x = batch(draw, least_rank=3)
    attributes: dict[str, Any] = {}
    maybe(draw, attributes, epsilon=draw(EPSILON))
    inputs = [x, *(numbers(draw, list(x.shape[1:2])) for _ in range(2))]
    return OneNode("InstanceNormalization", opset, inputs, attributes)


@st.composite
def group_normalization(draw: Draw, opset: int) -> OneNode:
    groups, size = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    x = numbers(
        draw, [draw(st.integers(1, 2)), groups * size, *draw(st.lists(st.integers(2, 4), min_size=1, max_size=2))]
    )
    count = groups if opset < 21 else groups * size
    inputs = [x, *(numbers(draw, [count]) for _ in range(2))]
    return OneNode("GroupNormalization", opset, inputs, {"num_groups": groups, "epsilon": draw(EPSILON)})


@st.composite
def layer_normalization(draw: Draw, opset: int) -> OneNode:
    x = batch(draw, least_rank=1)
    attributes: dict[str, Any] = {"epsilon": draw(EPSILON)}
    first = -1
    if draw(st.booleans()):
        attributes["axis"] = first = axis(draw, x.ndim, True)
    shape = list(x.shape[first:])
    inputs = [x, *(numbers(draw, shape) for _ in range(draw(st.integers(1, 2))))]
    return OneNode("LayerNormalization", opset, inputs, attributes, draw(st.integers(1, 3)))


@st.composite
def rms_normalization(draw: Draw, opset: int) -> OneNode:
    x = batch(draw, least_rank=1)
    first = axis(draw, x.ndim, True)
    inputs = [x, numbers(draw, list(x.shape[first:]))]
    return OneNode("RMSNormalization", opset, inputs, {"axis": first, "epsilon": draw(EPSILON)})


@st.composite
def lrn(draw: Draw, opset: int) -> OneNode:
    x = numbers(draw, [2, draw(st.integers(1, 6)), 2, 3])
    attributes: dict[str, Any] = {"size": draw(st.sampled_from([1, 3, 5]))}
    maybe(draw, attributes, alpha=0.5, beta=draw(st.sampled_from([0.5, 0.75, 1.0])), bias=2.0)
    return OneNode("LRN", opset, [x], attributes)


@st.composite
def mean_variance_normalization(draw: Draw, opset: int) -> OneNode:
    x = numbers(draw, [draw(st.integers(1, 3)) for _ in range(3)] + [4])
    attributes: dict[str, Any] = {}
    if draw(st.booleans()):
        attributes["axes"] = sorted(draw(st.sets(st.integers(0, 3), min_size=1)))
    return OneNode("MeanVarianceNormalization", opset, [x], attributes)


@st.composite
def dropout(draw: Draw, opset: int) -> OneNode:
    """For inference only: the random stream of training is unspecified."""
    x = batch(draw)
    if opset < 12:
        return OneNode("Dropout", opset, [x], {"ratio": 0.25})
    inputs = [x, *([numpy.array(0.25, numpy.float32)] if draw(st.booleans()) else [])]
    return OneNode("Dropout", opset, inputs, {}, draw(st.integers(1, 2)))


ACTIVATIONS = (
    "Relu",
    "Tanh",
    "Sigmoid",
    "Affine",
    "LeakyRelu",
    "ThresholdedRelu",
    "HardSigmoid",
    "Elu",
    "Softsign",
    "Softplus",
)
WITH_ALPHA = {"Affine", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu"}
WITH_BETA = {"Affine", "HardSigmoid"}


def recurrent(operator: str, gates: int, functions: int) -> Any:
    @st.composite
    def strategy(draw: Draw, opset: int) -> OneNode:
        direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
        directions = 2 if direction == "bidirectional" else 1
        steps, size, features, hidden = (draw(st.integers(1, 3)) for _ in range(4))
        attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
        if draw(st.booleans()):
            names = draw(st.lists(st.sampled_from(ACTIVATIONS), min_size=functions, max_size=functions)) * directions
            attributes["activations"] = names
            attributes["activation_alpha"] = [0.5] * sum(name in WITH_ALPHA for name in names)
            attributes["activation_beta"] = [0.25] * sum(name in WITH_BETA for name in names)
            attributes = {name: value for name, value in attributes.items() if value != []}
        maybe(draw, attributes, clip=draw(st.sampled_from([0.5, 2.0])))
        if operator == "GRU":
            maybe(draw, attributes, linear_before_reset=1)
        if operator == "LSTM":
            maybe(draw, attributes, input_forget=1)

        def weights(*shape: int) -> Any:
            return numbers(draw, [directions, *shape]) / numpy.float32(8)

        inputs = [
            numbers(draw, [steps, size, features]),
            weights(gates * hidden, features),
            weights(gates * hidden, hidden),
            weights(2 * gates * hidden) if draw(st.booleans()) else None,
            numpy.array([draw(st.integers(1, steps)) for _ in range(size)], numpy.int32)
            if draw(st.booleans())
            else None,
            weights(size, hidden) if draw(st.booleans()) else None,
        ]
        if operator == "LSTM":
            inputs.append(weights(size, hidden) if draw(st.booleans()) else None)
            inputs.append(weights(3 * hidden) if draw(st.booleans()) else None)
        while inputs[-1] is None:
            inputs.pop()
        return OneNode(operator, opset, inputs, attributes, 3 if operator == "LSTM" else 2)

    return strategy


@st.composite
def attention(draw: Draw, opset: int) -> OneNode:
    """Without nonpad_kv_seqlen and windows, which onnxruntime's versions lack."""
    kv_heads, group, head, value_head = (draw(st.integers(1, 3)) for _ in range(4))
    size, queries, keys, past = (draw(st.integers(1, 3)) for _ in range(3)), None, None, 0
    size, queries, keys = (draw(st.integers(1, 3)) for _ in range(3))
    heads = kv_heads * group
    attributes: dict[str, Any] = {}
    maybe(draw, attributes, is_causal=1, scale=draw(st.sampled_from([0.25, 0.5])), softcap=2.0)
    has_past = draw(st.booleans())
    past = draw(st.integers(1, 2)) if has_past else 0

    def tensor(count: int, length: int, width: int) -> Any:
        return numbers(draw, [size, count, length, width])

    q, k, v = tensor(heads, queries, head), tensor(kv_heads, keys, head), tensor(kv_heads, keys, value_head)
    mask = None
    if draw(st.booleans()):
        shape = draw(
            st.sampled_from([[queries, keys + past], [1, 1, queries, keys + past], [size, heads, queries, keys + past]])
        )
        mask = numbers(draw, shape)
        mask = mask > -2 if draw(st.booleans()) else mask
    if not has_past and draw(st.booleans()):
        attributes |= {"q_num_heads": heads, "kv_num_heads": kv_heads}
        q, k, v = (value.transpose(0, 2, 1, 3).reshape(size, value.shape[2], -1) for value in (q, k, v))
    inputs: list[Any] = [q, k, v, mask]
    if has_past:
        inputs += [tensor(kv_heads, past, head), tensor(kv_heads, past, value_head)]
    while inputs[-1] is None:
        inputs.pop()
    return OneNode("Attention", opset, inputs, attributes, 3 if has_past else 1)


@st.composite
def rotary_embedding(draw: Draw, opset: int) -> OneNode:
    size, tokens, heads, half = (draw(st.integers(1, 3)) for _ in range(4))
    attributes: dict[str, Any] = {}
    maybe(draw, attributes, interleaved=1)
    x = numbers(draw, [size, heads, tokens, 2 * half])
    if draw(st.booleans()):
        attributes["num_heads"] = heads
        x = x.transpose(0, 2, 1, 3).reshape(size, tokens, -1)
    caches = [numbers(draw, [4, half]) for _ in range(2)]
    positions = numpy.array([[draw(st.integers(0, 3)) for _ in range(tokens)] for _ in range(size)])
    if draw(st.booleans()):
        return OneNode("RotaryEmbedding", opset, [x, *caches, ints(positions)], attributes)
    return OneNode("RotaryEmbedding", opset, [x, *(cache[positions] for cache in caches)], attributes)
