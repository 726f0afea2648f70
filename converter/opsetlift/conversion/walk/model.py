"""The walk through a model: its graph, and the bodies of its functions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from opsetlift.conversion.walk.equal_sites import given_site_key
from opsetlift.conversion.walk.scope import ScopeWalk
from opsetlift.conversion.walk.state import WalkState
from opsetlift.model.scopes import function_key


def walk_model(walk: WalkState) -> None:
    """Take the graph and the functions of a model to the target.

    Args:
        walk: Its `refusals` and `faults` tell afterwards whether the result may be used.
    """
    ScopeWalk(walk, walk.model.graph, walk.facts.graph).run()
    functions = list(zip(walk.facts.model.functions, walk.model.functions, strict=True))
    functions.sort(key=lambda both: function_key(both[0]) not in walk.final_functions)
    for before, function in functions:
        if walk.is_over:
            return
        if function_key(before) not in walk.final_functions:
            walk.ends_when_refused = False
        ScopeWalk(walk, function, walk.facts.function_scope(before)).run()


def kinds_of_nodes(walk: WalkState) -> Sequence[Hashable]:
    """For each node of the graph what only nodes have that are equal in all that rules can ask of them.

    Args:
        walk: The state of a walk that has not begun.
    """
    scope = ScopeWalk(walk, walk.model.graph, walk.facts.graph)
    keys = (given_site_key(index, node, scope) for index, node in enumerate(walk.model.graph.node))
    return [f"node {index}" if key is None else key for index, key in enumerate(keys)]
