"""Keys of dtypes and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from opsetlift.facts import ScopeFacts
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key
from opsetlift.targets.form_keys.shared import has_open_first_size, rank_of

_MATRIX = 2


def _checked(names: Sequence[str]) -> frozenset[str]:
    """The names of dtypes. Raises ValueError for what is none."""
    for name in names:
        try:
            numpy_dtype(name)
        except ValueError as error:
            raise ValueError(f"{name!r} is not a dtype") from error
    return frozenset(names)


@key(dict, each=_checked)
def dtypes(place: Place, table: Mapping[str, frozenset[str]]) -> bool:
    """Type variables, each with dtypes of which it stands for one."""
    found = place.dtypes
    return all(found.get(variable) in dtypes for variable, dtypes in table.items())


@key(dict, each=tuple)
def ranks(place: Place, table: Mapping[str, tuple[int, ...]]) -> bool:
    """Inputs by their names in the schema, each with ranks of which one is its."""
    found: dict[str, set[int]] = {}
    for one in place.inputs:
        shape = place.scope.shape(one.name) if one.formal in table else None
        if shape is not None:
            found.setdefault(one.formal, set()).add(len(shape))
    return all(not found.get(formal, set()).isdisjoint(ranks) for formal, ranks in table.items())


@key(frozenset)
def result_ranks(place: Place, names: frozenset[int]) -> bool:
    """Ranks of which one is that of its first output."""
    return rank_of(place.node.output[0], place.scope) in names


@key(frozenset)
def open_inputs(place: Place, names: frozenset[str]) -> bool:
    """Inputs with a size that is not known."""
    each = ((one.formal, place.scope.shape(one.name)) for one in place.inputs)
    return names <= {formal for formal, shape in each if not _is_fixed(shape)}


@key(frozenset)
def empty_inputs(place: Place, names: frozenset[str]) -> bool:
    """Inputs with a size of 0."""
    each = ((one.formal, place.scope.shape(one.name)) for one in place.inputs)
    return names <= {formal for formal, shape in each if 0 in (shape or ())}


@key(frozenset)
def ranked_inputs(place: Place, names: frozenset[str]) -> bool:
    """Inputs whose rank is known."""
    return place.reads_each(names, _is_ranked)


@key(frozenset)
def unranked_inputs(place: Place, names: frozenset[str]) -> bool:
    """Inputs whose rank is not known."""
    return place.reads_each(names, _is_unranked)


@key(frozenset)
def batched_inputs(place: Place, names: frozenset[str]) -> bool:
    """Inputs whose first size is known, and not 1."""
    shapes = place.shapes
    found = [shapes.get(formal) for formal in names]
    return all(shape is not None and _is_fixed(shape) and shape[:1] not in ([], [1]) for shape in found)


@key(frozenset)
def open_first_sizes(place: Place, names: frozenset[str]) -> bool:
    """Inputs whose first size is not known."""
    return place.reads_each(names, has_open_first_size)


@key(dict)
def single_axes(place: Place, table: Mapping[str, int]) -> bool:
    """Inputs that have only one element along an axis."""
    shapes = place.shapes
    return all((shapes.get(formal) or [])[axis:][:1] == [1] for formal, axis in table.items())


@key(frozenset)
def single_elements(place: Place, names: frozenset[str]) -> bool:
    """Inputs that have axes, each with one element."""
    shapes = place.shapes
    return all(set(shapes.get(formal) or [None]) == {1} for formal in names)


@key(dict)
def other_shapes(place: Place, table: Mapping[str, str]) -> bool:
    """Inputs, each with one of another shape."""
    shapes = place.shapes
    pairs = [(shapes.get(formal), shapes.get(other)) for formal, other in table.items()]
    return all(one is not None and two is not None and list(one) != list(two) for one, two in pairs)


@key(dict)
def fewer_axes(place: Place, table: Mapping[str, str]) -> bool:
    """Inputs, each with one that has the same shape behind further axes of size 1."""
    shapes = place.shapes
    pairs = [(shapes.get(formal), shapes.get(other)) for formal, other in table.items()]
    return all(
        one is not None and two is not None and [1] * (len(two) - len(one)) + list(one) == list(two) != list(one)
        for one, two in pairs
    )


@key(dict)
def attributes_as_sizes(place: Place, table: Mapping[str, int]) -> bool:
    """Attributes, each with an axis along which its first input has that size."""
    shape = place.scope.shape(place.node.input[0]) or []
    return all(axis < len(shape) and shape[axis] == place.attribute(name) for name, axis in table.items())


@key(frozenset)
def resized_axes(place: Place, names: frozenset[int]) -> bool:
    """Axes of the first input, each of which has another size in the first output."""
    node, scope = place.node, place.scope
    before, after = scope.shape(node.input[0]), scope.shape(node.output[0])
    if before is None or after is None or len(before) != len(after):
        return False
    return all(axis < len(before) and before[axis] != after[axis] for axis in names)


@key(frozenset)
def widened_inputs(place: Place, names: frozenset[str]) -> bool:
    """Inputs that broadcasting repeats: their shape is not that of the first output."""
    scope = place.scope
    result = scope.shape(place.node.output[0])
    if result is None:
        return False
    # Of several inputs of one name in the schema any may be repeated.
    shapes = [(one.formal, scope.shape(one.name)) for one in place.inputs]
    repeated = {formal for formal, shape in shapes if shape is not None and shape != result}
    return names <= repeated


@key(bool)
def swaps_equal_sizes(place: Place) -> bool:
    """Whether a Transpose moves axes and gives the shape that it reads, whose sizes are known."""
    node = place.node
    shape = place.scope.shape(node.input[0])
    if shape is None or not all(isinstance(size, int) for size in shape):
        return False
    axes = list(range(len(shape)))
    order = next((list(one.ints) for one in node.attribute if one.name == "perm"), axes[::-1])
    return order != axes and [shape[axis] for axis in order] == shape


@key(bool)
def has_more_rows(place: Place) -> bool:
    """Whether the matrices of its first input may have more rows than columns."""
    shape = place.scope.shape(place.node.input[0])
    rows, columns = shape[-2:] if shape is not None and len(shape) >= _MATRIX else (None, None)
    if isinstance(rows, int) and isinstance(columns, int):
        return rows > columns
    return rows is None or rows != columns


@key(bool)
def stacks_differ(place: Place) -> bool:
    """Whether its first two inputs are stacks of matrices of other shapes, or a stack and a matrix."""
    first, second = (place.scope.shape(name) for name in place.node.input[:2])
    return first is not None and second is not None and list(first[:-2]) != list(second[:-2])


@key(frozenset)
def repeated_stacks(place: Place, names: frozenset[str]) -> bool:
    """Inputs that are stacks of several matrices, and of fewer than the first output."""
    scope = place.scope
    counts = {one.formal: _matrices_in(one.name, scope) for one in place.inputs}
    most = _matrices_in(place.node.output[0], scope)
    return all(1 < (counts.get(formal) or 0) < (most or 0) for formal in names)


def _is_ranked(name: str, scope: ScopeFacts) -> bool:
    return scope.shape(name) is not None


def _is_unranked(name: str, scope: ScopeFacts) -> bool:
    return scope.shape(name) is None


def _is_fixed(shape: Sequence[int | str | None] | None) -> bool:
    return shape is not None and all(isinstance(size, int) for size in shape)


def _matrices_in(name: str, scope: ScopeFacts) -> int | None:
    """How many matrices are in a stack; None where that is not known."""
    shape = scope.shape(name)
    sizes = [size for size in (shape or ())[:-2] if isinstance(size, int)]
    return None if shape is None or len(sizes) != len(shape[:-2]) else prod(sizes)
