"""What no output needs goes: nodes, initializers, and functions that nothing calls."""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.rewriting import Context, Pass


def remove_unused(graph: gs.Graph, context: Context) -> None:
    """Remove dead nodes and unused initializers; with the main graph, uncalled functions, too."""
    context.remove_unused()
    if context.scope == "graph":
        context.remove_unused_functions()


PASS = Pass(
    name="remove-unused",
    rewrite=remove_unused,
    summary="Remove nodes and initializers that no output needs, and functions that nothing calls.",
)
