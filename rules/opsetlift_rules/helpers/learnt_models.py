"""What the models of ai.onnx.ml share: their rows, transforms and labels, written in operators of ai.onnx."""

from __future__ import annotations

from opsetlift.rulebook.site import Array, Operators, Site

DOMAIN = "ai.onnx.ml"
TWO = 2
"""Classes, of which one score may stand for both."""

TRANSFORMS = {"NONE": "", "LOGISTIC": "Sigmoid", "SOFTMAX": "Softmax"}
"""The post transforms that are operators. SOFTMAX_ZERO and PROBIT are none, and nodes with them stay."""


def stage_of(dtype: str | None) -> str:
    """The dtype to compute in: the specification gives none, and float holds no other dtype of the input."""
    return "float" if dtype == "float" else "double"


def cast(op: Operators, value: str, dtype: str, wanted: str) -> str:
    """A value of one dtype in another, or as it is."""
    return value if dtype == wanted else str(op.Cast(value, to=wanted))


def rows_of(site: Site, op: Operators, dtype: str) -> str:
    """The first input as rows of `dtype`, [N, features]; a vector counts as one. Refuses unknown ranks."""
    rows = cast(op, site.input(0), str(site.dtype(0)), dtype)
    if site.rank(0, because="a vector counts as one row") == 1:
        rows = str(op.Unsqueeze(rows, site.constant([0], "int64")))
    return rows


def transformed(op: Operators, transform: str, scores: str) -> str:
    """Scores [N, classes] after one of `TRANSFORMS`."""
    if transform == "SOFTMAX":
        return str(op.Softmax(scores, axis=1))
    return str(op.emit(TRANSFORMS[transform], scores)) if TRANSFORMS[transform] else scores


def label_at(site: Site, op: Operators, labels: Array, place: str) -> str:
    """The labels, int64 or texts, at places [N]."""
    if labels.tolist() == list(range(len(labels))):
        return place
    return str(op.Gather(site.constant(labels, hint="labels"), place, axis=0))
