"""What test inputs are generated for, and what a generator hands to those who run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from onnx import TypeProto

from opsetlift.model.arrays import Array
from opsetlift.specification import dtypes


@dataclass(frozen=True)
class Input:
    """An input to generate values for."""

    name: str
    type: TypeProto
    controls_shapes: bool = False
    """Whether it holds indices, axes or sizes, so that large numbers would make large tensors."""
    may_control_shapes: bool = False
    """Whether only its dtype and rank suggest that. If no output size depends on it, it is tried as data, too."""
    example: Array | None = None
    """A value that the original is known to accept: the default of an initializer that the caller may override."""

    @property
    def dtype(self) -> str | None:
        """The dtype of the tensor, or of those in a sequence or an optional; None for a map."""
        return _dtype_of(self.type)


def _dtype_of(type_proto: TypeProto) -> str | None:
    kind = type_proto.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return _dtype_of(getattr(type_proto, kind).elem_type)
    return dtypes.dtype_name(type_proto.tensor_type.elem_type) if kind == "tensor_type" else None


@dataclass(frozen=True)
class Case:
    """Values for all inputs."""

    label: str
    values: Mapping[str, Any]
    is_required: bool = False
    """The floor of diversity requires it."""
    expected: Mapping[str, Any] = field(default_factory=dict)
    """What both sides have to give, by the names of the original's outputs; empty where only they are compared."""

    is_plain: bool = False
    """Its numbers are those of the site, or halves: on which side of a bound they are is not decided by rounding."""

    layout: str = ""
    """Which shapes the values have, as part of the label; empty where they were not drawn."""

    @classmethod
    def of(cls, layout: str, filling: str, values: Mapping[str, Any], *, is_required: bool = False) -> Case:
        """Values that were drawn, with a label that names their shapes and how they were filled."""
        return cls(f"inputs with {layout} ({filling})", values, is_required, layout=layout)


class Enough(Exception):
    """Raised by an attempt that needs no further case."""


class Explored(Exception):
    """Raised by an attempt that needs no further drawn case; those that the floor requires still follow."""


class Floor(Enum):
    """How diverse the accepted inputs have to be."""

    NONE = 0
    BRIEF = 1
    """One value of each kind: for whole models, each run of which may take long."""
    FULL = 2
    """Each special value; of dtypes of at most 8 bits every value."""


class Ran(list[Any]):
    """The shapes of the original's outputs, and what both sides gave."""

    sides: Sequence[Sequence[Any]]
    """What each side gave; once where both have to give the same bits, and so did."""
    watched: Sequence[Any] = ()
    """What the values inside both models were that are watched."""


Attempt = Callable[[Case], Sequence[Any] | None]
"""Runs both sides on a case. Returns the shapes of the original's outputs, or None where the original rejects it."""
