"""Helpers for flat positions: the index of an element, or slice, in the flattened tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import overload

import numpy

from opsetlift.rulebook.site import Array, Site
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import gather_within
from opsetlift_rules.helpers.counting import iota
from opsetlift_rules.helpers.dimensions import divisor
from opsetlift_rules.helpers.signs import is_negative

Number = Array | str
"""Known integers, or the name of a tensor of them."""


def tuple_length(site: Site, indices: str) -> int:
    """How many dimensions the tuples in the last dimension of `indices` index."""
    site.rank(indices, because="its last dimension is the number of indexed dimensions")
    length = (site.shape(indices) or [None])[-1]
    if not isinstance(length, int):
        site.refuse(
            Why.SHAPE_UNKNOWN,
            f"the last dimension of {indices!r} cannot be inferred; it is the number of indexed dimensions",
        )
    return length


class Sizes(Sequence[Number]):
    """The dimensions of a tensor; unknown ones are emitted as elements of its shape when they are first used."""

    def __init__(self, positions: Positions, value: str) -> None:
        self._positions = positions
        self._value = value
        self._dims = positions.site.shape(value) or []
        self._shape = ""
        self._found: dict[int, Number] = {}

    def __len__(self) -> int:
        return len(self._dims)

    @overload
    def __getitem__(self, index: int) -> Number: ...
    @overload
    def __getitem__(self, index: slice) -> list[Number]: ...
    def __getitem__(self, index: int | slice) -> Number | list[Number]:
        if isinstance(index, slice):
            return [self[position] for position in range(len(self))[index]]
        position = range(len(self))[index]
        if position not in self._found:
            self._found[position] = self._size(position)
        return self._found[position]

    def _size(self, position: int) -> Number:
        dim = self._dims[position]
        if isinstance(dim, int):
            return numpy.array(dim)
        op, site = self._positions.op, self._positions.site
        self._shape = self._shape or op.Shape(self._value)
        return self._positions.of(op.Gather(self._shape, site.constant(position, "int64", "dimension")))


class Positions:
    """Arithmetic with positions: at conversion where both operands are known, else by nodes.

    Nodes compute in int64; below 6, where there is no integer arithmetic, in double, which holds every position.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.op = site.op_at(opsets.ALLOWZERO)
        self.dtype = "int64" if site.target >= opsets.INTEGERS_IN_ARITHMETIC else "double"

    def of(self, value: str) -> Number:
        """The integers in a tensor of the model, constant or not."""
        known = self.site.constant_value(value)
        if known is not None:
            return known.astype(numpy.int64)
        return value if self.site.dtype(value) == self.dtype else str(self.op.Cast(value, to=self.dtype))

    def name(self, number: Number) -> str:
        """The tensor that holds the number in the dtype of the arithmetic."""
        if isinstance(number, str):
            return number
        return self.site.constant(number.astype(numpy_dtype(self.dtype)), hint="positions")

    def indices(self, number: Number) -> str:
        """The number as an int64 tensor."""
        if not isinstance(number, str):
            return self.site.constant(number.astype(numpy.int64), hint="positions")
        return number if self.dtype == "int64" else str(self.op.Cast(number, to="int64"))

    def add(self, first: Number, second: Number) -> Number:
        """The sum; where one number is known to be 0, the other one."""
        if not isinstance(first, str) and not isinstance(second, str):
            return numpy.asarray(first + second)
        for one, other in ((first, second), (second, first)):
            if not isinstance(one, str) and one.ndim == 0 and one == 0:
                return other
        return str(self.op.Add(self.name(first), self.name(second)))

    def multiply(self, first: Number, second: Number) -> Number:
        """The product; where one number is known to be 1, the other one."""
        if not isinstance(first, str) and not isinstance(second, str):
            return numpy.asarray(first * second)
        for one, other in ((first, second), (second, first)):
            if not isinstance(one, str) and one.ndim == 0 and one == 1:
                return other
        return str(self.op.Mul(self.name(first), self.name(second)))

    def product(self, numbers: Sequence[Number]) -> Number:
        """The product of any number of numbers; of none, 1."""
        one: Number = numpy.array(1)
        return reduce(self.multiply, numbers, one)

    def quotient(self, first: Number, second: Number) -> Number:
        """Of positions by a size, rounded down. Where the size is 0 there are none."""
        if not isinstance(second, str) and int(second) <= 1:
            return first
        if not isinstance(first, str) and not isinstance(second, str):
            return numpy.asarray(first // second)
        if isinstance(second, str) and self.dtype == "int64":
            second = divisor(self.site, self.op, second)
        result = self.op.Div(self.name(first), self.name(second))
        return str(result if self.dtype == "int64" else self.op.Floor(result))

    def negated(self, number: Number) -> Number:
        """The number with the other sign."""
        return -number if not isinstance(number, str) else str(self.op.Neg(number))

    def column(self, number: Number, trailing: int) -> Number:
        """The number with `trailing` more dimensions of 1 at the end."""
        if trailing == 0:
            return number
        if not isinstance(number, str):
            return number.reshape(*number.shape, *[1] * trailing)
        rank = self.site.rank(number, because="new dimensions are appended to it")
        return str(self.op.Unsqueeze(number, self.site.constant(range(rank, rank + trailing), "int64")))

    def sizes(self, value: str | int, *, because: str) -> Sizes:
        """The dimensions of a tensor of known rank."""
        self.site.rank(value, because=because)
        return Sizes(self, value if isinstance(value, str) else self.site.input(value))

    def strides(self, sizes: Sequence[Number]) -> list[Number]:
        """For each dimension the distance of its elements in the flattened tensor."""
        return [self.product(sizes[position + 1 :]) for position in range(len(sizes))]

    def counted(self, size: Number) -> Number:
        """0, 1, ... up to `size`, exclusive."""
        if not isinstance(size, str):
            return numpy.arange(int(size))
        return self.of(iota(self.site, self.op, self.indices(size)))

    def from_front(self, indices: Number, size: Callable[[], Number]) -> Number:
        """Indices that may be negative, counted from the front; the size is asked for if one is."""
        if not isinstance(indices, str):
            if not (indices < 0).any():
                return indices
            counts_back: Number = (indices < 0).astype(numpy.int64)
        else:
            counts_back = str(self.op.Cast(is_negative(self.site, self.op, indices), to=self.dtype))
        return self.add(indices, self.multiply(counts_back, size()))

    def along_axis(self, data: str, indices: str, axis: int, *, because: str) -> Number:
        """The position in `data` that each element of `indices` means: its own place, but for `axis`."""
        sizes, extents = (self.sizes(value, because=because) for value in (data, indices))
        strides = self.strides(sizes)
        rank = len(sizes)
        result = self.multiply(self.from_front(self.of(indices), lambda: sizes[axis]), strides[axis])
        for position in range(rank):
            if position != axis and not self._is_one(extents[position]):
                place = self.multiply(self.counted(extents[position]), strides[position])
                result = self.add(result, self.column(place, rank - 1 - position))
        return result

    def of_tuples(self, indices: str, sizes: Sequence[Number]) -> Number:
        """The position, among slices of which there are `sizes`, of each tuple in the last dimension of `indices`."""
        tuples = self.of(indices)
        if isinstance(tuples, str) and len(sizes) == 1:
            last = len(self.site.shape(indices) or []) - 1
            squeezed = str(self.op.Squeeze(tuples, self.site.constant([last], "int64")))
            return self.from_front(squeezed, lambda: sizes[0])
        counted = self.multiply(self.from_front(tuples, lambda: self.vector(sizes)), self.vector(self.strides(sizes)))
        if not isinstance(counted, str):
            return numpy.asarray(counted.sum(axis=-1))
        return str(self.op.ReduceSum(counted, self.site.constant([-1], "int64"), keepdims=0))

    def vector(self, numbers: Sequence[Number]) -> Number:
        """Scalars in a row."""
        known = [number for number in numbers if not isinstance(number, str)]
        if len(known) == len(numbers):
            return numpy.array(known, numpy.int64)
        first = self.site.constant([0], "int64")
        return str(self.op.Concat(*(self.op.Unsqueeze(self.name(number), first) for number in numbers), axis=0))

    def shape(self, numbers: Sequence[Number]) -> str:
        """Scalars in a row, as an int64 tensor."""
        return self.indices(self.vector(numbers))

    def row(self, value: str) -> str:
        """All elements of a tensor in a row."""
        if len(self.site.shape(value) or []) == 1:
            return value
        return str(self.op.Reshape(value, self.site.constant([-1], "int64", "row")))

    def gather(self, rows: str, positions: Number) -> str:
        """The elements or slices at positions that are not negative."""
        return gather_within(self.site, rows, self.indices(positions))

    @staticmethod
    def _is_one(number: Number) -> bool:
        return not isinstance(number, str) and int(number) == 1
