"""Between which numbers what nodes compute lies, as far as their operators tell."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy
from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.specification.dtypes import dtype_of_type

Bounds = tuple[float, float]
"""The least and the largest number that a value may hold."""

_ANY: Bounds = (-math.inf, math.inf)
_NOT_NEGATIVE: Bounds = (0, math.inf)

_SHAPED_OTHERWISE = frozenset(
    [
        *(
            "DepthToSpace",
            "Dropout",
            "Expand",
            "Flatten",
            "Gather",
            "GatherElements",
            "GatherND",
            "Identity",
            "Reshape",
        ),
        *("Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
    ]
)
"""Operators that give numbers of their first input, and no others."""

_WHOLE = frozenset(["Ceil", "Floor", "Round", "Sign"])
_WHOLE_OF_WHOLE = frozenset(["Abs", "Add", "Clip", "Concat", "Max", "Min", "Mul", "Neg", "Relu", "Sub", "Sum"])
_ELEMENTS_OF_THE_FIRST = _SHAPED_OTHERWISE | {"ReduceMax", "ReduceMin"}

_COUNTS = frozenset(["ArgMax", "ArgMin", "NonZero", "Shape", "Size"])
_BETWEEN_THOSE_READ = frozenset(["Max", "Min", "Mean", "ReduceMax", "ReduceMean", "ReduceMin"])


def may_be_negative(name: str, scope: ScopeFacts, steps: int) -> bool:
    """Whether a value is computed and may hold a number below 0.

    Integers that are inputs of a graph are taken not to be: where indices are asked for, these are tokens and classes,
    and in the body of a Loop the number of its run.

    Args:
        name: The value.
        scope: Facts of the graph that it is in.
        steps: How many nodes before it are looked at, one behind the other; those before them may compute anything.
    """
    return _bounds(name, scope, steps)[0] < 0


def may_have_fractions(name: str, scope: ScopeFacts, steps: int) -> bool:
    """Whether a value of floats may hold a number that is not whole.

    Args:
        name: The value.
        scope: Facts of the graph that it is in.
        steps: How many nodes before it are looked at, one behind the other; those before them may compute anything.
    """
    if scope.is_constant(name):
        value = scope.constant(name)
        is_whole = value is not None and value.dtype.kind in "iufb" and bool((value == numpy.floor(value)).all())
        return not is_whole
    if _holds_integers(name, scope):
        return False
    node = scope.producer(name)
    if node is None or not steps:
        return True
    operator = node.op_type
    # Up to version 6 the bounds of Clip are attributes.
    if any(not one.f.is_integer() for one in node.attribute if operator == "Clip"):
        return True
    if operator in _WHOLE or (operator == "Cast" and _holds_integers(node.input[0], scope)):
        return False
    read = len(node.input) if operator in _WHOLE_OF_WHOLE else 1 if operator in _ELEMENTS_OF_THE_FIRST else 0
    return not read or any(one and may_have_fractions(one, scope, steps - 1) for one in list(node.input)[:read])


def _holds_integers(name: str, scope: ScopeFacts) -> bool:
    dtype = dtype_of_type(scope.type_string(name) or "") or ""
    return dtype == "bool" or "int" in dtype


def _bounds(name: str, scope: ScopeFacts, steps: int) -> Bounds:
    if scope.is_constant(name):
        value = scope.constant(name)
        is_number = value is not None and value.size > 0 and value.dtype.kind in "iufb"
        return (float(value.min()), float(value.max())) if value is not None and is_number else _ANY
    node = scope.producer(name)
    if node is not None:
        return _computed(node, name, scope, steps - 1) if steps else _ANY
    if scope.parent is not None and scope.parent.type_string(name) is not None:
        return _bounds(name, scope.parent, steps)
    dtype = dtype_of_type(scope.type_string(name) or "") or ""
    return _NOT_NEGATIVE if dtype == "bool" or "int" in dtype else _ANY


def _computed(node: NodeProto, name: str, scope: ScopeFacts, steps: int) -> Bounds:
    dtype = dtype_of_type(scope.type_string(name) or "")
    if dtype == "bool":
        return 0, 1
    if dtype is not None and dtype.startswith("uint"):
        return _NOT_NEGATIVE
    operator = node.op_type
    if operator in _COUNTS or (operator == "TopK" and name != node.output[0]):
        return _NOT_NEGATIVE

    def read(place: int) -> Bounds:
        return _bounds(node.input[place], scope, steps)

    if operator in _SHAPED_OTHERWISE:
        return read(0)
    if operator in _OF_ONE:
        return _OF_ONE[operator](read(0))
    if operator in _OF_TWO and len(node.input) == _TWO:
        return _OF_TWO[operator](read(0), read(1))
    if operator in _BETWEEN_THOSE_READ or operator in ("Concat", "Where"):
        first = 1 if operator == "Where" else 0
        last = 1 if operator.startswith("Reduce") else len(node.input)
        all_read = [read(place) for place in range(first, last)]
        least = max if operator == "Max" else min
        largest = min if operator == "Min" else max
        return least(one[0] for one in all_read), largest(one[1] for one in all_read)
    if operator == "Mod" and not any(one.name == "fmod" and one.i for one in node.attribute):
        return (0, read(1)[1]) if read(1)[0] >= 0 else _ANY
    return _ANY


def _product(one: Bounds, two: Bounds) -> Bounds:
    found = [0 if 0 in pair else pair[0] * pair[1] for pair in product(one, two)]
    return min(found), max(found)


_TWO = 2
_OF_ONE: dict[str, Callable[[Bounds], Bounds]] = {
    "Abs": lambda one: (0, max(map(abs, one))),
    "Cast": lambda one: one,
    "Ceil": lambda one: one,
    "Floor": lambda one: (one[0] - 1, one[1]) if one[0] < 0 else one,
    "Neg": lambda one: (-one[1], -one[0]),
    "Relu": lambda one: (max(one[0], 0), max(one[1], 0)),
    "Sigmoid": lambda _: (0, 1),
    "Softmax": lambda _: (0, 1),
}
_OF_TWO: dict[str, Callable[[Bounds, Bounds], Bounds]] = {
    "Add": lambda one, two: (one[0] + two[0], one[1] + two[1]),
    "Mul": _product,
    "Sub": lambda one, two: (one[0] - two[1], one[1] - two[0]),
}
