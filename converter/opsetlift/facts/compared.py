"""By the content of which constants nodes are told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from onnx import TensorProto

from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import element_type, name_of_numpy_dtype

Question = Callable[[Array], bool]
"""Asks something about the elements of a constant; the same object each time."""


class Asked(NamedTuple):
    """A question about a constant that is not compared."""

    name: str
    question: Question
    answer: bool


_MOST_ELEMENTS = 1 << 10
_MOST_WEIGHTS = 15
_OF_WEIGHTS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)


def is_compared(element: int, size: int) -> bool:
    """Whether nodes are told apart by the content of a constant of an element type with so many elements.

    Rules look at axes, shapes and single numbers. Weights they mostly pass on, and those differ from layer to layer.
    """
    return size <= (_MOST_WEIGHTS if element in _OF_WEIGHTS else _MOST_ELEMENTS)


def has_content_compared(value: Array) -> bool:
    """The same of a value."""
    return value.size <= _MOST_WEIGHTS or is_compared(element_type(name_of_numpy_dtype(value.dtype)), value.size)
