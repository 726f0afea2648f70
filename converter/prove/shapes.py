"""Shapes to try: sizes for the dimensions that a site or a model leaves open, bound alike in all inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy
from onnx import TypeProto

Dims = tuple[int | str | None, ...]
"""Sizes, symbols, and None for a dimension of which nothing is known."""

Shape = tuple[int, ...]

SMALL = 8
"""Sizes up to this are kept when a shape is shrunk: they are kernels, groups, coordinates, and so on."""

LIGHT = 1 << 11
"""Inputs of so few elements in all are never shrunk."""

BEARABLE = 1 << 15
"""Inputs of so few elements in all are tried at the model's own shapes, besides the shrunk ones."""

_UNKNOWN = "?"


def dims_of(type_proto: TypeProto) -> Dims | None:
    """The dimensions of a tensor, or of the tensors in a sequence or an optional; None where the rank is not known."""
    kind = type_proto.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return dims_of(getattr(type_proto, kind).elem_type)
    if kind != "tensor_type" or not type_proto.tensor_type.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else (dim.dim_param or None)
        for dim in type_proto.tensor_type.shape.dim
    )


def elements(shape: Sequence[int]) -> int:
    """How many elements a tensor of this shape has."""
    return int(numpy.prod(shape, dtype=numpy.float64))


def shrunk(dims: Mapping[str, Dims | None]) -> dict[str, Dims | None]:
    """Large sizes made small, equal ones alike and different ones differently."""
    kept = {size for sizes in dims.values() if sizes for size in sizes if isinstance(size, int) and size <= SMALL}
    renamed: dict[int, int] = {}
    free = (size for size in range(5, 1 << 30) if size not in kept)

    def small(size: int | str | None) -> int | str | None:
        if not isinstance(size, int) or size <= SMALL:
            return size
        if size not in renamed:
            renamed[size] = next(free)
        return renamed[size]

    return {name: None if sizes is None else tuple(map(small, sizes)) for name, sizes in dims.items()}


def is_light(dims: Mapping[str, Dims | None]) -> bool:
    """Whether the sizes that are fixed are so few that nothing need be shrunk."""
    return _fixed_elements(dims) <= LIGHT


def is_bearable(dims: Mapping[str, Dims | None]) -> bool:
    """Whether the sizes that are fixed are few enough to be tried as they are."""
    return _fixed_elements(dims) <= BEARABLE


def _fixed_elements(dims: Mapping[str, Dims | None]) -> int:
    return sum(elements([size for size in sizes if isinstance(size, int)]) for sizes in dims.values() if sizes)


@dataclass(frozen=True)
class Layout:
    """A shape for each input."""

    label: str
    rank: int
    """The rank taken for the inputs whose rank is not known."""
    sizes: Mapping[str, int]
    """What the open dimensions stand for, by symbol."""
    shapes: Mapping[str, Shape]

    @property
    def elements(self) -> int:
        return sum(map(elements, self.shapes.values()))


class Layouts:
    """The layouts for inputs of the given dimensions.

    Symbols are bound alike in all inputs. Dimensions of which nothing is known are equal where they stand at equal
    distance from the last, as broadcasting wants it.
    """

    def __init__(self, dims: Mapping[str, Dims | None], rng: numpy.random.Generator) -> None:
        self._dims = dims
        self._rng = rng
        self._fixed = [size for sizes in dims.values() if sizes for size in sizes if isinstance(size, int)]
        self.has_unknown_rank = any(sizes is None for sizes in dims.values())

    def bases(self) -> Iterator[Layout]:
        """Layouts to begin with; where the original takes one of them, its `variants` come next."""
        for rank in (2, 1, 3, 4, 0, 5) if self.has_unknown_rank else (0,):
            suffix = f", rank {rank}" if self.has_unknown_rank else ""
            symbols = self._symbols(rank)
            if not symbols:
                yield self._layout(f"the model's shapes{suffix}", rank, {})
                continue
            yield self._layout(f"small sizes{suffix}", rank, {symbol: 2 + n for n, symbol in enumerate(symbols)})
            for size in dict.fromkeys([2, *self._fixed[:1], 1]):
                yield self._layout(f"every open size {size}{suffix}", rank, dict.fromkeys(symbols, size))

    def variants(self, base: Layout) -> Iterator[Layout]:
        """Other sizes around a layout that the original takes: none, more, one, random ones, broadcasting."""
        symbols = list(base.sizes)
        for symbol in symbols[:4]:
            yield self._layout(f"size 0 for {symbol}", base.rank, {**base.sizes, symbol: 0})
        if symbols:
            yield self._layout("every open size 0", base.rank, dict.fromkeys(symbols, 0))
            yield self._layout("larger sizes", base.rank, {symbol: 7 + 4 * n for n, symbol in enumerate(symbols)})
            yield self._layout("every open size 5", base.rank, dict.fromkeys(symbols, 5))
            random = self._rng.integers(1, 6, size=len(symbols)).tolist()
            yield self._layout("random sizes", base.rank, dict(zip(symbols, random, strict=True)))
        if any(symbol.startswith(_UNKNOWN) for symbol in symbols) and len(self._dims) > 1:
            for name in list(self._dims)[:2]:
                yield self._broadcasting(base, name)

    def long(self, base: Layout, size: int, others: int) -> Iterator[tuple[Layout, str]]:
        """Layouts with `size` for one open dimension and `others` for the others, and that dimension's symbol.

        Left out are symbols that stand at more than one place: their outer product is too large.
        """
        for symbol in base.sizes:
            places = {
                index - len(tokens)
                for tokens in (self._tokens(name, base.rank) for name in self._dims)
                for index, token in enumerate(tokens)
                if token == symbol
            }
            if len(places) == 1:
                sizes = {**dict.fromkeys(base.sizes, others), symbol: size}
                yield self._layout("every value and pair", base.rank, sizes), symbol

    def axis_of(self, symbol: str, name: str, rank: int) -> int | None:
        """Which dimension of an input a symbol stands for."""
        tokens = self._tokens(name, rank)
        return tokens.index(symbol) if symbol in tokens else None

    def _broadcasting(self, base: Layout, name: str) -> Layout:
        shape = tuple(
            1 if isinstance(token, str) and token.startswith(_UNKNOWN) else size
            for token, size in zip(self._tokens(name, base.rank), base.shapes[name], strict=True)
        )
        if self._dims[name] is None:
            shape = shape[1:]
        return Layout("one input broadcast", base.rank, base.sizes, {**base.shapes, name: shape})

    def _tokens(self, name: str, rank: int) -> list[int | str]:
        dims = self._dims[name]
        if dims is None:
            dims = (None,) * rank
        return [f"{_UNKNOWN}{len(dims) - index}" if dim is None else dim for index, dim in enumerate(dims)]

    def _symbols(self, rank: int) -> list[str]:
        tokens = (token for name in self._dims for token in self._tokens(name, rank))
        return list(dict.fromkeys(token for token in tokens if isinstance(token, str)))

    def _layout(self, label: str, rank: int, sizes: Mapping[str, int]) -> Layout:
        shapes = {
            name: tuple(token if isinstance(token, int) else sizes[token] for token in self._tokens(name, rank))
            for name in self._dims
        }
        return Layout(label, rank, sizes, shapes)
