"""What a run computes although the specification does not define it.

Some of it may end a runtime: an integer divided by zero. The rest is a value that differs between runtimes: infinity as
an integer. The evaluator has one for each, and another on request, so that it can be seen what depends on it.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy
from numpy.typing import NDArray

OTHER_VALUES = ("the least number", "zero", "the largest number")
"""What elements that are left open can be instead."""


@dataclass
class OpenResults:
    """What the nodes of a run reported, each as a verb phrase: "divides an integer by zero"."""

    faults: list[str] = field(default_factory=list)
    """What may end a runtime."""
    values: list[str] = field(default_factory=list)
    """What gives some value."""
    false_declarations: list[str] = field(default_factory=list)
    """What the model declares of values and is not so, of what was to be compared."""
    sizes: dict[str, int] = field(default_factory=dict)
    """What symbolic dimensions stand for in the scope that runs, as far as values that were compared tell."""
    instead: str = ""
    """The one of `OTHER_VALUES` that this run has in place of such values; empty for the evaluator's own."""

    def __bool__(self) -> bool:
        return bool(self.faults or self.values)


_found: ContextVar[OpenResults | None] = ContextVar("_found", default=None)


class open_results:  # a context manager; one that contextlib makes takes longer than a small kernel
    """Collect what nodes report inside of the context; `instead` is as in `OpenResults`."""

    __slots__ = ("_collected", "_token")

    def __init__(self, instead: str = "") -> None:
        self._collected = OpenResults(instead=instead)

    def __enter__(self) -> OpenResults:
        self._token: Token[OpenResults | None] = _found.set(self._collected)
        return self._collected

    def __exit__(self, *_: object) -> None:
        _found.reset(self._token)


def report_open_result(what: str) -> None:
    """Report what the node that runs now does, and what may end a runtime; without effect outside of `open_results`."""
    found = _found.get()
    if found is not None:
        found.faults.append(what)


def report_false_declaration(what: str) -> None:
    """Report a value that is not as it is declared; without effect outside of `open_results`."""
    found = _found.get()
    if found is not None:
        found.false_declarations.append(what)


def sizes_of_symbols() -> dict[str, int]:
    """What symbolic dimensions stand for; what is added holds in the scope that runs and in those inside of it."""
    found = _found.get()
    return {} if found is None else found.sizes


class inner_scope:  # a class for the same reason
    """Let what symbols stand for inside of the context be forgotten after it, but for what they stood for before."""

    __slots__ = ("_before", "_found")

    def __enter__(self) -> None:
        self._found = _found.get()
        if self._found is not None:
            self._before = self._found.sizes
            self._found.sizes = dict(self._before)

    def __exit__(self, *_: object) -> None:
        if self._found is not None:
            self._found.sizes = self._before


def open_values(values: NDArray[Any], is_open: NDArray[Any], what: str) -> NDArray[Any]:
    """Report that the node that runs now leaves elements of a result open.

    Args:
        values: Numbers or truth values [*shape], with the evaluator's own choice.
        is_open: Which elements are open, bool [*shape].
        what: What the node does, as a verb phrase.

    Returns:
        The values; inside of `open_results(instead)` with other ones where they are open.
    """
    found = _found.get()
    if found is None or not is_open.any():
        return values
    found.values.append(what)
    if not found.instead:
        return values
    others = dict(zip(OTHER_VALUES, _others(values.dtype), strict=True))
    return numpy.where(is_open, numpy.array(others[found.instead]).astype(values.dtype), values)


def _others(dtype: numpy.dtype[Any]) -> tuple[Any, Any, Any]:
    if dtype.kind == "b":
        return False, False, True
    limits: Any = ml_dtypes.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return limits.min, 0, limits.max
