"""What a runtime makes of a constant that several nodes read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum


class _Use(Enum):
    """How a runtime reads a constant in some place."""

    WEIGHT = "as it is stored"
    VALUE = "as if a node computed it"
    ALONE = "for one node, which changes or drops it"


@dataclass(frozen=True)
class SharedConstants:
    """The places that a constant is lost in.

    Each is an operator, an input of one as "MatMul.A", or an operator with one that computes another of its inputs, as
    "Add after MatMul".
    """

    as_values: frozenset[str] = frozenset()
    """What they have read is computed for all that follow, so that places that need a constant no longer find one."""
    alone: frozenset[str] = frozenset()
    """What they have read is lost for all others."""
    alone_as_vectors: frozenset[str] = frozenset()
    """The same, but of constants only one axis of which is longer than 1."""

    @property
    def places(self) -> list[str]:
        """All of them, sorted."""
        return sorted(self.as_values | self.alone | self.alone_as_vectors)

    def as_dict(self) -> dict[str, list[str]]:
        """For JSON."""
        return {key: sorted(names) for key, names in vars(self).items() if names}

    def use(self, operator: str, formal: str, shape: Sequence[int], before: Collection[str]) -> _Use:
        """How the input of an operator with a name in its schema reads a constant.

        Args:
            operator: As places name it.
            formal: The name of the input.
            shape: That of the constant.
            before: The operators that compute other inputs of the node.
        """
        names = {operator, f"{operator}.{formal}", *(f"{operator} after {one}" for one in before)}
        is_vector = sum(size != 1 for size in shape) == 1
        if names & self.alone or (is_vector and names & self.alone_as_vectors):
            return _Use.ALONE
        return _Use.VALUE if names & self.as_values else _Use.WEIGHT


@dataclass
class Owners:
    """Under which names the nodes of a model, in their order, can read one constant."""

    name: str
    copy: Callable[[], str]
    """Makes a copy, and returns its name."""
    _names: dict[_Use, str] = field(default_factory=dict)
    _is_read: bool = False

    def name_for(self, use: _Use) -> str:
        """The name for the next node."""
        if use is _Use.ALONE:
            return self._first() or self.copy()
        if use not in self._names:
            # A value that was a weight before is found by both, but no weight is that was a value before.
            shared = self._names.get(_Use.WEIGHT) if use is _Use.VALUE else None
            self._names[use] = shared or self._first() or self.copy()
            if shared:
                del self._names[_Use.WEIGHT]
        return self._names[use]

    def _first(self) -> str:
        """The constant itself, if no node has read it yet."""
        is_free, self._is_read = not self._is_read, True
        return self.name if is_free else ""
