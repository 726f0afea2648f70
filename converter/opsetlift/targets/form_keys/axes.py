"""Keys of axes: of the attribute axis, and of those that a reduction or another operator names."""

from __future__ import annotations

from collections.abc import Mapping

from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key
from opsetlift.targets.form_keys.shared import CHANNELS, axes_named, axes_taken, from_front, is_copy

_FEWEST_AXES, _MOST_ELEMENTS = 3, 2
"""Of reductions that OpenCV computes wrongly: how many axes they have, and how many elements along the first others."""


@key(bool)
def looks_along_the_last_axis(place: Place) -> bool:
    """Whether its attribute axis is the last one of the first input, as far as is known, and may have many elements."""
    shape, axis = place.scope.shape(place.node.input[0]), place.attribute("axis")
    if shape is None:
        return True
    return bool(shape) and 0 not in shape and axis in (-1, len(shape) - 1) and shape[-1] != 1


@key(bool)
def sizes_behind_axis(place: Place) -> bool:
    """Whether an axis of its first input behind the attribute axis may have another size than 1."""
    axis, shape = place.attribute("axis"), place.scope.shape(place.node.input[0])
    if not isinstance(axis, int):
        return False
    return axis != -1 if shape is None else any(size != 1 for size in shape[from_front(axis, len(shape)) + 1 :])


@key(frozenset)
def misfits_axis(place: Place, names: frozenset[str]) -> bool:
    """Inputs whose shape is not that of the first input from the attribute axis on."""
    axis, shape = place.attribute("axis"), place.scope.shape(place.node.input[0])
    if not isinstance(axis, int) or shape is None:
        return False
    shapes = place.shapes
    found = [shapes.get(formal) for formal in names]
    return all(one is not None and list(one) != list(shape[axis:]) for one in found)


@key(dict)
def differs_beside_axis(place: Place, table: Mapping[str, str]) -> bool:
    """Inputs, each with one that has another size along an axis other than the attribute axis."""
    axis = place.attribute("axis")
    shapes = place.shapes
    for formal, other in table.items():
        one, two = shapes.get(formal), shapes.get(other)
        if one is None or two is None or len(one) != len(two) or not isinstance(axis, int):
            return False
        beside = [at for at in range(len(one)) if at != from_front(axis, len(one))]
        if all(one[at] == two[at] for at in beside):
            return False
    return True


@key(dict)
def longer_inputs(place: Place, table: Mapping[str, str]) -> bool:
    """Inputs, each with one that it may be longer than along the attribute axis."""
    shapes = place.shapes
    axis = place.attribute("axis")
    assert isinstance(axis, int)
    for formal, other in table.items():
        shape, limit = shapes.get(formal), shapes.get(other)
        if shape is None or limit is None or not -len(shape) <= axis < len(shape) == len(limit):
            continue
        size, most = shape[axis], limit[axis]
        if isinstance(size, int) and isinstance(most, int) and size <= most:
            return False
        if size == most is not None:
            return False
    return True


@key(dict)
def shorter_inputs(place: Place, table: Mapping[str, str]) -> bool:
    """Inputs, each with one than which it is shorter along an axis other than the attribute axis."""
    shapes = place.shapes
    axis = place.attribute("axis")
    assert isinstance(axis, int)
    for formal, other in table.items():
        shape, limit = shapes.get(formal), shapes.get(other)
        if shape is None or limit is None or not -len(shape) <= axis < len(shape) == len(limit):
            return False
        pairs = list(zip(shape, limit, strict=True))
        del pairs[axis]
        if not any(isinstance(size, int) and isinstance(most, int) and size < most for size, most in pairs):
            return False
    return True


@key(bool)
def may_join_nothing(place: Place) -> bool:
    """Whether an input that is no copy by Identity may have no elements along the attribute axis."""
    scope = place.scope
    axis = place.attribute("axis")
    assert isinstance(axis, int)
    shapes = [scope.shape(name) for name in place.node.input if not is_copy(name, scope)]
    sizes = [None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis] for shape in shapes]
    return any(not isinstance(size, int) or size == 0 for size in sizes)


@key(dict)
def may_be_single_along(place: Place, table: Mapping[str, str]) -> bool:
    """Inputs, each with a constant input that names an axis along which it may have only one element."""
    scope = place.scope
    named = {one.formal: one.name for one in place.inputs}
    for formal, other in table.items():
        shape, axis = scope.shape(named[formal]), scope.constant(named[other])
        size = None if shape is None or axis is None else shape[int(axis.reshape(-1)[0])]
        if isinstance(size, int) and size != 1:
            return False
    return True


@key(frozenset)
def other_axes(place: Place, names: frozenset[str]) -> bool:
    """Attributes and constant inputs that list axes of the first input, and not its last one alone."""
    node, scope = place.node, place.scope
    found = {one.name: list(one.ints) for one in node.attribute}
    for one in place.inputs:
        known = scope.constant(one.name) if one.formal in names else None
        if known is not None:
            found[one.formal] = known.reshape(-1).tolist()
    shape = scope.shape(node.input[0])
    last = [[-1]] if shape is None else [[-1], [len(shape) - 1]]
    return all(found.get(name) not in last for name in names)


@key(bool)
def reduces_many(place: Place) -> bool:
    """Whether it names four axes or more, or three that are out of order or long.

    They are long where the first of them may have more than two elements.
    """
    node, scope = place.node, place.scope
    named, shape = axes_named(node, scope) or [], scope.shape(node.input[0])
    if len(named) != _FEWEST_AXES or not shape:
        return len(named) >= _FEWEST_AXES
    axes = [from_front(axis, len(shape)) for axis in named]
    size = shape[min(axes)]
    return axes != sorted(axes) or not isinstance(size, int) or size > _MOST_ELEMENTS


@key(bool)
def reduces_single_elements(place: Place) -> bool:
    """Whether each of the axes that it reduces has one element."""
    node, scope = place.node, place.scope
    shape, axes = scope.shape(node.input[0]), axes_taken(node, scope)
    return bool(shape and axes) and all((shape or [])[axis] == 1 for axis in axes or ())


@key(bool)
def reduces_one_of_the_first_among_several(place: Place) -> bool:
    """Whether it names several axes, but not all, and the first or the second one is among them."""
    node, scope = place.node, place.scope
    named, shape = axes_named(node, scope) or [], scope.shape(node.input[0])
    if shape is None:
        return len(named) > 1
    return 1 < len(named) < len(shape) and min(from_front(axis, len(shape)) for axis in named) <= CHANNELS


@key(bool)
def leaves_last_axes(place: Place) -> bool:
    """Whether the axes that it reduces are not the last ones."""
    node, scope = place.node, place.scope
    shape, axes = scope.shape(node.input[0]), axes_taken(node, scope)
    return shape is not None and axes is not None and axes != list(range(len(shape) - len(axes), len(shape)))
