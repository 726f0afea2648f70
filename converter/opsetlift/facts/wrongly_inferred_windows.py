"""Poolings that onnx's inference (1.23) reads otherwise than runtimes do, written so that it infers the right shapes.

With ceil_mode, windows that start in the end pads do not count. The texts say so from opset 22 on; ONNX's test of
MaxPool-12 and onnxruntime from 1.21 on have it so at every version. The inference counts them below 22, and from 22 on
it leaves out one of them at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onnx import NodeProto, helper

from opsetlift.specification import history

_POOLINGS = frozenset(("AveragePool", "LpPool", "MaxPool"))


@dataclass(frozen=True)
class _Axis:
    """The windows along one axis of a pooling that rounds up."""

    begin: int
    end: int
    stride: int
    span: int

    def may_end_late(self, size: int | str | None) -> bool:
        """Whether a last window may start behind the elements and the pads before them."""
        if not isinstance(size, int):
            return self.end + self.stride > self.span
        room = size + self.begin + self.end - self.span
        return -(-room // self.stride) * self.stride >= size + self.begin


def _axes_of_windows(node: NodeProto) -> list[_Axis]:
    """Those of a pooling with ceil_mode whose attributes are all known; else none."""
    if node.op_type not in _POOLINGS or history.canonical_domain(node.domain) != history.AI_ONNX:
        return []
    if any(attribute.ref_attr_name for attribute in node.attribute):
        return []
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    if not given.get("ceil_mode") or given.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        return []
    kernel = given.get("kernel_shape", [])
    rank = len(kernel)
    strides, dilations = (given.get(name) or [1] * rank for name in ("strides", "dilations"))
    pads = given.get("pads") or [0] * 2 * rank
    if not rank == len(strides) == len(dilations) == len(pads) / 2:
        return []
    spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
    return [_Axis(*one) for one in zip(pads[:rank], pads[rank:], strides, spans, strict=True)]


def with_windows_inferred_rightly(node: NodeProto) -> NodeProto:
    """The node, or one with pads in place of ceil_mode that has as many windows, whatever the input's sizes are."""
    axes = _axes_of_windows(node)
    if not any(axis.may_end_late(None) for axis in axes):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    kept = [attribute for attribute in node.attribute if attribute.name not in ("auto_pad", "ceil_mode", "pads")]
    del copy.attribute[:]
    copy.attribute.extend(kept)
    pads = [*(axis.begin for axis in axes), *(min(axis.end + axis.stride, axis.span) - 1 for axis in axes)]
    copy.attribute.append(helper.make_attribute("pads", pads))
    return copy


def has_late_windows(node: NodeProto, shape: Sequence[int | str | None] | None) -> bool:
    """Whether ceil_mode may give a pooling of an input of that shape a window that starts in the end pads."""
    axes = _axes_of_windows(node)
    sizes = [None] * len(axes) if shape is None or len(shape) != len(axes) + 2 else shape[2:]
    return any(axis.may_end_late(size) for axis, size in zip(axes, sizes, strict=True))


def infer_windows_rightly(by_operator: Mapping[str, Iterable[NodeProto]]) -> None:
    """Rewrite all poolings of the nodes by operator, so that inference gives the right shapes."""
    for operator in _POOLINGS:
        for node in by_operator.get(operator, ()):
            read = with_windows_inferred_rightly(node)
            if read is not node:
                node.CopyFrom(read)
