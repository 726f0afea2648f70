"""The keys by which a target file says how a node is written, each declared once: as the function that tests it.

The function's name is the key, its docstring says what the key states. Files of targets, their errors and the page
docs/form_keys.md follow from the declarations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Key:
    """One key, and the test of a node for its value."""

    name: str
    kind: type
    """Of its value: bool, int, frozenset, tuple, or dict. A bool is True where it is stated."""
    text: str
    """What it states, as a sentence; of a bool "Whether ..."."""
    test: Callable[..., bool]
    """Takes the place of a node, and the value where that is no bool."""
    steps: int | Callable[[Any], int] = 1
    """How many nodes before a node it may look at, one behind the other; a function of the value where it decides."""
    of: str = ""
    """Another key, whose value the test takes."""
    each: Callable[[list[Any]], Any] | None = None
    """Of a table of lists: makes of each list what the test takes. Raises ValueError for what is not a dtype."""

    def depth(self, value: Any) -> int:
        """How many nodes before a node it may look at for a value."""
        return self.steps if isinstance(self.steps, int) else self.steps(value)


def key(
    kind: type,
    *,
    steps: int | Callable[[Any], int] = 1,
    of: str = "",
    each: Callable[[list[Any]], Any] | None = None,
) -> Callable[[Callable[..., bool]], Key]:
    """Declare a key by the function below; the arguments are those of `Key`."""

    def declare(test: Callable[..., bool]) -> Key:
        return Key(test.__name__, kind, inspect.cleandoc(test.__doc__ or ""), test, steps, of, each)

    return declare


def declared_in(module: ModuleType) -> Iterator[Key]:
    """The keys of a module, in their order."""
    return (one for one in vars(module).values() if isinstance(one, Key))
