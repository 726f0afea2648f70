"""Helpers for ensembles of trees: the old form, in which leaves are nodes, and the new one, which lists them apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy
from onnx import numpy_helper

from opsetlift.rulebook.site import Array, Site
from opsetlift.support.refusal import Why

BRANCHES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_LEAF = "LEAF"

Vote = tuple[int, float]
"""A target and a weight."""


def tensor(site: Site, name: str) -> Array | None:
    """A tensor attribute as a vector; None where it is absent."""
    found = site.attribute(name)
    return None if found is None else numpy.asarray(numpy_helper.to_array(found)).reshape(-1)


def numbers(site: Site, name: str) -> Array:
    """An attribute that is a list of floats, or a tensor under a name of its own, in double."""
    values = tensor(site, f"{name}_as_tensor")
    return numpy.array(site.attribute(name, []) if values is None else values, numpy.float64)


@dataclass(frozen=True)
class Node:
    """A node of the old form: its comparison, and its children's ids; of a leaf, nothing but its votes."""

    mode: str
    feature: int
    split: float
    missing: int
    children: tuple[int, int]
    """If the comparison holds, and if not."""
    votes: list[Vote] = field(default_factory=list)

    @property
    def is_leaf(self) -> bool:
        """Whether it has votes, and no comparison."""
        return self.mode == _LEAF


def old_trees(site: Site, prefix: str) -> list[dict[int, Node]]:
    """The trees of a node of the old form, by node id; `prefix` is that of its votes."""
    ids = site.attribute("nodes_treeids", [])
    columns = [site.attribute(f"nodes_{name}", []) for name in ("nodeids", "modes", "featureids")]
    columns += [numbers(site, "nodes_values").tolist()]
    columns += [site.attribute("nodes_missing_value_tracks_true") or [0] * len(ids)]
    columns += [site.attribute(f"nodes_{name}", []) for name in ("truenodeids", "falsenodeids")]
    trees: dict[int, dict[int, Node]] = {}
    for tree, node, mode, feature, split, missing, holds, fails in zip(ids, *columns, strict=True):
        name = mode.decode() if isinstance(mode, bytes) else mode
        trees.setdefault(tree, {})[node] = Node(name, feature, split, missing, (holds, fails))
    votes = [site.attribute(f"{prefix}_{name}", []) for name in ("treeids", "nodeids", "ids")]
    for tree, node, target, weight in zip(*votes, numbers(site, f"{prefix}_weights").tolist(), strict=True):
        trees[tree][node].votes.append((target, weight))
    return list(trees.values())


def leaves(trees: list[dict[int, Node]]) -> Iterator[Node]:
    """The leaves of all trees, in order."""
    for tree in trees:
        yield from (node for node in tree.values() if node.is_leaf)


def class_labels(site: Site) -> Array:
    """The labels of a classifier, int64 or texts."""
    texts = [one.decode("utf-8") for one in site.attribute("classlabels_strings", [])]
    if texts:
        return numpy.array(texts, object)
    return numpy.array(site.attribute("classlabels_int64s", []), numpy.int64)


def are_floats(values: Array) -> bool:
    """Whether floats hold doubles as they are."""
    return numpy.array_equal(values.astype(numpy.float32).astype(numpy.float64), values.astype(numpy.float64))


def dtype_for(site: Site, trees: list[dict[int, Node]]) -> str:
    """The dtype float where the input and all numbers are floats, else double."""
    numbers_there = [node.split for tree in trees for node in tree.values()]
    numbers_there += [weight for leaf in leaves(trees) for _, weight in leaf.votes]
    is_float = site.dtype(0) == "float" and are_floats(numpy.array([*numbers_there, *numbers(site, "base_values")]))
    return "float" if is_float else "double"


def root_of(site: Site, tree: dict[int, Node]) -> int:
    """The node that is no child. Refuses trees that have none, or several."""
    children = {child for node in tree.values() if not node.is_leaf for child in node.children}
    roots = tree.keys() - children
    if len(roots) != 1 or not children <= tree.keys():
        site.refuse(
            Why.INVALID_MODEL, "a tree must have exactly one root, and its children must be nodes of the same tree"
        )
    return roots.pop()


@dataclass
class Forest:
    """The attributes of a TreeEnsemble under construction."""

    roots: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    splits: list[float] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    children: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    are_leaves: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    votes: list[Vote] = field(default_factory=list)

    def add_tree(self, site: Site, tree: dict[int, Node], vote: int, filler: Vote | None) -> None:
        """A tree of the old form, of each leaf the vote at one place: past the last `filler`, or else the first."""
        root = root_of(site, tree)
        if tree[root].is_leaf:
            self.add_single_leaf(_chosen(tree[root].votes, vote, filler))
            return
        inner = {name: len(self.modes) + place for place, name in enumerate(n for n in tree if not tree[n].is_leaf)}
        outer = {name: len(self.votes) + place for place, name in enumerate(n for n in tree if tree[n].is_leaf)}
        self.votes += [_chosen(tree[name].votes, vote, filler) for name in outer]
        self.roots.append(inner[root])
        for name in inner:
            node = tree[name]
            self._add_node(BRANCHES.index(node.mode), node.feature, node.split, node.missing)
            for children, are_leaves, child in zip(self.children, self.are_leaves, node.children, strict=True):
                children.append(outer[child] if child in outer else inner[child])
                are_leaves.append(int(child in outer))

    def add_single_leaf(self, vote: Vote) -> None:
        """A tree that is a leaf: "a single entry with true and false branches referencing the same leaf"."""
        self.roots.append(len(self.modes))
        self._add_node(0, 0, 0.0, 0)
        for children, are_leaves in zip(self.children, self.are_leaves, strict=True):
            children.append(len(self.votes))
            are_leaves.append(1)
        self.votes.append(vote)

    def _add_node(self, mode: int, feature: int, split: float, missing: int) -> None:
        self.modes.append(mode)
        self.features.append(feature)
        self.splits.append(split)
        self.missing.append(missing)

    def attributes(self, dtype: Any) -> dict[str, Any]:
        """As TreeEnsemble has them, with numbers of `dtype`."""
        targets, weights = zip(*self.votes, strict=True)
        return {
            "tree_roots": self.roots,
            "nodes_featureids": self.features,
            "nodes_modes": numpy.array(self.modes, numpy.uint8),
            "nodes_splits": numpy.array(self.splits, dtype),
            "nodes_truenodeids": self.children[0],
            "nodes_trueleafs": self.are_leaves[0],
            "nodes_falsenodeids": self.children[1],
            "nodes_falseleafs": self.are_leaves[1],
            "nodes_missing_value_tracks_true": self.missing if any(self.missing) else None,
            "leaf_targetids": list(targets),
            "leaf_weights": numpy.array(weights, dtype),
        }


def _chosen(votes: list[Vote], place: int, filler: Vote | None) -> Vote:
    if place < len(votes):
        return votes[place]
    return votes[0] if filler is None else filler


@dataclass
class OldForest:
    """The attributes of the old form under construction; `limit` is the largest number of nodes."""

    site: Site
    limit: int
    nodes: dict[str, list[Any]] = field(default_factory=dict)
    votes: dict[str, list[Any]] = field(default_factory=dict)
    tree: int = -1
    count: int = 0
    """The number of nodes of the current tree so far."""

    def begin_tree(self) -> None:
        """Begin the next tree."""
        self.tree, self.count = self.tree + 1, 0

    def add_leaf(self, vote: Vote) -> int:
        """A leaf with one vote; its id."""
        target, weight = vote
        node = self.add_node(_LEAF, 0, 0.0, 0)
        for name, value in {"treeids": self.tree, "nodeids": node, "ids": target, "weights": weight}.items():
            self.votes.setdefault(name, []).append(value)
        return node

    def add_node(self, mode: str, feature: int, split: float, missing: int) -> int:
        """A node whose children are set later; its id. Refuses past the limit."""
        columns = {
            "treeids": self.tree,
            "nodeids": self.count,
            "modes": mode,
            "featureids": feature,
            "values": split,
            "missing_value_tracks_true": missing,
            "truenodeids": 0,
            "falsenodeids": 0,
        }
        for name, value in columns.items():
            self.nodes.setdefault(name, []).append(value)
        if len(self.nodes["modes"]) > self.limit:
            self.site.refuse(
                Why.NO_EQUIVALENT, f"written with single comparisons, the trees have more than {self.limit:,} nodes"
            )
        self.count += 1
        return self.count - 1

    def set_child(self, node: int, branch: str, child: int) -> None:
        """Name the child of a node of this tree; `branch` is "true" or "false"."""
        self.nodes[f"{branch}nodeids"][len(self.nodes["modes"]) - self.count + node] = child

    def attributes(self) -> dict[str, Any]:
        """As TreeEnsembleRegressor has them."""
        found = {f"nodes_{name}": values for name, values in self.nodes.items()}
        if not any(found["nodes_missing_value_tracks_true"]):
            del found["nodes_missing_value_tracks_true"]
        return {**found, **{f"target_{name}": values for name, values in self.votes.items()}}
