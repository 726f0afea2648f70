"""Tensors that hold every value of a table, or every pair of two, in as few cases as their shapes allow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations, islice

import numpy
from numpy.typing import NDArray

from opsetlift.model.arrays import Array
from opsetlift.proof.inputs.layouts import Layout, Layouts
from opsetlift.proof.shapes import Shape

Tables = Mapping[str, Array]
"""Per input, the values to go through."""

Filling = dict[str, Array]
"""Values for some of the inputs."""

COMBINATIONS = 64
"""Up to so many combinations of values are tried one by one."""

FIRST_PAIRS = 256
"""So many pairs of special values are tried in any case, however few elements there are."""

MOST_PAIRED = 3
"""At most so many pairs of inputs are tried on pairs of values."""

SMALL_TENSORS = 16
"""Inputs of different shapes are tried on pairs of values where they have at most so many elements together."""

MOST_DIFFERENT = 9
"""Of each table so many values are first paired with each other."""


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


def pairs_beside_constant(tables: Tables, shapes: Mapping[str, Shape], constant: Array) -> Iterator[Filling]:
    """The values of a constant, and their neighbours, in the places where broadcasting puts them beside an input."""
    for name, table in tables.items():
        if table.dtype != constant.dtype or not constant.size:
            continue
        try:
            met = numpy.broadcast_to(constant, shapes[name])
        except ValueError:
            continue
        for value in (met, *_neighbours(met)):
            yield {name: numpy.array(value)}


def _neighbours(values: Array) -> list[Array]:
    unsigned = {1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32, 8: numpy.uint64}.get(values.dtype.itemsize)
    if unsigned is None or values.dtype.kind in "cObU" or values.dtype.kind == "V":
        return []
    bits = numpy.array(values).view(unsigned)
    one = unsigned(1)
    with numpy.errstate(all="ignore"):
        return [(bits + one).view(values.dtype), (bits - one).view(values.dtype)]


def pairs_by_turns(
    tables: Tables, shapes: Mapping[str, Shape], rng: numpy.random.Generator, most: int, *, briefly: bool
) -> Iterator[Filling]:
    """Each pair of values of two inputs at least once, or as many pairs as the turns can hold.

    Equal values and neighbours come first, then pairs of the most different values.

    Args:
        tables: The values of each input.
        shapes: The shapes of the inputs.
        rng: Shuffles the pairs.
        most: So many turns are taken at least.
        briefly: Not more than `most` turns, as the pairs were tried elsewhere.
    """
    for one, other in islice(combinations(tables, 2), MOST_PAIRED):
        counts = math.prod(shapes[one]), math.prod(shapes[other])
        if not all(counts):
            continue
        pairs = _pairs_in_order(tables[one], tables[other], rng)
        if shapes[one] == shapes[other] or counts == (1, 1):
            first = min(len(pairs), FIRST_PAIRS)
            turns = most if briefly else max(most, -(-first // counts[0]))
            for start in range(0, min(len(pairs), turns * counts[0]), counts[0]):
                chosen = numpy.resize(pairs[start : start + counts[0]], (counts[0], 2))
                yield {
                    one: tables[one][chosen[:, 0]].reshape(shapes[one]),
                    other: tables[other][chosen[:, 1]].reshape(shapes[other]),
                }
        elif not briefly and _broadcast_small(shapes[one], shapes[other]):
            yield from _paired(tables, shapes, (one, other), pairs[:FIRST_PAIRS])


def _paired(
    tables: Tables, shapes: Mapping[str, Shape], names: tuple[str, str], pairs: NDArray[numpy.int_]
) -> Iterator[Filling]:
    """Pairs of values of two inputs that broadcast: one value everywhere in the smaller input, several in the other."""
    counts = [math.prod(shapes[name]) for name in names]
    small = 0 if counts[0] <= counts[1] else 1
    few, many = names[small], names[1 - small]
    for value in dict.fromkeys(pairs[:, small].tolist()):
        partners = pairs[pairs[:, small] == value][:, 1 - small]
        for start in range(0, len(partners), counts[1 - small]):
            chosen = numpy.resize(partners[start : start + counts[1 - small]], counts[1 - small])
            yield {
                few: numpy.resize(tables[few][value : value + 1], shapes[few]),
                many: tables[many][chosen].reshape(shapes[many]),
            }


def _broadcast_small(one: Shape, other: Shape) -> bool:
    if math.prod(one) + math.prod(other) > SMALL_TENSORS:
        return False
    try:
        numpy.broadcast_shapes(one, other)
    except ValueError:
        return False
    return True


def _pairs_in_order(one: Array, other: Array, rng: numpy.random.Generator) -> NDArray[numpy.int_]:
    """All pairs of places in two tables: equal values and neighbours, most different values, the others."""
    everything = numpy.indices((len(one), len(other))).reshape(2, -1).T
    everything = rng.permutation(everything)
    if one.dtype == other.dtype and len(one) == len(other) and one.dtype.kind != "O":
        ranks = numpy.empty(len(one), dtype=int)
        ranks[_order(one)] = numpy.arange(len(one))
        near = numpy.abs(ranks[everything[:, 0]] - ranks[everything[:, 1]]) <= 1
    else:
        near = numpy.zeros(len(everything), dtype=bool)
    different = _most_different(one)[everything[:, 0]] & _most_different(other)[everything[:, 1]]
    return everything[numpy.argsort(numpy.where(near, 0, numpy.where(different, 1, 2)), kind="stable")]


def _order(table: Array) -> NDArray[numpy.int_]:
    if table.dtype.kind in "biu":
        return numpy.argsort(table, kind="stable")
    if table.dtype.kind == "c":
        return numpy.arange(len(table))
    return numpy.argsort(table.astype(numpy.float64), kind="stable")


def _most_different(table: Array) -> NDArray[numpy.bool_]:
    """Of a table of special values those that differ most in kind: extremes, zeros, ones, what is not finite."""
    if len(table) <= MOST_DIFFERENT or table.dtype.kind in "Oc":
        return numpy.arange(len(table)) < MOST_DIFFERENT
    order = _order(table)
    wide = table.astype(numpy.float64)
    chosen = numpy.isin(numpy.abs(wide), (0, 1)) | ~numpy.isfinite(wide)
    chosen[order[[0, 1, -2, -1]]] = True
    rest = order[~chosen[order]]
    chosen[rest[:: max(1, len(rest) // max(1, MOST_DIFFERENT - int(chosen.sum())))]] = True
    found: NDArray[numpy.bool_] = chosen
    return found


def values_at_once(tables: Tables, layouts: Layouts, base: Layout) -> Iterator[tuple[Layout, Filling]]:
    """Each value of all inputs, along an open dimension."""
    yield from _at_once(tables, layouts, base, 1)


def pairs_at_once(tables: Tables, layouts: Layouts, base: Layout) -> Iterator[tuple[Layout, Filling]]:
    """Each pair of values, of two inputs or of two elements of one, along an open dimension.

    For small tables it is all triples and more.
    """
    values = max(map(len, tables.values()))
    yield from _at_once(tables, layouts, base, 2 if values > 16 else 3 if values > 4 else 8)


def _at_once(tables: Tables, layouts: Layouts, base: Layout, digits: int) -> Iterator[tuple[Layout, Filling]]:
    """Position p of an open dimension holds the digits of p, one per input and per step in other dimensions."""
    values = max(map(len, tables.values()))
    for layout, symbol in layouts.long(base, values**digits, min(digits, 3)):
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
