"""What several keys ask of a node and of what is before it."""

from __future__ import annotations

from onnx import NodeProto

from opsetlift.facts import ScopeFacts

CHANNELS = 1
"""The axis of channels."""

MOST_STEPS_BEHIND = 12
"""How many nodes may stand between a node and one that it is behind."""


def rank_of(name: str, scope: ScopeFacts) -> int | None:
    """The rank of a value; None where it is not known."""
    shape = scope.shape(name)
    return None if shape is None else len(shape)


def from_front(axis: int, rank: int) -> int:
    """An axis counted from the front; of a scalar, which has none, the first."""
    return axis % max(rank, 1)


def axes_named(node: NodeProto, scope: ScopeFacts) -> list[int] | None:
    """The axes that an attribute or an input lists; empty where none does, None where they are not known."""
    given = next((list(one.ints) for one in node.attribute if one.name == "axes"), None)
    if given is None and len(node.input) > 1 and node.input[1]:
        known = scope.constant(node.input[1])
        return None if known is None else known.reshape(-1).tolist()
    return given or []


def axes_taken(node: NodeProto, scope: ScopeFacts) -> list[int] | None:
    """The axes of a reduction or global pool, counted from the front; None where these are not known."""
    rank = len(scope.shape(node.input[0]) or ())
    if node.op_type.startswith("Global"):
        return list(range(CHANNELS + 1, rank))
    given = axes_named(node, scope)
    return None if given is None else sorted(from_front(axis, rank) for axis in given or range(rank))


def last_axes_taken(node: NodeProto, scope: ScopeFacts) -> tuple[int | str | None, ...] | None:
    """The sizes along the axes of a reduction; None where these are not known, or not the last ones."""
    shape = scope.shape(node.input[0])
    given = next((list(one.ints) for one in node.attribute if one.name == "axes"), None)
    if given is None and len(node.input) > 1 and (known := scope.constant(node.input[1])) is not None:
        given = known.reshape(-1).tolist()
    if shape is None or not given:
        return None
    first = len(shape) - len(given)
    axes = sorted(from_front(axis, len(shape)) for axis in given)
    return tuple(shape[first:]) if axes == list(range(first, len(shape))) else None


def is_after(node: NodeProto, operators: frozenset[str], scope: ScopeFacts) -> bool:
    """Whether one of the operators computes the first input."""
    producer = scope.producer(node.input[0]) if node.input else None
    return producer is not None and producer.op_type in operators


def is_copy(name: str, scope: ScopeFacts) -> bool:
    """Whether Identity gives a value."""
    producer = scope.producer(name)
    return producer is not None and producer.op_type == "Identity"


def is_stored(name: str, scope: ScopeFacts) -> bool:
    """Whether a constant is an initializer or a Constant, and not computed from some."""
    producer = scope.producer(name)
    return producer is None or producer.op_type == "Constant"


def has_open_first_size(name: str, scope: ScopeFacts) -> bool:
    """Whether the first size of a value is not known."""
    shape = scope.shape(name)
    return shape is None or (len(shape) > 0 and not isinstance(shape[0], int))
