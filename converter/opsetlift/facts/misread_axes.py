"""Axes that onnx's inference (1.23) takes for others, written so that it does not.

Before opset 11 the texts of Slice, Squeeze and Unsqueeze do not say that axes may be negative. Exporters wrote such
axes all the same, and runtimes count them from the end; the inference gives shapes that are wrong. It also does so for
a Squeeze whose axes are out of order.
"""

from __future__ import annotations

from onnx import AttributeProto, GraphProto, NodeProto

from opsetlift.model.scopes import subgraphs_within
from opsetlift.specification import history

_MISREAD = frozenset(("Slice", "Squeeze", "Unsqueeze"))
_MAY_BE_NEGATIVE = 11


def readable(node: NodeProto, since_version: int, rank: int | None) -> NodeProto | None:
    """The node, or one of the same meaning that the inference reads rightly, where the first input is of that rank.

    None where it takes the rank, and that is not known.
    """
    axes = _misread_axes(node, since_version)
    if axes is None:
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    attribute = next(one for one in copy.attribute if one.name == axes.name)
    if any(axis < 0 for axis in axes.ints):
        if rank is None:
            return None
        rank += len(axes.ints) if node.op_type == "Unsqueeze" else 0
        attribute.ints[:] = [axis + rank if axis < 0 else axis for axis in axes.ints]
    if node.op_type != "Slice":
        attribute.ints[:] = sorted(attribute.ints)
    return copy


def hide_misread(graph: GraphProto, opset: int) -> None:
    """Let nodes that would be misread be of a domain that the inference does not know, here and in subgraphs."""
    for one in (graph, *subgraphs_within(graph)):
        for node in one.node:
            if node.op_type in _MISREAD:
                found = history.definition(node.domain, node.op_type, opset)
                if found is not None and _misread_axes(node, found.since_version) is not None:
                    node.domain = "misread"


def _misread_axes(node: NodeProto, since_version: int) -> AttributeProto | None:
    if node.op_type not in _MISREAD or history.canonical_domain(node.domain) != history.AI_ONNX:
        return None
    axes = next((attribute for attribute in node.attribute if attribute.name == "axes"), None)
    if axes is None:
        return None
    is_negative = since_version < _MAY_BE_NEGATIVE and any(axis < 0 for axis in axes.ints)
    is_out_of_order = node.op_type == "Squeeze" and axes.ints[:] != sorted(axes.ints)
    return axes if is_negative or is_out_of_order else None
