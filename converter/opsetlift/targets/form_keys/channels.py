"""Keys of channels, which are the second axis: values that are joined along them or beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key
from opsetlift.targets.form_keys.shared import CHANNELS, MOST_STEPS_BEHIND, axes_taken, is_after, is_copy

_ONE_IN_BETWEEN = 2

_MOST_AXES_WITH_CHANNELS_BEHIND = 3
"""Of data with more, constants are joined as they should be."""


@key(dict)
def other_lengths(place: Place, table: Mapping[str, str]) -> bool:
    """Inputs, each with one that may have another second size."""
    shapes = place.shapes
    sizes = [[(shapes.get(name) or ())[CHANNELS : CHANNELS + 1] for name in pair] for pair in table.items()]
    return all(not one or not two or one[0] is None or list(one) != list(two) for one, two in sizes)


@key(bool)
def copies_channels(place: Place) -> bool:
    """Whether a constant shape has a 0, which copies a size, for the second axis."""
    node = place.node
    shape = place.scope.content(node.input[1]) if len(node.input) > 1 else None
    return shape is not None and shape.reshape(-1)[CHANNELS : CHANNELS + 1].tolist() == [0]


@key(bool)
def joins_channels(place: Place) -> bool:
    """Whether two computed inputs of three axes or more, neither by Identity, may differ in their second size."""
    scope = place.scope
    computed = [name for name in place.node.input if name and not scope.is_constant(name) and not is_copy(name, scope)]
    shapes = [shape for shape in map(scope.shape, computed) if shape is None or len(shape) > CHANNELS + 1]
    known = {(len(shape), shape[CHANNELS]) for shape in shapes if shape is not None and shape[CHANNELS] is not None}
    return len(shapes) > 1 and (len(known) != 1 or any(shape is None or shape[CHANNELS] is None for shape in shapes))


@key(bool)
def joins_beside_channels(place: Place) -> bool:
    """Whether a constant of several numbers, smaller than the result, lies along other axes than those of channels.

    These are the second axis of the result, and those that follow it without a gap.
    """
    node, scope = place.node, place.scope
    result = scope.shape(node.output[0])
    shapes = [scope.shape(name) for name in node.input if name and scope.is_constant(name)]
    for shape in shapes:
        if shape is None or result is None:
            return True
        long = [axis for axis, size in enumerate(shape, len(result) - len(shape)) if size != 1]
        if shape != result and long != list(range(CHANNELS, CHANNELS + len(long))):
            return True
    return False


@key(bool)
def joins_more_than_channels(place: Place) -> bool:
    """Whether a constant of several numbers has axes above 1 other than the second one of the result."""
    return _joins_more_than_channels(place.node, place.scope)


@key(frozenset)
def after_more_than_channels(place: Place, names: frozenset[str]) -> bool:
    """Operators, one of which computes its first input with a constant as `joins_more_than_channels` has it."""
    node, scope = place.node, place.scope
    before = scope.producer(node.input[0])
    return is_after(node, names, scope) and before is not None and _joins_more_than_channels(before, scope)


@key(frozenset, steps=MOST_STEPS_BEHIND)
def joins_channels_behind(place: Place, names: frozenset[str]) -> bool:
    """Reductions: a constant with one axis above 1 may lie along the second axis of what one of these reduced.

    A reduction of up to three axes leads to the node through such of one computed input.
    """
    node, scope = place.node, place.scope
    shapes = [scope.shape(name) for name in node.input if scope.is_constant(name)]
    if len(shapes) != 1 or (shapes[0] is not None and sum(size != 1 for size in shapes[0]) != 1):
        return False
    joined = before = next(name for name in node.input if not scope.is_constant(name))
    for _ in range(MOST_STEPS_BEHIND):
        producer = scope.producer(before)
        if producer is None:
            return False
        if producer.op_type in names:
            return shapes[0] is None or _may_lie_along_channels(shapes[0], producer, scope.shape(joined), scope)
        computed = [name for name in producer.input if name and not scope.is_constant(name)]
        if len(computed) != 1:
            return False
        before = computed[0]
    return False


@key(bool)
def widens_axes_in_between(place: Place) -> bool:
    """Whether it repeats an input along several axes that are between others."""
    node, scope = place.node, place.scope
    result = scope.shape(node.output[0]) or []
    for shape in (scope.shape(name) or [] for name in node.input if name):
        padded = [1] * (len(result) - len(shape)) + shape
        kept = [axis for axis, size in enumerate(padded) if size != 1]
        if any(
            after - before > _ONE_IN_BETWEEN and result[before + 1 : after] != [1] * (after - before - 1)
            for before, after in pairwise(kept)
        ):
            return True
    return False


@key(bool)
def may_resize_channels(place: Place) -> bool:
    """Whether its result has three axes or more, and may have another first or second size than its first input."""
    node, scope = place.node, place.scope
    shape, result = scope.shape(node.input[0]), scope.shape(node.output[0])
    if shape is None or result is None:
        return shape is None or len(shape) > CHANNELS + 1
    return len(shape) > CHANNELS + 1 and shape[: CHANNELS + 1] != result[: CHANNELS + 1]


def _joins_more_than_channels(node: NodeProto, scope: ScopeFacts) -> bool:
    rank = len(scope.shape(node.output[0]) or ())
    shapes = [scope.shape(name) or [] for name in node.input if name and scope.is_constant(name)]
    long = [axis for shape in shapes for axis, size in enumerate(shape, rank - len(shape)) if size != 1]
    return not set(long) <= {CHANNELS}


def _may_lie_along_channels(
    constant: Sequence[int | str | None],
    reduction: NodeProto,
    joined: Sequence[int | str | None] | None,
    scope: ScopeFacts,
) -> bool:
    """Whether the axis of a constant that is above 1 may be the second one of what was reduced, which is kept."""
    shape, result = scope.shape(reduction.input[0]), scope.shape(reduction.output[0])
    if shape is None or result is None or joined is None:
        return True
    if len(shape) > _MOST_AXES_WITH_CHANNELS_BEHIND:
        return False
    axes = axes_taken(reduction, scope)
    if axes is None or list(result) != list(joined):
        return CHANNELS not in (axes or ())
    kept = [axis for axis in range(len(shape)) if axis not in axes] if len(result) < len(shape) else range(len(shape))
    place = next(place for place, size in enumerate(constant) if size != 1) - len(constant)
    return CHANNELS not in axes and -len(kept) <= place and kept[place] == CHANNELS
