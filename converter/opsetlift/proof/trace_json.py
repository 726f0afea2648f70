"""The trace of a conversion as JSON, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from opsetlift.proof.json_records import record, value
from opsetlift.rulebook.rule import Rule
from opsetlift.rulebook.trace import ConversionTrace, ScopeTrace, SiteTrace
from opsetlift.specification.history import Transition


def trace_as_dict(trace: ConversionTrace) -> dict[str, Any]:
    """The scopes of a trace with their sites; rules by name and bound."""
    return {
        "scopes": {path: _scope_as_dict(scope) for path, scope in trace.scopes.items()},
        **({"copied_initializers": dict(trace.copied_initializers)} if trace.copied_initializers else {}),
        **_sets_as_lists(trace),
    }


def trace_from_dict(content: dict[str, Any]) -> ConversionTrace:
    """The inverse of `trace_as_dict`, with rules that cannot be applied.

    Raises:
        KeyError: An entry is missing.
        TypeError: An entry is unknown or of another type.
        AttributeError: The same, of what holds entries.
    """
    content = dict(content)
    scopes = {path: _scope_from_dict(scope) for path, scope in content.pop("scopes").items()}
    copied = value(dict[str, str], content.pop("copied_initializers", {}))
    return ConversionTrace(scopes, copied_initializers=copied, **_lists_as_sets(content))


def _scope_as_dict(scope: ScopeTrace) -> dict[str, Any]:
    sites = [
        {
            "index": site.index,
            "start": site.start,
            "stop": site.stop,
            "applied": [
                {"transition": asdict(transition), "rule": rule.name, "ulps": rule.ulps}
                for transition, rule in site.applied
            ],
        }
        for site in scope.sites
    ]
    leading = {"leading_copies": scope.leading_copies} if scope.leading_copies else {}
    return {"sites": sites, **leading, **_sets_as_lists(scope)}


def _sets_as_lists(trace: ScopeTrace | ConversionTrace) -> dict[str, list[str]]:
    return {name: sorted(found) for name, found in vars(trace).items() if isinstance(found, set)}


def _lists_as_sets(content: dict[str, Any]) -> dict[str, set[str]]:
    found = {name: set(value(list[str], names)) for name, names in content.items()}
    for name, names in found.items():
        if len(names) < len(content[name]):
            raise TypeError(f"{name} names something twice")
    return found


def _scope_from_dict(content: dict[str, Any]) -> ScopeTrace:
    content = dict(content)
    sites = []
    for site in content.pop("sites"):
        index, start, stop = (value(int, site[name]) for name in ("index", "start", "stop"))
        if len(site) > 4:
            raise TypeError(f"a site has entries that are unknown: {str(site)[:80]}")
        sites.append(SiteTrace(index, start, stop, list(_applied(site))))
    leading = value(int, content.pop("leading_copies", 0))
    return ScopeTrace(sites, leading, **_lists_as_sets(content))


def _applied(site: dict[str, Any]) -> Iterator[tuple[Transition, Rule]]:
    for one in site["applied"]:
        if len(one) > 3:
            raise TypeError(f"a transition has entries that are unknown: {str(one)[:80]}")
        yield (
            record(Transition, one["transition"]),
            Rule(value(str, one["rule"]), None, ulps=value(int, one["ulps"])),
        )
