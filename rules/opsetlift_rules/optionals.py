"""Optionals, which do not exist below 15: there it must be known whether they have an element.

Optional                                15: introduced · 28: +bfloat16 +float8 +int4 ...
OptionalHasElement, OptionalGetElement  15: introduced · 18: tensors, sequences and no input at all are taken, too
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Introduction, Step, unchanged
from opsetlift.rulebook.site import Site
from opsetlift.support.refusal import Why


def replace_optional_with_its_element(site: Site) -> None:
    """Replace Optional-15 with its element, if it has one."""
    site.scalarize(0, site.inputs)


def fold_presence_of_non_optionals(site: Site) -> None:
    """Replace OptionalHasElement-18 of what is not an optional with a constant: version 15 takes optionals only.

    A tensor or sequence has an element; an absent input has none.
    """
    if not site.input(0):
        site.replace(site.constant(False, "bool", "absent"))
    elif not _type(site).startswith("optional("):
        site.replace(site.constant(True, "bool", "present"))


def pass_non_optionals_through(site: Site) -> None:
    """Replace OptionalGetElement-18 of a tensor or sequence with its input: version 15 takes optionals only."""
    if not _type(site).startswith("optional("):
        site.replace(site.input(0))


def _type(site: Site) -> str:
    found = site.dtype(0, "")
    if not found:
        site.refuse(
            Why.DTYPE_UNKNOWN,
            f"the conversion depends on whether {site.input(0)!r} is an optional, and its type cannot be inferred",
        )
    return found


def fold_presence(site: Site) -> None:
    """Replace OptionalHasElement-15 with a constant."""
    site.replace(site.constant(bool(_parts(site)), "bool", "presence"))


def select_element(site: Site) -> None:
    """Replace OptionalGetElement-15 with the element of the optional."""
    parts = _parts(site)
    if not parts:
        site.refuse(Why.INVALID_MODEL, "the optional is empty, so it has no element")
    inner = site.parts(parts[0])
    if inner is None:
        site.replace(parts[0])
    else:
        site.scalarize(0, inner)


def _parts(site: Site) -> tuple[str, ...]:
    parts = site.parts(0)
    if parts is None:
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                f"optionals do not exist below opset 15, and {site.input(0)!r} is not created in this graph, "
                "so whether it has an element is unknown"
            ),
        )
    return parts


STEPS = [
    Step("OptionalHasElement", 15, 18, up=unchanged, down=fold_presence_of_non_optionals),
    Step("OptionalGetElement", 15, 18, up=unchanged, down=pass_non_optionals_through),
]

INTRODUCTIONS = [
    Introduction("Optional", 15, down=replace_optional_with_its_element),
    Introduction("OptionalHasElement", 15, down=fold_presence),
    Introduction("OptionalGetElement", 15, down=select_element),
]
