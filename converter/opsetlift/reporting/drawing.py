"""Small graphs as SVG: boxes in layers, from what is read at the top to what is computed at the bottom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from opsetlift.reporting.html import Html, tag

_CHARACTER = 7.3
_HEIGHT = 44
_GAP = 40
"""Between layers."""
_SPACE = 16
"""Between boxes of a layer."""
_MARGIN = 8
_LONGEST = 26
"""Characters of a line in a box."""
_ROUNDS = 4
_WIDE = 520
"""From this width on a drawing is shown smaller, where it has no room."""


class State(Enum):
    """What became of a node. Each has a colour, a kind of line and a word of its own."""

    KEPT = "kept"
    REWRITTEN = "rewritten"
    NEW = "new"
    REMOVED = "removed"
    REFUSED = "refused"
    VALUE = "value"
    """No node, but something that nodes read."""


@dataclass(frozen=True)
class Box:
    """A node, or a value that nodes read."""

    key: str
    label: str
    detail: str
    state: State
    title: str = ""
    """The whole of what label and detail may show shortened."""


@dataclass
class Drawing:
    """Boxes, and arrows from who computes a value to who reads it."""

    title: str
    boxes: list[Box] = field(default_factory=list)
    arrows: list[tuple[str, str, str]] = field(default_factory=list)
    """From, to, and the name of the value."""
    left_out: int = 0
    """How many more boxes there would be."""

    def add(self, box: Box) -> None:
        """Add a box, if none of its key is there."""
        if all(one.key != box.key for one in self.boxes):
            self.boxes.append(box)

    def connect(self, start: str, end: str, name: str) -> None:
        """Add an arrow, if it is not there."""
        if (start, end, name) not in self.arrows:
            self.arrows.append((start, end, name))

    @property
    def description(self) -> str:
        """The drawing in words, for those who cannot see it."""
        nodes = [f"{box.label} {box.detail} ({box.state.value})" for box in self.boxes if box.state is not State.VALUE]
        return f"{self.title}: {'; '.join(nodes) or 'no node'}."


def shortened(text: str, most: int = _LONGEST) -> str:
    """A name with its middle left out, where it is long: names in models differ at their ends."""
    return text if len(text) <= most else f"{text[: most // 3]}…{text[-(most - most // 3 - 1) :]}"


def svg(drawing: Drawing, identifier: str) -> Html:
    """The drawing; `identifier` is one of its own on the page."""
    places = _laid_out(drawing)
    width = max((x + w / 2 for x, _, w in places.values()), default=0) + _MARGIN
    height = max((y for _, y, _ in places.values()), default=0) + _HEIGHT / 2 + _MARGIN
    content = [
        tag("title", drawing.title, id=f"{identifier}-title"),
        tag("desc", drawing.description, id=f"{identifier}-description"),
        *(_arrow(places, route, name) for route, name in _routes(drawing, places)),
        *(_box(box, places[box.key]) for box in drawing.boxes),
    ]
    return tag(
        "svg",
        *content,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        class_="wide" if width > _WIDE else None,
        role="img",
        aria_labelledby=f"{identifier}-title {identifier}-description",
    )


_Place = tuple[float, float, float]
"""The middle of a box, and its width."""


def _box(box: Box, place: _Place) -> Html:
    x, y, width = place
    is_node = box.state is not State.VALUE
    lines = [shortened(box.label), shortened(box.detail)]
    word = f" · {box.state.value}" if is_node else ""
    return tag(
        "g",
        tag("title", box.title or f"{box.label} {box.detail}"),
        tag(
            "rect",
            x=f"{x - width / 2:.0f}",
            y=f"{y - _HEIGHT / 2:.0f}",
            width=f"{width:.0f}",
            height=_HEIGHT,
            rx=4 if is_node else _HEIGHT // 2,
        ),
        tag("text", tag("tspan", lines[0], class_="label"), word, x=f"{x:.0f}", y=f"{y - 4:.0f}"),
        tag("text", lines[1], x=f"{x:.0f}", y=f"{y + 13:.0f}", class_="detail"),
        class_=f"box {box.state.value}",
    )


def _arrow(places: Mapping[str, _Place], route: Sequence[str], name: str) -> Html:
    points = [places[one][:2] for one in route]
    path = f"M{points[0][0]:.0f} {points[0][1] + _HEIGHT / 2:.0f}"
    for number, ((x1, y1), (x2, y2)) in enumerate(pairwise(points), start=1):
        start, end = y1 + _HEIGHT / 2, y2 - _HEIGHT / 2
        middle = (start + end) / 2
        path += f"C{x1:.0f} {middle:.0f} {x2:.0f} {middle:.0f} {x2:.0f} {end:.0f}"
        if number < len(points) - 1:
            path += f"V{y2 + _HEIGHT / 2:.0f}"
    x, end = points[-1][0], points[-1][1] - _HEIGHT / 2
    head = f"M{x - 4:.0f} {end - 7:.0f}L{x:.0f} {end:.0f}L{x + 4:.0f} {end - 7:.0f}"
    return tag("g", tag("title", name), tag("path", d=path + head), class_="arrow")


def _bend(number: int, layer: int) -> str:
    return f"\0{number}.{layer}"


def _routes(drawing: Drawing, places: Mapping[str, _Place]) -> Iterator[tuple[list[str], str]]:
    """Each arrow with the places that it passes: its ends, and a bend in each layer between them."""
    for number, (start, end, name) in enumerate(drawing.arrows):
        bends = sorted((key for key in places if key.startswith(f"\0{number}.")), key=lambda key: places[key][1])
        yield [start, *bends, end], name


def _laid_out(drawing: Drawing) -> dict[str, _Place]:
    layers = _layers(drawing)
    rows: list[list[str]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for key, layer in layers.items():
        rows[layer].append(key)
    links: dict[str, list[str]] = {key: [] for key in layers}
    for number, (start, end, _) in enumerate(drawing.arrows):
        chain = [start]
        for layer in range(layers[start] + 1, layers[end]):
            chain.append(_bend(number, layer))
            rows[layer].append(chain[-1])
            links[chain[-1]] = []
        for one, other in pairwise([*chain, end]):
            links[one].append(other)
            links[other].append(one)
    widths = {box.key: _width(box) for box in drawing.boxes}
    centres = _ordered(rows, links, widths)
    return {
        key: (centres[key], _MARGIN + _HEIGHT / 2 + number * (_HEIGHT + _GAP), widths.get(key, 0))
        for number, row in enumerate(rows)
        for key in row
    }


def _width(box: Box) -> float:
    word = 0 if box.state is State.VALUE else len(box.state.value) + 3
    return max(len(shortened(box.label)) + word, len(shortened(box.detail)), 8) * _CHARACTER + 18


def _layers(drawing: Drawing) -> dict[str, int]:
    """A layer for each box, below all that it reads; what is read only comes right above its first reader."""
    readers: dict[str, list[str]] = {box.key: [] for box in drawing.boxes}
    waiting = dict.fromkeys(readers, 0)
    for start, end, _ in drawing.arrows:
        readers[start].append(end)
        waiting[end] += 1
    sources = {key for key, count in waiting.items() if not count}
    layers = dict.fromkeys(readers, 0)
    ready = [key for key in readers if key in sources]
    for key in ready:
        for reader in readers[key]:
            layers[reader] = max(layers[reader], layers[key] + 1)
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    for key in sources:
        if readers[key]:
            layers[key] = max(0, min(layers[reader] for reader in readers[key]) - 1)
    # Arrows in a circle, which only a broken model has, are left to run upward, straight.
    return layers


def _ordered(
    rows: Sequence[list[str]], links: Mapping[str, Sequence[str]], widths: Mapping[str, float]
) -> dict[str, float]:
    """The middles of all boxes: near those that they are connected to, and side by side in each row."""
    centres: dict[str, float] = {}
    for row in rows:
        _put(row, dict.fromkeys(row, 0.0), widths, centres)
    for number in range(_ROUNDS):
        for row in rows if number % 2 == 0 else reversed(rows):
            wanted = {key: _mean([centres[one] for one in links[key]] or [centres[key]]) for key in row}
            row.sort(key=lambda key: wanted[key])
            _put(row, wanted, widths, centres)
    left = min((centres[key] - widths.get(key, 0) / 2 for row in rows for key in row), default=0)
    return {key: x - left + _MARGIN for key, x in centres.items()}


def _put(
    row: Sequence[str], wanted: Mapping[str, float], widths: Mapping[str, float], centres: dict[str, float]
) -> None:
    """Put a row side by side, so that its boxes are as near as they can be to where they are wanted."""
    offsets, edge = [], 0.0
    for key in row:
        width = widths.get(key, 0)
        offsets.append(edge + width / 2)
        edge += width + _SPACE
    shift = _mean([wanted[key] - offset for key, offset in zip(row, offsets, strict=True)])
    for key, offset in zip(row, offsets, strict=True):
        centres[key] = offset + shift


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0
