"""Shapes to try: sizes for the dimensions that a site or a model leaves open, bound alike in all inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy

from opsetlift.proof.shapes import BEARABLE, LIGHT, Dims, Shape, elements, fixed_elements

LONG = 1 << 18
"""The most elements of inputs that hold every pair of values."""

MOST_GUESSED = 24
"""At most so many different sizes are guessed."""

MOST_FITTED = 8
"""At most so many ways to take sizes from constants and other inputs are tried."""

MOST_TOLD = 4
"""So many open sizes of a whole model are varied alone."""

MOST_JOINED = 3
"""So many numbers of whole models are tried as two sizes at once."""

_UNKNOWN = "?"
_LENGTH = "the length of a list"

MOST_LARGE = 6
"""So many open sizes are larger than a number, alone."""

MOST_CROSSED = 3
"""So many inputs are broadcast in different axes."""

MOST_ALONE = 16
"""So many inputs have sizes above 1, each alone."""

MOST_CROSSINGS = 40
"""In so many ways."""

_CROSSED = (3, 2, 4, 5)
"""The sizes of the axes then, from the last one."""

_SIZES = (2, 3, 4, 5, 2, 3)
_LARGER = (7, 11, 5, 3)


@dataclass(frozen=True)
class Layout:
    """A shape for each input."""

    label: str
    ranks: Mapping[str, int]
    """The ranks of the inputs whose rank is not known."""
    sizes: Mapping[str, int]
    """What the open dimensions stand for, by symbol."""
    shapes: Mapping[str, Shape]

    @property
    def elements(self) -> int:
        """How many elements all inputs have together."""
        return sum(map(elements, self.shapes.values()))


class Layouts:
    """The layouts for inputs of the given dimensions.

    Symbols are bound alike in all inputs. Dimensions of which nothing is known are equal where they stand at equal
    distance from the last, as broadcasting requires; but a list that controls shapes has a length of its own.

    Args:
        dims: The dimensions of each input.
        rng: Chooses sizes and ranks.
        lists: The inputs that control shapes.
        hints: Numbers that sizes may have to be equal to or divisible by.
        beside: The shapes of the constants that the nodes read besides the inputs.
        results: The shapes that outputs have to have.
        most: How many elements all inputs may have together, where open sizes decide on it.
    """

    def __init__(
        self,
        dims: Mapping[str, Dims | None],
        rng: numpy.random.Generator,
        *,
        lists: Collection[str] = (),
        hints: Sequence[int] = (),
        beside: Sequence[Shape] = (),
        results: Sequence[Dims] = (),
        most: int = LONG,
    ) -> None:
        self._dims = dims
        self._beside_constants = any(size > 1 for shape in beside for size in shape)
        least = [*((shape, 0) for shape in results), *((shape, 2) for shape in beside)]
        self._beside = [*least, *((sizes, 2) for sizes in dims.values() if sizes)]
        """Shapes that inputs may have to be like, and the least of their sizes that tells something: 1 broadcasts."""
        self._results = len(results)
        """So many of them, in front, are of outputs."""
        self._rng = rng
        self._lists = lists
        self._fixed = [size for sizes in dims.values() if sizes for size in sizes if isinstance(size, int)]
        self._pool = list(dict.fromkeys([1, 2, 3, 4, *self._fixed, *hints, 6, 8]))[:MOST_GUESSED]
        self._pool = [size for size in self._pool if 0 < size <= BEARABLE]
        derived = [sum(hints), *(size for one in hints if one for size in (abs(one) + 1, one * one, 2 * abs(one)))]
        self._derived = [size for size in dict.fromkeys([*derived, 1, 2]) if 0 < size <= BEARABLE][:MOST_GUESSED]
        self._guessed: set[tuple[object, ...]] = set()
        self._unranked = [name for name, sizes in dims.items() if sizes is None]
        self._limit = max(min(LIGHT * 4, most), fixed_elements(dims))
        self._most_at_once = min(LONG, most)

    @property
    def are_fixed(self) -> bool:
        """Whether nothing is open."""
        return not self._unranked and not self._symbols({})

    def bases(self) -> Iterator[Layout]:
        """Layouts to begin with; where the original accepts one of them, its `variants` come next."""
        for ranks in self._rankings():
            symbols = self._symbols(ranks)
            suffix = f", rank {max(ranks.values())}" if ranks else ""
            if not symbols:
                yield self._layout(f"declared shapes{suffix}", ranks, {})
            elif _LENGTH in symbols:
                data = [name for name in self._dims if name not in self._lists]
                rank = len(self._tokens(data[0], ranks)) if data else 1
                for length in dict.fromkeys([rank, 1, 2 * rank, len(self._lists)]):
                    for label, sizes in self._small(symbols, ranks):
                        yield from self._bearable(label + suffix, ranks, {**sizes, _LENGTH: length})
            else:
                for label, sizes in self._small(symbols, ranks):
                    yield from self._bearable(label + suffix, ranks, sizes)

    def _small(self, symbols: Sequence[str], ranks: Mapping[str, int]) -> Iterator[tuple[str, dict[str, int]]]:
        small = {symbol: _SIZES[n % len(_SIZES)] for n, symbol in enumerate(symbols)}
        yield "small sizes", small
        for sizes in self._fitting(small, ranks):
            yield "the sizes of constants and other inputs", sizes
        for size in dict.fromkeys([2, *self._fixed[:1], 1, 16]):
            yield f"every open size {size}", dict.fromkeys(symbols, size)

    def _fitting(self, small: Mapping[str, int], ranks: Mapping[str, int]) -> Iterator[dict[str, int]]:
        """Open sizes set to those of the constants and of other inputs, aligned at the last dimension or the first.

        Outputs may want sizes of several inputs at once: those are set in pairs, too.
        """
        known = list(self._bindings(self._beside, small, ranks))
        wanted = list(self._bindings(self._beside[: self._results], small, ranks))
        joint = [one | other for one, other in combinations(wanted, 2) if not one.keys() & other.keys()]
        for bindings in (known, joint):
            found = [dict(small)]
            for bound in bindings:
                sizes = {**small, **bound}
                if sizes not in found and len(found) <= MOST_FITTED:
                    found.append(sizes)
                    yield sizes

    def _bindings(
        self, beside: Sequence[tuple[Dims, int]], small: Mapping[str, int], ranks: Mapping[str, int]
    ) -> Iterator[dict[str, int]]:
        for shape, least in beside:
            for name in self._dims:
                tokens = self._tokens(name, ranks)
                for pairs in (zip(tokens[::-1], shape[::-1], strict=False), zip(tokens, shape, strict=False)):
                    yield {
                        token: size
                        for token, size in pairs
                        if isinstance(token, str)
                        and token in small
                        and token != _LENGTH
                        and isinstance(size, int)
                        and size >= least
                    }

    def guesses(self, count: int, *, derived: bool = False) -> Iterator[Layout]:
        """Random layouts, each once, for where the original accepts none of the bases.

        `derived`: with a size that follows from the hints, as one more, the square or the sum of them does.
        """
        pool = self._derived if derived else self._pool
        for _ in range(count):
            ranks = {name: int(self._rng.integers(0 if name in self._lists else 1, 5)) for name in self._unranked}
            symbols = self._symbols(ranks)
            chosen = self._rng.integers(len(pool), size=len(symbols))
            sizes = {symbol: pool[index] for symbol, index in zip(symbols, chosen, strict=True)}
            if derived and symbols:
                one = symbols[int(self._rng.integers(len(symbols)))]
                sizes = {symbol: size if symbol == one else 1 + size % 3 for symbol, size in sizes.items()}
            guess = (*ranks.values(), *sizes.items())
            if guess in self._guessed:
                continue
            self._guessed.add(guess)
            yield from self._bearable("guessed sizes", ranks, sizes)

    def variants(self, base: Layout, *, few: bool) -> Iterator[Layout]:
        """Other sizes around a layout that the original accepts: none, more, one, random ones, broadcasting."""
        symbols, sizes, ranks = list(base.sizes), base.sizes, base.ranks
        if not symbols:
            return
        for size in (0, 1):
            if any(found != size for found in sizes.values()):
                yield from self._bearable(f"every open size {size}", ranks, dict.fromkeys(symbols, size))
        chosen = self._rng.integers(1, 6, size=len(symbols)).tolist()
        yield from self._bearable("random sizes", ranks, dict(zip(symbols, chosen, strict=True)))
        if few:
            return
        for factor in (2, 3):
            # One size may have to be a multiple of another one.
            scaled = {symbol: size if symbol == _LENGTH else factor * size for symbol, size in sizes.items()}
            yield from self._bearable(f"sizes times {factor}", ranks, scaled)
        for symbol, size in product(symbols[:4], (0, 1)):
            if sizes[symbol] != size:
                yield from self._bearable(f"size {size} for {symbol}", ranks, {**sizes, symbol: size})
        larger = {symbol: _LARGER[n] if n < len(_LARGER) else 2 for n, symbol in enumerate(symbols)}
        yield from self._bearable("larger sizes", ranks, larger)
        yield from self._bearable("every open size 5", ranks, dict.fromkeys(symbols, 5))
        if any(symbol.startswith(_UNKNOWN) for symbol in symbols) and len(self._dims) > 1:
            names = list(self._dims)
            for name in names[:2]:
                yield self._broadcasting(base, [name])
            for name in names[:MOST_TOLD] if len(names) > 2 else ():
                # The size of a result may be that of any one input.
                yield self._broadcasting(base, [other for other in names if other != name])
            yield from self._unlike(base)

    def with_one_size(self, base: Layout, size: int) -> Iterator[Layout]:
        """A layout with another size for one open dimension, for each of the first few."""
        for symbol in list(base.sizes)[:MOST_TOLD]:
            if symbol != _LENGTH:
                yield from self._bearable(f"size {size} for {symbol}", base.ranks, {**base.sizes, symbol: size})

    def in_proportion(self, base: Layout) -> Iterator[Layout]:
        """One of the first few open sizes a few times another one, as the heads of queries are that share keys."""
        symbols = [symbol for symbol in base.sizes if symbol != _LENGTH][:MOST_TOLD]
        for (one, other), factor in product(permutations(symbols, 2), (2, 3, 8)):
            size = factor * base.sizes[other]
            if size != base.sizes[one]:
                yield from self._bearable(f"{one} {factor} times {other}", base.ranks, {**base.sizes, one: size})

    def crosswise(self, base: Layout) -> Iterator[Layout]:
        """Several inputs, each broadcast in all axes but one, or in all; and a size of 0 beside those of 1."""
        names = [name for name in self._dims if self._has_open_sizes(name, base)][:MOST_CROSSED]
        rank = max((len(base.shapes[name]) for name in names), default=0)
        if len(names) < 2 or not rank:
            return
        kept = list(product(range(rank + 1), repeat=len(names)))
        order = self._rng.permutation(len(kept))[:MOST_CROSSINGS]
        for chosen in (kept[int(place)] for place in order):
            sizes = {name: {axis: _CROSSED[axis % len(_CROSSED)]} for name, axis in zip(names, chosen, strict=True)}
            yield from self._broadcast(base, "shapes broadcast in different axes", names, sizes)
        for name, axis in product(names, range(rank)):
            yield from self._broadcast(base, "no elements beside sizes of 1", names, {name: {axis: 0}})
        every = [name for name in self._dims if self._has_open_sizes(name, base)][:MOST_ALONE]
        for name in every if len(every) > len(names) else ():
            alone = {name: {axis: _CROSSED[axis % len(_CROSSED)] for axis in range(rank)}}
            yield from self._broadcast(base, "all shapes but one broadcast", every, alone)

    def _has_open_sizes(self, name: str, base: Layout) -> bool:
        return any(isinstance(token, str) and token != _LENGTH for token in self._tokens(name, base.ranks))

    def _broadcast(
        self, base: Layout, label: str, names: Sequence[str], kept: Mapping[str, Mapping[int, int]]
    ) -> Iterator[Layout]:
        """The open sizes of some inputs are 1, but for some axes, counted from the last one."""
        sizes: dict[str, int] = {}
        shapes = dict(base.shapes)
        for name in names:
            tokens, shape = self._tokens(name, base.ranks), list(base.shapes[name])
            for axis, token in enumerate(tokens):
                if isinstance(token, str) and token != _LENGTH:
                    wanted = kept.get(name, {}).get(len(shape) - 1 - axis, 1)
                    shape[axis] = wanted if token.startswith(_UNKNOWN) else sizes.setdefault(token, wanted)
            shapes[name] = tuple(shape)
        if shapes != base.shapes:
            yield Layout(label, base.ranks, {**base.sizes, **sizes}, shapes)

    def beyond(self, base: Layout, number: int) -> Iterator[Layout]:
        """Open sizes of two more than a number, alone and together, and one of twice the number beside a size of 2.

        An index beyond a number takes two more, and blocks of so many elements are at least two.
        """
        symbols = [symbol for symbol in base.sizes if symbol != _LENGTH]
        several: list[dict[str, int]] = [dict.fromkeys(symbols, number + 2)]
        for symbol in symbols[:MOST_LARGE]:
            alone = {symbol: number + 2}
            several += [{**base.sizes, **alone}, {**dict.fromkeys(base.sizes, 1), **alone}]
        several += [{**base.sizes, one: 2 * number, other: 2} for one, other in permutations(symbols[:MOST_CROSSED], 2)]
        for position, sizes in enumerate(several):
            layout = self._layout(f"sizes beyond {number}", base.ranks, {**base.sizes, **sizes})
            if sizes not in several[:position] and layout.elements <= self._most_at_once:
                yield layout

    def telling(self, base: Layout, numbers: Sequence[int]) -> Iterator[Layout]:
        """Around a layout each of the first few open sizes 0, 1, a number or one more.

        All of them are the same, too, two of them are two numbers, and one is twice another.
        """
        symbols = [symbol for symbol in base.sizes if symbol != _LENGTH][:MOST_TOLD]
        tried = [dict(base.sizes)]
        usual = (0, 1, 3) if len(symbols) > 1 else ()
        near = list(dict.fromkeys(size for number in numbers for size in (number, number + 1)))
        # An index beyond a number takes a size of two more.
        alike = dict.fromkeys([*usual, *near, *(number + 2 for number in numbers)])
        every = [("every open size", dict.fromkeys(base.sizes, size)) for size in alike]
        alone = [("sizes", {symbol: size}) for size in (0, 1, *near) for symbol in symbols]
        twice = [("sizes", {one: 2 * base.sizes[other]}) for one, other in permutations(symbols[:3], 2)]
        both = [
            ("sizes", dict(zip(two, sizes, strict=True)))
            for two in combinations(symbols[:3], 2)
            for sizes in permutations(numbers[:MOST_JOINED], 2)
        ]
        for label, changed in (*every, *alone, *twice, *both):
            sizes = {**base.sizes, **changed}
            if sizes in tried:
                continue
            tried.append(sizes)
            told = next(iter(changed.values()))
            each = " and ".join(f"size {size} for {symbol}" for symbol, size in changed.items())
            label = f"{label} {told}" if label != "sizes" else each
            yield from self._bearable(label, base.ranks, sizes)
        yield from self._unlike(base)

    def long(self, base: Layout, size: int, others: int) -> Iterator[tuple[Layout, str]]:
        """Layouts with `size` for one open dimension, and that dimension's symbol.

        The other open dimensions are `others`, and then, where a constant fixes them, as they are in the layout that
        the original accepts. Left out are symbols that stand at more than one place: their outer product is too large.
        """
        for symbol in base.sizes:
            places = {
                index - len(tokens)
                for tokens in (self._tokens(name, base.ranks) for name in self._dims)
                for index, token in enumerate(tokens)
                if token == symbol
            }
            if len(places) == 1 and symbol != _LENGTH:
                rest = [dict.fromkeys(base.sizes, others), dict(base.sizes)]
                for sizes in rest if self._beside_constants else rest[:1]:
                    layout = self._layout("every value and pair", base.ranks, {**sizes, symbol: size})
                    if layout.elements <= self._most_at_once:
                        yield layout, symbol

    def axis_of(self, symbol: str, name: str, layout: Layout) -> int | None:
        """Which dimension of an input a symbol stands for."""
        tokens = self._tokens(name, layout.ranks)
        return tokens.index(symbol) if symbol in tokens else None

    def _rankings(self) -> Iterator[dict[str, int]]:
        """Ranks for the inputs whose rank is not known: the same for all, but lists may be lists or single numbers."""
        if not self._unranked:
            yield {}
            return
        lists = [name for name in self._unranked if name in self._lists]
        for rank in (2, 1, 3, 4, 0, 5):
            ranks = dict.fromkeys(self._unranked, rank)
            for list_rank in dict.fromkeys([1, 0, rank]) if lists else ():
                yield {**ranks, **dict.fromkeys(lists, list_rank)}
            if not lists:
                yield ranks

    def _unlike(self, base: Layout) -> Iterator[Layout]:
        """Another size for a dimension without a name in one of the inputs that have it: they need not be the same."""
        tokens = {name: self._tokens(name, base.ranks) for name in self._dims}
        for name in list(tokens)[:MOST_TOLD]:
            others = {token for other, found in tokens.items() if other != name for token in found}
            for axis, token in enumerate(tokens[name]):
                if isinstance(token, str) and token.startswith(_UNKNOWN) and token in others:
                    shape = list(base.shapes[name])
                    for size in (shape[axis] + 1, *([1] if shape[axis] != 1 else [])):
                        shape[axis] = size
                        label = f"size {size} for axis {axis} of {name}"
                        yield Layout(label, base.ranks, base.sizes, {**base.shapes, name: tuple(shape)})

    def _broadcasting(self, base: Layout, names: Sequence[str]) -> Layout:
        shapes = dict(base.shapes)
        for name in names:
            tokens = self._tokens(name, base.ranks)
            shape = tuple(
                1 if isinstance(token, str) and token.startswith(_UNKNOWN) else size
                for token, size in zip(tokens, base.shapes[name], strict=True)
            )
            shapes[name] = shape[1:] if self._dims[name] is None else shape
        label = "one shape broadcast" if len(names) == 1 else "all shapes but one broadcast"
        return Layout(label, base.ranks, base.sizes, shapes)

    def _tokens(self, name: str, ranks: Mapping[str, int]) -> list[int | str]:
        dims = self._dims[name]
        if dims is None:
            dims = (None,) * ranks[name]
        if name in self._lists and dims == (None,):
            return [_LENGTH]
        return [f"{_UNKNOWN}{len(dims) - index}" if dim is None else dim for index, dim in enumerate(dims)]

    def _symbols(self, ranks: Mapping[str, int]) -> list[str]:
        tokens = (token for name in self._dims for token in self._tokens(name, ranks))
        return list(dict.fromkeys(token for token in tokens if isinstance(token, str)))

    def _bearable(self, label: str, ranks: Mapping[str, int], sizes: Mapping[str, int]) -> Iterator[Layout]:
        layout = self._layout(label, ranks, sizes)
        if layout.elements <= self._limit:
            yield layout

    def _layout(self, label: str, ranks: Mapping[str, int], sizes: Mapping[str, int]) -> Layout:
        shapes = {
            name: tuple(token if isinstance(token, int) else sizes[token] for token in self._tokens(name, ranks))
            for name in self._dims
        }
        return Layout(label, ranks, sizes, shapes)
