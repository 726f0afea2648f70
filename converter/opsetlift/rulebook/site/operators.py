"""How rules write the nodes that they emit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from onnx import GraphProto, NodeProto, TypeProto

Dims = list[int | str | None]
"""A number, a symbol or None per dimension."""


class Operators(ABC):
    """Emits nodes for one opset, as the specification writes them: `op.Clip(x, low, high)` returns the output's name.

    Inputs are value names, "" (or None) for an absent optional one; attributes are keywords. `outputs=2` gives a tuple
    of two names; `to=` and `dtype=` take dtype names ("float") as well as numbers.
    """

    __slots__ = ()

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if operator.startswith("_"):
            raise AttributeError(operator)
        return partial(self.emit, operator)

    @abstractmethod
    def emit(self, operator: str, *inputs: str | None, outputs: int = 1, **attributes: Any) -> Any:
        """Emit a node of the operator of this name: `op.emit("Clip", x, low, high)` is `op.Clip(x, low, high)`.

        Args:
            operator: The operator's name.
            inputs: Names of values; "" or None for an optional one that is absent.
            outputs: How many outputs the node has.
            attributes: By name; one that is None is left out.

        Returns:
            The name of the output; of several, a tuple.
        """

    @abstractmethod
    def copy(self, *inputs: str | None, outputs: int | None = None, **changed: Any) -> Any:
        """Emit the site's operator with the attributes of its node on other inputs.

        Args:
            inputs: As for `emit`.
            outputs: How many outputs it has; by default those of the node, absent ones included.
            changed: Attributes with other values, by name; one that is None is left out.

        Returns:
            The name of the output; of several, a tuple.
        """

    @abstractmethod
    def at(self, opset: int) -> Operators:
        """Emits to the same place nodes that are written for another opset."""

    @abstractmethod
    def subgraph(
        self,
        build: Callable[..., Sequence[str]],
        *,
        takes: Sequence[tuple[str, Sequence[int | str | None] | None] | TypeProto] = (),
    ) -> GraphProto:
        """Build a subgraph for a node that is emitted afterwards; returns it converted to the target.

        Args:
            build: Called as `build(op, *inputs)` with the names of the inputs: emits the nodes and returns the names of
                the outputs, which may be inputs, outer values or the same: these go through Identity.
            takes: For each input its type, or its dtype and shape.
        """

    @abstractmethod
    def inline(self, attribute: str, *inputs: str, keep_names: bool = False) -> list[str]:
        """Emit the nodes of one of the site's subgraphs, which have been converted to the target.

        Args:
            attribute: The attribute that holds the subgraph.
            inputs: The values that its inputs are replaced with.
            keep_names: For nodes that are in a subgraph again, and only once.

        Returns:
            The names of its outputs.
        """

    @abstractmethod
    def given(self, graph: GraphProto, *inputs: str, keep_names: bool = False) -> tuple[list[NodeProto], list[str]]:
        """The nodes of a subgraph that has not been converted, and the names of its outputs.

        Rules that run before subgraphs are converted (`before_bodies`) hand the nodes to `add_given`.

        Args:
            graph: One of the site's subgraphs, or of a node in one; each once.
            inputs: The values that its inputs are replaced with.
            keep_names: For what is in a subgraph that `given` has named anew.
        """

    @abstractmethod
    def add_given(self, node: NodeProto) -> None:
        """Emit a node of the model, which has not been converted."""

    @abstractmethod
    def declare(self, name: str, dtype: str, shape: Dims | None) -> None:
        """Declare the type of an emitted value, where onnx's inference cannot know it; a shape of None has no rank."""

    @abstractmethod
    def add(self, node: NodeProto) -> None:
        """Emit a node that is written already, in any domain; its outputs have names from `fresh_name`."""

    @abstractmethod
    def preview(self, node: NodeProto) -> None:
        """Make the facts known of a node that may be added later."""

    @abstractmethod
    def fresh_name(self, hint: str) -> str:
        """A name that nothing in the model has, made from that of the model's node that is being converted."""
