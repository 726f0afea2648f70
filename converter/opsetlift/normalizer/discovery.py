"""Every known pass: those in `passes/`, those of entry points, and those that a caller gives."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from opsetlift.normalizer import passes as own_passes
from opsetlift.normalizer.patterns import Pattern
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.plugins import PluginFault, registered

ENTRY_POINTS = "opsetlift.passes"
"""Third parties name modules with PASS or PASSES, or Pass objects, under this group."""

ORDER = (
    "fix-defaults",
    "inline-functions",
    "remove-unused",
    "constants-as-initializers",
    "canonical-attributes",
    "inline-constant-branches",
    "unroll-loops",
    "canonical-casts",
    "fold-constants",
    "remove-no-op-moves",
    "remove-no-op-arithmetic",
    "remove-zero-additions",
    "merge-signs",
    "remove-zero-states",
    "symbolic-shapes",
    "merge-picked-sizes",
    "remove-expands",
    "merge-transposes",
    "merge-casts",
    "moves-as-reshapes",
    "merge-reshapes",
    "lift-reshapes",
    "lift-views",
    "merge-selections",
    "gathers-as-split",
    "merge-equal-moves",
    "merge-last-steps",
    "merge-lookups",
    "merge-kept-dimensions",
    "move-quantized",
    "merge-slices",
    "slices-as-split",
    "merge-concats",
    "merge-pads",
    "merge-pads-into-convolutions",
    "merge-reductions",
    "split-reductions",
    "merge-bounds",
    "merge-batch-normalization",
    "merge-biases",
    "merge-matmul-add",
    "canonical-axes",
    "merge-duplicate-initializers",
    "merge-common-subexpressions",
    "initializers-as-constants",
    "infer-shapes",
    "name-nodes",
)
"""In which order passes run, unless a caller names them. Those that are not listed come last, by name."""

DEFAULT = "default"
"""All passes that run by default."""

ALL = "all"
"""All passes, those that round included, except those that undo the work of another."""

FOLDING = (
    "constants-as-initializers",
    "inline-constant-branches",
    "canonical-casts",
    "fold-constants",
    "remove-no-op-moves",
    "symbolic-shapes",
    "remove-unused",
)
"""The passes that work out what constants and fixed sizes decide, and change nothing else."""

UNROLLING = "unroll-loops"
"""The pass that makes of Loops the nodes of their runs."""

PassLike = str | Pass | Pattern | Callable[..., Any]
"""A name, a pass, a pattern, or a function over a graph (and a context)."""


class UnknownPass(OpsetLiftError, ValueError):
    """No pass has that name; the message suggests the nearest."""


class PassConflict(PluginFault):
    """Two passes have the same name, or something is registered that is not a pass."""


@cache
def known_passes() -> Mapping[str, Pass]:
    """The registered passes by name, in the order in which they run."""
    found: dict[str, Pass] = {}
    for info in pkgutil.iter_modules(own_passes.__path__):
        module = importlib.import_module(f"{own_passes.__name__}.{info.name}")
        _register(found, module, module.__name__)
    for entry, one in registered(ENTRY_POINTS):
        _register(found, one, entry.value)
    places = {name: place for place, name in enumerate(ORDER)}
    return dict(sorted(found.items(), key=lambda item: (places.get(item[0], len(places)), item[0])))


def _register(found: dict[str, Pass], given: object, source: str) -> None:
    ones: Iterable[object] = [given]
    if isinstance(given, ModuleType):
        ones = getattr(given, "PASSES", None) or [getattr(given, "PASS", None)]
    for one in ones:
        if isinstance(one, Pattern):
            one = one.as_pass()
        if not isinstance(one, Pass):
            raise PassConflict(
                f"{source} is registered as a pass, but is neither a Pass nor a Pattern, and has no PASS or PASSES"
            )
        if one.name in found or one.name in (DEFAULT, ALL):
            raise PassConflict(f"there are two passes called {one.name!r}, one from {source}")
        found[one.name] = one


def chosen_passes(wanted: Sequence[PassLike] | None = None) -> tuple[Pass, ...]:
    """The passes to run, in order: those that are named; by default all that run without being asked for.

    Args:
        wanted: Names, `Pass` objects, patterns or functions. "default" and "all" name several passes; "-name" leaves
            one out of those before it, or of the default ones where none is before it.

    Raises:
        UnknownPass: No pass has such a name.
        PassConflict: Two passes have the same name, or something is no pass.
    """
    chosen: dict[str, Pass] = {}
    listed: list[PassLike] = [wanted] if isinstance(wanted, str) else list(wanted) if wanted is not None else [DEFAULT]
    if listed and isinstance(listed[0], str) and listed[0].startswith("-"):
        listed.insert(0, DEFAULT)
    for one in listed:
        if isinstance(one, str) and one in (DEFAULT, ALL):
            is_all = one == ALL
            passes = known_passes().items()
            chosen.update({name: one for name, one in passes if one.is_default or (is_all and not one.undoes)})
        elif isinstance(one, str) and one.startswith("-"):
            chosen.pop(_named(one.removeprefix("-")).name, None)
        else:
            found = _named(one) if isinstance(one, str) else as_pass(one)
            if chosen.setdefault(found.name, found) != found:
                raise PassConflict(f"there are two passes called {found.name!r}")
    return tuple(chosen.values())


def _named(name: str) -> Pass:
    known = known_passes()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        suggestion = f"did you mean {near[0]!r}?" if near else "opsetlift normalize --list shows all passes"
        raise UnknownPass(f"there is no pass {name!r}; {suggestion}")
    return known[name]


def as_pass(one: Pass | Pattern | Callable[..., Any]) -> Pass:
    """A pass of a function that takes a graph, or a graph and a context, or of a pattern."""
    if isinstance(one, Pass):
        return one
    if isinstance(one, Pattern):
        return one.as_pass()
    if not callable(one):
        raise PassConflict(f"a pass is a name, a Pass, a Pattern or a function over a graph, not {one!r}")
    name = getattr(one, "__name__", type(one).__name__).replace("_", "-")
    documented = inspect.getdoc(one) or ""
    takes_context = len(inspect.signature(one).parameters) > 1

    def rewrite(graph: Any, context: Context) -> None:
        one(*((graph, context) if takes_context else (graph,)))

    return Pass(name=name, rewrite=rewrite, summary=documented.split("\n")[0])
