"""A reduction over several axes becomes one for each axis, the last axis first: for what reduces one axis at a time.

Where the order does not matter, bit for bit: integers and booleans, as with `merge-reductions`, whose work this undoes.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import nodes_of, rank_of
from opsetlift.normalizer.helpers.reductions import ORDERLESS, is_of_whole_numbers, reduce_by, reduced_axes
from opsetlift.normalizer.rewriting import Context, Pass


def split_reductions(graph: gs.Graph, context: Context) -> None:
    """Put a reduction of its kind in front of a node for every axis but the first."""
    for node in nodes_of(graph, *ORDERLESS):
        rank = rank_of(node.inputs[0], context)
        axes = reduced_axes(node, rank, context) if rank is not None else None
        if axes is None or len(axes) < 2 or not is_of_whole_numbers(node, context):
            continue
        first, *others = sorted(axes)
        data = node.inputs[0]
        for axis in reversed(others):
            # Axes are taken from behind, so that those in front keep their numbers.
            result = gs.Variable(context.fresh_name(f"{node.outputs[0].name}_reduced"))
            step = gs.Node(node.op, attrs=dict(node.attrs), inputs=[data], outputs=[result], domain=node.domain)
            graph.nodes.append(step)
            reduce_by(step, data, [axis], context)
            context.inherit(step, node)
            data = result
        reduce_by(node, data, [first], context)


PASS = Pass(
    name="split-reductions",
    rewrite=split_reductions,
    summary="Split reductions of integers and booleans over several axes into one per axis.",
    is_default=False,
    operators=frozenset(ORDERLESS),
    undoes="merge-reductions",
)
