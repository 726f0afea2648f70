"""Scores of a LinearClassifier without intercepts, of which onnx's inference (1.23) says that there are none.

It counts the intercepts, which are optional; there is a score for each class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnx import NodeProto, helper

from opsetlift.specification.history import AI_ONNX_ML

_LABELS = frozenset(("classlabels_ints", "classlabels_strings"))


def with_scores_inferred_rightly(node: NodeProto) -> NodeProto:
    """The node, or one with an intercept of 0 for each class."""
    if node.op_type != "LinearClassifier" or node.domain != AI_ONNX_ML:
        return node
    lists = {one.name: len(one.ints or one.strings or one.floats) for one in node.attribute if not one.ref_attr_name}
    if lists.get("intercepts") or any(one.name == "intercepts" and one.ref_attr_name for one in node.attribute):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    kept = [one for one in node.attribute if one.name != "intercepts"]
    del copy.attribute[:]
    copy.attribute.extend(kept)
    copy.attribute.append(helper.make_attribute("intercepts", [0.0] * max(lists.get(name, 0) for name in _LABELS)))
    return copy


def infer_scores_rightly(by_operator: Mapping[str, Iterable[NodeProto]]) -> None:
    """Rewrite all linear classifiers of the nodes by operator, so that inference gives the right shapes."""
    for node in by_operator.get("LinearClassifier", ()):
        read = with_scores_inferred_rightly(node)
        if read is not node:
            node.CopyFrom(read)
