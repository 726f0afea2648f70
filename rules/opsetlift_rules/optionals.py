"""Optionals. Whether one has an element is known where it is made; below 15, where there are none, that has to do.

Optional                                15: introduced · 28: +bfloat16 +float8 +int4 ...
OptionalHasElement, OptionalGetElement  15: introduced · 18: tensors, sequences and no input at all are taken, too
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Introduction, Step, unchanged
from opsetlift.rulebook.site import Site
from opsetlift.support.refusal import Why


def element_stands_for_it(site: Site) -> None:
    site.scalarize(0, site.inputs)


def what_is_no_optional_has_itself(site: Site) -> None:
    """A tensor or a sequence has an element, what is not given has none."""
    if not site.input(0):
        site.replace(site.scalar(False, "bool", "absent"))
    elif not _type(site).startswith("optional("):
        site.replace(site.scalar(True, "bool", "present"))


def what_is_no_optional_is_the_element(site: Site) -> None:
    if not _type(site).startswith("optional("):
        site.replace(site.input(0))


def _type(site: Site) -> str:
    found = site.type_string(0)
    if found is None:
        site.refuse(Why.DTYPE_UNKNOWN, f"whether {site.input(0)!r} is an optional decides here, and it is not known")
    return found


def presence_is_known(site: Site) -> None:
    site.replace(site.scalar(bool(_parts(site)), "bool", "presence"))


def element_is_taken(site: Site) -> None:
    parts = _parts(site)
    if not parts:
        site.refuse(Why.INVALID_MODEL, "an empty optional has no element to get")
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
            f"below opset 15 there are no optionals, and whether {site.input(0)!r} has an element is not known: it is "
            "not made in this graph",
        )
    return parts


STEPS = [
    Step("OptionalHasElement", 15, 18, up=unchanged, down=what_is_no_optional_has_itself),
    Step("OptionalGetElement", 15, 18, up=unchanged, down=what_is_no_optional_is_the_element),
]

INTRODUCTIONS = [
    Introduction("Optional", 15, down=element_stands_for_it),
    Introduction("OptionalHasElement", 15, down=presence_is_known),
    Introduction("OptionalGetElement", 15, down=element_is_taken),
]
