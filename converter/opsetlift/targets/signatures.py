"""How much a runtime knows of operators beside ONNX's own, which have no schemas: attributes and numbers of inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onnx import NodeProto

from opsetlift.support.text import printable
from opsetlift.targets.ranges import Range


@dataclass(frozen=True)
class Signature:
    """What a version of a runtime takes of an operator, as far as other versions take more."""

    inputs: Range = field(default=Range(0, None))
    lacks: frozenset[str] = frozenset()
    """Attributes that it does not know."""

    def objection(self, node: NodeProto) -> str:
        """Why the runtime does not take a node, as the end of a sentence that begins with it; "" where it may do so."""
        unknown = next((one.name for one in node.attribute if one.name in self.lacks), None)
        if unknown is not None:
            return f"has no attribute {printable(unknown)!r} of {node.op_type}"
        if len(node.input) not in self.inputs:
            return f"takes {self.inputs} inputs of {node.op_type}, and the node has {len(node.input)}"
        return ""


Signatures = Mapping[tuple[str, str], Signature]
"""By domain and name."""
