"""Helpers for the coordinates of Upsample and Resize: the interpolation, its axes, and their sizes as numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from opsetlift.rulebook.site import Operators, Site
from opsetlift_rules.helpers import opsets


@dataclass(frozen=True)
class Interpolation:
    """The attributes of an interpolation, by the names of Resize."""

    mode: str
    """nearest, linear or cubic."""
    transformation: str
    """Resize's coordinate_transformation_mode."""
    rounding: str = "round_prefer_floor"
    """Resize's nearest_mode, or "by direction": the ceiling where it samples down, else the floor."""
    cubic_coefficient: float = -0.75
    excludes_outside: bool = False
    antialiases: bool = False
    extrapolation_value: float = 0.0


@dataclass(frozen=True)
class ResampledAxis:
    """An axis that is resampled. The values are names of scalars: lengths int64, the others float."""

    axis: int
    size: str
    length: str
    scale: str
    is_cut: bool = True
    """Whether the length is a truncated product of size and scale."""
    region: tuple[str, str] | None = None
    """Start and end of the crop."""


class Coordinates:
    """Emits coordinate arithmetic for the resampling of one site, in float."""

    def __init__(self, site: Site, interpolation: Interpolation) -> None:
        self.site = site
        self.interpolation = interpolation
        self.op = site.op_at(opsets.AXES_AS_INPUTS)

    def number(self, value: float | numpy.floating[Any]) -> str:
        """A float constant."""
        return self.site.constant(value, "float", "number")

    def size(self, axis: int) -> str:
        """The length of an axis of the data, float."""
        return self.folded(lambda op: op.Cast(self.dimension(axis), to="float"))

    def dimension(self, axis: int) -> str:
        """The length of an axis of the data, int64."""
        shape = self.site.shape(0)
        known = shape[axis] if shape is not None else None
        if isinstance(known, int):
            return self.site.constant(known, "int64", "size")
        position = self.site.constant(axis, "int64", "axis")
        return self.folded(lambda op: op.Gather(op.Shape(self.site.input(0)), position))

    def folded(self, build: Callable[[Operators], str], hint: str = "constant") -> str:
        """The result of the emitted nodes, or a constant where it is known."""
        return self.site.folded(lambda: build(self.op), hint)

    def last(self, op: Operators, axis: ResampledAxis) -> str:
        """The position of an axis's last element, float."""
        return str(op.Sub(axis.size, self.number(1)))
