"""Ways to write a node that a runtime may not take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.specification.history import Definition
from opsetlift.targets.form_keys import KEYS, Place
from opsetlift.targets.ranges import Range

Grid = Mapping[str, frozenset[str]]
"""Dtypes by type variable, each of which goes with each of the others; variables that it leaves out may be anything."""

Kernels = Mapping[tuple[str, str, int], tuple[Grid, ...]]
"""By domain, operator and since-version: what a runtime has kernels for. Of what is not there, nothing is known."""


@dataclass(frozen=True)
class Form:
    """A way to write a node that a runtime does not take, or takes for something else. All that it names must hold."""

    operator: str
    text: str
    """What the runtime does with it, as the end of a sentence that begins with the runtime."""
    source: str
    domain: str = ""
    versions: tuple[str, ...] = ()
    """The versions that do so; empty where all do."""
    opsets: Range = field(default=Range(1, None))
    keys: Mapping[str, Any] = field(default_factory=dict)
    """What it states, by the names of `KEYS`."""
    takes_defaults_for_constants: bool = False
    """Whether an input that is an initializer is a constant to the runtime also where callers may override it."""

    def fits(self, node: NodeProto, definition: Definition, scope: ScopeFacts, opset: int) -> bool:
        """Whether the node is written so."""
        if opset not in self.opsets:
            return False
        place = Place(node, definition, scope, self.takes_defaults_for_constants)
        return all(test(place) for test in self._tests)

    @cached_property
    def _tests(self) -> Sequence[Callable[[Place], bool]]:
        tests: list[Callable[[Place], bool]] = []
        for name, one in KEYS.items():
            value = self.keys.get(name)
            if not value:
                continue
            value = self.keys.get(one.of, ()) if one.of else value
            tests.append(one.test if one.kind is bool and not one.of else partial(_test, one.test, value))
        return tests

    @cached_property
    def depth(self) -> int:
        """How many nodes before a node it may look at, one behind the other."""
        return max((KEYS[name].depth(value) for name, value in self.keys.items() if value), default=1)


def _test(test: Callable[[Place, Any], bool], value: Any, place: Place) -> bool:
    return test(place, value)
