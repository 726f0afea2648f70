"""Why models that go up and down again are not always written as they were: what the way up lets go for good."""

from __future__ import annotations

UNEXPLAINED = "not explained"

_DEFAULT = "a default that another version has otherwise is written out, and no later sign tells it from a given value"
_NEGATIVE = (
    "from {} on indices and bounds may be negative; those of a run are not known, and are counted from the front"
)
_BROADCAST = "`axis` is not written where broadcasting does by itself what it says"
_LAST_AXES = "before 13 all dimensions behind the axis are taken together; what had one of them only may name another"
_SEQUENCE = "`output_sequence` says that the sequence is read, which its name among the outputs says as well"

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
    ): "13 has a function body, to which onnx hands no default: `axes` is written",
    ("Concat", 4): _DEFAULT,
    **{(operator, 7): _SEQUENCE for operator in ("RNN", "GRU", "LSTM")},
    (
        "BatchNormalization",
        7,
    ): "at 7 the number of outputs tells training from inference; the names of those that nobody reads stay",
    **{
        (operator, 11): _NEGATIVE.format(11)
        for operator in ("Gather", "Scatter", "Slice", "OneHot", "GatherElements", "ScatterElements")
    },
    **{(operator, 13): _LAST_AXES for operator in ("Softmax", "LogSoftmax", "Hardmax")},
    ("Neg", 13): f"of the Softmax behind it: {_LAST_AXES}",
    (
        "Dropout",
        12,
    ): "in training mode 12 is given a mask of truth values that nobody reads, and the way below 10 refuses it; "
    "it could be left out again",
    ("Upsample", 10): "Resize takes scales below 1, too, and those of a run are not known",
    ("Scan", 9): "8 has a batch axis, which becomes a scan of its own",
    ("Loop", 23): "Unsqueeze's axes in the body were a scalar, which no text allows; they come back as a vector",
}


def why_lost(operator: str, version: int) -> str:
    """Why an operator's nodes from before a version come back from it in another form."""
    return _REASONS.get((operator, version), UNEXPLAINED)
