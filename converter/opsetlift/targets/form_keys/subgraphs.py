"""Keys of subgraphs: of nodes that have them, and of nodes in them."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.model.def_use import uses_of
from opsetlift.model.loop_bodies import BEFORE_STATES, passed_on_elsewhere
from opsetlift.model.loop_bodies import reads_its_condition as reads_condition
from opsetlift.model.scopes import captured_names, referenced_names, subgraphs
from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key


@key(frozenset)
def within(place: Place, names: frozenset[str]) -> bool:
    """Operators of which one holds the subgraph that it is in, at any depth."""
    around: ScopeFacts | None = place.scope
    while around is not None:
        if around.owner is not None and around.owner.op_type in names:
            return True
        around = around.parent
    return False


@key(bool)
def reads_beyond(place: Place) -> bool:
    """Whether a subgraph of it reads what is computed outside the graph that it is in."""
    named = {name for _, graph in subgraphs(place.node) for name in referenced_names(graph)}
    around = place.scope.parent
    while around is not None:
        if any(around.producer(name) is not None or name in around.index.inputs for name in named):
            return True
        around = around.parent
    return False


@key(bool)
def reads_around(place: Place) -> bool:
    """Whether a subgraph of it reads an input of the graph that it is in, or what a node of that computes."""
    scope = place.scope
    named = {name for _, graph in subgraphs(place.node) for name in captured_names(graph)}
    makers = filter(None, map(scope.producer, named))
    return any(maker.input for maker in makers) or not named.isdisjoint(scope.index.inputs)


@key(bool)
def gives_constants(place: Place) -> bool:
    """Whether a subgraph of it gives a constant."""
    return any(inner.constant(name) is not None for inner, name in _given_by_subgraphs(place.node, place.scope))


@key(bool)
def gives_unranked(place: Place) -> bool:
    """Whether the rank of what a subgraph of it gives is not known."""
    return any(inner.shape(name) is None for inner, name in _given_by_subgraphs(place.node, place.scope))


@key(bool)
def counts_its_runs(place: Place) -> bool:
    """Whether a node in its body other than Reshape reads the body's first input, the number of a loop's run."""
    return any(graph.input and _reads(graph, graph.input[0].name) for _, graph in subgraphs(place.node))


@key(bool)
def reads_its_condition(place: Place) -> bool:
    """Whether a node in its body reads the body's second input, a loop's condition.

    An Identity that copies it to the next run does not count.
    """
    return any(reads_condition(graph) for _, graph in _bodies(place.node))


@key(bool)
def gives_lists(place: Place) -> bool:
    """Whether it is a Loop that gives lists, too: an element of them for each run."""
    node = place.node
    return len(node.output) > len(node.input) - BEFORE_STATES


@key(bool)
def gives_what_no_input_changes(place: Place) -> bool:
    """Whether a state that its body gives is computed from none of the body's inputs."""
    for states, graph in _bodies(place.node):
        changed = {one.name for one in graph.input}
        for one in graph.node:
            if not changed.isdisjoint(uses_of([one])):
                changed.update(one.output)
        if not changed.issuperset(one.name for one in graph.output[1 : 1 + states]):
            return True
    return False


@key(bool)
def gives_views_of_other_states(place: Place) -> bool:
    """Whether a state that its body gives is a copy or view of one of the body's inputs at another place."""
    return any(elsewhere for _, graph in _bodies(place.node) for elsewhere in passed_on_elsewhere(graph))


@key(bool)
def gives_its_run_number(place: Place) -> bool:
    """Whether an output of its body is a copy by Identity of the body's first input, the number of a loop's run."""
    return any(
        one.op_type == "Identity" and one.input[0] == graph.input[0].name and one.output[0] in given
        for _, graph in subgraphs(place.node)
        if graph.input and (given := {info.name for info in graph.output})
        for one in graph.node
    )


@key(bool)
def lists_until_a_condition(place: Place) -> bool:
    """Whether it is a Loop that gives lists of what its runs give, and its body computes whether it goes on."""
    node = place.node
    if len(node.output) <= len(node.input) - BEFORE_STATES:
        return False
    for _, graph in subgraphs(node):
        goes_on, taken = graph.output[0].name, {graph.input[1].name, *(one.name for one in graph.initializer)}
        computes = {name: one for one in graph.node for name in one.output}
        while goes_on in computes and computes[goes_on].op_type == "Identity":
            goes_on = computes[goes_on].input[0]
        if goes_on in computes and goes_on not in taken and computes[goes_on].op_type != "Constant":
            return True
    return False


@key(bool)
def passes_inputs_on(place: Place) -> bool:
    """Whether an output of its body is one of the body's inputs."""
    names = [({one.name for one in graph.input}, graph.output) for _, graph in subgraphs(place.node)]
    return any(one.name in read for read, given in names for one in given)


def _given_by_subgraphs(node: NodeProto, scope: ScopeFacts) -> Iterator[tuple[ScopeFacts, str]]:
    for attribute, graph in subgraphs(node):
        inner = scope.subgraph_of(next(filter(None, node.output)), attribute)
        if inner is not None:
            yield from ((inner, info.name) for info in graph.output)


def _bodies(node: NodeProto) -> Iterator[tuple[int, GraphProto]]:
    """The number of states of a loop, and its body."""
    for _, graph in subgraphs(node):
        if len(graph.input) > 1:
            yield len(graph.input) - BEFORE_STATES, graph


def _reads(graph: GraphProto, name: str) -> bool:
    return any(
        (name in node.input and node.op_type != "Reshape") or any(_reads(inner, name) for _, inner in subgraphs(node))
        for node in graph.node
    )
