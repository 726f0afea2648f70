"""Constants become Constant nodes where there are no initializers that nobody overrides.

In graphs up to IR version 3 every initializer is an input, for which callers may give another value; function bodies
have none at all. What rewrites have made constant there is written as a node.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.graphs.traversal import constants_in
from opsetlift.normalizer.rewriting import Context, Pass

_CONSTANTS_OF_ANY_DTYPE = 9


def initializers_as_constants(graph: gs.Graph, context: Context) -> bool:
    """Compute the constants of a graph that cannot hold them by nodes."""
    if context.has_initializers:
        return False
    is_done = False
    for constant in constants_in(graph):
        is_float = constant.dtype in (numpy.float16, numpy.float32, numpy.float64)
        if context.is_outer(constant) or not (is_float or context.opset() >= _CONSTANTS_OF_ANY_DTYPE):
            continue
        values, dtype, shape = held_values(constant), constant.dtype, list(constant.shape)
        constant.to_variable(dtype, shape)
        constant.type = "tensor_type"
        graph.nodes.insert(0, gs.Node("Constant", attrs={"value": gs.Constant("", values)}, outputs=[constant]))
        is_done = True
    return is_done


PASS = Pass(
    name="initializers-as-constants",
    rewrite=initializers_as_constants,
    summary="Write constants as nodes in function bodies, and up to IR version 3, where initializers are inputs.",
)
