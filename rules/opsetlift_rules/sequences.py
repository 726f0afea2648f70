"""Sequences, as far as their length is known: below 11, where there are none, they are taken apart.

SequenceEmpty, SequenceConstruct, SequenceInsert, SequenceErase   11: introduced
SequenceAt, SequenceLength, ConcatFromSequence                    11: introduced
SplitToSequence                                                   11: introduced · 24: +bfloat16
SequenceMap                                                       17: introduced
"""

from __future__ import annotations

from itertools import pairwise

import numpy

from opsetlift.rulebook.function_body import expand
from opsetlift.rulebook.rule import Introduction
from opsetlift.rulebook.site import Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.axes import counted_from_front
from opsetlift_rules.helpers.broadcasting import have_one_shape

_MOST_PARTS = 1024
"""Longer sequences make no sensible graph."""


def elements_stand_for_it(site: Site) -> None:
    site.scalarize(0, site.inputs)


def nothing_stands_for_it(site: Site) -> None:
    site.scalarize(0, ())


def element_is_added(site: Site) -> None:
    parts = list(_parts(site))
    place = _constant_position(site, 2, len(parts), len(parts), default=len(parts))
    site.scalarize(0, [*parts[:place], site.input(1), *parts[place:]])


def element_is_left_out(site: Site) -> None:
    parts = list(_parts(site))
    place = _constant_position(site, 1, len(parts), len(parts) - 1, default=len(parts) - 1)
    site.scalarize(0, [*parts[:place], *parts[place + 1 :]])


def element_is_taken(site: Site) -> None:
    """By its number, or, where that is computed at run time and all have one shape, from a tensor of all."""
    parts = _parts(site)
    if site.constant_value(1) is not None:
        site.replace(parts[_constant_position(site, 1, len(parts), len(parts) - 1)])
        return
    if not parts or not have_one_shape([site.shape(part) for part in parts]):
        site.refuse(
            Why.INPUT_NOT_CONSTANT,
            f"below opset 11 there are no sequences, and which element {site.input(1)!r} takes is computed at run "
            "time, while the elements are not known to have one shape",
        )
    op = site.op_at(13)
    position = site.input(1)
    if site.shape(position) != []:
        position = op.Reshape(position, site.constant_int64([], "scalar"))
    site.replace(op.Gather(_stacked(site, op, list(parts), 0), position, axis=0))


def length_is_known(site: Site) -> None:
    site.replace(site.scalar(len(_parts(site)), "int64", "length"))


def elements_are_joined(site: Site) -> None:
    parts = list(_parts(site))
    if not parts:
        site.refuse(Why.INVALID_MODEL, "there is nothing in the sequence to concatenate")
    op, axis = site.op_at(13), site.attribute("axis")
    if site.attribute("new_axis", 0):
        site.replace(_stacked(site, op, parts, axis))
    else:
        site.replace(op.Concat(*parts, axis=axis))


def _stacked(site: Site, op: Operators, parts: list[str], axis: int) -> str:
    axes = site.constant_int64([axis])
    return str(op.Concat(*(op.Unsqueeze(part, axes) for part in parts), axis=axis))


def _parts(site: Site) -> tuple[str, ...]:
    parts = site.parts(0)
    if parts is None:
        site.refuse(
            Why.NO_EQUIVALENT,
            f"below opset {site.opset + 1} there are no sequences, and what {site.input(0)!r} consists of is not "
            "known: it is not built, from a known number of elements, in this graph",
        )
    return parts


def _constant_position(site: Site, position: int, length: int, highest: int, default: int | None = None) -> int:
    if not site.input(position) and default is not None:
        return default
    value = site.constant_value(position)
    if value is None:
        site.refuse(
            Why.INPUT_NOT_CONSTANT,
            f"below opset {site.opset + 1} there are no sequences, and {site.input(position)!r}, a place in one, is "
            "computed at run time",
        )
    index = int(value.item())
    if not -length <= index <= highest:
        site.refuse(Why.INVALID_MODEL, f"position {index} is not in a sequence of {length}")
    return index % length if length and index < 0 else index


def split_gives_the_elements(site: Site) -> None:
    """Where their number is known: from the lengths, or the size of the axis."""
    op = site.op_at(13)
    axis = site.attribute("axis", 0)
    lengths = _lengths(site, axis)
    if isinstance(lengths, str):
        count = site.static_shape(lengths, because="so many elements the sequence has")[0]
    else:
        count = len(lengths)
    if not 0 < count <= _MOST_PARTS:
        if count:
            site.refuse(Why.NO_EQUIVALENT, f"below opset 11 there are no sequences, and {count:,} values are too many")
        site.scalarize(0, ())
        return
    split = lengths if isinstance(lengths, str) else site.constant_int64(lengths, "lengths")
    parts = op.Split(site.input(0), split, axis=axis, outputs=count) if count > 1 else [site.input(0)]
    if not site.input(1) and not site.attribute("keepdims", 1):
        parts = [op.Squeeze(part, site.constant_int64([axis])) for part in parts]
    site.scalarize(0, list(parts))


def _lengths(site: Site, axis: int) -> list[int] | str:
    """The lengths of the elements along the axis, or the name of them where only their number is known."""
    value = site.constant_value(1) if site.input(1) else numpy.array(1)
    if value is None:
        if site.rank(1, because="it says whether split is one length for all or a list of them") != 1:
            site.refuse(
                Why.INPUT_NOT_CONSTANT,
                "below opset 11 there are no sequences, and how many elements the tensor is split into is computed at "
                "run time",
            )
        return site.input(1)
    if value.ndim:
        return [int(length) for length in value]
    because = "below opset 11, where there are no sequences, the number of elements has to be known"
    rank = site.rank(0, because=because)
    size = (site.shape(0) or [])[counted_from_front(site, [axis], rank, name="axis")[0]]
    if not isinstance(size, int):
        site.refuse(Why.SHAPE_UNKNOWN, f"the size of axis {axis} of {site.input(0)!r} is not known, and {because}")
    step = int(value)
    return [end - start for start, end in pairwise([*range(0, size, step), size])]


def body_is_repeated(site: Site) -> None:
    """For each element where they are known, else by the function body of the schema, which is a Loop."""
    parts = [site.parts(position) for position in range(len(site.inputs))]
    first = parts[0]
    if first is None:
        expand(site)
        return
    columns: list[list[str]] = [[] for _ in site.node.output]
    for index in range(len(first)):
        taken = [name if one is None else one[index] for name, one in zip(site.inputs, parts, strict=True)]
        for column, result in zip(columns, site.op.inline("body", *taken), strict=True):
            column.append(result)
    for position, column in enumerate(columns):
        site.scalarize(position, column)


INTRODUCTIONS = [
    Introduction("SequenceEmpty", 11, down=nothing_stands_for_it),
    Introduction("SequenceConstruct", 11, down=elements_stand_for_it),
    Introduction("SequenceInsert", 11, down=element_is_added),
    Introduction("SequenceErase", 11, down=element_is_left_out),
    Introduction("SequenceAt", 11, down=element_is_taken),
    Introduction("SequenceLength", 11, down=length_is_known),
    Introduction("ConcatFromSequence", 11, down=elements_are_joined),
    Introduction("SplitToSequence", 11, down=split_gives_the_elements),
    Introduction("SequenceMap", 17, down=body_is_repeated),
]
