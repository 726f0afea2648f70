"""Labels that classifiers of scikit-learn look up."""

from __future__ import annotations

import onnx
import pytest

from tests.normalize.rewriting import rewritten, text_model

_PASSES = ("merge-lookups", "merge-kept-dimensions", "remove-unused")
_CONSTANTS = """<int64[3] count = {0, 1, 2}, int64[3] labels = {7, 1, 2}, int64[2] two = {0, 1}, int64[1] all = {-1},
    string[3] names = {"a", "b", "c"}, int64[2,3] table = {0, 1, 2, 3, 4, 5}>"""


def operators(nodes: str, outputs: str = "int64[n] y") -> list[str]:
    model = text_model(f"g (float[n, 3] x, int64[n, 1] i) => ({outputs}) {_CONSTANTS} {{ {nodes} }}")
    model.opset_import.append(onnx.helper.make_opsetid("ai.onnx.ml", 3))
    return [node.op_type for node in rewritten(_PASSES, model).model.graph.node]


_LABELS = "a = ArgMax<axis = 1>(x) b = ai.onnx.ml.ArrayFeatureExtractor(labels, a) y = Reshape(b, all)"


def test_labels_that_count_from_zero_are_the_positions() -> None:
    assert operators(_LABELS.replace("labels", "count")) == ["ArgMax"]


def test_other_labels_are_gathered() -> None:
    assert operators(_LABELS) == ["ArgMax", "Gather"]
    assert operators(_LABELS.replace("labels", "names"), "string[n] y") == ["ArgMax", "Gather"]


def test_the_table_is_cast_instead_of_labels() -> None:
    cast = _LABELS.replace("y = Reshape(b, all)", "c = Cast<to = 1>(b) d = Reshape(c, all) y = Cast<to = 7>(d)")
    assert operators(cast) == ["ArgMax", "Gather"]
    assert operators("a = Gather(labels, i) y = Cast<to = 1>(a)", "float[n, 1] y") == ["Gather"]


@pytest.mark.parametrize(
    ("nodes", "outputs", "left"),
    [
        pytest.param(
            "b = ai.onnx.ml.ArrayFeatureExtractor(labels, i) y = Reshape(b, all)",
            "int64[n] y",
            ["ArrayFeatureExtractor", "Reshape"],
            id="positions may be out of range",
        ),
        pytest.param(
            "a = ArgMax<axis = 1>(x) b = ai.onnx.ml.ArrayFeatureExtractor(table, a) y = Reshape(b, all)",
            "int64[m] y",
            ["ArgMax", "ArrayFeatureExtractor", "Reshape"],
            id="several rows",
        ),
        pytest.param(
            "a = ArgMax<axis = 0, keepdims = 0>(x) y = Gather(count, a)",
            "int64[3] y",
            ["ArgMax", "Gather"],
            id="there may be more positions than labels",
        ),
        pytest.param(
            "a = Gather(labels, i) y = Cast<to = 1>(a) z = Neg(a)",
            "float[n, 1] y, int64[n, 1] z",
            ["Gather", "Cast", "Neg"],
            id="the labels are read by others",
        ),
        pytest.param(
            "a = Gather(labels, i) y = Cast<to = 8>(a)", "string[n, 1] y", ["Gather", "Cast"], id="numbers as strings"
        ),
    ],
)
def test_other_lookups_stay(nodes: str, outputs: str, left: list[str]) -> None:
    assert operators(nodes, outputs) == left
