"""TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble: all rows walk down all trees at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from opsetlift.evaluator.kernels.ml_scores import floats, labels_of, post_transform, top_classes, two_class_scores
from opsetlift.evaluator.kernels.numeric import as_dtype
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

_DOMAIN = "ai.onnx.ml"
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
_MEMBER, _LEAF = _MODES.index("BRANCH_MEMBER"), _MODES.index("LEAF")
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(frozen=True)
class Forest:
    """Nodes by their place in one list of all; the children of a leaf are the leaf itself."""

    roots: Array
    modes: Array
    features: Array
    splits: Array
    true_nodes: Array
    false_nodes: Array
    missing_to_true: Array
    members: dict[int, Array]
    """The set of each BRANCH_MEMBER node."""

    def leaves(self, x: Array) -> Array:
        """[rows, trees]: the leaf that each row of `x` ends at in each tree."""
        current = numpy.broadcast_to(self.roots, (x.shape[0], self.roots.size)).copy()
        row = numpy.arange(x.shape[0])[:, None]
        for _ in range(self.modes.size):
            if (self.modes[current] == _LEAF).all():
                break
            values = x[row, self.features[current]]
            holds = self._holds(current, values)
            # A missing value goes where the attribute says, false by default, also at BRANCH_NEQ.
            holds = numpy.where(numpy.isnan(values), self.missing_to_true[current], holds)
            current = numpy.where(holds, self.true_nodes[current], self.false_nodes[current])
        return current

    def _holds(self, nodes: Array, values: Array) -> Array:
        modes, splits = self.modes[nodes], self.splits[nodes]
        outcomes = [
            values <= splits,
            values < splits,
            values >= splits,
            values > splits,
            values == splits,
            values != splits,
        ]
        holds = numpy.select([modes == mode for mode in range(len(outcomes))], outcomes, False)
        for node, members in self.members.items():
            here = nodes == node
            if here.any():
                holds[here] = numpy.isin(values[here], members)
        return numpy.asarray(holds)


@dataclass(frozen=True)
class Votes:
    """What the leaves say: `nodes[i]` votes for `targets[i]` with `weights[i]`."""

    nodes: Array
    targets: Array
    weights: Array

    def gathered(self, leaves: Array, targets: int, aggregate: str) -> Array:
        """[rows, targets]: the votes of the reached leaves combined; 0 where a target has none."""
        order = numpy.argsort(self.nodes, kind="stable")
        nodes, vote_targets, weights = self.nodes[order], self.targets[order], self.weights[order]
        first = numpy.searchsorted(nodes, leaves, side="left")
        count = numpy.searchsorted(nodes, leaves, side="right") - first
        shape = (leaves.shape[0], targets)
        start = {"MIN": numpy.inf, "MAX": -numpy.inf}.get(aggregate, 0.0)
        result: Array = numpy.full(shape, start)
        combine = {"MIN": numpy.minimum, "MAX": numpy.maximum}.get(aggregate, numpy.add)
        voted = numpy.zeros(shape, bool)
        for index in range(int(count.max(initial=0))):
            row, tree = numpy.nonzero(count > index)
            vote = first[row, tree] + index
            combine.at(result, (row, vote_targets[vote]), weights[vote])
            voted[row, vote_targets[vote]] = True
        if aggregate == "AVERAGE":
            result = result / max(1, leaves.shape[1])
        return numpy.asarray(numpy.where(voted, result, 0.0))


@kernel("TreeEnsembleRegressor", since=(1, 3, 5), domain=_DOMAIN)
def tree_ensemble_regressor(call: Call, x: Array) -> Array:
    """TreeEnsembleRegressor-1, 3, 5: What the leaves of all trees give for each row.

    Numbers [N, features]. The output is float32 [N, targets].
    """
    targets = call.attributes.get("n_targets") or 1
    aggregate = call.attributes["aggregate_function"]
    if aggregate not in _AGGREGATES:
        call.fail(f"aggregate_function must be one of {', '.join(_AGGREGATES)}, not {aggregate!r}")
    forest, places = _forest_of_ids(call, x)
    votes = _votes_of_ids(call, "target", places, targets)
    scores = votes.gathered(forest.leaves(x.astype(numpy.float64)), targets, aggregate)
    base = _base_values(call, targets)
    return post_transform(call, scores + base).astype(numpy.float32)


@kernel("TreeEnsembleClassifier", since=(1, 3, 5), domain=_DOMAIN)
def tree_ensemble_classifier(call: Call, x: Array) -> tuple[Array, Array]:
    """TreeEnsembleClassifier-1, 3, 5: Classes by the votes of the leaves of all trees.

    Where all votes are for the first of two classes and there is at most one base value, exporters and runtimes mean
    the second class's score; the label is then by the threshold 0.5 where all weights are positive (probabilities),
    else by 0, as in onnxruntime.

    Args:
        call: The trees, the votes of their leaves, the labels, base values, post_transform.
        x: Numbers [N, features].

    Returns:
        Labels [N], int64 or strings, and scores, float32 [N, classes].
    """
    labels = labels_of(call, "classlabels_int64s", "classlabels_strings")
    forest, places = _forest_of_ids(call, x)
    votes = _votes_of_ids(call, "class", places, labels.size)
    scores = votes.gathered(forest.leaves(x.astype(numpy.float64)), labels.size, "SUM")
    base = floats(call, "base_values")
    if labels.size == 2 and base.size < 2 and not votes.targets.any():
        positive = scores[:, 0] + base.sum()
        probabilities = bool((votes.weights >= 0).all())
        chosen = positive.astype(numpy.float32) > (0.5 if probabilities else 0)
        transformed = two_class_scores(call, positive, complementary=probabilities)
        return labels[chosen.astype(int)], transformed.astype(numpy.float32)
    scores = scores + _base_values(call, labels.size)
    return labels[top_classes(scores)], post_transform(call, scores).astype(numpy.float32)


@kernel("TreeEnsemble", since=(5,), domain=_DOMAIN)
def tree_ensemble(call: Call, x: Array) -> Array:
    """TreeEnsemble-5: What the leaves of all trees give for each row.

    Floats [N, features]. The output is [N, targets], of the dtype of x.
    """
    _check_rows(call, x)
    attributes = call.attributes
    leaf_weights = attributes["leaf_weights"].reshape(-1).astype(numpy.float64)
    leaf_targets = numpy.array(attributes["leaf_targetids"], numpy.int64)
    targets = attributes.get("n_targets") or int(leaf_targets.max(initial=-1)) + 1
    number = attributes["aggregate_function"]
    if number not in range(len(_AGGREGATES)):
        call.fail(f"aggregate_function must be 0, 1, 2 or 3, not {number}")
    if leaf_targets.size != leaf_weights.size or not _inside(leaf_targets, targets):
        call.fail(f"leaf_targetids must be one per leaf weight and in [0, {targets})")
    forest = _forest_with_leaves(call, x, leaf_weights.size)
    interior = forest.modes.size - leaf_weights.size
    votes = Votes(numpy.arange(leaf_weights.size) + interior, leaf_targets, leaf_weights)
    scores = votes.gathered(forest.leaves(x.astype(numpy.float64)), targets, _AGGREGATES[number])
    return as_dtype(post_transform(call, scores), x.dtype)


def _check_rows(call: Call, x: Array) -> None:
    if x.ndim != 2:
        call.fail(f"the input must have the shape [N, F], not {list(x.shape)}")


def _inside(values: Array, end: int) -> bool:
    return not values.size or bool(values.min() >= 0 and values.max() < end)


def _base_values(call: Call, count: int) -> Array:
    values = floats(call, "base_values")
    if values.size not in (0, count):
        call.fail(f"the size of base_values must be {count}, not {values.size}")
    return values if values.size else numpy.zeros(count)


def _integers(call: Call, name: str, count: int | None = None) -> Array:
    values = numpy.array(call.attributes.get(name) or (), numpy.int64)
    if count is not None and values.size != count:
        call.fail(f"{name} must have {count} elements, not {values.size}")
    return values


def _forest_of_ids(call: Call, x: Array) -> tuple[Forest, dict[tuple[int, int], int]]:
    """The forest of versions 1 and 3, and the place of each (tree id, node id)."""
    _check_rows(call, x)
    trees = _integers(call, "nodes_treeids")
    ids = _integers(call, "nodes_nodeids", trees.size)
    places = {key: place for place, key in enumerate(zip(trees.tolist(), ids.tolist(), strict=True))}
    if len(places) != trees.size:
        call.fail("each node id can appear only once for each tree id")
    names = call.attributes.get("nodes_modes") or []
    known = {name: mode for mode, name in enumerate(_MODES) if mode != _MEMBER}
    if len(names) != trees.size or not known.keys() >= set(names):
        call.fail(f"nodes_modes must be one of {', '.join(known)} for each node")
    modes = numpy.array([known[name] for name in names], numpy.int64)
    own = numpy.arange(trees.size)
    children = []
    for name in ("nodes_truenodeids", "nodes_falsenodeids"):
        wanted = zip(trees.tolist(), _integers(call, name, trees.size).tolist(), strict=True)
        found = numpy.array([places.get(key, -1) for key in wanted], numpy.int64)
        children.append(numpy.where(modes == _LEAF, own, found))
    if any(child.min(initial=0) < 0 for child in children):
        call.fail("a node's child is no node of its tree")
    splits = floats(call, "nodes_values")
    features = _integers(call, "nodes_featureids", trees.size)
    missing = _missing_to_true(call, trees.size)
    if splits.size != trees.size or not _inside(features[modes != _LEAF], x.shape[1]):
        call.fail("every node needs a value and the id of one of the input's features")
    features = numpy.where(modes == _LEAF, 0, features)
    # "All trees must have their node ids start at 0"; where they need not, the root is the node that is no child.
    is_child = numpy.zeros(trees.size, bool)
    for child in children:
        is_child[child[modes != _LEAF]] = True
    roots = numpy.flatnonzero(~is_child)
    if roots.size != numpy.unique(trees).size:
        call.fail("every tree must have one root")
    return Forest(roots, modes, features, splits, children[0], children[1], missing, {}), places


def _missing_to_true(call: Call, count: int) -> Array:
    values = _integers(call, "nodes_missing_value_tracks_true")
    if values.size not in (0, count):
        call.fail(f"nodes_missing_value_tracks_true must have {count} elements, not {values.size}")
    return values != 0 if values.size else numpy.zeros(count, bool)


def _votes_of_ids(call: Call, prefix: str, places: dict[tuple[int, int], int], targets: int) -> Votes:
    trees = _integers(call, f"{prefix}_treeids")
    ids = _integers(call, f"{prefix}_nodeids", trees.size)
    targets_of = _integers(call, f"{prefix}_ids", trees.size)
    weights = floats(call, f"{prefix}_weights")
    keys = list(zip(trees.tolist(), ids.tolist(), strict=True))
    if weights.size != trees.size or not places.keys() >= set(keys):
        call.fail(f"every vote ({prefix}_*) needs a weight and the ids of one of the nodes")
    if not _inside(targets_of, targets):
        call.fail(f"{prefix}_ids must be in [0, {targets})")
    return Votes(numpy.array([places[key] for key in keys], numpy.int64), targets_of, weights)


def _forest_with_leaves(call: Call, x: Array, leaf_count: int) -> Forest:
    """The forest of version 5, its leaves after its interior nodes."""
    attributes = call.attributes
    modes = attributes["nodes_modes"].reshape(-1).astype(numpy.int64)
    count = modes.size
    if not _inside(modes, _MEMBER + 1):
        call.fail("nodes_modes must be between 0 and 6")
    features = _integers(call, "nodes_featureids", count)
    splits = attributes["nodes_splits"].reshape(-1).astype(numpy.float64)
    if splits.size != count or not _inside(features, x.shape[1]):
        call.fail("every node needs a split and the id of one of the input's features")
    own = numpy.arange(count, count + leaf_count)
    children = []
    for branch in ("true", "false"):
        child = _integers(call, f"nodes_{branch}nodeids", count)
        is_leaf = _integers(call, f"nodes_{branch}leafs", count) != 0
        if not (_inside(child[is_leaf], leaf_count) and _inside(child[~is_leaf], count)):
            call.fail(f"nodes_{branch}nodeids must be places of nodes or leaves")
        children.append(numpy.concatenate([numpy.where(is_leaf, child + count, child), own]))
    roots = _integers(call, "tree_roots")
    if not _inside(roots, count):
        call.fail(f"tree_roots must be in [0, {count})")
    padding = numpy.zeros(leaf_count, numpy.int64)
    return Forest(
        roots,
        numpy.concatenate([modes, numpy.full(leaf_count, _LEAF)]),
        numpy.concatenate([features, padding]),
        numpy.concatenate([splits, padding]),
        children[0],
        children[1],
        numpy.concatenate([_missing_to_true(call, count), padding != 0]),
        _members(call, numpy.flatnonzero(modes == _MEMBER)),
    )


def _members(call: Call, nodes: Array) -> dict[int, Array]:
    """The sets of membership_values, "delimited by NaNs", in the order of their nodes."""
    values = call.attributes.get("membership_values")
    flat: Sequence[float] = [] if values is None else values.reshape(-1).astype(numpy.float64).tolist()
    sets: list[list[float]] = [[]]
    for value in flat:
        if value != value:
            sets.append([])
        else:
            sets[-1].append(value)
    if not sets[-1]:  # a delimiter may also end the list
        sets.pop()
    if len(sets) != nodes.size:
        call.fail(f"membership_values has {len(sets)} sets for {nodes.size} nodes with mode BRANCH_MEMBER")
    return {int(node): numpy.array(members) for node, members in zip(nodes, sets, strict=True)}
