"""The operators of ai.onnx.ml, by the evaluator and by onnxruntime, on legal nodes drawn at random.

Where the two differ, one of them is wrong, or the text leaves the result open: DISAGREEMENTS says which, with an
example that is checked to be real.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy
import onnx
import pytest
from hypothesis.strategies import SearchStrategy

from tests.evaluator import ml_strategies as drawn
from tests.evaluator.disagreements import Disagreement, compared_examples, is_real, judged_opsets
from tests.evaluator.onnxruntime_judge import OneNode, evaluate_or_none

STRATEGIES: Mapping[str, Callable[[int], SearchStrategy[OneNode]]] = {
    "ArrayFeatureExtractor": drawn.array_feature_extractor,
    "Binarizer": drawn.binarizer,
    "CategoryMapper": drawn.category_mapper,
    "FeatureVectorizer": drawn.feature_vectorizer,
    "Imputer": drawn.imputer,
    "LabelEncoder": drawn.label_encoder,
    "LinearClassifier": drawn.linear_classifier,
    "LinearRegressor": drawn.linear_regressor,
    "Normalizer": drawn.normalizer,
    "OneHotEncoder": drawn.one_hot_encoder,
    "SVMClassifier": drawn.svm_classifier,
    "SVMRegressor": drawn.svm_regressor,
    "Scaler": drawn.scaler,
    "TreeEnsemble": drawn.tree_ensemble,
    "TreeEnsembleClassifier": drawn.tree_ensemble_classifier,
    "TreeEnsembleRegressor": drawn.tree_ensemble_regressor,
}

TOLERANCE = 1e-4
"""Absolute and relative; onnxruntime computes in float32 where the evaluator computes in float64."""

REGRESSORS = ("LinearRegressor", "SVMRegressor", "TreeEnsembleRegressor", "TreeEnsemble")


def _node(operator: str, opset: int, inputs: list[Any], outputs: int = 1, **attributes: Any) -> OneNode:
    return OneNode(operator, opset, inputs, attributes, outputs, drawn.DOMAIN)


def _floats(*values: Any) -> Any:
    return numpy.array(values, numpy.float32)


def _transform(case: OneNode) -> str:
    name = case.attributes.get("post_transform", "NONE")
    return name if isinstance(name, str) else ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")[name]


def _has_one_target(case: OneNode) -> bool:
    return case.attributes.get("n_targets", case.attributes.get("targets", 1)) == 1 and _transform(case) != "NONE"


def _softmax_of_two_classes(case: OneNode) -> bool:
    """Two classes of which the model gives one score."""
    attributes = case.attributes
    one_score = {
        "LinearClassifier": len(attributes.get("intercepts", ())) == 1,
        "SVMClassifier": "prob_a" not in attributes and len(attributes.get("rho", ())) == 1,
        "TreeEnsembleClassifier": set(attributes.get("class_ids", ())) == {0},
    }[case.operator]
    return one_score and _transform(case).startswith("SOFTMAX")


def _misses_a_value_where_unequal(case: OneNode) -> bool:
    modes = case.attributes["nodes_modes"]
    if isinstance(modes, onnx.TensorProto):
        modes = [drawn.MODES[mode] for mode in onnx.numpy_helper.to_array(modes)]
    return "BRANCH_NEQ" in modes and bool(numpy.isnan(case.inputs[0]).any())


def _votes_for_both_classes(case: OneNode) -> bool:
    return set(case.attributes["class_ids"]) == {0, 1} and len(case.attributes["classlabels_int64s"]) == 2


def _has_scores_at_the_edge_of_zero(case: OneNode) -> bool:
    """Whether a score is about the 1e-7 up to which SOFTMAX_ZERO takes it for 0."""
    if _transform(case) != "SOFTMAX_ZERO":
        return False
    untransformed = replace(case, attributes={**case.attributes, "post_transform": "NONE"})
    results = evaluate_or_none(untransformed)
    sizes = numpy.abs(results[-1]) if results else numpy.zeros(0)
    return bool(((sizes > 2e-8) & (sizes < 5e-7)).any())


def _tree(**votes: Any) -> dict[str, Any]:
    """One node that tests x != 0 for a missing x, with a leaf on either side."""
    return {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.0, 0.0, 0.0],
        "nodes_modes": ["BRANCH_NEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        **votes,
    }


TARGET_VOTES = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0]}
BOTH_VOTES = {
    "class_treeids": [0] * 4,
    "class_nodeids": [1, 1, 2, 2],
    "class_ids": [0, 1, 0, 1],
    "class_weights": [3.0, 1.0, 1.0, 3.0],
}
FIRST_VOTES = {"class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 0], "class_weights": [3.0, -1.0]}

LEAF_ENCODING = {
    "n_targets": 1,
    "tree_roots": [0],
    "nodes_featureids": [0],
    "nodes_modes": onnx.numpy_helper.from_array(numpy.array([5], numpy.uint8)),
    "nodes_splits": onnx.numpy_helper.from_array(_floats(0)),
    "nodes_truenodeids": [0],
    "nodes_falsenodeids": [1],
    "nodes_trueleafs": [1],
    "nodes_falseleafs": [1],
    "leaf_targetids": [0, 0],
    "leaf_weights": onnx.numpy_helper.from_array(_floats(1, 2)),
}

SVM = {"kernel_params": [0.0, 0.0, 0.0], "support_vectors": [1.0, 2.0], "rho": [0.0]}
SINGLE_TARGET = {
    "LinearRegressor": _node("LinearRegressor", 1, [_floats([1])], coefficients=[1.0], post_transform="LOGISTIC"),
    "SVMRegressor": _node(
        "SVMRegressor", 1, [_floats([1])], n_supports=2, coefficients=[1.0, 1.0], post_transform="LOGISTIC", **SVM
    ),
    "TreeEnsembleRegressor": _node(
        "TreeEnsembleRegressor", 3, [_floats([1])], n_targets=1, post_transform="LOGISTIC", **_tree(**TARGET_VOTES)
    ),
    "TreeEnsemble": _node("TreeEnsemble", 5, [_floats([1])], post_transform=2, **LEAF_ENCODING),
}
TWO_CLASSES = {
    "LinearClassifier": _node(
        "LinearClassifier",
        1,
        [_floats([1])],
        2,
        coefficients=[1.0],
        intercepts=[0.0],
        classlabels_ints=[5, 6],
        post_transform="SOFTMAX",
    ),
    "SVMClassifier": _node(
        "SVMClassifier",
        1,
        [_floats([1])],
        2,
        vectors_per_class=[1, 1],
        coefficients=[1.0, 1.0],
        classlabels_ints=[5, 6],
        post_transform="SOFTMAX",
        **SVM,
    ),
    "TreeEnsembleClassifier": _node(
        "TreeEnsembleClassifier",
        3,
        [_floats([1])],
        2,
        classlabels_int64s=[5, 6],
        post_transform="SOFTMAX",
        **_tree(**FIRST_VOTES),
    ),
}
MISSING = {
    "TreeEnsembleRegressor": _node(
        "TreeEnsembleRegressor", 3, [_floats([numpy.nan])], n_targets=1, **_tree(**TARGET_VOTES)
    ),
    "TreeEnsembleClassifier": _node(
        "TreeEnsembleClassifier", 3, [_floats([numpy.nan])], 2, classlabels_int64s=[5, 6], **_tree(**FIRST_VOTES)
    ),
    "TreeEnsemble": _node("TreeEnsemble", 5, [_floats([numpy.nan])], **LEAF_ENCODING),
}

DISAGREEMENTS: list[Disagreement] = [
    *(
        Disagreement(
            operator,
            "the evaluator",
            "post_transform is the transform to apply to the scores; onnxruntime leaves it out for a single target",
            _has_one_target,
            SINGLE_TARGET[operator],
        )
        for operator in REGRESSORS
    ),
    *(
        Disagreement(
            operator,
            "the evaluator",
            "post_transform is the transform to apply; onnxruntime leaves SOFTMAX out where two classes share a score",
            _softmax_of_two_classes,
            example,
        )
        for operator, example in TWO_CLASSES.items()
    ),
    *(
        Disagreement(
            operator,
            "the evaluator",
            "a missing value takes the false branch unless tracked; onnxruntime finds it unequal to the split",
            _misses_a_value_where_unequal,
            example,
        )
        for operator, example in MISSING.items()
    ),
    Disagreement(
        "TreeEnsemble",
        "the evaluator",
        "post_transform 1 is SOFTMAX and 2 LOGISTIC; onnxruntime has it the other way round",
        lambda case: case.attributes.get("post_transform") in (1, 2),
        _node("TreeEnsemble", 5, [_floats([1])], post_transform=1, **LEAF_ENCODING | {"n_targets": 2}),
    ),
    Disagreement(
        "TreeEnsembleClassifier",
        "the evaluator",
        "the output is the top class; with votes for both of two classes onnxruntime gives 0 or 1, whatever the labels",
        _votes_for_both_classes,
        _node("TreeEnsembleClassifier", 3, [_floats([1])], 2, classlabels_int64s=[5, 6], **_tree(**BOTH_VOTES)),
    ),
    Disagreement(
        "SVMClassifier",
        "either",
        "pairwise probabilities are coupled until they change little; the error that is left puts scores on either "
        "side of what SOFTMAX_ZERO takes for 0",
        _has_scores_at_the_edge_of_zero,
        _node(
            "SVMClassifier",
            1,
            [_floats([3.5])],
            2,
            vectors_per_class=[2, 2, 2],
            support_vectors=[3.5, 1.5, 0.0, -2.25, -2.0, -4.75],
            coefficients=[3.5, 1.5, 0.0, -2.25, -2.0, -4.75, -4.25, -5.0, -3.25, 3.25, 1.5, 4.25],
            rho=[3.5, 1.5, 0.0],
            prob_a=[-3.5, -1.5, -0.0],
            prob_b=[3.5, 1.5, 0.0],
            kernel_params=[0.25, 0.25, 2.0],
            classlabels_ints=[5, 6, 7],
            post_transform="SOFTMAX_ZERO",
        ),
    ),
    Disagreement(
        "LabelEncoder",
        "the evaluator",
        "since 4, if a key is repeated, the last key takes precedence; onnxruntime takes the first",
        lambda case: case.opset >= 4 and len(set(case.attributes.get("keys_int64s", ()))) == 1,
        _node("LabelEncoder", 4, [numpy.array([1])], keys_int64s=[1, 1], values_int64s=[5, 6]),
    ),
    Disagreement(
        "LabelEncoder",
        "the evaluator",
        "version 2 compares bit by bit, so that even a NaN can be mapped; onnxruntime does not find it",
        lambda case: case.opset == 2 and "keys_floats" in case.attributes and bool(numpy.isnan(case.inputs[0]).any()),
        _node("LabelEncoder", 2, [_floats(numpy.nan)], keys_floats=[numpy.nan], values_int64s=[5]),
    ),
]


@pytest.mark.quick_share(120)
@pytest.mark.parametrize(
    ("operator", "opset"),
    [(operator, opset) for operator in STRATEGIES for opset in judged_opsets(operator, drawn.DOMAIN)],
)
def test_same_results_as_onnxruntime(operator: str, opset: int) -> None:
    entries = [entry for entry in DISAGREEMENTS if entry.operator == operator]
    assert compared_examples(STRATEGIES[operator](opset), entries, examples=40, tolerance=TOLERANCE)


@pytest.mark.parametrize("entry", DISAGREEMENTS, ids=lambda entry: f"{entry.operator}: {entry.because}")
def test_listed_disagreement_is_real(entry: Disagreement) -> None:
    assert is_real(entry, tolerance=TOLERANCE)
