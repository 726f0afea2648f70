"""Why models that go up and down again are not always written as they were: what the way up lets go for good."""

from __future__ import annotations

UNEXPLAINED = "not explained"

_DEFAULT = "a default that differs between versions is written out, and then looks like a given value"
_NEGATIVE = "from {} on indices and bounds may be negative; those computed at run time are made non-negative"
_BROADCAST = "`axis` is omitted where broadcasting alone has its effect"
_LAST_AXES = "before 13 all dimensions from the axis on are normalized together, so the rule may write another axis"
_SEQUENCE = "`output_sequence` states that the sequence is used, which its output name states as well"

_REASONS: dict[tuple[str, int], str] = {
    **{
        (operator, 7): _BROADCAST
        for operator in ("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Greater", "Less", "Pow", "Gemm")
    },
    **{(operator, 6): _DEFAULT for operator in ("Selu", "Elu", "HardSigmoid")},
    ("Split", 2): _DEFAULT,
    ("GRU", 3): _DEFAULT,
    (
        "MeanVarianceNormalization",
        13,
    ): "13 has a function body, which gets no defaults from onnx, so `axes` is written",
    ("Concat", 4): _DEFAULT,
    **{(operator, 7): _SEQUENCE for operator in ("RNN", "GRU", "LSTM")},
    (
        "BatchNormalization",
        7,
    ): "at 7 the number of outputs tells training from inference; names of unused outputs are kept",
    **{
        (operator, 11): _NEGATIVE.format(11)
        for operator in ("Gather", "Scatter", "Slice", "OneHot", "GatherElements", "ScatterElements")
    },
    **{(operator, 13): _LAST_AXES for operator in ("Softmax", "LogSoftmax", "Hardmax")},
    ("Neg", 13): f"of the Softmax behind it: {_LAST_AXES}",
    ("Dropout", 7): "7 to 11 have no training mode: it is written with random numbers, which every opset has",
    ("Upsample", 10): "Resize also takes scales below 1, and scales computed at run time are unknown",
    ("Scan", 9): "8 has a batch axis, which becomes another Scan",
    (
        "Loop",
        23,
    ): "Unsqueeze's axes in the body were a scalar, which no version of the text allows; they become a vector",
}


def why_lost(operator: str, version: int) -> str:
    """Why an operator's nodes from before a version come back from it in another form."""
    return _REASONS.get((operator, version), UNEXPLAINED)
