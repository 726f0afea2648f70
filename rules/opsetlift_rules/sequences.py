"""Sequences, which do not exist below 11: there they are replaced with their elements, if their number is known.

SequenceEmpty, SequenceConstruct, SequenceInsert, SequenceErase   11: introduced
SequenceAt, SequenceLength, ConcatFromSequence                    11: introduced
SplitToSequence                                                   11: introduced · 24: +bfloat16
SequenceMap                                                       17: introduced
"""

from __future__ import annotations

from itertools import pairwise

import numpy

from opsetlift.rulebook.function_body import expand
from opsetlift.rulebook.rule import Fallback, Introduction
from opsetlift.rulebook.site import Dims, Operators, Site, static_shape
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets, packed_sequences
from opsetlift_rules.helpers.axes import counted_from_front, gather_within
from opsetlift_rules.helpers.bodies import subgraph_input_types
from opsetlift_rules.helpers.broadcasting import have_one_shape
from opsetlift_rules.helpers.packed_sequences import Packed
from opsetlift_rules.helpers.signs import added_where, is_negative

_MOST_PARTS = 1024
"""The largest number of elements that are written out."""


def scalarize_sequence(site: Site) -> None:
    """Replace SequenceConstruct-11 with its elements."""
    site.scalarize(0, site.inputs)


def remove_empty_sequence(site: Site) -> None:
    """Replace SequenceEmpty-11 with no elements."""
    site.scalarize(0, ())


def insert_element(site: Site) -> None:
    """Replace SequenceInsert-11: insert the tensor among the known elements."""
    found, tensor = _parts(site), site.input(1)
    if isinstance(found, Packed):
        op = site.op_at(opsets.AXES_AS_INPUTS)
        site.scalarize(0, packed_sequences.insert(site, op, found, tensor, site.input(2)))
        return
    parts = list(found)
    position = _position(site, 2, len(parts), len(parts), default=len(parts))
    if isinstance(position, int):
        site.scalarize(0, [*parts[:position], tensor, *parts[position:]])
        return
    op = site.op_at(opsets.AXES_AS_INPUTS)
    before, after = [tensor, *parts], [*parts, tensor]
    inserted = []
    for place in range(len(parts) + 1):
        # The tensor stands here, or else after this place, or before it.
        stays = _chosen(site, op, _is_at(site, op, position, place), tensor, after[place])
        inserted.append(_chosen(site, op, _is_below(site, op, position, place), before[place], stays))
    site.scalarize(0, inserted)


def erase_element(site: Site) -> None:
    """Replace SequenceErase-11: remove one of the known elements."""
    found = _parts(site)
    if isinstance(found, Packed):
        op = site.op_at(opsets.AXES_AS_INPUTS)
        site.scalarize(0, packed_sequences.erase(site, op, found, site.input(1)))
        return
    parts = list(found)
    position = _position(site, 1, len(parts), len(parts) - 1, default=len(parts) - 1)
    if isinstance(position, int):
        site.scalarize(0, [*parts[:position], *parts[position + 1 :]])
        return
    op = site.op_at(opsets.AXES_AS_INPUTS)
    site.scalarize(
        0,
        [
            _chosen(site, op, _is_below(site, op, position, place + 1), following, part)
            for place, (part, following) in enumerate(pairwise(parts))
        ],
    )


def select_element(site: Site) -> None:
    """Replace SequenceAt-11 with the element.

    A position that is computed at run time gathers from all elements of one shape, and else decides in Ifs.
    """
    parts = _parts(site)
    if isinstance(parts, Packed):
        op = site.op_at(opsets.AXES_AS_INPUTS)
        _replace(site, packed_sequences.element_at(site, op, parts, site.input(1)))
        return
    position = _position(site, 1, len(parts), len(parts) - 1)
    if isinstance(position, int):
        site.replace(parts[position])
        return
    op = site.op_at(opsets.AXES_AS_INPUTS)
    if have_one_shape([site.shape(part) for part in parts]):
        site.replace(gather_within(site, _stacked(site, op, list(parts), 0), position))
        return
    result = parts[-1]
    for place in reversed(range(len(parts) - 1)):
        result = _chosen(site, op, _is_at(site, op, position, place), parts[place], result)
    site.replace(result)


def _is_at(site: Site, op: Operators, position: str, place: int) -> str:
    return str(op.Equal(position, site.constant(place, "int64", "place")))


def _is_below(site: Site, op: Operators, position: str, place: int) -> str:
    return is_negative(site, op, str(op.Sub(position, site.constant(place, "int64", "place"))))


def _chosen(site: Site, op: Operators, condition: str, one: str, other: str) -> str:
    """One of two values, which may differ in shape."""
    if one == other:
        return one
    then_branch, else_branch = (op.subgraph(lambda inner, value=value: [value]) for value in (one, other))
    result = str(op.If(condition, then_branch=then_branch, else_branch=else_branch))
    shapes = site.shape(one), site.shape(other)
    op.declare(result, site.dtype(one), _shape_of_either(*shapes))
    return result


def _shape_of_either(one: Dims | None, other: Dims | None) -> Dims | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return [dim if dim == same else None for dim, same in zip(one, other, strict=True)]


def fold_length(site: Site) -> None:
    """Replace SequenceLength-11 with the number of known elements."""
    parts = _parts(site)
    if isinstance(parts, Packed):
        site.replace(packed_sequences.length(site, site.op_at(opsets.AXES_AS_INPUTS), parts))
    else:
        site.replace(site.constant(len(parts), "int64", "length"))


def _replace(site: Site, result: str) -> None:
    """Replace the node with a tensor whose shape inference cannot know."""
    output = site.output(0)
    site.op.declare(result, site.dtype(output), site.shape(output))
    site.replace(result)


def concatenate_elements(site: Site) -> None:
    """Replace ConcatFromSequence-11 with Concat of the known elements."""
    parts = _parts(site)
    if not parts:
        site.refuse(Why.INVALID_MODEL, "the sequence is empty, so there is nothing to concatenate")
    op, axis, new_axis = site.op_at(opsets.AXES_AS_INPUTS), site.attribute("axis"), bool(site.attribute("new_axis", 0))
    if isinstance(parts, Packed):
        shape = site.shape(site.output(0))
        axis = axis if shape is None else axis % len(shape)
        _replace(site, packed_sequences.concatenate(site, op, parts, axis, new_axis=new_axis))
    elif new_axis:
        site.replace(_stacked(site, op, list(parts), axis))
    else:
        site.replace(op.Concat(*parts, axis=axis))


def _stacked(site: Site, op: Operators, parts: list[str], axis: int) -> str:
    axes = site.constant([axis], "int64")
    return str(op.Concat(*(op.Unsqueeze(part, axes) for part in parts), axis=axis))


def _parts(site: Site) -> tuple[str, ...] | Packed:
    parts = site.parts(0)
    if parts is None:
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                f"sequences do not exist below opset {site.opset + 1}, and {site.input(0)!r} is not built in "
                "this graph from a known number of elements"
            ),
        )
    return parts


def _position(site: Site, place: int, length: int, highest: int, default: int | None = None) -> int | str:
    """The position, counted from the front: a number, or the name of an int64 scalar that is computed at run time."""
    if not site.input(place) and default is not None:
        return default
    value = site.constant_value(place)
    if value is None and highest >= 0:
        op, position = site.op_at(opsets.AXES_AS_INPUTS), site.input(place)
        position = position if site.dtype(place) == "int64" else op.Cast(position, to="int64")
        if site.shape(place) != []:
            position = op.Reshape(position, site.constant([], "int64", "scalar"))
        return added_where(op, is_negative(site, op, position), position, site.constant(length, "int64"), "int64")
    index = 0 if value is None else int(value.item())
    if not -length <= index <= highest:
        site.refuse(Why.INVALID_MODEL, f"position {index} is out of range for a sequence of {length} elements")
    return index % length if length and index < 0 else index


def split_into_elements(site: Site) -> None:
    """Replace SplitToSequence-11 with Split, if the number of elements follows from the lengths or the axis.

    Pieces of one length, whose number is computed at run time, become vectors.
    """
    op = site.op_at(opsets.AXES_AS_INPUTS)
    axis = site.attribute("axis", 0)
    keepdims = packed_sequences.keeps_the_axis(site, site.input(1), site.attribute("keepdims", 1))
    lengths = _lengths(site, axis)
    if lengths is None:
        packed = packed_sequences.split(site, op, site.input(0), site.input(1), axis, keepdims=keepdims)
        site.scalarize(0, packed)
        return
    if isinstance(lengths, str):
        count = static_shape(site, lengths, because="its length is the number of elements")[0]
    else:
        count = len(lengths)
    if not 0 < count <= _MOST_PARTS:
        if count:
            site.refuse(
                Why.NO_EQUIVALENT,
                f"sequences do not exist below opset 11, and {count:,} elements are too many to name one by one",
            )
        site.scalarize(0, ())
        return
    split = lengths if isinstance(lengths, str) else site.constant(lengths, "int64", "lengths")
    parts = op.Split(site.input(0), split, axis=axis, outputs=count) if count > 1 else [site.input(0)]
    if not keepdims:
        parts = [op.Squeeze(part, site.constant([axis], "int64")) for part in parts]
    site.scalarize(0, list(parts))


def _lengths(site: Site, axis: int) -> list[int] | str | None:
    """The lengths of the elements along the axis, or the name of them where only their number is known.

    None where not even that is.
    """
    value = site.constant_value(1) if site.input(1) else numpy.array(1)
    if value is None:
        if site.rank(1, because="the rank shows whether split is one length for all elements or a list") != 1:
            return None
        return site.input(1)
    if value.ndim:
        return [int(length) for length in value]
    shape = site.shape(0)
    if shape is None:
        return None
    size = shape[counted_from_front(site, [axis], len(shape), name="axis")[0]]
    if not isinstance(size, int):
        return None
    step = int(value)
    return [end - start for start, end in pairwise([*range(0, size, step), size])]


def repeat_body_for_each_element(site: Site) -> None:
    """Replace SequenceMap-17 with its body for each known element, else with its function body, a Loop."""
    taken_by_body = len(subgraph_input_types(site, "body"))
    if taken_by_body != len(site.inputs) or not all(site.inputs):
        given = sum(map(bool, site.inputs))
        site.refuse(Why.INVALID_MODEL, f"the body has {taken_by_body} inputs, and the node gives {given}")
    parts = [site.parts(position) for position in range(len(site.inputs))]
    first = parts[0]
    if first is None or isinstance(first, Packed):
        expand(site)
        return
    columns: list[list[str]] = [[] for _ in site.node.output]
    for index in range(len(first)):
        taken = [name if one is None else one[index] for name, one in zip(site.inputs, parts, strict=True)]
        for column, result in zip(columns, site.op.inline("body", *taken), strict=True):
            column.append(result)
    for position, column in enumerate(columns):
        site.scalarize(position, column)


def insert_before_a_last_element(site: Site) -> None:
    """Insert at a position within a sequence that is longer by one, and erase its last element.

    Some runtimes take no position behind the last element.
    """
    if not site.input(2):
        return
    op, sequence, element = site.op, *site.inputs[:2]
    position = site.constant_value(2)
    if position is None:
        dtype = site.dtype(2)
        counts_back = is_negative(site, op, site.input(2))
        place = added_where(op, counts_back, site.input(2), site.constant(-1, dtype), dtype)
    elif position.item() < 0:
        return
    else:
        place = site.input(2)
    longer = op.SequenceInsert(sequence, element)
    site.replace(op.SequenceErase(op.SequenceInsert(longer, element, place)))


INTRODUCTIONS = [
    Introduction("SequenceEmpty", 11, down=remove_empty_sequence),
    Introduction("SequenceConstruct", 11, down=scalarize_sequence),
    Introduction("SequenceInsert", 11, down=insert_element),
    Introduction("SequenceErase", 11, down=erase_element),
    Introduction("SequenceAt", 11, down=select_element),
    Introduction("SequenceLength", 11, down=fold_length),
    Introduction("ConcatFromSequence", 11, down=concatenate_elements),
    Introduction("SplitToSequence", 11, down=split_into_elements),
    Introduction("SequenceMap", 17, down=repeat_body_for_each_element),
]

FALLBACKS = [
    Fallback("SequenceInsert", insert_before_a_last_element),
]
