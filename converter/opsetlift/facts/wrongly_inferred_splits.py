"""Pieces of SplitToSequence that lose the axis, which onnx's inference (1.23) lets them keep.

keepdims=0 counts for a scalar `split` of 1 in every onnxruntime; the text, and the inference, ignore it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from onnx import NodeProto, TypeProto

from opsetlift.facts.value_types import rank_of
from opsetlift.model.arrays import Array


def with_splits_inferred_rightly(
    node: NodeProto, type_of: Callable[[str], TypeProto | None], constant: Callable[[str], Array | None] | None
) -> NodeProto:
    """The node, or one of the same meaning for which the inference gives the right shape."""
    if not _may_lose_the_axis(node):
        return node
    length, value = type_of(node.input[1]), constant(node.input[1]) if constant is not None else None
    # No runtime takes another scalar than 1, so that one is meant where it is not known.
    if length is None or rank_of(length) != 0 or (value is not None and int(value) != 1):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    del copy.input[1]
    return copy


def hide_wrongly_inferred_splits(by_operator: Mapping[str, Iterable[NodeProto]]) -> None:
    """Give nodes that may be inferred wrongly a domain that the inference does not know."""
    for node in by_operator.get("SplitToSequence", ()):
        if _may_lose_the_axis(node):
            node.domain = "opsetlift.not_inferred"


def _may_lose_the_axis(node: NodeProto) -> bool:
    if node.op_type != "SplitToSequence" or node.domain or len(node.input) < 2 or not node.input[1]:
        return False
    return any(attribute.name == "keepdims" and attribute.i == 0 for attribute in node.attribute)
