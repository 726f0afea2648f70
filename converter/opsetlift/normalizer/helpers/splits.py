"""How the versions of Split are told the sizes of the parts."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import become, vector
from opsetlift.normalizer.rewriting import Context

FIRST_SPLIT_BY_ATTRIBUTE = 2
_SPLIT_AS_INPUT = 13


def become_split(node: gs.Node, data: gs.Tensor, sizes: Sequence[int], axis: int, context: Context) -> None:
    """Make the node a Split of `data` into parts of `sizes`; its outputs are left as they are."""
    if context.opset() < _SPLIT_AS_INPUT:
        become(node, "Split", [data], {"axis": axis, "split": list(sizes)})
    else:
        become(node, "Split", [data, vector(sizes, f"{data.name}_sizes", context)], {"axis": axis})
