"""What a rule may do to a node in place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opsetlift.conversion.walk.site.attributes import encode_attribute
from opsetlift.conversion.walk.site.view import SiteView


class EditableSite(SiteView):
    """A site whose node a rule edits in place: its attributes, inputs and outputs."""

    __slots__ = ()

    def set_attribute(self, name: str, value: Any) -> None:
        """Set an attribute, or replace its value."""
        self.remove_attribute(name)
        self._is_edited = True
        self._written.add(name)
        encode_attribute(self.node.attribute.add(name=name), value)

    def remove_attribute(self, name: str) -> None:
        """Drop an attribute if the node has it, whatever it is."""
        for position, attribute in enumerate(self.node.attribute):
            if attribute.name == name:
                del self.node.attribute[position]
                self._is_edited = True
                return

    def set_input(self, position: int, name: str) -> None:
        """Replace or add an input."""
        while len(self.node.input) <= position:
            self.node.input.append("")
        self.node.input[position] = name
        self._is_edited = True
        self._trim()

    def remove_input(self, position: int) -> None:
        """Take an input away; later ones move up. Nothing happens where it does not exist."""
        if position < len(self.node.input):
            del self.node.input[position]
            self._trim()
            self._is_edited = True

    def _trim(self) -> None:
        while self.node.input and not self.node.input[-1]:
            del self.node.input[-1]

    def ask_for_outputs(self, positions: Iterable[int]) -> None:
        """Let the node compute the outputs at these positions; those that it does not name get an unread name."""
        for position in positions:
            while len(self.node.output) <= position:
                self.node.output.append("")
            if not self.node.output[position]:
                self.node.output[position] = self.scope.unread_name()
                self._is_edited = True

    def keep_outputs(self, count: int) -> None:
        """Keep the first `count` outputs and remove the others, which nothing may read."""
        assert not any(map(self.is_read, range(count, len(self.node.output))))
        if len(self.node.output) > count:
            del self.node.output[count:]
            self._is_edited = True
