"""Ensembles of trees, of ai.onnx.ml.

TreeEnsembleClassifier, TreeEnsembleRegressor  3: thresholds and weights also as tensors of doubles · 5: deprecated
TreeEnsemble                                   5: introduced, with leaves apart from nodes, one vote each
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy

from opsetlift.rulebook.rule import Introduction, Step, rounding, unchanged
from opsetlift.rulebook.site import Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.forests import (
    BRANCHES,
    Forest,
    Node,
    OldForest,
    Vote,
    are_floats,
    class_labels,
    dtype_for,
    leaves,
    numbers,
    old_trees,
    tensor,
)

_DOMAIN = "ai.onnx.ml"
_MEMBER = len(BRANCHES)
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_OPERATORS = {"SOFTMAX": "Softmax", "LOGISTIC": "Sigmoid"}
"""Transforms that are operators. They are written as such: onnxruntime numbers these two of TreeEnsemble the other way
round."""

_MOST_NODES = 1 << 20


# 1 and 3


def convert_tensors_to_lists(site: Site) -> None:
    """Write the double tensors of version 3 as lists of floats, which version 1 has, where floats hold them."""
    site.remove_attribute("nodes_hitrates_as_tensor")
    for name in ("base_values", "class_weights", "target_weights", "nodes_values"):
        values = tensor(site, f"{name}_as_tensor")
        if values is not None:
            if not are_floats(values):
                site.refuse(
                    Why.NO_EQUIVALENT,
                    f"{name} is a list of floats below version 3, and floats do not hold these doubles",
                )
            site.remove_attribute(f"{name}_as_tensor")
            site.set_attribute(name, values.astype(float).tolist())


# From 3 to 5


@dataclass(frozen=True)
class _Scores:
    """The trees whose weights are aggregated, and the base values."""

    trees: list[dict[int, Node]]
    base: list[Vote]
    targets: int
    aggregate: str = "SUM"


def replace_regressor_with_tree_ensemble(site: Site) -> None:
    """Replace TreeEnsembleRegressor-3 with TreeEnsemble-5: one tree for each weight of a leaf.

    A base value is a tree that is a leaf.
    """
    trees = old_trees(site, "target")
    targets = site.attribute("n_targets") or 1
    aggregate, transform = site.attribute("aggregate_function", "SUM"), site.attribute("post_transform", "NONE")
    base = list(enumerate(numbers(site, "base_values").tolist()))
    votes = [len(leaf.votes) for leaf in leaves(trees)]
    dtype, later = dtype_for(site, trees), []
    if aggregate == "AVERAGE" and (base or max(votes) > 1):
        site.rounds()
        dtype, aggregate = "double", "SUM"
        trees = [_divided(tree, len(trees)) for tree in trees]
    elif aggregate in ("MIN", "MAX"):
        if min(votes) == 0:
            site.refuse(
                Why.NO_EQUIVALENT, f"{aggregate} skips leaves without a weight, and each leaf of TreeEnsemble has one"
            )
        if base and transform != "NONE":
            site.refuse(Why.NO_EQUIVALENT, f"TreeEnsemble adds no base values between {aggregate} and {transform}")
        later, base = base, []
    if later or transform in _OPERATORS:
        dtype = "double"
    value = _as(site, site.input(0), dtype)
    scores = _transformed(site, value, _Scores(trees, base, targets, aggregate), transform, dtype)
    if later:
        offsets = numpy.array([weight for _, weight in later])
        scores = site.op_at(opsets.BFLOAT16, "").Add(scores, site.constant(offsets, hint="base_values"))
    site.replace(_as(site, scores, "float"))


def _divided(tree: dict[int, Node], count: int) -> dict[int, Node]:
    return {
        name: Node(
            node.mode,
            node.feature,
            node.split,
            node.missing,
            node.children,
            [(target, weight / count) for target, weight in node.votes],
        )
        for name, node in tree.items()
    }


def replace_classifier_with_tree_ensemble(site: Site) -> None:
    """Replace TreeEnsembleClassifier-3 with TreeEnsemble-5 and ArgMax; two classes with one score use a threshold.

    The texts leave open the threshold and the score of the other class: both are as in runtimes.
    """
    trees, base = old_trees(site, "class"), list(enumerate(numbers(site, "base_values").tolist()))
    labels, transform = class_labels(site), site.attribute("post_transform", "NONE")
    value = _as(site, site.input(0), "double")
    votes = [vote for leaf in leaves(trees) for vote in leaf.votes]
    if len(labels) == 2 and len(base) < 2 and not any(target for target, _ in votes):
        top, scores = _of_two(site, value, _Scores(trees, base, 1), transform)
    else:
        sums = _Scores(trees, base, len(labels))
        scores = _tree_ensemble(site, value, sums, "NONE", "double")
        # The class is decided by the scores as floats, which is what the node gives.
        top = site.op_at(opsets.BFLOAT16, "").ArgMax(_as(site, scores, "float"), axis=1, keepdims=0)
        if transform in _OPERATORS:
            scores = _by_operator(site, scores, transform)
        elif transform != "NONE":
            scores = _tree_ensemble(site, value, sums, transform, "double")
    labelled = site.op_at(opsets.NON_NEGATIVE_INDICES, "").Gather(site.constant(labels, hint="labels"), top, axis=0)
    site.replace(labelled, _as(site, scores, "float"))


def _of_two(site: Site, value: str, sums: _Scores, transform: str) -> tuple[str, str]:
    """The class, and the scores of both classes, of which the trees compute the second."""
    op = site.op_at(opsets.AXES_AS_INPUTS, "")
    is_probability = all(weight >= 0 for leaf in leaves(sums.trees) for _, weight in leaf.votes)
    positive = _tree_ensemble(site, value, sums, "NONE", "double")
    threshold = site.constant(0.5 if is_probability else 0, "float", "threshold")
    is_positive = op.Greater(op.Squeeze(_as(site, positive, "float"), site.constant([1], "int64")), threshold)
    top = op.Cast(is_positive, to="int64")
    if transform == "NONE" and is_probability:
        return top, op.Concat(op.Sub(site.constant(1, "double", "one"), positive), positive, axis=1)
    if transform == "NONE" or transform in _OPERATORS:
        scores = op.Concat(op.Neg(positive), positive, axis=1)
        return top, scores if transform == "NONE" else _by_operator(site, scores, transform)
    trees = [{name: _with_both_scores(node) for name, node in tree.items()} for tree in sums.trees]
    base = [vote for _, weight in sums.base for vote in ((1, weight), (0, -weight))]
    if is_probability and transform == "PROBIT":
        base.append((0, 1.0))
    return top, _tree_ensemble(site, value, _Scores(trees, base, 2), transform, "double")


def _with_both_scores(node: Node) -> Node:
    votes = [vote for _, weight in node.votes for vote in ((1, weight), (0, -weight))]
    return Node(node.mode, node.feature, node.split, node.missing, node.children, votes)


def _as(site: Site, value: str, dtype: str) -> str:
    return value if site.dtype(value) == dtype else str(site.op_at(opsets.BFLOAT16, "").Cast(value, to=dtype))


def _transformed(site: Site, value: str, scores: _Scores, transform: str, dtype: str) -> str:
    if transform not in _OPERATORS:
        return _tree_ensemble(site, value, scores, transform, dtype)
    return _by_operator(site, _tree_ensemble(site, value, scores, "NONE", dtype), transform)


def _by_operator(site: Site, scores: str, transform: str) -> str:
    site.rounds()
    op, attributes = site.op_at(opsets.BFLOAT16, ""), {"axis": 1} if transform == "SOFTMAX" else {}
    return str(getattr(op, _OPERATORS[transform])(scores, **attributes))


def _tree_ensemble(site: Site, value: str, scores: _Scores, transform: str, dtype: str) -> str:
    forest = Forest()
    filler = None if scores.aggregate in ("MIN", "MAX") else (0, 0.0)
    rounds = max((len(leaf.votes) for leaf in leaves(scores.trees)), default=0)
    for vote in range(max(rounds, 1)):
        for tree in scores.trees:
            forest.add_tree(site, tree, vote, filler)
    for vote_of_base in scores.base:
        forest.add_single_leaf(vote_of_base)
    result = site.op.TreeEnsemble(
        value,
        n_targets=scores.targets,
        aggregate_function=_AGGREGATES.index(scores.aggregate),
        post_transform=_TRANSFORMS.index(transform),
        **forest.attributes(numpy.float32 if dtype == "float" else numpy.float64),
    )
    site.op.declare(result, dtype, [None, scores.targets])
    return str(result)


# From 5 down


def replace_with_tree_ensemble_regressor(site: Site) -> None:
    """Replace TreeEnsemble-5 with TreeEnsembleRegressor-3; a set membership becomes a chain of comparisons."""
    dtype = site.dtype(0)
    if dtype == "double":
        site.refuse(
            Why.NO_EQUIVALENT, "tree ensembles compute in float below version 5, and here they compute in double"
        )
    if dtype == "float16":
        site.rounds()
    targets, weights = site.attribute("leaf_targetids"), tensor(site, "leaf_weights")
    assert weights is not None
    votes = list(zip(targets, weights.astype(float).tolist(), strict=True))
    forest = OldForest(site, _MOST_NODES)
    comparisons = _comparisons(site)
    children = [
        list(zip(site.attribute(f"nodes_{name}nodeids"), site.attribute(f"nodes_{name}leafs"), strict=True))
        for name in ("true", "false")
    ]
    for root in site.attribute("tree_roots"):
        _add_tree(forest, root, comparisons, children, votes)
    result = site.op.TreeEnsembleRegressor(
        _as(site, site.input(0), "float"),
        n_targets=site.attribute("n_targets") or max(targets) + 1,
        aggregate_function=_AGGREGATES[site.attribute("aggregate_function", 1)],
        post_transform=_TRANSFORMS[site.attribute("post_transform", 0)],
        **forest.attributes(),
    )
    site.replace(_as(site, result, dtype))


Comparison = tuple[str, int, float, int]
"""The mode, the feature, the split value, and whether a missing value takes the true branch."""


def _comparisons(site: Site) -> list[list[Comparison]]:
    """The comparisons of each node, one of which must hold; a set has several."""
    modes, splits = tensor(site, "nodes_modes"), tensor(site, "nodes_splits")
    assert modes is not None
    assert splits is not None
    missing = site.attribute("nodes_missing_value_tracks_true") or [0] * len(modes)
    sets = _member_sets(site)
    columns = (modes.tolist(), site.attribute("nodes_featureids"), splits.astype(float).tolist(), missing)
    found = []
    for mode, feature, split, tracks in zip(*columns, strict=True):
        if mode != _MEMBER:
            found.append([(BRANCHES[mode], feature, split, tracks)])
            continue
        members = sets.pop(0)
        # Nothing is less than -inf: so is an empty set.
        found.append(
            [("BRANCH_EQ", feature, one, tracks) for one in members] or [("BRANCH_LT", feature, -numpy.inf, tracks)]
        )
    return found


def _member_sets(site: Site) -> list[list[float]]:
    """The sets, "delimited by NaNs"."""
    values = tensor(site, "membership_values")
    sets: list[list[float]] = [[]]
    for value in [] if values is None else values.astype(float).tolist():
        if value != value:
            sets.append([])
        else:
            sets[-1].append(value)
    return sets


def _add_tree(
    forest: OldForest,
    root: int,
    comparisons: list[list[Comparison]],
    children: list[list[tuple[int, int]]],
    votes: list[Vote],
) -> None:
    forest.begin_tree()
    pending: list[tuple[int, int, int, str]] = [(root, 0, -1, "")]
    while pending:
        place, is_leaf, parent, branch = pending.pop()
        if is_leaf:
            added = forest.add_leaf(votes[place])
        else:
            chain = [forest.add_node(*comparison) for comparison in comparisons[place]]
            added = chain[0]
            for one, following in pairwise(chain):
                forest.set_child(one, "false", following)
            pending.append((*children[1][place], chain[-1], "false"))
            pending += [(*children[0][place], one, "true") for one in reversed(chain)]
        if branch:
            forest.set_child(parent, branch, added)


_TENSORS = "3 adds tensors as an alternative to lists"
_DEPRECATED = "5 only deprecates the operator"
_OPERATOR_OF_ITS_OWN = "a separate operator computes the transform, in double"
_CLASSIFIER = rounding(
    replace_classifier_with_tree_ensemble,
    ulps=1,
    when="post_transform is SOFTMAX or LOGISTIC",
    because=_OPERATOR_OF_ITS_OWN,
)
_REGRESSOR = rounding(
    replace_regressor_with_tree_ensemble,
    ulps=1,
    when="post_transform is SOFTMAX or LOGISTIC, or base values or several votes of a leaf are averaged",
    because=f"{_OPERATOR_OF_ITS_OWN}; each weight, instead of the sum, is divided by the number of trees",
)

STEPS = [
    Step("TreeEnsembleClassifier", 1, 3, up=unchanged, down=convert_tensors_to_lists, because=_TENSORS, domain=_DOMAIN),
    Step("TreeEnsembleClassifier", 3, 5, up=_CLASSIFIER, down=unchanged, because=_DEPRECATED, domain=_DOMAIN),
    Step("TreeEnsembleRegressor", 1, 3, up=unchanged, down=convert_tensors_to_lists, because=_TENSORS, domain=_DOMAIN),
    Step("TreeEnsembleRegressor", 3, 5, up=_REGRESSOR, down=unchanged, because=_DEPRECATED, domain=_DOMAIN),
]

_REPLACE_WITH_TREE_ENSEMBLE_REGRESSOR = rounding(
    replace_with_tree_ensemble_regressor,
    ulps=1,
    when="the dtype is float16",
    because="computed in float and rounded to float16 once",
)

INTRODUCTIONS = [
    Introduction("TreeEnsemble", 5, down=_REPLACE_WITH_TREE_ENSEMBLE_REGRESSOR, domain=_DOMAIN),
]
