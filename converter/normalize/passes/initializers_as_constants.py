"""Constants become Constant nodes where initializers would be inputs: in graphs up to IR version 3.

There every initializer is an input that callers may override. What rewrites have made constant is no input, so it is
written as a node. Function bodies have no initializers at all, and are written so without this.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from converter.normalize.rewriting import Context, Pass
from converter.normalize.traversal import constants_in

_CONSTANTS_OF_ANY_DTYPE = 9


def initializers_as_constants(graph: gs.Graph, context: Context) -> None:
    """Compute the constants of a graph that cannot hold them by nodes."""
    if context.has_initializers or context.scope == "function":
        return
    for constant in constants_in(graph):
        is_float = constant.dtype in (numpy.float16, numpy.float32, numpy.float64)
        if context.is_outer(constant) or not (is_float or context.opset() >= _CONSTANTS_OF_ANY_DTYPE):
            continue
        values, dtype, shape = constant._values, constant.dtype, list(constant.shape)
        constant.to_variable(dtype, shape)
        constant.type = "tensor_type"
        graph.nodes.insert(0, gs.Node("Constant", attrs={"value": gs.Constant("", values)}, outputs=[constant]))


PASS = Pass(
    name="initializers-as-constants",
    rewrite=initializers_as_constants,
    summary="Up to IR version 3, where initializers are inputs, constants are nodes.",
)
