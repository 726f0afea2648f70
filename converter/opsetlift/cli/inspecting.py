"""`opsetlift inspect`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from opsetlift.cli.errors import DONE
from opsetlift.cli.files import model_or_path
from opsetlift.cli.output import opsets, show, show_json
from opsetlift.reporting.inspection import Inspection, inspect
from opsetlift.support.text import as_bytes, counted, printable
from opsetlift.targets import catalogue

_MOST_VALUES = 8
_MOST_OPERATORS = 24
_WIDTH = 80


def inspect_file(path: Path, *, is_fast: bool, as_json: bool) -> int:
    """Print what a model holds; returns the exit status. Raises ModelFileError."""
    found = inspect(model_or_path(path), looks_for_opsets=not is_fast)
    if as_json:
        show_json(found.as_dict())
    else:
        show(*_page(found))
    return DONE


def _page(found: Inspection) -> Iterator[RenderableType]:
    size = as_bytes(found.file_bytes)
    if found.external_bytes:
        size += f" and {as_bytes(found.external_bytes)} of external data"
    path = "standard input" if found.path == "-" else found.path
    yield printable(f"{path}: {size}{f', by {found.producer}' if found.producer else ''}")
    rows = Table(box=None, show_header=False, pad_edge=False, width=_WIDTH)
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    for title, lines in _rows(found):
        for number, line in enumerate(lines):
            rows.add_row("" if number else title, printable(line))
    yield rows


def _rows(found: Inspection) -> Iterator[tuple[str, Sequence[str]]]:
    yield "versions", [f"{opsets(found.opsets.items())}; IR version {found.ir_version}"]
    for title, values in (("inputs", found.inputs), ("outputs", found.outputs)):
        shown = [f"{one.name}: {one.type}" for one in values[:_MOST_VALUES]]
        more = [f"... and {len(values) - _MOST_VALUES} more"] if len(values) > _MOST_VALUES else []
        yield title, [*shown, *more] or ["none"]
    subgraphs = f", in {counted(found.subgraphs + 1, 'graph')}" if found.subgraphs else ""
    yield "nodes", [f"{counted(found.nodes, 'node')}{subgraphs}"]
    operators = [f"{name} {count}" for name, count in list(found.operators.items())[:_MOST_OPERATORS]]
    if len(found.operators) > _MOST_OPERATORS:
        operators.append(f"and {counted(len(found.operators) - _MOST_OPERATORS, 'more operator')}")
    yield "operators", [", ".join(operators) or "none"]
    constants = [f"{one.dtype} {as_bytes(one.bytes)} in {counted(one.count, 'tensor')}" for one in found.constants]
    yield "constants", ["; ".join(constants) or "none"]
    if found.functions:
        yield "functions", [f"{path}: {counted(nodes, 'node')}" for path, nodes in found.functions.items()]
    if found.lowest_opsets is not None:
        unchanged, rewritten = found.lowest_opsets.unchanged, found.lowest_opsets.rewritten
        yield "lowest opset", [f"{unchanged or 'none'} as it is, {rewritten or 'none'} with rewrites"]
    runtimes = [f"{name} {_versions(name, accepted)}" for name, accepted in found.runtimes.items()]
    yield "accepted by", runtimes or ["none known"]
    if found.notes:
        yield "notes", found.notes


def _versions(name: str, taken: Sequence[str]) -> str:
    """Versions that follow each other as a range: "1.6.0 to 1.31.1"."""
    known = catalogue()[name].versions
    ranges: list[list[str]] = []
    for version in known:
        if version in taken:
            if ranges and known.index(version) == known.index(ranges[-1][-1]) + 1:
                ranges[-1].append(version)
            else:
                ranges.append([version])
    return ", ".join(one[0] if len(one) == 1 else f"{one[0]} to {one[-1]}" for one in ranges)
