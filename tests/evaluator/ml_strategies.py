"""Legal nodes of ai.onnx.ml, drawn at random: the version decides attributes and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import onnx
from hypothesis import strategies as st

from tests.evaluator.onnxruntime_judge import OneNode
from tests.evaluator.signal_and_text_strategies import words
from tests.evaluator.tensor_strategies import Draw, ints, numbers
from tests.evaluator.window_strategies import maybe

Strategy = Callable[[int], Any]
DOMAIN = "ai.onnx.ml"
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
"""PROBIT is left out: onnxruntime approximates it to three digits."""


def _node(operator: str, opset: int, inputs: list[Any], attributes: dict[str, Any], outputs: int = 1) -> OneNode:
    return OneNode(operator, opset, inputs, attributes, outputs, DOMAIN)


def _floats(draw: Draw, count: int) -> list[float]:
    return [float(value) for value in numbers(draw, [count])]


def _rows(draw: Draw, features: int, dtype: str = "float32") -> Any:
    return numbers(draw, [draw(st.integers(1, 4)), features], dtype)


@st.composite
def array_feature_extractor(draw: Draw, opset: int) -> OneNode:
    x = numbers(
        draw, draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)), draw(st.sampled_from(["float32", "int64"]))
    )
    indices = draw(st.lists(st.integers(0, x.shape[-1] - 1), min_size=1, max_size=4))
    return _node("ArrayFeatureExtractor", opset, [x, ints(indices)], {})


@st.composite
def binarizer(draw: Draw, opset: int) -> OneNode:
    return _node("Binarizer", opset, [_rows(draw, 3)], {"threshold": draw(st.sampled_from([0.0, 0.25, -1.0]))})


@st.composite
def category_mapper(draw: Draw, opset: int) -> OneNode:
    attributes: dict[str, Any] = {"cats_strings": ["a", "A", ""], "cats_int64s": [1, -2, 3]}
    maybe(draw, attributes, default_string="other", default_int64=-7)
    x = words(draw, [4]) if draw(st.booleans()) else numbers(draw, [4], "int64")
    return _node("CategoryMapper", opset, [x], attributes)


@st.composite
def feature_vectorizer(draw: Draw, opset: int) -> OneNode:
    rows = draw(st.integers(1, 3))
    inputs = [numbers(draw, [rows, draw(st.integers(1, 3))]) for _ in range(draw(st.integers(1, 3)))]
    return _node("FeatureVectorizer", opset, inputs, {"inputdimensions": [x.shape[1] for x in inputs]})


@st.composite
def imputer(draw: Draw, opset: int) -> OneNode:
    whole = draw(st.booleans())
    x = _rows(draw, 3, "int64" if whole else "float32")
    count = draw(st.sampled_from([1, 3]))
    if whole:
        return _node("Imputer", opset, [x], {"imputed_value_int64s": [7, 8, 9][:count], "replaced_value_int64": 1})
    replaced = draw(st.sampled_from([0.25, float("nan")]))
    x = numpy.where(x == 0.5, numpy.float32("nan"), x)
    return _node(
        "Imputer", opset, [x], {"imputed_value_floats": [7.0, 8.0, 9.0][:count], "replaced_value_float": replaced}
    )


LABELS = {"strings": ["a", "A", ""], "int64s": [1, -2, 3], "floats": [0.25, float("nan"), -1.0]}


@st.composite
def label_encoder(draw: Draw, opset: int) -> OneNode:
    if opset == 1:
        x = words(draw, [4]) if draw(st.booleans()) else ints(draw(st.lists(st.integers(0, 4), min_size=1)))
        return _node("LabelEncoder", opset, [x], {"classes_strings": ["a", "A", "d,e"]})
    # The pairs of types that onnxruntime has at both versions.
    pairs = [
        ("strings", "int64s"),
        ("int64s", "strings"),
        ("int64s", "floats"),
        ("floats", "int64s"),
        ("floats", "strings"),
    ]
    keys, values = draw(st.sampled_from(pairs))
    x = {
        "strings": words(draw, [4]),
        "int64s": numbers(draw, [4], "int64"),
        "floats": numbers(draw, [4], special=True),
    }[keys]
    return _node("LabelEncoder", opset, [x], {f"keys_{keys}": LABELS[keys], f"values_{values}": LABELS[values]})


@st.composite
def linear_classifier(draw: Draw, opset: int) -> OneNode:
    classes, features = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    sets = draw(st.sampled_from([1, classes])) if classes == 2 else classes
    attributes = {
        "coefficients": _floats(draw, sets * features),
        "intercepts": _floats(draw, sets),
        "classlabels_ints": [5, 6, 7, 8][:classes],
        "post_transform": draw(st.sampled_from(TRANSFORMS)),
    }
    return _node("LinearClassifier", opset, [_rows(draw, features)], attributes, 2)


@st.composite
def linear_regressor(draw: Draw, opset: int) -> OneNode:
    targets, features = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    attributes: dict[str, Any] = {"coefficients": _floats(draw, targets * features), "targets": targets}
    attributes["post_transform"] = draw(st.sampled_from(TRANSFORMS))
    maybe(draw, attributes, intercepts=_floats(draw, targets))
    return _node("LinearRegressor", opset, [_rows(draw, features)], attributes)


@st.composite
def normalizer(draw: Draw, opset: int) -> OneNode:
    return _node("Normalizer", opset, [_rows(draw, 3)], {"norm": draw(st.sampled_from(["MAX", "L1", "L2"]))})


@st.composite
def one_hot_encoder(draw: Draw, opset: int) -> OneNode:
    if draw(st.booleans()):
        return _node("OneHotEncoder", opset, [words(draw, [2, 2])], {"cats_strings": ["a", "", "A"]})
    return _node("OneHotEncoder", opset, [numbers(draw, [2, 2], "int64")], {"cats_int64s": [1, 0, -2, 5]})


@st.composite
def scaler(draw: Draw, opset: int) -> OneNode:
    count = draw(st.sampled_from([1, 3]))
    return _node("Scaler", opset, [_rows(draw, 3)], {"offset": _floats(draw, count), "scale": _floats(draw, count)})


KERNELS = st.sampled_from(["LINEAR", "POLY", "RBF", "SIGMOID"])


@st.composite
def svm_regressor(draw: Draw, opset: int) -> OneNode:
    features, vectors = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    attributes: dict[str, Any] = {
        "kernel_type": draw(KERNELS),
        "kernel_params": [0.5, 0.25, 2.0],
        "n_supports": vectors,
        "coefficients": _floats(draw, vectors),
        "support_vectors": _floats(draw, vectors * features),
        "rho": _floats(draw, 1),
    }
    maybe(draw, attributes, one_class=1, post_transform=draw(st.sampled_from(TRANSFORMS)))
    return _node("SVMRegressor", opset, [_rows(draw, features)], attributes)


@st.composite
def svm_classifier(draw: Draw, opset: int) -> OneNode:
    features, classes = draw(st.integers(1, 3)), draw(st.integers(2, 3))
    pairs = classes * (classes - 1) // 2
    attributes: dict[str, Any] = {
        "kernel_type": draw(KERNELS),
        "kernel_params": [0.25, 0.25, 2.0],
        "vectors_per_class": [2] * classes,
        "coefficients": _floats(draw, (classes - 1) * 2 * classes),
        "support_vectors": _floats(draw, 2 * classes * features),
        "rho": _floats(draw, pairs),
        "classlabels_ints": [5, 6, 7][:classes],
        "post_transform": draw(st.sampled_from(TRANSFORMS)),
    }
    if draw(st.booleans()):
        attributes |= {"prob_a": [-abs(value) for value in _floats(draw, pairs)], "prob_b": _floats(draw, pairs)}
    return _node("SVMClassifier", opset, [_rows(draw, features)], attributes, 2)


MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def _forest(draw: Draw, prefix: str, targets: list[int]) -> dict[str, Any]:
    """Complete trees of depth 2; their leaves vote for all `targets`."""
    generator = numpy.random.default_rng(draw(st.integers(0, 2**16)))
    modes = draw(st.sampled_from([MODES[:1], MODES]))
    nodes: dict[str, list[Any]] = {}
    votes: dict[str, list[Any]] = {}

    def add(fields: dict[str, list[Any]], **values: Any) -> None:
        for name, value in values.items():
            fields.setdefault(name, []).append(value)

    for tree in range(draw(st.integers(1, 3))):
        for node in range(7):
            leaf = node > 2
            add(
                nodes,
                treeids=tree,
                nodeids=node,
                featureids=0 if leaf else int(generator.integers(3)),
                values=float(generator.integers(-4, 5)) / 4,
                modes="LEAF" if leaf else str(generator.choice(modes)),
                truenodeids=0 if leaf else 2 * node + 1,
                falsenodeids=0 if leaf else 2 * node + 2,
                missing_value_tracks_true=int(generator.integers(2)),
            )
            for target in targets if leaf else []:
                add(votes, treeids=tree, nodeids=node, ids=target, weights=float(generator.integers(-8, 9)) / 8)
    return {f"nodes_{name}": values for name, values in nodes.items()} | {
        f"{prefix}_{name}": values for name, values in votes.items()
    }


def _rows_with_gaps(draw: Draw) -> Any:
    x = _rows(draw, 3)
    return numpy.where(x == 1, numpy.float32("nan"), x / 4).astype(numpy.float32)


@st.composite
def tree_ensemble_regressor(draw: Draw, opset: int) -> OneNode:
    targets = draw(st.integers(1, 3))
    attributes = _forest(draw, "target", list(range(targets))) | {
        "n_targets": targets,
        "aggregate_function": draw(st.sampled_from(["SUM", "AVERAGE", "MIN", "MAX"])),
        "post_transform": draw(st.sampled_from(TRANSFORMS)),
    }
    maybe(draw, attributes, base_values=_floats(draw, targets))
    return _node("TreeEnsembleRegressor", opset, [_rows_with_gaps(draw)], attributes)


@st.composite
def tree_ensemble_classifier(draw: Draw, opset: int) -> OneNode:
    classes = draw(st.integers(2, 3))
    voted = draw(st.sampled_from([list(range(classes)), [0]])) if classes == 2 else list(range(classes))
    attributes = _forest(draw, "class", voted) | {
        "classlabels_int64s": [5, 6, 7][:classes],
        "post_transform": draw(st.sampled_from(TRANSFORMS)),
    }
    maybe(draw, attributes, base_values=_floats(draw, len(voted)))
    return _node("TreeEnsembleClassifier", opset, [_rows_with_gaps(draw)], attributes, 2)


@st.composite
def tree_ensemble(draw: Draw, opset: int) -> OneNode:
    """Complete trees of depth 2, in the encoding of version 5."""
    generator = numpy.random.default_rng(draw(st.integers(0, 2**16)))
    trees, targets = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    interior, leaves = 3 * trees, 4 * trees
    is_last = [node % 3 > 0 for node in range(interior)]

    def children(second: int) -> list[int]:
        return [
            4 * (node // 3) + 2 * (node % 3 - 1) + second if last else node + 1 + second
            for node, last in enumerate(is_last)
        ]

    attributes = {
        "n_targets": targets,
        "aggregate_function": draw(st.integers(0, 3)),
        "post_transform": draw(st.integers(0, 3)),
        "tree_roots": [3 * tree for tree in range(trees)],
        "nodes_featureids": generator.integers(0, 3, interior).tolist(),
        "nodes_modes": _tensor(generator.integers(0, 6, interior).astype(numpy.uint8)),
        "nodes_splits": _tensor((generator.integers(-4, 5, interior) / 4).astype(numpy.float32)),
        "nodes_truenodeids": children(0),
        "nodes_falsenodeids": children(1),
        "nodes_trueleafs": [int(last) for last in is_last],
        "nodes_falseleafs": [int(last) for last in is_last],
        "nodes_missing_value_tracks_true": generator.integers(0, 2, interior).tolist(),
        "leaf_targetids": generator.integers(0, targets, leaves).tolist(),
        "leaf_weights": _tensor((generator.integers(-8, 9, leaves) / 8).astype(numpy.float32)),
    }
    return _node("TreeEnsemble", opset, [_rows_with_gaps(draw)], attributes)


def _tensor(values: Any) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(values)
