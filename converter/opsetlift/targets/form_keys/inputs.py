"""Keys of inputs: which there are, and whether they are constants or computed."""

from __future__ import annotations

from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.model.scopes import subgraphs
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key
from opsetlift.targets.form_keys.shared import MOST_STEPS_BEHIND, has_open_first_size, is_stored

_GIVING_SIZES = frozenset(["Shape", "Size"])

_MOST_STEPS_FROM_SIZES = 8
"""How many nodes may stand between sizes and what is computed from them."""


@key(frozenset)
def input_counts(place: Place, names: frozenset[int]) -> bool:
    """Numbers of inputs of which it has one."""
    return len(place.node.input) in names


@key(bool)
def ends_with_absent_input(place: Place) -> bool:
    """Whether the last of its inputs has no name, and could be left out."""
    node = place.node
    return bool(node.input) and (not node.input[-1])


@key(frozenset)
def has_inputs(place: Place, names: frozenset[str]) -> bool:
    """Optional inputs, by their names in the schema, that the node has."""
    present = {one.formal for one in place.inputs}
    return present >= names


@key(frozenset)
def lacks_inputs(place: Place, names: frozenset[str]) -> bool:
    """Optional inputs that it leaves out."""
    return names.isdisjoint(one.formal for one in place.inputs)


@key(frozenset)
def known_inputs(place: Place, names: frozenset[str]) -> bool:
    """Inputs that are constants and not computed from others."""
    asked = (one for one in place.inputs if one.formal in names)
    return names <= {one.formal for one in asked if place.is_known(one.name) and is_stored(one.name, place.scope)}


@key(frozenset)
def overridable_inputs(place: Place, names: frozenset[str]) -> bool:
    """Inputs that are initializers, for which callers may give other values."""
    return place.reads_each(names, _is_overridable)


@key(frozenset)
def computed_inputs(place: Place, names: frozenset[str]) -> bool:
    """Inputs that are no constants."""
    asked = (one for one in place.inputs if one.formal in names)
    return names <= {one.formal for one in asked if not place.is_known(one.name)}


@key(bool)
def repeats_an_input(place: Place) -> bool:
    """Whether a value is two of its inputs."""
    node = place.node
    return len({*filter(None, node.input)}) < len([*filter(None, node.input)])


@key(bool)
def is_constant(place: Place) -> bool:
    """Whether all of its inputs are constants, and none is absent."""
    return all(name and place.is_known(name) for name in place.node.input)


@key(bool)
def reads_folded(place: Place) -> bool:
    """Whether a node computes an input from constants alone."""
    return any(_is_folded(name, place) for name in place.node.input if name)


@key(bool)
def folds_what_graphs_inside_read(place: Place) -> bool:
    """Whether its inputs are constants, and a graph inside its own graph reads one of them that is from further out."""
    node, scope = place.node, place.scope
    own = scope.index
    outer = {one for one in node.input if scope.producer(one) is None and one not in (*own.inputs, *own.initializers)}
    if scope.parent is None or not outer or not all(one and scope.is_constant(one) for one in node.input):
        return False
    return any(map(scope.is_captured, outer))


@key(bool)
def reads_graph_inputs(place: Place) -> bool:
    """Whether one of its inputs is an input of the graph."""
    return any(name and _is_graph_input(name, place.scope) for name in place.node.input)


@key(frozenset)
def stored_dtypes(place: Place, names: frozenset[str]) -> bool:
    """Dtypes of which one is that of an input that is a constant and not computed from others."""
    scope = place.scope
    return any(
        dtype_of_type(scope.type_string(name) or "") in names and place.is_known(name) and is_stored(name, scope)
        for name in place.node.input
        if name
    )


@key(frozenset, steps=_MOST_STEPS_FROM_SIZES)
def sizes_as_inputs(place: Place, names: frozenset[str]) -> bool:
    """Inputs computed from sizes and constants alone, among them those of a tensor whose first is not known."""
    return place.reads_each(names, _is_of_open_sizes)


@key(bool, steps=MOST_STEPS_BEHIND)
def comes_from_scalar_inputs(place: Place) -> bool:
    """Whether its first input is, or is made of scalars alone one of which is, an input of the graph without axes."""
    scope = place.scope
    pending = set(place.node.input[:1])
    for _ in range(MOST_STEPS_BEHIND):
        pending = {name for name in pending if scope.shape(name) == [] and not scope.is_constant(name)}
        producers = {name: scope.producer(name) for name in pending}
        if None in producers.values():
            return True
        pending = {name for one in producers.values() if one is not None for name in one.input if name}
    return False


def _is_folded(name: str, place: Place) -> bool:
    before = place.scope.producer(name)
    return before is not None and bool(before.input) and all(place.is_known(one) for one in before.input if one)


def _is_overridable(name: str, scope: ScopeFacts) -> bool:
    return scope.is_initializer(name) and not scope.is_constant(name)


def _is_graph_input(name: str, scope: ScopeFacts) -> bool:
    return scope.producer(name) is None and not scope.is_constant(name)


def _is_of_open_sizes(name: str, scope: ScopeFacts) -> bool:
    """Whether a value is computed from sizes and constants alone, and from those of a tensor whose first is open."""
    has_open_ones, pending = False, {name}
    for _ in range(_MOST_STEPS_FROM_SIZES):
        producers = [scope.producer(value) for value in pending if not scope.is_constant(value)]
        pending = set()
        for producer in producers:
            if producer is None or subgraphs(producer):
                return False
            if producer.op_type in _GIVING_SIZES:
                has_open_ones = has_open_ones or has_open_first_size(producer.input[0], scope)
            elif not _takes_other_sizes(producer, scope):
                pending.update(filter(None, producer.input))
    return has_open_ones and not pending


def _takes_other_sizes(node: NodeProto, scope: ScopeFacts) -> bool:
    """Whether a node gathers sizes of a tensor, and not its first one."""
    before = scope.producer(node.input[0]) if node.op_type == "Gather" else None
    if before is None or before.op_type != "Shape" or before.attribute:
        return False
    shape, indices = scope.shape(before.input[0]), scope.constant(node.input[1])
    return bool(shape) and indices is not None and bool((indices % len(shape or ())).all())
