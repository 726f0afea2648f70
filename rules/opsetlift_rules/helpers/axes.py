"""Helpers on axes: counted from the front, moved between attribute and input, looked for at run time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from opsetlift.rulebook.site import Operators, Site, has_attribute, pop_attribute
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets

END = 2**63 - 1
"""The end of a slice that reaches to the last element."""


def counted_from_front(site: Site, axes: Sequence[int], rank: int, *, name: str = "axes") -> list[int]:
    """`axes` without negative ones. Refuses those beyond the rank: the model breaks the text of its own opset."""
    beyond = [axis for axis in axes if not -rank <= axis < rank]
    if beyond:
        site.refuse(Why.INVALID_MODEL, f"{name} {list(axes)} out of range for rank {rank}")
    return [axis % rank for axis in axes]


def make_axis_non_negative(site: Site) -> None:
    """Make the attribute `axis` non-negative, as versions below 11 require."""
    axis = site.attribute("axis", 0)
    if axis < 0:
        rank = site.rank(0, because="below opset 11 a negative axis must be made non-negative")
        site.set_attribute("axis", counted_from_front(site, [axis], rank, name="axis")[0])


def is_along_the_last_axis(site: Site, axis: int) -> bool:
    """Whether an axis is the last one of the first input, whose rank is known."""
    rank = len(site.shape(0) or ())
    return rank > 0 and axis in (-1, rank - 1)


def put_an_axis_behind(site: Site) -> list[str]:
    """Compute the node along its last axis with another one behind that, of one element, which is then removed.

    The results have as many axes as the first input.

    Returns:
        The results, as many as the node has outputs.
    """
    rank = site.rank(0, because="an axis is put behind the last one")
    op, axes = site.op_at(opsets.AXES_AS_INPUTS), site.constant([rank], "int64", "axes")
    spread = op.Unsqueeze(site.input(0), axes)
    results = site.op.copy(spread, *site.inputs[1:], axis=rank - 1)
    return [op.Squeeze(one, axes) for one in ([results] if isinstance(results, str) else results)]


def move_axes_to_an_input(site: Site) -> None:
    """Move the attribute `axes`, if present, to the last input."""
    if has_attribute(site, "axes"):
        site.set_input(len(site.inputs), site.constant(pop_attribute(site, "axes"), "int64"))


def move_constant_axes_to_an_attribute(site: Site) -> bool:
    """Move constant or absent axes to the attribute `axes`; returns whether they are constant or absent."""
    if site.input(1):
        axes = site.constant_value(1)
        if axes is None:
            return False
        site.set_attribute("axes", axes.reshape(-1).tolist())
    site.remove_input(1)
    return True


def gather_within(site: Site, value: str, indices: str, *, axis: int = 0) -> str:
    """Gather by indices that are known not to be negative: written for a version that has no others."""
    return str(
        site.op_at(opsets.BFLOAT16 if site.dtype(value) == "bfloat16" else opsets.NON_NEGATIVE_INDICES).Gather(
            value, indices, axis=axis
        )
    )


class NamedAxes:
    """The dimensions that an int64 vector of axes, computed at run time, names; axes may be negative.

    `op` writes for opset 13 or later; numbers are of `dtype`.
    """

    def __init__(self, site: Site, op: Operators, axes: str, rank: int, dtype: str = "int64") -> None:
        self._site = site
        self._op = op
        numbers = numpy.arange(rank, dtype=numpy.int64)
        column = op.Unsqueeze(axes, site.constant([1], "int64"))
        named = [op.Equal(column, site.constant(one, hint="dimensions")) for one in (numbers, numbers - rank)]
        self._matrix = op.Cast(op.Or(*named), to=dtype)

    def are_named(self) -> str:
        """How often each dimension is named: a sum over the axes, which is 0 over none (a maximum is not)."""
        return str(self._op.ReduceSum(self._matrix, self._site.constant([0], "int64"), keepdims=0))

    def spread(self, values: str) -> str:
        """For each dimension the value that belongs to its axis, or 0."""
        column = self._op.Unsqueeze(values, self._site.constant([1], "int64"))
        return str(
            self._op.ReduceSum(self._op.Mul(self._matrix, column), self._site.constant([0], "int64"), keepdims=0)
        )
