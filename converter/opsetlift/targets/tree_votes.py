"""What the leaves of an ensemble of trees of ai.onnx.ml vote for: some runtimes compute with votes for all alone."""

from __future__ import annotations

from onnx import NodeProto, helper


def may_leave_out_votes(node: NodeProto) -> bool:
    """Whether a class or target may get no vote: there is no tree of which each leaf votes for it."""
    given = {one.name: helper.get_attribute_value(one) for one in node.attribute}
    labels = given.get("classlabels_int64s") or given.get("classlabels_strings")
    prefix, count = ("class", len(labels)) if labels else ("target", given.get("n_targets", 1))
    votes = set(zip(*(given.get(f"{prefix}_{name}", []) for name in ("treeids", "nodeids", "ids")), strict=False))
    leaves: dict[int, list[int]] = {}
    for tree, place, mode in zip(*(given.get(f"nodes_{name}", []) for name in _COLUMNS), strict=False):
        if mode == b"LEAF":
            leaves.setdefault(tree, []).append(place)
    return not all(
        any(all((tree, place, target) in votes for place in places) for tree, places in leaves.items())
        for target in range(count)
    )


_COLUMNS = ("treeids", "nodeids", "modes")
