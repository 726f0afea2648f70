"""Keys of numbers: in attributes and constants, and as far as operators tell in what is computed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy
from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.targets import bounds
from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key
from opsetlift.targets.form_keys.shared import MOST_STEPS_BEHIND

_MOVES = frozenset(["Cast", "Expand", "Flatten", "Gather", "Reshape", "Squeeze", "Transpose", "Unsqueeze"])
_MOST_MOVES = 2
"""How many nodes before a Cast are looked at: a Cast, and one that moves what it gives."""


@key(frozenset)
def negative(place: Place, names: frozenset[str]) -> bool:
    """Attributes and constant inputs, by their names in the schema, each of which has a number below 0 in it."""
    found = {one.name for one in place.node.attribute if min([one.i, one.f, *one.ints, *one.floats]) < 0}
    for one in place.inputs:
        if one.formal in names and place.scope.holds(one.name, _is_partly_negative):
            found.add(one.formal)
    return found >= names


@key(frozenset)
def zeros(place: Place, names: frozenset[str]) -> bool:
    """Constant inputs that have a 0 in them."""
    return place.reads_each(names, _has_a_zero)


@key(dict)
def lengths(place: Place, table: Mapping[str, int]) -> bool:
    """Attributes and constant inputs, by their names in the schema, each with how many elements it has at least."""
    found = {one.name: len(place.listed(one.name)) for one in place.node.attribute}
    for one in place.inputs:
        known = place.scope.content(one.name) if one.formal in table else None
        if known is not None:
            found[one.formal] = known.size
    return all(found.get(name, 0) >= least for name, least in table.items())


@key(dict)
def magnitudes(place: Place, table: Mapping[str, float]) -> bool:
    """Attributes and constant inputs, each with a magnitude that one of its numbers reaches."""
    found = {one.name: max(map(abs, (*one.ints, *one.floats, one.i, one.f))) for one in place.node.attribute}
    for one in place.inputs:
        value = place.scope.constant(one.name) if one.formal in table else None
        if value is not None and value.dtype.kind in "fi" and value.size:
            found[one.formal] = float(abs(value.astype(numpy.float64)).max())
    return all(found.get(name, 0) >= least for name, least in table.items())


@key(dict)
def numbers(place: Place, table: Mapping[str, float]) -> bool:
    """Attributes and constant inputs, each with the number that all of its elements are."""
    values: dict[str, Array | None] = {one.name: numpy.array(place.listed(one.name)) for one in place.node.attribute}
    values |= {one.formal: place.scope.constant(one.name) for one in place.inputs}
    return all(
        (value := values.get(name)) is not None and bool((value == number).all()) for name, number in table.items()
    )


@key(frozenset)
def mixed_numbers(place: Place, names: frozenset[str]) -> bool:
    """Constant inputs that have different numbers."""
    values = {one.formal: place.scope.constant(one.name) for one in place.inputs}
    found = [values.get(formal) for formal in names]
    return all(one is not None and one.size > 1 and bool((one != one.flat[0]).any()) for one in found)


@key(frozenset)
def falls(place: Place, names: frozenset[str]) -> bool:
    """Attributes and constant inputs, lists of numbers, each with one that is below the one before it."""
    return all(any(one < 0 for one in _steps(name, place)) for name in names)


@key(frozenset)
def leaps(place: Place, names: frozenset[str]) -> bool:
    """Attributes and constant inputs, lists of numbers, each with one that is not one more than the one before it."""
    return all(any(one != 1 for one in _steps(name, place)) for name in names)


@key(frozenset, steps=MOST_STEPS_BEHIND)
def may_be_negative(place: Place, names: frozenset[str]) -> bool:
    """Inputs that nodes compute, which may give numbers below 0, as far as their operators tell."""
    scope = place.scope
    present = {one.formal: one.name for one in place.inputs}
    return all(
        formal in present
        and not scope.is_constant(present[formal])
        and bounds.may_be_negative(present[formal], scope, MOST_STEPS_BEHIND)
        for formal in names
    )


@key(bool, steps=MOST_STEPS_BEHIND)
def may_have_fractions(place: Place) -> bool:
    """Whether its first input may hold numbers that are not whole, as far as operators tell."""
    return bounds.may_have_fractions(place.node.input[0], place.scope, MOST_STEPS_BEHIND)


@key(bool, steps=_MOST_MOVES + 1)
def has_other_numbers(place: Place) -> bool:
    """Whether its first input may have numbers other than the 0 and 1 that a Cast made of truth values before."""
    return not _moves_truth_values(place.node, place.scope)


def _is_partly_negative(value: Array) -> bool:
    return bool((value < 0).any())


def _has_a_zero(name: str, scope: ScopeFacts) -> bool:
    value = scope.constant(name)
    return value is not None and not value.all()


def _steps(name: str, place: Place) -> list[int]:
    """By how much each number of a list is above the one before it; of axes of the first input, from the front."""
    numbers = next((list(one.ints) for one in place.node.attribute if one.name == name), None)
    for one in place.inputs if numbers is None else ():
        if one.formal == name and (known := place.scope.content(one.name)) is not None:
            numbers = known.reshape(-1).tolist()
    return [after - before for before, after in pairwise(numbers or [])]


def _moves_truth_values(node: NodeProto, scope: ScopeFacts) -> bool:
    for _ in range(_MOST_MOVES):
        before = scope.producer(node.input[0])
        if before is None or before.op_type not in _MOVES:
            return False
        if before.op_type == "Cast":
            return dtype_of_type(scope.type_string(before.input[0]) or "") == "bool"
        node = before
    return False
