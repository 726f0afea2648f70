"""How the command line spells passes and shapes, and prints what passes did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from opsetlift.cli.errors import DONE, UsageFault
from opsetlift.cli.output import show, show_versioned, table
from opsetlift.support.text import printable

if TYPE_CHECKING:
    from opsetlift.pipeline.normalize import Normalization

# graphsurgeon takes a while to import, so the other commands do without.


def passes_from(text: str | None) -> tuple[str, ...] | None:
    """The names in "fold-constants,merge-casts"; None for none. Raises UsageFault."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise UsageFault(f"--passes takes names separated by commas, as --list shows them, not {text!r}")
    return names


def shapes_from(text: str | None) -> dict[str, int | tuple[int, ...]]:
    """What "batch=1,x=1x3x224x224" says: sizes of symbols and shapes of inputs. Raises UsageFault."""
    shapes: dict[str, int | tuple[int, ...]] = {}
    for part in text.split(",") if text else ():
        name, _, size = part.strip().rpartition("=")
        numbers = size.split("x")
        if not name or not all(one.isascii() and one.isdigit() and len(one) < 10 for one in numbers):
            raise UsageFault(f"--fix-shapes takes sizes, such as batch=1 or x=1x3x224x224, not {part.strip()!r}")
        if name in shapes:
            raise UsageFault(f"--fix-shapes names {name!r} twice")
        sizes = tuple(map(int, numbers))
        shapes[name] = sizes if len(sizes) > 1 else int(size)
    return shapes


def list_passes(*, as_json: bool) -> int:
    """Show the passes in the order in which they run; returns the exit status."""
    from opsetlift.normalizer import known_passes

    passes = known_passes().values()
    if as_json:
        show_versioned(
            {
                "passes": [
                    {"name": one.name, "summary": one.summary, "is_default": one.is_default, "ulps": one.ulps}
                    for one in passes
                ]
            }
        )
        return DONE
    rows = [(one.name, "yes" if one.is_default else "no", exactness(one.ulps), one.summary) for one in passes]
    show(table(("pass", "by default", "exactness", "what it does"), rows))
    return DONE


def exactness(ulps: int) -> str:
    """For people: "exact", or the bound."""
    return f"within {ulps} ULP" if ulps else "exact"


def normalization_as_dict(found: Normalization) -> dict[str, Any]:
    """For JSON."""
    return {"report": found.report.as_dict(), "proof": found.proof.as_dict() if found.proof is not None else None}


def normalization_page(found: Normalization) -> Iterator[RenderableType]:
    """What the passes did, for people."""
    report = found.report
    sizes = f"{report.bytes_before} -> {report.bytes_after}"
    yield f"nodes {report.nodes_before} -> {report.nodes_after}, bytes of weights {sizes}"
    rows = [
        (one.name, one.changes, f"{one.nodes:+}", f"{one.bytes:+}", exactness(one.ulps))
        for one in report.passes
        if one.changes
    ]
    if rows:
        yield table(("pass", "#changes", "#nodes", "#bytes", "exactness"), rows)
    else:
        yield "No pass changed anything."
    for undone in report.undone:
        yield printable(undone.sentence)
