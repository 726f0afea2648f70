"""Tensors that hold every value of a table, or every pair of two, in as few cases as their shapes allow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from converter.prove.shapes import Layout, Layouts, Shape

Array = NDArray[Any]
Tables = Mapping[str, Array]
"""Per input, the values to go through."""

Filling = dict[str, Array]
"""Values for some of the inputs."""

COMBINATIONS = 64
"""Up to so many combinations of values are tried one by one."""


def every_combination(tables: Tables, shapes: Mapping[str, Shape]) -> Iterator[Filling]:
    """Each combination of the values in all elements of all inputs; nothing where these are too many."""
    total = sum(math.prod(shapes[name]) for name in tables)
    values = max(map(len, tables.values()))
    if total > COMBINATIONS or values**total > COMBINATIONS:
        return
    for number in range(values**total):
        filling = {}
        for name, table in tables.items():
            digits = []
            for _ in range(math.prod(shapes[name])):
                number, digit = divmod(number, values)
                digits.append(digit % len(table))
            filling[name] = table[numpy.array(digits, dtype=int)].reshape(shapes[name])
        yield filling


def every_value(tables: Tables, shapes: Mapping[str, Shape]) -> Iterator[Filling]:
    """Each value at least once in each input, if that has an element."""
    values = max(map(len, tables.values()))
    least = min(filter(None, (math.prod(shapes[name]) for name in tables)), default=values)
    for start in range(0, min(values, COMBINATIONS * least), least):
        filling = {}
        for number, (name, table) in enumerate(tables.items()):
            positions = start + (2 * number + 1) * numpy.arange(math.prod(shapes[name]))
            filling[name] = table[positions % len(table)].reshape(shapes[name])
        yield filling


def pairs_by_turns(
    tables: Tables, shapes: Mapping[str, Shape], rng: numpy.random.Generator, most: int
) -> Iterator[Filling]:
    """Each pair of values of two inputs of equal shape at least once, or as many pairs as `most` turns can hold."""
    names = list(tables)
    for position, one in enumerate(names):
        for other in names[position + 1 :]:
            count = math.prod(shapes[one])
            if count and shapes[one] == shapes[other]:
                pairs = rng.permutation(len(tables[one]) * len(tables[other]))
                for start in range(0, min(len(pairs), most * count), count):
                    first, second = divmod(numpy.resize(pairs[start : start + count], count), len(tables[other]))
                    yield {
                        one: tables[one][first].reshape(shapes[one]),
                        other: tables[other][second].reshape(shapes[other]),
                    }
                return


def pairs_at_once(tables: Tables, layouts: Layouts, base: Layout) -> Iterator[tuple[Layout, Filling]]:
    """Each pair of values, of two inputs or of two elements of one, along an open dimension; for small tables all
    triples and more.

    Position p of that dimension holds the digits of p, one per input and per step in other dimensions.
    """
    values = max(map(len, tables.values()))
    digits = 2 if values > 16 else 3 if values > 4 else 8
    for layout, symbol in layouts.long(base, values**digits, 2 if digits == 2 else 3):
        filling = {}
        for number, (name, table) in enumerate(tables.items()):
            shape = layout.shapes[name]
            axis = layouts.axis_of(symbol, name, layout)
            if axis is None:
                continue
            indices = numpy.indices(shape, sparse=True)
            others = sum(index for position, index in enumerate(indices) if position != axis)
            digit = (number + len(tables) * others) % digits
            chosen = indices[axis] // values**digit % values % len(table)
            filling[name] = table[numpy.broadcast_to(chosen, shape)]
        yield layout, filling
