"""Numbers for types and for parts of keys, so that each is hashed once."""

from __future__ import annotations

from onnx import TypeProto

from opsetlift.proof.shapes import Dims, dims_of
from opsetlift.proof.signature import Key, Numbering
from opsetlift.proof.sites import is_large
from opsetlift.specification import dtypes

_UNKNOWN = -1
"""The number of a type that is not known."""


class TypeNumbers:
    """Numbers for types and for parts of keys, the same for equal ones, and what of a type a key holds."""

    def __init__(self) -> None:
        self._parts: dict[Key, int] = {}
        self._numbers: dict[bytes, int] = {}
        self._by_identity: dict[int, tuple[int, TypeProto]] = {}
        self._types: list[tuple[str | None, Dims | None]] = []
        self._sizes: list[Dims | None] = []
        self._are_large: list[bool] = []
        self._protos: list[TypeProto] = []
        self._keys: dict[tuple[int, ...], Key] = {}

    def part(self, key: Key) -> int:
        """The number of a part of keys, 1 or more, which is hashed once instead of with each."""
        return self._parts.setdefault(key, len(self._parts) + 1)

    def number(self, kind: TypeProto | None) -> int:
        """The number of a type, which must not change any more."""
        if kind is None:
            return _UNKNOWN
        same = self._by_identity.get(id(kind))
        if same is None:
            same = self._by_identity[id(kind)] = self._number(kind), kind
        return same[0]

    def _number(self, kind: TypeProto) -> int:
        content = kind.SerializeToString(deterministic=True)
        found = self._numbers.get(content)
        if found is None:
            found = self._numbers[content] = len(self._types)
            dims = dims_of(kind)
            self._protos.append(kind)
            self._are_large.append(is_large(kind))
            self._types.append((dtypes.type_string(kind), dims))
            self._sizes.append(dims and tuple(size if isinstance(size, int) else None for size in dims))
        return found

    def sizes(self, number: int) -> Dims | None:
        """The dimensions of a type without the names of open ones."""
        return None if number == _UNKNOWN else self._sizes[number]

    def is_large(self, number: int) -> bool:
        """Whether a constant of a type is no part of a site at first."""
        return number != _UNKNOWN and self._are_large[number]

    def type(self, number: int) -> TypeProto | None:
        """The type of a number."""
        return None if number == _UNKNOWN else self._protos[number]

    def key(self, numbers: tuple[int, ...]) -> Key:
        """The types of several values; symbols of dimensions by the order in which they are first seen."""
        if numbers not in self._keys:
            symbol = Numbering()
            self._keys[numbers] = tuple(self._renamed(number, symbol) for number in numbers)
        return self._keys[numbers]

    def _renamed(self, number: int, symbol: Numbering) -> Key | None:
        if number == _UNKNOWN:
            return None
        spelt, dims = self._types[number]
        return spelt, dims and tuple((symbol(size),) if isinstance(size, str) else size for size in dims)
