"""Keys of attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import cycle

from onnx import NodeProto

from opsetlift.targets import tree_votes
from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key


@key(frozenset)
def given(place: Place, names: frozenset[str]) -> bool:
    """Attributes of which the node has at least one."""
    return any(one.name in names for one in place.node.attribute)


@key(frozenset)
def absent(place: Place, names: frozenset[str]) -> bool:
    """Attributes of which it has none."""
    return not any(one.name in names for one in place.node.attribute)


@key(dict)
def attributes(place: Place, table: Mapping[str, object]) -> bool:
    """Attributes with their values; those of the schema where the node does not set them."""
    return all(place.attribute(name) == value for name, value in table.items())


@key(dict)
def other_than(place: Place, table: Mapping[str, Sequence[object]]) -> bool:
    """Attributes with values, of which the node sets it to none."""
    set_here = {one.name for one in place.node.attribute}
    return all(name in set_here and place.attribute(name) not in values for name, values in table.items())


@key(dict)
def matches(place: Place, table: Mapping[str, str]) -> bool:
    """Attributes that are texts, each with a regular expression that is found in it."""
    return all(re.search(pattern, str(place.attribute(name))) for name, pattern in table.items())


@key(frozenset)
def single_letters(place: Place, names: frozenset[str]) -> bool:
    """Attributes, texts, with a letter that they have only once."""
    texts = [str(place.attribute(name)) for name in names]
    return all(any(one.isalpha() and text.count(one) == 1 for one in text) for text in texts)


@key(dict)
def at_least(place: Place, table: Mapping[str, str]) -> bool:
    """Attributes with others, one of whose numbers they reach; longer ones are held against the same numbers again."""
    return all(_reaches(place.node, *one) for one in table.items())


@key(frozenset)
def uneven(place: Place, names: frozenset[str]) -> bool:
    """Attributes, lists of numbers, whose second half is not their first: pads that differ at the two ends."""
    return all(_is_uneven(place.node, name) for name in names)


@key(frozenset)
def nonzero(place: Place, names: frozenset[str]) -> bool:
    """Attributes, lists of numbers, each of which has one that is not 0."""
    return all(_is_nonzero(place.node, name) for name in names)


@key(dict)
def most_lengths(place: Place, table: Mapping[str, int]) -> bool:
    """Attributes, lists, each with how many elements it has at most; none where it is left out."""
    return all(len(place.listed(name)) <= most for name, most in table.items())


@key(frozenset)
def non_negative(place: Place, names: frozenset[str]) -> bool:
    """Attributes, lists of numbers, none of which is below 0."""
    return not any(one < 0 for name in names for one in place.listed(name))


@key(bool)
def may_leave_out_votes(place: Place) -> bool:
    """Whether it is an ensemble of trees, in which a class or target may get no vote."""
    return tree_votes.may_leave_out_votes(place.node)


def _is_nonzero(node: NodeProto, name: str) -> bool:
    return any(any(one.ints) for one in node.attribute if one.name == name)


def _reaches(node: NodeProto, name: str, other: str) -> bool:
    numbers = {attribute.name: list(attribute.ints) for attribute in node.attribute}
    limits = numbers.get(other)
    return bool(limits) and any(one >= limit for one, limit in zip(numbers.get(name, ()), cycle(limits or ())))


def _is_uneven(node: NodeProto, name: str) -> bool:
    numbers = next((list(one.ints) for one in node.attribute if one.name == name), [])
    return numbers[: len(numbers) // 2] != numbers[len(numbers) // 2 :]
