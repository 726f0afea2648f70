"""What a Slice takes, whether attributes say so, as they did up to opset 9, or inputs."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import given, integers
from opsetlift.normalizer.rewriting import Context


@dataclass(frozen=True)
class Slice:
    """The bounds along each axis that is sliced; axes may be counted from the back."""

    starts: list[int]
    ends: list[int]
    axes: list[int]
    steps: list[int]

    def bounds(self, position: int, size: int) -> tuple[int, int]:
        """Where the part along the axis at a position, in steps of 1, starts and ends, from the front."""
        start, end = (bound + size if bound < 0 else bound for bound in (self.starts[position], self.ends[position]))
        return min(max(start, 0), size), min(max(end, 0), size)


def slice_of(node: gs.Node, context: Context) -> Slice | None:
    """What a Slice takes; None where not all of it is constant, or it says more of one axis than of another."""
    if "starts" in node.attrs:
        starts, ends, axes = (node.attrs.get(name) for name in ("starts", "ends", "axes"))
        steps, is_known = None, True
    else:
        starts, ends, axes, steps = (integers(given(node, position), context) for position in (1, 2, 3, 4))
        is_known = all(
            value is not None or given(node, position) is None for position, value in ((3, axes), (4, steps))
        )
    if starts is None or ends is None or not is_known:
        return None
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        return None
    return Slice(list(starts), list(ends), list(axes), list(steps))
