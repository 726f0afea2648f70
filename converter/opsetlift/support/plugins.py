"""What other packages register under OpsetLift's groups of entry points."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points

from opsetlift.support.errors import OpsetLiftError


class PluginFault(OpsetLiftError):
    """What a package has registered cannot be used; the message names it."""


def registered(group: str) -> Iterator[tuple[EntryPoint, object]]:
    """The entry points of a group, and what they stand for. Raises PluginFault where one does not load."""
    for entry in entry_points(group=group):
        try:
            yield entry, entry.load()
        except Exception as error:  # whatever the module of somebody else raises
            source = f" of {entry.dist.name}" if entry.dist is not None else ""
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise PluginFault(f"the entry point {entry.name!r}{source} in {group} does not load: {reason}") from error
