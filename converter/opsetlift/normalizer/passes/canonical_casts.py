"""A CastLike to a dtype that is known becomes a Cast: the values of the input that names the dtype do not matter.

So constants that exporters cast to the dtype of a computed value are computed ahead, and casts are merged. An input
whose dtype is not known, as in a function that is called with several, leaves the node as it is.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import nodes_of
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.specification.dtypes import element_type


def canonical_casts(graph: gs.Graph, context: Context) -> bool:
    """Name the dtype of each CastLike by an attribute, where it is known."""
    is_done = False
    for node in nodes_of(graph, "CastLike"):
        dtype = context.dtype_of(node.inputs[1])
        if dtype is not None:
            node.op = "Cast"
            node.attrs["to"] = element_type(dtype)
            del node.inputs[1]
            is_done = True
    return is_done


PASS = Pass(
    name="canonical-casts",
    rewrite=canonical_casts,
    summary="A CastLike to a dtype that is known becomes a Cast.",
    operators=frozenset(["CastLike"]),
)
