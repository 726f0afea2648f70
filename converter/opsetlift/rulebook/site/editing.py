"""What a rule may do to a node in place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opsetlift.model.arrays import Array
from opsetlift.rulebook.site.attributes import encode_attribute
from opsetlift.rulebook.site.view import SiteView
from opsetlift.support.refusal import Why


class EditableSite(SiteView):
    """A site whose node a rule edits in place: its attributes, inputs and outputs."""

    __slots__ = ()

    def pop_attribute(self, name: str, default: Any = None) -> Any:
        """Remove an attribute and return its value; arguments and errors are those of `attribute`."""
        for position, attribute in enumerate(self.node.attribute):
            if attribute.name == name:
                value = self._decode(attribute)
                del self.node.attribute[position]
                self._is_edited = True
                return value
        if default is None:
            self._check_absent(name)
        return default

    def set_attribute(self, name: str, value: Any) -> None:
        """Set an attribute, or replace its value.

        Args:
            name: The attribute.
            value: An int, float, str, TensorProto or GraphProto, or a list of one of these kinds.
        """
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

    def rename_attribute(self, name: str, new_name: str) -> None:
        """Rename an attribute, references included."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                attribute.name = new_name
                self._written.add(new_name)
                self._is_edited = True

    def set_input(self, position: int, name: str) -> None:
        """Replace or add an input.

        Args:
            position: The input's; inputs before it that the node does not have become absent ("").
            name: The value; "" makes the input absent.
        """
        while len(self.node.input) <= position:
            self.node.input.append("")
        self.node.input[position] = name
        self._is_edited = True
        self._trim()

    def append_input(self, name: str) -> None:
        """Give the node one more input."""
        self.node.input.append(name)
        self._is_edited = True

    def remove_input(self, position: int) -> None:
        """Take an input away; later ones move up. Nothing happens where it does not exist."""
        if position < len(self.node.input):
            del self.node.input[position]
            self._trim()
            self._is_edited = True

    def pop_optional_constant_input(self, position: int, *, refuse: Why = Why.INPUT_NOT_CONSTANT) -> Array | None:
        """Remove an input and return its value; None where it is absent.

        Args:
            position: The input's.
            refuse: The kind of obstacle that a value is which is not constant.

        Raises:
            SiteRefused: The value is computed at run time, or a caller can override it.
        """
        name = self.input(position)
        if not name:
            self.remove_input(position)
            return None
        value = self.constant_value(name)
        if value is None:
            reason = (
                "is an initializer that is also a graph input, so that a caller can override it"
                if self.scope.facts.is_initializer(name)
                else "is computed at run time"
            )
            self.refuse(refuse, f"input {position} becomes an attribute at opset {self.opset}, but {name!r} {reason}")
        self.remove_input(position)
        return value

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
