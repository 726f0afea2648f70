"""Helpers that compute ensembles of trees by comparisons and products of matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy

from opsetlift.rulebook.site import Array, Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.forests import Node, root_of

Tree = dict[int, Node]

_ELEMENTS_OF_A_PART = 1 << 18
_MOST_ELEMENTS = 1 << 24
"""Of the matrices of all parts: 64 MiB of floats."""


def sums_of_votes(site: Site, op: Operators, rows: str, trees: Sequence[Tree], targets: int, dtype: str) -> str | None:
    """What the leaves that rows end at vote for each target, added over the trees; None where no tree has a branch.

    A row of the matrix of paths is a comparison: 1 for leaves where it holds, -1 for those where it does not. By
    which hold, it gives each leaf how many do on its path, less those that should not: it is reached where that is how
    many should hold.

    Args:
        site: The node.
        op: Emits nodes.
        rows: [N, features], of `dtype`.
        trees: Those of the ensemble.
        targets: How many there are.
        dtype: float or double.

    Returns:
        [N, targets], of `dtype`. Refuses what takes too many elements.
    """
    single = [tree for tree in trees if len(tree) == 1]
    parts = list(_parts([tree for tree in trees if len(tree) > 1]))
    if not parts:
        return None
    if sum(_size(part) for part in parts) > _MOST_ELEMENTS:
        site.refuse(Why.TARGET, "as products of matrices, the trees would take more than 64 MiB")
    sums = [_sums_of_a_part(site, op, rows, part, targets, dtype) for part in parts]
    total = op.Sum(*sums) if len(sums) > 1 else sums[0]
    offset = sum((_weights([node], targets)[0] for tree in single for node in tree.values()), numpy.zeros(targets))
    return str(op.Add(total, site.constant(offset.tolist(), dtype, "leaves")) if offset.any() else total)


def _size(trees: Sequence[Tree]) -> int:
    nodes = [node for tree in trees for node in tree.values()]
    count = sum(node.is_leaf for node in nodes)
    return count * (len(nodes) - count)


def _parts(trees: Sequence[Tree]) -> Iterator[list[Tree]]:
    """Trees in order, as many at once as give a small matrix."""
    part: list[Tree] = []
    for tree in trees:
        if part and _size([*part, tree]) > _ELEMENTS_OF_A_PART:
            yield part
            part = []
        part.append(tree)
    if part:
        yield part


def _sums_of_a_part(site: Site, op: Operators, rows: str, trees: Sequence[Tree], targets: int, dtype: str) -> str:
    branches = [(number, name) for number, tree in enumerate(trees) for name, node in tree.items() if not node.is_leaf]
    branches.sort(key=lambda place: _compared(trees[place[0]][place[1]]))
    leaves = [node for tree in trees for node in tree.values() if node.is_leaf]
    holding = _holding(site, op, rows, [trees[number][name] for number, name in branches], dtype)
    paths, needed = _paths(site, trees, {place: row for row, place in enumerate(branches)}, len(leaves))
    matches = op.MatMul(holding, site.constant(paths.tolist(), dtype, "paths"))
    # One more than those that are missing, below 0: 1 for the leaf that is reached, and 0 or less for the others.
    reached = op.Relu(op.Add(matches, site.constant((1 - needed).tolist(), dtype, "needed")))
    return str(op.MatMul(reached, site.constant(_weights(leaves, targets).tolist(), dtype, "weights")))


_OPPOSITES = {
    "BRANCH_LEQ": "BRANCH_GT",
    "BRANCH_LT": "BRANCH_GTE",
    "BRANCH_GTE": "BRANCH_LT",
    "BRANCH_GT": "BRANCH_LEQ",
    "BRANCH_EQ": "BRANCH_NEQ",
    "BRANCH_NEQ": "BRANCH_EQ",
}
_COMPARISONS = {
    "BRANCH_LEQ": "LessOrEqual",
    "BRANCH_LT": "Less",
    "BRANCH_GTE": "GreaterOrEqual",
    "BRANCH_GT": "Greater",
    "BRANCH_EQ": "Equal",
}


def _compared(branch: Node) -> str:
    """The mode to compute: the opposite, where a missing value is to take the branch, as none compares to be true."""
    return _OPPOSITES[branch.mode] if branch.missing else branch.mode


def _holding(site: Site, op: Operators, rows: str, branches: Sequence[Node], dtype: str) -> str:
    """1 for each comparison that holds, else 0: [N, branches]; those of a mode stand together."""
    found = []
    for mode in dict.fromkeys(map(_compared, branches)):
        nodes = [node for node in branches if _compared(node) == mode]
        values = op.Gather(rows, site.constant([node.feature for node in nodes], "int64", "features"), axis=1)
        splits = site.constant([node.split for node in nodes], dtype, "splits")
        if mode in _COMPARISONS:
            holds = op.emit(_COMPARISONS[mode], values, splits)
        else:  # of a missing value, which is unequal to all, nothing is less or greater
            holds = op.Or(op.Less(values, splits), op.Greater(values, splits))
        found.append(op.Cast(holds, to=dtype))
    return str(op.Concat(*found, axis=1) if len(found) > 1 else found[0])


def _paths(site: Site, trees: Sequence[Tree], rows: dict[tuple[int, int], int], count: int) -> tuple[Array, Array]:
    """The matrix of paths, [branches, leaves], and how many comparisons hold on the path to each leaf."""
    paths, needed, column = numpy.zeros((len(rows), count)), numpy.zeros(count), 0
    for number, tree in enumerate(trees):
        columns = {name: column + place for place, name in enumerate(one for one in tree if tree[one].is_leaf)}
        column += len(columns)
        pending: list[tuple[int, list[tuple[int, int]]]] = [(root_of(site, tree), [])]
        seen: set[int] = set()
        while pending:
            name, path = pending.pop()
            if name in seen:
                site.refuse(Why.INVALID_MODEL, "a node of a tree is the child of two others, or of itself")
            seen.add(name)
            if name in columns:
                for row, sign in path:
                    paths[row, columns[name]] = sign
                needed[columns[name]] = sum(sign > 0 for _, sign in path)
            else:
                for child, sign in zip(tree[name].children, (-1, 1) if tree[name].missing else (1, -1), strict=True):
                    pending.append((child, [*path, (rows[number, name], sign)]))
    return paths, needed


def _weights(leaves: Sequence[Node], targets: int) -> Array:
    weights = numpy.zeros((len(leaves), targets))
    for row, leaf in enumerate(leaves):
        for target, weight in leaf.votes:
            weights[row, target] += weight
    return weights
