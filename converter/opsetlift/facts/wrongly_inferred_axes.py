"""Axes that onnx's inference (1.23) takes for others, written so that it infers the right shapes.

Before opset 11 the texts of Slice, Squeeze and Unsqueeze do not say that axes may be negative. Exporters wrote such
axes all the same, and runtimes count them from the end; the inference gives shapes that are wrong. It also does so for
a Squeeze whose axes are out of order. Of Concat, Flatten, ArgMax and ArgMin with such an axis it infers no shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnx import AttributeProto, NodeProto

from opsetlift.specification import history

_WRONGLY_INFERRED = frozenset(("Slice", "Squeeze", "Unsqueeze"))
_NOT_INFERRED = frozenset(("Concat", "Flatten", "ArgMax", "ArgMin"))
_MAY_BE_NEGATIVE = 11


def with_axes_inferred_rightly(node: NodeProto, since_version: int, rank: int | None) -> NodeProto | None:
    """The node, or one of the same meaning for which the inference gives the right shape, given the first input's rank.

    None where that depends on the rank, and the rank is not known.
    """
    axes = _wrongly_inferred_axes(node, since_version)
    if axes is None:
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    attribute = next(one for one in copy.attribute if one.name == axes.name)
    if node.op_type in _NOT_INFERRED:
        attribute.i += rank or 0
        return copy if rank is not None else node
    if any(axis < 0 for axis in axes.ints):
        if rank is None:
            return None
        rank += len(axes.ints) if node.op_type == "Unsqueeze" else 0
        attribute.ints[:] = [axis + rank if axis < 0 else axis for axis in axes.ints]
    if node.op_type != "Slice":
        attribute.ints[:] = sorted(attribute.ints)
    return copy


def hide_wrongly_inferred_axes(by_operator: Mapping[str, Iterable[NodeProto]], opset: int) -> None:
    """Give nodes that are inferred wrongly a domain that the inference does not know.

    Args:
        by_operator: Nodes by the name of their operator.
        opset: That of ai.onnx.
    """
    for operator in _WRONGLY_INFERRED | _NOT_INFERRED:
        for node in by_operator.get(operator, ()):
            found = history.definition(node.domain, operator, opset)
            if found is not None and _wrongly_inferred_axes(node, found.since_version) is not None:
                node.domain = "opsetlift.not_inferred"


def _wrongly_inferred_axes(node: NodeProto, since_version: int) -> AttributeProto | None:
    if history.canonical_domain(node.domain) != history.AI_ONNX:
        return None
    if node.op_type in _NOT_INFERRED and since_version < _MAY_BE_NEGATIVE:
        return next((attribute for attribute in node.attribute if attribute.name == "axis" and attribute.i < 0), None)
    if node.op_type not in _WRONGLY_INFERRED:
        return None
    axes = next((attribute for attribute in node.attribute if attribute.name == "axes"), None)
    if axes is None:
        return None
    is_negative = since_version < _MAY_BE_NEGATIVE and any(axis < 0 for axis in axes.ints)
    is_out_of_order = node.op_type == "Squeeze" and axes.ints[:] != sorted(axes.ints)
    return axes if is_negative or is_out_of_order else None
