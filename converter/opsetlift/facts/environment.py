"""What the functions that work out facts may ask: everything that is known of a scope and of the model around it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

from onnx import FunctionProto, ModelProto, NodeProto, TypeProto

from opsetlift.facts.compared import Asked, Question
from opsetlift.facts.like_nodes import LikeNodes
from opsetlift.model.arrays import Array
from opsetlift.model.def_use import DefUse
from opsetlift.model.scopes import Container, FunctionKey

Types = Mapping[str, Mapping[str, TypeProto]]
"""Types by the path of the scope and the name of the value."""


class Environment(Protocol):
    """One scope: a graph, a subgraph or the body of a function.

    Facts are worked out in topological order of the nodes: what a node reads is known when it is asked for.
    """

    @property
    def model(self) -> ModelEnvironment:
        """The model around the scope."""

    @property
    def container(self) -> Container:
        """The scope itself, which never changes."""

    @property
    def index(self) -> DefUse:
        """Its definitions and uses."""

    @property
    def path(self) -> str:
        """Where it is: "graph", "function:domain:name", "graph/3:If.then_branch"."""

    @property
    def parent(self) -> Environment | None:
        """The scope around; None for a main graph or a function."""

    @property
    def owner(self) -> NodeProto | None:
        """The node that has this subgraph."""

    @property
    def imports(self) -> Mapping[str, int]:
        """The opsets that nodes of the scope are written for, by domain."""

    @property
    def omissible(self) -> frozenset[str]:
        """The values seen from here that are absent where a call of the function leaves an input out."""

    @property
    def given_types(self) -> Mapping[str, TypeProto]:
        """The types of inputs and initializers, as far as they are known."""

    @property
    def hints(self) -> Mapping[str, TypeProto]:
        """Types as the inference of the whole model gives them, and as readers of unknown operators show them."""

    @property
    def type_strings(self) -> Mapping[str, str]:
        """The types of all values of the scope as the schemas spell them, without shapes."""

    def type_string(self, name: str) -> str | None:
        """The type as the schemas spell it ("tensor(float)"); None where it is not known."""

    def type_of(self, name: str) -> TypeProto | None:
        """The type with as much of the shape as is known; None where nothing is."""

    def shape(self, name: str) -> list[int | str | None] | None:
        """A number, a symbol or None per dimension; None where the rank is not known."""

    def constant(self, name: str) -> Array | None:
        """The value, if it is the same in every run; None otherwise."""

    def content(self, name: str) -> Array | None:
        """The same, for what only passes the value on: nothing may be decided by its elements."""

    def holds(self, name: str, question: Question) -> bool:
        """Whether a value is the same in every run, and the answer to a question about its elements is yes."""

    def is_constant(self, name: str) -> bool:
        """Whether `constant` gives a value, without reading that of an initializer."""


class ModelEnvironment(Protocol):
    """The model around a scope."""

    @property
    def model(self) -> ModelProto:
        """The model itself, which never changes."""

    @property
    def base_dir(self) -> str:
        """The folder of its external data."""

    @property
    def functions(self) -> Mapping[FunctionKey, FunctionProto]:
        """Its functions."""

    @property
    def call_sites(self) -> Mapping[FunctionKey, Sequence[tuple[Environment, NodeProto]]]:
        """The scopes and nodes that call each function."""

    @property
    def is_undeclared(self) -> bool:
        """Whether it declares no types of what it computes."""

    @property
    def hints(self) -> Types:
        """Types as onnx's own whole-model inference, with its propagation of data, gives them."""

    def note_large_constant(self, asked: Asked | None = None) -> None:
        """Take note of what was asked about a constant by which nodes are not told apart, as it is too large.

        Args:
            asked: The question; None where the value was given.
        """

    @property
    def numbered_origins(self) -> dict[Hashable, int]:
        """Numbers for what computes values, by all that tells them apart."""

    @property
    def answers(self) -> dict[Hashable, Mapping[str, bytes]]:
        """What onnx inferred of nodes: serialized types, by all that they follow from."""

    @property
    def like_nodes(self) -> LikeNodes:
        """The types that were found for nodes, for those that are like them."""

    @property
    def certain_types(self) -> Types:
        """Those of a model that declares no types, where inference node by node would give the same."""
