"""Ensembles of trees of ai.onnx.ml for runtimes that have none, or that compute with votes for all classes alone.

TreeEnsembleClassifier, TreeEnsembleRegressor  as from version 1 on (tree_ensembles.py)
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, rounding
from opsetlift.rulebook.site import Operators, Site
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.forests import class_labels, dtype_for, leaves, numbers, old_trees
from opsetlift_rules.helpers.learnt_models import DOMAIN, TRANSFORMS, TWO, cast, label_at, rows_of, transformed
from opsetlift_rules.helpers.tree_products import sums_of_votes


def vote_for_all_targets_or_multiply(site: Site) -> None:
    """Give TreeEnsembleRegressor the votes that it leaves out; without a kernel, write products of matrices.

    Sums and averages alone, of which votes of 0 change nothing.
    """
    aggregate, transform = site.attribute("aggregate_function", "SUM"), site.attribute("post_transform", "NONE")
    targets = site.attribute("n_targets") or 1
    if aggregate not in ("SUM", "AVERAGE"):
        return
    if site.computes("TreeEnsembleRegressor", T=site.dtype(0)):
        _vote_for_all(site, "target", targets)
        return
    if transform not in TRANSFORMS:
        return
    trees = old_trees(site, "target")
    op, dtype = site.op_at(opsets.AXES_AS_INPUTS, ""), dtype_for(site, trees)
    sums = sums_of_votes(site, op, rows_of(site, op, dtype), trees, targets, dtype)
    if sums is None:
        return
    site.rounds()
    if aggregate == "AVERAGE":
        sums = str(op.Div(sums, site.constant(float(len(trees)), dtype, "trees")))
    scores = transformed(op, transform, _with_base_values(site, op, sums, dtype))
    site.replace(cast(op, scores, dtype, "float"))


def vote_for_all_classes_or_multiply(site: Site) -> None:
    """Give TreeEnsembleClassifier the votes that it leaves out; without a kernel, write products of matrices.

    One score of two classes is summed by TreeEnsembleRegressor where the runtime gives another one. Votes for one of
    two classes alone mean something else: the score of the second class, and the class by a threshold. The texts leave
    open that and the score of the other class: both are as in runtimes.
    """
    labels, transform = class_labels(site), site.attribute("post_transform", "NONE")
    has_kernel = site.computes("TreeEnsembleClassifier", T1=site.dtype(0))
    if has_kernel and len(labels) > TWO:
        _vote_for_all(site, "class", len(labels))
        return
    if transform not in TRANSFORMS:
        return
    trees, base = old_trees(site, "class"), numbers(site, "base_values")
    votes = [vote for leaf in leaves(trees) for vote in leaf.votes]
    is_one_score = len(labels) == TWO and len(base) < TWO and not any(target for target, _ in votes)
    op, dtype = site.op_at(opsets.AXES_AS_INPUTS, ""), dtype_for(site, trees)
    if has_kernel:
        if not is_one_score or dtype != "float" or not site.computes("TreeEnsembleRegressor", T=site.dtype(0)):
            return
        scores = _summed_by_a_regressor(site)
    else:
        sums = sums_of_votes(site, op, rows_of(site, op, dtype), trees, 1 if is_one_score else len(labels), dtype)
        if sums is None:
            return
        scores = _with_base_values(site, op, sums, dtype)
    site.rounds()
    # The class is decided by the scores as floats, which is what the node gives.
    given = cast(op, scores, dtype, "float")
    if is_one_score:
        is_probability = all(weight >= 0 for _, weight in votes)
        limit = site.constant(0.5 if is_probability else 0.0, "float", "threshold")
        place = op.Cast(op.Greater(op.Squeeze(given, site.constant([1], "int64")), limit), to="int64")
        is_complement = is_probability and transform == "NONE"
        other = op.Sub(site.constant(1.0, dtype, "one"), scores) if is_complement else op.Neg(scores)
        scores = str(op.Concat(other, scores, axis=1))
    else:
        place = op.ArgMax(given, axis=1, keepdims=0)
    label = label_at(site, op, labels, place) if site.is_read(0) else None
    site.replace(label, cast(op, transformed(op, transform, scores), dtype, "float") if site.is_read(1) else None)


def _summed_by_a_regressor(site: Site) -> str:
    """The one score of a classifier with a single one, in float: its trees give it as a target."""
    names = [name for name in _OF_NODES if site.attribute(f"nodes_{name}") is not None]
    nodes = {f"nodes_{name}": site.attribute(f"nodes_{name}") for name in names}
    votes = {f"target_{name}": site.attribute(f"class_{name}") for name in _OF_VOTES}
    base = numbers(site, "base_values").tolist()
    result = site.op.TreeEnsembleRegressor(
        site.input(0), n_targets=1, **nodes, **votes, **({"base_values": base} if base else {})
    )
    site.op.declare(result, "float", [None, 1])
    return str(result)


def _vote_for_all(site: Site, prefix: str, count: int) -> None:
    """Let each leaf of a tree vote for all classes or targets, with 0 where it did not. Sums stay the same."""
    tree, *_ = dict.fromkeys(site.attribute("nodes_treeids", []))
    nodes = zip(*(site.attribute(f"nodes_{name}", []) for name in ("treeids", "nodeids", "modes")), strict=True)
    leaves_of_it = [node for owner, node, mode in nodes if owner == tree and mode in ("LEAF", b"LEAF")]
    columns = [list(site.attribute(f"{prefix}_{name}", [])) for name in ("treeids", "nodeids", "ids", "weights")]
    voted = set(zip(*columns[:3], strict=True))
    for vote in [(tree, node, target) for node in leaves_of_it for target in range(count)]:
        if vote not in voted:
            for column, number in zip(columns, (*vote, 0.0), strict=True):
                column.append(number)
    for name, column in zip(("treeids", "nodeids", "ids", "weights"), columns, strict=True):
        site.set_attribute(f"{prefix}_{name}", column)


def _with_base_values(site: Site, op: Operators, sums: str, dtype: str) -> str:
    base = numbers(site, "base_values")
    return str(op.Add(sums, site.constant(base.tolist(), dtype, "base_values"))) if base.any() else sums


_OF_NODES = (
    "treeids",
    "nodeids",
    "featureids",
    "values",
    "hitrates",
    "modes",
    "truenodeids",
    "falsenodeids",
    "missing_value_tracks_true",
)
_OF_VOTES = ("treeids", "nodeids", "ids", "weights")

_ONE_BY_ONE = "products, sums and transforms are rounded one after the other"
_REGRESSOR = rounding(
    vote_for_all_targets_or_multiply, ulps=8, when="the runtime has no TreeEnsembleRegressor", because=_ONE_BY_ONE
)
_CLASSIFIER = rounding(
    vote_for_all_classes_or_multiply,
    ulps=8,
    when="the runtime has no TreeEnsembleClassifier, or another score",
    because=_ONE_BY_ONE,
)

FALLBACKS = [
    Fallback("TreeEnsembleRegressor", _REGRESSOR, domain=DOMAIN),
    Fallback("TreeEnsembleClassifier", _CLASSIFIER, domain=DOMAIN),
]
