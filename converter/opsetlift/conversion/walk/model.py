"""The walk through a model: its graph, and the bodies of its functions."""

from __future__ import annotations

from opsetlift.conversion.walk.scope import ScopeWalk
from opsetlift.conversion.walk.state import WalkState


def walk_model(walk: WalkState) -> None:
    """Take the graph and the functions of a model to the target.

    Args:
        walk: Its `refusals` and `faults` tell afterwards whether the result may be used.
    """
    ScopeWalk(walk, walk.model.graph, walk.facts.graph).run()
    for before, function in zip(walk.facts.model.functions, walk.model.functions, strict=True):
        ScopeWalk(walk, function, walk.facts.function_scope(before)).run()
