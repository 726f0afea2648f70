"""The walk through a model: its graph, and the bodies of its functions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from opsetlift.conversion.walk.equal_sites import given_site_key
from opsetlift.conversion.walk.scope import ScopeWalk
from opsetlift.conversion.walk.state import WalkState
from opsetlift.model.scopes import function_key
from opsetlift.specification.history import canonical_domain
from opsetlift.support.refusal import Refusal, Why


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
    _refuse_training(walk)


def _refuse_training(walk: WalkState) -> None:
    """Refuse nodes of training graphs that a rule would have to change: what training computes is not converted."""
    for path, scope in walk.facts.training_scopes.items():
        for node in scope.container.node:
            domain = canonical_domain(node.domain)
            source = scope.imports.get(domain, 0)
            route = walk.routes.find(domain, node.op_type, source, walk.targets.get(domain, source))
            changes = [] if route is None else [one.transition for one in route.transitions if not one.is_unchanged]
            if changes or (route is not None and route.why is not None):
                sentence = f"training graphs are not converted, and {node.op_type} changes: take training_info off"
                where = str(changes[0]) if changes else ""
                name = node.name or next(filter(None, node.output), "")
                walk.refusals.append(Refusal(Why.NO_EQUIVALENT, sentence, node.op_type, name, path, where))


def kinds_of_nodes(walk: WalkState) -> Sequence[Hashable]:
    """For each node of the graph what only nodes have that are equal in all that rules can ask of them.

    Args:
        walk: The state of a walk that has not begun.
    """
    scope = ScopeWalk(walk, walk.model.graph, walk.facts.graph)
    keys = (given_site_key(index, node, scope) for index, node in enumerate(walk.model.graph.node))
    return [f"node {index}" if key is None else key for index, key in enumerate(keys)]
