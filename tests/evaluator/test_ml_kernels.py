"""What the texts of single versions say of the operators of ai.onnx.ml: one test per clause."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from onnx import helper

from opsetlift.evaluator import run_node
from tests.evaluator.ml_strategies import DOMAIN, MODES
from tests.evaluator.one_node import assert_gives, assert_rejected, floats, ints, strings
from tests.evaluator.onnxruntime_judge import OneNode, evaluate

NAN = float("nan")


def node(operator: str, opset: int, *inputs: Any, outputs: int = 1, **attributes: Any) -> OneNode:
    return OneNode(operator, opset, inputs, attributes, outputs, DOMAIN)


def of_map(operator: str, value: Any, **attributes: Any) -> Any:
    built = helper.make_node(operator, ["x"], ["y"], domain=DOMAIN, **attributes)
    return run_node(built, [value], {"": 17, DOMAIN: 1})[0]


def tensor(values: Any) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(numpy.asarray(values))


# Labels and maps


def test_label_encoder_1_indexes_its_classes() -> None:
    attributes = {"classes_strings": ["a", "b"], "default_string": "none", "default_int64": -5}
    assert_gives(node("LabelEncoder", 1, strings("b", "c"), **attributes), ints(1, -5))
    assert_gives(node("LabelEncoder", 1, ints(1, 2, -1), **attributes), strings("b", "none", "none"))


def test_label_encoder_2_maps_nan_and_either_zero() -> None:
    x = floats(0.0, -0.0, NAN, 1)
    case = node("LabelEncoder", 2, x, keys_floats=[-0.0, NAN], values_strings=["zero", "nan"])
    assert_gives(case, strings("zero", "zero", "nan", "_Unused"))


def test_label_encoder_4_compares_floats_by_value_and_every_nan_alike() -> None:
    other_nan = numpy.array([0x7FC00001], numpy.uint32).view(numpy.float32)
    x = numpy.concatenate([floats(0.0, -0.0), other_nan])
    case = node("LabelEncoder", 4, x, keys_floats=[-0.0, NAN], values_int64s=[1, 2], default_int64=9)
    assert_gives(case, ints(1, 1, 2))


def test_label_encoder_4_maps_tensors_and_the_last_of_equal_keys_counts() -> None:
    case = node(
        "LabelEncoder",
        4,
        numpy.array([[3, 1], [1, 7]], numpy.int16),
        keys_tensor=tensor(numpy.array([1, 3, 1], numpy.int16)),
        values_tensor=tensor([0.5, 1.5, 2.5]),
        default_tensor=tensor([-1.0]),
    )
    assert_gives(case, numpy.array([[1.5, 2.5], [2.5, -1.0]]))


def test_the_default_of_label_encoder_4_has_the_type_of_its_values() -> None:
    keys = {"keys_tensor": tensor(ints(1)), "values_tensor": tensor(floats(2))}
    assert_gives(node("LabelEncoder", 4, ints(1, 3), **keys, default_tensor=tensor(floats(9))), floats(2, 9))
    for default in (ints(9), floats(9, 9)):
        case = node("LabelEncoder", 4, ints(1, 3), **keys, default_tensor=tensor(default))
        assert_rejected(case, "must be one value of the type of values_*")


def test_label_encoder_takes_one_list_of_keys_and_one_of_values() -> None:
    both = node("LabelEncoder", 2, ints(1), keys_int64s=[1], keys_strings=["a"], values_int64s=[1])
    assert_rejected(both, "one and only one of keys_strings, keys_int64s, keys_floats")
    other = node("LabelEncoder", 2, strings("a"), keys_int64s=[1], values_int64s=[1])
    assert_rejected(other, "must have the element type of keys_int64s")
    longer = node("LabelEncoder", 4, ints(1), keys_int64s=[1, 2], values_int64s=[1])
    assert_rejected(longer, "must have the same length")


def test_categories_map_both_ways() -> None:
    attributes = {"cats_strings": ["a", "b"], "cats_int64s": [10, 20], "default_string": "?"}
    assert_gives(node("CategoryMapper", 1, strings("b", "z"), **attributes), ints(20, -1))
    assert_gives(node("CategoryMapper", 1, ints(10, 11), **attributes), strings("a", "?"))


def test_a_map_becomes_a_tensor_in_the_order_of_its_keys() -> None:
    value = {3: numpy.float32(1.5), 0: numpy.float32(-2.25)}
    assert of_map("CastMap", value).tolist() == [[-2.25, 1.5]]
    assert of_map("CastMap", value, cast_to="TO_INT64", map_form="SPARSE", max_map=5).tolist() == [[-2, 0, 0, 1, 0]]
    assert of_map("CastMap", {1: "7"}, cast_to="TO_FLOAT").tolist() == [[7.0]]


def test_a_dictionary_is_vectorized_by_its_vocabulary() -> None:
    """The example of the text, the value of "c" in its place."""
    value = {"a": 4, "c": 8}
    assert of_map("DictVectorizer", value, string_vocabulary=["a", "c", "b", "z"]).tolist() == [4, 8, 0, 0]


def test_rows_are_zipped_with_the_labels() -> None:
    built = helper.make_node("ZipMap", ["x"], ["z"], domain=DOMAIN, classlabels_strings=["no", "yes"])
    (maps,) = run_node(built, [floats([0.25, 0.75], [1, 0])], {"": 17, DOMAIN: 1})
    assert maps == [{"no": 0.25, "yes": 0.75}, {"no": 1, "yes": 0}]


# Features


def test_missing_values_are_imputed_per_feature() -> None:
    x = floats([1, NAN], [NAN, 4])
    case = node("Imputer", 1, x, imputed_value_floats=[7.0, 8.0], replaced_value_float=NAN)
    assert_gives(case, floats([1, 8], [7, 4]))
    whole = node("Imputer", 1, ints([1, 0]), imputed_value_int64s=[5], replaced_value_int64=0)
    assert_gives(whole, ints([1, 5]))
    assert_rejected(node("Imputer", 1, ints([1]), imputed_value_floats=[5.0]), "imputed_value_int64s should be defined")


def test_normalizers_leave_rows_alone_whose_divisor_is_zero() -> None:
    x = floats([3, -4], [0, 0])
    assert_gives(node("Normalizer", 1, x, norm="L1"), floats([3 / 7, -4 / 7], [0, 0]), rtol=1e-6)
    assert_gives(node("Normalizer", 1, x, norm="L2"), floats([0.6, -0.8], [0, 0]), rtol=1e-6)
    assert_gives(node("Normalizer", 1, x, norm="MAX"), floats([1, -4 / 3], [0, 0]), rtol=1e-6)


def test_one_hot_encoding_fails_on_unknown_categories_where_told() -> None:
    x = floats(2.75, 1)
    assert_gives(node("OneHotEncoder", 1, x, cats_int64s=[1, 2]), floats([0, 1], [1, 0]))
    unknown = node("OneHotEncoder", 1, ints(3), cats_int64s=[1, 2])
    assert_gives(unknown, floats([0, 0]))
    assert_rejected(node("OneHotEncoder", 1, ints(3), cats_int64s=[1, 2], zeros=0), "a category is not found")


def test_features_are_extracted_scaled_and_joined() -> None:
    x = ints([1, 2, 3], [4, 5, 6])
    assert_gives(node("ArrayFeatureExtractor", 1, x, ints(2, 0)), ints([3, 1], [6, 4]))
    assert_rejected(node("ArrayFeatureExtractor", 1, x, ints(3)), "must be in [0, 3)")
    assert_gives(node("Scaler", 1, x, offset=[1.0], scale=[1.0, 2.0, 3.0]), floats([0, 2, 6], [3, 8, 15]))
    joined = node("FeatureVectorizer", 1, ints([1, 2]), ints(3), inputdimensions=[2, 1])
    assert_gives(joined, floats([1, 2, 3]))
    assert_gives(node("Binarizer", 1, x, threshold=3.0), ints([0, 0, 0], [1, 1, 1]))


# Classifiers and regressors


def test_linear_scores_have_one_column_per_class() -> None:
    attributes = {"coefficients": [1.0, 0.0, 0.0, 1.0, -1.0, -1.0], "intercepts": [0.0, 0.5, 1.0]}
    case = node(
        "LinearClassifier", 1, floats([1, 2], [-1, -2]), classlabels_strings=["a", "b", "c"], outputs=2, **attributes
    )
    labels, scores = evaluate(case)
    assert labels.tolist() == ["b", "c"]
    numpy.testing.assert_allclose(scores, [[1, 2.5, -2], [-1, -1.5, 4]])
    uneven = node("LinearClassifier", 1, floats([1, 2]), classlabels_ints=[1, 2], outputs=2, **attributes)
    assert_rejected(uneven, "3 sets of coefficients for 2 class labels")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NONE", [[0.5, 0.0, 0.25]]),
        ("LOGISTIC", [1 / (1 + numpy.exp(-floats([0.5, 0.0, 0.25])))][0]),
        ("SOFTMAX", numpy.exp([[0.5, 0, 0.25]]) / numpy.exp([0.5, 0, 0.25]).sum()),
        ("SOFTMAX_ZERO", numpy.exp([[0.5, -numpy.inf, 0.25]]) / numpy.exp([0.5, 0.25]).sum()),
        ("PROBIT", [[0.0, -numpy.inf, -0.6744897501960817]]),
    ],
)
def test_transforms_of_the_scores(name: str, expected: Any) -> None:
    case = node("LinearRegressor", 1, floats([1]), coefficients=[0.5, 0.0, 0.25], targets=3, post_transform=name)
    assert_gives(case, numpy.asarray(expected, numpy.float32), rtol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("LINEAR", lambda dot, _: dot),
        ("POLY", lambda dot, _: (0.5 * dot + 1) ** 3),
        ("RBF", lambda _, distance: numpy.exp(-0.5 * distance)),
        ("SIGMOID", lambda dot, _: numpy.tanh(0.5 * dot + 1)),
    ],
)
def test_support_vectors_regress_with_every_kernel(kernel: str, expected: Any) -> None:
    x, vectors = floats([1, 2]), floats([1, 0], [0, 3])
    dots, distances = vectors @ x[0], numpy.square(vectors - x).sum(axis=1)
    case = node(
        "SVMRegressor",
        1,
        x,
        kernel_type=kernel,
        kernel_params=[0.5, 1.0, 3.0],
        n_supports=2,
        support_vectors=vectors.reshape(-1).tolist(),
        coefficients=[2.0, -1.0],
        rho=[0.25],
    )
    value = 2 * expected(dots[0], distances[0]) - expected(dots[1], distances[1]) + 0.25
    assert_gives(case, floats([value]), rtol=1e-6)


def test_pairwise_decisions_vote_for_the_class() -> None:
    """One support vector per class, at 0, 1 and 2 on a line: the nearest class wins both of its duels."""
    case = node(
        "SVMClassifier",
        1,
        floats([-0.2], [1.1], [2.5]),
        outputs=2,
        kernel_type="RBF",
        kernel_params=[1.0, 0.0, 0.0],
        support_vectors=[0.0, 1.0, 2.0],
        vectors_per_class=[1, 1, 1],
        coefficients=[1.0, -1.0, -1.0, 1.0, 1.0, -1.0],
        rho=[0.0, 0.0, 0.0],
        classlabels_strings=["zero", "one", "two"],
    )
    labels, scores = evaluate(case)
    assert labels.tolist() == ["zero", "one", "two"]
    assert scores.shape == (3, 3)
    probable = OneNode(
        case.operator, 1, case.inputs, {**case.attributes, "prob_a": [-5.0] * 3, "prob_b": [0.0] * 3}, 2, DOMAIN
    )
    _, probabilities = evaluate(probable)
    numpy.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-6)
    assert probabilities.argmax(axis=1).tolist() == [0, 1, 2]


# Trees: x <= 1 ? 10 : (y > 5 ? 20 : 30)

TREE = {
    "nodes_treeids": [4] * 5,
    "nodes_nodeids": [0, 1, 2, 3, 4],
    "nodes_featureids": [0, 0, 1, 0, 0],
    "nodes_values": [1.0, 0.0, 5.0, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 3, 0, 0],
    "nodes_falsenodeids": [2, 0, 4, 0, 0],
    "target_treeids": [4] * 3,
    "target_nodeids": [1, 3, 4],
    "target_ids": [0] * 3,
    "target_weights": [10.0, 20.0, 30.0],
}
ROWS = floats([1, 9], [2, 6], [2, 5], [NAN, 6], [2, NAN])


@pytest.mark.parametrize(("tracks", "last"), [(0, 30), (1, 20)])
def test_rows_walk_down_to_a_leaf_and_missing_values_where_they_are_told(tracks: int, last: float) -> None:
    case = node("TreeEnsembleRegressor", 1, ROWS, nodes_missing_value_tracks_true=[0, 0, tracks, 0, 0], **TREE)
    assert_gives(case, floats([10], [20], [30], [20], [last]))


@pytest.mark.parametrize("mode", MODES)
def test_a_missing_value_takes_the_false_branch_in_every_mode(mode: str) -> None:
    modes = [mode, "LEAF", "BRANCH_GT", "LEAF", "LEAF"]
    case = node("TreeEnsembleRegressor", 3, floats([NAN, 6]), **{**TREE, "nodes_modes": modes})
    assert_gives(case, floats([20]))


def two_trees() -> dict[str, Any]:
    second = {name: values if "treeids" not in name else [5] * len(values) for name, values in TREE.items()}
    second["target_weights"] = [1.0, 2.0, 3.0]
    return {name: [*values, *second[name]] for name, values in TREE.items()}


@pytest.mark.parametrize(("aggregate", "expected"), [("SUM", 22), ("AVERAGE", 11), ("MIN", 2), ("MAX", 20)])
def test_trees_are_aggregated_and_base_values_added_after(aggregate: str, expected: float) -> None:
    attributes = {"aggregate_function": aggregate, "base_values": [100.0], **two_trees()}
    assert_gives(node("TreeEnsembleRegressor", 3, floats([2, 6]), **attributes), floats([100 + expected]))


def test_since_3_thresholds_may_be_doubles() -> None:
    x = numpy.array([[1 + 1e-12, 6]])
    attributes = {name: values for name, values in TREE.items() if name != "nodes_values"}
    exact = {**attributes, "nodes_values_as_tensor": tensor([1.0 + 2e-12, 0, 5, 0, 0])}
    assert_gives(node("TreeEnsembleRegressor", 3, x, **exact), floats([10]))
    assert_gives(node("TreeEnsembleRegressor", 3, x, **TREE), floats([20]))


def classes(ids: list[int], weights: list[float]) -> dict[str, Any]:
    renamed = {name.replace("target", "class"): values for name, values in TREE.items()}
    return {**renamed, "class_ids": ids, "class_weights": weights}


def test_the_class_with_the_most_votes_is_the_label() -> None:
    attributes = {"classlabels_strings": ["a", "b", "c"], **classes([0, 2, 1], [1.0, 2.0, 3.0])}
    labels, scores = evaluate(node("TreeEnsembleClassifier", 3, ROWS[:3], outputs=2, **attributes))
    assert labels.tolist() == ["a", "c", "b"]
    assert scores.tolist() == [[1, 0, 0], [0, 0, 2], [0, 3, 0]]


def test_votes_for_the_first_of_two_classes_are_the_probability_of_the_second() -> None:
    attributes = {"classlabels_int64s": [7, 8], **classes([0, 0, 0], [0.25, 0.75, 0.5])}
    labels, scores = evaluate(node("TreeEnsembleClassifier", 3, ROWS[:3], outputs=2, **attributes))
    assert labels.tolist() == [7, 8, 7]
    assert scores.tolist() == [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]


def test_votes_for_the_first_of_two_classes_with_two_base_values_leave_the_second_its_own() -> None:
    attributes = {"classlabels_int64s": [7, 8], **classes([0, 0, 0], [0.25, 0.75, 0.5]), "base_values": [0.0, 0.5]}
    labels, scores = evaluate(node("TreeEnsembleClassifier", 3, ROWS[:3], outputs=2, **attributes))
    assert labels.tolist() == [8, 7, 7]
    assert scores.tolist() == [[0.25, 0.5], [0.75, 0.5], [0.5, 0.5]]


FOREST = {
    "n_targets": 2,
    "tree_roots": [0],
    "nodes_featureids": [0, 1],
    "nodes_modes": tensor(numpy.array([6, 3], numpy.uint8)),
    "nodes_splits": tensor(floats(0, 5)),
    "membership_values": tensor(floats(1, 3, NAN)),
    "nodes_truenodeids": [0, 1],
    "nodes_falsenodeids": [1, 2],
    "nodes_trueleafs": [1, 1],
    "nodes_falseleafs": [0, 1],
    "leaf_targetids": [0, 1, 0],
    "leaf_weights": tensor(floats(10, 20, 30)),
}


def test_tree_ensemble_5_keeps_leaves_apart_and_tests_membership() -> None:
    x = floats([3, 0], [2, 6], [2, 5], [NAN, 6])
    expected = floats([10, 0], [0, 20], [30, 0], [0, 20])
    assert_gives(node("TreeEnsemble", 5, x, **FOREST), expected)
    counted = {name: value for name, value in FOREST.items() if name != "n_targets"}
    assert_gives(node("TreeEnsemble", 5, x, **counted), expected)
    half = {**FOREST, "nodes_splits": tensor(floats(0, 5).astype("float16"))}
    half |= {"leaf_weights": tensor(floats(10, 20, 30).astype("float16"))}
    assert_gives(node("TreeEnsemble", 5, x.astype("float16"), **half), expected.astype("float16"))


@pytest.mark.parametrize(
    ("change", "clause"),
    [
        ({"nodes_truenodeids": [0, 7]}, "must be places of nodes or leaves"),
        ({"leaf_targetids": [0, 2, 0]}, "in [0, 2)"),
        ({"leaf_targetids": [0, 1]}, "must be one per leaf weight"),
        ({"membership_values": tensor(floats(1, NAN, 3, NAN))}, "has 2 sets for 1 nodes"),
        ({"nodes_featureids": [0, 2]}, "one of the input's features"),
        ({"aggregate_function": 4}, "must be 0, 1, 2 or 3"),
    ],
)
def test_a_forest_that_points_nowhere_is_rejected(change: dict[str, Any], clause: str) -> None:
    assert_rejected(node("TreeEnsemble", 5, floats([1, 1]), **{**FOREST, **change}), clause)


def test_ids_of_trees_are_checked() -> None:
    twice = {**TREE, "nodes_nodeids": [0, 1, 2, 3, 3]}
    assert_rejected(node("TreeEnsembleRegressor", 3, ROWS, **twice), "each node id can appear only once")
    lost = {**TREE, "nodes_truenodeids": [1, 0, 9, 0, 0]}
    assert_rejected(node("TreeEnsembleRegressor", 3, ROWS, **lost), "no node of its tree")
    assert_rejected(node("TreeEnsembleRegressor", 3, ROWS, **{**TREE, "target_ids": [0, 1, 0]}), "in [0, 1)")
