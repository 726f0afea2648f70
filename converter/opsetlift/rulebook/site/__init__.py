"""What a rule sees of a node and may do to it: the types that rules are written with.

A rule either edits the node in place (attributes, inputs) or emits nodes that take its place. Emitted nodes live at the
opset that the transition leads to, or at any that the rule names; the walk takes them on from there. `Site` has the
methods that the walk implements; the functions are built from them.
"""

from opsetlift.model.arrays import Array
from opsetlift.rulebook.site.operators import Dims, Operators
from opsetlift.rulebook.site.reading import (
    dtype_attribute,
    has_attribute,
    is_constant,
    known_shape,
    list_length,
    pop_attribute,
    static_shape,
)
from opsetlift.rulebook.site.site import Site
from opsetlift.rulebook.site.widening import widen, widen_if_lost, widen_to_kernel, wider_type_if_lost

__all__ = [
    "Array",
    "Dims",
    "Operators",
    "Site",
    "dtype_attribute",
    "has_attribute",
    "is_constant",
    "known_shape",
    "list_length",
    "pop_attribute",
    "static_shape",
    "widen",
    "widen_if_lost",
    "widen_to_kernel",
    "wider_type_if_lost",
]
