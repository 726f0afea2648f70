"""Nodes without a name, or with one that another node has, are named for what they compute.

A node that computes "hidden" becomes "hidden"; where that is taken it is numbered. Names of values stay.
"""

from __future__ import annotations

from collections import Counter

import onnx_graphsurgeon as gs

from opsetlift.normalizer.rewriting import Context, Pass


def name_nodes(graph: gs.Graph, context: Context) -> bool:
    """Give names to the nodes of this graph, in its order; the first of several keeps its name."""
    is_done = False
    taken = Counter(node.name for node in graph.nodes if node.name)
    seen: set[str] = set()
    for node in graph.nodes:
        if node.name and node.name not in seen:
            seen.add(node.name)
            continue
        base = next((output.name for output in node.outputs if not output.is_empty()), node.op)
        name, number = base, 0
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken[name] += 1
        seen.add(name)
        node.name = name
        is_done = True
    return is_done


PASS = Pass(
    name="name-nodes",
    rewrite=name_nodes,
    summary="Name nodes that have no name, or share one, after what they compute.",
)
