"""Networks' operators, signals, losses and text, by the evaluator and by onnxruntime, on legal nodes drawn at random.

Each operator is tried at every since-version that onnxruntime has. Where the two differ, one of them is wrong, or the
text leaves the result open: DISAGREEMENTS says which, with an example that is checked to be real.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy
import pytest
from hypothesis.strategies import SearchStrategy

from tests.evaluator import network_strategies as networks
from tests.evaluator import signal_and_text_strategies as others
from tests.evaluator import window_strategies as windows
from tests.evaluator.disagreements import Disagreement, compared_examples, is_real, judged_opsets
from tests.evaluator.onnxruntime_judge import OneNode

STRATEGIES: Mapping[str, Callable[[int], SearchStrategy[OneNode]]] = {
    "Attention": networks.attention,
    "AveragePool": windows.average_pool,
    "BatchNormalization": networks.batch_normalization,
    "BlackmanWindow": others.window("BlackmanWindow"),
    "Conv": windows.conv,
    "ConvInteger": windows.conv_integer,
    "ConvTranspose": windows.conv_transpose,
    "DFT": others.dft,
    "Dropout": networks.dropout,
    "GRU": networks.recurrent("GRU", 3, 2),
    "GlobalAveragePool": windows.global_pool("GlobalAveragePool"),
    "GlobalLpPool": windows.global_pool("GlobalLpPool"),
    "GlobalMaxPool": windows.global_pool("GlobalMaxPool"),
    "GroupNormalization": networks.group_normalization,
    "HammingWindow": others.window("HammingWindow"),
    "HannWindow": others.window("HannWindow"),
    "InstanceNormalization": networks.instance_normalization,
    "LRN": networks.lrn,
    "LSTM": networks.recurrent("LSTM", 4, 3),
    "LayerNormalization": networks.layer_normalization,
    "LpPool": windows.lp_pool,
    "MaxPool": windows.max_pool,
    "MaxRoiPool": windows.max_roi_pool,
    "MaxUnpool": windows.max_unpool,
    "MeanVarianceNormalization": networks.mean_variance_normalization,
    "MelWeightMatrix": others.mel_weight_matrix,
    "NegativeLogLikelihoodLoss": others.loss("NegativeLogLikelihoodLoss"),
    "QLinearConv": windows.qlinear_conv,
    "RMSNormalization": networks.rms_normalization,
    "RNN": networks.recurrent("RNN", 1, 1),
    "RegexFullMatch": others.regex_full_match,
    "RotaryEmbedding": networks.rotary_embedding,
    "STFT": others.stft,
    "SoftmaxCrossEntropyLoss": others.loss("SoftmaxCrossEntropyLoss"),
    "StringConcat": others.string_concat,
    "StringNormalizer": others.string_normalizer,
    "StringSplit": others.string_split,
    "TfIdfVectorizer": others.tf_idf_vectorizer,
}

TOLERANCE = 1e-4
"""Absolute and relative: the order of additions is open. Integers and text must be equal."""


POOLS = ("MaxPool", "AveragePool", "LpPool")


def _floats(*values: Any) -> Any:
    return numpy.array(values, numpy.float32)


def _ramp(*shape: int) -> Any:
    return numpy.arange(1, numpy.prod(shape) + 1, dtype=numpy.float32).reshape(shape)


def _bytes(*shape: int) -> Any:
    return _ramp(*shape).astype(numpy.uint8)


UNIT, BYTE = numpy.array(1, numpy.float32), numpy.array(0, numpy.uint8)


def _recurrent(operator: str, gates: int, outputs: int, activations: list[str], initial_c: float = 0) -> OneNode:
    """One step of a transition whose biases drive every gate beyond the clip."""
    weights = [numpy.zeros((1, gates, 1), numpy.float32), numpy.zeros((1, gates, 1), numpy.float32)]
    biases = numpy.full((1, 2 * gates), 2, numpy.float32)
    attributes = {"hidden_size": 1, "clip": 0.5, "activations": activations}
    if "ThresholdedRelu" in activations:
        attributes["activation_alpha"] = [0.5] * len(activations)
    inputs: list[Any] = [numpy.zeros((1, 1, 1), numpy.float32), *weights, biases]
    if initial_c:
        inputs += [None, None, numpy.full((1, 1, 1), initial_c, numpy.float32)]
    return OneNode(operator, 14, inputs, attributes, outputs)


def _same_padding(case: OneNode) -> bool:
    return str(case.attributes.get("auto_pad", "")).startswith("SAME")


def _dilated_with_same_padding(case: OneNode) -> bool:
    return _same_padding(case) and max(case.attributes.get("dilations", [1])) > 1


def _spatial(case: OneNode) -> list[tuple[int, int, int, int, int]]:
    """Per axis: input size, stride, span of the kernel, padding at the beginning and at the end."""
    size = case.inputs[0].shape[2:]
    rank = len(size)
    kernel = case.attributes.get("kernel_shape") or case.inputs[1].shape[2:]
    strides = case.attributes.get("strides", [1] * rank)
    pads = case.attributes.get("pads", [0] * 2 * rank)
    return list(
        zip(size, strides, windows.spans(list(kernel), dict(case.attributes)), pads[:rank], pads[rank:], strict=True)
    )


def _steps_over_the_end(case: OneNode) -> bool:
    """SAME padding with strides so wide that the windows leave elements out, and nothing would have to be padded."""
    return _same_padding(case) and any((-(-size // s) - 1) * s + span < size for size, s, span, _, _ in _spatial(case))


def _has_constant_slices(case: OneNode) -> bool:
    axes = tuple(case.attributes.get("axes", (0, 2, 3)))
    return bool((numpy.ptp(case.inputs[0], axis=axes) == 0).any())


def _clips_to_a_threshold(case: OneNode) -> bool:
    return "clip" in case.attributes and "ThresholdedRelu" in case.attributes.get("activations", ())


def _continues_with_other_lengths(case: OneNode) -> bool:
    """Causal attention with a past, where the new keys are not as many as the queries."""
    has_past = len(case.inputs) > 4
    return has_past and bool(case.attributes.get("is_causal")) and case.inputs[0].shape[2] != case.inputs[1].shape[2]


DISAGREEMENTS: list[Disagreement] = [
    *(
        Disagreement(
            operator,
            "the evaluator",
            "nothing in the text forbids dilations together with SAME padding; onnxruntime rejects them",
            _dilated_with_same_padding,
            OneNode(operator, opset, inputs, {"auto_pad": "SAME_UPPER", "dilations": [2, 2]}),
        )
        for operator, opset, inputs in (
            ("Conv", 11, [_ramp(1, 1, 4, 4), _ramp(1, 1, 2, 2)]),
            ("ConvInteger", 10, [_bytes(1, 1, 4, 4), _bytes(1, 1, 2, 2)]),
            (
                "QLinearConv",
                10,
                [_bytes(1, 1, 4, 4), UNIT, BYTE, _bytes(1, 1, 2, 2), UNIT, BYTE, UNIT, BYTE],
            ),
        )
    ),
    *(
        Disagreement(
            operator,
            "the evaluator",
            "SAME padding keeps ceil(size / stride) outputs; onnxruntime pads as if the kernel had no dilations",
            _dilated_with_same_padding,
            OneNode(operator, 22, [_ramp(1, 1, 4)], {"auto_pad": "SAME_UPPER", "dilations": [2], "kernel_shape": [2]}),
        )
        for operator in POOLS
    ),
    *(
        Disagreement(
            operator,
            "the evaluator",
            "SAME padding with strides that step over the last elements needs no padding; onnxruntime rejects it",
            _steps_over_the_end,
            OneNode(operator, 7, [_ramp(1, 1, 6)], {"auto_pad": "SAME_UPPER", "kernel_shape": [1], "strides": [4]}),
        )
        for operator in ("MaxPool", "AveragePool")
    ),
    Disagreement(
        "LpPool",
        "the evaluator",
        "SAME padding with strides that step over the last elements needs no padding; onnxruntime cuts elements off",
        _steps_over_the_end,
        OneNode(
            "LpPool",
            18,
            [_floats(3.5, 1.5, 0).reshape(1, 1, 3)],
            {"auto_pad": "SAME_UPPER", "kernel_shape": [1], "strides": [3]},
        ),
    ),
    Disagreement(
        "ConvTranspose",
        "the evaluator",
        "before 11, output_shape cuts the odd element off at the end; onnxruntime does as since 11, at the beginning",
        lambda case: case.opset < 11 and "output_shape" in case.attributes,
        OneNode("ConvTranspose", 7, [_ramp(1, 1, 3), _ramp(1, 1, 2)], {"output_shape": [3]}),
    ),
    Disagreement(
        "MeanVarianceNormalization",
        "the evaluator",
        "the operator's function body adds 1e-9 to the deviation, so that a constant becomes 0; onnxruntime gives NaN",
        _has_constant_slices,
        OneNode("MeanVarianceNormalization", 13, [_floats([[[[1, 1]]]])]),
    ),
    *(
        Disagreement(
            operator,
            "the evaluator",
            "ThresholdedRelu keeps x where x >= alpha, which clipped values reach; onnxruntime where it is greater",
            _clips_to_a_threshold,
            _recurrent(operator, gates, outputs, ["ThresholdedRelu"] * functions),
        )
        for operator, gates, functions, outputs in (("RNN", 1, 1, 2), ("GRU", 3, 2, 2), ("LSTM", 4, 3, 3))
    ),
    Disagreement(
        "LSTM",
        "the evaluator",
        "clip bounds the input of activations, h's among them; onnxruntime leaves that one out",
        lambda case: "clip" in case.attributes,
        _recurrent("LSTM", 4, 3, ["Sigmoid", "Tanh", "Tanh"], initial_c=2),
    ),
    Disagreement(
        "Attention",
        "the evaluator",
        "a query attends the past and the keys up to its own place; onnxruntime aligns the last query to the last key",
        _continues_with_other_lengths,
        OneNode(
            "Attention",
            23,
            [_ramp(1, 1, 1, 1), _ramp(1, 1, 2, 1), _ramp(1, 1, 2, 1), None, _ramp(1, 1, 1, 1), _ramp(1, 1, 1, 1)],
            {"is_causal": 1},
            3,
        ),
    ),
    Disagreement(
        "StringSplit",
        "the evaluator",
        "without a delimiter in it, an empty string is one substring like any other; onnxruntime counts none",
        lambda case: bool(case.attributes.get("delimiter")) and "" in case.inputs[0].reshape(-1).tolist(),
        OneNode("StringSplit", 20, [numpy.array([""], object)], {"delimiter": ","}, 2),
    ),
]


@pytest.mark.quick_share(120)
@pytest.mark.parametrize(
    ("operator", "opset"), [(operator, opset) for operator in STRATEGIES for opset in judged_opsets(operator)]
)
def test_same_results_as_onnxruntime(operator: str, opset: int) -> None:
    entries = [entry for entry in DISAGREEMENTS if entry.operator == operator]
    compared = compared_examples(STRATEGIES[operator](opset), entries, examples=30, tolerance=TOLERANCE)
    assert compared, "onnxruntime executed none of the nodes"


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("opset", [14, 15])
def test_same_statistics_of_batches_as_onnxruntime(opset: int) -> None:
    strategy = networks.batch_normalization_in_training(opset)
    assert compared_examples(strategy, (), examples=30, tolerance=TOLERANCE)


@pytest.mark.parametrize("entry", DISAGREEMENTS, ids=lambda entry: f"{entry.operator}: {entry.because}")
def test_listed_disagreement_is_real(entry: Disagreement) -> None:
    assert is_real(entry, tolerance=TOLERANCE)
