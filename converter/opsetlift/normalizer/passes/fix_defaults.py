"""Inputs with a default value become constants.

Up to IR version 3 every initializer had to be an input, whether or not anybody meant callers to replace weights. As
long as they are inputs, nothing can be folded into them. This changes the interface, by inputs that may be left out,
so it runs only where it is asked for; the IR version becomes 4 at least.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.rewriting import Context, Pass


def fix_defaults(graph: gs.Graph, context: Context) -> None:
    """Let the main graph keep its defaults to itself."""
    if context.scope == "graph":
        context.fix_defaults()


PASS = Pass(
    name="fix-defaults",
    rewrite=fix_defaults,
    summary="Make inputs with a default value constants, which callers can no longer override.",
    is_default=False,
)
