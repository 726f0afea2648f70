"""What becomes of a node, as far as it holds for nodes that are equal to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onnx import NodeProto

from opsetlift.model.def_use import uses_of
from opsetlift.rulebook.trace import AppliedRules


@dataclass(frozen=True)
class ConvertedSite:
    """What became of a node that was converted, as far as it holds for equal ones."""

    applied: AppliedRules
    """The rules that were applied."""
    reads: tuple[int | str, ...]
    """What its nodes read: inputs of the original node, by position, and values that rules have added to the scope."""

    @classmethod
    def of(cls, inputs: Sequence[str], nodes: Iterable[NodeProto], applied: AppliedRules) -> ConvertedSite:
        """What became of a node with these inputs, which `nodes` have replaced."""
        if not applied:
            return cls([], ())
        nodes = list(nodes)
        computed = {name for node in nodes for name in node.output}
        read = dict.fromkeys(name for name in uses_of(nodes) if name and name not in computed)
        return cls(applied, tuple(inputs.index(name) if name in inputs else name for name in read))

    def like_converted(self, node: NodeProto) -> NodeProto:
        """A node that reads what an equal one, converted, would read, so that uses are counted; it computes nothing."""
        reads = [node.input[one] if isinstance(one, int) else one for one in self.reads]
        return NodeProto(domain=node.domain, op_type=node.op_type, name=node.name, input=reads, output=node.output)
