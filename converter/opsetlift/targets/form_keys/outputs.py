"""Keys of outputs, and of what reads them."""

from __future__ import annotations

from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key


@key(int)
def outputs(place: Place, least: int) -> bool:
    """How many outputs the node has at least."""
    return len(place.node.output) >= least


@key(int)
def most_outputs(place: Place, most: int) -> bool:
    """How many outputs it has at most."""
    return len(place.node.output) <= most


@key(bool)
def skips_outputs(place: Place) -> bool:
    """Whether it leaves an output out before the last one."""
    return not all(place.node.output)


@key(frozenset)
def has_outputs(place: Place, names: frozenset[int]) -> bool:
    """Places, counted from 0, at each of which it has an output."""
    return all(any(place.node.output[at : at + 1]) for at in names)


@key(frozenset)
def read_by(place: Place, names: frozenset[str]) -> bool:
    """Operators of which one reads its first output in the model as it was given."""
    return _is_read_by(place.node, names, place.scope)


@key(frozenset)
def not_read_by(place: Place, names: frozenset[str]) -> bool:
    """Operators none of which reads its first output in the model as it was given."""
    return not _is_read_by(place.node, names, place.scope)


@key(frozenset)
def moved_unquantized_by(place: Place, names: frozenset[str]) -> bool:
    """Operators of which one reads its first output, and gives what no QuantizeLinear reads."""
    scope = place.scope
    return any(
        one.op_type in names and not _is_read_by(one, frozenset(["QuantizeLinear"]), scope)
        for one in scope.index.readers(place.node.output[0])
    )


@key(frozenset)
def second_not_read_by(place: Place, names: frozenset[str]) -> bool:
    """Operators none of which reads its second output in the model as it was given."""
    return not _is_read_by(place.node, names, place.scope, 1)


@key(bool)
def is_read(place: Place) -> bool:
    """Whether a node reads its first output."""
    node, scope = place.node, place.scope
    return bool(scope.index.readers(node.output[0])) or scope.is_captured(node.output[0])


@key(bool)
def gives_graph_outputs(place: Place) -> bool:
    """Whether its first output is one of its graph."""
    return any(one.name == place.node.output[0] for one in place.scope.container.output)


@key(bool)
def is_shared(place: Place) -> bool:
    """Whether its first output is read more than once, or is an output of the graph that is read."""
    return place.scope.is_shared(place.node.output[0])


@key(bool)
def shares_a_part(place: Place) -> bool:
    """Whether several of its outputs are read, one of them more than once."""
    scope = place.scope
    read = [name for name in place.node.output if name and scope.index.use_count(name)]
    return len(read) > 1 and any(map(scope.is_shared, read))


@key(bool)
def is_captured(place: Place) -> bool:
    """Whether a graph inside its own graph reads its first input or its first output."""
    node = place.node
    return any(map(place.scope.is_captured, (node.input[0], node.output[0])))


@key(bool)
def reads_shared(place: Place) -> bool:
    """Whether a node computes its first input, and something else, too, reads it."""
    node, scope = place.node, place.scope
    return scope.producer(node.input[0]) is not None and scope.is_shared(node.input[0])


def _is_read_by(node: NodeProto, operators: frozenset[str], scope: ScopeFacts, place: int = 0) -> bool:
    name = node.output[place] if place < len(node.output) else ""
    return bool(name) and any(one.op_type in operators for one in scope.index.readers(name))
